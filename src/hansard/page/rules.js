"use strict";
// What the rules of all formats share: what is counted, and what may be decided (FORMAT.md §8, §9).

// ---- 14 counts (§9)

const folded = (text) => text.replace(BLANKS, " ").replace(/^ +| +$/g, "");
// The first of these phrases, of up to three words, that a text has without a negation right before
// it; null where it has none.
function phraseIn(text, phrases) {
	const words = wordsOf(text);
	for (const place of words.keys()) {
		if (NEGATIONS.has(words[place - 1])) continue;
		const found = [1, 2, 3].map((size) => words.slice(place, place + size).join(" "))
			.find((phrase) => phrases.includes(phrase));
		if (found) return found;
	}
	return null;
}
// An entry that is due and follows from those before: its type, check and derived fields, or, where
// it rests on a text that is gone, a function of what it says that gives them, or null.
const due = (kind, check, fields) => ({ kind, check, fields });

entryType("votes.counted", form(`round:count phase:phase abstentions:count threshold:positive
	reached:bool`, { tally: [form("option:name votes:count")] }));
entryType("similarity.measured", form(`round:count measure:options|words|whole heard:count
	threshold_ppm:ppm converged:bool`,
	{ pairs: [form("one:name other:name ppm:ppm negation_differs:bool")] }));

function counted(turns, tally, threshold) {
	const { round, phase } = turns[0].step, rows = [...tally];
	return due("votes.counted", 14, {
		round, phase, tally: rows.map(([option, votes]) => ({ option, votes })),
		abstentions: turns.length - heard(turns).length, threshold,
		reached: rows.filter(([, votes]) => votes >= threshold).length === 1,
	});
}

// The current votes are those of the last turns, one of each debater.
function countVotes(options, turns, threshold) {
	const votes = heard(turns).map((turn) => turn.says.vote);
	const tally = options.map((option) => [option, votes.filter((vote) => vote === option).length]);
	return counted(turns, new Map(tally), threshold);
}

function byCount({ tally, threshold, reached }, rule) {
	const first = reached && tally.find((row) => row.votes >= threshold);
	const decision = first ? first.option : "escalate"; // which may be an option as well
	const votes = tally.find((row) => row.option === decision)?.votes ?? 0;
	return decided(decision, rule, { votes, threshold });
}

// ---- 9 schedule (§8)

const OPEN_ENDS = ["escalate", "undeclared"]; // the decisions after which a person must look
const RESERVED = [...OPEN_ENDS, "synthesis", "upheld", "not_upheld"]; // decisions, not seats
const ARGUING = { // the roles whose turns have a case, and where their arguments stand
	proposer: "supporting_arguments", critic: "counter_arguments", rebuttal: "rebuttals",
};
const TURNS = { // of the roles whose turn is not `turn.recorded`
	judge: "verdict.recorded", moderator: "verdict.recorded", synthesizer: "synthesis.recorded",
};
const NOTHING = { // a verdict that says nothing
	winner: null, undeclared: false, choice: null, upholds: null, ranking: [], scores: [],
	resolved: 0, unresolved: 0, uncertainties: 0, confidence: null, another_round: null,
};
const decided = (decision, rule, more = {}) =>
	({ decision, rule, votes: null, threshold: null, score_ppm: null, ...more });
const tooFew = () => decided("escalate", "too_few_heard");
const distinct = (names) => new Set(names).size === names.length;

