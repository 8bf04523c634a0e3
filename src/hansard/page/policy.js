"use strict";
// 18 and texts in 10: what a policy says, and what the record has instead (§15).

const [HASHED, MODEL_CHARS, COUNTED] = ["[0-9a-f]{64}", "[A-Za-z0-9._:/@+=-]", "[1-9][0-9]{0,15}"];
const ANY_TEXT = `${HASHED}|none|any`;
const A_MODEL = `${MODEL_CHARS}{1,256}|${MODEL_CHARS}{0,255}\\*`;
// What a value matches; a term that is ONCE stands once a scope.
const POLICY_TERMS = Object.fromEntries(Object.entries({
	template: HASHED, schema: ANY_TEXT, tool: ANY_TEXT, persona: ANY_TEXT, instructions: ANY_TEXT,
	context: ANY_TEXT, provider: "[a-z][a-z0-9_-]{0,63}", model: A_MODEL, served: A_MODEL,
	base_url: `${MODEL_CHARS}{1,256}`, callable: "any|none", independent: "family|model",
	max_rounds: COUNTED, max_calls: COUNTED, max_tokens: COUNTED, max_cost_micro_usd: COUNTED,
	max_seconds: COUNTED, min_challenge_strength: "[1-9]|10", cited_critique: "required",
	evidence: "required", gate_factor: COUNTED,
	gate_rule: "downside|any|all", require: "requester|owner|task_type|retention|gate",
	task_type: `${MODEL_CHARS}{1,64}`, retention: "[A-Za-z0-9._/@+=-]{1,64}:[1-9][0-9]{0,5}",
	review: "never|exceptions|always", reviewers: "[1-9]", review_days: COUNTED,
	reviewer_may_be: "requester|nobody_involved", redactors: "[1-3]", signed: "outcome|hold",
	metric: "[A-Za-z0-9._/@+=-]{1,64}:(0|[1-9][0-9]{0,8})([.][0-9]{0,5}[1-9])?",
}).map(([term, pattern]) => [term, new RegExp(`^(${pattern})$`)]));
const ONCE = /^(callable|independent|max_.*|min_.*|gate_.*|cited_critique|evidence|review.*|redactors)$/;
const OF_TEXTS = ["template", "schema", "tool", "persona", "instructions", "context"];

// A policy: its note, how many lines it has, values by scope and term, and the hashes that revoke
// it: its own, and two of each signature (§14); null where it is none.
function readPolicy(name, policies) {
	const bytes = policies.get(name) ?? new Uint8Array(), note = readNote(bytes);
	if (!note || sha256(bytes) !== name) return null;
	// No more of its lines than show that they are too many.
	const [first, ...lines] = toText(note.text, false).split("\n", 1003).slice(0, -1), rules = new Map();
	if (first !== "hansard-policy/v1" || lines.length > 1000) return null;
	for (const [index, line] of lines.entries()) {
		const found = /^(\*|[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)?) ([a-z_]+) ([!-~]+)$/.exec(line);
		if (!found || (index && lines[index - 1] >= line)) return null;
		const [, scope, term, value] = found, key = `${scope} ${term}`;
		if (!Object.hasOwn(POLICY_TERMS, term) || !POLICY_TERMS[term].test(value)) return null;
		const last = rules.get(key)?.at(-1);
		if (last && (ONCE.test(term) ||
			(term === "metric" && last.split(":")[0] === value.split(":")[0]))) return null;
		if (last) rules.get(key).push(value);
		else rules.set(key, [value]);
	}
	const head = bytes.subarray(0, note.text.length + 1), names = new Set([name]);
	const rows = toText(bytes.subarray(head.length)).split("\n").slice(0, -1);
	for (const each of [...rows.map((line) => toBytes(`${line}\n`)), ...note.signatures.map((row) => row[2])]) {
		names.add(sha256(new Uint8Array([...head, ...each])));
	}
	return { note, rules, names, lines: lines.length };
}

// What the most specific scope that has a term says; null where none has it.
function policyValues({ rules }, term, format, role) {
	const scopes = [`${format}.${role}`, format, "*"].map((scope) => `${scope} ${term}`);
	return rules.get(scopes.find((key) => rules.has(key))) ?? null;
}

function checkPolicy(policy, opening, events, texts) {
	const findings = [], gone = new Set(), hashes = new Map(), { format } = opening.terms;
	const valuesOf = (term, role) => policyValues(policy, term, format, role);
	const report = (place, term, expected, found = null) =>
		findings.push(finding(`${OF_TEXTS.includes(term) ? 10 : 18}.${term}`, place,
			expected.slice(0, 10), found)); // the values that would have done
	const among = (place, term, role, found) => {
		const values = valuesOf(term, role);
		if (!values || (OF_TEXTS.includes(term) && values.includes("any"))) return;
		if (found === null || !values.some((value) => (value.endsWith("*")
			? found.startsWith(value.slice(0, -1)) : found === value))) report(place, term, values, found);
	};
	const hashOf = (name) => {
		if (!hashes.has(name)) {
			hashes.set(name, texts.has(name) ? sha256(new TextEncoder().encode(texts.get(name))) : null);
		}
		return hashes.get(name);
	};

	const nobody = valuesOf("reviewer_may_be")?.[0] === "nobody_involved";
	const people = [opening.requester, opening.owner];

	// Who signed an entry after the close, or did not.
	function checkSigned(place, type, { signature, signatures }) {
		if (signatures) {
			const values = valuesOf("redactors"), number = signatures.length;
			if (values && number < Number(values[0])) report(place, "redactors", values, number);
			return;
		}
		const what = type === "outcome.noted" ? "outcome" : "hold", name = signature?.key.split("+")[0];
		if (!signature && valuesOf("signed")?.includes(what)) report(place, "signed", [what]);
		if (type === "review.signed" && nobody && people.some((row) => row?.key === name)) {
			report(place, "reviewer_may_be", ["nobody_involved"], name);
		}
	}

	function checkOpening() {
		const { terms, limits } = opening, ms = limits.elapsed_ms;
		for (const row of opening.schemas) among(1, "schema", row.role, row.sha256);
		for (const row of opening.tools) among(1, "tool", null, row.sha256);
		among(1, "task_type", null, opening.task_type);
		const classes = valuesOf("retention"), kept = opening.retention;
		if (classes && !classes.some((value) => value.split(":")[0] === kept)) {
			report(1, "retention", classes, kept);
		}
		const asked = ["*", format].flatMap((scope) => policy.rules.get(`${scope} require`) ?? []);
		for (const name of unique(asked).sort()) {
			if (opening[name] === null) report(1, "require", [name]);
		}
		if (valuesOf("evidence") && !opening.documents) report(1, "evidence", ["required"], 0);
		if (nobody && people.some((row) => !row?.key)) report(1, "reviewer_may_be", ["nobody_involved"]);
		for (const [name, number] of Object.entries({
			max_rounds: terms.max_rounds ?? 1, max_calls: limits.calls, max_tokens: limits.tokens,
			max_cost_micro_usd: limits.cost_micro_usd, max_seconds: ms && Math.ceil(ms / 1000),
		})) {
			const values = valuesOf(name);
			if (values && (number === null || number > Number(values[0]))) report(1, name, values, number);
		}
		for (const [name, found] of opening.gate ? ["factor", "rule"].map((key) =>
			[`gate_${key}`, opening.gate[key]]) : []) {
			const values = valuesOf(name);
			if (values && values[0] !== String(found)) report(1, name, values, found);
		}
		const least = valuesOf("min_challenge_strength"), strength = terms.min_challenge_strength;
		if (least && strength < Number(least[0])) report(1, "min_challenge_strength", least, strength);
		if (valuesOf("cited_critique") && terms.require_cited_critique === false) {
			report(1, "cited_critique", ["required"]);
		}
	}

	// What a seat is told, and which model sits in it.
	function checkSeat(place, seat) {
		const { role, model } = seat, judging = ["judge", "moderator"].includes(role);
		const rows = seat.instructions, first = formatOf(opening.terms).firstRound ?? 1;
		const own = rows && [...(rows[0].round > first ? [null] : []), ...rows.map((row) => row.text)];
		const told = { persona: [seat.persona], instructions: own ?? [opening.instructions] };
		if (role !== "moderator") told.context = [opening.context];
		for (const [term, blobs] of Object.entries(told)) {
			const values = valuesOf(term, role) ?? [judging ? "none" : "any"], named = new Set(values);
			const found = blobs.map((blob) => (blob ? hashOf(blob.sha256) : "none"))
				.filter((hash) => !named.has(hash));
			if (values.includes("any") || !found.length) continue;
			const known = found.some((hash) => hash !== null);
			if (!known && values.some((value) => value !== "none")) gone.add(term);
			else report(place, term, values);
		}
		const [provider] = model.split(":");
		among(place, "provider", role, provider);
		among(place, "model", role, model.slice(provider.length + 1));
		among(place, "base_url", role, seat.parameters.base_url ?? "default");
		if (valuesOf("callable", role)?.[0] === "none" && /^(python|custom):/.test(model)) {
			report(place, "callable", ["none"], model);
		}
	}

	// A name that is a text; of one of more than 256 characters the beginning.
	function nameIn(text) {
		const letters = [...text.slice(0, 2 * 257)];
		return letters.length > 256 ? `${letters.slice(0, 256).join("")}…` : text;
	}

	// The model that a reply says served it; its name may be a text.
	function checkServed(place, { role }, model) {
		if (!isObject(model)) among(place, "served", role, model);
		else if (texts.has(model.sha256)) among(place, "served", role, nameIn(texts.get(model.sha256)));
		else if (valuesOf("served", role)) gone.add("served");
	}

	// Who judges, or is a critic, beside those whom they judge.
	function checkIndependence(seats) {
		const judged = new Map(), proposed = new Map();
		const kinds = (model) => [`model ${model}`, `family ${familyOf(model)}`];
		for (const [, { role, model }] of seats) {
			const groups = /^(judge|moderator|synthesizer)$/.test(role) ? [] : [judged];
			for (const group of role === "proposer" ? [...groups, proposed] : groups) {
				for (const kin of kinds(model)) if (!group.has(kin)) group.set(kin, model);
			}
		}
		for (const [place, { role, model }] of seats) {
			const values = valuesOf("independent", role), kin = values?.[0] === "model" ? 0 : 1;
			const others = { judge: judged, moderator: judged, critic: proposed }[role];
			const same = values && (kin === 0 || familyOf(model) !== null) &&
				others?.get(kinds(model)[kin]);
			if (same) report(place, "independent", values, same);
		}
	}

	const seats = [], byId = new Map();
	checkOpening();
	for (const [index, { type, data }] of events.entries()) {
		if (type === "debater.registered") {
			seats.push([index + 1, data]);
			byId.set(data.id, data);
			checkSeat(index + 1, data);
		} else if (type === "call.answered") {
			const step = data.call.slice(0, Math.max(0, data.call.lastIndexOf(":"))).split(".");
			const seat = byId.get(step.length > 2 ? step.slice(2).join(".") : step.at(-1));
			if (seat) checkServed(index + 1, seat, data.model);
		} else if (PEOPLE[type]) {
			checkSigned(index + 1, type, data);
		}
	}
	checkIndependence(seats);
	return { findings, gone: [...gone].sort() };
}
