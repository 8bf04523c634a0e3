"use strict";
// 17 register (§19): that the first and the latest entry are lines of a register, and where.

const PROOFS = ["head", "opened"]; // in the order in which they are looked at
const LINE_KINDS = "opened|head|policy_approved|policy_revoked|key_approved|key_revoked|gate";
const NUMBER = "0|[1-9][0-9]{0,15}", HASH_ROW = "[A-Za-z0-9+/]{43}=";
const REGISTER_LINE = new RegExp(`^\\{"head":"([0-9a-f]{64})","index":(${NUMBER}),` +
	`"kind":"(${LINE_KINDS})","tag":"([0-9a-f]{64})"\\}$`);
const CHECKPOINT = new RegExp(`^(${KEY_NAME})\n(${NUMBER})\n(${HASH_ROW})\n$`);
const PROOF = new RegExp(`^c2sp\\.org/tlog-proof@v1\nextra ([A-Za-z0-9+/]+={0,2})\n` +
	`index (${NUMBER})\n((?:${HASH_ROW}\n){0,64})\n`);
const [LONGEST_CHECKPOINT, LONGEST_PROOF] = [65536, 65536 + 8192]; // bytes
const LAST_SECOND = 253402300799n; // of the year 9999

const tagOf = (subject) => sha256(toBytes(`hansard-register/v1\n${subject}`));
const proofFile = (name) => `register/${name}.proof`;

function readRegisterLine(bytes) {
	const found = bytes.length <= 256 && REGISTER_LINE.exec(toText(bytes, false));
	if (!found) return null;
	const [, head, digits, kind, tag] = found, place = Number(digits);
	const own = ["opened", "head", "gate"].includes(kind) || tag === tagOf(head);
	return own && place < LARGEST ? { bytes, head, place, kind, tag } : null;
}

function readCheckpoint(bytes) {
	const note = bytes.length <= LONGEST_CHECKPOINT ? readNote(bytes, true) : null;
	const found = note && CHECKPOINT.exec(toText(note.text, false));
	if (!found) return null;
	const [, origin, digits, hash] = found, size = Number(digits), root = toHex(strictBase64(hash));
	const empty = size > 0 || root === sha256(new Uint8Array());
	return root.length === 64 && size <= LARGEST && empty
		? { text: toText(bytes), note, origin, size, root } : null;
}

function readProof(bytes) {
	const text = bytes.length <= LONGEST_PROOF ? Array.from(bytes, (byte) => String.fromCharCode(byte)).join("") : "";
	const found = PROOF.exec(text);
	if (!found) return null;
	const line = readRegisterLine(strictBase64(found[1]));
	const hashes = found[3].split("\n").slice(0, -1).map(strictBase64);
	const checkpoint = readCheckpoint(bytes.subarray(found[0].length));
	const sound = line && checkpoint && String(line.place) === found[2] && hashes.every((row) => row.length);
	return sound ? { line, hashes, checkpoint } : null;
}

// Whether a proof leads to the root of its checkpoint (RFC 9162, 2.1.3.2).
function leads({ line, hashes, checkpoint }) {
	const node = (left, right) => digest(new Uint8Array([1, ...left, ...right]));
	const half = (number) => Math.floor(number / 2);
	let at = line.place, last = checkpoint.size - 1, inside = at <= last;
	let found = digest(new Uint8Array([0, ...line.bytes]));
	for (const step of hashes) {
		inside &&= last > 0;
		if (at % 2 || at === last) {
			found = node(step, found);
			while (at && at % 2 === 0) [at, last] = [half(at), half(last)];
		} else found = node(found, step);
		[at, last] = [half(at), half(last)];
	}
	return inside && last === 0 && toHex(found) === checkpoint.root;
}

// What each proof shows, the two together, and both of a record that begins with `opening`.
function checkRegister(files, { lines, findings: rejected }, opening) {
	const findings = [], proofs = {}, given = PROOFS.some((name) => files.has(proofFile(name)));
	const add = (code, expected, found, name) =>
		findings.push(finding(code, 0, expected, found, name && { name }));
	for (const name of given ? PROOFS : []) {
		const file = proofFile(name), bytes = files.get(file), proof = bytes && readProof(bytes);
		if (!bytes) add("17.missing", file, null, file);
		else if (!proof) add("17.malformed", null, file, file);
		else if (!leads(proofs[name] = proof)) add("17.proof", null, file, file);
	}
	const { head, opened } = proofs, own = (head ?? opened)?.checkpoint;
	const notes = given ? [["checkpoint", "log", own?.note, own?.origin ?? null]] : [];
	if (!head || !opened) return { findings, notes, proofs, placed: false };
	if (own.text !== opened.checkpoint.text) {
		add("17.checkpoint", opened.checkpoint.text, own.text);
	}
	if (head.line.place < opened.line.place) {
		add("17.order", opened.line.place + 1, head.line.place + 1);
	}
	const placed = !rejected.length && opening !== null;
	if (placed) comparePlace(add, proofs, lines, opening);
	return { findings, notes, proofs, placed };
}

// Compares the lines of the proofs with a record that could be read to its end.
function comparePlace(add, proofs, lines, opening) {
	const [head, opened] = PROOFS.map((name) => proofs[name].line);
	const first = opening.type === "debate.opened" ? "opened" : "gate";
	const kinds = { opened: first, head: head.place === opened.place ? first : "head" };
	const tag = tagOf(opening.debate);
	for (const name of PROOFS) {
		const { line } = proofs[name], file = proofFile(name);
		if (line.kind !== kinds[name]) add("17.kind", kinds[name], line.kind, file);
		if (line.tag !== tag) add("17.tag", tag, line.tag, file);
	}
	const [begin, last] = [lines[0].hash, lines.at(-1).hash];
	if (opened.head !== begin) add("17.opened", begin, opened.head);
	if (head.head !== last) {
		const known = lines.some((line) => line.hash === head.head);
		add(known ? "17.head" : "17.superseded", last, head.head);
	}
}

// When a cosignature was made, as it states, as entries have it; null after the year 9999.
function timeOf(signature) {
	const seconds = secondsOf(signature);
	return seconds > LAST_SECOND ? null
		: new Date(Number(seconds) * 1000).toISOString().replace("Z", "000Z");
}

// The trusted witnesses that cosigned a checkpoint, once a public key, each in force at its time.
async function cosigned({ note }, trust) {
	const found = new Map();
	for (const [name, id, signature] of note.signatures) {
		const rows = trust.filter((key) => key.name === name && key.keyId === id);
		const at = timeOf(signature), key = rows[0], whose = key && toHex(key.public);
		if (!key || at === null || found.has(whose)) continue;
		if (standing(rows, "witness", at, at) !== "trusted") continue;
		if (await keySignedIt(key, note.text, signature)) found.set(whose, { name, at });
	}
	return [...found.values()];
}

// Where the record stands in the register; null without both proofs.
async function standsIn({ proofs: { head, opened } }, trust) {
	if (!head || !opened) return null;
	const { origin, size, text } = head.checkpoint;
	return { origin, size, opened: opened.line.place + 1, head: head.line.place + 1,
		checkpoint: text, cosigned: await cosigned(head.checkpoint, trust), kept: null };
}

function evidenceOfRegister(place) {
	const said = WORDING.register, names = place.cosigned.map((row) => fill(said.witness, row));
	const words = names.length ? fill(said.cosigned, { witnesses: list(names) }) : said.alone;
	return passed(17, { ...place, cosigned: words });
}
