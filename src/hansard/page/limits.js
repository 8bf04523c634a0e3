"use strict";
// 15 limits and 16 outcome (§3, §9): costs, ceilings, and how a debate ends.

const LIMITS = { // by ceiling, in the order tried
	calls: "calls", tokens: "tokens", cost: "cost_micro_usd", seconds: "elapsed_ms", entries: "",
};

// A time as milliseconds and the microseconds left; a month may have 31 days, a year be 0.
function instant(at) {
	const number = (from, to) => Number(at.slice(from, to));
	const year = number(0, 4), cycles = Math.floor(year / 400);
	const month = Date.UTC(400 + year % 400, number(5, 7) - 1, 1);
	const days = cycles * 146097 + number(8, 10);
	const seconds = number(11, 13) * 3600 + number(14, 16) * 60 + number(17, 19);
	return [month + days * 864e5 + seconds * 1000 + number(20, 23), number(23, 26)];
}

function since(walk, then) {
	const [ms, us] = instant(walk.at);
	return Math.max(0, ms - then[0] - Number(us < then[1]));
}

// The cost of an answered call in micro-US-dollars, rounded up (§3).
function costOf(walk, { step }, { tokens_in: read, tokens_out: out, ...rest }) {
	const price = walk.prices.get(step.seat.model);
	if (!price || read === null || out === null) return null;
	const cached = Math.min(rest.tokens_cached ?? 0, read);
	const written = Math.min(rest.tokens_cache_write ?? 0, read - cached);
	const total = [
		[read - cached - written, price.input_micro_usd], [cached, price.cached_micro_usd],
		[written, price.cache_write_micro_usd], [out, price.output_micro_usd],
	].reduce((sum, [tokens, each]) => sum + BigInt(tokens) * BigInt(each), 0n);
	return (total + 999999n) / 1000000n;
}

// The most that a call can cost: what it sends may come from a cache, or go there.
function dearest(walk, model, read, out) {
	const price = walk.prices.get(model);
	if (!price) return null;
	const { input_micro_usd: input, cached_micro_usd: cached, cache_write_micro_usd: write } = price;
	const total = BigInt(read) * BigInt(Math.max(input, cached, write)) +
		BigInt(out) * BigInt(price.output_micro_usd);
	return (total + 999999n) / 1000000n;
}

// Open calls count with what they reserved; `sign` is -1 where a reservation is free again.
function spend(walk, { calls = 0n, tokens, cost }, sign = 1n) {
	walk.spent.calls += sign * calls;
	walk.spent.tokens += sign * tokens;
	walk.spent.cost += sign * (cost ?? 0n);
}

function reserve(walk, { tokens, cost }) {
	const reserved = { calls: 1n, tokens, cost: cost ?? 0n, seconds: 0n, entries: 1n };
	const broken = Object.keys(LIMITS).find((name) => breaks(walk, name, reserved[name]));
	if (broken) walk.report("15.ceiling", limitOf(walk, broken), stated(spentOf(walk, broken)));
	spend(walk, reserved);
}

// Whether a call that reserves so much could break a ceiling.
function breaks(walk, ceiling, reserved) {
	const limit = limitOf(walk, ceiling), more = ceiling === "seconds" ? 1n : reserved;
	return limit !== null && spentOf(walk, ceiling) + more > BigInt(limit);
}

const limitOf = (walk, ceiling) =>
	ceiling === "entries" ? MOST_ENTRIES - 1000 : walk.opening.limits[LIMITS[ceiling]];
const spentOf = (walk, ceiling) =>
	ceiling === "seconds" ? BigInt(since(walk, walk.openedAt))
		: ceiling === "entries" ? BigInt(walk.place - 1 + walk.tools.size) : walk.spent[ceiling];

entryType("debate.truncated", form(`step:id ${CUT}`), takeTruncated);

// The step whose call is not made, and what is said of the ceiling or of a person.
function cutOf(walk, data) {
	const step = walk.firstStep(), { ceiling } = data;
	need(!walk.calls.size && !walk.tools.size, "the end of an open call");
	const byPerson = ceiling === "operator", { by = null, reason = null } = byPerson ? data : {};
	const reserved = byPerson ? null
		: BigInt({ calls: 1, seconds: 0, entries: 1 }[ceiling] ?? data.reserved ?? 0);
	need(byPerson || !walk.raised, "debate.resumed");
	need(byPerson || breaks(walk, ceiling, reserved), "call.started");
	const [limit, spent] = byPerson ? [null, null]
		: [limitOf(walk, ceiling), spentOf(walk, ceiling)];
	walk.raised = false;
	return [step, { ceiling, limit, spent: stated(spent), reserved: stated(reserved), by, reason }];
}

function takeTruncated(walk, data) {
	const [step, cut] = cutOf(walk, data), { ceiling } = data;
	walk.compare(15, data, { step: step.name, ...cut });
	const held = [...walk.steps.values()].filter((each) => each.heard);
	walk.course = cutShort("truncated", ceiling === "operator" ? ceiling : `${ceiling}_ceiling`,
		held);
	goOn(walk);
}

// ---- 16 outcome (§9)

entryType("decision.reached", form(`decision:name votes:count? threshold:positive? score_ppm:score?
	rounds_run:count review:blob? rule:how`));
entryType("debate.closed", form("outcome:complete|truncated|failed reason:stopped"));

// What the format says is due, then decision, synthesis and close.
function* courseOf(walk) {
	const [decision, reason] = yield* attended(walk);
	if (decision) {
		const { round } = walk.turns.at(-1).step;
		const review = OPEN_ENDS.includes(decision.decision) ? walk.opening.review : null;
		walk.decision = yield due("decision.reached", 16, { ...decision, rounds_run: round, review });
		for (const seat of walk.seated("synthesizer")) yield [walk.step(round, "synthesis", seat)];
	}
	yield closing(decision ? "complete" : "failed", reason);
}

// What the format says is due, as long as enough seats are in (§8). The close in place of it is
// withdrawn by a resumption, after which all of them are.
function* attended(walk) {
	const schedule = walk.format.schedule(walk);
	const lost = () => [...walk.lost.values()].some((steps) => steps >= MOST_LOST) &&
		walk.format.lost?.(walk);
	for (let sent;;) {
		const { value, done } = schedule.next(sent), steps = done || !Array.isArray(value) ? [] : value;
		const needed = done ? value[0] : !steps.length || steps.some((step) => !isOut(walk, step.seat));
		while (needed && lost()) yield SEATS_LOST;
		for (const step of steps) step.out = isOut(walk, step.seat);
		if (done) return value;
		sent = yield value;
	}
}

const closing = (outcome, reason) => due("debate.closed", 16, { outcome, reason });
const SEATS_LOST = closing("failed", "seats_lost");

// What ends a debate early: the turns of replies in hand, and the close.
function* cutShort(outcome, reason, held = []) {
	if (held.length) yield held;
	yield closing(outcome, reason);
}
