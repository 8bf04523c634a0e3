"use strict";
// Says under Node what the page says of findings.
// in:  the paths of the page's scripts, and a finding a line
// out: a sentence a line
const fs = require("node:fs");
const readline = require("node:readline");
const vm = require("node:vm");

for (const script of process.argv.slice(2)) {
	vm.runInThisContext(fs.readFileSync(script, "utf8"), { filename: script });
}

(async () => {
	for await (const line of readline.createInterface({ input: process.stdin })) {
		process.stdout.write(`${JSON.stringify(alteredInWords(JSON.parse(line)))}\n`);
	}
})();
