"use strict";
// Checks each line of a record and each text that it names, and says what was found of the whole.

const CHECKS = Object.values(VOCABULARY.checks).map((row) => row.name);
const LARGEST = Number.MAX_SAFE_INTEGER; // of a line or a reply (§1, §5)
const DEEPEST = 32; // nested containers
const LONGEST_LINE = 1048576; // bytes
const MOST_REJECTED = 1000; // lines that fail 4 or 7 and are listed

// ---- 4 canonical (§1)

const ID = /^[A-Za-z0-9._:/@+=-]{1,256}$/;
const DEFECTS = {
  "4.size": "the line is longer than 1,048,576 bytes",
  "4.json": "the line is not JSON in UTF-8",
  "4.profile": "the line holds what is outside the profile",
  "4.bytes": "the line is not spelled canonically",
  "7.schema": "the line is no event of a known type and form",
};

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

// The defect of one line, if any, and its value.
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

// Every line, and as events those before the first one that is rejected (4 and 7).
function readLines(bytes) {
  const lines = [], events = [], findings = [];
  if (!bytes || (bytes.length && bytes[bytes.length - 1] !== 10)) {
    throw new Error("the record has no events.jsonl, or its last line is cut off");
  }
  for (let start = 0; start < bytes.length;) {
    const stop = bytes.indexOf(10, start), raw = bytes.subarray(start, stop);
    let [defect, event] = readLine(raw);
    if (!defect && !isEvent(event)) [defect, event] = ["7.schema", null];
    lines.push({ raw: toText(raw, false), hash: sha256(raw), event });
    if (defect && findings.length < MOST_REJECTED) {
      findings.push(finding(defect, lines.length, DEFECTS[defect]));
    }
    if (!findings.length) events.push(event);
    start = stop + 1;
  }
  return { lines, events, findings };
}

// ---- 5 chain, 6 time (§1)

function checkChain({ lines, events }) {
  if (!lines.length) return [finding("5.empty", 0, "there are no lines")];
  const findings = [];
  let before = "0".repeat(64), latest = "";
  events.forEach((event, index) => {
    const place = index + 1, { prev, seq, debate, at } = event;
    const add = (...row) => findings.push(finding(...row));
    const other = "the next line names another hash as the one before it";
    if (prev !== before) add("5.prev", place - 1, other, before, prev);
    if (seq !== place) add("5.seq", place, "the line's number is not its place", place, seq);
    if (debate !== events[0].debate) {
      add("5.debate", place, "the line is of another debate", events[0].debate, debate);
    }
    if (at < latest) add("6.order", place, "earlier than a line before it", latest, at);
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

// The defect of one blob, if any, its salt and its text.
function readBlob(name, bytes) {
  const header = toText(bytes.subarray(0, 81), false);
  const [, salt] = /^hansard-blob\/v1 ([0-9a-f]{64})\n$/.exec(header) ?? [];
  if (sha256(bytes) !== name) return { defect: ["8.hash", "a text is not what its name says"] };
  if (!salt) {
    return { defect: ["8.header", "a text does not begin with the header of a blob"] };
  }
  try {
    return { salt, text: toText(bytes.subarray(81)) };
  } catch {
    return { salt, defect: ["8.text", "a text is not UTF-8"] };
  }
}

function checkBlobs(read, blobs, withheld) {
  const findings = [], texts = new Map(), salts = new Set(), places = new Map();
  read.events.forEach((event, index) => {
    for (const name of namedBlobs(event.data)) {
      if (!places.has(name)) places.set(name, index + 1); // of the first line that names it
    }
  });
  for (const [name, place] of places) {
    const keptBack = withheld.has(`blobs/${name}`);
    if (!blobs.has(name)) {
      if (!keptBack) findings.push(finding("8.missing", place, "a text is missing", name));
      continue;
    }
    const { salt, text, defect } = readBlob(name, blobs.get(name));
    const twice = salts.has(salt) ? ["8.salt", "the salt of a text is used twice"] : null;
    const [code, message] = defect ?? twice ?? [];
    if (code) findings.push(finding(code, place, message, name));
    else if (!keptBack) texts.set(name, text);
    if (salt) salts.add(salt);
  }
  if (!read.findings.length) {
    const unnamed = [...blobs.keys()].filter((name) => !places.has(name)).sort();
    for (const name of unnamed) {
      findings.push(finding("8.unnamed", 0, "no line names a text", null, name));
    }
  }
  return { findings, texts, named: places.size };
}

// ---- 10 templates (§10, §15)

function checkTemplates(opening, templates, policies) {
  const findings = [];
  const lists = [...opening.templates, ...opening.schemas, ...opening.tools];
  const named = new Set(lists.map((row) => row.sha256));
  for (const name of named) {
    const bytes = templates.get(name), found = bytes && sha256(bytes);
    const what = "a template, schema or tool is";
    if (!bytes) findings.push(finding("10.missing", 1, `${what} missing`, name));
    else if (found !== name) {
      findings.push(finding("10.hash", 1, `${what} not what its name says`, name, found));
    }
  }
  const { policy } = opening;
  const unnamed = [...[...templates.keys()].filter((name) => !named.has(name)),
    ...[...policies.keys()].filter((name) => name !== policy)].sort();
  for (const name of unnamed) {
    findings.push(finding("10.unnamed", 0, "the opening names no such file", null, name));
  }
  if (policy !== null && !readPolicy(policy, policies)) {
    const message = "the policy is missing, not what its name says, or unreadable";
    findings.push(finding("10.policy", 1, message, policy));
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
  const { findings, withheld } = checkManifest(files, note);
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
  const { signed } = signatures, [evidence, unchecked] = evidenceOf(read, walk);
  const listed = [...files.keys()].filter((name) => !UNLISTED.includes(name));
  evidence.set(2, `${listed.length} files as listed`);
  evidence.set(3, signatures.evidence.join("; "));
  evidence.set(8, `${blobs.texts.size} of ${blobs.named} texts at hand, each as recorded`);
  if (!signed) unchecked.add(3);
  const trusted = signed ? "INTACT" : "SELF-CONSISTENT, SIGNER UNKNOWN";
  return {
    debate: events[0]?.debate ?? null, entries: lines.length, open: !walk.closed,
    level: findings.length ? null : Number(signed),
    verdict: findings.length ? "ALTERED" : trusted,
    unchecked: walk.goneTurns ? `${walk.goneTurns} of ${walk.turns.length} turns unchecked` : "",
    checks: judge(findings, evidence, unchecked), findings, lines, texts: blobs.texts,
    templates: new Map([...templates].map(([name, bytes]) => [name, toText(bytes, false)])),
    signers: signatures.signers, ed25519: signatures.able, walk,
  };
}

// What each check rests on, and which of them could not be done in full.
function evidenceOf({ lines, events, findings }, walk) {
  const total = lines.length, later = CHECKS.map((_, index) => index + 1).slice(8);
  const times = events.length ? [events[0].at, events[events.length - 1].at] : [];
  const evidence = new Map([
    [4, `${total} lines spelled canonically`],
    [5, `${events.length} of ${total} lines linked in order`],
    [6, `times never go back, ${times.join(" to ")}`],
    [7, `${total} lines, each an event of a known type`],
  ]);
  if (!walk.ended) {
    const why = findings.length ? "a line was rejected" : total ? "a line was not due" : "no lines";
    for (const number of later) evidence.set(number, `not reached: ${why}`);
    return [evidence, new Set(later)];
  }
  walk.evidence().forEach((text, index) => evidence.set(9 + index, text));
  const resting = walk.goneReplies ? [12, 13, 14, 16] : walk.goneDocuments ? [12, 13, 16] : [];
  const less = "; the rest of it rests on texts that are gone";
  for (const number of resting) evidence.set(number, evidence.get(number) + less);
  return [evidence, new Set(resting)];
}

// Each check's status: what has findings fails, whatever else it is.
function judge(findings, evidence, unchecked) {
  return CHECKS.map((name, index) => {
    const number = index + 1, told = findings.filter((row) => checkOf(row) === number);
    const more = told.length > 1 ? ` (${told.length} findings)` : "";
    const status = told.length ? "fail" : unchecked.has(number) ? "unchecked" : "pass";
    return {
      number, name, status,
      evidence: told.length ? `${told[0].message}${more}` : evidence.get(number),
    };
  }).slice(1); // a page sees no container
}
