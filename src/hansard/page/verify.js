"use strict";
// Checks each entry of a record and each text that it names, and says what was found of the whole.

const LARGEST = Number.MAX_SAFE_INTEGER; // of an entry or a reply (§1, §5)
const DEEPEST = 32; // nested containers
const LONGEST_LINE = 1048576; // bytes
const MOST_REJECTED = 1000; // entries that fail 4 or 7 and are listed

// ---- 4 canonical (§1)

const ID = /^[A-Za-z0-9._:/@+=-]{1,256}$/;

// A value in the one spelling; its keys are ASCII, and its strings need no escape.
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort().map((key) => `"${key}":${canonical(value[key])}`);
  return `{${members.join(",")}}`;
}

function inProfile(value, depth = 1) {
  if (typeof value === "string") return ID.test(value);
  if (typeof value === "number") return Number.isSafeInteger(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth > DEEPEST) return false;
  if (Array.isArray(value)) return value.every((item) => inProfile(item, depth + 1));
  return Object.entries(value).every(([key, item]) =>
    /^[a-z][a-z0-9_]*$/.test(key) && inProfile(item, depth + 1));
}

// The defect of one entry, if any, and its value.
function readLine(bytes) {
  if (bytes.length > LONGEST_LINE) return ["4.size", null];
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) { // before parsing, and wherever they stand (§10)
    const byte = bytes[at];
    if (byte === 0x5b || byte === 0x7b) depth++;
    else if (byte === 0x5d || byte === 0x7d) depth--;
    if (depth > DEEPEST) return ["4.profile", null];
  }
  let text, value;
  try {
    text = toText(bytes);
    value = JSON.parse(text);
  } catch {
    return ["4.json", null];
  }
  if (!inProfile(value)) return ["4.profile", null];
  return canonical(value) === text ? [null, value] : ["4.bytes", null];
}

// Every entry, and as events those before the first one that is rejected (4 and 7).
function readLines(bytes) {
  const lines = [], events = [], findings = [];
  if (!bytes || (bytes.length && bytes[bytes.length - 1] !== 10)) {
    throw new Error("The record has no events.jsonl, or its last entry is cut off.");
  }
  for (let start = 0; start < bytes.length;) {
    const stop = bytes.indexOf(10, start), raw = bytes.subarray(start, stop);
    let [defect, event] = readLine(raw);
    if (!defect && !isEvent(event)) [defect, event] = ["7.schema", null];
    lines.push({ raw: toText(raw, false), hash: sha256(raw), event });
    if (defect && findings.length < MOST_REJECTED) {
      findings.push(finding(defect, lines.length));
    }
    if (!findings.length) events.push(event);
    start = stop + 1;
  }
  return { lines, events, findings };
}

// ---- 5 chain, 6 time (§1)

const FIRST = "0".repeat(64); // what the first entry is linked to

// A broken link is reported at the entry before, which no longer has the hash that was recorded.
function checkChain({ lines, events }) {
  if (!lines.length) return [finding("5.empty", 0)];
  const findings = [];
  let before = FIRST, latest = "";
  events.forEach((event, index) => {
    const place = index + 1, { prev, seq, debate, at } = event;
    const add = (...row) => findings.push(finding(...row));
    if (prev !== before && place === 1) add("5.prev", 0, FIRST, prev, { variant: "first" });
    else if (prev !== before) add("5.prev", place - 1, prev, before);
    if (seq !== place) add("5.seq", place, place, seq);
    if (debate !== events[0].debate) add("5.debate", place, events[0].debate, debate);
    if (at < latest) add("6.order", place, latest, at);
    before = lines[index].hash;
    if (at > latest) latest = at;
  });
  return findings;
}

// ---- 8 blobs (§2)

function* namedBlobs(value) {
  if (!isObject(value) && !Array.isArray(value)) return;
  if (Object.keys(value).join() === "sha256") yield value.sha256;
  else for (const item of Object.values(value)) yield* namedBlobs(item);
}

// The code of the defect of one blob, if any, its salt and its text.
function readBlob(name, bytes) {
  const header = toText(bytes.subarray(0, 81), false);
  const [, salt] = /^hansard-blob\/v1 ([0-9a-f]{64})\n$/.exec(header) ?? [];
  if (sha256(bytes) !== name) return { defect: "8.hash" };
  if (!salt) return { defect: "8.header" };
  try {
    return { salt, text: toText(bytes.subarray(81)) };
  } catch {
    return { salt, defect: "8.text" };
  }
}

function checkBlobs(read, blobs, withheld) {
  const findings = [], texts = new Map(), salts = new Set(), places = new Map();
  read.events.forEach((event, index) => {
    for (const name of namedBlobs(event.data)) {
      if (!places.has(name)) places.set(name, index + 1); // of the first entry that names it
    }
  });
  for (const [name, place] of places) {
    const keptBack = withheld.has(`blobs/${name}`), bytes = blobs.get(name);
    if (!bytes) {
      if (!keptBack) findings.push(finding("8.missing", place, name));
      continue;
    }
    const { salt, text, defect } = readBlob(name, bytes);
    const code = defect ?? (salts.has(salt) ? "8.salt" : null);
    if (code === "8.hash") findings.push(finding(code, place, name, sha256(bytes)));
    else if (code) findings.push(finding(code, place, null, name));
    else if (!keptBack) texts.set(name, text);
    if (salt) salts.add(salt);
  }
  if (!read.findings.length) {
    const unnamed = [...blobs.keys()].filter((name) => !places.has(name)).sort();
    for (const name of unnamed) findings.push(finding("8.unnamed", 0, null, name));
  }
  return { findings, texts, named: places.size };
}

// ---- 10 templates (§10, §15)

function checkTemplates(opening, templates, policies) {
  const findings = [], named = new Map(), { policy } = opening; // under the first name of each hash
  for (const row of [...opening.templates, ...opening.schemas, ...opening.tools]) {
    if (!named.has(row.sha256)) named.set(row.sha256, row.role ?? row.tool);
  }
  for (const [hash, name] of named) {
    const bytes = templates.get(hash), found = bytes && sha256(bytes);
    if (!bytes) findings.push(finding("10.missing", 1, hash, null, { name }));
    else if (found !== hash) findings.push(finding("10.hash", 1, hash, found, { name }));
  }
  const unnamed = [...[...templates.keys()].filter((name) => !named.has(name)),
    ...[...policies.keys()].filter((name) => name !== policy)].sort();
  for (const name of unnamed) findings.push(finding("10.unnamed", 0, null, name));
  if (policy !== null && !readPolicy(policy, policies)) {
    findings.push(finding("10.policy", 1, policy));
  }
  return findings;
}

// A policy: its note, and the approved template of each `<format>.<role>`; null where it is none.
function readPolicy(name, policies) {
  const bytes = policies.get(name) ?? new Uint8Array(), note = readNote(bytes);
  if (!note || sha256(bytes) !== name) return null;
  const [first, ...lines] = toText(note.text, false).split("\n").slice(0, -1);
  const found = lines.map((line) =>
    /^([a-z][a-z0-9_]*\.[a-z][a-z0-9_]*) ([0-9a-f]{64})$/.exec(line));
  const approved = new Map(found.filter(Boolean).map(([, key, hash]) => [key, hash]));
  const sorted = [...lines].sort().every((line, index) => line === lines[index]);
  const sound = first === "hansard-policy/v1" && sorted && approved.size === lines.length;
  return sound ? { note, approved } : null;
}

// ---- the result (§10, §16)

async function verifyFiles(files, trust) {
  const sums = files.get("SHA256SUMS"), note = sums ? readNote(sums) : null;
  const { findings, listed, withheld } = checkManifest(files, note);
  const read = readLines(files.get("events.jsonl")), { lines, events } = read;
  const opened = events[0]?.type === "debate.opened" ? events[0].data : null;
  const policies = folder(files, "policies"), templates = folder(files, "templates");
  const policy = opened?.policy ? readPolicy(opened.policy, policies) : null;
  const notes = [["manifest", "export", note]];
  if (opened?.policy) notes.push(["policy", "approval", policy?.note]);
  const signatures = await checkSignatures(notes, trust, opened ? events[0].at : null);
  const blobs = checkBlobs(read, folder(files, "blobs"), withheld);
  findings.push(...signatures.findings, ...read.findings, ...checkChain(read), ...blobs.findings);
  const walk = new Walk(blobs.texts, policy?.approved ?? null);
  if (!read.findings.length && events.length) {
    walk.walk(events);
    findings.push(...walk.findings);
    if (opened) findings.push(...checkTemplates(opened, templates, policies));
  }
  const later = (a, b) => Number(a.code > b.code) - Number(a.code < b.code);
  findings.sort((a, b) => a.seq - b.seq || checkOf(a) - checkOf(b) || later(a, b));
  const { signed } = signatures, signers = signatures.evidence.join("; ");
  const evidence = evidenceOf(read, walk), unchecked = uncheckedOf(read, walk);
  evidence.set(2, passed(2, { files: many(listed, "file"), withheld: withheld.size },
    withheld.size ? "withheld" : "text"));
  evidence.set(3, passed(3, { signers }));
  evidence.set(8, passed(8, { present: blobs.texts.size, named: many(blobs.named, "text") }));
  if (!signed) unchecked.set(3, signers);
  const level = findings.length ? null : Number(signed);
  return {
    debate: events[0]?.debate ?? null, entries: lines.length, open: !walk.closed, level,
    verdict: WORDING.verdicts[level ?? "none"], unchecked: uncheckedTurns(walk),
    checks: judge(findings, evidence, unchecked), findings, lines, texts: blobs.texts,
    templates: new Map([...templates].map(([name, bytes]) => [name, toText(bytes, false)])),
    signers: signatures.signers, ed25519: signatures.able, walk,
  };
}

// What a check looked at, in the words of the vocabulary.
const passed = (check, values = {}, variant = "text") => {
  const { passed: sentences } = VOCABULARY.checks[check];
  return fill(typeof sentences === "string" ? sentences : sentences[variant], values);
};

// What each check but 2, 3 and 8 looked at.
function evidenceOf({ lines, events }, walk) {
  const read = { read: events.length, entries: many(lines.length, "entry") };
  const evidence = new Map([4, 5, 7].map((check) => [check, passed(check, read)]));
  const times = events.length
    ? passed(6, { first: events[0].at, last: events[events.length - 1].at })
    : passed(6, {}, "empty");
  evidence.set(6, times);
  return walk.ended ? new Map([...evidence, ...evidenceOfWalk(walk)]) : evidence;
}

// Which checks rest on what is gone or was not reached, and why.
function uncheckedOf({ lines }, walk) {
  const { stopped, replies, documents } = WORDING.unchecked, unchecked = new Map();
  const leave = (concerns, why) => {
    for (const [number, check] of Object.entries(VOCABULARY.checks)) {
      if (concerns(check)) unchecked.set(Number(number), why);
    }
  };
  const restsOn = (what) => (check) => check.rests_on?.includes(what);
  const gone = many(walk.goneReplies, "reply"), entries = many(lines.length, "entry");
  if (!walk.ended) {
    leave(restsOn("walk"), fill(stopped, { walked: walk.followed, entries }));
  } else if (walk.goneReplies) leave(restsOn("replies"), fill(replies, { gone }));
  else if (walk.goneDocuments) leave(restsOn("documents"), documents);
  return unchecked;
}

const uncheckedTurns = ({ goneTurns: gone, turns }) =>
  gone ? fill(WORDING.unchecked.turns, { gone, turns: many(turns.length, "turn") }) : "";

// Each check's status: what has findings fails, whatever else it is.
function judge(findings, evidence, unchecked) {
  return Object.entries(VOCABULARY.checks).map(([key, { name }]) => {
    const number = Number(key), told = findings.filter((row) => checkOf(row) === number);
    const status = told.length ? "fail" : unchecked.has(number) ? "unchecked" : "pass";
    const text = told.length ? where(told) : unchecked.get(number) ?? evidence.get(number);
    return { number, name, status, evidence: text };
  }).slice(1); // a page sees no container
}

// What a check found first, where, and how many more findings it has.
function where([{ seq, message }, ...more]) {
  const places = [...(seq ? [`entry ${seq}`] : []),
    ...(more.length ? [`${more.length} more`] : [])];
  return places.length ? `${message} (${places.join("; ")})` : message;
}
