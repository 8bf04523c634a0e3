"use strict";
// How the review of a debate stands, in the words of `hansard status`; nothing where none is
// required and nobody said anything. Whose review counts is for the reader's keys to say.

function reviewInWords({ walk: { review, held }, texts }) {
	if (!review || !(review.wanted || review.reviews.length || held)) return "";
	const { reviewed: own, exceptions: asked, standings } = VOCABULARY.words;
	const { state, wanted, exceptions, reviews } = review, open = new Set(review.open);
	const counting = reviews.filter((row) => row.standing === "trusted");
	const others = reviews.filter((row) => row.standing !== "trusted");
	const last = [...new Map(counting.map((row) => [row.key, row])).values()];
	const unmet = last.flatMap(({ event }) => event.data.conditions)
		.filter((row) => open.has(row.sha256)).length;
	const reasons = others.map(({ standing, key }) =>
		fill(standings[standing] ?? "this browser cannot check the key {key}", { key }));
	return [
		fill(own[state], {
			who: list(last.map((row) => reviewerInWords(row, texts))), wanted: many(wanted || 1, "approval"),
			why: list(exceptions.map((name) => asked[name])) || own.policy,
		}),
		unmet && fill(own.open, { conditions: many(unmet, "condition") }),
		others.length && fill(own.uncounted,
			{ reviews: many(others.length, "review"), why: list([...new Set(reasons)]) }),
		held && own.held,
	].filter(Boolean).join("; ");
}

const reviewerInWords = ({ event: { at, data }, key }, texts) => fill(VOCABULARY.words.reviewed.person, {
	name: shown({ texts }, data.reviewer), outcome: WORDING.reviews[data.outcome],
	day: at.slice(0, 10), key,
});

// Of each condition of all reviews, numbered in their order, whether it is met.
const conditionsInWords = ({ walk: { review }, texts }) => {
	const open = new Set(review?.open);
	return (review?.reviews ?? []).flatMap((row) => row.event.data.conditions.map((blob) => [row, blob]))
		.map(([row, blob], index) => {
			const met = row.standing === "trusted" && !open.has(blob.sha256);
			return fill(VOCABULARY.words.conditions[met ? "met" : "open"],
				{ number: index + 1, text: shown({ texts }, blob) });
		});
};
