"use strict";
// Runs the page's search for a quote under Node: {part, text} a line in, where it begins a line out.
const fs = require("node:fs");
const readline = require("node:readline");
const vm = require("node:vm");

const [, , script] = process.argv; // of the page
vm.runInThisContext(fs.readFileSync(script, "utf8"), { filename: script });

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { part, text } = JSON.parse(line);
  process.stdout.write(`${whereIn(part, text)}\n`);
});
