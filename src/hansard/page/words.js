"use strict";
// The words that the figures are told in: those of the vocabulary; amounts, lists and steps.

const WORDING = VOCABULARY.words; // tables of what the codes of a record mean
const GONE = WORDING.gone;
// A sentence with its places filled, in one pass: a value may hold braces itself.
const fill = (sentence, values) =>
	sentence.replace(/\{([a-z_]+)\}/g, (place, name) => values[name]);

// What file the text of a document was taken from, and how.
const takenFrom = ({ media_type: type, pages, extractor, original }) =>
	fill(WORDING.source[pages ? "pages" : "bare"], {
		kind: WORDING.media[type] ?? type, pages: many(pages, "page"), extractor,
		kept: WORDING.source[original ? "kept" : "not_kept"],
	});
const many = (n, one) => `${n} ${n === 1 ? one : WORDING.nouns[one] ?? `${one}s`}`;
const list = (rows) => rows.join(", ");
const lower = (word) => word?.toLowerCase() ?? "–";
const unique = (rows) => [...new Set(rows)];
const sum = (rows) => rows.reduce((total, row) => total + row, 0);
// 1, 2, 3 …; no reply that counts has more than a hundred of anything.
const numbers = (total) => Array.from({ length: Math.min(total, 100) }, (_, index) => index + 1);
const inPercent = (ppm) => `${(Math.floor(ppm / 1000) / 10).toFixed(1)}%`;
const inSeconds = (ms) => String(Number((ms / 1000).toPrecision(10)));
const amount = (ceiling, n) => {
	if (ceiling === "seconds") return `${inSeconds(n)} seconds`;
	if (ceiling !== "cost") return many(n, ceiling === "entries" ? "entry" : ceiling.slice(0, -1));
	return `${Math.floor(n / 1e6)}.${String(n % 1e6).padStart(6, "0")} US dollars`;
};

// Where a step stands: `r2.critique.ann` is Ann's critique of round 2.
const placeOf = (step) => {
	const [round, phase, ...speaker] = step.split(".");
	return { round: Number(round.slice(1)), phase, speaker: speaker.join(".") };
};
const who = (step) => fill(WORDING.place, placeOf(step));
const nameKin = ({ model, family }) =>
	fill(WORDING.kin[model ? "model" : "family"], { model, family });

// What acts or is drawn as nothing, as its code points: of what `quote` spells out in a prompt this
// has more, as `shown` of report/safe.py. What joins or varies the sign before it, as in emoji, is
// left where there is one.
const UNSEEN = new RegExp(`${CONTROL.source}|[\\u115f\\u1160\\u17b4\\u17b5\\u206a-\\u206f\\u2800` +
	"\\u3164\\uffa0\\ufff0-\\ufff8\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0080}-\\u{e00ff}" +
	"\\u{e01f0}-\\u{e0fff}]|(?<![^\\t\\n \\xa0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000])" +
	"[\\xad\\u034f\\u180b-\\u180d\\u180f\\u200c\\u200d\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]+", "gu");
const inert = (text) => text.replace(UNSEEN, (run) => Array.from(run, codePoint).join(""));

// A text on one line, cut at the limit; no more of a long one is read than shows where.
const oneLine = (text, limit = Infinity) => {
	for (let read = 8 * limit; ; read *= 4) {
		const line = [...inert(text.slice(0, read)).trim().replace(/\s+/g, " ")];
		if (line.length > limit) return [...line.slice(0, limit - 1), "…"].join("");
		if (read >= text.length) return line.join("");
	}
};

// What a blob says on one line, read once: entries may name one text of blanks again and again.
const linesOf = (texts, limit, known = new Map()) => ({ sha256: name }) => {
	if (!known.has(name)) known.set(name, oneLine(texts.get(name) || GONE, limit));
	return known.get(name);
};

// A stance on one line: in its words, cut at the limit, and with the label that its author gave it;
// where the words are gone, or a decision is no stance, the label is all.
const stanceIn = (label, text, limit = 200) => {
	const own = /^stance_[1-9][0-9]*$/.test(label) || label === text ? "" : ` (${label})`;
	const line = oneLine(text ?? "", Math.max(limit - own.length, 1));
	return line ? line + own : label;
};

// Only some of our own outcomes have words: an option is left as it is spelled.
const decisionIn = (name, text) =>
	(Object.hasOwn(WORDING.decisions, name) ? WORDING.decisions[name] : stanceIn(name, text));

// Why a reply does not count.
const whyRejected = ({ code, member, keyword, rating }) => {
	const { rejections, misses, miss: at } = WORDING;
	// The only words that are looked up by what a record names freely.
	const miss = Object.hasOwn(misses, keyword) ? misses[keyword] : fill(at.other, { keyword });
	return keyword === null ? fill(rejections[code], { rating })
		: fill(member === null ? at.whole : at.member, { member, miss });
};
// How a call failed.
const failure = ({ error, status, detail, request_id: request }) => {
	const { known, statuses, errors } = WORDING;
	const told = [status ? fill(known.status, { status }) : detail, statuses[status],
		typeof request === "string" && fill(known.request, { request })].filter(Boolean);
	return told.length ? fill(WORDING.error, { error: errors[error], known: list(told) })
		: errors[error];
};
