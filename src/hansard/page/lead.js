"use strict";
// What became of a debate, in one sentence (as `report/lead.py`); models' words are in quotation marks.

const MOST_WORDS = 160; // characters of what somebody wrote
const ALL_WORDS = 600; // of an answer, which may name more than one thing to do
const FIRST_SENTENCE = /^(.{20,}?)[.!?] (?=[A-Z])/u; // of several sentences
const LAST_SENTENCE = /^(.{20,})[.!?] (?=[A-Z])/u; // of those that fit
const isWritten = (text) => typeof text === "string" && text.trim() !== "";
const leadWords = (name, values = {}) => fill(WORDING.lead[name], values);

// The first sentence of what a model wrote; with the limit ALL_WORDS all sentences that fit.
const opening = (text, limit = MOST_WORDS) => {
	const line = oneLine((text ?? "").replaceAll("`", ""));
	if (!line) return GONE;
	const long = [...line], room = long.slice(0, ALL_WORDS + 3).join("");
	const [, first] = (limit !== ALL_WORDS ? FIRST_SENTENCE.exec(line)
		: long.length > ALL_WORDS && LAST_SENTENCE.exec(room)) || [null, null];
	let words = [...first ?? line.replace(/\.$/, "")];
	if (words.length > limit) { // cut between words, where there are any
		const end = words.slice(0, limit).lastIndexOf(" ");
		words = [...words.slice(0, Math.max(end, limit / 2)), "…"];
	} else if (first !== null) words.push(" …");
	return inMarks(words.join(""));
};
// A line in quotation marks, which end where it ends and nowhere before.
const inMarks = (line) =>
	leadWords("quoted", { words: line.replaceAll("“", "‘").replaceAll("”", "’") });
// The deliverable's, where it is words or has some under a name that leads.
const delivered = ({ output }, limit = MOST_WORDS) => {
	const named = isObject(output) ? WORDING.deliverable.lead.split(", ")
		.map((name) => (Object.hasOwn(output, name) ? output[name] : null)).find(isWritten) : output;
	return isWritten(named) ? opening(named, limit) : null;
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
const leftLead = (f, how = WORDING.how[f.decision_rule]) => [leadWords("left"), how];
const shortLead = (f) => {
	const needed = f.consensus_threshold;
	const enough = [...f.vote_tally]
		.filter(([option, count]) => option !== "abstain" && count >= needed);
	return leftLead(f, leadWords(enough.length > 1 ? "tied" : "none_reached",
		{ needed, all: voters(f).length, tally: tallied(f.vote_tally) }));
};

// Whether those who decided were models, functions or scripts.
const sat = (f, words) => {
	const judges = f.seats.filter((seat) => ["judge", "moderator"].includes(seat.role));
	const seats = judges.length ? judges : voters(f), { kinds, sitting } = WORDING;
	if (!seats.length) return words;
	const kindOf = new Map(Object.entries(kinds));
	const names = seats.map(({ model }) => kindOf.get(model.split(":")[0]) ?? kinds.model);
	const several = !judges.length && seats.length > 1;
	return fill(sitting[judges.length || several ? seats[0].role : "one"], { words,
		kind: unique(names).map((name) => (several ? `${name}s` : name)).join(" and ") });
};
// What became of the debate, and how.
const leadOf = (f) => {
	if (f.decision_rule) {
		const [head, tail] = formatOf(f).lead(f);
		return [head, sat(f, tail)];
	}
	if (!f.reason) {
		return [leadWords("open"), leadWords("running", { round: f.rounds_run, rounds: f.max_rounds })];
	}
	const why = WORDING.stopped[f.reason];
	if (!f.truncated) return [leadWords("failed"), why];
	return [leadWords("truncated"), sat(f, leadWords("why", {
		why: f.stopper ? `${why}, ${oneLine(f.stopper, 200)}` : why,
		standing: formatOf(f).stood(f),
	}))];
};
