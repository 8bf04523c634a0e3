"use strict";
// What is found for each governance row: [variant of the sentence, its values, whether somebody must
// look], or nothing where the record holds nothing that the row rules on.

const tallyInWords = ({ tally, abstentions }) => list([
	...tally.map((row) => fill(WORDING.tally.option, row)),
	fill(WORDING.tally.abstained, { abstentions }),
]);
// Only of models that were asked: replies of a script are nobody's.
const modelsOf = (s, ...roles) => {
	const models = ofRole(s, ...roles).filter((seat) => familyOf(seat.model))
		.map((seat) => fill(WORDING.seat, seat));
	return models.length && ["text", { models: list(models) }];
};
const callsOf = (s) => ({ calls: many(s.calls.size, "call") });
const decisionOf = (s) => decisionIn(s.decision.decision, decidedText(s));

const ROWS = {
	votes: (s) => s.counts.length && ["text", { tally: tallyInWords(s.counts.at(-1)) }],
	kept_votes: (s) => {
		const changes = changesOf(s), given_up = sum(changes.map((row) => +row.givenUp));
		return s.counts.length && votesStand(s.spec.terms) &&
			["text", { votes: many(changes.length, "vote"), given_up }];
	},
	decision: (s) => {
		if (!s.decision) return null;
		const { votes, threshold, rule } = s.decision;
		// Other rules may note votes as well, but it is not they that decided.
		return [votes !== null && rule.endsWith("_vote") ? "counted" : "text", {
			decision: decisionOf(s), how: WORDING.how[rule], votes: many(votes, "vote"), threshold,
		}];
	},
	replies: (s) => ["text", { replies: many(s.turns.filter(isHeard).length, "reply that counts") }],
	schedule: (s) => ["text", { turns: many(scheduled(s).length, "scheduled turn") }],
	approved_prompts: (s) => (s.refused ? ["refused", s.refused]
		: s.spec.policy && [s.calls.size ? "text" : "none", callsOf(s)]),
	fixed_prompts: (s) => !s.spec.policy && ["text"],
	prompt_hashes: (s) => s.calls.size && ["text", callsOf(s)],
	sent_prompts: (s) => (s.sentOtherwise.length ? ["otherwise"]
		: s.compared && ["text", { compared: s.compared, ...callsOf(s) }]),
	outcome: (s) => s.decision && (s.decision.decision === "escalate" ? ["escalated", {}, true]
		: ["text", { decision: decisionOf(s) }]),
	rounds: (s) => {
		const run = scheduled(s).at(-1)?.round ?? 0, limit = s.spec.terms.max_rounds;
		return ["text", { rounds: many(run, "round"), limit: many(limit, "round") }, run > limit];
	},
	ceilings: (s, part) => {
		const rows = ceilings(s).map(({ name, spent, limit }) =>
			part("ceiling", { spent: amount(name, spent), limit: amount(name, limit) }));
		return rows.length && ["text", { ceilings: list(rows) }];
	},
	judge: (s) => modelsOf(s, "judge", "moderator"),
	debaters: (s) => modelsOf(s, ...ARGUERS),
	gate: ({ spec: { gate } }) => gate && ["text", { advice: adviceIn(gate) }],
	models: (s) => (s.spec.scripted ? ["scripted", {}, true]
		: ["text", { replies: many(s.answers.size, "reply") }]),
	participation: (s) => ["text", {
		turns: many(s.turns.filter((row) => row.silence).length, "turn"),
		calls: many(s.failed + s.abandoned, "call"), replies: many(s.rejected.length, "reply"),
	}],
	completion: ({ closed }) => (closed ? ["text",
		{ status: closed.outcome, stopped: WORDING.stopped[closed.reason] },
		closed.outcome !== "complete"] : ["open", {}, true]),
	texts: (s) => [s.notes.some((note) => note.code === "text_gone") ? "gone" : "text"],
};

const governanceOf = (s, noted) => Object.entries(VOCABULARY.governance).flatMap(([code, row]) => {
	const notes = noted.filter((note) => note.severity !== "info" && row.notes?.includes(note.code));
	const part = (variant, values = {}) =>
		(variant ? fill(row.found[variant] ?? row.found, values) : "");
	const find = s.format.rows?.[code] ?? ROWS[code], found = find?.(s, part);
	if (!found && !notes.length) return [];
	const [variant, values = {}, review = false] = found || [null];
	return [{
		code, name: row.name, rule: fill(row.rule, values), found: part(variant, values),
		review: notes.length > 0 || review, checks: row.checks ?? [], notes,
	}];
});
