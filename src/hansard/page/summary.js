"use strict";
// The first screen: what was asked and decided, whether the record can be relied on, what is still
// open; and the table of the governance checks.

function drawSummary(state) {
	const f = page.figures, [first] = page.events;
	if (first?.type === "gate.answered") return drawGated(first, state);
	if (!f) {
		return h("section", { id: "summary" }, drawAltered(),
			h("h1", "This record cannot be read"), drawIntegrity(state));
	}
	const facts = [
		["Held", `${f.opened_at.slice(0, 10)} ${f.opened_at.slice(11, 16)} UTC`],
		["Format", f.format], ["Record", f.debate.slice(0, 8)],
		["Replies", f.scripted ? "scripted" : "from models"],
		["Cost", money(f.totals.cost_micro_usd)], ...saidRows(f),
	];
	return h("section", { id: "summary" }, state === "altered" && drawAltered(),
		f.name !== null && h("p.dim", said(f.name)), h("h1", said(f.question)),
		h("dl.facts", facts.map(([name, value]) => h("div", h("dt", name), h("dd", value)))),
		attempt(() => plainWords(f).map(([tone, ...text]) => signed("p.alert", tone, text))),
		state !== "altered" && drawSignOff(),
		h("div.cards", attempt(() => drawDecision(f, state)), drawIntegrity(state),
			attempt(drawReview)),
		attempt(() => h("div.cards.two", drawConcluded(f), drawOpen(f))));
}

// The record of a gate: what it answered, and what came of it.
function drawGated({ at, debate, data }, state) {
	const s = { texts: page.result.texts, spec: data }, gate = gateOf(s), { gated } = WORDING;
	const facts = [["Asked", `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`], ["Record", debate.slice(0, 8)],
		...saidRows({ ...data, requester: personOf(s, data.requester), owner: personOf(s, data.owner),
			task_type: gate.task_type, gate })];
	const outcomes = page.events.filter((event) => event?.type === "outcome.noted");
	return h("section", { id: "summary" }, state === "altered" && drawAltered(),
		h("h1", said(textOf(s, data.question))),
		h("dl.facts", facts.map(([name, value]) => h("div", h("dt", name), h("dd", value)))),
		outcomes.map((event) => signed("p.alert", "info", [headline(event), ". ", ref(event.seq)])),
		state !== "altered" && drawSignOff(),
		h("div.cards", card(asFound("The gate"), state === "altered" ? "c4" : "warn",
			h(`${state === "altered" ? "s" : "strong.warn"}.long`, gated[gate.advised ? "advised" : "against"]),
			h("p", `${adviceIn(gate)}; ${gated.alone}.`)), drawIntegrity(state)));
}

// What the debate says of itself, in the words of `hansard show`.
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
	return Object.entries(rows).filter(([, value]) => value).map(([key, value]) => [own[key], value]);
}

// How the review stands, as far as the keys that the reader gave can show it.
function drawSignOff() {
	const { walk } = page.result, says = reviewInWords(page.result);
	const tone = { approved: "good", "not required": "info" }[walk.review?.state] ?? "warn";
	return [
		says && signed("p.alert", tone, [`${VOCABULARY.words.reviewed.label}: `, said(says), ". ",
			walk.review.reviews.length && h("a", { href: "#keys" }, "Compare the keys")]),
		...conditionsInWords(page.result).map((text) =>
			signed("p.alert", "info", ["Condition ", said(text)])),
	];
}

const MOST_OF_A_CHECK = 5; // findings that are listed

function drawAltered() {
	const { findings } = page.result, checks = new Set(findings.map(checkOf));
	return h("div.alert.bad", { role: "alert" },
		h("h2", sign("bad"), "Do not rely on this record: it was altered"),
		Array.from(checks, (number) =>
			drawFindings(number, findings.filter((row) => checkOf(row) === number))));
}

function drawFindings(check, rows) {
	const more = rows.length - MOST_OF_A_CHECK;
	return [h("p", h("strong", VOCABULARY.checks[check].failed)),
		h("ul.dim", rows.slice(0, MOST_OF_A_CHECK).map((row) =>
			h("li", row.seq ? ["Entry ", ref(row.seq)] : "The record", ": ", said(row.message),
				` (${row.code})`)),
		more > 0 && h("li", `… and ${plural(more, "finding")} more`))];
}

// It stands in `drawSignOff` at more length.
const reviewCaveat = () => fill(WORDING.caveats.review, { state: page.result.walk?.review?.state });

// What a reader must know before the cards, a sentence each.
const PLAIN = ["scripted", "recorded", "truncated", "refused", ...FAILED,
	"hollow_consensus", "weak_critique", "uncited_critique", "soft_critique"];
function plainWords(f) {
	const told = new Map(f.notes.filter((note) => PLAIN.includes(note.code))
		.map((note) => [note.code, note])); // the last of each kind
	return [
		OPEN_ENDS.includes(f.decision) && ["warn", "A person must decide",
			f.review ? [": ", said(f.review)] : "."],
		...Array.from(told.values(), (note) =>
			[toneOf(note), note.message, ". ", note.seq && ref(note.seq)]),
		f.output_missing && ["warn", "The output is missing: ", said(f.output_missing), "."],
		f.stopper && ["warn", "Stopped ", said(f.stopper), "."],
		f.resumes > 0 && ["info", `The debate was interrupted ${plural(f.resumes, "time")}.`],
		...page.result.caveats.filter((text) => text !== reviewCaveat()).map((text) => ["warn", `${text[0].toUpperCase()}${text.slice(1)}.`]),
	].filter(Boolean);
}

const card = (title, tone, head, ...children) =>
	h(`article.card.top.${tone}`, h("h2.key", title), h("p.head", head), children);

// Enough votes may also ask for a person: that is an agreement.
const agreedOnNothing = (f) => f.decision === "escalate" && !/_vote$/.test(f.decision_rule);
// The decision in a word or two: an option is left as it is spelled.
const decisionInWords = (f) => (f.decision
	? formatOf(f).decision?.(f) || decisionIn(f.decision, f.decision_text)
	: { open: "Still open", truncated: "Cut short" }[f.status] ?? "Failed");
const drawTally = (f) =>
	[...f.vote_tally ?? []].map(([vote, count]) => h("p", pill(vote), ` ${count}`));

function drawDecision(f, state) {
	const altered = state === "altered", by = f.decided_on, format = formatOf(f);
	const tone = f.decision && !format.decision?.(f) ? voteTone(f.decision) : "warn";
	const needed = by?.threshold ?? null, no = agreedOnNothing(f);
	const tied = f.counts.at(-1)?.tally.filter((row) => row.votes >= needed).length > 1;
	const how = needed === null ? f.how ?? f.stopped ?? "There is no decision yet"
		: no ? `${tied ? "A tie: more than one option has" : "No option has"} enough votes ` +
				`(${needed} needed)`
			: `${by.votes} of ${plural(f.debater_ids.length, "vote")}, ${needed} needed`;
	const rounds = f.rounds_run > 0 && `, ${f.status === "complete" ? "after" : "in round"} ` +
		`${f.rounds_run} of at most ${plural(f.max_rounds, "round")}`;
	const words = decisionInWords(f), long = words.length > 20 ? ".long" : "";
	return card(asFound("Decision"),
		altered ? "c4" : tone, h(`${altered ? "s" : `strong.${tone}`}${long}`, said(words)),
		h("p", how, rounds, "."), (!f.decision || no) && drawTally(f), format.decided?.(f));
}

// What to do where no key has confirmed the signer.
const ANYBODY = "It agrees with itself, but anyone could have written it: ";
const TRUST = {
	consistent: `${ANYBODY}ask the sender for the export key by another route.`,
	partly: `${ANYBODY}check its signature with hansard verify.`,
	foreign: "A key you gave did not sign this. It may be forged: ask the sender before you rely on it.",
};

function drawIntegrity(state) {
	const [name, tone] = VERDICTS[state], { checks, entries, caveats } = page.result;
	const by = (n) => checks.find((row) => row.number === n);
	const line = (status, ...text) => signed("li.signed", STATUS[status][0], text);
	const rules = checks.filter((row) => row.number > 8 && row.number < 17);
	const signer = signerOf("manifest");
	const names = signer?.names.length && ["Signed by ", said(list(signer.names)),
		", not confirmed. ", h("a", { href: "#keys" }, "Compare the key")];
	const whose = signer?.by ? line("pass", "Signed by ", said(signer.by), ", whose key you gave")
		: line("unchecked", names || "Not signed");
	const failing = checks.filter((row) => row.status === "fail");
	return card("Record integrity", tone,
		[sign(tone), h(`strong.${tone}${name.length > 20 ? ".long" : ""}`, name)],
		h("ul.plain", failing.length ? failing.map((row) =>
			line("fail", VOCABULARY.checks[row.number].failed)) : [
			line("pass", `${plural(entries, "entry", "entries")}, linked in order`),
			line(by(8).status, by(8).evidence),
			rules.every((row) => row.status === "pass")
				? line("pass", page.figures?.decision
					? "Turns, votes and decision follow from the replies"
					: "What was recorded follows the rules")
				: line("unchecked", "Checked as far as the texts are available"), whose]),
		TRUST[state] && h("p", state === "consistent" && signer?.by
			? "The approver of its prompts is not confirmed: compare that key too." : TRUST[state],
		" ", h("a", { href: "#claims" }, "What is proven")),
		caveats.map((text) => h("p.warn", h("strong", text))));
}

// The rows of the governance table, with the status of the checks that they rest on.
const rules = () => page.figures.governance.map((row) => {
	const checks = page.result.checks.filter((each) => row.checks.includes(each.number));
	const status = (name) => checks.find((each) => each.status === name);
	const worst = status("fail") ?? (!row.review && status("unchecked"));
	return worst ? { ...row, status: worst.status, found: worst.evidence }
		: { ...row, status: row.review ? "review" : "passed" };
});

function drawReview() {
	const rows = rules(), look = rows.filter((row) => ["review", "fail"].includes(row.status));
	const passed = rows.filter((row) => row.status === "passed").length;
	const failing = rows.some((row) => row.status === "fail");
	const open = rows.length - passed - look.length; // not checked, or not in full
	const tone = failing ? "bad" : look.length ? "warn" : open ? "info" : "good";
	const head = look.length ? `${look.length} to review`
		: open ? `${open} not checked` : "All passed";
	return card("Governance", tone,
		[sign(tone), h(`strong.${tone}`, head)],
		h("p", `${passed} of ${rows.length} passed, recomputed from the entries.`,
			open > 0 && ` ${open} not fully checked.`),
		h("ul.plain", look.map((row) =>
			signed("li.signed", STATUS[row.status][0], h("strong", row.name), ": ",
				row.notes[0]?.message ?? row.found))));
}

function drawConcluded(f) {
	const rows = [f.output !== null && parts(f.output), formatOf(f).concluded?.(f)].flat()
		.filter(Boolean);
	if (!rows.length && (agreedOnNothing(f) || !f.decision)) rows.push(drawStanding(f));
	return h("article.card", h("h2", asFound("What was concluded")),
		rows.length ? rows : h("p", "No answer was found."));
}

// How far a debate came that has no answer.
function drawStanding(f) {
	const no = f.decision ? "Nothing was agreed: a person must decide."
		: { open: "Still open.", truncated: "Cut short." }[f.status] ?? "It failed without an answer.";
	return [h("p", no), formatOf(f).undecided?.(f)];
}

const OPEN = ["unanswered", "tie", "forfeited", "still_open", "undeclared_winner"];
function drawOpen(f) {
	const { points, dissents } = formatOf(f), rows = [
		...(f.decision && !OPEN_ENDS.includes(f.decision) ? []
			: [`The question itself: nothing ${f.status === "open" ? "is" : "was"} decided.`]),
		...points?.(f) ?? [], ...dissents?.(f) ?? [],
		...f.notes.filter((note) => OPEN.includes(note.code))
			.map((note) => [note.message, ". ", note.seq && ref(note.seq)]),
	];
	return h("article.card", h("h2", asFound("What is still open")), rows.length
		? h("ul", rows.map((row) => h("li", row))) : h("p", points ? "Nothing is listed as open."
			: "Nobody was asked what is still open."));
}

const outcome = (status) =>
	signed("span.signed", STATUS[status][0], h("strong", STATUS[status][1]));

const drawChecks = () => section("checks", "Governance checks",
	"Each rule, and what this page found.",
	h("div.card", table("rules", "Governance checks", ["Result", "Check", "Rule", "Found"],
		rules().map((row) => [outcome(row.status), h("strong", row.name), h("span.dim", row.rule),
			[row.found, unique(row.notes.map((note) => note.seq)).filter(Boolean).slice(0, 12)
				.map((seq) => [" ", ref(seq)]),
				row.notes.slice(0, 12).map((note) => h("p.dim", note.message))]]))));
