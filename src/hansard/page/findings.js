"use strict";
// Notes on a debate as a whole: votes that changed, who wrote most, who answered (RULES.md D 64 to D 66).

const holders = (votes, option) =>
	[...votes].filter(([, vote]) => vote === option).map(([seat]) => seat);
// Each turn in which a vote is not the debater's last one, `before`, or not the one `held`, which may
// be none. Those who speak at once, at first and in drafts, see no vote of their phase.
const swaysOf = (s) => {
	const rows = votesStand(s.spec.terms) ? turnsOf(s, "debater") : [];
	const held = new Map(), last = new Map(), found = [];
	const phaseOf = ({ round, phase }) => `${round} ${phase}`, first = rows.length && phaseOf(rows[0]);
	let seen, group;
	for (const row of rows) {
		const { seat, round, phase, vote, seq } = row, old = last.get(seat), own = old?.own ?? new Set();
		const now = phase === "draft" || phaseOf(row) === first ? phaseOf(row) : seq;
		if (now !== group) [seen, group] = [new Map(held), now];
		const towards = vote ? holders(seen, vote) : [], isNew = phase === "revision" ||
			own.has(vote) || towards.some((id) => old?.seen.get(id) !== vote) ||
			s.evidence.some(({ from_round: from }) => old?.round < from && from <= round);
		const before = vote && old && old.vote !== vote ? old.vote : null;
		if (before || (seen.has(seat) && seen.get(seat) !== vote)) {
			found.push({ row, seat, seq, before, after: vote, held: seen.get(seat), towards,
				givenUp: before && towards.length > 0 && !isNew });
		}
		held.set(seat, vote);
		if (vote) last.set(seat, { vote, seen, round, own: own.add(vote) });
	}
	return found;
};
const voteDrift = (s) => swaysOf(s).filter(({ held, after }) => held !== undefined && held !== after)
	.map(({ row, held, after, towards }) => change(row, "vote", { before: held, after, towards }));
const changesOf = (s) => swaysOf(s).filter(({ before }) => before);
const changeNotes = (changes) => changes.flatMap((each) => {
	const towards = few(each.towards), said = { ...each, who: who(each.row.step), towards };
	return notesFrom([each.givenUp ? [true, "capitulation", said]
		: [true, "drift", said, towards ? "towards" : "alone"]], each.seq);
});

// What a counted decision owes to votes that were given up, or to who spoke first.
const outcomeNotes = (s, changes) => {
	if (!isDecided(s) || !s.decision.rule.endsWith("_vote")) return [];
	const { decision: option, votes, threshold } = s.decision, firsts = new Map();
	const last = new Map(changes.map((row) => [row.seat, row.givenUp]));
	const seats = [...last].filter(([id, up]) => up && s.votes.get(id) === option).map(([id]) => id);
	const left = votes - seats.length;
	for (const { seat, vote } of turnsOf(s, "debater")) {
		if (vote && !firsts.has(seat)) firsts.set(seat, vote);
	}
	const others = [...firsts].filter(([, vote]) => vote !== option).map(([id]) => id);
	const [speaker] = firsts.keys(), all = [...s.votes.values()].every((vote) => vote === option);
	return [
		[seats.length && left < threshold, "capitulation",
			{ seats: list(seats), option, votes: many(left, "vote"), threshold }, "carried"],
		[all && others.length && !others.includes(speaker), "first_answer",
			{ speaker, option, others: list(others) }],
	];
};

// Who wrote far more than the others, of those who have one task.
const DOMINANT = 3; // times what they wrote on average
const dominantNotes = (s) => {
	if (!s.closed) return [];
	const proposers = ofRole(s, "proposer").map((seat) => seat.id);
	const rows = sharesOf(s).filter((row) => proposers.length < 2 || proposers.includes(row.seat));
	const heard = rows.filter((row) => row.characters), total = sum(heard.map((row) => row.characters));
	const most = rows.every((row) => row.characters !== null) && heard.length > 1 && heard.find(
		({ characters: n }) => n * (heard.length - 1) > DOMINANT * (total - n));
	return [[most, "dominance", most && { seat: most.seat, times: DOMINANT,
		share: inPercent(Math.floor(1e6 * most.characters / total)) }]];
};

// Which model answered, where it is not the one that was asked for.
const VERSION = /^(:latest|[-@](\d{4}-\d\d-\d\d|\d{8}|\d\d-\d{4}|\d{3,4}))?$/;
const isAsked = (asked, served) => { // an id has 256 characters, and a version follows
	const [wanted, name] = [asked.slice(asked.indexOf(":") + 1), served.slice(-512)]
		.map((text) => text.slice(text.lastIndexOf("/") + 1).toLowerCase());
	const base = wanted.replace(/[-:]latest$/, "");
	return name === wanted || name.startsWith(base) && VERSION.test(name.slice(base.length));
};
const servedNotes = (s) => {
	const calls = new Map();
	for (const { call, model: asked } of s.calls.values()) {
		const model = s.answers.get(call)?.model ?? null, isId = typeof model === "string";
		const served = isId ? model : textOf(s, model);
		if (served === null || /^(scripted|recorded|python|custom):/.test(asked)) continue;
		if (isAsked(asked, served)) continue;
		const pair = JSON.stringify({ asked, served: isId ? served : WORDING.no_id });
		if (calls.has(pair)) calls.get(pair).push(call);
		else calls.set(pair, [call]);
	}
	return Array.from(calls, ([pair, of]) =>
		[true, "served_otherwise", { ...JSON.parse(pair), calls: few(of) }]);
};
