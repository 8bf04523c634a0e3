"use strict";
// All checks in order, and the result (§10, §16); the checks of entries, texts and templates
// (§1 to §3, §10). `container.js` has those of an export, `walk.js` those of the walk.

const LARGEST = Number.MAX_SAFE_INTEGER; // of an entry or a reply (§1, §5)
const DEEPEST = 32; // nested containers
const LONGEST_LINE = 1048576; // bytes
const MOST_ENTRIES = 100000;
const MOST_LISTED = 1000; // findings of a check; the others count all the same
const MOST_EVIDENCE = 2 ** 20; // bytes of them, past which no more are
// Bytes of a document, of an original in base64, each of one and of all, and of a reply (§10.2).
const [DOCUMENT, DOCUMENTS, REPLY] = [2 ** 21, 20 * 2 ** 20, 2 ** 20];
const [ORIGINAL, ORIGINALS, SAID] = [11184812, 89478488, 16000000];

// ---- the result (§10, §16)

// `trust` are the reader's keys, `revoked` the policies that count no more, each from a time on,
// `witnesses` how many of them must have cosigned a checkpoint for level 2.
async function verifyFiles(files, trust, revoked = [], witnesses = 0) {
	const sums = files.get("SHA256SUMS"), note = sums ? readNote(sums) : null;
	const { findings: manifest, listed, withheld } = checkManifest(files, note);
	const read = readLines(files.get("events.jsonl")), { lines, events } = read;
	const opened = events[0]?.type === "debate.opened" ? events[0].data : null;
	const begins = opened ?? (events[0]?.type === "gate.answered" ? NO_TEMPLATES : null);
	const policies = folder(files, "policies"), templates = folder(files, "templates");
	const policy = opened?.policy ? readPolicy(opened.policy, policies) : null;
	const notes = [["manifest", "export", note]];
	if (opened?.policy) notes.push(["policy", "approval", policy?.note]);
	const register = checkRegister(files, read, begins ? events[0] : null);
	notes.push(...register.notes);
	const [at, last] = begins ? [events[0].at, events.at(-1).at] : [null, null];
	const ended = revoked.some((row) => policy?.names.has(row.sha256) && row.revoked <= at);
	const signatures = await checkSignatures(notes, trust, at, last, ended);
	const redactions = begins ? await readRedactions(events, policy, trust) : [];
	const blobs = checkBlobs(read, folder(files, "blobs"), withheld, redactions, signatures.signed);
	const { texts, counted } = blobs, partly = counted.present < counted.named;
	const place = await standsIn(register, trust);
	const found = [manifest, signatures.findings, register.findings, read.findings, checkChain(read), blobs.findings,
		checkSources(read, texts)];
	let policed = null;
	const walk = new Walk(texts, policy, redactions);
	if (!read.findings.length && events.length) {
		walk.walk(events);
		const signed = await checkPeople(walk, trust);
		found.push([...walk.findings, ...signed].sort((a, b) => a.seq - b.seq));
		if (begins) found.push(checkTemplates(begins, templates, policies));
		if (policy) found.push((policed = checkPolicy(policy, opened, events, texts)).findings);
	}
	const counts = {}, sizes = {}, findings = found.flat().filter((row) => {
		const check = checkOf(row);
		counts[check] = (counts[check] ?? 0) + 1;
		if (counts[check] > MOST_LISTED || sizes[check] > MOST_EVIDENCE) return false;
		sizes[check] = (sizes[check] ?? 0) + sizeOf(row);
		return true;
	});
	findings.sort((a, b) => a.seq - b.seq || checkOf(a) - checkOf(b) ||
		(a.code < b.code ? -1 : Number(a.code > b.code)));
	const { signed, signers, able } = signatures;
	const evidence = {
		2: passed(2, { files: many(listed, "file"), withheld: withheld.size },
			withheld.size && "withheld"),
		3: signatures.evidence,
		8: passed(8, { texts: textsInWords(counted) }, partly && "gone"),
		...(policed && { 18: passed(18, { lines: many(policy.lines, "line") }) }),
		...(place && { 17: evidenceOfRegister(place) }),
		...evidenceOf(read), ...(walk.ended ? evidenceOfWalk(walk) : {}),
	};
	const people = peopleRows(walk, events);
	Object.assign(evidence, people.rows);
	const anchored = signed && place && witnesses > 0 && place.cosigned.length >= witnesses;
	const level = findings.length ? null : signed + Boolean(anchored);
	const { goneTurns: gone, turns } = walk;
	const said = WORDING.caveats, caveats = [
		level !== null && !walk.shut && said.open, partly && textsInWords(counted),
		gone && fill(said.turns, { gone, turns: many(turns.length, "turn") }),
		level !== null && (place ? fill(said.logged, { line: place.head, size: place.size })
			: said.register),
		level !== null && !["approved", "not required", undefined].includes(walk.review?.state) &&
			fill(said.review, { state: walk.review.state }),
	].filter(Boolean);
	return {
		debate: events[0]?.debate ?? null, entries: read.total, open: !walk.shut, level,
		verdict: WORDING.verdicts[level ?? "none"], caveats, counted,
		checks: judge(findings, counts, evidence, signed, missing(read, walk),
			opened?.policy ? { policed, gone: policed?.gone ?? [] } : null, people, register),
		findings, place, lines, texts,
		templates: new Map([...templates].map(([name, bytes]) => [name, toText(bytes, false)])),
		signers, ed25519: able, walk,
	};
}

const sizeOf = ({ expected, found }) => toBytes(JSON.stringify([expected, found])).length;

// How many of the texts that are named there are, and what became of the others.
function textsInWords({ named, present, ...gone }) {
	const said = WORDING.counted, rows = Object.entries(gone).filter(([, number]) => number);
	return list([fill(said.present, { present, named: many(named, "text") }),
		...rows.map(([key, number]) => fill(said[key], { number }))]);
}

// What a check looked at.
function passed(check, values, variant) {
	const { passed: sentences } = VOCABULARY.checks[check];
	return fill(sentences[variant || "text"] ?? sentences, values);
}

function evidenceOf({ total, events }) {
	const read = { read: events.length, entries: many(total, "entry") };
	const times = { first: events[0]?.at, last: events.at(-1)?.at };
	return {
		4: passed(4, read), 5: passed(5, read), 7: passed(7, read),
		6: passed(6, times, !events.length && "empty"),
	};
}

// What checks 9 to 16 looked at in a record that was followed to its end.
function evidenceOfWalk(walk) {
	const count = (type) => walk.seen[type] ?? 0, started = count("call.started");
	const replies = many(count("call.answered"), "reply");
	const text = passed(12, { replies, rejected: count("turn.rejected") });
	const cited = walk.turns.flatMap((turn) => turn.case?.citations ?? []);
	const found = cited.filter((row) => row.finding === "verified").length;
	const { decision, closed } = walk, rows = [];
	if (decision) rows.push(`${decision.decision} by ${decision.rule}`);
	if (closed && closed.outcome !== "complete") rows.push(`${closed.outcome}: ${closed.reason}`);
	return {
		9: passed(9, { turns: many(walk.turns.length, "turn"), calls: many(started, "call") }),
		10: passed(10), 11: passed(11, { prompts: many(started, "prompt") }),
		12: count("synthesis.recorded") ? passed(12, { text }, "synthesis") : text,
		13: passed(13, { citations: many(cited.length, "citation"), found }),
		14: passed(14, {
			counts: many(count("votes.counted"), "count"),
			comparisons: many(count("similarity.measured"), "comparison"),
		}),
		15: passed(15, { calls: many(count("call.answered") + count("call.failed"), "call") }),
		16: passed(16, { outcome: rows.join("; ") }, walk.shut && !closed ? "gate" : !rows.length && "open"),
	};
}

// What is gone or was not reached, and what its words name; of two the last counts.
function missing({ total }, walk) {
	if (!walk.ended) {
		return { walk: { walked: walk.followed, entries: many(total, "entry") } };
	}
	return {
		...(walk.goneAnswer && { answer: {} }), ...(walk.goneDocuments && { documents: {} }),
		...(walk.goneReplies && { replies: { gone: many(walk.goneReplies, "reply") } }),
	};
}

// Each check but the container's, which a page does not see: what has findings fails.
// `policy` says what the policy was about and is gone; without a policy there is no check 18.
// 17 is listed where the record has proofs, 19 and 20 where `people` has them.
function judge(findings, counts, evidence, signed, gone, policy, people, register) {
	const listed = (number) => number < 17 ||
		({ 17: register.notes.length > 0, 18: policy }[number] ?? people.more.includes(number));
	const rows = Object.entries(VOCABULARY.checks).filter(([key]) => listed(Number(key)));
	return rows.map(([key, { name, rests_on: resting }]) => {
		const what = Object.keys(gone).findLast((each) => resting?.includes(each));
		const number = Number(key), told = findings.find((row) => checkOf(row) === number);
		const lost = number === 10 && policy?.gone.length &&
			fill(WORDING.unchecked.texts, { terms: policy.gone.join(", ") });
		const why = lost || (number === 17 && !register.placed && passed(17, {}, "entries")) ||
			(number === 18 && !policy.policed && WORDING.unchecked.policy) ||
			(what && fill(WORDING.unchecked[what], gone[what]));
		const left = why || (number === 3 && !signed) || people.open.includes(number), status = left ? "unchecked" : "pass";
		return told ? { number, name, status: "fail", evidence: where(told, counts[key]) }
			: { number, name, status, evidence: why || evidence[key] };
	});
}

// What a check found first, where, and how many more.
function where({ seq, message }, count) {
	const places = [seq && `entry ${seq}`, count > 1 && `${count - 1} more`].filter(Boolean);
	return places.length ? `${message} (${places.join("; ")})` : message;
}

// ---- 4 canonical (§1)

const ID = /^[A-Za-z0-9._:/@+=-]{1,256}$/;

// A value in the one spelling: keys need no escape, and an object has "9" before "10".
const canonical = (value) => (isObject(value)
	? Object.keys(value).sort().reduce((text, key, i) =>
		`${text}${i ? "," : ""}"${key}":${canonical(value[key])}`, "{") + "}"
	: Array.isArray(value) ? `[${value.map(canonical)}]` : JSON.stringify(value));

// Whether all keys are in order; to write an entry anew takes more memory.
function isSorted(value) {
	if (Array.isArray(value)) return value.every(isSorted);
	return !isObject(value) || Object.keys(value).every((key, i, all) =>
		!(all[i - 1] > key) && isSorted(value[key]));
}

function inProfile(value, depth = 1) {
	if (typeof value === "string") return ID.test(value);
	if (typeof value === "number") return Number.isSafeInteger(value);
	if (typeof value !== "object" || value === null) return true;
	if (depth > DEEPEST) return false;
	if (Array.isArray(value)) return value.every((item) => inProfile(item, depth + 1));
	return Object.keys(value).every((key) =>
		/^[a-z][a-z0-9_]*$/.test(key) && inProfile(value[key], depth + 1));
}

// The defect of one entry, if any, and its value.
function readLine(bytes) {
	if (bytes.length > LONGEST_LINE) return ["4.size", null];
	let depth = 0, quoted = false;
	for (let at = 0; at < bytes.length; at++) { // before parsing; in strings they are none (§10)
		const byte = bytes[at];
		if (byte === 0x5c) at++;
		else if (byte === 0x22) quoted = !quoted;
		else if (quoted) continue;
		else if (byte === 0x5b || byte === 0x7b) depth++;
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
	return JSON.stringify(value) === text && isSorted(value) ? [null, value] : ["4.bytes", null];
}

// An entry. Its data are read anew unless the walk finds them sound: lists take much memory.
class Entry {
	static last = {};

	constructor(bytes, { data, ...rest }) {
		Object.assign(this, rest, { bytes });
	}

	get data() {
		const { bytes } = this;
		if (Entry.last.bytes !== bytes) Entry.last = { bytes, ...JSON.parse(toText(bytes)) };
		return Entry.last.data;
	}
}

// Every entry, and as events those before the first that is rejected (4 and 7).
function readLines(bytes) {
	const lines = [], events = [], findings = [];
	const total = bytes.reduce((sum, byte) => sum + (byte === 10), 0);
	if (total > MOST_ENTRIES) {
		return { lines, total, events, findings: [finding("4.entries", 0, MOST_ENTRIES, total)] };
	}
	for (let start = 0; start < bytes.length;) {
		const stop = bytes.indexOf(10, start), raw = bytes.subarray(start, stop);
		let [defect, event] = readLine(raw);
		if (!defect && !isEvent(event)) defect = "7.schema";
		event = defect ? null : PEOPLE[event.type] ? event : new Entry(raw, event);
		lines.push({ raw, hash: sha256(raw), event });
		if (defect) findings.push(finding(defect, lines.length));
		if (!findings.length) events.push(event);
		start = stop + 1;
	}
	return { lines, total, events, findings };
}

// ---- 5 chain, 6 time (§1)

const FIRST = "0".repeat(64); // what the first entry is linked to

// A broken link is reported at the entry before: it no longer has the recorded hash.
function checkChain({ lines, total, events }) {
	if (!total) return [finding("5.empty", 0)];
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

// A number is no place to look.
function* namedBlobs(value) {
	if (value.sha256 && Object.keys(value).length === 1) yield value.sha256;
	else for (const item of Object.values(value)) if (item instanceof Object) yield* namedBlobs(item);
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

// `signed` says that trusted keys signed the record: then others' redactions explain nothing.
function checkBlobs(read, blobs, withheld, redactions, signed) {
	const findings = [], texts = new Map(), salts = new Set();
	const sound = redactions.filter((row) => row.sound);
	const erased = new Set(sound.map((row) => row.event.data.blob));
	const explained = new Set(sound.filter((row) => row.counts || !signed)
		.map((row) => row.event.data.blob));
	// The first entry that names a text: as anything, as a document, an original, a stance or an
	// answer, a reply.
	const [places, documents, originals, words, replies, reused] = [1, 2, 3, 4, 5, 6].map(() => new Map());
	const first = (map, name, place) => { if (!map.has(name)) map.set(name, place); };
	read.events.forEach(({ type, data }, index) => {
		for (const name of namedBlobs(data)) first(places, name, index + 1);
		const said = data.stance?.text ?? data.gate?.answer;
		if (said) first(words, said.sha256, index + 1);
		if (type === "evidence.admitted") {
			first(documents, data.text.sha256, index + 1);
			if (data.original) first(originals, data.original.sha256, index + 1);
		}
		if (type === "call.answered") {
			first(replies, data.reply.sha256, index + 1);
			if (places.get(data.reply.sha256) <= index) first(reused, data.reply.sha256, index + 1);
		}
	});
	let [all, files] = [0, 0]; // the bytes of the documents and of the originals so far
	for (const [name, place] of places) {
		const keptBack = withheld.has(`blobs/${name}`), bytes = blobs.get(name);
		if (reused.has(name)) findings.push(finding("8.reused", reused.get(name), null, name));
		if (!bytes) {
			if (!keptBack && !explained.has(name)) {
				const variant = erased.has(name) ? "unexplained" : "missing";
				findings.push(finding("8.missing", place, name, null, { variant }));
			}
			continue;
		}
		const { salt, text, defect } = readBlob(name, bytes);
		const code = defect ?? (salts.has(salt) ? "8.salt" : erased.has(name) ? "8.erased" : null);
		if (code === "8.hash") findings.push(finding(code, place, name, sha256(bytes)));
		else if (code) findings.push(finding(code, place, null, name));
		else if (!keptBack) {
			const size = bytes.length - 81, reply = replies.get(name), over = [];
			const document = documents.get(name), original = originals.get(name);
			all += document ? size : 0;
			files += original ? size : 0;
			const [wrong] = [[document, DOCUMENT, size], [document, DOCUMENTS, all],
				[original, ORIGINAL, size], [original, ORIGINALS, files], [words.get(name), SAID, size],
			].filter(([place, most, found]) => place && found > most);
			if (wrong) over.push(finding("8.size", ...wrong));
			if (reply && size > REPLY) over.push(finding("12.size", reply, REPLY, size));
			findings.push(...over);
			if (!over.length && !reused.has(name)) texts.set(name, text);
		}
		if (salt) salts.add(salt);
	}
	if (!read.findings.length) {
		const unnamed = [...blobs.keys()].filter((name) => !places.has(name)).sort();
		for (const name of unnamed) findings.push(finding("8.unnamed", 0, null, name));
	}
	const names = [...places.keys()], named = names.length, present = texts.size;
	const kept = names.filter((name) => withheld.has(`blobs/${name}`)).length;
	const missing = findings.filter((row) => row.code === "8.missing").length;
	const gone = names.filter((name) => !blobs.has(name) && !withheld.has(`blobs/${name}`)).length;
	const damaged = named - present - kept - gone;
	return { findings, texts,
		counted: { named, present, withheld: kept, erased: gone - missing, missing, damaged } };
}

// What a document, its file's hash and its original say of each other. Each text is read once.
function checkSources({ events }, texts) {
	const findings = [], known = new Map();
	const of = (blob, what, read) => {
		const key = `${what} ${blob.sha256}`, text = texts.get(blob.sha256);
		if (!known.has(key)) known.set(key, text === undefined ? null : read(text));
		return known.get(key);
	};
	events.forEach((event, index) => {
		if (event.type !== "evidence.admitted") return;
		const { text, source, original } = event.data, add = (code, ...row) =>
			findings.push(finding(code, index + 1, ...row));
		const digest = original && of(original, "original", hashOfOriginal);
		if (digest === "") add("8.original", null, original.sha256);
		if (!source) return;
		const pages = of(text, "pages", (all) => all.split("\f").length);
		const stated = of(source.file, "file", (all) => (WORDS.hash(all) ? all : ""));
		if (pages !== null && (source.pages ?? 1) !== pages) add("8.pages", pages, source.pages);
		if (stated === "" || (stated && digest && stated !== digest)) {
			add("8.file", digest || null, stated || null);
		}
	});
	return findings;
}

// Nothing where a text is not the base64 of a file.
function hashOfOriginal(text) {
	const file = strictBase64(text);
	return file.length || text === "" ? sha256(file) : "";
}

// ---- 10 templates (§10, §15)

const NO_TEMPLATES = { templates: [], schemas: [], tools: [], policy: null }; // of a gate

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
