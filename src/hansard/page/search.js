"use strict";
// Finding one's way in the transcript: a rail of rounds and turns, filters, a search.

// Each gives whether an entry has the flag.
const FLAGS = {
	look: ["wants a look", (wrong = new Set(page.result.findings.map((row) => row.seq))) =>
		(n, turn, event) => wrong.has(n) ||
			page.notes.get(event?.seq)?.some((note) => note.severity !== "info")],
	idle: ["does not count", () => (n, turn) => turn && turn.status !== "counted"],
	struck: ["has a citation that does not hold", () => (n, turn) =>
		turn?.case?.citations.some((row) => row.finding !== "verified")],
	changed: ["changed a vote, an answer or a thesis", (steps = new Set(page.figures.drift.map(
		(row) => `r${row.round_index}.${row.phase}.${row.speaker}`))) =>
		(n, turn) => turn && steps.has(turn.step)],
};

function drawFilters() {
	const turns = [...page.turns.values()];
	const pick = (id, label, rows) => h("select", { id, "aria-label": label, change: search },
		h("option", { value: "" }, label), rows.map((name, i) => h("option", { value: i }, name)));
	return h("div.controls.filters", { role: "search" },
		h("input", { id: "words", type: "search", "aria-label": "Search every text", autocomplete: "off",
			placeholder: "Search every text", spellcheck: "false", input: search,
			focus: () => setTimeout(searchable) }), // before the first key
		turns.length > 0 && [
			pick("by-seat", "All seats", seatsOf(turns)), pick("by-phase", "All phases", phasesOf(turns)),
			pick("by-flag", "Flagged or not", Object.values(FLAGS).map(([label]) => label))],
		h("p.dim", { id: "found", role: "status" }));
}
const seatsOf = (turns) => unique(turns.map((turn) => turn.seat));
const phasesOf = (turns) => unique(turns.map((turn) => spaced(turn.phase)));

// The numbers of the entries that are wanted, null where all are.
const wanted = () => page.wanted;
function search() {
	const chosen = (id, rows) => (at(id)?.value ? rows[Number(at(id).value)] : null);
	const turns = [...page.turns.values()], sought = at("words").value.trim().toLowerCase();
	const seat = chosen("by-seat", seatsOf(turns)), phase = chosen("by-phase", phasesOf(turns));
	const flag = chosen("by-flag", Object.values(FLAGS))?.[1]();
	page.sought = sought;
	const texts = sought ? searchable() : [];
	const holds = (n, event, turn = page.turns.get(event?.seq)) =>
		(!seat || turn?.seat === seat) && (!phase || (turn && spaced(turn.phase) === phase)) &&
		(!sought || texts[n - 1].lower.includes(sought)) && (!flag || flag(n, turn, event));
	const narrowed = sought || seat || phase || flag;
	page.wanted = narrowed
		? page.events.flatMap((event, i) => (holds(i + 1, event) ? [i + 1] : [])) : null;
	at("found").textContent = narrowed ? `${plural(page.wanted.length, "match", "matches")} in ` +
		plural(page.events.length, "entry", "entries") : "";
	drawEntries(0);
}

// Shows all again, and one entry of it.
function wantAll(n) {
	for (const field of document.querySelectorAll(".filters :is(input, select)")) field.value = "";
	search();
	location.replace(`#e${n}`);
	follow();
}

// All that an entry says: its sentence, its texts, and what is noted of it. A text is found once: a
// reply in its turn, any other at the first entry that names it. The base64 of a file is no text.
function searchable() {
	if (page.index) return page.index;
	const told = new Set(Array.from(page.turns.values(), (turn) => turn.reply?.sha256));
	page.index = page.events.map((event) => {
		if (!event) return { text: "", lower: "" };
		const turn = page.turns.get(event.seq);
		const names = Array.from(turn ? [] : namedBlobs({ ...event.data, original: null }))
			.filter((name) => !told.has(name) && told.add(name));
		const texts = turn ? [...turn.value ? wordsIn(turn.value) : [turn.text], turn.reason]
			: names.map((name) => page.result.texts.get(name));
		const notes = (page.notes.get(event.seq) ?? []).map((note) => note.message);
		const text = [attempt(() => headline(event), ""), ...texts, ...notes].filter(Boolean).join("\n");
		return { text, lower: text.toLowerCase() };
	});
	return page.index;
}

const wordsIn = (value) => (typeof value === "object" && value
	? Object.values(value).flatMap(wordsIn) : [String(value)]);

function snippet(n) {
	const { sought } = page, { text, lower } = sought ? searchable()[n - 1] : { lower: "" };
	const place = sought && text.length === lower.length ? lower.indexOf(sought) : -1;
	if (place < 0) return null;
	const end = place + sought.length;
	return h("p.dim.snippet", "… ", text.slice(Math.max(0, place - 60), place),
		h("mark", text.slice(place, end)), text.slice(end, end + 60), " …");
}

// Rounds, and the turns of each by phase.
function drawRail() {
	const rounds = new Map();
	for (const turn of page.figures.turns) {
		if (!rounds.has(turn.round)) rounds.set(turn.round, new Map());
		const phases = rounds.get(turn.round);
		phases.set(turn.phase, [...phases.get(turn.phase) ?? [], turn]);
	}
	const link = (turn) => h("a", { href: `#${turn.step}` }, said(turn.seat),
		turn.status !== "counted" && h("span.dim", " (not counted)"));
	const phases = (rows) => h("ul.plain", [...rows].map(([phase, turns]) =>
		h("li", h("span.dim", spaced(phase)), turns.filter(isLast).map((turn) => [" ", link(turn)]))));
	const isLast = (turn, i, turns) => turns.findLast((row) => row.step === turn.step) === turn;
	return h("details.rail", { open: matchMedia("(min-width: 56rem)").matches ? "" : null },
		h("summary", "Rounds and turns"), h("nav", { "aria-label": "Rounds and turns" },
			[...rounds].map(([round, rows]) => {
				const node = lazily(`Round ${round}`, () => phases(rows));
				node.open = rounds.size <= 4;
				return node;
			})));
}
