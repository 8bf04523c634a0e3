"use strict";
// 19 review and 20 notes (§18): what people say of a closed debate, who signed it, whose review
// counts, and whether the decision is released.

const BY_KEY = "signature:signature", HEAD = "head:hash";
const AFTERWARDS = "a review, an outcome or a hold, and nothing else";
const MOST_AFTER = 1000;
WORDS.verifier = matching(/^[A-Za-z0-9._:/@=-]{1,128}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/);
WORDS.base64 = matching(/^[A-Za-z0-9+/]{86}==$/);
WORDS.signature = test(form("key:verifier value:base64"));
WORDS.blobs = (value) => Array.isArray(value) && value.length <= 20 && value.every(WORDS.blob);
const PEOPLE = { "review.signed": 19, "outcome.noted": 20, "hold.placed": 20, "hold.lifted": 20 };
entryType("review.signed", form(`reviewer:blob ${HEAD} outcome:approved|conditions|rejected|remanded
	comment:blob? conditions:blobs ${BY_KEY}`));
entryType("outcome.noted", form(`${HEAD} label:name note:blob? condition:hash? ${BY_KEY}?`));
for (const kind of ["placed", "lifted"]) {
	entryType(`hold.${kind}`, form(`${HEAD} reason:blob? ${BY_KEY}?`));
}

// The key that an entry names, without name and id: it has seen what it signed before.
const keyOf = ({ signature }) => signature?.key.replace(/^[^+]*\+[^+]*\+/, "");

// An entry after the close; signatures are checked once all are taken.
function takeAfter(walk, event) {
	const { type, data, prev } = event, check = PEOPLE[type], { after } = walk;
	need(check && after.length < MOST_AFTER, AFTERWARDS);
	if (type.startsWith("hold.")) {
		need(walk.held === (type === "hold.lifted"), AFTERWARDS);
		walk.held = !walk.held;
	}
	const faults = walk.findings.length;
	const own = after.findLastIndex((row) => keyOf(data) && keyOf(row.event.data) === keyOf(data));
	const unseen = after.slice(own + 1).map((row) => row.event.prev);
	if (![prev, ...unseen].includes(data.head)) {
		walk.report(`${check}.head`, prev, data.head);
	}
	if (type === "review.signed" && (data.outcome === "conditions") !== data.conditions.length > 0) {
		walk.report("19.conditions", null, data.outcome);
	}
	const stated = after.flatMap((row) => row.event.data.conditions ?? []).map((row) => row.sha256);
	if ((data.condition ?? null) !== null && !stated.includes(data.condition)) {
		walk.report("20.condition", null, data.condition);
	}
	after.push({ event, seq: walk.place, faulty: walk.findings.length > faults });
}

// Checks the signatures of a record that was followed to its end, and says of each entry how its
// key stands: `standing`, with "faulty" and "involved"; "unable" where this browser cannot tell.
async function checkPeople(walk, trust) {
	const findings = [];
	for (const row of walk.after) {
		const { event, seq } = row, { signature, ...data } = event.data;
		if (!signature) continue;
		const [name] = signature.key.split("+"), key = readKey(signature.key);
		const message = `hansard-${event.type}/v1\n${canonical({ ...data, debate: event.debate })}`;
		const value = strictBase64(signature.value);
		const holds = key !== null && value.length === 64 &&
			await signatureHolds(key.public, toBytes(message), value);
		if (holds === false) {
			findings.push(finding(`${PEOPLE[event.type]}.signature`, seq, null, name, { name }));
		}
		row.key = name;
		row.public = key && toHex(key.public);
		const same = trust.filter((each) => toHex(each.public) === row.public);
		const rows = same.filter((each) => each.name === name);
		row.standing = row.faulty || holds === false ? "faulty" : holds === null ? "unable"
			: standing(rows, "reviewer", event.at, event.at);
		const names = [name, ...same.map((each) => each.name)];
		if (row.standing === "trusted" && barred(walk).some((each) => names.includes(each))) {
			row.standing = "involved";
		}
	}
	if (walk.ended && walk.shut) walk.review = reviewOf(walk);
	return findings;
}

const ruling = ({ policy, opening }, term) =>
	(policy ? policyValues(policy, term, opening.terms.format)?.[0] : null) ?? null;

// The names of the keys that may not review.
function barred(walk) {
	const { requester, owner } = walk.opening, may = ruling(walk, "reviewer_may_be");
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
	return { state, released, wanted, exceptions, reviews, open };
}

// Checks 19 and 20, each of a record that has what it looks at: its evidence and why it is open.
function peopleRows(walk, events) {
	const said = events.filter(({ type }) => PEOPLE[type]);
	const of = (check) => said.filter(({ type }) => PEOPLE[type] === check);
	const counting = walk.review?.reviews.filter((row) => row.standing === "trusted").length;
	const unable = walk.after.some((row) => row.standing === "unable");
	const rows = {
		19: passed(19, { reviews: many(of(19).length, "review"), counting, state: walk.review?.state }),
		20: passed(20, {
			notes: many(of(20).length, "note"),
			signed: of(20).filter(({ data }) => data.signature).length,
		}),
	};
	return {
		rows, more: [19, 20].filter((check) => of(check).length),
		open: unable ? [19, 20] : counting < of(19).length ? [19] : [],
	};
}
