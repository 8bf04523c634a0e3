"use strict";
// consensus: rounds of four phases, each with a count, until enough votes agree (FORMAT.md §8.1).

function* scheduleConsensus(debate) {
	const { terms } = debate, debaters = debate.seated("debater");
	const rules = {
		threshold: "threshold_vote", majority: "majority_vote", unanimity: "unanimous_vote",
	};
	let count;
	for (let number = 1; number <= terms.max_rounds; number++) {
		for (const phase of ["proposal", "critique", "revision", "consensus"]) {
			let turns = [];
			if (number === 1 && phase === "proposal") {
				turns = yield debaters.map((seat) => debate.step(number, phase, seat));
			} else {
				for (const seat of debaters) turns.push(...yield [debate.step(number, phase, seat)]);
			}
			if (!heard(turns).length) return [null, "nobody_heard"];
			count = yield countVotes(terms.options, turns, terms.threshold);
			if (count.reached) return [byCount(count, rules[terms.rule]), "votes_reached"];
		}
	}
	return [byCount(count, "max_rounds_exhausted"), "max_rounds_exhausted"];
}

const consensusResult = (s, { options, rule, threshold }) => ({
	options, rule, consensus_threshold: threshold, vote_tally: tallyOf(s),
	dissent: s.decision === null || s.decision.rule === "max_rounds_exhausted" ? []
		: [...s.votes].filter(([, vote]) => vote !== s.decision.decision)
			.map(([speaker, vote]) => ({ speaker, vote })),
});

// The options that several hold, where so few are enough.
const tieAtThreshold = (s, d) => {
	const tied = d.tally.filter((row) => row.votes >= d.threshold).map((row) => row.option);
	return [[tied.length > 1, "tie", { ...d, options: list(tied) }, "threshold"]];
};

const stanceOfLast = (f, id) =>
	textIn(saidBy(f.turns.findLast((row) => row.seat === id && isHeard(row))), "stance");

FORMATS.consensus = {
	phases: "proposal|critique|revision|consensus",
	terms: ["max_rounds:thousand rule:threshold|majority|unanimity threshold:positive",
		{ options: ["name"] }],
	fewestOptions: 1,
	reserved: [], // its decisions are options: a seat may be called as an outcome is
	derived: ({ rule, threshold }, number) => ({
		threshold: { majority: Math.floor(number / 2) + 1, unanimity: number }[rule] ?? threshold,
	}),
	seats: (terms, number) => Array(Math.max(number, 1)).fill(["debater", null]),
	templates: { protocol: "options", debater: "max_rounds options phase round speaker" },
	schemas: ({ options }) =>
		[["debater", record([["stance", TEXT], ["rationale", TEXT], ["vote", oneOf(options)]])]],
	title: ({ id, step }) => `${id}, round ${step.round}, ${step.phase}`,
	schedule: scheduleConsensus,
	lost: (walk) => stillIn(walk).length < walk.terms.threshold,

	result: consensusResult,
	lead: (f) => {
		if (f.decision_rule === "max_rounds_exhausted") return shortLead(f);
		const found = countedLead(f);
		return f.review === null ? found : leftLead(f, list(found));
	},
	stood: (f) => (f.vote_tally.size
		? leadWords("theirs", { tally: tallied(f.vote_tally), all: voters(f).length })
		: leadWords("nothing")),
	drift: (s) => voteDrift(s),
	notes: { "votes.counted": tieAtThreshold },
	whole: (s) => {
		const { threshold } = s.spec.terms, debaters = s.votes.size;
		return [
			[threshold * 2 <= debaters, "low_threshold", { threshold, debaters }],
			[isUnseen(s), "hollow_consensus", { votes: many(s.decision?.votes, "vote") }, "votes"],
		];
	},
	charts: (f) => [drawVotes(f)],
	standing: (f) => [h("h4", "Votes that count"), voteBars(f, false)],
	concluded: (f) => (f.decision && !agreedOnNothing(f) ? f.seats : [])
		.filter((seat) => seat.votes.at(-1) === f.decision).map((seat) =>
			[h("p.by", seatName(seat.id), " ", pill(f.decision)), words(stanceOfLast(f, seat.id))]),
	undecided: (f) => f.status !== "failed" && !f.decision && f.vote_tally.size > 0 &&
		[h("p", "No option has enough votes yet:"), drawTally(f)],
	dissents: (f) => f.dissent.map((row) =>
		[seatName(row.speaker), " ", pill(row.vote), " ", said(stanceOfLast(f, row.speaker))]),
};
