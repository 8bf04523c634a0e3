"use strict";
// Runs the page's figures under Node: one JSON document a line in, one a line out.
// in:  {events, texts: [[name, text]], at: how many entries, each time}
// out: {found: figures at each of these, with the words of a gate, the sentence that leads, and
//   whether to act by the state of a review and by whether the signer is known, ms: how long they
//   took}; a Map is {map: [[key, value]]}
const fs = require("node:fs");
const readline = require("node:readline");
const vm = require("node:vm");

const [, , script] = process.argv; // of the page
vm.runInThisContext(fs.readFileSync(script, "utf8"), { filename: script });
const STATES = ["disagreement", "remanded", "rejected", "approved", "partly", "not required", "overdue", "waiting"];
const said = (say) => { // an altered record need not have a sentence
  try {
    return say();
  } catch {
    return null;
  }
};
const acting = (figures, state, verdict) => {
  const review = { state, released: true, reviews: [], exceptions: ["escalated"], wanted: 2, open: [] };
  const { head, why } = actingOn(figures, { walk: { review }, texts: new Map() }, verdict);
  return `${head}: ${why}`;
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
      if (figures) {
        figures.sentence = said(() => leadOf(figures).join(": "));
        figures.acting = ["intact", "consistent"].map((verdict) =>
          STATES.map((state) => said(() => acting(figures, state, verdict))));
      }
      return figures;
    });
    process.stdout.write(`${JSON.stringify({ found, ms }, plain)}\n`);
  }
})();
