"use strict";
// 12 replies and 13 citations (§5, §8, §9): which replies count, and what turns and verdicts say.

const LOCATED = ["schema", "unknown_option"]; // these say where a reply misses its schema
const SENT_BACK = ["weak_critique", "uncited_critique"]; // a critique is sent back for these

entryType("call.answered", form(`call:id reply:blob model:id|blob? response_id:id|blob?
	request_id:id|blob? status:count? fingerprint:id|blob?
	finish:stop|length|refusal|content_filter|tool_calls|other tools:count tokens_in:count?
	tokens_cached:count? tokens_cache_write:count? tokens_out:count? cost_micro_usd:count?
	latency_ms:count sent_as_rendered:bool? sent:blob?`), takeAnswered, { anytime: true });

function takeAnswered(walk, data) {
	const call = closeCall(walk, data.call), { step } = call, cost = costOf(walk, call, data);
	const custom = step.seat.model.startsWith("custom:"); // nothing offers it tools
	const tools = data.finish === "tool_calls" && !custom ? data.tools : 0;
	walk.compare(9, data, { tools });
	walk.compare(15, data, { cost_micro_usd: cost });
	checkWire(walk, call, data);
	checkLatency(walk, call, data);
	const { tokens_in: read, tokens_out: out } = data;
	const tokens = read === null || out === null ? call.tokens : BigInt(read) + BigInt(out);
	spend(walk, { tokens, cost: cost ?? call.cost });
	const room = !breaks(walk, "entries", BigInt(1 + 2 * tools));
	if (tools && room && step.toolRounds < walk.opening.tool_rounds) {
		step.toolRounds++;
		walk.asked = { call, tools, number: 0 };
		return;
	}
	const gone = !walk.texts.has(data.reply.sha256);
	const reply = { call: call.name, blob: data.reply, gone };
	const code = UNFINISHED[data.finish];
	let why = code ? rejection(code) : null;
	if (!why && gone) walk.goneReplies++;
	else if (!why) {
		const [wrong, value] = readAgain(walk, step, reply);
		why = walk.format.read ? walk.format.read(walk, step, wrong, value) : wrong;
		if (!why && restsOnGone(walk, step, value)) {
			reply.gone = true;
			walk.goneReplies++;
		}
	}
	const uncertain = !why && (reply.gone || step.seat.role === "synthesizer");
	walk.answer = { step, reply, why, uncertain };
}

// Reads a reply that is at hand, as often as it is needed: what it says is not kept.
const readAgain = (walk, { seat }, { blob }) =>
	readReply(walk.texts.get(blob.sha256), walk.schemas.get(seat.role), seat.model);

entryType("turn.rejected", form(`step:id call:id again:bool member:name? keyword:name? rating:ten?
	code:rejections`));

function takeRejected(walk, data, answer) {
	need(answer && (answer.why || answer.uncertain), "no rejection");
	const { step, reply } = answer;
	const located = LOCATED.includes(data.code) ? [data.member, data.keyword] : [];
	const why = answer.why ??
		(reply.gone ? rejection(data.code, ...located) : rejection("output_schema"));
	let rating = null, again = true;
	if (SENT_BACK.includes(why.code)) {
		rating = reply.gone ? data.rating : readAgain(walk, step, reply)[1].challenge_strength;
		need(wanting(walk, step, rating) === why.code, "turn.rejected with another reason");
		step.sentBack = { ...reply, told: { code: why.code, rating: String(rating) } };
	} else {
		again = inVain(walk, step, { rejected: true });
		if (!again) walk.lost.delete(step.seat.id);
		step.rejected = {
			code: why.code, keyword: why.keyword ?? "none", member: why.member || "the reply",
		};
	}
	walk.compare(9, data, { step: step.name, call: reply.call, again });
	walk.compare(12, data, { ...why, rating });
}

// What a reply can be sent back for, if anything, whatever it cites (§8.3).
function wanting(walk, step, rating) {
	if (step.seat.role !== "critic" || step.sentBack || !rating) return null;
	const { require_critic_retry_below: least, require_cited_critique: cites } = walk.terms;
	if (rating < least) return "weak_critique";
	return cites && visible(walk, step).length ? "uncited_critique" : null;
}

// Whether what a reply says, or whether it counts, rests on another text that is gone.
function restsOnGone(walk, step, value) {
	if (step.seat.role === "judge") return !inWords(walk, step, value);
	return wanting(walk, step, value?.challenge_strength) === "uncited_critique" &&
		!allThere(walk, step);
}

entryType("turn.recorded", form(`${TURN} call:id vote:name? case:case?`), takeRecorded);
entryType("verdict.recorded", form(`${TURN} call:id winner:name? undeclared:bool choice:name?
	upholds:bool? resolved:count unresolved:count uncertainties:count
	confidence:HIGH|MODERATE|LOW? another_round:bool?`,
	{ ranking: ["name"], scores: [form("side:name score:ten")] }), takeRecorded);
entryType("synthesis.recorded", form(`${TURN} call:id text:blob schema:hash`), takeRecorded);

function takeRecorded(walk, data) {
	const [step] = walk.steps.values(), reply = step.heard, { role } = step.seat;
	let says;
	if (role === "synthesizer") {
		says = { text: reply.blob, schema: walk.hashes.get(role) };
	} else if (reply.gone) {
		const names = role in TURNS ? Object.keys(NOTHING) : ["vote", "case"];
		says = Object.fromEntries(names.map((name) => [name, data[name]]));
		need(couldSay(walk, role, says), "a turn that says what a reply can");
		walk.goneTurns++;
	} else if (role in TURNS) {
		says = verdictOf(walk, step, readAgain(walk, step, reply)[1]);
	} else {
		const [, read] = readAgain(walk, step, reply), value = isObject(read) ? read : {};
		says = { vote: value.vote ?? value.choice ?? null, case: null };
		if (role in ARGUING) says.case = caseOf(walk, step, value, data.case);
	}
	walk.compare(9, data, { ...step.fields, call: reply.call });
	const { case: argued, ...rest } = says;
	walk.compare(12, data, rest);
	if (argued !== undefined) compareCase(walk, data, argued);
	endTurn(walk, step, reply, says);
}

// Whether a reply that is gone could have given what a turn says (§10).
function couldSay(walk, role, says) {
	if (role in TURNS) return walk.format.couldRule(walk, says);
	if (role in ARGUING) {
		const number = says.case ? says.case.arguments : -1;
		return says.vote === null && Number(role !== "rebuttal") <= number && number <= 100 &&
			numbersFit(says.case);
	}
	const { options = [] } = walk.terms, votes = role === "debater" && options.length && options;
	return (votes || [null]).includes(says.vote) && says.case === null;
}

// Whether a verdict says nothing in all fields but these.
const nothingBut = (says, ...free) => Object.keys(NOTHING).every((name) =>
	free.includes(name) || canonical(says[name]) === canonical(NOTHING[name]));

// The seats that a judge who is a function names by the words of their stances; null where such
// words are gone.
function inWords(walk, { seat: { model } }, { winner = null }) {
	const rows = [...walk.seats.values()].filter((seat) => seat.stance);
	const other = rows.length && model.startsWith("custom:") && winner !== null;
	if (!other || walk.terms.stances.includes(winner)) return [];
	const names = rows.map((seat) => seat.stance.text.sha256), named = folded(winner);
	if (!names.every((name) => walk.texts.has(name))) return null;
	const same = new Map(unique(names).map((name) => [name, folded(walk.texts.get(name)) === named]));
	return rows.filter((_, at) => same.get(names[at])).map((seat) => seat.id);
}

// What the reply of a judge or a moderator says.
function verdictOf(walk, step, value) {
	const { role } = step.seat, named = role === "judge" ? inWords(walk, step, value) : [];
	const sides = walk.schemas.get(role).properties.scores?.required ?? [];
	const stances = [...walk.seats.values()].filter((seat) => seat.stance)
		.map((seat) => [seat.stance.label, seat.id]);
	const labels = (walk.terms.labels ?? []).map((label) => [label, label]);
	const ids = new Map(stances.length ? stances : labels);
	if (named.length === 1) ids.set(value.winner, named[0]);
	const winner = value.winner ?? null, size = (name) => (value[name] ?? []).length;
	return {
		winner: ids.get(winner) ?? null, undeclared: winner !== null && !ids.has(winner),
		choice: value.choice ?? null, upholds: value.upholds_proposition ?? null,
		ranking: (value.ranking ?? []).map((label) => ids.get(label)),
		scores: sides.map((side) => ({ side, score: value.scores[side] })),
		resolved: size("resolved_points"), unresolved: size("unresolved_points"),
		uncertainties: size("explicit_uncertainties"), confidence: value.confidence ?? null,
		another_round: value.recommend_another_round ?? null,
	};
}

// ---- 13 citations (§9)

// The case that a reply makes: its arguments, and what their citations are worth.
function caseOf(walk, step, value, recorded) {
	const rows = value[ARGUING[step.seat.role]];
	const made = { arguments: rows.length, rating: value.challenge_strength ?? null };
	if (!allThere(walk, step)) {
		walk.goneDocuments = true;
		const stated = { unanswered: [], citations: [], struck: [], ...recorded, ...made };
		need(numbersFit(stated), "a turn that says what a reply can");
		return stated;
	}
	const citations = rows.flatMap((row, index) => row.citations.map((cited, at) =>
		({ argument: index + 1, citation: at + 1, finding: lookUp(walk, cited, step.round) })));
	const struck = numbers(rows.length).filter((number) =>
		citations.some((row) => row.argument === number && row.finding !== "verified"));
	let unanswered = []; // objections neither struck nor answered nor conceded
	if (step.against) {
		const standing = rows.filter((_, index) => !struck.includes(index + 1));
		const answered = [...standing, ...value.concessions].map((row) => row.objection);
		unanswered = numbers(step.against.case.arguments).filter((number) =>
			!answered.includes(number) && !step.against.struck.includes(number));
	}
	return { unanswered, citations, struck, ...made };
}

// Whether the numbers of a case ascend, and those that are struck are of its arguments.
function numbersFit({ struck, unanswered, arguments: most }) {
	const ascend = (list) => list.every((number, at) => !at || list[at - 1] < number);
	return ascend(struck) && ascend(unanswered) && (struck.at(-1) ?? 0) <= most;
}

// The documents that can be cited at a step, and whether their texts are all at hand.
const visible = ({ documents }, { round }) =>
	[...documents.values()].filter((row) => row.from_round <= round);
const allThere = (walk, step) =>
	visible(walk, step).every((row) => walk.texts.has(row.text.sha256));

// A text with one kind of each mark that is typeset in several: every place stays where it is.
const plainMarks = (text) => text.replace(/[\u2018-\u201b]/g, "'").replace(/[\u201c-\u201f]/g, '"')
	.replace(/[\u2010-\u2015\u2212]/g, "-");
// A text as quotes are looked up in it.
const levelled = (text) => plainMarks(folded(text));

// The finding on one citation of a turn of round `number`.
function lookUp({ documents, levelled: known, texts }, citation, number) {
	const document = documents.get(citation.document);
	if (!document) return "no_such_document";
	if (document.from_round > number) return "not_yet_visible";
	const name = document.text.sha256, quoted = levelled(citation.quote);
	if (!known.has(name)) known.set(name, levelled(texts.get(name)));
	return quoted && whereIn(quoted, known.get(name)) >= 0 ? "verified" : "not_found";
}

// The page of a document on which a quote first begins; null where it has none, or not the quote.
// A page break is white space: the levelled text is its pages, folded, with a space between.
function pageOf({ documents, levelled: known, begins, texts }, { document, quote }) {
	const { text: { sha256: name }, source } = documents.get(document) ?? { text: {} };
	if (!source?.pages || !known.has(name)) return null;
	if (!begins.has(name)) {
		let next = 0;
		begins.set(name, texts.get(name).split("\f").map((page) => {
			const begin = next, { length } = folded(page);
			next += length + (length > 0);
			return begin;
		}));
	}
	const at = whereIn(levelled(quote), known.get(name)), places = begins.get(name);
	let [low, high] = [0, places.length]; // the page is between these
	while (low < high) {
		const middle = (low + high) >> 1;
		[low, high] = places[middle] <= at ? [middle + 1, high] : [low, middle];
	}
	return at < 0 ? null : low;
}

// Where `part` first begins in `text`, −1 where it does not, in linear time, which `indexOf` does
// not keep for a long part. `back[n]` is the length of the longest proper prefix of `part` that its
// first n letters end in. Numbers are compared, not letters, which takes half as long.
function whereIn(part, text) {
	if (part.length < 64) return text.indexOf(part);
	const codes = Uint16Array.from(part.split(""), (letter) => letter.charCodeAt());
	const back = new Int32Array(part.length + 1);
	for (let n = 1, length = 0; n < part.length; n += 1) {
		while (length && codes[length] !== codes[n]) length = back[length];
		back[n + 1] = codes[length] === codes[n] ? length += 1 : 0;
	}
	for (let n = 0, length = 0; n < text.length; n += 1) {
		const code = text.charCodeAt(n);
		while (length && codes[length] !== code) length = back[length];
		if (codes[length] === code && ++length === part.length) return n + 1 - length;
	}
	return -1;
}

function compareCase(walk, data, argued) {
	if (!argued || !data.case) {
		walk.compare(12, data, { case: argued });
		return;
	}
	for (const [name, value] of Object.entries(argued)) {
		const check = name === "citations" || name === "struck" ? 13 : 12;
		walk.compare(check, data.case, { [name]: value });
	}
}
