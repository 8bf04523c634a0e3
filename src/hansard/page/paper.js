"use strict";
// The page on paper: nothing is folded or left out; documents, personas, checks, hashes in annexes.

const opened = []; // what was opened for paper
const SHORT = 1000; // characters of a text that is printed again wherever it is named,
let again = 0; // as long as these are no more than MOST_DRAWN in all
const printed = new Set(); // what is on paper

// A style whose sheets have this at their foot.
function sheetOf(text) {
	const sheet = new CSSStyleSheet();
	sheet.replaceSync(`@page { @bottom-left { content: "${text}" } }`);
	return sheet;
}

// Whether this browser draws a foot on every sheet; else the first one says what it would.
function drawsFeet() {
	try {
		return sheetOf("").cssRules[0].cssText.includes("bottom-left");
	} catch {
		return false;
	}
}

// On paper a long text stands once, however many entries name it.
function once(text, draw) {
	if (!page.paper || text === null) return draw();
	if (printed.has(text) && (text.length > SHORT || (again += text.length) > MOST_DRAWN)) {
		return h("p.dim", "The same text as above.");
	}
	printed.add(text);
	return draw();
}

function ontoPaper() {
	if (!at("entries") || page.paper) return;
	page.paper = toldElsewhere();
	printed.clear();
	again = 0;
	drawAgain();
	const filled = annexes().map(([title, draw]) => [title, [attempt(draw)].flat(9).filter(Boolean)])
		.filter(([, inside]) => inside.length);
	at("main").append(...filled.map(([title, inside], n) =>
		h("section.annex", h("h2", `Annex ${String.fromCharCode(65 + n)}: ${title}`), inside)));
	for (const node of document.querySelectorAll("details.printed, #entries details:not(.extra)")) {
		if (!node.open) opened.push(node);
		node.open = true;
	}
}

function offPaper() {
	if (!page.paper) return;
	page.paper = null;
	for (const node of document.querySelectorAll(".annex")) node.remove();
	for (const node of opened.splice(0)) node.open = false;
	drawAgain();
}

// What shows less on the screen than on paper.
function drawAgain() {
	if (at("figures")) at("figures").replaceWith(attempt(drawFigures));
	if (at("evidence")) at("evidence").replaceWith(attempt(drawEvidence));
	if (told() === "altered") drawVerdict();
	drawEntries(page.paper ? 0 : page.from);
}

// The texts that paper shows as question, people, turns, documents, personas and stances.
function toldElsewhere() {
	const { question, requester, owner } = page.events[0]?.data ?? {};
	const names = [question, requester?.name, owner?.name];
	for (const turn of page.turns.values()) names.push(turn.reply);
	for (const event of page.events) {
		if (event?.type === "evidence.admitted") names.push(event.data.text);
		if (event?.type === "debater.registered") names.push(event.data.persona, event.data.stance?.text);
	}
	return new Set(names.map((blob) => blob?.sha256));
}

const annexes = () => [
	["Personas and stances", drawBriefs],
	["Evidence", drawDocuments],
	["Checks that passed", drawPassed],
	["Templates, texts, prompts and replies by hash", () => page.figures && [drawHashes(), drawCalls()]],
	["Prompts as they were sent", () => at("with-prompts").checked && drawPrompts()],
];

const drawBriefs = () => (page.figures?.seats ?? []).flatMap((seat) => [
	seat.stance && [h("h3", seatName(seat.id), " argues ", said(seat.stance.label)),
		once(seat.stance.text, () => apart(words(seat.stance.text)))],
	seat.persona !== null && [h("h3", seatName(seat.id), ` ${seat.role}`),
		once(seat.persona, () => apart(words(seat.persona)))],
]);
const drawDocuments = () => (page.figures?.evidence ?? []).map((row) => {
	const text = page.result.texts.get(row.sha256) ?? null;
	return [h("h3", said(row.id)), h("p.dim", documentFacts(row).map((fact, i) => [i > 0 && " · ", fact])),
		text === null ? h("p", h("em", GONE)) : once(text, () => apart(typesetAll(text, row.source)))];
});
const drawCalls = () => page.figures.asked.length > 0 &&
	table("plain", "Prompts and replies", ["Call", "Served", "SHA-256"], page.figures.asked.map((row) =>
		[row.call, [brief(row.served), row.fingerprint && [", ", brief(row.fingerprint)]],
			[["template", row.template], ["prompt", row.prompt], ["reply", row.reply]].map(([what, name]) =>
				h("p.dim", `${what} `, name ? hash(name) : "none"))]));

// A prompt shows in full what none before it had, and names the rest: were every text in every
// prompt, paper would grow with the square of the turns.
function drawPrompts() {
	const seen = new Map(); // the parts on paper by hash; how many of a list's, how long a template
	return page.events.filter((event) => event?.type === "call.started")
		.map(({ data: { call } }) => [h("h3", said(call)), attempt(() => drawNew(call, seen))]);
}

function drawNew(call, seen) {
	const { base, length, before, more, until, after } = recipeOf(page.result, call);
	const { system, templates } = page.result.walk.transcript, drawn = [];
	const from = Math.min(seen.get(base) ?? 1, length); // the first one is a role
	let role = "", text = "", title = null, known = null;
	const flush = () => {
		if (text) drawn.push(quoted(role, text));
		if (known) drawn.push(h("p.dim", "As in a prompt above, up to “", said(known), "”."));
		text = "", known = null;
	};
	const textOf = (content) => {
		try {
			return pieceOf(page.result, content);
		} catch (error) {
			return `\n${error.message}\n`;
		}
	};
	const nameOf = ({ template, values }, all) => {
		const [name] = [...templates].find(([, hash]) => hash === template) ?? ["instructions or schema"];
		return [name, ...(all ? Object.entries(values).map((pair) => pair.join(" ")) : [])].join(", ");
	};
	const add = ({ content, hash }) => {
		if (content.role) return flush(), void (role = content.role);
		if (content.values?.label) return void (title = content);
		const own = toHex(hash), long = seen.get(content.template) > LONG;
		if (long || seen.has(own)) {
			if (!known) flush();
			known = title?.values.label ?? nameOf(content, !seen.has(own));
		} else {
			if (known) flush();
			const piece = textOf(content);
			text += (title ? textOf(title) : "") + piece;
			seen.set(content.template, piece.length);
		}
		seen.set(own, 1);
		title = null;
	};
	[...system, ...before, base[0]].forEach(add);
	if (from > 1) known = base[from - 2].content.values.label; // every text of a list has a title
	[...base.slice(from, length), ...more.slice(0, until), ...after].forEach(add);
	flush();
	seen.set(base, Math.max(length, from));
	return drawn;
}
