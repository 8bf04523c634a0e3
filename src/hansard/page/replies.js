"use strict";
// Reads replies strictly, and compares them with the schema of their role (FORMAT.md §5, §6).

const WHITE = "\t\n\v\f\r ";
const BLANKS = /[\t-\r \xa0\u2000-\u200a\u2028\u2029\u202f\u3000]+/g;
const VISIBLE =
	/[^\t-\r \xa0\xad\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]/u;
const UNFINISHED = {
	length: "cut_off", refusal: "refused", content_filter: "filtered",
	tool_calls: "not_finished", other: "not_finished",
};

const ORDER = new WeakMap(); // the keys of each object as written: its own would put "1" before "a"

// Strict RFC 8259: no key twice, no lone surrogate, bounded integers and depth; throws. A number
// with a fraction or an exponent is a Number object: no integer, whatever its value.
function readJson(text) {
	let at = 0;
	const fail = () => { throw new Error("this is not strict JSON"); };
	const space = () => { while (" \t\n\r".includes(text[at]) && at < text.length) at++; };
	const token = (pattern) => {
		pattern.lastIndex = at;
		const found = pattern.exec(text) ?? fail();
		at = pattern.lastIndex;
		return found;
	};
	function string() {
		const start = at++;
		while (text[at] !== '"') at += at >= text.length ? fail() : text[at] === "\\" ? 2 : 1;
		const value = JSON.parse(text.slice(start, ++at));
		return /\p{Surrogate}/u.test(value) ? fail() : value;
	}
	function number() {
		const [digits] = token(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
		if (/[.eE]/.test(digits)) return new Number(digits);
		const value = Number(digits) || 0; // -0 is 0
		return digits.length <= 17 && Math.abs(value) <= LARGEST ? value : fail();
	}
	function list(close, item) {
		at++;
		space();
		for (let more = text[at] !== close; more;) {
			item();
			space();
			more = text[at] === ",";
			if (more) at++;
			else if (text[at] !== close) fail();
		}
		at++;
	}
	function value(depth) {
		space();
		const first = text[at];
		if (first === '"') return string();
		if (first !== "{" && first !== "[") {
			return first === "-" || (first >= "0" && first <= "9") ? number()
				: { true: true, false: false, null: null }[token(/true|false|null/y)[0]];
		}
		if (depth > DEEPEST) fail();
		const found = first === "[" ? [] : Object.create(null), keys = [];
		if (first === "[") list("]", () => found.push(value(depth + 1)));
		else {
			ORDER.set(found, keys);
			list("}", () => {
				space();
				const key = text[at] === '"' ? string() : fail();
				space();
				if (key in found || text[at++] !== ":") fail();
				found[key] = value(depth + 1);
				keys.push(key);
			});
		}
		return found;
	}
	const found = value(1);
	space();
	return at === text.length ? found : fail();
}

// What a reply says as JSON: one fence around it is dropped.
function valueOf(text) {
	const trimmed = trim(text);
	const first = trimmed.indexOf("\n"), last = trimmed.lastIndexOf("\n");
	const fenced = first >= 0 && /^```[a-z]*$/.test(trimmed.slice(0, first)) &&
		trimmed.slice(last + 1) === "```" && last > first;
	return readJson(fenced ? trim(trimmed.slice(first + 1, last)) : trimmed);
}

// A text without white space around it: no pattern, which would take a long run of it badly.
function trim(text) {
	let from = 0, to = text.length;
	while (from < to && WHITE.includes(text[from])) from++;
	while (from < to && WHITE.includes(text[to - 1])) to--;
	return text.slice(from, to);
}

const rejection = (code, member = null, keyword = null) => ({ code, member, keyword });

const CALLABLE = /^(python|custom):/; // models that are functions of the user's

// A value without the members that its schema does not name, at any depth, in its own order.
function named(value, schema) {
	if (Array.isArray(value) && schema.items) return value.map((item) => named(item, schema.items));
	if (!isObject(value) || !schema.properties) return value;
	const found = Object.create(null);
	const kept = ORDER.get(value).filter((key) => Object.hasOwn(schema.properties, key));
	for (const key of kept) found[key] = named(value[key], schema.properties[key]);
	ORDER.set(found, kept);
	return found;
}

// Why a reply of a model does not count, if it does not, and its value.
function readReply(text, schema, model) {
	let value;
	try {
		value = schema.type === "string" ? trim(text) : valueOf(text);
	} catch {
		return [rejection("unreadable"), null];
	}
	if (CALLABLE.test(model)) value = named(value, schema);
	const failing = misfit(value, schema, null);
	const code = failing?.[1] === "enum" ? "unknown_option" : "schema";
	return [failing && rejection(code, ...failing), value];
}

const KINDS = {
	object: isObject, array: Array.isArray, string: WORDS.string, integer: Number.isInteger,
	boolean: WORDS.bool, null: WORDS.null,
};

// The first member and keyword of a schema that a value does not fit, or null (§6).
function misfit(value, schema, member) {
	const kinds = [schema.type ?? []].flat();
	if (kinds.length && !kinds.some((kind) => KINDS[kind](value))) return [member, "type"];
	if (schema.enum && !schema.enum.includes(value)) return [member, "enum"];
	if (schema.minLength && typeof value === "string" && !VISIBLE.test(value)) {
		return [member, "minLength"];
	}
	const size = Array.isArray(value) ? value.length : value;
	for (const [least, most] of [["minimum", "maximum"], ["minItems", "maxItems"]]) {
		if (least in schema && !(schema[least] <= size && size <= schema[most])) return [member, least];
	}
	let rest = [];
	if (isObject(value) && schema.properties) {
		const missing = schema.required.find((name) => !Object.hasOwn(value, name));
		if (missing !== undefined) return [missing, "required"];
		if (Object.keys(value).length > schema.required.length) return [null, "additionalProperties"];
		rest = schema.required.map((name) => [value[name], schema.properties[name], name]);
	} else if (Array.isArray(value) && schema.items) {
		rest = value.map((item, index) => [item, schema.items, String(index)]);
	}
	for (const each of rest) {
		const failing = misfit(...each);
		if (failing) return failing;
	}
	return null;
}

// The reply schemas: of an object with these members in this order, and of what they are.
function record(members) {
	const properties = Object.create(null); // names of seats are members too: any name is safe
	for (const [name, schema] of members) properties[name] = schema;
	const required = members.map(([name]) => name);
	return { additionalProperties: false, properties, required, type: "object" };
}
const whole = (minimum, maximum) => ({ maximum, minimum, type: "integer" });
const several = (minItems, maxItems, items) => ({ items, maxItems, minItems, type: "array" });
const oneOf = (names) => ({ enum: [...names], type: "string" });
const TEXT = { minLength: 1, type: "string" }, TRUTH = { type: "boolean" };
