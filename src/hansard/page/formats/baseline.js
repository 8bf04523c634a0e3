"use strict";
// baseline: one seat answers one prompt, once or several times, all at once (FORMAT.md §8.5, §9).

function* scheduleBaseline(debate) {
	const { options, draws } = debate.terms, [seat] = debate.seated("debater");
	const turns = yield numbers(draws).map((number) => debate.step(1, `draw-${number}`, seat));
	if (!heard(turns).length) return [null, "nobody_heard"];
	const reason = "rounds_complete";
	if (!options.length) return [decided(seat.id, "first_draw"), reason];
	const count = yield countDraws(options, turns), { threshold } = count;
	if (count.reached) return [byCount(count, "plurality_vote"), reason];
	return [decided("escalate", "no_plurality", { votes: 0, threshold }), reason];
}

// An option wins with one more than any other has.
function countDraws(options, turns) {
	const { fields: { tally } } = countVotes(options, turns, 1);
	const [, second = 0] = tally.map((row) => row.votes).sort((a, b) => b - a);
	const { fields } = countVotes(options, turns, second + 1);
	return due("votes.counted", 14, { ...fields, phase: "draw" });
}

const drawOf = (row) => Number(row.phase.split("-")[1]);
const baselineResult = (s, { draws, options }) => {
	const turns = turnsOf(s, "debater"), [count = null] = s.counts;
	const tally = count && new Map(count.tally.filter((row) => row.votes)
		.map((row) => [row.option, row.votes]));
	if (count?.abstentions) tally.set("abstain", count.abstentions);
	const answers = turns.filter(isHeard)
		.map((row) => (options.length ? textIn(saidBy(row), "answer") : row.text));
	const { decision, rule } = s.decision ?? {};
	const answer = { plurality_vote: decision, first_draw: answers[0] ?? GONE }[rule] ?? null;
	return { draws, options, answer, vote_tally: tally };
};

const tieOfDraws = (s, d) => {
	const votes = Math.max(...d.tally.map((row) => row.votes));
	const tied = d.tally.filter((row) => row.votes === votes).map((row) => row.option);
	return [[!d.reached, "tie", { options: list(tied), answers: many(votes, "answer") }, "draws"]];
};

const drawDraws = (f) => figure("Answers", bars([...f.vote_tally].map(([vote, count]) => {
	const tone = voteTone(vote);
	return [h(`strong.${tone}`, said(vote)), bar([[0, count / f.draws, tone]]), count];
})), h("p.dim", "The option that more answers choose than any other is taken."));

FORMATS.baseline = {
	phases: "draw",
	terms: ["draws:ninety_nine max_rounds:=1", { options: ["name"] }],
	seats: () => [["debater", null]],
	templates: { protocol: "", debater: "", chooser: "options" },
	template: ({ options }, role) => (role === "debater" && options.length ? "chooser" : role),
	schemas: ({ options }) => [["debater", options.length
		? record([["answer", TEXT], ["choice", oneOf(options)]]) : TEXT]],
	title: ({ step }) => `draw ${drawOf(step)}`,
	schedule: scheduleBaseline,

	result: baselineResult,
	lead: (f) => {
		const { decision_rule: rule, decision: option, answer, draws: all } = f;
		if (rule === "no_plurality") return leftLead(f, leadWords("even", { tally: tallied(f.vote_tally) }));
		if (rule === "plurality_vote") {
			const words = delivered(f), votes = f.vote_tally.get(option) ?? 0;
			return [words ? leadWords("carried", { words, option }) : option,
				leadWords("answers", { votes, all })];
		}
		return [opening(answer === GONE ? null : answer, ALL_WORDS),
			all === 1 ? leadWords("only") : leadWords("first", { all })];
	},
	stood: ({ turns }) => {
		const heard = turns.filter(isHeard).length;
		return heard ? leadWords("drafts", { drafts: many(heard, "answer") }) : leadWords("nothing");
	},
	drift: () => [],
	notes: { "votes.counted": tieOfDraws },
	charts: (f) => [f.vote_tally && drawDraws(f)],
	concluded: (f) => f.answer && [words(f.answer)],
	undecided: (f) => f.vote_tally && drawTally(f),
};
