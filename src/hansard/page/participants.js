"use strict";
// Who sat at the table, and what their prompts were made of.

const hash = (name) => h("code", name);
const timesOf = (rows) => { // each value with how often it is there
	const found = new Map();
	for (const row of rows) found.set(row, (found.get(row) ?? 0) + 1);
	return [...found];
};

const drawParticipants = () => section("participants", "Participants",
	plural(page.figures.seats.length, "seat"),
	h("div.cards", page.figures.seats.map(drawSeat)),
	lazily("Templates and texts by hash", drawHashes, "annexed"));
const drawHashes = () => table("plain", "Templates and texts", ["Template or text", "SHA-256"],
	[...page.figures.templates.map((row) => [`template ${row.role}`, hash(row.sha256)]),
		...page.figures.texts.map((row) => [row.what, hash(row.sha256)])]);

function drawSeat(seat) {
	const f = page.figures, calls = f.asked.filter((row) => row.seat === seat.id);
	const served = timesOf(calls.map((row) => row.served ?? "not stated"));
	const settings = Object.entries(seat.parameters).filter(([, value]) => value !== null);
	const template = f.templates.find((row) => row.role === seat.role);
	return h(`article.card.top.${seatTone(seat.id)}`, h("h3", seatName(seat.id), ` ${seat.role}`),
		h("dl.facts.rows", [
			["Asked", seat.model],
			["Served", served.length ? served.map(([name, n], i) =>
				[i > 0 && ", ", brief(name), served.length > 1 && ` (${n})`]) : "not asked"],
			["Settings", settings.length ? settings.map(([key, value], i) =>
				[i > 0 && ", ", `${spaced(key)} `, said(String(value))]) : "none given"],
			["Used", `${plural(seat.calls, "call")}, ${money(seat.cost_micro_usd)}`],
			template && ["Template", [hash(template.sha256.slice(0, 16)), "…"]],
		].filter(Boolean).map(([name, value]) => h("div", h("dt", name), h("dd", value)))),
		seat.stance && lazily(["Argues ", said(stanceIn(seat.stance.label, seat.stance.text, 80))],
			() => words(seat.stance.text), "annexed"),
		seat.persona !== null && lazily("Persona", () => words(seat.persona), "annexed"),
		calls.length > 0 && lazily("Prompts and replies by hash", () =>
			table("plain", "Calls", ["Call", "Served", "Fingerprint", "Template", "Prompt", "Reply"],
				calls.map((row) => [[row.call, " ", ref(row.seq)],
					...[row.served, row.fingerprint].map(brief),
					hash(row.template), hash(row.prompt), row.reply ? hash(row.reply) : "none"])), "annexed"));
}
