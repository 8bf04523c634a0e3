"use strict";
// The form of each type of event (check 7 of FORMAT.md, §3): an object's fields, a list of one
// form, or words of WORDS or values of which one must fit. Forms are made into tests once.

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
	hundred: integer(1, 100),
	thousand: integer(1, 1000),
	documents: integer(0, 1000),
	ppm: integer(0, 1000000),
	score: integer(0, 100000000),
	id: matching(ID),
	name: matching(/^[A-Za-z0-9._:/@+=-]{1,64}$/),
	hash: matching(/^[0-9a-f]{64}$/),
	uuid: matching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
	time: matching(new RegExp("^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])" +
		"T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{6}Z$")),
	decimal: matching(/^\d{1,9}(\.\d{1,9})?$/),
	url: matching(/^https?:\/\/[A-Za-z0-9._:-]+(\/[A-Za-z0-9._/+=-]*)?$/),
	seed: matching(/^(0|[1-9]\d{0,76})$/),
	phase: matching(new RegExp(`^(synthesis|${PHASES})(-[1-9]\\d?)?$`)),
};
for (const name of ["silences", "rejections", "errors", "findings", "stopped", "how"]) {
	const known = Object.keys(VOCABULARY.words[name]); // an enum: whatever has words
	WORDS[name] = (value) => known.includes(value);
}
WORDS.blob = test({ sha256: "hash" });
WORDS.stance = test({ label: "name", text: "blob" });
WORDS.case = test(form("arguments:count rating:ten?", {
	unanswered: ["positive"], struck: ["positive"],
	citations: [form("argument:positive citation:positive finding:findings")],
}));
const TERMS = Object.entries(FORMATS).map(([name, { terms: [fields, lists] }]) => // §8
	test(form(`format:${name} ${fields}`, lists)));
WORDS.terms = (value) => TERMS.some((fits) => fits(value));

const LINE = test(form("at:time data:any debate:uuid prev:hash seq:positive type:string v:=1"));
const TYPES = (() => {
	const role = "role:debater|judge|framer|proposer|critic|rebuttal|moderator|synthesizer";
	const hashes = [form("role:name sha256:hash")];
	const parameters = form(`temperature:decimal? top_p:decimal? seed:count?
		max_tokens:positive? reasoning_effort:name? structured:native|tool|text?
		base_url:url?`);
	const limits = form(`calls:positive? tokens:positive? cost_micro_usd:positive?
		elapsed_ms:positive?`);
	const prices = [form(`model:id source:name input_micro_usd:count cached_micro_usd:count
		cache_write_micro_usd:count output_micro_usd:count`)];
	const turn = "step:id round:count phase:phase speaker:name";
	const forms = {
		"debate.opened": form(`engine:id rules:=1 name:name? collection_id:name? terms:terms
			question:blob context:blob? instructions:blob? review:blob seats:hundred
			documents:documents attempts:hundred timeout_ms:positive retry_ms:positive seed:seed
			layout:shared-prefix|role-first leading_call:bool policy:hash? tool_rounds:count
			scripted:bool`, {
			templates: hashes, schemas: hashes, tools: [form("tool:name sha256:hash")], prices, limits,
		}),
		"debate.resumed": form("engine:id"),
		"debater.registered": form(`id:name ${role} position:positive model:id persona:blob?
			stance:stance? agent_type:name`, { parameters }),
		"evidence.admitted": form("document:name text:blob from_round:positive"),
		"call.started": form(`call:id step:id attempt:positive ${role} model:id template:hash
			schema:hash prompt:hash reserved_tokens_in:count reserved_tokens_out:count
			reserved_cost_micro_usd:count?`, { parameters }),
		"call.refused": form("step:id role:name found:hash approved:hash?"),
		"call.answered": form(`call:id reply:blob model:id|blob? response_id:id|blob?
			request_id:id|blob? status:count? fingerprint:id|blob?
			finish:stop|length|refusal|content_filter|tool_calls|other tools:count
			tokens_in:count? tokens_cached:count? tokens_cache_write:count?
			tokens_out:count? cost_micro_usd:count? latency_ms:count
			sent_as_rendered:bool? sent:blob?`),
		"call.failed": form(`call:id detail:id? status:count? request_id:id|blob?
			wait_ms:count? again:bool cost_micro_usd:count? latency_ms:count?
			sent_as_rendered:bool? sent:blob? error:errors`),
		"tool.called": form("call:id number:positive tool:name|blob arguments:blob"),
		"tool.returned": form("call:id number:positive result:blob ok:bool"),
		"turn.recorded": form(`${turn} call:id vote:name? case:case?`),
		"turn.rejected": form(`step:id call:id again:bool member:name? keyword:name?
			rating:ten? code:rejections`),
		"turn.forfeited": form(`${turn} reason:silences`),
		"votes.counted": form(`round:count phase:phase abstentions:count threshold:positive
			reached:bool`, { tally: [form("option:name votes:count")] }),
		"similarity.measured": form(`round:count measure:options|words|whole heard:count
			threshold_ppm:ppm converged:bool`,
			{ pairs: [form("one:name other:name ppm:ppm negation_differs:bool")] }),
		"verdict.recorded": form(`${turn} call:id winner:name? undeclared:bool choice:name?
			upholds:bool? resolved:count unresolved:count uncertainties:count
			confidence:HIGH|MODERATE|LOW? another_round:bool?`,
			{ ranking: ["name"], scores: [form("side:name score:ten")] }),
		"debate.truncated": form(`step:id ceiling:calls|tokens|cost|seconds limit:positive
			spent:count reserved:count`),
		"decision.reached": form(`decision:name votes:count? threshold:positive?
			score_ppm:score? rounds_run:count review:blob? rule:how`),
		"synthesis.recorded": form(`${turn} call:id text:blob schema:hash`),
		"debate.closed": form("outcome:complete|truncated|failed reason:stopped"),
	};
	return new Map(Object.entries(forms).map(([type, fields]) => [type, test(fields)]));
})();
const isEvent = (value) => LINE(value) && Boolean(TYPES.get(value.type)?.(value.data));
