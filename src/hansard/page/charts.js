"use strict";
// Votes, scores and cost, counted again; each number is also text: drawings are for the eye.

const share = (part) => `${part * 100}%`;
const bar = (pieces, mark = null) => s("svg.bar", { "aria-hidden": "true" },
	s("rect.rail", { width: "100%", height: "100%", rx: 4 }),
	pieces.map(([start, size, tone]) =>
		s(`rect.${tone}`, { x: share(start), width: share(size), height: "100%", rx: 4 })),
	mark !== null && s("line.mark", { x1: share(mark), x2: share(mark), y2: "100%" }));
const bars = (rows) => h("div.bars", rows.map(([name, drawn, text]) =>
	h("div", h("span", name), drawn, h("span", text))));

const MOST_ROUNDS = 4; // that a table has columns or rows for
const figure = (title, ...drawn) => h("article.card", h("h3", title), drawn);
// The screen shows the last rows of many; paper shows all of them.
const lastOf = (rows, most) => (page.paper ? rows : rows.slice(-most));
const firstOf = (rows, most) => (page.paper ? rows : rows.slice(0, most));
const lastOnes = (all) => !page.paper && all.length > MOST_ROUNDS &&
	h("p.dim", `The last ${MOST_ROUNDS} of ${all.length} rounds:`);
// The rounds by table: no table has columns for more.
const byTable = (all) => Array.from({ length: Math.ceil(all.length / MOST_ROUNDS) },
	(_, n) => all.slice(n * MOST_ROUNDS, (n + 1) * MOST_ROUNDS));

// In the replay not all debaters may have their seats yet, and there is no room for names.
function voteBars(f, named = true) {
	const all = Math.max(1, page.figures.debater_ids.length);
	const held = new Map(f.options.map((vote) => [vote, []]));
	for (const vote of f.vote_tally.keys()) if (!held.has(vote)) held.set(vote, []);
	for (const seat of f.seats) {
		if (seat.votes.length) held.get(seat.votes.at(-1) ?? "abstain")?.push(seat.id);
	}
	return [bars([...held].map(([vote, ids]) => {
		const count = f.vote_tally.get(vote) ?? 0, tone = voteTone(vote);
		const pieces = ids.length === count ? ids.map((id, i) => [i / all, 1 / all, tone])
			: [[0, count / all, tone]];
		return [h(`strong.${tone}`, said(vote)), bar(pieces, f.consensus_threshold / all), count];
	})), named && [...held].filter(([, ids]) => ids.length).map(([vote, ids]) =>
		h("p", pill(vote), " ", ids.map((id, i) => [i > 0 && ", ", seatName(id)]))),
	h("p.dim", `${f.consensus_threshold} of ${plural(all, "vote")} are needed (dashed).`)];
}

function drawVotes(f) {
	const cast = f.options.length ? f.turns.filter((turn) =>
		turn.role === "debater" && ["counted", "forfeited"].includes(turn.status)) : [];
	const rounds = unique(cast.map((turn) => turn.round));
	const votes = (id, round) => { // of each phase, or the one of all phases
		const all = cast.filter((turn) => turn.seat === id && turn.round === round)
			.map((turn) => turn.vote);
		const told = all.every((vote) => vote === all[0]) ? all.slice(0, 1) : all;
		return told.length ? told.map((vote, i) => [i > 0 && " → ", pill(vote)]) : "–";
	};
	return figure("Votes", voteBars(f), lastOnes(rounds), byTable(lastOf(rounds, MOST_ROUNDS))
		.map((shown) => table("plain", "Votes by round",
			["Debater", ...shown.map((round) => `Round ${round}`)],
			f.debater_ids.map((id) => [seatName(id), ...shown.map((round) => votes(id, round))]))));
}

const showChange = (row) => [seatName(row.speaker),
	` changed its ${row.what} in round ${row.round_index}, ${row.phase}`,
	row.what === "vote" && [": ", pill(row.before), " → ", pill(row.after)],
	row.towards.length > 0 && [", towards ", said(few(row.towards))]];
const drawShares = (f) => figure("Share of the replies",
	bars(f.shares.map((row) => [seatName(row.seat), bar([[0, (row.share_ppm ?? 0) / 1e6,
		seatTone(row.seat)]]), row.share_ppm === null ? "–" : inPercent(row.share_ppm)])),
	h("p.dim", "In characters, of all replies that count."),
	f.drift.length ? h("ul", lastOf(f.drift, 20).map((row) => h("li", showChange(row))))
		: h("p", "Nobody changed a vote, an answer or a thesis."));

const spending = (f) => f.ceilings.map(({ name, limit, spent }) => {
	const unit = (n) => (name === "cost" ? money(n) : amount(name, n));
	return [h("p.dim", `${unit(spent)} of at most ${unit(limit)}`),
		bar([[0, Math.min(1, spent / limit), "c0"]])];
});

function drawCost(f) {
	const most = Math.max(1, ...f.seats.map((seat) => seat.cost_micro_usd));
	return figure("Cost by seat", bars(f.seats.map((seat) => [seatName(seat.id),
		bar([[0, seat.cost_micro_usd / most, seatTone(seat.id)]]), money(seat.cost_micro_usd)])),
	spending(f),
	table("numbers", "Use by seat", ["Seat", "Calls", "Tokens in", "Tokens out"],
		[...f.seats, f.totals].map((row) => [
			row.id ? seatName(row.id) : `All: ${money(row.cost_micro_usd)}`,
			...[row.calls, row.tokens_in, row.tokens_out].map(number)])));
}

function drawFigures() {
	const f = page.figures;
	return section("figures", asFound("Votes, scores and cost"),
		"Counted again in this page from the entries.", h("div.cards",
			formatOf(f).charts(f), drawShares(f), drawCost(f)));
}
