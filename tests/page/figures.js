"use strict";
// Runs the page's figures under Node: one JSON document a line in, one a line out.
// in:  {events, texts: [[name, text]], at: how many entries, each time}
// out: {found: figures at each of these, with the words of a gate, and the sentence that leads by the state of its review, ms: how long they took}; a Map is {map: [[key, value]]}
const fs = require("node:fs");
const readline = require("node:readline");
const vm = require("node:vm");

const [, , script] = process.argv; // of the page
vm.runInThisContext(fs.readFileSync(script, "utf8"), { filename: script });
const STATES = ["not required", ...Object.keys(VOCABULARY.words.lead_reviews)];
const said = (figures, state) => { // an altered record need not have one
  try {
    return sentenceOf(leadOf(figures, state));
  } catch {
    return null;
  }
};
const plain = (key, value) => (value instanceof Map ? { map: [...value] } : value);

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { events, texts, at } = JSON.parse(line);
    const named = new Map(texts);
    const ms = [];
    const found = at.map((length) => {
      const began = performance.now(), figures = figuresOf(events.slice(0, length), named);
      ms.push(performance.now() - began);
      if (figures?.gate) figures.gate_rows = gateRows(figures.gate);
      if (figures) figures.sentences = STATES.map((state) => said(figures, state));
      return figures;
    });
    process.stdout.write(`${JSON.stringify({ found, ms }, plain)}\n`);
  }
})();
