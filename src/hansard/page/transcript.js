"use strict";
// The transcript: a card for a turn, a line that opens for any other entry.

const WHOLE = 2000, AT_ONCE = 500; // entries: a transcript of more is drawn page by page
const FOUND_AT_ONCE = 20; // of those that are searched for
const LONG = 3000; // characters of a turn, beyond which it is folded
const NAMED_AT_ONCE = 100; // texts of one entry

function drawTranscript() {
	const turns = [...page.turns.values()];
	const idle = turns.filter((turn) => ["rejected", "sent_back"].includes(turn.status)).length;
	return section("transcript", "Transcript", `${plural(turns.length - idle, "turn")}` +
		(idle ? ` and ${plural(idle, "reply that does", "replies that do")} not count` : "") +
		`, in ${plural(page.events.length, "entry", "entries")}`, drawFilters(),
	h("div.read", page.figures && turns.length > 0 && drawRail(), h("div", { id: "entries" })));
}

// The entries that are wanted, from one of them on; on paper all.
function drawEntries(begin) {
	const found = page.paper ? null : wanted(), all = found ?? page.events.map((_, i) => i + 1), rows = [];
	const atOnce = found ? FOUND_AT_ONCE : AT_ONCE;
	const paged = !page.paper && all.length > (found ? atOnce : WHOLE);
	const end = paged ? Math.min(all.length, begin + atOnce) : all.length;
	let round = null, quiet = null;
	for (const n of all.slice(paged ? begin : 0, end)) {
		const event = page.events[n - 1], turn = page.turns.get(event?.seq);
		const row = entry(n, `e${n}`, false);
		if (turn && turn.round !== round) rows.push(h("h3.round", `Round ${round = turn.round}`));
		const kind = !found && EVENTS[event?.type]?.folded;
		if (!kind) quiet = null;
		else if (quiet?.kind !== kind) {
			quiet = { kind, from: n, node: h("details.between", h("summary")) };
			rows.push(quiet.node);
		}
		if (!quiet) {
			rows.push(found ? snippet(n) : null, row);
			continue;
		}
		quiet.node.append(row);
		quiet.node.firstChild.textContent = (quiet.from === n ? `Entry ${n}`
			: `Entries ${quiet.from} to ${n}`) + `: ${quiet.kind}`;
	}
	const pager = () => (!paged ? "" : h("p.controls",
		begin > 0 && button("Earlier", () => drawEntries(Math.max(0, begin - atOnce))),
		`${found ? "Matches" : "Entries"} ${begin + 1} to ${end} of ${all.length}`,
		end < all.length && button("Later", () => drawEntries(end))));
	if (!page.paper) page.from = begin;
	at("entries").replaceChildren(pager(), ...rows.filter(Boolean), pager());
}

function entry(n, id, open) {
	const line = page.result.lines[n - 1], { event } = line, turn = page.turns.get(event?.seq);
	const wrong = page.result.findings.filter((row) => row.seq === n);
	const flags = [...wrong.map((row) => signed("p.signed", "bad", said(alteredInWords(row)))),
		...(page.notes.get(event?.seq) ?? []).map((note) =>
			signed("p.signed", toneOf(note), note.message))];
	const call = turn ? turn.call : event?.type === "call.started" && event.data.call;
	const more = [call && lazily("Prompt as it was sent", () => drawPrompt(call)),
		lazily("Exact entry as hashed", () => exact(line))];
	const kind = wrong.length ? ".altered" : "";
	if (turn) return drawTurn(turn, n, event, kind, { id, tabindex: -1 }, [flags, more]);
	return h(`details.entry${kind}`, { id, open: open ? "" : null },
		h("summary", h("span.n", `#${n}`), event && h("span.n", clock(event)),
			event ? upTo(MOST_SAID, headline(event)) : "This line is no entry of a record"),
		flags, event && namedTexts(event), more);
}

function drawTurn(turn, n, event, kind, attributes, rest) {
	const heard = turn.status === "counted", silent = turn.status === "forfeited";
	const about = [clock(event), turn.latency_ms && `${(turn.latency_ms / 1000).toFixed(1)} s`,
		turn.cost_micro_usd !== null && money(turn.cost_micro_usd)];
	return h(`article.entry.card.${seatTone(turn.seat)}${heard ? "" : ".out"}${kind}`, attributes,
		h("header", h("a.n", { href: `#e${n}` }, `#${n}`), seatName(turn.seat),
			h("a", { href: `#${turn.step}` }, `${spaced(turn.phase)}, round ${turn.round}`),
			h("span.dim", about.filter(Boolean).join(" · ")),
			turn.case?.rating && h("span.dim", `rates itself ${turn.case.rating} of 10`),
			!heard && h("span.pill.warn", silent ? "not heard" : `does not count: ${turn.reason}`),
			turn.vote !== null && pill(turn.vote)),
		silent ? h("p", `No turn counts here: ${turn.reason}.`)
			: shortened(turn.text, attempt(() => reply(turn))), rest);
}

function shortened(text, drawn) {
	const isLong = text?.length > LONG, body = h(`div.body${isLong ? ".long" : ""}`, drawn);
	const more = button("Show all of it", () => {
		body.classList.toggle("long");
		more.textContent = body.matches(".long") ? "Show all of it" : "Show less";
	});
	return [body, h("p", { hidden: isLong ? null : "" }, more)];
}

const copy = (text) => button("Copy", async ({ target }) => {
	const shown = target.previousElementSibling; // the view may be drawn anew meanwhile
	try {
		await navigator.clipboard.writeText(text);
		target.textContent = "Copied";
	} catch {
		getSelection().selectAllChildren(shown);
		target.textContent = "Selected";
	}
});
const exact = ({ hash, raw }, text = toText(raw, false)) =>
	[h("p.key", "SHA-256"), h("pre", hash), h("pre", text), copy(text)];
const quoted = (name, text) =>
	[h("p.key", spaced(name)), h("pre", { dir: "auto" }, text ?? GONE)];

function drawPrompt(call) {
	try {
		return promptOf(page.result, call).map((row) => quoted(row.role, row.text));
	} catch (error) {
		return h("p", error.message);
	}
}

// The texts that an entry names, as they were written, each once under a name: on paper those that
// stand nowhere else, on the screen so many at once.
function namedTexts(event) {
	const named = new Map(Array.from(textsNamed(event.data), ([name, { sha256 }]) => [name + sha256, [name, sha256]]));
	const rows = [...named.values()], draw = (some) => some.map((row) => namedText(event, ...row));
	const more = page.paper ? [] : rows.splice(NAMED_AT_ONCE);
	return [draw(rows), more.length > 0 && lazily(plural(more.length, "more text"), () => draw(more))];
}
// A long text that many entries name is drawn at the first one.
function namedText(event, name, sha256) {
	const text = page.result.texts.get(sha256) ?? null;
	if (!page.paper && text?.length > LONG && firstNaming(sha256) !== event) {
		return lazily(`${capital(spaced(name))}, ${plural(text.length, "character")}`, () => quoted(name, text));
	}
	return !page.paper?.has(sha256) && once(text, () => quoted(name, text));
}
function firstNaming(sha256) {
	page.naming ??= new Map([...page.events].reverse().flatMap((event) =>
		Array.from(event ? namedBlobs(event.data) : [], (name) => [name, event])));
	return page.naming.get(sha256);
}
function* textsNamed(value, name = "") {
	if (name === "original" || (!isObject(value) && !Array.isArray(value))) return;
	if (Object.keys(value).join() === "sha256") return yield [name, value];
	for (const [key, item] of Object.entries(value)) {
		yield* textsNamed(item, Array.isArray(value) ? name : [name, key].filter(Boolean).join(" "));
	}
}

const LEADS = ["thesis", "stance"], ABOVE = [...LEADS, "vote", "challenge_strength"];

function reply(turn) {
	const { text, value, role, case: found } = turn, draws = new Map();
	if (text === null || value === null || typeof value !== "object") return words(text);
	if (found) draws.set(ARGUING[role], (each, n) => argument(each, turn, n));
	if (found && role === "rebuttal") draws.set("concessions", concession);
	const leads = LEADS.filter((key) => typeof value[key] === "string");
	return [leads.map((key) => h("p.lead", said(value[key]))),
		members(Object.entries(value).filter(([key]) => !ABOVE.includes(key)), draws)];
}

const members = (rows, draws = new Map()) => rows.map(([key, value]) =>
	h("div.part", h("p.key", spaced(key)), parts(value, draws.get(key))));

// A value of JSON part by part, the items of a list as `draw` has them. A user's function may say
// more than it was asked for: nothing of that was looked up, whatever its names are.
function parts(value, draw = (item) => parts(item)) {
	if (typeof value === "string") return words(value);
	if (value === null || typeof value !== "object" || value instanceof Number) {
		return h("p", value === true ? "yes" : value === false ? "no" : String(value));
	}
	if (Array.isArray(value)) {
		return value.length ? h("ol", value.map((each, i) => h("li", draw(each, i + 1))))
			: h("p", "none");
	}
	return members(Object.entries(value));
}

const concession = ({ objection, reason, ...more }) =>
	[h("p.key", `Concedes objection ${objection}:`), words(reason), members(Object.entries(more))];

function argument(said, { role, case: found }, place) {
	const own = ["citations", ...(role === "rebuttal" ? ["objection", "answer"] : ["argument"])];
	const struck = found.struck.includes(place);
	const finding = (i) => found.citations.find((row) =>
		row.argument === place && row.citation === i + 1)?.finding ?? "not looked up";
	return [h(struck ? "s" : "div",
		own.includes("objection") && h("p.dim", `On objection ${said.objection}`),
		words(said[own.at(-1)]), members(Object.entries(said).filter(([key]) => !own.includes(key)))),
	struck && signed("p.signed", "warn", "Struck: it rests on a citation that does not hold."),
	h("ul.plain", said.citations.map((cited, i) => h("li", citation(cited, finding(i)))))];
}

function citation(cited, finding) {
	const { quote, document: id, ...more } = cited, holds = finding === "verified";
	const { evidence } = page.figures, source = placeIn(evidence, id);
	return [signed("span.signed", holds ? "good" : "bad", "“", said(quote), "” ",
		source < 0 ? said(id) : h("a", { href: `#d${source + 1}` }, said(id)),
		h("span.dim", onPage(cited, holds), `, ${spaced(finding)}`)),
	members(Object.entries(more)),
	holds && source >= 0 && lazily("In its source", () => inSource(quote, evidence[source].sha256))];
}

// The page of a citation that holds, as it follows its document.
const onPage = (cited, holds) => {
	const place = holds && pageOf(page.result.walk, cited);
	return place ? fill(WORDING.on_page, { page: place }) : "";
};

// The address names an entry, a turn by its step, or a document: open it, and set the replay to it.
function follow() {
	const to = decoded(location.hash.slice(1)), step = /^r[0-9]+\./.test(to);
	const place = /^d[1-9][0-9]{0,3}$/.test(to) && at(to)?.querySelector("details.annexed");
	if (place) place.open = true;
	const n = step ? page.figures?.turns.findLast((turn) => turn.step === to)?.seq
		: Number(/^e([1-9][0-9]{0,8})$/.exec(to)?.[1]);
	if (!(n <= page.events.length) || !at("entries")) return;
	const found = wanted(), all = found ?? page.events;
	if (found && !found.includes(n)) return wantAll(n);
	const atOnce = found ? FOUND_AT_ONCE : AT_ONCE, index = found ? found.indexOf(n) : n - 1;
	const begin = all.length > (found ? atOnce : WHOLE) ? index - index % atOnce : 0;
	if (begin !== page.from) drawEntries(begin);
	const node = at(`e${n}`);
	for (let each = node; each; each = each.parentElement.closest("details")) each.open = true;
	node.lastElementChild.open = true;
	node.querySelector(".long")?.classList.remove("long");
	if (page.figures) go(n);
	node.scrollIntoView();
	(node.matches("details") ? node.firstChild : node).focus({ preventScroll: true });
}

function decoded(fragment) {
	try {
		return decodeURIComponent(fragment);
	} catch {
		return "";
	}
}
