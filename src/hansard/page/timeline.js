"use strict";
// The replay: each entry a mark on its speaker's line; the debate as it stood after any of them.

const LANE = 28, TOP = 20; // pixels: of a speaker's line, and above the first

function drawReplay() {
	const all = page.events.length, lanes = page.figures.seats.map((seat) => seat.id);
	const height = (lanes.length + 1) * LANE, x = (n) => share((n - 1) / all);
	const click = (event) => {
		const box = at("line").getBoundingClientRect();
		go(Math.ceil((event.clientX - box.left) / box.width * all));
	};
	const svg = s("svg", { id: "line", "aria-hidden": "true", click },
		bands().map(([begin, end, round], i) => [
			s(`rect.band${i % 2 ? ".odd" : ""}`,
				{ x: x(begin), y: TOP, height, width: share((end - begin + 1) / all) }),
			(end - begin) / all > 0.06 && s("text.round", { x: x(begin), y: 10 }, `Round ${round}`)]),
		s("rect", { id: "cursor", y: TOP, height, width: share(1 / all), rx: 3 }),
		marks(all, lanes), s("rect", { id: "later", y: TOP, height, width: "100%" }));
	svg.style.height = `${TOP + height}px`;
	return section("replay", "Replay", "Step through the debate as it happened.", h("div.card",
		h("div.timeline", h("div.lanes", { "aria-hidden": "true" },
			lanes.map((id) => h("div", seatName(id))), h("div", "Other entries")), h("div", svg)),
		h("div.controls", button("Play", play, "play"), button("Back", () => step(-1)),
			button("Next", () => step(1)), h("input", {
				id: "slider", type: "range", min: 1, max: all, "aria-label": "Entry of the record",
				input: () => go(Number(at("slider").value)),
			})),
		h("p.unseen", { id: "told", role: "status" }),
		h("p.dim", `A box is a turn, with its ${page.figures.options?.length ? "vote" : "phase"} in it`,
			"; dashed: it does not count. ",
			"A dot is another entry; orange: it wants a look."),
		h("div.state", h("div", { id: "now" }),
			h("aside.card", { id: "then", "aria-label": "State at this point" }))));
}

// The entries that belong to each round: [first, last, round].
function bands() {
	const found = [];
	page.events.forEach((event, i) => {
		const round = event?.data.round ?? /^r(\d+)\./.exec(event?.data.step)?.[1] ?? "";
		if (round === "") return;
		if (found.at(-1)?.[2] === `${round}`) found.at(-1)[1] = i + 1;
		else found.push([i + 1, i + 1, `${round}`]);
	});
	return found;
}

function marks(all, lanes) {
	const drawn = new Set(), letters = all <= 30 ? 3 : all <= 90 ? 1 : 0; // that a mark has room for
	return page.events.map((event, i) => {
		const turn = page.turns.get(event?.seq), lane = turn ? lanes.indexOf(turn.seat) : lanes.length;
		const loud = page.notes.get(event?.seq)?.some((note) => note.severity !== "info");
		const kind = !turn ? loud ? "warn" : "quiet"
			: seatTone(turn.seat) + (turn.status === "counted" ? "" : ".out");
		const pixels = `${Math.floor(i / all * 600)} ${lane} ${kind}`;
		if (drawn.has(pixels)) return null; // two marks in one place
		drawn.add(pixels);
		const cx = share((i + 0.5) / all), cy = TOP + (lane + 0.5) * LANE;
		if (!turn) return s(`circle.${kind}`, { cx, cy, r: loud ? 5 : 3 });
		const width = all > 200 ? 3 : share(0.9 / all), text = (turn.vote ?? turn.phase).slice(0, letters);
		const x = share((i + 0.05) / all);
		return [s(`rect.${kind}`, { x, y: cy - 10, width, height: 20, rx: 3 }, s("title", who(turn.step))),
			text && s("text", { x: cx, y: cy }, text)];
	});
}

function play() {
	const all = page.events.length;
	clearInterval(page.playing);
	page.playing = page.playing ? 0 : setInterval(() => {
		if (page.place < all) go(page.place + Math.ceil(all / 200));
		else play();
	}, 900);
	if (page.playing && page.place === all) go(1);
	at("play").textContent = page.playing ? "Pause" : "Play";
}

// An entry as it is read aloud.
function spokenOf(n) {
	const event = page.events[n - 1];
	const what = event ? headline(event) : "This line is no entry of a record";
	return inert(`Entry ${n} of ${page.events.length}: ${what}`);
}

function step(by) {
	go(page.place + by);
	at("told").textContent = spokenOf(page.place);
}

function go(wanted) {
	const all = page.events.length, slider = at("slider");
	if (!slider) return;
	page.place = Math.min(all, Math.max(1, wanted || 1));
	slider.value = page.place;
	slider.setAttribute("aria-valuetext", spokenOf(page.place));
	at("cursor").setAttribute("x", share((page.place - 1) / all));
	at("later").setAttribute("x", share(page.place / all));
	at("now").replaceChildren(entry(page.place, null, true));
	at("then").replaceChildren(h("div", attempt(() => stateAt(page.place))));
}

function stateAt(n) {
	const f = figuresAt(n), due = page.result.walk?.log[n];
	const used = `${money(f.totals.cost_micro_usd)}, ${plural(f.totals.calls, "call")}`;
	const awaited = !due?.due.length
		? f.closed_at ? "Nothing: the debate is closed" : "Not known"
		: due.due.some((type) => EVENTS[type].opening) ? "The seats and documents of the opening"
			: spaced(due.due.join(" or "));
	return [h("h3", "At this point"),
		h("p", `Entry ${n} of ${page.events.length}` +
			(f.rounds_run ? `, round ${f.rounds_run}` : "")),
		formatOf(f).standing?.(f),
		h("h4", "Spent"), h("p", used), spending(f), h("h4", "Due next"),
		due?.steps.length ? h("ul.plain", due.steps.map((step) =>
			h("li", seatName(step.speaker), ` ${step.phase}, round ${step.round}`)))
			: h("p", awaited)];
}
