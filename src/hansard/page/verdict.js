"use strict";
// The result (§10, §16): what all checks found, and what they looked at.

const MOST_LISTED = 1000; // findings of a check; the others count all the same

async function verifyFiles(files, trust) {
	const sums = files.get("SHA256SUMS"), note = sums ? readNote(sums) : null;
	const { findings: manifest, listed, withheld } = checkManifest(files, note);
	const read = readLines(files.get("events.jsonl")), { lines, events } = read;
	const opened = events[0]?.type === "debate.opened" ? events[0].data : null;
	const policies = folder(files, "policies"), templates = folder(files, "templates");
	const policy = opened?.policy ? readPolicy(opened.policy, policies) : null;
	const notes = [["manifest", "export", note]];
	if (opened?.policy) notes.push(["policy", "approval", policy?.note]);
	const signatures = await checkSignatures(notes, trust, opened ? events[0].at : null);
	const blobs = checkBlobs(read, folder(files, "blobs"), withheld);
	const { texts, counted } = blobs, partly = counted.present < counted.named;
	const found = [manifest, signatures.findings, read.findings, checkChain(read), blobs.findings];
	const walk = new Walk(texts, policy?.approved ?? null);
	if (!read.findings.length && events.length) {
		walk.walk(events);
		found.push(walk.findings);
		if (opened) found.push(checkTemplates(opened, templates, policies));
	}
	const counts = {}, findings = found.flat().filter((row) => {
		counts[checkOf(row)] = (counts[checkOf(row)] ?? 0) + 1;
		return counts[checkOf(row)] <= MOST_LISTED;
	});
	findings.sort((a, b) => a.seq - b.seq || checkOf(a) - checkOf(b) ||
		(a.code < b.code ? -1 : Number(a.code > b.code)));
	const { signed, signers, able } = signatures;
	const evidence = {
		2: passed(2, { files: many(listed, "file"), withheld: withheld.size },
			withheld.size && "withheld"),
		3: signatures.evidence,
		8: passed(8, { texts: textsInWords(counted) }, partly && "gone"),
		...evidenceOf(read), ...(walk.ended ? evidenceOfWalk(walk) : {}),
	};
	const level = findings.length ? null : Number(signed), { goneTurns: gone, turns } = walk;
	const unread = ["checkpoint", "register.jsonl"].filter((name) => files.has(name));
	const said = WORDING.caveats, caveats = [
		level !== null && !walk.closed && said.open, partly && textsInWords(counted),
		gone && fill(said.turns, { gone, turns: many(turns.length, "turn") }),
		unread.length && said.register,
	].filter(Boolean);
	return {
		debate: events[0]?.debate ?? null, entries: read.total, open: !walk.closed, level,
		verdict: WORDING.verdicts[level ?? "none"], caveats, counted,
		checks: [...judge(findings, counts, evidence, signed, missing(read, walk)),
			...unsupported(unread)],
		findings, lines, texts,
		templates: new Map([...templates].map(([name, bytes]) => [name, toText(bytes, false)])),
		signers, ed25519: able, walk,
	};
}

// How many of the texts that are named there are, and what became of the others.
function textsInWords({ named, present, ...gone }) {
	const said = WORDING.counted, rows = Object.entries(gone).filter(([, number]) => number);
	return list([fill(said.present, { present, named: many(named, "text") }),
		...rows.map(([key, number]) => fill(said[key], { number }))]);
}

// The check of the register, of which only the files are known yet.
const unsupported = (names) => (names.length ? [{
	number: 17, name: WORDING.register.name, status: "unsupported",
	evidence: fill(WORDING.register.evidence, { files: list(names) }),
}] : []);

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
		16: passed(16, { outcome: rows.join("; ") }, !rows.length && "open"),
	};
}

// What is gone or was not reached, if anything, and the words for it.
function missing({ total }, walk) {
	if (!walk.ended) return ["walk", { walked: walk.followed, entries: many(total, "entry") }];
	if (walk.goneReplies) return ["replies", { gone: many(walk.goneReplies, "reply") }];
	return walk.goneDocuments ? ["documents", {}] : [];
}

// Each check but the container's, which a page does not see: what has findings fails.
function judge(findings, counts, evidence, signed, [what, values]) {
	return Object.entries(VOCABULARY.checks).map(([key, { name, rests_on: resting }]) => {
		const number = Number(key), told = findings.find((row) => checkOf(row) === number);
		const why = resting?.includes(what) && fill(WORDING.unchecked[what], values);
		const left = why || (number === 3 && !signed), status = left ? "unchecked" : "pass";
		return told ? { number, name, status: "fail", evidence: where(told, counts[key]) }
			: { number, name, status, evidence: why || evidence[key] };
	});
}

// What a check found first, where, and how many more findings it has.
function where({ seq, message }, count) {
	const places = [seq && `entry ${seq}`, count > 1 && `${count - 1} more`].filter(Boolean);
	return places.length ? `${message} (${places.join("; ")})` : message;
}
