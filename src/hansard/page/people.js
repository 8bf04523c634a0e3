"use strict";
// 19 review and 20 notes (§18): what people say of a closed debate, who signed it, whose review
// counts, and whether the decision is released.

const BY_KEY = "signature:signature", HEAD = "head:hash";
const AFTERWARDS = "a review, an outcome, a hold or a redaction, and nothing else";
const REDACTED = "text.redacted";
const MOST_AFTER = 1000;
WORDS.verifier = matching(/^[A-Za-z0-9._:/@=-]{1,128}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/);
WORDS.base64 = matching(/^[A-Za-z0-9+/]{86}==$/);
WORDS.signature = test(form("key:verifier value:base64"));
WORDS.blobs = (value) => Array.isArray(value) && value.length <= 20 && value.every(WORDS.blob);
WORDS.signatures = (value) => Array.isArray(value) && value.length > 0 && value.length <= 3 &&
	value.every(WORDS.signature);
const PEOPLE = {
	"review.signed": 19, "outcome.noted": 20, "hold.placed": 20, "hold.lifted": 20, [REDACTED]: 20,
};
entryType("review.signed", form(`reviewer:blob ${HEAD} outcome:approved|conditions|rejected|remanded
	comment:blob? conditions:blobs ${BY_KEY}`));
entryType("outcome.noted", form(`${HEAD} label:name note:blob? condition:hash? ${BY_KEY}?`));
for (const kind of ["placed", "lifted"]) {
	entryType(`hold.${kind}`, form(`${HEAD} reason:blob? ${BY_KEY}?`));
}
entryType(REDACTED, form(`${HEAD} seq:positive field:id blob:hash reason:blob basis:blob
	asked_by:blob signatures:signatures`));

// The signatures of an entry after the close: a redaction has up to three.
const signaturesOf = ({ signature, signatures }) => signatures ?? (signature ? [signature] : []);
// The keys that signed an entry, without names and ids.
const keysOf = (data) => signaturesOf(data).map(({ key }) => key.replace(/^[^+]*\+[^+]*\+/, ""));

// Whether an entry is over the last one, or one after all that its signer has seen: what its own
// key signed before, and what was erased before.
function headStands(before, { data, prev }) {
	const keys = keysOf(data), unseen = [prev];
	for (const row of [...before].reverse()) {
		if (row.type === REDACTED || keysOf(row.data).some((key) => keys.includes(key))) break;
		unseen.push(row.prev);
	}
	return unseen.includes(data.head);
}

// Whether signatures are sorted by key, and no public key signs twice.
const sortedOnce = ({ signatures }) => new Set(keysOf({ signatures })).size === signatures.length &&
	signatures.every(({ key }, index) => !index || signatures[index - 1].key < key);

// An entry after the close; signatures are checked once all are taken.
function takeAfter(walk, event) {
	const { type, data, prev } = event, check = PEOPLE[type], { after } = walk;
	need(check && after.length < MOST_AFTER, AFTERWARDS);
	if (type.startsWith("hold.")) {
		need(walk.held === (type === "hold.lifted"), AFTERWARDS);
		walk.held = !walk.held;
	}
	need(type !== REDACTED || !walk.held, AFTERWARDS);
	const faults = walk.findings.length;
	if (!headStands(after.map((row) => row.event), event)) {
		walk.report(`${check}.head`, prev, data.head);
	}
	if (type === "review.signed" && (data.outcome === "conditions") !== data.conditions.length > 0) {
		walk.report("19.conditions", null, data.outcome);
	}
	const stated = after.flatMap((row) => row.event.data.conditions ?? []).map((row) => row.sha256);
	if ((data.condition ?? null) !== null && !stated.includes(data.condition)) {
		walk.report("20.condition", null, data.condition);
	}
	if (type === REDACTED) {
		const { there } = walk.redactions.find((row) => row.seq === walk.place);
		if (there !== data.blob) walk.report("20.blob", there, data.blob);
		if (!sortedOnce(data)) {
			walk.report("20.signatures", null, data.signatures.map(keyNameOf).join(","));
		}
	}
	after.push({ event, seq: walk.place, faulty: walk.findings.length > faults });
}
const keyNameOf = ({ key }) => key.split("+")[0];

// Whether a signature is over an entry; null where this browser cannot tell.
async function signedOver(event, { key: verifier, value: text }) {
	const said = Object.entries(event.data).filter(([name]) => !name.startsWith("signature"));
	const data = { ...Object.fromEntries(said), debate: event.debate };
	const key = readKey(verifier), value = strictBase64(text);
	return key !== null && value.length === 64 && await signatureHolds(key.public,
		toBytes(`hansard-${event.type}/v1\n${canonical(data)}`), value);
}

// How the key of a signature stands to the reader's keys in one of these roles, or "involved".
function standingOf({ key: verifier }, roles, at, barred, trust) {
	const name = keyNameOf({ key: verifier }), bytes = readKey(verifier)?.public;
	const same = trust.filter((each) => bytes && toHex(each.public) === toHex(bytes));
	const rows = same.filter((each) => each.name === name);
	const found = roles.map((role) => standing(rows, role, at, at));
	const how = STANDINGS.find((each) => found.includes(each));
	const names = [name, ...same.map((each) => each.name)];
	return how === "trusted" && barred.some((each) => names.includes(each)) ? "involved" : how;
}
const STANDINGS = ["trusted", "revoked", "time", "undated", "role", "unknown"]; // the best first

// Which texts the record says were erased: where, by which keys, and whether that counts.
async function readRedactions(events, policy, trust) {
	const found = [], erased = new Set(), before = [], said = events[0]?.data;
	const named = new Map(events.filter(({ type }) => type === REDACTED).slice(0, MOST_AFTER)
		.sort((a, b) => a.data.seq - b.data.seq) // so that no entry is read twice
		.map(({ data }) => [data, textAt(events[data.seq - 1]?.data, data.field)]));
	for (const [index, event] of events.entries()) {
		if (!PEOPLE[event.type] || before.length === MOST_AFTER) continue;
		const { type, data, at } = event;
		if (type === REDACTED) {
			const text = data.seq <= index ? named.get(data) : null;
			const there = erased.has(text) ? null : text;
			const holds = await Promise.all(data.signatures.map((row) => signedOver(event, row)));
			const sound = there === data.blob && sortedOnce(data) && headStands(before, event) &&
				!holds.includes(false);
			const keys = data.signatures.map((row, place) => ({ key: keyNameOf(row),
				standing: !sound ? "faulty" : holds[place] === null ? "unable"
					: standingOf(row, ["reviewer", "approval"], at, barred(said, policy), trust) }));
			const wanted = Number(rulingOf(said, policy, "redactors") ?? 1);
			found.push({
				seq: index + 1, event, there, sound, keys, forged: holds.indexOf(false),
				counts: keys.filter((row) => row.standing === "trusted").length >= wanted,
			});
			erased.add(data.blob);
		}
		before.push(event);
	}
	return found;
}

// The text that stands at a place in an entry's data, such as `conditions.0`.
function textAt(data, path) {
	let value = data;
	for (const part of path.split(".")) {
		const own = Array.isArray(value) ? /^(0|[1-9]\d{0,5})$/.test(part) : isObject(value);
		value = own && Object.hasOwn(value, part) ? value[part] : null;
	}
	return isObject(value) && Object.keys(value).join() === "sha256" ? value.sha256 : null;
}

// Checks the signatures of a record that was followed to its end, and says of each entry how its
// key stands: `standing`, with "faulty" and "involved"; "unable" where this browser cannot tell.
async function checkPeople(walk, trust) {
	const findings = [];
	const forged = ({ event: { type }, seq }, row) => findings.push(finding(
		`${PEOPLE[type]}.signature`, seq, null, keyNameOf(row), { name: keyNameOf(row) }));
	for (const row of walk.after) {
		const { event } = row, { signature, signatures } = event.data;
		const redaction = signatures && walk.redactions.find((each) => each.seq === row.seq);
		if (redaction && redaction.forged >= 0) forged(row, signatures[redaction.forged]);
		if (!signature) continue;
		const holds = await signedOver(event, signature);
		if (holds === false) forged(row, signature);
		row.key = keyNameOf(signature);
		row.public = readKey(signature.key) && toHex(readKey(signature.key).public);
		row.standing = row.faulty || holds === false ? "faulty" : holds === null ? "unable"
			: standingOf(signature, ["reviewer"], event.at, barred(walk.opening, walk.policy), trust);
	}
	if (walk.ended && walk.shut) walk.review = reviewOf(walk);
	return findings;
}

const rulingOf = (opening, policy, term) =>
	(policy ? policyValues(policy, term, opening.terms.format)?.[0] : null) ?? null;
const ruling = ({ policy, opening }, term) => rulingOf(opening, policy, term);

// The names of the keys that may not review, nor sign a redaction.
function barred(opening, policy) {
	const { requester, owner } = opening, may = rulingOf(opening, policy, "reviewer_may_be");
	return [may !== "requester" && requester?.key, may === "nobody_involved" && owner?.key]
		.filter(Boolean);
}

// Why a debate asks for a review by itself.
function exceptionsOf({ opening, decision, closed, turns }) {
	const verdict = turns.findLast(({ step, says }) =>
		step.phase !== "neutrality" && "undeclared" in says)?.says;
	const cited = turns.flatMap((turn) => turn.case?.citations ?? []);
	const found = {
		escalated: decision?.decision === "escalate", undeclared: verdict?.undeclared,
		low_confidence: verdict?.confidence === "LOW", truncated: closed.outcome === "truncated",
		against_gate: opening.gate?.advised === false,
		citations: cited.some((row) => row.finding !== "verified"),
	};
	return Object.keys(found).filter((name) => found[name]);
}

// A verifier reads no clock, so nothing is overdue.
function reviewOf(walk) {
	const { after, closed } = walk, exceptions = closed ? exceptionsOf(walk) : [], last = new Map();
	const reviews = after.filter(({ event }) => event.type === "review.signed");
	for (const row of reviews) if (row.standing === "trusted") last.set(row.public, row);
	const noted = after.filter((row) => row.standing === "trusted");
	const openOf = ({ event, seq }) => event.data.conditions.map((row) => row.sha256)
		.filter((name) => !noted.some((row) => row.event.data.condition === name && row.seq > seq));
	const open = [...last.values()].flatMap(openOf);
	const found = [...last.values()].map((row) => {
		const { outcome } = row.event.data;
		return outcome === "conditions" && !openOf(row).length ? "approved" : outcome;
	});
	const when = ruling(walk, "review") ?? "exceptions";
	const asked = when === "always" || (when === "exceptions" && exceptions.length > 0);
	const wanted = asked && closed && closed.outcome !== "failed" ? Number(ruling(walk, "reviewers") ?? 1) : 0;
	const approvals = found.filter((outcome) => outcome === "approved").length;
	const state = [
		["disagreement", approvals && found.includes("rejected")],
		["remanded", found.includes("remanded")], ["rejected", found.includes("rejected")],
		["approved", approvals && approvals >= wanted], ["partly", found.length],
		["not required", !wanted], ["waiting", true],
	].find(([, applies]) => applies)[0];
	const released = ["approved", "not required"].includes(state) && closed?.outcome === "complete" &&
		!exceptions.includes("escalated") && !exceptions.includes("undeclared");
	const lifts = after.filter(({ event }) => event.type === "hold.lifted");
	return { state, released, wanted, exceptions, reviews, open, lifts };
}

// Checks 19 and 20, each of a record that has what it looks at: its evidence and why it is open.
function peopleRows(walk, events) {
	const said = events.filter(({ type }) => PEOPLE[type]);
	const of = (check) => said.filter(({ type }) => PEOPLE[type] === check);
	const counting = walk.review?.reviews.filter((row) => row.standing === "trusted").length;
	const { redactions } = walk, erasing = events.filter(({ type }) => type === REDACTED).length;
	const unable = walk.after.some((row) => row.standing === "unable") ||
		redactions.some(({ keys }) => keys.some((row) => row.standing === "unable"));
	const erased = redactions.filter((row) => row.counts).length;
	const rows = {
		19: passed(19, { reviews: many(of(19).length, "review"), counting, state: walk.review?.state }),
		20: passed(20, {
			notes: many(of(20).length, "note"),
			signed: of(20).filter(({ data }) => signaturesOf(data).length).length,
			erasing: many(erasing, "redaction"), counting: erased,
		}, erasing && "redacted"),
	};
	return {
		rows, more: [19, 20].filter((check) => of(check).length),
		open: unable ? [19, 20]
			: [...(counting < of(19).length ? [19] : []), ...(erased < erasing ? [20] : [])],
	};
}
