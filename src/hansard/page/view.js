"use strict";
// Takes the record out of this page, has it checked, and only then draws it.

const MOST_BYTES = 2 ** 26; // of the record in a page
const root = document.documentElement, at = (id) => document.getElementById(id);
// What the scripts of the page share.
const page = {
	zip: null, files: null, // the record as it lies in this page
	trusted: new Map(), // the reader's keys, each with its role, by the field it was given in
	comparing: Promise.resolve(), // the last comparison of a key that was asked for
	result: null, // of verifyFiles, with these keys
	events: [], figures: null, // of all events; null where an altered record makes no sense
	turns: new Map(), notes: new Map(), // those of the figures by entry
	from: 0, // the entries before the first one that the transcript shows
	naming: null, // the first entry that names each text (transcript.js)
	wanted: null, sought: "", index: null, // the entries and words searched for (search.js)
	place: 1, playing: 0, // the entry at which the replay stands, and its timer
	paper: null, // while it is printed, the texts that stand elsewhere than at their entries (paper.js)
};

async function embedded() {
	const blocks = document.querySelectorAll('script[type="application/octet-stream"]');
	if (!blocks.length) throw new Error("There is no record in this page.");
	if (typeof DecompressionStream !== "function") {
		throw new Error("This browser cannot unpack the record: it has no DecompressionStream.");
	}
	const parts = Array.from(blocks, (block) => {
		const text = atob(block.textContent), bytes = new Uint8Array(text.length);
		for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
		return bytes;
	});
	const unzipped = new Blob(parts).stream().pipeThrough(new DecompressionStream("gzip"));
	const reader = unzipped.getReader(), chunks = [];
	let size = 0;
	for (let read = await reader.read(); !read.done; read = await reader.read()) {
		size += read.value.length;
		if (size > MOST_BYTES) throw new Error("The record is too large for a page.");
		chunks.push(read.value);
	}
	return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

async function start() {
	if (root.dataset.verdict) forget();
	at("style").sheet?.deleteRule(0);
	await new Promise((done) => setTimeout(done, 30)); // so that "checking" is seen
	page.zip = await embedded();
	page.files = readZip(page.zip);
	await check();
	page.events = page.result.lines.map((line) => line.event);
	const found = attempt(() => figuresAt(page.events.length), null);
	page.figures = found && attempt(() => ({ ...found }), null); // all of it, once
	page.turns = new Map(page.figures?.turns.map((turn) => [turn.seq, turn]));
	page.notes = new Map();
	for (const note of page.figures?.notes ?? []) {
		page.notes.set(note.seq, [...page.notes.get(note.seq) ?? [], note]);
	}
	draw();
}

// A page that was saved after it ran opens with what it said then, by keys not given now.
function forget() {
	root.dataset.verdict = at("verdict").className = "";
	at("verdict").textContent = "Checking…";
	at("main").textContent = "Checking this record…";
}

const figuresAt = (n) => figuresOf(page.events.slice(0, n).filter(Boolean), page.result.texts);

// An altered record need not make sense: whatever cannot be drawn of it leaves its verdict be.
function attempt(draw, otherwise = h("p", "This part of the altered record makes no sense.")) {
	try {
		return draw();
	} catch (error) {
		if (verdict() !== "altered") throw error;
		return otherwise;
	}
}

async function check() {
	const { files, trusted } = page;
	page.result = await verifyFiles(files, [...trusted.values()]);
	// Quotes of code are for terminals.
	const plain = (text) => text.replace(/`([^`]*)`/g, "$1");
	for (const row of page.result.findings) row.message = plain(row.message);
	for (const row of page.result.checks) row.evidence = plain(row.evidence);
}

function verdict() {
	if (page.result.verdict === "INTACT") return "intact";
	if (page.result.verdict !== "SELF-CONSISTENT, SIGNER UNKNOWN") return "altered";
	return page.result.ed25519 ? "consistent" : "partly";
}

// The verdict as it is told: a key that the reader gave and that signed nothing comes first.
const told = () => (verdict() === "consistent" &&
	[...page.trusted].some(([id, { role }]) => !keySigned(id, role)) ? "foreign" : verdict());
const asFound = (title) =>
	(verdict() === "altered" ? `${title}, as found in the altered record` : title);

// The verdict, and what its reader would otherwise miss.
const verdictLine = (state) => list([VERDICTS[state][0],
	page.result.caveats.join("; ")].filter(Boolean));
// No bar reassures a reader who must not act yet.
function conclusion(state) {
	const [, tone] = VERDICTS[state];
	const acting = page.figures && attempt(() => actingOn(page.figures, page.result, state), null);
	const found = list([VERDICTS[state][0], ...caveats()]);
	if (!acting || tone === "bad" || acting.answer === "yes") return [found, tone];
	return [`${found}. ${acting.head}`, "warn"];
}

// The state: in the bar, and in the root's data once all of it is drawn.
function conclude(state) {
	const [line, tone] = conclusion(state);
	at("verdict").className = tone;
	at("verdict").replaceChildren(sign(tone), h("span", line));
	root.dataset.verdict = verdict();
}

// Leans on nothing of the other scripts: they may be what failed.
function failed(error) {
	clearInterval(page.playing);
	at("main").replaceChildren(at("failure").content.cloneNode(true));
	at("why").textContent = error?.message ?? `${error}`;
	at("verdict").className = "bad";
	at("verdict").textContent = "Could not be checked";
	root.dataset.verdict = "failed";
}

function draw() {
	at("main").replaceChildren(...[!drawsFeet() && h("p.paper", { id: "foot" }), h("div", { id: "top" }),
		...(page.figures ? [drawFigures, drawParticipants, drawEvidence, drawReplay] : [])
			.map((part) => attempt(part)),
		drawTranscript(), drawVerify()].filter(Boolean));
	drawEntries(0);
	drawVerdict();
	for (const link of document.querySelectorAll("nav a")) if (!at(link.hash.slice(1))) link.remove();
	if (page.figures) go(page.events.length);
	addEventListener("hashchange", follow);
	follow();
}

// What depends on the reader's keys: drawn again when they change.
function drawVerdict() {
	const state = told(), f = page.figures;
	at("top").replaceChildren(...[drawSummary(state), attempt(drawChecks),
		f && attempt(() => h("div.cards.two", drawConcluded(f), drawOpen(f)))].filter(Boolean));
	foldQuestion();
	at("proof").replaceChildren(...drawProof());
	at("claims").replaceChildren(...drawClaims(state));
	conclude(state);
	foot(verdictLine(state));
}

// The running foot on paper. Id and hash are hexadecimal: nothing else gets into a style.
function foot(name) {
	const hex = (text) => (text ?? "none").replace(/[^0-9a-f-]/g, "");
	const id = hex(page.result.debate), hash = hex(page.result.lines.at(-1)?.hash).slice(0, 16);
	const text = `Record ${id} · last hash ${hash}… · ${name}`;
	document.title = `Debate record ${id.slice(0, 8)}`;
	if (at("foot")) at("foot").textContent = text;
	else document.adoptedStyleSheets = [sheetOf(text)];
}

addEventListener("resize", () => foldQuestion());
addEventListener("beforeprint", () => ontoPaper());
addEventListener("afterprint", () => offPaper());
addEventListener("error", (event) => failed(event.error ?? event.message));
addEventListener("unhandledrejection", (event) => failed(event.reason));
start().catch(failed);
