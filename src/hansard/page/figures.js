"use strict";
// What the page shows of a record, under the field names of the JSON report. Nothing is checked here.

// The state after these events: one that does not follow from those before it counts for nothing,
// nor what the walk did not find sound, beyond so many bytes of it.
const MOST_UNSOUND = 2 ** 21;
const stateAfter = (events, texts) => {
	const s = emptyState(texts);
	let room = MOST_UNSOUND;
	for (const event of events) {
		const { debate, seq, at } = event;
		if (!Object.hasOwn(event, "data") && (room -= event.bytes.length) < 0) {
			s.leftOut.push(seq);
			continue;
		}
		Object.assign(s, { debate, seq, ...(!PEOPLE[event.type] && { at }) }); // the time of the close stays
		try {
			takeEntry(s, event);
		} catch {
			s.leftOut.push(seq);
		}
	}
	return s;
};

const usage = ({ stated, ...used }, priced) => ({
	...used, ...(!priced && { cost_micro_usd: null, saved_micro_usd: null }),
	cached_ppm: stated && used.tokens_in
		? Math.min(1e6, Math.floor((used.tokens_cached * 1e6) / used.tokens_in)) : null,
});
// In characters, not JavaScript's halves; null for no text.
const charactersIn = (text) =>
	text?.replace(/[\ud800-\udbff][\udc00-\udfff]/g, "_").length ?? null;

const seatRows = (s) => {
	const voted = votesStand(s.spec.terms) ? turnsOf(s, "debater") : [];
	return seated(s).map((seat) => ({
		...seat, persona: shown(s, seat.persona), stance: seat.stance && stanceOf(s, seat.stance),
		votes: voted.filter((row) => row.seat === seat.id).map((row) => row.vote),
		...usage(s.used.get(seat.id), priceOf(s, seat.model)),
	}));
};
const asStated = (s, value) => (typeof value === "string" ? value : shown(s, value));
const askedOf = (s) => Array.from(s.calls.values(), (row) => {
	const { seq, call, speaker: seat, model, template, schema: schema_hash, prompt } = row;
	const { model: served = null, fingerprint = null, reply = null } = s.answers.get(call) ?? {};
	return { seq, call, seat, model, served: asStated(s, served), fingerprint: asStated(s, fingerprint),
		template, schema_hash, prompt, reply: reply && reply.sha256 };
});
const textsOf = (s) => [
	...["question", "context", "instructions"].map((what) => [what, s.spec[what]]),
	...seated(s).flatMap(({ id, persona, instructions, stance }) => [
		[`persona of ${id}`, persona],
		...(instructions ?? []).filter((row) => row.text).map((row) =>
			[`instructions of ${id} from round ${row.round}`, row.text]),
		[`stance ${stance?.label}`, stance?.text],
	]),
].filter(([, blob]) => blob).map(([what, { sha256 }]) => ({ what, sha256 }));
const sourceOf = (s, { source, original }) => source && {
	media_type: source.media_type, sha256: textOf(s, source.file), extractor: source.extractor,
	pages: source.pages, original: original && original.sha256,
};
const personOf = (s, person) => person && { name: textOf(s, person.name), key: person.key };
// Why nobody wrote the deliverable that was asked for; null where it is there.
const outputMissing = (s) => {
	const { role, reason, reply, cut } = s.turns.at(-1) ?? {};
	if (role !== "synthesizer" || s.synthesis) return null;
	const by = cut && stopper(s, cut);
	return by ? `${reason}, ${by}` : reason;
};
// What every format has; from `stopped` on, what the report has not.
const commonFigures = (s) => {
	const { spec, decision, closed, debate, opened_at, truncated, tools, resumes } = s;
	const { engine, name, collection_id, scripted, layout, leading_call, prices, limits } = spec;
	const { task_type, labels, retention, origin, estimate, templates, policy } = spec;
	const turns = scheduled(s), theatre = theatreOf(s), counted = new Map(); // by text
	const count = ({ sha256 }) => {
		if (!counted.has(sha256)) counted.set(sha256, charactersIn(s.texts.get(sha256)));
		return counted.get(sha256);
	};
	return {
		debate, engine, format: spec.terms.format, name, collection_id, scripted,
		task_type, requester: personOf(s, spec.requester), owner: personOf(s, spec.owner), labels,
		retention, origin, estimate, policy, gate: gateOf(s), templates, texts: textsOf(s),
		question: textOf(s, spec.question), status: closed?.outcome ?? "open",
		reason: closed?.reason ?? null, opened_at, closed_at: closed && s.at, entries: s.seq,
		debater_ids: ofRole(s, ...ARGUERS).map((seat) => seat.id), layout, leading_call,
		max_rounds: spec.terms.max_rounds, rounds_run: turns.at(-1)?.round ?? 0,
		speaker_schedule: turns.map((row) => row.seat),
		phase_sequence: unique(turns.map((row) => `${row.round} ${row.phase}`))
			.map((row) => row.split(" ")[1]),
		decision: decision?.decision ?? null, decision_text: decidedText(s),
		decision_rule: decision?.rule ?? null,
		output: s.synthesis && readFast(textOf(s, s.synthesis.text) ?? ""),
		truncated: truncated && { ...truncated, by: shown(s, truncated.by),
			reason: shown(s, truncated.reason) },
		stopper: truncated && stopper(s, truncated), output_missing: outputMissing(s),
		review: decision && shown(s, decision.review), seats: seatRows(s),
		evidence: s.evidence.map((row) => ({
			id: row.document, from_round: row.from_round, sha256: row.text.sha256,
			characters: count(row.text), source: sourceOf(s, row),
		})),
		prices, limits,
		charged: { tokens: s.tokens, cost_micro_usd: prices.length ? s.microUsd : null },
		ceilings: ceilings(s), totals: usage(totalOf(s), prices.length),
		calls: {
			asked: s.calls.size, answered: s.answers.size, failed: s.failed,
			rejected: s.rejected.length, abandoned: s.abandoned, compared: s.compared,
		},
		tools, resumes, theatre, notes: notesOf(s, theatre),
		stopped: closed && WORDING.stopped[closed.reason],
		how: decision && WORDING.how[decision.rule],
		decided_on: decision, counts: s.counts, left_out: s.leftOut,
		turns: [...s.turns, ...s.rejected].sort((one, other) => one.seq - other.seq),
	};
};
const figuresOf = (events, texts) => {
	const s = stateAfter(events, texts);
	if (!s.spec) return null;
	const common = commonFigures(s), result = s.format.result(s, s.spec.terms);
	return {
		...common, ...result, // the replay needs no more, at each of its steps
		get drift() { return s.format.drift(s, result); },
		get shares() { return sharesOf(s); },
		get asked() { return askedOf(s); },
		get governance() { return governanceOf(s, common.notes); },
	};
};
