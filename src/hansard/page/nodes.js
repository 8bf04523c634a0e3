"use strict";
// What a page is built of: HTML and SVG elements, words of a record, signs, tables. What a record
// says goes in as text nodes, and what could not be seen as its code point.

// h("p.dim", { id: "x" }, "text", node, [more], null); s does the same for SVG.
const builder = (space) => (spec, ...children) => {
	const [name, ...classes] = spec.split(".");
	const node = document.createElementNS(space, name);
	if (classes.length) node.setAttribute("class", classes.join(" "));
	return put(node, children);
};
const h = builder("http://www.w3.org/1999/xhtml"), s = builder("http://www.w3.org/2000/svg");

function put(node, child) {
	if (Array.isArray(child)) for (const each of child) put(node, each);
	else if (child instanceof Node) node.append(child);
	else if (typeof child === "string" || typeof child === "number") write(node, String(child));
	else if (child) for (const key in child) set(node, key, child[key]);
	return node;
}

function set(node, key, value) {
	if (typeof value === "function") node.addEventListener(key, value);
	else if (value !== null) node.setAttribute(key, value);
}

const MOST_BOXES = 1000; // in one text; one that has more is spelled out without boxes
const MOST_DRAWN = 2 ** 21, MOST_SAID = 20000; // characters of a text, of one within a line
const upTo = (most, text) => (typeof text !== "string" || text.length <= most ? text
	: `${text.slice(0, most)}… (${number(text.length)} characters, in full in the record that you can save)`);

function write(node, whole) {
	const text = upTo(MOST_DRAWN, whole);
	const unseen = [...text.matchAll(UNSEEN)];
	const boxes = sum(unseen.map(([run]) => run.length));
	if (boxes > MOST_BOXES || node instanceof SVGElement) return node.append(inert(text));
	let from = 0;
	for (const { 0: run, index } of unseen) {
		const drawn = Array.from(run, (char) => h("span.code", codePoint(char).slice(1, -1)));
		node.append(text.slice(from, index), ...drawn);
		from = index + run.length;
	}
	node.append(text.slice(from));
}

const said = (text) => (text === null ? h("em", GONE)
	: h("bdi", upTo(MOST_SAID, text ?? "")));
// What a provider says of itself stands in full at its entry.
const brief = (text) => said(oneLine(upTo(MOST_SAID, text ?? "not stated"), 300));
const words = (text) => h("p.said", { dir: "auto" }, text ?? h("em", GONE));
// What somebody wrote, on a ground of its own: it may look like a finding of this page.
const apart = (...inside) => h("div.reading", inside);
const ref = (n) => h("a", { href: `#e${n}` }, `#${n}`);
const button = (label, click, id = null) => h("button", { type: "button", click, id }, label);
const SIGNS = {
	good: "M5 9.5l3 3 5.5-6.5", bad: "M6 6l6 6M12 6l-6 6", warn: "M9 4.5v5.5M9 13v.6",
	info: "M9 5v.6M9 8v5.5",
};
const sign = (tone) => s(`svg.sign.${tone}`, { viewBox: "0 0 18 18", "aria-hidden": "true" },
	s("circle", { cx: 9, cy: 9, r: 9 }), s("path", { d: SIGNS[tone] }));
const signed = (kind, tone, ...text) => h(`${kind}.${tone}`, sign(tone), h("span", text));
const section = (id, title, note, ...children) =>
	h("section", { id, "aria-labelledby": `${id}-title` },
		h("div.title", h("h2", { id: `${id}-title` }, title), h("p.dim", note)), children);
// What opens: `fill` gives what is in it once somebody opens it. On paper, what is in those of the
// kind `annexed` stands in an annex (paper.js).
const lazily = (title, fill, kind = "extra") => {
	const node = h(`details.${kind}`, { toggle: () => unfold(node) }, h("summary", title));
	node.fill = fill;
	return node;
};
function unfold(node) {
	if (node.fill && node.open) put(node, node.fill());
	if (node.open) node.fill = null;
}
// Printing opens this one where it stands.
const behind = (title, ...inside) => h("details.printed", h("summary", title), inside);
// A wide one scrolls by itself, also by keyboard.
const table = (kind, caption, head, rows) => h("div.scroll",
	{ tabindex: 0, role: "group", "aria-label": caption }, h(`table.${kind}`, h("caption", caption),
	h("thead", h("tr", head.map((name) => h("th", { scope: "col" }, name)))),
	h("tbody", rows.map(([first, ...cells]) =>
		h("tr", h("th", { scope: "row" }, first), cells.map((cell) => h("td", cell)))))));
