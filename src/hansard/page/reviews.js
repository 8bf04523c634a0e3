"use strict";
// How the review of a debate stands, by the keys that the reader gave, as `hansard status` says it.

// Why the word of a key does not count for this reader.
const standingInWords = (standing, key) =>
	fill(WORDING.standings[standing] ?? "this browser cannot check the key {key}", { key });

function reviewInWords({ walk: { review, held }, texts }) {
	if (!review || !(review.wanted || review.reviews.length || held || review.lifts.length)) return "";
	const { reviewed: own, says } = WORDING, { state, wanted, reviews } = review;
	const others = reviews.filter((row) => row.standing !== "trusted"), unmet = unmetIn(review);
	return [
		fill(own[state === "waiting" && others.length ? "uncounting" : state], {
			who: list(standingReviews(review).map((row) => reviewerInWords(row, texts))),
			wanted: many(wanted || 1, "approval"), why: askedSince(review),
		}),
		unmet && fill(own.open, { conditions: many(unmet, "condition") }),
		...others.slice(0, 3).map(({ key, standing, event: { data } }) => fill(own.uncounted, {
			name: oneLine(shown({ texts }, data.reviewer), 200), outcome: says[data.outcome],
			why: standingInWords(standing, key),
		})),
		others.length > 3 && fill(own.others, { more: others.length - 3 }),
		held && own.held,
		...liftsInWords(review),
	].filter(Boolean).join("; ");
}

// When holds were lifted, by whose keys, and why that does not count: the doubtful first.
function liftsInWords({ lifts }) {
	const own = WORDING.reviewed, counts = (row) => row.standing === "trusted";
	const rows = [...lifts.filter((row) => !counts(row)), ...lifts.filter(counts)];
	return [
		...rows.slice(0, 3).map((row) => {
			const { key, standing, event: { at } } = row;
			const how = key === undefined ? "unsigned" : counts(row) ? "trusted" : "doubted";
			return fill(own[`lifted_${how}`],
				{ day: at.slice(0, 10), key, why: standingInWords(standing, key) });
		}),
		rows.length > 3 && fill(own.lifted_again, { times: many(rows.length - 3, "more time") }),
	];
}

const reviewerInWords = ({ event: { at, data }, key }, texts) => fill(VOCABULARY.words.reviewed.person, {
	name: oneLine(shown({ texts }, data.reviewer), 200), outcome: WORDING.reviews[data.outcome],
	day: at.slice(0, 10), key,
});

// Of each condition of all reviews, numbered in their order, whether it is met.
const conditionsInWords = ({ walk: { review }, texts }) => {
	const open = new Set(review?.open), told = linesOf(texts, 1000);
	return (review?.reviews ?? []).flatMap((row) => row.event.data.conditions.map((blob) => [row, blob]))
		.map(([row, blob], index) => {
			const met = row.standing === "trusted" && !open.has(blob.sha256);
			return fill(VOCABULARY.words.conditions[met ? "met" : "open"],
				{ number: index + 1, text: told(blob) });
		});
};

// Of each text that was erased what it was, when, why, at whose request, and who signed.
const erasedInWords = ({ walk: { redactions }, texts }, written = linesOf(texts, 1000)) =>
	redactions.map((row) => {
		const own = VOCABULARY.words.erased, { at, data } = row.event;
		const doubts = row.keys.filter((each) => each.standing !== "trusted");
		const told = fill(own.row, {
			field: data.field, seq: data.seq, day: at.slice(0, 10),
			...Object.fromEntries(["reason", "basis", "asked_by"].map((name) =>
				[name, written(data[name])])),
			keys: list(row.keys.map(({ key }) => key)),
		});
		const why = doubts.map(({ standing, key }) => standingInWords(standing, key));
		return { seq: row.seq, counts: row.counts, text: row.counts ? told
			: fill(own.doubted, { row: told, why: list(why) || own.policy }) };
	});
