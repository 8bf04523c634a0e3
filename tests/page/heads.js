"use strict";
// Runs the page's scripts under Node as far as its first screen, without a browser.
// in:  the paths of its scripts, and a line {events, texts: [[name, text]], review} for each record
// out: {acting, alerts, lead}: the sentence that leads, whether to act, and what else a reader is
//   told of at once
const fs = require("node:fs");
const readline = require("node:readline");
const vm = require("node:vm");

class Node { // no more of a document than what the scripts build with
	constructor() { this.parts = []; }
	append(...parts) { this.parts.push(...parts); }
	setAttribute() {}
	get text() { return this.parts.map((part) => part.text ?? part).join(""); }
}
class SVGElement extends Node {}
Object.assign(globalThis, { Node, SVGElement, page: null, asFound: (title) => title });
globalThis.document = { createElementNS: (space) => new (space.endsWith("svg") ? SVGElement : Node)() };

for (const script of process.argv.slice(2)) {
	vm.runInThisContext(fs.readFileSync(script, "utf8"), { filename: script });
}
const flat = (parts) => parts.flat(9).filter(Boolean).map((part) => part.text ?? part).join("");

(async () => {
	for await (const line of readline.createInterface({ input: process.stdin })) {
		const { events, texts: rows, review } = JSON.parse(line), texts = new Map(rows);
		const f = figuresOf(events, texts);
		globalThis.page = { figures: f, result: { caveats: [], checks: [], texts, walk: { review } } };
		const found = {
			alerts: [plainWords(f), exceptions().map((row) => row.text)].flat().map((text) => flat([text])),
			lead: drawLead(f, "intact").text, acting: drawActing(f, "intact").text,
		};
		process.stdout.write(`${JSON.stringify(found)}\n`);
	}
})();
