"use strict";
// 9 schedule (§8, §11): opening, seats and documents; then what the format says is due, and the
// calls and tools for it.

const ROLE = "role:debater|judge|framer|proposer|critic|rebuttal|moderator|synthesizer";
const PARAMETERS = form(`temperature:decimal? top_p:decimal? seed:count? max_tokens:positive?
	reasoning_effort:name? structured:native|tool|text? base_url:url?`);
const HASHES = [form("role:name sha256:hash")];

// ---- the opening (§11.1)

entryType("debate.opened", form(`engine:id rules:=1 name:name? collection_id:name? task_type:name?
	requester:person? owner:person? labels:labels retention:name? origin:origin? gate:gate?
	estimate:estimate? terms:terms
	question:blob context:blob? instructions:blob? review:blob seats:hundred
	documents:documents attempts:hundred timeout_ms:positive retry_ms:positive seed:seed
	layout:shared-prefix|role-first leading_call:bool policy:hash? tool_rounds:count
	scripted:bool`, {
	templates: HASHES, schemas: HASHES, tools: [form("tool:name sha256:hash")],
	prices: [form(`model:id source:name input_micro_usd:count cached_micro_usd:count
		cache_write_micro_usd:count output_micro_usd:count`)],
	limits: form("calls:positive? tokens:positive? cost_micro_usd:positive? elapsed_ms:positive?"),
}));
entryType("debater.registered", form(`id:name ${ROLE} position:positive model:id persona:blob?
	instructions:instructions|null stance:stance? agent_type:name`, { parameters: PARAMETERS }));
entryType("evidence.admitted",
	form("document:name text:blob from_round:positive source:source? original:blob?"));

function takeOpening(walk, type, data) {
	const { seats, documents } = walk;
	if (!walk.opening && type === "gate.answered") {
		takeGate(walk, data);
		return;
	} else if (!walk.opening) {
		need(type === "debate.opened", "debate.opened or gate.answered");
		takeOpened(walk, data);
	} else if (seats.size < walk.opening.seats) {
		need(type === "debater.registered", "debater.registered");
		need(!seats.has(data.id), "debater.registered with another id");
		need((data.instructions ?? []).every((row, i, all) => !i || all[i - 1].round < row.round),
			"debater.registered with instructions in order of rounds");
		seats.set(data.id, data);
		if (seats.size === walk.opening.seats) checkSeats(walk);
		walk.compare(9, data, { position: seats.size });
	} else {
		need(type === "evidence.admitted", "evidence.admitted");
		need(!documents.has(data.document), "evidence.admitted with another id");
		need(data.source || !data.original, "evidence.admitted without an original");
		documents.set(data.document, data);
	}
	const { opening } = walk;
	if (seats.size !== opening.seats || documents.size !== opening.documents) return;
	walk.transcript = new Transcript(opening, [...seats.values()], [...documents.values()]);
	walk.course = courseOf(walk);
	goOn(walk);
}

function takeOpened(walk, data) {
	const format = formatOf(data.terms), roles = data.templates.map((row) => row.role);
	need(canonical(roles) === canonical(Object.keys(templatesOf(data.terms))),
		"debate.opened with other templates");
	const { options = [] } = data.terms, { fewestOptions: fewest = 0 } = format;
	const meant = ["abstain", "undeclared"].some((word) => options.includes(word)); // otherwise
	const right = distinct(options) && !meant && options.length <= 100;
	need(right && options.length >= fewest, "debate.opened with other options");
	checkOwnWords(data, walk.debate);
	if (data.gate) checkGate(walk, "debate.opened", data.gate, data.task_type);
	const synthesizer = data.schemas.slice(-1).filter((row) => row.role === "synthesizer");
	const number = data.seats - synthesizer.length;
	const terms = { ...data.terms, ...format.derived?.(data.terms, number) };
	const schemas = format.schemas(terms);
	const hashed = [...schemas.map(([role, schema]) =>
		({ role, sha256: sha256(toBytes(canonical(schema))) })), ...synthesizer];
	walk.compare(14, data, { terms });
	walk.compare(10, data, { schemas: hashed });
	walk.schemas = new Map([...schemas, ["synthesizer", {}]]); // the user's own is not known here
	walk.hashes = new Map(hashed.map((row) => [row.role, row.sha256]));
	Object.assign(walk, {
		format, terms, opening: { ...data, terms, schemas: hashed }, openedAt: instant(walk.at),
	});
	for (const row of data.prices) { // the first of a model counts
		if (!walk.prices.has(row.model)) walk.prices.set(row.model, row);
	}
	walk.templates = data.templates.map(({ role, sha256: hash }) =>
		[role, hash, walk.policy && (policyValues(walk.policy, "template", terms.format, role) ?? [])]);
}

function checkLabels(entry, labels) {
	need(canonical(labels) === canonical(unique(labels).sort()),
		`${entry} with its labels in order, each once`);
}

// What a debate says of itself agrees with itself (§11.1).
function checkOwnWords({ labels, estimate, origin }, own) {
	const same = (one, other) => canonical(one) === canonical(other);
	checkLabels("debate.opened", labels);
	if (estimate) {
		const costs = COSTS.map((name) => estimate[name]), none = costs.every((cost) => cost === null);
		const rising = !costs.includes(null) && same(costs, [...costs].sort((a, b) => a - b));
		need((none || rising) && estimate.calls_least <= estimate.calls_most,
			"debate.opened with an estimate in order");
	}
	if (!origin) return;
	const { kind, debate, head, seq } = origin;
	const named = debate !== null && head !== null;
	const right = debate !== own && (named || kind === "evaluation" && debate === head);
	need(right && (seq !== null) === (kind === "branch"),
		"debate.opened with an origin of its kind");
}

function checkSeats(walk) {
	const { terms, format } = walk, seats = [...walk.seats.values()];
	const scripted = seats.some((seat) => /^(scripted|recorded):/.test(seat.model));
	need(scripted === walk.opening.scripted, "debate.opened with another `scripted`");
	const { estimate } = walk.opening, priced = seats.every((seat) => walk.prices.has(seat.model));
	need(!estimate || (estimate[COSTS[0]] !== null) === priced,
		"debate.opened with an estimated cost exactly where all prices are known");
	const more = walk.hashes.has("synthesizer") ? [["synthesizer", null]] : [];
	const expected = [...format.seats(terms, seats.length - more.length), ...more];
	const found = seats.map((seat) => [seat.role, seat.stance?.label ?? null]);
	const same = canonical(found) === canonical(expected.map((row) => row.slice(0, 2)));
	const named = same && expected.every(([,, id], index) => !id || id === seats[index].id);
	const ids = seats.filter((seat) => seat.role !== "synthesizer").map((seat) => seat.id);
	const taken = [...ids, ...found.map(([, label]) => label)];
	const free = !taken.some((name) => (format.reserved ?? RESERVED).includes(name));
	need((format.sound?.(terms) ?? true) && named && free, "debater.registered for a seat of its format");
}

function goOn(walk, sent) {
	const { value } = walk.course.next(sent), steps = Array.isArray(value) ? value : [];
	walk.entry = Array.isArray(value) ? null : value;
	walk.steps = new Map(steps.map((step) => [step.name, step]));
	walk.over = [];
	walk.waiting = steps.filter((step) => !step.heard && !step.out).length;
}

// Takes an entry that follows from those before; what is not derived of it is as it says.
function takeScheduled(walk, data) {
	const { kind, check, fields } = walk.entry;
	const derived = typeof fields === "function" ? fields(data) : fields;
	need(derived, `${kind} with what answers can give`);
	walk.compare(check, data, derived);
	if (kind === "debate.closed") Object.assign(walk, { closed: { ...data, ...derived }, shut: true });
	else goOn(walk, { ...data, ...derived });
}

// ---- calls (§11.3 to §11.5)

entryType("call.started", form(`call:id step:id attempt:positive ${ROLE} model:id template:hash
	schema:hash prompt:hash reserved_tokens_in:count reserved_tokens_out:count
	reserved_cost_micro_usd:count?`, { parameters: PARAMETERS }), takeStarted);

function takeStarted(walk, data) {
	const step = walk.steps.get(data.step);
	need(step?.wantsCall, "call.started for another step");
	step.attempts++;
	step.open = true;
	step.began ||= walk.at;
	const { role, model, parameters } = step.seat;
	const read = data.reserved_tokens_in, out = parameters.max_tokens ?? 0;
	const call = {
		name: `${step.name}:${step.attempts}`, step, began: instant(walk.at),
		tokens: BigInt(read) + BigInt(out), cost: dearest(walk, model, read, out),
	};
	const recipe = walk.transcript.prompt(step);
	walk.compare(9, data, { call: call.name, attempt: step.attempts, role, model, parameters });
	walk.compare(10, data, { template: step.template, schema: walk.hashes.get(role) });
	walk.compare(11, data, { prompt: recipe.digest });
	walk.recipes.set(call.name, recipe);
	walk.compare(15, data, { reserved_tokens_out: out, reserved_cost_micro_usd: call.cost });
	checkApproval(walk);
	reserve(walk, call);
	walk.calls.set(call.name, call);
}

// Ends an open call, however it ended; its reservation is free again.
function closeCall(walk, name) {
	const call = walk.calls.get(name);
	need(call, "the end of an open call");
	walk.calls.delete(name);
	call.step.open = false;
	spend(walk, call, -1n);
	return call;
}

// Ends an attempt without a reply that counts; returns whether there is another one.
function inVain(walk, step, { rejected = false, final = false }) {
	step.ended++;
	step.lastRejected = rejected;
	step.exhausted = final || step.ended >= walk.opening.attempts;
	if (step.exhausted) walk.waiting--;
	return !step.exhausted;
}

entryType("call.failed", form(`call:id detail:id? status:count? request_id:id|blob? wait_ms:count?
	again:bool cost_micro_usd:count? latency_ms:count? sent_as_rendered:bool? sent:blob?
	error:errors`), takeFailed, { anytime: true, abandoning: true });

function takeFailed(walk, data) {
	if (walk.abandoned.length) {
		const call = closeCall(walk, walk.abandoned.shift().name);
		spend(walk, call);
		walk.compare(9, data, {
			call: call.name, error: "abandoned", again: true, detail: null, status: null,
			request_id: null, wait_ms: null, latency_ms: null, sent_as_rendered: null, sent: null,
		});
		walk.compare(15, data, { cost_micro_usd: call.cost });
		return;
	}
	need(data.error !== "abandoned", "debate.resumed");
	const call = closeCall(walk, data.call), { error, wait_ms: wait } = data;
	const own = /^(python|custom):/.test(call.step.seat.model), raised = error === "raised";
	need(own || !raised, "call.failed with another error");
	checkWire(walk, call, data);
	checkLatency(walk, call, data);
	const paid = ["timeout", "server_error", "crashed"].includes(error); // it may have been
	if (paid) spend(walk, call);
	if (raised) { // it is asked anew once the debate is resumed
		walk.raised = true;
		spend(walk, call);
		walk.compare(9, data, { again: true, wait_ms: null });
		walk.compare(15, data, { cost_micro_usd: call.cost });
		return;
	}
	const final = error === "client_error" || error === "no_reply"; // it would only fail alike
	if (final) walk.compare(9, data, { wait_ms: null });
	const late = since(walk, instant(call.step.began)) + (wait ?? 0) > walk.opening.retry_ms;
	const again = inVain(walk, call.step, { final: final || late });
	if (!again) lose(walk, call.step.seat, data);
	walk.compare(9, data, { again });
	walk.compare(15, data, { cost_micro_usd: null });
}

// How long a call took, against the time that passed, but for one millisecond of rounding (§3).
function checkLatency(walk, { began }, { latency_ms: took }) {
	const most = since(walk, began) + 1;
	if (took > most) walk.report("9.latency_ms", most, took);
}

// Counts the steps in a row that a seat has lost since its model could not be asked (§11).
const MOST_LOST = 2;
function lose({ lost }, { id }, { error, status }) {
	const refused = error === "client_error", all = refused && status > 400 && status < 405;
	if (refused || error === "unreachable") lost.set(id, all ? MOST_LOST : (lost.get(id) ?? 0) + 1);
	else lost.delete(id);
}
const isOut = ({ lost }, { id }) => lost.get(id) >= MOST_LOST;
const stillIn = (walk) => walk.seated("debater").filter((seat) => !isOut(walk, seat));

// What a call that ended says of the wire, against its seat's model (§3).
function checkWire(walk, { step }, { reply, status, sent_as_rendered: compared, sent, error }) {
	const { model } = step.seat, silent = compared === null;
	const fits = /^(scripted|recorded|python|custom):/.test(model) ?
		silent && !(reply && status !== null) :
		reply ? !silent && status >= 200 && status < 300 :
		status === null || !silent && error !== "unreachable";
	if (!fits || (sent === null) === (compared === false)) walk.report("12.wire", null, model);
}

entryType("debate.resumed", form("engine:id"), takeResumed, { anytime: true, abandoning: true });

function takeResumed(walk) {
	walk.abandoned = [...walk.calls.values()];
	walk.raised = false;
	walk.lost.clear();
	for (const step of walk.steps.values()) {
		step.began = "";
		if (step.out) { // in again: it sees what was said meanwhile
			walk.waiting++;
			walk.transcript.begin(step, walk.decision);
		}
		step.out = false;
	}
	if (walk.entry === SEATS_LOST) goOn(walk);
}

// ---- tools (§11.2)

entryType("tool.called", form("call:id number:positive tool:name|blob arguments:blob"));

function takeCalled(walk, data) {
	const { call, tools, number } = walk.asked;
	walk.asked = number + 1 < tools ? { call, tools, number: number + 1 } : null;
	walk.compare(9, data, { call: call.name, number: number + 1 });
	const name = typeof data.tool === "string" ? data.tool : "of no known name";
	const tool = { step: call.step, name, arguments: data.arguments, result: null };
	walk.tools.set(`${call.name} ${number + 1}`, tool);
	call.step.tools.push(tool);
	call.step.toolsOut++;
}

entryType("tool.returned", form("call:id number:positive result:blob ok:bool"), takeReturned,
	{ anytime: true });

function takeReturned(walk, data) {
	const key = `${data.call} ${data.number}`, tool = walk.tools.get(key);
	need(tool, "tool.returned for another tool");
	walk.tools.delete(key);
	tool.result = data.result;
	tool.step.toolsOut--;
}

// ---- turns (§11.6)

const TURN = "step:id round:count phase:phase speaker:name";
entryType("turn.forfeited", form(`${TURN} reason:silences cut:cut?`), takeForfeit);

function takeForfeit(walk, data) {
	let [step] = walk.steps.values(), cut = null;
	let reason = step.out ? "seat_out" : step.lastRejected ? "invalid_reply" : "no_reply";
	if (walk.waiting) {
		need(data.cut, "call.started");
		[step, cut] = cutOf(walk, data.cut);
		reason = cut.ceiling === "operator" ? "operator" : "ceiling";
	}
	walk.compare(9, data, { ...step.fields, reason });
	walk.compare(15, data, { cut });
	endTurn(walk, step, null, {});
}

function endTurn(walk, step, reply, says) {
	const turn = turnOf(step, reply, says);
	if (step.reply) walk.lost.delete(turn.id);
	walk.transcript.add(turn);
	walk.over.push(turn);
	walk.steps.delete(step.name);
	if (!walk.steps.size) goOn(walk, walk.over);
}

// ---- 10 the policy during the walk (§15)

// Role, hash and approved hashes of the first template that is not approved.
const unapproved = ({ policy, templates }) =>
	policy && templates.find(([, hash, approved]) => !approved.includes(hash));

function checkApproval(walk) {
	const wrong = unapproved(walk);
	if (wrong) walk.report("10.not_approved", wrong[2], wrong[1]);
}

entryType("call.refused", form("step:id role:name found:hash", { approved: ["hash"] }), takeRefused);

function takeRefused(walk, data) {
	const step = walk.firstStep(), derived = { step: step.name }, wrong = unapproved(walk);
	need(walk.opening.policy !== null, "call.started");
	if (wrong) {
		const [role, found, approved] = wrong;
		Object.assign(derived, { role, found, approved });
	} else if (walk.policy) {
		const approved = walk.templates.find(([role]) => role === data.role)?.[2];
		need(approved && !approved.includes(data.found), "call.started");
		derived.approved = approved;
	}
	walk.compare(10, data, derived);
	walk.course = cutShort("failed", "prompt_refused");
	goOn(walk);
}
