"use strict";
// The first screen: what was asked, what became of it, whether to act on it and to rely on it.

function drawSummary(state) {
	const f = page.figures, [first] = page.events;
	if (first?.type === "gate.answered") return drawGated(first, state);
	if (!f) {
		return h("section", { id: "summary" }, drawAltered(), h("h1", "This record cannot be read"));
	}
	return h("section", { id: "summary" }, state === "altered" && drawAltered(),
		f.name !== null && h("p.dim", said(f.name)), drawQuestion(f.question),
		attempt(() => drawLead(f, state)), attempt(() => drawActing(f, state)), drawTrust(state),
		attempt(() => drawFacts(f)),
		attempt(() => plainWords(f).map((text) => signed("p.alert", "warn", text))),
		state !== "altered" && drawSignOff());
}

// What leads is on the first screen, however long or wide the question is.
const MOST_ASKED = 300; // characters, marks aside
function drawQuestion(text) {
	const brief = text === null || (text.length <= MOST_SAID &&
		[...text.replace(/\p{M}/gu, "")].length <= MOST_ASKED);
	const whole = h("div.asked", behind("The question in full", apart(words(text))));
	whole.cut = !brief;
	return [h("h1", said(brief ? text : oneLine(text, MOST_ASKED))), whole];
}
// Offers the question in full where not all of it has room above.
function foldQuestion() {
	const whole = document.querySelector(".asked"), head = whole?.previousElementSibling;
	if (whole) whole.hidden = !whole.cut && head.scrollHeight <= head.clientHeight;
}

function drawLead(f, state) {
	const altered = state === "altered";
	const [head, tail] = leadOf(f);
	return h(head.length > 200 ? "p.whole" : "p", { id: "lead" }, altered && h("span.dim", "As the altered record says: "),
		h(altered ? "s" : "span", h("strong", said(head)), ": ", said(tail)));
}

const ACTING = { yes: "good", look: "warn", yet: "warn", no: "bad" };
function drawActing(f, state) {
	const { answer, head, why } = actingOn(f, page.result, state);
	return h("p", { id: "acting" }, signed("span.signed", ACTING[answer],
		[h("strong", `${head}: `), said(why), "."]));
}

// The record of a gate.
function drawGated({ at, debate, data }, state) {
	const s = { texts: page.result.texts, spec: data }, gate = gateOf(s), { gated } = WORDING;
	const altered = state === "altered";
	const rows = { asked: ["Asked", day(at)], record: ["Record", debate.slice(0, 8)],
		...saidRows({ ...data, requester: personOf(s, data.requester), owner: personOf(s, data.owner),
			task_type: gate.task_type, gate }) };
	const outcomes = page.events.filter((event) => event?.type === "outcome.noted");
	return h("section", { id: "summary" }, altered && drawAltered(),
		drawQuestion(textOf(s, data.question)),
		h("p", { id: "lead" }, h(altered ? "s" : "span",
			h("strong", gated[gate.advised ? "advised" : "against"]), `: ${gated.alone}.`)),
		drawTrust(state), facts(Object.values(rows)),
		outcomes.map((event) => signed("p.alert", "info", [headline(event), ". ", ref(event.seq)])),
		!altered && drawSignOff());
}

const day = (at) => `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;
const facts = (rows) =>
	h("dl.facts", rows.map(([name, value]) => h("div", h("dt", name), h("dd", value))));
function drawFacts(f) {
	const { requester, owner, estimate, ...more } = saidRows(f);
	const cost = money(f.totals.cost_micro_usd), served = unique(f.asked.map((row) => row.served));
	const expected = f.estimate?.cost_expected_micro_usd;
	const policy = f.policy && ["Policy", [h("code", f.policy.slice(0, 16)), "…"]];
	return [facts([
		["Held", day(f.opened_at)], requester, owner,
		["Cost", Number.isInteger(expected) ? `${cost} (expected ${money(expected)})` : cost],
		f.resumes > 0 && ["Interrupted", plural(f.resumes, "time")],
	].filter(Boolean)),
	behind("More about this debate", facts([
		["Format", f.format], ["Rounds", `${f.rounds_run} of at most ${f.max_rounds}`],
		f.stopped && ["Ended", `${f.stopped} (${f.reason})`], ...Object.values(more), estimate, policy,
		["Models asked", list(unique(f.seats.map((seat) => seat.model)))],
		["Models served", served.length ? served.map((name, i) => [i > 0 && ", ", brief(name)])
			: "none was asked"],
		["Closed", f.closed_at ? day(f.closed_at) : "not yet"], ["Recorded by", f.engine],
		["Record", h("code", f.debate)],
	].filter(Boolean)))];
}

// What the debate says of itself, in the words of `hansard show`: a label and a value for each.
function saidRows({ requester, owner, task_type, labels, retention, origin, gate, ...row }) {
	const { estimate: e } = row;
	const { said: own, origins } = VOCABULARY.words, cost = (n) => amount("cost", n).split(" ")[0];
	const person = (row) => (row ? [said(row.name), row.key && ` (key ${row.key})`] : null);
	const rows = {
		requester: person(requester) ?? own.unasked, owner: person(owner) ?? own.unanswered,
		task_type, labels: list(labels), retention,
		origin: origin && `${origins[origin.kind]} ${origin.debate ?? own.none}` +
			(origin.seq ? fill(own.left, origin) : ""),
	};
	if (e) {
		const { cost_least_micro_usd: least, cost_most_micro_usd: most } = e;
		rows.estimate = fill(e.calls_least === e.calls_most ? own.exactly : own.calls,
			{ least: e.calls_least, most: e.calls_most });
		if (least !== null) {
			rows.estimate = fill(own.costs, { likely: cost(e.cost_expected_micro_usd),
				least: cost(least), most: cost(most), calls: rows.estimate });
		}
	}
	Object.assign(rows, gate && gateRows(gate));
	return Object.fromEntries(Object.entries(rows).filter(([, value]) => value)
		.map(([key, value]) => [key, [own[key], value]]));
}

// Whether the record can be relied on

const compareKey = (text) => h("a", { href: "#keys" }, text);
function trustIn(state) {
	const signer = signerOf("manifest"), by = signer?.by, names = list(signer?.names ?? []);
	if (state === "intact") return ["Intact. Signed by ", said(by), ", whose key you gave."];
	if (state === "foreign") {
		return ["A key you gave did not sign this: it may be forged. ", compareKey("Compare another key"), "."];
	}
	const also = [signerOf("policy")?.by === null && "of who approved its prompts",
		signerOf("checkpoint")?.by === null && "of its register"].filter(Boolean).join(" and that ");
	if (by) return ["Signed by ", said(by), ", whose key you gave. ", compareKey("Paste the key"),
		` ${also}, too.`];
	const claimed = names ? ["Signed in the name of ", said(names), ". "] : ["Nobody signed it. "];
	if (state === "partly") {
		return [...claimed, "This browser cannot check signatures: use ", h("code", "hansard verify"), "."];
	}
	return names ? [...claimed, compareKey("Paste the key you were given"), " to confirm it."]
		: [...claimed, "Anyone could have written it: ask the sender for a signed export."];
}
// One line with one action; what was checked stands below.
const drawTrust = (state) => state !== "altered" && h("div", { id: "trust" },
	signed("p.signed", VERDICTS[state][1], trustIn(state)),
	h("p", h("a.dim", { href: "#claims" }, "What is proven, and what is not")));

function drawSignOff() {
	const { walk } = page.result, says = reviewInWords(page.result);
	const doubted = walk.review?.lifts.some((row) => row.standing !== "trusted");
	const tone = (!doubted && { approved: "good", "not required": "info" }[walk.review?.state]) || "warn";
	return [
		says && signed("p.alert", tone, [`${VOCABULARY.words.reviewed.label}: `, said(says), ". ",
			[...walk.review.reviews, ...walk.review.lifts].some((row) => row.standing === "unknown") &&
				[compareKey("Paste the reviewer's key"), " to count it."]]),
		...conditionsInWords(page.result).map((text) =>
			signed("p.alert", "info", ["Condition ", said(text)])),
		...erasedInWords(page.result).map(({ seq, counts, text }) => signed("p.alert",
			counts ? "info" : "warn", [`${VOCABULARY.words.erased.label}: `, said(text), ". ", ref(seq)])),
	];
}

// What the verdict would leave out, but for how the review stands (`drawSignOff`), and its place
// in a register, which is not about this debate (`proof.js`).
const caveats = () => page.result.caveats.filter((text) => !text.startsWith("register:") &&
	text !== fill(WORDING.caveats.review, { state: page.result.walk?.review?.state }));
const plainWords = (f) => [
	caveats().map((text) => `${capital(text)}.`).join(" "),
	f.output_missing && ["The output is missing: ", said(f.output_missing), "."],
].filter(Boolean);

// What was concluded, and what is still open

// Enough votes may also ask for a person: that is an agreement.
const agreedOnNothing = (f) => f.decision === "escalate" && !/_vote$/.test(f.decision_rule);
const drawTally = (f) =>
	[...f.vote_tally ?? []].map(([vote, count]) => h("p", pill(vote), ` ${count}`));

function drawConcluded(f) {
	const rows = [f.output !== null && parts(f.output), formatOf(f).concluded?.(f)].flat()
		.filter(Boolean);
	if (!rows.length && (agreedOnNothing(f) || !f.decision)) rows.push(...drawStanding(f));
	return rows.length > 0 &&
		h("article.card", { id: "concluded" }, h("h2", asFound(f.decision &&
			!OPEN_ENDS.includes(f.decision) ? "What was concluded" : "Where it stands, without a decision")), rows);
}

// How far a debate came that has no answer.
function drawStanding(f) {
	const no = f.decision ? "Nothing was agreed: a person must decide."
		: { open: "Still open.", truncated: "Cut short." }[f.status] ?? "It failed without an answer.";
	const standing = formatOf(f).undecided?.(f);
	return standing && standing.length !== 0 ? [h("p", no), standing] : [];
}

// Notes on what was left open, or on how little an outcome may mean.
const OPEN = ["unanswered", "tie", "forfeited", "still_open", "undeclared_winner", "hollow_consensus"];
// What the deliverable itself leaves open, where it has a part with such a name.
const leftOpen = ({ output }) => (!isObject(output) ? [] : WORDING.deliverable.open.split(", ")
	.filter((name) => Object.hasOwn(output, name))
	.flatMap((name) => [output[name]].flat().filter(isWritten)
		.map((text) => [h("span.dim", `${spaced(name)}: `), said(text)])));
function drawOpen(f) {
	const { points, dissents } = formatOf(f), rows = [
		...(f.decision && !OPEN_ENDS.includes(f.decision) ? []
			: [`The question itself: nothing ${f.status === "open" ? "is" : "was"} decided.`]),
		...points?.(f) ?? [], ...leftOpen(f), ...dissents?.(f) ?? [],
		...f.notes.filter((note, i, all) => OPEN.includes(note.code) &&
			(note.code !== "tie" || all.findLast(({ code }) => code === "tie") === note))
			.map((note) => [note.message, ". ", note.seq && ref(note.seq)]),
	];
	return rows.length > 0 && h("article.card", { id: "open" }, h("h2", asFound("What is still open")),
		h("ul", rows.map((row) => h("li", row))));
}
