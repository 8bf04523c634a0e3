"use strict";
// Runs the page's spelling of unseen letters under Node: a text a line in, as it is shown a line out.
const fs = require("node:fs");
const readline = require("node:readline");
const vm = require("node:vm");

const [, , script] = process.argv; // of the page
vm.runInThisContext(fs.readFileSync(script, "utf8"), { filename: script });

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(`${JSON.stringify(inert(JSON.parse(line)))}\n`);
});
