"use strict";
// A document's text, its Markdown built of nodes: no HTML, no link.
// Work is bounded: what is too long or too deep stands as plain text.

const MOST_NODES = 20000, MOST_PIECES = 500, LONGEST_STRUCTURED = 2000, DEEPEST_QUOTE = 3;
const MOST_COLUMNS = 16; // of a table on paper, which does not scroll
let room = 0; // nodes that may still be made of the document at hand
const FENCE = /^ {0,3}(```+|~~~+)/, HEADING = /^ {0,3}(#{1,6}) +(.*)$/, QUOTE = /^ {0,3}> ?/;
const CLOSING = /(?<! ) +#+ *$/; // of a heading
const RULE = /^ {0,3}(?:(?:- ?){3,}|(?:\* ?){3,}|(?:_ ?){3,})$/;
const ITEM = /^( *)(?:[-*+]|(\d{1,9})[.)]) +(.*)$/, COLUMNS = /^ *(?:\| *)?(?::?-+:? *\| *)+(?::?-+:? *)?$/;
const EMPHASIS = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|(?<![\w])_([^_\n]+)_(?![\w])/g;

// A line's text with its code and emphasis.
function inline(text) {
	const found = [...text.matchAll(EMPHASIS)];
	if (found.length > Math.min(room, MOST_PIECES)) return [text];
	room -= found.length;
	const pieces = [];
	let from = 0;
	for (const { 0: whole, 1: code, 2: strong, 3: weak, 4: other, index } of found) {
		pieces.push(text.slice(from, index), code !== undefined ? h("code", code)
			: strong !== undefined ? h("b", strong) : h("em", weak ?? other));
		from = index + whole.length;
	}
	return [...pieces, text.slice(from)];
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
const isStructured = (line) => line.length <= LONGEST_STRUCTURED;

// A document's text with its structure, page by page where its file has pages.
function typesetAll(text, source) {
	room = MOST_NODES;
	if (!source?.pages) return typeset(text);
	const pages = text.split("\f"), nodes = [];
	let at = 0;
	for (; at < pages.length && room > 0; room -= 1) {
		nodes.push(h("p.dim", `Page ${at + 1}`), typeset(pages[at]));
		at += 1;
	}
	if (at < pages.length) nodes.push(h("p.said", { dir: "auto" }, pages.slice(at).join("\n")));
	return nodes;
}

// The blocks of some lines, and where to go on: each reader returns its node and the next line.
function typeset(text, depth = 0) {
	const lines = text.split(/\r?\n/), nodes = [];
	let at = 0, level = 3;
	for (; at < lines.length && room > 0; room -= 1) {
		const line = lines[at], [, marks, title] = (isStructured(line) && HEADING.exec(line)) || [];
		if (!line.trim()) [at, room] = [at + 1, room + 1]; // makes no node
		else if (marks) {
			level = Math.min(level + 1, 3 + marks.length, 6); // none is left out on the way down
			nodes.push(h(`h${level}`, inline(title.replace(CLOSING, ""))));
			at += 1;
		} else {
			const [node, next] = blockAt(lines, at, depth);
			nodes.push(node);
			at = next;
		}
	}
	if (at < lines.length) nodes.push(h("p.said", { dir: "auto" }, lines.slice(at).join("\n")));
	return nodes;
}

function blockAt(lines, at, depth) {
	const line = lines[at];
	const [, fence] = FENCE.exec(line.slice(0, 200)) ?? [];
	if (fence) {
		let end = at + 1;
		while (end < lines.length && !lines[end].trim().startsWith(fence)) end += 1;
		return [h("pre", { dir: "auto" }, lines.slice(at + 1, end).join("\n")), end + 1];
	}
	if (isStructured(line)) {
		if (RULE.test(line)) return [h("hr"), at + 1];
		const next = lines[at + 1] ?? "";
		if (line.includes("|") && isStructured(next) && COLUMNS.test(next)) return tableAt(lines, at);
		if (QUOTE.test(line) && depth < DEEPEST_QUOTE) {
			const end = until(lines, at, (each) => QUOTE.test(each));
			const inner = lines.slice(at, end).map((each) => each.replace(QUOTE, "")).join("\n");
			return [h("blockquote", typeset(inner, depth + 1)), end];
		}
		if (ITEM.test(line)) return listAt(lines, at);
	}
	const end = until(lines, at, (each, place) => each.trim() && (place === at || !starts(each)));
	return [h("p.said", { dir: "auto" }, inline(joined(lines.slice(at, end)))), end];
}

// Lines that were broken because they were long go on; short ones end where they end.
const joined = (lines) => lines.map((line, i) => (i + 1 === lines.length ? line
	: line + (line.length < 60 || line.endsWith("  ") ? "\n" : " "))).join("");
function until(lines, at, holds) {
	let end = at;
	while (end < lines.length && holds(lines[end], end)) end += 1;
	return Math.max(end, at + 1);
}
const starts = (line) => isStructured(line) &&
	[FENCE, HEADING, QUOTE, ITEM, RULE].some((pattern) => pattern.test(line));

function tableAt(lines, at) {
	const rows = [];
	let stop = at + 2;
	for (; room > 0 && lines[stop]?.includes("|") && isStructured(lines[stop]); stop += 1) {
		rows.push(cells(lines[stop]));
		room -= rows.at(-1).length + 1;
	}
	const head = cells(lines[at]), columns = Math.max(...[head, ...rows].map((row) => row.length));
	if (page.paper && columns > MOST_COLUMNS) {
		return [h("p.said", { dir: "auto" }, lines.slice(at, stop).join("\n")), stop];
	}
	return [h("div.scroll", { tabindex: 0, role: "group", "aria-label": "Table of the document" },
		h("table.plain",
			h("thead", h("tr", head.map((cell) => h(cell ? "th" : "td", inline(cell))))),
			h("tbody", rows.map((row) => h("tr", row.map((cell) => h("td", inline(cell)))))))),
	stop];
}

// A list, with lists in its items by how far they are indented.
function listAt(lines, at) {
	const open = []; // [indent, list]: from the outermost on
	let end = at, item = null, root = null;
	for (; end < lines.length && room > 0; end += 1, room -= 1) {
		const line = lines[end], [, indent, count, text] = (isStructured(line) && ITEM.exec(line)) || [];
		if (text === undefined) {
			if (!line.trim() || (!/^ {2}/.test(line) && starts(line))) break;
			put(item, ["\n", inline(line.trim())]); // the item goes on
			continue;
		}
		while (open.length > 1 && indent.length < open.at(-1)[0]) open.pop();
		if (!open.length || (indent.length > open.at(-1)[0] + 1 && open.length < 6)) {
			const node = h(count ? "ol" : "ul", { start: count && count !== "1" ? Number(count) : null });
			if (item) item.append(node);
			else root = node;
			open.push([indent.length, node]);
		}
		const [, list] = open.at(-1);
		item = h("li", { dir: "auto" }, inline(text));
		list.append(item);
		if (list.start + list.children.length > 100) list.className = "far";
	}
	return [root, end];
}
