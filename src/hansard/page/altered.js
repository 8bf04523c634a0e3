"use strict";
// What an alteration means, in words (as `report/altered.py`). Hashes and lists stand behind it.

const MOST_OF_A_CHECK = 5; // findings that are listed
const LONGEST = 80; // characters of a value that stands in a sentence

function alteredInWords({ code, message, expected = null, found = null }) {
	const [number, defect] = code.split("."), check = VOCABULARY.checks[number];
	const whole = check.altered, own = Object.hasOwn(whole.own ?? {}, defect) ? whole.own[defect] : {};
	const says = own.says ?? (Object.hasOwn(check.findings, defect) ? null : whole.says);
	const plain = { found: plainValue(found), expected: plainValue(expected) };
	const known = says && plain.found !== null && plain.expected !== null && found !== expected;
	const what = known ? fill(says, { ...plain, field: fieldInWords(defect) }) : message;
	return fill(WORDING.altered.sentence, { what, rests: own.rests ?? whole.rests });
}

// The name of a field in words, with its unit.
function fieldInWords(name) {
	const unit = ["micro_usd", "ppm", "ms"].find((ending) => name.endsWith(`_${ending}`));
	const field = (unit ? name.slice(0, -unit.length - 1) : name).replaceAll("_", " ");
	return unit ? fill(WORDING.altered[unit], { field }) : field;
}

// A value in words; null for what is neither short nor a list of what is.
function plainValue(value) {
	if (!Array.isArray(value)) return shortValue(value);
	const rows = value.map((row) => (isObject(row) && Object.keys(row).length === 2
		? pairOf(Object.values(row).map(shortValue)) : shortValue(row)));
	const line = rows.join(", ") || WORDING.altered.nothing;
	return rows.includes(null) || [...line].length > LONGEST ? null : line;
}

// Two values, such as an option and its votes, beside each other.
const pairOf = (two) => (two.includes(null) ? null : two.join(" "));
function shortValue(value) {
	const words = WORDING.altered;
	if (value === null) return words.nothing;
	if (typeof value === "boolean") return words[value];
	if (Number.isInteger(value) || typeof value === "bigint") return String(value);
	if (typeof value !== "string" || /^[0-9a-f]{64}$/.test(value)) return null;
	const line = oneLine(value).replaceAll("“", "‘").replaceAll("”", "’");
	return [...line].length <= LONGEST ? fill(words.value, { value: line }) : null;
}

function drawAltered() {
	const { findings } = page.result, checks = new Set(findings.map(checkOf));
	return h("div.alert.bad", { role: "alert" },
		h("h2", sign("bad"), "Do not rely on this record: it was altered"),
		Array.from(checks, (number) =>
			drawFindings(number, findings.filter((row) => checkOf(row) === number))));
}

function drawFindings(check, rows) {
	const told = firstOf(rows, MOST_OF_A_CHECK), more = rows.length - told.length;
	return [h("p", h("strong", VOCABULARY.checks[check].failed)),
		h("ul.dim", told.map((row) =>
			h("li", row.seq ? ["Entry ", ref(row.seq)] : "The record", ": ",
				said(alteredInWords(row)), ".", drawValues(row)))),
		more > 0 && h("li", `… and ${plural(more, "finding")} more`)];
}

// The code of a finding; what was expected and what was found, as JSON has it.
function drawValues({ code, expected = null, found = null }) {
	const spelled = (value) =>
		JSON.stringify(value, (_, row) => (typeof row === "bigint" ? String(row) : row));
	const shown = (value) => h("code", said(oneLine(spelled(value), 400)));
	return behind(`Details (${code})`, expected !== found && [h("p", "Expected: ", shown(expected)),
		h("p", "Found: ", shown(found))]);
}
