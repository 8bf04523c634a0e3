"use strict";
// Notes on one entry, made when the state has it, and on the debate as a whole. Each is made of a row
// [whether it holds, code, values, variant].

const notesFrom = (rows, seq = null) => rows.filter(([holds]) => holds)
	.map(([, code, values = {}, variant = "text"]) => {
		const [severity, sentences] = Object.entries(VOCABULARY.notes[code])
			.find(([, said]) => typeof said === "string" || said[variant]);
		const all = fill(sentences[variant] ?? sentences, values), most = all.slice(0, 65536);
		return { code, severity, message: most === all ? all : `${most} …`, seq };
	});

// The texts that a report shows of each type of entry: where each stands, and what it is.
const TEXTS = {};
for (const [fields, what] of Object.entries(WORDING.texts)) {
	for (const field of fields.split(", ")) {
		const [type, path] = field.split(" ");
		(TEXTS[type] ??= []).push([path.split("."), what]);
	}
}
// Of each of them that is not here: a field of a list has several.
const goneNotes = (s, type, d) => (TEXTS[type] ?? []).flatMap(([path, what]) => {
	const found = path.reduce((value, key) => value?.[key], d);
	const values = { ...d, ...d.stance, who: d.step && who(d.step) };
	return [found ?? []].flat().filter((blob) => !s.texts.has(blob.sha256))
		.map(() => [true, "text_gone", { what: fill(what, values) }]);
});
// The seats that were not heard at last, why, and what to mend.
const causes = (s, reason) => {
	const { mends, keys, silences, cause } = WORDING, found = new Map();
	const judged = reason.endsWith("_failed"), roles = judged ? ["judge", "moderator"] : ARGUERS;
	for (const { id, model, parameters: { base_url: url } } of ofRole(s, ...roles)) {
		const turn = s.turns.findLast((row) => row.seat === id), call = s.lastFailed.get(id);
		if (!turn || isHeard(turn)) continue;
		const rejected = turn.silence === "invalid_reply" || !call;
		const kind = rejected ? "invalid_reply" : mends[call.status] ? call.status : call.error;
		const host = url?.split("/")[2].toUpperCase().replaceAll("-", "__").replace(/[^A-Z0-9]/g, "_");
		const key = url ? `HANSARD_KEY_${host}`
			: new Map(Object.entries(keys)).get(model.split(":")[0]) ?? keys.other;
		const text = fill(cause, {
			model, seats: "{seats}", mend: fill(mends[kind], { key }),
			why: rejected ? silences.invalid_reply : failure({ ...call, request_id: null }),
		});
		found.set(text, [...found.get(text) ?? [], id]);
	}
	return Array.from(found, ([text, seats]) => fill(text, { seats: list(seats) })).join(". ");
};
// Who stopped the debate and why, in words; null where a ceiling did.
const stopper = (s, { ceiling, ...cut }) => {
	const [by, reason] = [cut.by, cut.reason].map((blob) => shown(s, blob));
	const said = by && reason ? "both" : by ? "by" : reason ? "reason" : "none";
	return ceiling === "operator" ? fill(WORDING.stop[said], { by, reason }) : null;
};
const truncatedNotes = (s, { step, ceiling, ...cut }) => {
	const total = totalOf(s), byPerson = ceiling === "operator";
	const [limit, spent, reserved] = byPerson ? [] : [cut.limit, cut.spent, cut.reserved]
		.map((n) => amount(ceiling, n));
	const paid = fill(WORDING.paid, {
		calls: many(total.calls, "call"), tokens: many(total.tokens_in + total.tokens_out, "token"),
		cost: s.spec.prices.length ? amount("cost", total.cost_micro_usd) : WORDING.no_price,
	});
	return [[true, "truncated", { step, limit, spent, reserved, paid },
		byPerson ? "stopped" : "text"]];
};

// The debate as a whole: what its format notes, who sits at the table, what was used

const notesOf = (s, theatre, changes = changesOf(s)) => [
	...notesFrom([
		...s.format.whole?.(s) ?? [], ...tableNotes(s, theatre), ...useNotes(s), ...servedNotes(s),
		...dominantNotes(s), ...outcomeNotes(s, changes),
	]),
	...[...s.notes, ...changeNotes(changes)].sort((one, other) => one.seq - other.seq),
];
const tableNotes = (s, theatre) => {
	const seats = seated(s), ids = (rows) => list(rows.map((seat) => seat.id));
	const filledBy = (kind) => seats.filter((seat) => seat.model.startsWith(`${kind}:`));
	const pairs = ofRole(s, "critic").flatMap((critic) => ofRole(s, "proposer").map((proposer) =>
		({ critic, proposer, kin: shared(critic, proposer) })));
	const biased = ofRole(s, "judge", "moderator").flatMap((judge) => {
		const alike = ofRole(s, ...ARGUERS).map((seat) => ({ ...seat, kin: shared(judge, seat) }));
		return unique(alike.map((seat) => seat.kin)).map((kin) =>
			({ judge: judge.id, kin, judged: ids(alike.filter((seat) => seat.kin === kin)) }));
	});
	const custom = filledBy("custom"), { context, instructions, tools } = s.spec;
	const told = context || instructions || tools.length ||
		seats.some((seat) => seat.instructions) || custom.some((seat) => seat.persona);
	return [
		...["scripted", "recorded"].map((code) => {
			const of = filledBy(code);
			return [of.length, code, { seats: ids(of) }, of.length === seats.length ? "all" : "some"];
		}),
		...theatre.map((row) => [true, "theatre", { seats: list(row.seats), kin: nameKin(row) },
			row.persona ? "persona" : "bare"]),
		...pairs.map(({ critic, proposer, kin }) =>
			[kin, "single_model", { proposer: proposer.id, critic: critic.id, kin }]),
		...biased.map((row) => [row.kin, "self_bias", row]),
		[s.spec.gate?.advised === false, "against_gate",
			s.spec.gate && { why: whyAdvised(s.spec.gate) }],
		[custom.length && told, "custom_seats", { seats: ids(custom) }],
	];
};
const few = (rows) => {
	const names = list(rows.slice(0, 3)), more = rows.length - 3;
	return more > 0 ? fill(WORDING.more, { names, more }) : names;
};
const useNotes = (s) => {
	const { policy, prices } = s.spec, total = totalOf(s), limits = ceilings(s);
	const charged = [
		["tokens", s.tokens, total.tokens_in + total.tokens_out],
		["cost", s.microUsd, total.cost_micro_usd],
	];
	const why = new Map(s.rejected.map((row) => [row.step, row.reason])); // of the last one
	const inVain = s.turns.filter((row) => row.silence === "invalid_reply")
		.map(({ step }) => fill(WORDING.because, { who: who(step), why: why.get(step) }));
	return [
		[s.failed, "failed", { failed: s.failed, calls: many(total.calls, "call") }, "total"],
		[inVain.length, "forfeited", { turns: many(inVain.length, "turn"), whose: few(inVain) }, "total"],
		...limits.map(({ name, limit, spent }) => [
			s.closed && spent > limit && name !== s.cut?.ceiling, "over_ceiling",
			{ spent: amount(name, spent), limit: amount(name, limit) }]),
		[s.refused, "refused", { role: s.refused?.role }, "total"],
		[policy, "policy", { policy: policy?.slice(0, 16) }],
		[s.unpriced && prices.length, "cost_incomplete", { replies: many(s.unpriced, "reply") }],
		...charged.map(([name, counted, used]) => [
			counted !== used && limits.some((row) => row.name === name), "charged",
			{ charged: amount(name, counted), used: amount(name, used) }]),
		[s.sentOtherwise.length, "sent_otherwise", { calls: few(s.sentOtherwise) }],
	];
};
