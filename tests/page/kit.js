"use strict";
// Runs the page's scripts under Node: one JSON document a line in, one a line out.
// in:  {export: a zip's or folder's path, trust: a trust file's path or null, prompts: boolean}
// out: what verifyFiles found; with `prompts` also every prompt as it was sent, by call
const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const vm = require("node:vm");

const [, , script] = process.argv; // of the page
vm.runInThisContext(fs.readFileSync(script, "utf8"), { filename: script });

function readFolder(top) {
  const names = fs.readdirSync(top, { recursive: true, withFileTypes: true });
  return new Map(
    names
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name))
      .map((file) => [path.relative(top, file), new Uint8Array(fs.readFileSync(file))]),
  );
}

function readExport(place) {
  const isFolder = fs.statSync(place).isDirectory();
  return isFolder ? readFolder(place) : readZip(new Uint8Array(fs.readFileSync(place)));
}

function readTrust(place) {
  const given = place ? JSON.parse(fs.readFileSync(place, "utf8")) : { keys: [] };
  const keys = given.keys.map(({ key, ...row }) => ({ ...row, ...usable(key, row.role) }));
  return [keys, given.policies, given.witnesses];
}

function usable(text, role) {
  const key = readKey(text, role === "witness" ? 4 : 1);
  if (!key) throw new Error("a key that cannot be used");
  return key;
}

function promptsOf(result) {
  const events = result.lines.map((line) => line.event);
  const calls = events.filter((event) => event.type === "call.started").map((row) => row.data.call);
  return Object.fromEntries(calls.map((call) => {
    try {
      return [call, promptOf(result, call)];
    } catch (error) {
      return [call, error.message];
    }
  }));
}

function acting({ lines, texts, verdict, walk }) {
  const events = lines.map((line) => line.event), known = verdict === "INTACT" ? "intact" : "consistent";
  if (verdict === "ALTERED" || events[0].type !== "debate.opened") return null;
  const { head, why } = actingOn(figuresOf(events, texts), { walk, texts }, known);
  return `${head}: ${why}`;
}

async function answer(asked) {
  const result = await verifyFiles(readExport(asked.export), ...readTrust(asked.trust));
  const { debate, entries, open, level, verdict, caveats, checks, findings, place } = result;
  const texts = result.counted;
  const prompts = asked.prompts ? promptsOf(result) : undefined;
  const review = {
    says: reviewInWords(result), conditions: conditionsInWords(result), acting: acting(result),
    erased: erasedInWords(result).map(({ text }) => text),
  };
  return {
    debate, entries, open, level, verdict, caveats, texts, checks, findings, place, prompts, review,
  };
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const said = await answer(JSON.parse(line)).catch((error) => ({ error: error.stack }));
    process.stdout.write(JSON.stringify(said) + "\n");
  }
})();
