"use strict";
// judged: rounds in which each side argues, then a judge (FORMAT.md §8.2).

function* scheduleJudged(debate) {
	const number = debate.terms.max_rounds, reason = "rounds_complete";
	const spoken = debate.spoken = new Set(); // the debaters heard so far
	for (let each = 1; each <= number; each++) {
		const turns = [];
		for (const seat of debate.seated("debater")) {
			const [turn] = yield [debate.step(each, "argument", seat)];
			turns.push(turn);
			if (turn.reply) spoken.add(turn.id);
		}
		if (!heard(turns).length) return [null, "nobody_heard"];
	}
	if (spoken.size < 2) return [tooFew(), reason];
	const [verdict] = yield [debate.step(number, "verdict", debate.seated("judge")[0])];
	if (!verdict.reply) return [null, "judge_failed"];
	const { winner } = verdict.says;
	if (winner && !spoken.has(winner)) return [tooFew(), reason];
	if (verdict.says.undeclared) return [decided("undeclared", "judge_undeclared"), reason];
	const decision = winner ? debate.seats.get(winner).stance.label : "synthesis";
	return [decided(decision, "judge_verdict"), reason];
}

const judgedResult = (s) => {
	const judge = verdictIn(s), value = saidBy(judge);
	const { winner, undeclared } = judge?.found ?? {}, sides = stances(s);
	const won = sides.find((row) => row.debater === winner);
	return {
		stances: sides,
		verdict: judge ? {
			verdict: textIn(value, "verdict"), winner: won ? won.text || won.label : null,
			winner_label: won?.label ?? null, winner_id: winner,
			reasoning: textIn(value, "reasoning"), undeclared,
			named: undeclared ? textIn(value, "winner") : null, seq: judge.seq,
		} : null,
	};
};

const drawSides = (f) => figure("Sides",
	table("plain", "Sides", ["Stance", "Argued by", "Verdict"], f.stances.map((row) =>
		[said(stanceIn(row.label, row.text, 80)), seatName(row.debater),
			row.label === f.verdict?.winner_label ? h("strong", "won") : "–"])),
	f.stances.map((row) => h("p.dim", h("strong", said(row.label)), ": ", said(row.text))));

const MANY_ROUNDS = 4; // above, debaters give in to each other

FORMATS.judged = {
	phases: "argument|verdict",
	terms: ["max_rounds:thousand anonymize_transcript:bool shuffle_for_judge:bool",
		{ stances: ["name"] }],
	sound: ({ stances }) => distinct(stances) && stances.length >= 2,
	seats: ({ stances }) => [...stances.map((stance) => ["debater", stance]), ["judge", null]],
	templates: {
		protocol: "stances", debater: "max_rounds round stance", judge: "rounds stances",
	},
	schemas: ({ stances }) => {
		const winner = { enum: [...stances, null], type: ["string", "null"] };
		const judge = [["verdict", TEXT], ["winner", winner], ["reasoning", TEXT]];
		return [["debater", TEXT], ["judge", record(judge)]];
	},
	title: ({ step }) => `${step.seat.stance.label}, round ${step.round}`,
	// The judge reads each round in an order of its own where it is drawn, or where names are shown.
	ownOrder: (transcript, step) => {
		const { terms, seed } = transcript.opening;
		const named = !terms.anonymize_transcript, shuffled = terms.shuffle_for_judge;
		if (step.seat.role !== "judge" || !(shuffled || named)) return null;
		const key = (turn) => (shuffled ? sha256(toBytes(
			`hansard-shuffle/v1\n${seed}\n${step.name}\n${turn.step.round}\n${turn.id}`)) : "");
		return inOrder(heard(transcript.turns), key)
			.flatMap((turn) => transcript.said(turn, named ? `, ${turn.id}` : ""));
	},
	// A winner that is no stance counts as nobody, the last time or of a judge who cannot be asked.
	read: (walk, step, why, value) => {
		if (why?.code !== "unknown_option") return why;
		const { role, model } = step.seat, last = step.ended + 1 >= walk.opening.attempts;
		const alone = !misfit({ ...value, winner: null }, walk.schemas.get(role), null);
		return alone && (last || model.startsWith("custom:")) ? null : why;
	},
	couldRule: (debate, says) => (says.winner === null ? nothingBut(says, "undeclared")
		: nothingBut(says, "winner") && debate.seated("debater").some(({ id }) => id === says.winner)),
	schedule: scheduleJudged,
	lost: (walk) =>
		new Set([...walk.spoken, ...stillIn(walk).map(({ id }) => id)]).size < 2,

	result: judgedResult,
	lead: (f) => {
		if (f.verdict && f.decision_rule === "judge_undeclared") {
			return leftLead(f, leadWords("undeclared", { named: opening(f.verdict.named) }));
		}
		if (!f.verdict || f.decision_rule !== "judge_verdict") return leftLead(f);
		const { winner_label: label, winner_id: who } = f.verdict;
		if (label === null) {
			return [delivered(f, ALL_WORDS) ?? opening(f.verdict.verdict, ALL_WORDS), leadWords("combined")];
		}
		const { text } = f.stances.find((row) => row.label === label);
		return [stanceIn(label, text, MOST_WORDS), leadWords("judge", { who })];
	},
	stood: () => leadWords("unruled"),
	drift: () => [], // whoever argues a stance is told to keep it, and nobody votes
	notes: {
		"verdict.recorded": (s, d) => [[d.undeclared, "undeclared_winner"]],
	},
	whole: (s) => {
		const rounds = s.spec.terms.max_rounds;
		return [[rounds > MANY_ROUNDS, "many_rounds", { rounds, limit: MANY_ROUNDS }]];
	},
	charts: (f) => [drawSides(f)],
	concluded: ({ verdict: v }) => v && [
		h("p.key", "The judge's verdict, entry ", ref(v.seq)), words(v.verdict), words(v.reasoning)],
};
