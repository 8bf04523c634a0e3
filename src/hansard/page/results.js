"use strict";
// What several formats have in common. What a reply should say may be missing or of another kind.

// What a reply says under a name: a text, or texts

const saidBy = (row) => row?.value ?? {};
const textIn = (value, key) => (typeof value[key] === "string" ? value[key] : null);
const textsIn = (value, key) =>
	(Array.isArray(value[key]) ? value[key] : []).filter((row) => typeof row === "string");

// Turns, votes and how they changed

const verdictIn = (s) => turnsOf(s, "judge").find(isHeard);
const labelOf = (s, id) => s.seats.get(id)?.stance?.label ?? null;
const decidedText = (s) => {
	const won = seated(s).find(({ stance }) => stance && stance.label === s.decision?.decision);
	return won ? textOf(s, won.stance.text) : null;
};
const stances = (s) => seated(s).filter((seat) => seat.stance)
	.map((seat) => ({ ...stanceOf(s, seat.stance), debater: seat.id }));
// What a complete debate decided, unless that a person must; and whether no debater saw another's
// argument: nobody spoke after the first phase, which is asked for in parallel (RULES.md D 63).
const isDecided = ({ closed, decision }) =>
	closed?.outcome === "complete" && decision && decision.decision !== "escalate";
const isUnseen = (s) => isDecided(s) &&
	unique(turnsOf(s, "debater").map((row) => `${row.round} ${row.phase}`)).length === 1;
const tallyOf = (s) => {
	const spoke = new Set(s.turns.map((row) => row.seat)), tally = new Map();
	let silent = 0;
	for (const [seat, vote] of s.votes) {
		if (vote !== null) tally.set(vote, (tally.get(vote) || 0) + 1);
		else if (spoke.has(seat)) silent += 1;
	}
	return silent ? tally.set("abstain", silent) : tally;
};

// A change between two turns of one speaker: of a vote, an answer or a thesis.
const change = ({ seat, round, phase }, what, more) => ({
	what, speaker: seat, round_index: round, phase, before: null, after: null, towards: [],
	before_ppm: null, after_ppm: null, ...more,
});
// How many characters each seat that argues wrote, and which share that is.
const sharesOf = (s) => {
	const written = new Map(ofRole(s, ...ARGUERS).map((seat) => [seat.id, 0]));
	for (const row of s.turns.filter((each) => isHeard(each) && written.has(each.seat))) {
		const count = charactersIn(textOf(s, row.reply)), before = written.get(row.seat);
		written.set(row.seat, count === null || before === null ? null : before + count);
	}
	const total = [...written.values()].includes(null) ? 0 : sum([...written.values()]);
	return Array.from(written, ([seat, characters]) => ({
		seat, characters, share_ppm: total ? Math.floor(1e6 * characters / total) : null,
	}));
};
