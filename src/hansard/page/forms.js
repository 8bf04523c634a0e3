"use strict";
// The forms of entries (check 7 of FORMAT.md, §3): an object's fields, a list of one form, or words
// of WORDS or values of which one must fit. Forms are made into tests once.

const form = (text, more = {}) => {
	const fields = text.replaceAll("?", "|null").split(/\s+/); // `count?` is a count or null
	return { ...Object.fromEntries(fields.map((field) => field.split(/:(.*)/s))), ...more };
};

function test(form) {
	if (Array.isArray(form)) {
		const item = test(form[0]);
		return (value) => Array.isArray(value) && value.every(item);
	}
	if (isObject(form)) {
		const fields = Object.entries(form).map(([name, inner]) => [name, test(inner)]);
		return (value) => isObject(value) && Object.keys(value).length === fields.length &&
			fields.every(([name, fits]) => Object.hasOwn(value, name) && fits(value[name]));
	}
	const tests = form.split("|").map((word) => WORDS[word] ?? ((value) => value === word));
	return (value) => tests.some((fits) => fits(value));
}

const matching = (pattern) => (value) => typeof value === "string" && pattern.test(value);
const integer = (lowest, highest = LARGEST) => (value) =>
	Number.isInteger(value) && lowest <= value && value <= highest;
const PHASES = Object.values(FORMATS).map((row) => row.phases).join("|");
const WORDS = {
	any: () => true,
	null: (value) => value === null,
	bool: (value) => typeof value === "boolean",
	string: (value) => typeof value === "string",
	"=1": integer(1, 1),
	count: integer(0),
	positive: integer(1),
	three: integer(1, 3),
	ten: integer(1, 10),
	ninety_nine: integer(1, 99),
	hundred: integer(1, 100),
	thousand: integer(1, 1000),
	documents: integer(0, 1000),
	ppm: integer(0, 1000000),
	score: integer(0, 100000000),
	id: matching(ID),
	name: matching(/^[A-Za-z0-9._:/@+=-]{1,64}$/),
	key: matching(/^[A-Za-z0-9._:/@=-]{1,128}$/),
	labels: (value) => test(["name"])(value) && value.length <= 20,
	hash: matching(/^[0-9a-f]{64}$/),
	uuid: matching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
	time: matching(new RegExp("^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])" +
		"T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{6}Z$")),
	media_type: matching(/^[a-z0-9][a-z0-9.+-]{0,126}\/[a-z0-9][a-z0-9.+-]{0,126}$/),
	decimal: matching(/^\d{1,9}(\.\d{1,9})?$/),
	url: matching(/^https?:\/\/[A-Za-z0-9._:-]+(\/[A-Za-z0-9._/+=-]*)?$/),
	seed: matching(/^(0|[1-9]\d{0,76})$/),
	phase: matching(new RegExp(`^(synthesis|${PHASES})(-[1-9]\\d?)?$`)),
};
for (const name of ["silences", "rejections", "errors", "findings", "stopped", "how", "origins"]) {
	const known = Object.keys(VOCABULARY.words[name]); // an enum: whatever has words
	WORDS[name] = (value) => known.includes(value);
}
WORDS.blob = test({ sha256: "hash" });
WORDS.source = test(form("media_type:media_type file:blob extractor:id pages:positive?"));
WORDS.stance = test({ label: "name", text: "blob" });
const BY_ROUND = test([form("round:count text:blob?")]); // from a round on
WORDS.instructions = (value) => BY_ROUND(value) && value.length > 0;
WORDS.person = test({ name: "blob", key: "key|null" });
const CUT = `ceiling:calls|tokens|cost|seconds|entries|operator limit:positive? spent:count?
	reserved:count? by:blob? reason:blob?`; // what a ceiling, or a person, kept from being asked
WORDS.cut = test(form(CUT));
const COSTS = ["least", "expected", "most"].map((part) => `cost_${part}_micro_usd`);
WORDS.estimate = test(form(`calls_least:positive calls_most:positive
	${COSTS.map((name) => `${name}:count?`).join(" ")}`));
WORDS.origin = test(form("kind:origins debate:uuid? head:hash? seq:positive?"));
WORDS.case = test(form("arguments:count rating:ten?", {
	unanswered: ["positive"], struck: ["positive"],
	citations: [form("argument:positive citation:positive finding:findings")],
}));
const TERMS = Object.entries(FORMATS).map(([name, { terms: [fields, lists] }]) => // §8
	test(form(`format:${name} ${fields}`, lists)));
WORDS.terms = (value) => TERMS.some((fits) => fits(value));

const LINE = test(form("at:time data:any debate:uuid prev:hash seq:positive type:string v:=1"));
// Every type of entry by its name: whether data `fits` it, and how the walk takes it (walk.js). A
// type stands in the script of the check that it belongs to most.
const TYPES = new Map();
// `take` is what takes an entry that does not just follow from the schedule. `anytime`: it may come
// whatever is due; `abandoning`: also while abandoned calls are outstanding.
const entryType = (name, fields, take = takeScheduled, when = {}) =>
	TYPES.set(name, { fits: test(fields), take, ...when });
const isEvent = (value) => LINE(value) && Boolean(TYPES.get(value.type)?.fits(value.data));
