"use strict";
// Compares texts as the page does under Node: a list of texts a line in; out a line, how many words
// each pair of them has in common, in millionths.
const fs = require("node:fs");
const readline = require("node:readline");
const vm = require("node:vm");

const [, , script] = process.argv; // of the page
vm.runInThisContext(fs.readFileSync(script, "utf8"), { filename: script });

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const lists = JSON.parse(line).map((text) => listOf(wordsOf(compared(text))));
  const found = pairsOf(lists).map(([one, other]) => likeness(one, other));
  process.stdout.write(`${JSON.stringify(found)}\n`);
});
