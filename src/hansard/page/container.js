"use strict";
// The files of a record: SHA-256, the zip, the manifest, and its signers (§13, §14; a § is a
// section of FORMAT.md). The scripts that check a record are a port of tools/verify.py.

const isObject = (value) =>
	typeof value === "object" && value !== null && !Array.isArray(value) &&
	!(value instanceof Number);
const encoder = new TextEncoder();
const [tolerant, strict] =
	[false, true].map((fatal) => new TextDecoder("utf-8", { fatal, ignoreBOM: true }));
const toBytes = (text) => encoder.encode(text);
const toText = (bytes, fatal = true) => (fatal ? strict : tolerant).decode(bytes);
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const toHex = (bytes) => bytes.reduce((text, byte) => text + HEX[byte], "");
const checkOf = (row) => parseInt(row.code, 10);
// One defect: its code, the entry's place, the vocabulary's words, and the evidence.
const finding = (code, seq, expected = null, found = null, { variant, ...values } = {}) => {
	const [check, defect] = code.split("."), { findings } = VOCABULARY.checks[check];
	const sentence = findings[variant ?? defect] ?? findings.differs;
	return { code, seq, message: fill(sentence, { field: defect, ...values }), expected, found };
};

// ---- SHA-256 (FIPS 180-4): the browser's promises cost more than the hash of a line

const digest = (() => {
	const fraction = (number) => (number - Math.floor(number)) * 2 ** 32 | 0;
	const primes = [];
	for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
	const K = Int32Array.from(primes, (p) => fraction(Math.cbrt(p)));
	const FIRST = Int32Array.from(primes.slice(0, 8), (p) => fraction(Math.sqrt(p)));
	const w = new Int32Array(64), state = new Int32Array(8), tail = new Uint8Array(128);
	const turn = (x, n) => (x >>> n) | (x << (32 - n));

	function compress(bytes, at) {
		for (let i = 0; i < 16; i++, at += 4) {
			w[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
		}
		for (let i = 16; i < 64; i++) {
			const x = w[i - 15], y = w[i - 2];
			const s0 = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3);
			const s1 = turn(y, 17) ^ turn(y, 19) ^ (y >>> 10);
			w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
		}
		let a = state[0], b = state[1], c = state[2], d = state[3];
		let e = state[4], f = state[5], g = state[6], h = state[7];
		for (let i = 0; i < 64; i++) {
			const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
			const one = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
			const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
			const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
			h = g; g = f; f = e; e = (d + one) | 0;
			d = c; c = b; b = a; a = (one + two) | 0;
		}
		state[0] += a; state[1] += b; state[2] += c; state[3] += d;
		state[4] += e; state[5] += f; state[6] += g; state[7] += h;
	}

	return (bytes) => {
		const whole = bytes.length & ~63, rest = bytes.length - whole, size = rest < 56 ? 64 : 128;
		state.set(FIRST);
		for (let at = 0; at < whole; at += 64) compress(bytes, at);
		tail.fill(0);
		tail.set(bytes.subarray(whole));
		tail[rest] = 0x80;
		for (let i = 0; i < 7; i++) tail[size - 1 - i] = bytes.length * 8 / 2 ** (8 * i);
		for (let at = 0; at < size; at += 64) compress(tail, at);
		const out = new Uint8Array(32);
		for (let i = 0; i < 32; i++) out[i] = state[i >> 2] >>> (24 - 8 * (i & 3));
		return out;
	};
})();
const sha256 = (bytes) => toHex(digest(bytes));

// ---- the container (§13): read, built again the one way, and compared

const CRC = Int32Array.from({ length: 256 }, (_, byte) => {
	let sum = byte;
	for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
	return sum;
});
const FILE = new RegExp(
	"^(VERIFY\\.md|SHA256SUMS|events\\.jsonl|register/(head|opened)\\.proof" +
	"|(blobs|templates|policies)/[0-9a-f]{64})$");
const crc32 = (bytes) =>
	~bytes.reduce((sum, byte) => CRC[(sum ^ byte) & 255] ^ (sum >>> 8), -1) >>> 0;

// The files of a zip; throws where it is not the one zip that they give, or no export's.
function readZip(bytes) {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), files = new Map();
	const fail = () => { throw new Error("The data of this page is not an export."); };
	let at = 0;
	while (at + 30 < bytes.length && files.size < 65535 && view.getUint32(at, true) === 0x04034b50) {
		const size = view.getUint32(at + 18, true), start = at + 30 + view.getUint16(at + 26, true);
		files.set(toText(bytes.subarray(at + 30, start), false), bytes.subarray(start, start + size));
		at = start + size;
	}
	at = 0;
	for (const chunk of zipChunks(files)) {
		if (!chunk.every((byte, index) => byte === bytes[at + index])) fail();
		at += chunk.length;
	}
	const known = [...files.keys()].every((name) => FILE.test(name));
	const ended = (files.get("events.jsonl")?.at(-1) ?? 10) === 10 && files.has("events.jsonl");
	return known && ended && at === bytes.length ? files : fail();
}

// The zip that files give, piece by piece: stored, in order of names, without any metadata.
function* zipChunks(files) {
	const pack = (...fields) => fields.flatMap(([size, value]) =>
		Array.from({ length: size }, (_, index) => Math.floor(value / 2 ** (8 * index)) & 255));
	const directory = [], names = [...files.keys()].sort();
	let offset = 0;
	for (const name of names) {
		const content = files.get(name), path = toBytes(name), sizes = [4, content.length];
		const common = pack([2, 20], [6, 0], [2, 0x21], [4, crc32(content)], sizes, sizes,
			[2, path.length], [2, 0]);
		const header = [...pack([4, 0x04034b50]), ...common, ...path];
		directory.push(Uint8Array.from([...pack([4, 0x02014b50], [2, 0x0314]), ...common,
			...pack([6, 0], [4, 0o100644 * 65536], [4, offset]), ...path])); // arrays take eight times as much
		yield header;
		yield content;
		offset += header.length + content.length;
	}
	yield* directory;
	const length = directory.reduce((sum, row) => sum + row.length, 0), count = [2, names.length];
	yield pack([4, 0x06054b50], [4, 0], count, count, [4, length], [4, offset], [2, 0]);
}

function folder(files, name) {
	const inside = [...files].filter(([path]) => path.startsWith(`${name}/`));
	return new Map(inside.map(([path, bytes]) => [path.slice(name.length + 1), bytes]));
}

// ---- 2 manifest (§13)

// A page holds neither itself nor the note that covers it.
const UNLISTED = ["SHA256SUMS", "SHA256SUMS.page", "report.html"];

function checkManifest(files, note) {
	const withheld = new Map(), sums = new Map();
	const failed = (code) =>
		({ findings: [finding(code, 0)], listed: 0, withheld: new Map() });
	if (!files.has("SHA256SUMS")) return failed("2.missing");
	const text = note ? toText(note.text, false) : "";
	for (const [line] of text.matchAll(/[^\n]*\n/g)) { // one by one: there may be millions
		const listed = /^([0-9a-f]{64})  ([A-Za-z0-9./]+)\n$/.exec(line);
		const kept = /^# withheld ([A-Za-z0-9./]+) ([a-z0-9_]{1,64})\n$/.exec(line);
		if (listed) sums.set(listed[2], listed[1]);
		else if (kept) withheld.set(kept[1], kept[2]);
		else return failed("2.malformed");
	}
	const again = [
		...[...sums.keys()].sort().map((name) => `${sums.get(name)}  ${name}\n`),
		...[...withheld.keys()].sort().map((name) => `# withheld ${name} ${withheld.get(name)}\n`),
	].join("");
	if (!note || again !== text || UNLISTED.some((name) => sums.has(name))) {
		return failed("2.malformed");
	}
	const findings = [...withheld.keys()].sort().filter((name) => files.has(name)).map((name) =>
		finding("2.withheld", 0, null, name, { name }));
	for (const name of unique([...sums.keys(), ...files.keys()]).sort()) {
		if (name === "SHA256SUMS") continue;
		const sum = sums.get(name), bytes = files.get(name), found = bytes && sha256(bytes);
		if (!sum) findings.push(finding("2.unlisted", 0, null, name, { name }));
		else if (!bytes) findings.push(finding("2.absent", 0, name, null, { name }));
		else if (found !== sum) findings.push(finding("2.hash", 0, sum, found, { name }));
	}
	return { findings, listed: sums.size, withheld };
}

// ---- 3 signature (§14)

const KEY_NAME = "[A-Za-z0-9._:/@=-]{1,128}", BASE64 = "[A-Za-z0-9+/]+={0,2}";
const SIGNATURE = new RegExp(`^— (${KEY_NAME}) (${BASE64})$`);
const VERIFIER_KEY = new RegExp(`^(${KEY_NAME})\\+([0-9a-f]{8})\\+(${BASE64})$`);
const P = 2n ** 255n - 19n; // the field of edwards25519
const D = 0x52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3n; // and its d
const L = 2n ** 252n + 27742317777372353535851937790883648493n; // the order of its base point
const ORDER_8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const WEAK = [0n, 1n, P - 1n, ORDER_8, P - ORDER_8]; // y of the points that sign anything

function strictBase64(text) {
	try {
		const data = atob(text), bytes = new Uint8Array(data.length);
		for (let i = 0; i < data.length; i++) bytes[i] = data.charCodeAt(i); // `from` takes 30 times as long
		return btoa(data) === text ? bytes : new Uint8Array();
	} catch {
		return new Uint8Array();
	}
}

// A signed note: its text in bytes, and [key name, key id, signature] of each signature line. A
// checkpoint may be cosigned, with signatures of any length.
function readNote(bytes, cosigned = false) {
	let divide = bytes.length - 2;
	while (divide >= 0 && !(bytes[divide] === 10 && bytes[divide + 1] === 10)) divide--;
	const long = !cosigned && bytes.length - divide > 4096;
	if (divide < 0 || bytes.length > 2 ** 24 || long) return null;
	const lines = toText(bytes.subarray(divide + 2), false).split("\n");
	const rest = lines.pop();
	const found = lines.map((line) => SIGNATURE.exec(line));
	const right = found.every(Boolean) && found.length > 0 && found.length <= 16;
	if (rest || !right) return null;
	const signatures = found.map(([, name, text]) => [name, strictBase64(text)]);
	const fits = (data) => data.length === 68 || (cosigned && data.length > 4);
	if (!signatures.every(([, data]) => fits(data))) return null;
	const divided = signatures.map(([name, data]) =>
		[name, toHex(data.subarray(0, 4)), data.subarray(4)]);
	return { text: bytes.subarray(0, divide + 1), signatures: divided };
}

// A public key in its C2SP form, `name+id+key`; null where it is none, or signs anything. Its
// algorithm is 1, or 4 of a witness.
function readKey(text, algorithm = 1) {
	const [, name, keyId, base64] = VERIFIER_KEY.exec(text.trim()) ?? [];
	const data = strictBase64(base64 ?? "");
	if (data.length !== 33 || data[0] !== algorithm) return null;
	const hashed = digest(new Uint8Array([...toBytes(`${name}\n`), ...data]));
	const y = yOf(data.slice(1));
	if (toHex(hashed.subarray(0, 4)) !== keyId || y >= P || WEAK.includes(y)) return null;
	return { name, keyId, public: data.slice(1) };
}

const littleEndian = (bytes) => BigInt(`0x0${toHex(bytes.slice().reverse())}`);
const yOf = (key) => littleEndian(key) & (2n ** 255n - 1n);

// Whether a key is a point of the curve, by Euler's criterion: (y² - 1)(dy² + 1) is a square.
function isPoint(key) {
	const y2 = yOf(key) ** 2n % P;
	let found = 1n, base = (y2 + P - 1n) * (D * y2 + 1n) % P;
	if (base === 0n) return true;
	for (let exponent = (P - 1n) / 2n; exponent; exponent >>= 1n, base = base * base % P) {
		if (exponent & 1n) found = found * base % P;
	}
	return found === 1n;
}

// Whether a signature, of a witness a cosignature, is a key's over a text; null where this
// browser cannot say.
async function keySignedIt(key, text, signature) {
	if (key.role !== "witness") return signatureHolds(key.public, text, signature);
	const seconds = secondsOf(signature);
	if (signature.length !== 72 || seconds >= 2n ** 63n) return false;
	const timed = [...toBytes(`cosignature/v1\ntime ${seconds}\n`), ...text];
	return signatureHolds(key.public, new Uint8Array(timed), signature.subarray(8));
}
// The POSIX time that a cosignature states.
const secondsOf = (signature) => BigInt(`0x0${toHex(signature.subarray(0, 8))}`);
// Whether a log key of this name signs for the register of this origin.
const isOriginOf = (name, origin) => origin === name || origin.startsWith(`${name}/`);

// Whether an Ed25519 signature verifies; null where this browser cannot say. WebKitGTK 2.50 ends
// on a key that is no point, and takes a second spelling of a signature, S + L, for the first.
async function signatureHolds(key, text, signature) {
	if (!isPoint(key) || littleEndian(signature.subarray(32)) >= L) return false;
	try {
		const imported = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
		return await crypto.subtle.verify("Ed25519", imported, signature, text);
	} catch (error) {
		return error?.name === "DataError" ? false : null;
	}
}

// How the reader's rows of one key stand to a role: a member of WORDING.signers.
function standing(rows, role, at, dated) {
	const own = rows.filter((row) => row.role === role);
	if (!own.length) return rows.length ? "role" : "unknown";
	if (at === null) return "undated";
	const counting = own.filter((row) =>
		(!row.from || row.from <= at) && (!row.until || at < row.until));
	if (!counting.length) return "time";
	return counting.every((row) => row.revoked && row.revoked <= dated) ? "revoked" : "trusted";
}

// Who signed: `by` a key trusted in this role, `broken` a trusted name that did not, and `words`.
// A key counts for a checkpoint only where its name is that of the `origin`.
async function judgeNote(note, trust, role, at, dated, origin = null) {
	const said = WORDING.signers, keys = new Map();
	let by = null, able = true;
	for (const [name, id, signature] of note.signatures) {
		const rows = trust.filter((key) => key.name === name && key.keyId === id);
		for (const key of rows) {
			const holds = await keySignedIt(key, note.text, signature);
			if (holds === false) {
				return { by: null, broken: name, able: true, words: fill(said.forged, { name }) };
			}
			able &&= holds !== null;
		}
		const key = keys.get(`${name}+${id}`) ?? { name, id, rows, number: 0 };
		key.number++;
		keys.set(`${name}+${id}`, key);
	}
	const words = [...keys.values()].map(({ name, id, rows, number }) => {
		const stands = standing(rows, role, at, dated);
		const foreign = stands === "trusted" && origin !== null && !isOriginOf(name, origin);
		const seen = origin !== null && rows[0]?.role === "witness"; // whether it counts is not asked here
		const how = seen ? "witness" : foreign ? "origin" : stands;
		if (how === "trusted" && able) by = name;
		return fill(said[how], { name, id, role: rows[0]?.role, wanted: role, at, dated, origin }) +
			(number > 1 ? ` ${fill(said.lines, { number })}` : "");
	});
	return { by, broken: null, able, words: fill(said.signed, { keys: words.join(`${said.next} `) }) };
}

// A policy is dated by the opening, `at`, the manifest by the last entry. One that was revoked
// by then, `ended`, counts for nothing.
async function checkSignatures(notes, trust, at, last, ended) {
	const out = { findings: [], signed: true, evidence: "", signers: [], able: true };
	const alike = new Map(); // the notes of which the same is to be said
	for (const [what, role, note, origin] of notes) {
		const judged = note ? await judgeNote(note, trust, role, at, what === "policy" ? at : last, origin)
			: { by: null, broken: null, able: true, words: WORDING.signers.unread };
		const { broken, able } = judged, counts = broken || what !== "policy" || !ended;
		const by = counts ? judged.by : null;
		const told = counts ? judged.words : fill(WORDING.signers.withdrawn, { at, words: judged.words });
		const words = able ? told : "this browser cannot check Ed25519 signatures";
		const names = note ? unique(note.signatures.map(([name]) => name)) : [];
		out.signers.push({ what, names, by, words });
		alike.set(words, [...alike.get(words) ?? [], what]);
		out.signed &&= by !== null;
		out.able &&= able;
		if (broken) {
			const code = what === "manifest" ? "3.signature" : `3.${what}`;
			out.findings.push(finding(code, 0, null, broken, { name: broken }));
		}
	}
	out.evidence = [...alike].map(([words, whats]) => `${whats.join(" and ")} ${words}`).join("; ");
	return out;
}
