"use strict";
// Folds entries one after another into a state: the `s` that all that follows is made of. What is
// keyed by an id is a Map: an id may be "1" or "__proto__".

const UNTRIED = ["abandoned", "raised"]; // no end of the model's
const UNKNOWN_USE = ["timeout", "server_error", "crashed", ...UNTRIED]; // perhaps paid for
const STATED = ["tokens_in", "tokens_cached", "tokens_cache_write", "tokens_out", "cost_micro_usd"];
const USED = ["calls", "failed", "saved_micro_usd", "stated", ...STATED];
const FAILED = ["nobody_heard", "seats_lost", "judge_failed", "moderator_failed"]; // closes that have a note
const ARGUERS = ["debater", ...Object.keys(ARGUING)]; // the roles whose arguments are judged

const emptyState = (texts) => ({
	texts, spec: null, format: null, inWords: [], seats: new Map(), used: new Map(), evidence: [],
	votes: new Map(), calls: new Map(), open: new Set(), answers: new Map(), tries: new Map(), sentBack: new Map(),
	turns: [], rejected: [], counts: [], similarities: [], verdict: null, refused: null,
	truncated: null, cut: null, decision: null, synthesis: null, closed: null, tools: [], called: new Map(), tokens: 0,
	lastFailed: new Map(), microUsd: 0, roundTokens: [], unpriced: 0, sentOtherwise: [], compared: 0, failed: 0,
	abandoned: 0, resumes: 0, notes: [], leftOut: [],
});

// What is asked of the state

const textOf = (s, blob) => (blob ? s.texts.get(blob.sha256) ?? null : null);
const shown = (s, blob) => (blob ? textOf(s, blob) || GONE : null);
const stanceOf = (s, { label, text }) => ({ label, text: textOf(s, text) });
const seated = (s) => [...s.seats.values()];
const ofRole = (s, ...roles) => seated(s).filter((seat) => roles.includes(seat.role));
const priceOf = (s, model) => s.spec.prices.find((row) => row.model === model);
const turnsOf = (s, role) => s.turns.filter((row) => row.role === role);
// Whether a debater's vote holds until its next one; a draw is an answer for itself.
const votesStand = ({ options, draws }) => Boolean(options?.length) && !draws;
const scheduled = (s) => s.turns.filter((row) => row.role !== "synthesizer");
const isHeard = (row) => row.status === "counted";
const usedBy = (rows) =>
	Object.fromEntries(USED.map((key) => [key, sum(rows.map((row) => row[key]))]));
const totalOf = (s) => usedBy([...s.used.values()]);
const elapsed = (s) => {
	const [[from, rest], [to, more]] = [s.opened_at, s.at].map(instant);
	return Math.max(0, to - from - (more < rest));
};
// The ceilings that are set, and what is used up of each, open calls included.
const ceilings = (s) => {
	const open = [...s.open].map((call) => s.calls.get(call));
	const spent = {
		calls: totalOf(s).calls,
		tokens: s.tokens + sum(open.map((row) => row.reserved_tokens_in + row.reserved_tokens_out)),
		cost: s.microUsd + sum(open.map((row) => row.reserved_cost_micro_usd || 0)),
		seconds: elapsed(s),
	};
	return Object.entries(LIMITS)
		.map(([name, field]) => ({ name, limit: s.spec.limits[field], spent: spent[name] }))
		.filter((row) => row.limit); // the one on entries is set by nobody
};

// Calls

// What the cache saved: each cost is rounded up.
const savedBy = (d, price) => {
	if (!price || d.tokens_in === null || d.tokens_out === null) return 0;
	const cost = (cached, written) => {
		const total = (d.tokens_in - cached - written) * price.input_micro_usd +
			cached * price.cached_micro_usd + written * price.cache_write_micro_usd +
			d.tokens_out * price.output_micro_usd;
		return Math.floor(total / 1e6) + (total % 1e6 > 0);
	};
	const cached = Math.min(d.tokens_cached || 0, d.tokens_in);
	return cost(0, 0) - cost(cached, Math.min(d.tokens_cache_write || 0, d.tokens_in - cached));
};
// Counts against the ceilings what a call says that it used, else what was reserved for it.
const charge = (s, asked, d) => {
	const known = d && d.tokens_in !== null && d.tokens_out !== null;
	s.tokens += known ? d.tokens_in + d.tokens_out
		: asked.reserved_tokens_in + asked.reserved_tokens_out;
	s.microUsd += (known ? d.cost_micro_usd : asked.reserved_cost_micro_usd) || 0;
};
// Ends a call; returns what was asked, and what its seat used so far.
const endCall = (s, d) => {
	s.open.delete(d.call);
	s.compared += d.sent_as_rendered !== null;
	if (d.sent_as_rendered === false) s.sentOtherwise.push(d.call);
	const asked = s.calls.get(d.call);
	return [asked, s.used.get(asked.speaker)];
};

// Turns

// What a reply says, but for at most one fence around it. The audit reads replies strictly;
// JSON.parse is fast enough to do it at each step of the replay.
const readFast = (text) => {
	const body = trim(text), fenced = /^```[a-z]*\n([^]*)\n```$/.exec(body);
	try {
		return JSON.parse(fenced ? trim(fenced[1]) : body);
	} catch {
		return null;
	}
};
// A row of `turns`: a turn that counts or was forfeited, or a reply that does not count.
const turnRow = (s, d, status, why = null, call = d.call) => {
	const { role, model } = s.seats.get(d.speaker), inWords = s.inWords.includes(role);
	const { reply, latency_ms = null, cost_micro_usd = null, tokens_in = null, tokens_out = null } =
		(status !== "forfeited" && s.answers.get(call)) || {};
	// A rejected reply is shown as it stands: it may be anything.
	const raw = textOf(s, reply), asWords = raw === null || inWords || status === "rejected";
	const value = asWords ? null : readFast(raw);
	return {
		seq: s.seq, seat: d.speaker, role, round: d.round, phase: d.phase, step: d.step, status,
		reason: why, silence: d.reason ?? null, text: inWords && raw !== null ? trim(raw) : raw,
		value: isObject(value) ? value : null, vote: d.vote ?? null, case: d.case ?? null, call,
		model, latency_ms, cost_micro_usd, tokens_in, tokens_out,
		attempts: s.tries.get(d.step)?.attempt ?? 0, reply,
	};
};
const takeTurn = (s, row) => {
	s.turns.push(row);
	if (s.votes.has(row.seat)) s.votes.set(row.seat, row.vote);
};

const keyName = ({ signature }) => signature.key.split("+")[0];
const signedBy = (d) => ({ signed: d.signature ? `, signed by the key ${keyName(d)}` : ", unsigned" });

// A row for each type of entry. `headline` is its sentence; `take` folds it in, and one that throws
// leaves out an entry that does not follow. `notes` are made of the state after it (notes.js);
// `values` are those of `headline` beside its own. `folded` says among what it is folded away,
// `opening` that it is due before the first call. What its texts are, the vocabulary says.
const EVENTS = {
	"debate.opened": {
		headline: "The debate is opened: question, rules and limits are fixed",
		take: (s, d) => {
			s.spec = d;
			s.format = formatOf(d.terms);
			s.inWords = s.format.schemas(d.terms).filter(([, schema]) => schema.type === "string")
				.map(([role]) => role);
			s.opened_at = s.at;
		},
	},
	"gate.answered": {
		headline: "The gate is asked: {advice}",
		take: () => {},
		values: ({ gate }) => ({ advice: adviceIn(gate) }),
	},
	"debate.resumed": {
		headline: "Another process goes on with the debate",
		take: (s) => { s.resumes += 1; },
		notes: (s) => [[true, "resumed", {},
			s.resumes === 1 && !s.calls.size ? "begun" : "interrupted"]],
	},
	"debater.registered": {
		headline: "{id} takes a seat as {role}: {model}",
		take: (s, d) => {
			s.seats.set(d.id, d);
			if (d.role === "debater") s.votes.set(d.id, null);
			s.used.set(d.id, usedBy([]));
		},
		folded: "seats", opening: true,
	},
	"evidence.admitted": {
		headline: "Document {document} is admitted, visible from round {from_round}",
		take: (s, d) => { s.evidence.push(d); },
		opening: true,
	},
	"call.started": {
		headline: "{who} is asked",
		take: (s, d) => {
			const asked = { ...d, ...placeOf(d.step) };
			s.used.get(asked.speaker).calls += 1;
			s.calls.set(d.call, { ...asked, seq: s.seq });
			s.open.add(d.call);
			s.tries.set(d.step, d);
		},
		folded: "calls",
	},
	"call.answered": {
		headline: "{who} replies",
		take: (s, d) => {
			const [asked, used] = endCall(s, d);
			s.answers.set(d.call, d);
			charge(s, asked, d);
			for (const key of STATED) used[key] += d[key] || 0;
			used.stated += d.tokens_cached !== null;
			const { role, model } = s.seats.get(asked.speaker);
			used.saved_micro_usd += savedBy(d, priceOf(s, model));
			s.unpriced += d.cost_micro_usd === null;
			s.roundTokens.push([asked.round, role, d.tokens_in + d.tokens_out]);
		},
		folded: "calls",
	},
	"call.failed": {
		headline: "The call to {who} fails",
		take: (s, d) => {
			const [asked, used] = endCall(s, d), abandoned = UNTRIED.includes(d.error);
			if (UNKNOWN_USE.includes(d.error)) charge(s, asked, null);
			s.lastFailed.set(asked.speaker, d);
			used.cost_micro_usd += d.cost_micro_usd || 0;
			used.failed += !abandoned;
			s[abandoned ? "abandoned" : "failed"] += 1;
		},
		notes: (s, d) => {
			const { call, error } = d, again = d.wait_ms ? "later" : "again";
			const values = { call, why: failure(d), wait: `${inSeconds(d.wait_ms)} s` };
			const untried = UNTRIED.includes(error);
			return [[untried, error, values], [!untried, "failed", values, d.again ? again : "final"]];
		},
	},
	"call.refused": {
		headline: "The prompt for the role {role} is not the approved one, so it was not sent",
		take: (s, d) => { s.refused = d; },
		notes: (s, d) => [[true, "refused", d, "entry"]],
	},
	"tool.called": {
		headline: "{who} calls a tool",
		take: (s, d) => {
			const tool = typeof d.tool === "string" ? d.tool : textOf(s, d.tool);
			const row = { ...d, tool, arguments: textOf(s, d.arguments), result: null, ok: null, seq: s.seq };
			s.tools.push(row);
			s.called.set(`${d.call} ${d.number}`, row);
		},
		folded: "calls",
	},
	"tool.returned": {
		headline: "The tool answers {who}",
		take: (s, d) => {
			const tool = s.called.get(`${d.call} ${d.number}`);
			Object.assign(tool, { ok: d.ok, result: textOf(s, d.result) });
		},
		folded: "calls",
	},
	"turn.recorded": {
		headline: "The turn of {who} counts",
		take: (s, d) => takeTurn(s, turnRow(s, d, "counted")),
	},
	"turn.forfeited": {
		headline: "{who} was not heard",
		take: (s, d) => {
			const call = s.tries.get(d.step)?.call ?? null;
			takeTurn(s, turnRow(s, d, "forfeited", WORDING.silences[d.reason], call));
			s.turns.at(-1).cut = d.cut;
			s.cut = d.cut ?? s.cut;
		},
		notes: (s, d) => {
			const { role, reason: why } = s.turns.at(-1), last = role === "synthesizer";
			const values = { who: who(d.step), why };
			return [[last, "synthesis_missing", values],
				[!last, "forfeited", values, s.votes.has(d.speaker) ? "abstained" : "text"]];
		},
	},
	"turn.rejected": {
		headline: "A reply of {who} does not count",
		take: (s, d) => {
			const back = SENT_BACK.includes(d.code), status = back ? "sent_back" : "rejected";
			s.rejected.push(turnRow(s, s.calls.get(d.call), status, whyRejected(d)));
			if (back) s.sentBack.set(d.step, d);
		},
		notes: (s, d) => [[true, "rejected", { who: who(d.step), why: s.rejected.at(-1).reason },
			d.again ? "again" : "final"]],
	},
	"votes.counted": {
		headline: "Votes are counted: {tally}; {threshold} needed",
		take: (s, d) => { s.counts.push({ ...d, seq: s.seq }); },
		values: (d) => ({ tally: tallyInWords(d) }),
	},
	"similarity.measured": {
		headline: "The answers of round {round} are compared",
		take: (s, d) => { s.similarities.push({ ...d, round_index: d.round }); },
	},
	"verdict.recorded": {
		headline: "{who} gives a verdict",
		take: (s, d) => {
			takeTurn(s, { ...turnRow(s, d, "counted"), found: d });
			if (d.phase !== "neutrality") s.verdict = d;
		},
	},
	"synthesis.recorded": {
		headline: "{who} writes the output",
		take: (s, d) => {
			takeTurn(s, turnRow(s, d, "counted"));
			s.synthesis = d;
		},
	},
	"debate.truncated": {
		headline: "The debate is cut short before {step}: {whose}",
		take: (s, d) => { s.truncated = s.cut = d; },
		values: ({ ceiling }) =>
			({ whose: ceiling === "operator" ? "by a person" : `ceiling on ${ceiling}` }),
	},
	"decision.reached": {
		headline: "Decision: {decision}, {how}",
		take: (s, d) => { s.decision = d; },
		values: ({ decision, rule }) => ({
			how: WORDING.how[rule], decision: stanceIn(decision,
				decision === page.figures?.decision ? page.figures.decision_text : null),
		}),
	},
	"debate.closed": {
		headline: "The debate is closed as {outcome}: {stopped}",
		take: (s, d) => { s.closed = d; },
		notes: (s, { reason }) => [
			...(FAILED.includes(reason)
				? [[true, reason, { round: s.turns.at(-1).round, phase: s.turns.at(-1).phase.split("-")[0],
					causes: causes(s, reason) }]] : []),
			...(s.truncated ? truncatedNotes(s, s.truncated) : []),
		],
		values: (d) => ({ stopped: WORDING.stopped[d.reason] }),
	},
	"review.signed": {
		headline: "A review is signed by the key {key}: {outcome}",
		take: () => {},
		values: (d) => ({ key: keyName(d), outcome: WORDING.reviews[d.outcome] }),
	},
	"outcome.noted": {
		headline: "An outcome is noted: {label}{signed}",
		take: () => {},
		values: signedBy,
	},
	"hold.placed": {
		headline: "A hold is placed on the record{signed}",
		take: () => {},
		values: signedBy,
	},
	"hold.lifted": {
		headline: "The hold on the record is lifted{signed}",
		take: () => {},
		values: signedBy,
	},
	"text.redacted": {
		headline: "The text {field} of entry {seq} is erased, signed by {keys}",
		take: () => {},
		values: ({ signatures }) => ({ keys: list(signatures.map(keyNameOf)) }),
	},
};
const takeEntry = (s, { type, data }) => {
	const { take, notes } = EVENTS[type];
	take(s, data);
	const rows = [
		...notes?.(s, data) ?? [], ...s.format.notes[type]?.(s, data) ?? [],
		...goneNotes(s, type, data.speaker ? { ...data, reply: s.turns.at(-1).reply } : data),
	];
	s.notes.push(...notesFrom(rows, s.seq));
};
// An entry in a sentence.
const headline = ({ type, data }) => {
	const step = data.step ?? data.call?.replace(/:\d+$/, ""); // a call is named by step and attempt
	return fill(EVENTS[type].headline, {
		...data, ...(step && { ...placeOf(step), who: who(step) }), ...EVENTS[type].values?.(data),
	});
};
