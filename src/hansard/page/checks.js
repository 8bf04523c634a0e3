"use strict";
// What was checked, exceptions first: the governance rows, and the checks of the record.

// The governance rows: one that rests on a check that failed, or was not made, does not stand.
const rules = () => (page.figures?.governance ?? []).map((row) => {
	const checks = page.result.checks.filter((each) => row.checks.includes(each.number));
	const status = (name) => checks.find((each) => each.status === name);
	const on = status("fail") ?? (!row.review && status("unchecked")) ?? null;
	return { ...row, on, status: on ? on.status : row.review ? "review" : "pass" };
});
function refs({ notes }) {
	const found = unique(notes.map((note) => note.seq)).filter(Boolean).slice(0, 12);
	return found.length > 0 &&
		[found.length > 1 ? " (entries" : " (entry", found.map((seq) => [" ", ref(seq)]), ")"];
}
const look = (status, found, rule) => signed("li.signed", STATUS[status][0],
	h("span", found), h("span.dim", ` ${rule}`));

// Grave ones come first. Of many notes the first two are told, and a total in place of what it
// sums up: the entries show them all.
const grave = (row) => Number(row.notes.some((note) => note.severity === "critical"));
function toldOf({ notes, found }) {
	const summed = new Set(notes.filter((note) => !note.seq).map((note) => note.code));
	const told = notes.filter((note) => !note.seq || !summed.has(note.code))
		.map((note) => note.message.replaceAll("`", "")), more = told.length - 2;
	return `${told.slice(0, 2).join(". ") || capital(found)}.${
		more > 0 ? ` The entries show ${more} more.` : ""}`;
}

// An altered record's findings stand above these; the line on trust speaks of the signature.
function exceptions() {
	const rows = rules(), { checks } = page.result;
	const open = checks.filter((row) =>
		row.number !== 3 && ["unchecked", "unsupported"].includes(row.status));
	const shaken = rows.filter((row) => row.on?.status === "fail");
	const waiting = (check) => rows.filter((row) => row.on === check).map((row) => row.name);
	return [
		shaken.length > 0 && look("fail", "These rules rest on a check that failed:",
			`${list(shaken.map((row) => row.name))}.`),
		...rows.filter((row) => row.status === "review").sort((one, other) => grave(other) - grave(one))
			.map((row) => look("review", [toldOf(row), refs(row)], `Required, “${row.name}”: ${row.rule}`)),
		...open.map((check) => look("unchecked", ["Not checked: ", said(check.evidence), "."],
			`Check ${list([`${check.number} (${check.name})`, ...waiting(check)])}`)),
	].filter(Boolean);
}

const passedRows = () => [
	...rules().filter((row) => row.status === "pass").map((row) => [row.name, row.rule, row.found]),
	...page.result.checks.filter((row) => row.status === "pass")
		.map((row) => [`${row.number} ${row.name}`, "A check of the record, entry by entry.",
			said(row.evidence)]),
];

function drawChecks() {
	const found = exceptions(), passed = passedRows(), altered = verdict() === "altered";
	const unsure = page.result.checks.some((row) => row.number === 3 && row.status === "unchecked") &&
		"signer not confirmed";
	return h("section.card", { id: "checks", "aria-labelledby": "checks-title" },
		h("h2", { id: "checks-title" }, "What needs a look"),
		found.length ? h("ul.plain", found) : signed("p.signed", altered ? "bad" : "good",
			altered ? "What is said above." : "Nothing: all that could be checked here holds."),
		lazily([sign("good"), ` ${passed.length} passed`, unsure && `, ${unsure}`], drawPassed, "annexed"));
}
const drawPassed = () => table("rules", "Checks that passed", ["Check", "Rule", "Found"],
	passedRows().map(([name, rule, what]) => [h("strong", name), h("span.dim", rule), what]));
