"use strict";
// What became of a debate, in one sentence: what a reader sees first. The reports make the same
// sentence (`report/lead.py`). What models wrote stands in it in quotation marks.

const MOST_WORDS = 160; // characters of what somebody wrote
const FIRST_SENTENCE = /^(.{20,}?)[.!?] (?=[A-Z])/u; // of several sentences
const isWritten = (text) => typeof text === "string" && text.trim() !== "";
const leadWords = (name, values = {}) => fill(WORDING.lead[name], values);

// The first sentence of what a model wrote.
const opening = (text) => {
	const line = oneLine(text ?? "");
	if (!line) return GONE;
	const [, first] = FIRST_SENTENCE.exec(line) ?? [null, null];
	let words = [...first ?? line.replace(/\.$/, "")];
	if (words.length > MOST_WORDS) { // cut between words, where there are any
		const end = words.slice(0, MOST_WORDS).lastIndexOf(" ");
		words = [...words.slice(0, Math.max(end, MOST_WORDS / 2)), "…"];
	} else if (first !== null) words.push(" …");
	return leadWords("quoted", { words: words.join("").replaceAll("“", "‘").replaceAll("”", "’") });
};
// The deliverable's, where it is words or has some under a name that leads.
const delivered = ({ output }) => {
	const named = isObject(output) ? WORDING.deliverable.lead.split(", ")
		.map((name) => (Object.hasOwn(output, name) ? output[name] : null)).find(isWritten) : output;
	return isWritten(named) ? opening(named) : null;
};
const tallied = (tally) => few([...tally].map(([option, count]) => `${option} ${count}`));
const voters = (f) => f.seats.filter((seat) => seat.role === "debater");

// What votes decided on an option.
const countedLead = (f) => {
	const option = f.decision, words = delivered(f);
	const last = voters(f).map((seat) => [seat.id, seat.votes.at(-1) ?? null]);
	const named = (holds) => few(last.filter(([, vote]) => holds(vote)).map(([id]) => id));
	const dissent = named((vote) => vote !== null && vote !== option);
	const silent = named((vote) => vote === null);
	return [words ? leadWords("carried", { words, option }) : option, list([
		leadWords("votes", { votes: f.vote_tally.get(option) ?? 0, all: last.length }),
		dissent && leadWords("dissented", { who: dissent }),
		silent && leadWords("abstained", { who: silent }),
	].filter(Boolean))];
};
const leftLead = (f, how = WORDING.how[f.decision_rule]) => {
	const who = oneLine(f.review ?? "", 80);
	return [leadWords("left"), who ? leadWords("asked", { how, who }) : how];
};
const shortLead = (f) => {
	const needed = f.consensus_threshold;
	const enough = [...f.vote_tally]
		.filter(([option, count]) => option !== "abstain" && count >= needed);
	return leftLead(f, leadWords(enough.length > 1 ? "tied" : "none_reached",
		{ needed, all: voters(f).length, tally: tallied(f.vote_tally) }));
};

// How the review stands; `doubted` where none counts, and one by a key that nobody confirmed speaks
// against the decision.
const leadingState = (review) => {
	const { state = "not required", reviews = [] } = review ?? {};
	const against = reviews.some(({ standing, event }) => !["trusted", "faulty"].includes(standing) &&
		["rejected", "remanded"].includes(event.data.outcome));
	return against && ["not required", "waiting"].includes(state) ? "doubted" : state;
};
// How the review stands, what became of the debate, and how.
const leadOf = (f, state = "not required") => {
	if (f.decision_rule) {
		const waits = OPEN_ENDS.includes(f.decision) && ["waiting", "overdue"].includes(state);
		return [(!waits && WORDING.lead_reviews[state]) || "", ...formatOf(f).lead(f)];
	}
	if (!f.reason) {
		return ["", leadWords("open"),
			leadWords("running", { round: f.rounds_run, rounds: f.max_rounds })];
	}
	const why = WORDING.stopped[f.reason];
	if (!f.truncated) return ["", leadWords("failed"), why];
	return ["", leadWords("truncated"), leadWords("why", {
		why: f.stopper ? `${why}, ${oneLine(f.stopper, 200)}` : why,
		standing: formatOf(f).stood(f),
	})];
};
const sentenceOf = ([review, head, tail]) => `${review && `${review}. `}${head}: ${tail}`;
