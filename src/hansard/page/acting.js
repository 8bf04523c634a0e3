"use strict";
// Whether one may act on a debate, and who must do what first (as `report/acting.py`).

// Whose names are told of a review that stands so; of others, of all that count.
const TOLD = { rejected: ["rejected"], remanded: ["remanded"], approved: ["approved", "conditions"] };

// Reviews against the decision by keys that the reader did not give, where none counts.
const against = ({ state, reviews }) => reviews.filter(({ standing, event }) =>
	["not required", "waiting"].includes(state) && !["trusted", "faulty"].includes(standing) &&
	["rejected", "remanded"].includes(event.data.outcome));
const standingReviews = ({ reviews }) => [...new Map(reviews
	.filter((row) => row.standing === "trusted").map((row) => [row.key, row])).values()];
const unmetIn = (review) => standingReviews(review).flatMap(({ event }) => event.data.conditions)
	.filter((row) => review.open.includes(row.sha256)).length;
const askedSince = ({ exceptions }) =>
	list(exceptions.map((name) => WORDING.exceptions[name])) || WORDING.reviewed.policy;
// What somebody wrote as a name: in a sentence of ours it makes none of its own.
const nameInMarks = (text) => inMarks(oneLine(text, 80));

// `verdict` is how the page judges the record, with the keys that its reader gave.
function actingOn(f, { walk, texts }, verdict) {
	const review = walk?.review ?? { state: "not required", reviews: [], exceptions: [] };
	const name = actingCase(f, review, verdict), { asked, reviewer, ...answers } = WORDING.acting;
	const [answer, words] = Object.entries(answers).find(([, row]) => name in row);
	const rows = (name === "doubted" ? against : standingReviews)(review)
		.filter(({ event }) => TOLD[name]?.includes(event.data.outcome) ?? true);
	const who = f.review || f.owner?.name || "";
	return { answer, head: words.head, why: fill(words[name], {
		asked: oneLine(who, 80) ? nameInMarks(who) : asked, reviewer,
		who: few(unique(unique(rows.map(({ event: { data } }) => textOf({ texts }, data.reviewer)))
			.map((name) => name ? nameInMarks(name) : GONE))),
		why: askedSince(review), wanted: many(review.wanted || 1, "approval"),
		conditions: many(unmetIn(review), "condition"),
	}) };
}
function actingCase(f, review, verdict) {
	const { state, released } = review;
	if (["altered", "foreign"].includes(verdict)) return verdict;
	if (f.status !== "complete") return f.status;
	if (OPEN_ENDS.includes(f.decision)) return "left";
	if (state === "partly" && unmetIn(review)) return "conditions";
	if (!["approved", "not required"].includes(state)) return state;
	return [
		["unconfirmed", !released || verdict !== "intact"], ["doubted", against(review).length],
		["scripted", f.scripted],
		["measured", Boolean(f.draws) && state !== "approved"],
		["output", f.output_missing !== null],
		[state === "approved" ? "approved" : "free", true],
	].find(([, applies]) => applies)[0];
}
