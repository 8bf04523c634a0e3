"use strict";
// panel: rounds in which all draft at once, until they converge; then one way to resolve (FORMAT.md
// §8.4, §9).

const WORD = /[^\x00-\/:-@\[-`{-\xbf\u2000-\u206f\u3000-\u303f]+/gu;
const NEGATIONS = new Set((
	"no not never none nor neither nobody nothing cannot without dont doesnt didnt isnt arent " +
	"wasnt werent wont wouldnt shouldnt cant couldnt hasnt havent hadnt mustnt").split(" "));
const plain = (text) =>
	text.replace(/['’]/g, "").replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const wordsOf = (text) => plain(text).match(WORD) ?? [];
const SPACE = 32; // before every letter

// The characters of an answer whose words are compared: the first 65,536.
const compared = (text) => (text.length <= 65536 ? text
	: Array.from(text.slice(0, 131072)).slice(0, 65536).join(""));

// Different words, sorted, a space after each: as sets, those of 98 long answers took 100 MB.
const listOf = (words) => {
	const different = [...new Set(words)].sort();
	return { size: different.length, listed: [...different, ""].join(" ") };
};

// The words that two lists have in common, of all in them, in millionths.
function likeness({ size, listed: one }, { size: others, listed: other }) {
	let common = 0;
	for (let here = 0, there = 0; one[here] && other[there];) {
		let alike = 0; // letters
		const at = (list, place) => list.charCodeAt(place + alike);
		while (at(one, here) === at(other, there) && at(one, here) !== SPACE) alike++;
		const order = at(one, here) - at(other, there);
		if (order === 0) common++;
		if (order <= 0) here = one.indexOf(" ", here + alike) + 1;
		if (order >= 0) there = other.indexOf(" ", there + alike) + 1;
	}
	return Math.floor(1000000 * common / (size + others - common || 1));
}

// What is compared of a draft: its words, and the whole of its answer.
function answerOf(walk, turn) {
	const [, value] = readAgain(walk, turn.step, turn.reply), text = isObject(value) ? value.answer : value;
	const words = wordsOf(compared(text)), negations = words.filter((word) => NEGATIONS.has(word)).length;
	return { id: turn.id, whole: folded(text), words: listOf(words), negations };
}

function compareAnswers(one, other, measure) {
	const ppm = measure === "whole" ? 1000000 * (one.whole === other.whole)
		: likeness(one.words, other.words);
	const differs = one.negations !== other.negations;
	return { one: one.id, other: other.id, ppm, negation_differs: differs };
}

const pairsOf = (rows) =>
	rows.flatMap((one, index) => rows.slice(index + 1).map((other) => [one, other]));
// The different answers, each under the first who gave it.
function countAnswers(walk, turns, threshold) {
	const drafts = heard(turns), alike = new Map(), tally = new Map();
	if (drafts.some((turn) => turn.reply.gone)) {
		return due("votes.counted", 14, (data) => {
			const stated = new Map(data.tally.map((row) => [row.option, row.votes]));
			const ids = drafts.map((turn) => turn.id);
			const known = [...stated.keys()].every((id) => ids.includes(id));
			if (!known || stated.size !== data.tally.length) return null;
			return counted(turns, stated, threshold).fields;
		});
	}
	for (const turn of drafts) {
		const answer = plain(answerOf(walk, turn).whole), first = alike.get(answer) ?? turn.id;
		alike.set(answer, first);
		tally.set(first, (tally.get(first) ?? 0) + 1);
	}
	return counted(turns, tally, threshold);
}

// The answers of a round compared; the last time, it is their words alone that count.
function measure(walk, round, drafts, last = false) {
	const { terms } = walk, threshold = terms.convergence_ppm ?? 0, options = terms.options.length > 0 && !last;
	const kind = threshold === 1000000 && !last ? "whole" : "words";
	const fields = {
		round, measure: options ? "options" : kind, heard: drafts.length, threshold_ppm: threshold,
	};
	const enough = drafts.length >= 2 && 2 * drafts.length > terms.labels.length;
	const similarity = (fields) => due("similarity.measured", 14, fields);
	if (options) {
		const agreed = enough && new Set(drafts.map((turn) => turn.says.vote)).size === 1;
		return similarity({ ...fields, pairs: [], converged: agreed });
	}
	if (drafts.some((turn) => turn.reply.gone)) {
		const ids = pairsOf(drafts.map((turn) => turn.id));
		return similarity((data) => {
			const named = data.pairs.map((row) => [row.one, row.other]);
			if (canonical(named) !== canonical(ids)) return null;
			return last || !enough ? { ...fields, converged: false } : fields;
		});
	}
	const pairs = pairsOf(drafts.map((turn) => answerOf(walk, turn)))
		.map(([one, other]) => compareAnswers(one, other, kind));
	const alike = pairs.every((row) => row.ppm >= threshold && !row.negation_differs);
	return similarity({ ...fields, pairs, converged: enough && alike && !last });
}

function* schedulePanel(debate) {
	const { terms } = debate, debaters = debate.seated("debater");
	let similarity, turns, drafts, number = -1;
	do {
		number++;
		turns = yield debaters.map((seat) => debate.step(number, "draft", seat));
		drafts = heard(turns);
		if (!drafts.length) return [null, "nobody_heard"];
		if (terms.convergence_ppm !== null) similarity = yield measure(debate, number, drafts);
	} while (!similarity?.converged && number < terms.max_rounds);
	const converged = Boolean(similarity?.converged);
	const reason = converged ? "converged" : "rounds_complete";
	if (drafts.length < 2) return [tooFew(), reason];
	for (const judge of debate.seated("judge")) {
		const [verdict] = yield [debate.step(number, "verdict", judge)];
		if (!verdict.reply) return [null, "judge_failed"];
		const { winner, choice } = verdict.says, picks = terms.resolution === "pick";
		const spoken = heard(debate.turns).map((turn) => turn.id);
		if (picks && !spoken.includes(winner)) return [tooFew(), reason];
		const rule = picks ? "judge_pick" : "judge_synthesis";
		return [decided(winner || choice || "synthesis", rule), reason];
	}
	const options = terms.options.length > 0;
	if (terms.resolution === "majority" && (options || !converged)) {
		const threshold = Math.floor(debaters.length / 2) + 1;
		const count = yield options ? countVotes(terms.options, turns, threshold)
			: countAnswers(debate, turns, threshold);
		if (count.reached) return [byCount(count, "majority_vote"), reason];
		if (terms.fallback === "escalate") {
			return [decided("escalate", "no_majority", { votes: 0, threshold }), reason];
		}
	}
	if (similarity?.measure !== "words") similarity = yield measure(debate, number, drafts, true);
	const scores = new Map(drafts.map((turn) => [turn.id, 0]));
	for (const { one, other, ppm } of similarity.pairs) {
		scores.set(one, scores.get(one) + ppm);
		scores.set(other, scores.get(other) + ppm);
	}
	let best = drafts[0].id; // the first of those with the highest score
	for (const [id, score] of scores) if (score > scores.get(best)) best = id;
	return [decided(best, "most_similar", { score_ppm: scores.get(best) }), reason];
}

const panelResult = (s, { options, resolution }) => {
	const turns = turnsOf(s, "debater"), every = new Map();
	const rounds = unique(turns.map((row) => row.round)).map((number, index) => {
		const heard = turns.filter((row) => row.round === number && isHeard(row));
		const drafts = new Map(heard.map((row) =>
			[row.seat, options.length ? textIn(saidBy(row), "answer") : row.text]));
		for (const [id, text] of drafts) every.set(id, text);
		return { round_index: index, drafts };
	});
	const last = new Map([...s.votes.keys()].filter((id) => every.has(id))
		.map((id) => [id, every.get(id)]));
	const counted = s.counts.at(-1) ?? null;
	let tally = counted && tallyOf(s);
	if (counted && !options.length) {
		tally = new Map(counted.tally.map((row) => [row.option, row.votes]));
		if (counted.abstentions) tally.set("abstain", counted.abstentions);
	}
	const [final, winner_label] = panelAnswer(s, options, last);
	return {
		options, resolution, final, winner_label, judgment: panelJudgment(s),
		consensus_threshold: counted && counted.threshold, vote_tally: tally, rounds,
		last_drafts: last, similarities: s.similarities,
	};
};
// The answer of a panel, and whose it is.
const panelAnswer = (s, options, last) => {
	const { decision, rule } = s.decision || {};
	if (!rule || rule === "too_few_heard" || rule === "no_majority") return [null, null];
	if (rule === "judge_synthesis") return [textIn(saidBy(verdictIn(s)), "answer") || GONE, null];
	if (rule === "majority_vote" && options.length) {
		return [decision, [...s.votes.keys()].find((id) => s.votes.get(id) === decision) ?? null];
	}
	return [last.get(decision) || GONE, decision];
};
// Why it is that one, in the judge's words or in ours.
const panelJudgment = (s) => {
	const judge = verdictIn(s), by = s.decision, debaters = s.votes.size;
	if (judge) return shown(s, judge.reply);
	const similar = s.similarities.findLast((row) => row.converged);
	const others = (s.similarities.at(-1)?.heard ?? 0) - 1, { alike, judgments } = WORDING;
	return [
		similar && fill(judgments[similar.measure === "options" ? "options" : "words"],
			{ ...similar, alike }),
		by?.rule === "most_similar" ? fill(judgments.similar,
			{ ...by, similar: inPercent(Math.floor(by.score_ppm / others)) })
			: by && by.votes !== null && fill(judgments.votes, { ...by, debaters }),
	].filter(Boolean).join("; ") || null;
};
// Each change of an answer, and the earlier answer that it has come closest to.
const answerDrift = (s, rounds) => {
	const last = new Map(), found = [];
	for (const { round_index: round, drafts } of rounds) {
		const before = new Map(last), lists = new Map();
		const like = (...texts) => likeness(...texts.map((text) => {
			if (!lists.has(text)) lists.set(text, listOf(wordsOf(compared(text))));
			return lists.get(text);
		}));
		for (const [seat, text] of drafts) {
			last.set(seat, text);
			const old = before.get(seat) ?? null;
			if (old === null || text === null || folded(old) === folded(text)) continue;
			const [near] = [...before].filter(([id, other]) => id !== seat && other !== null)
				.map(([id, other]) => [id, like(old, other), like(text, other)])
				.filter(([, was, is]) => is > was)
				.sort((a, b) => b[2] - b[1] - (a[2] - a[1]));
			found.push(change({ seat, round, phase: "draft" }, "answer", near &&
				{ towards: [near[0]], before_ppm: near[1], after_ppm: near[2] }));
		}
	}
	return found;
};

// No two answers can both be held by more than half: the leaders tie.
const leadersTie = (s, d) => {
	const votes = Math.max(0, ...d.tally.map((row) => row.votes));
	const tied = d.tally.filter((row) => row.votes === votes).map((row) => row.option);
	return [[tied.length > 1, "tie", { ...d, options: list(tied), votes }, "votes"]];
};
const similarNotes = (s, d) => {
	const least = inPercent(d.pairs.length ? Math.min(...d.pairs.map((row) => row.ppm)) : 0);
	return [[d.converged, "similar_wording", { ...d, least, alike: WORDING.alike },
		d.measure === "options" ? "options" : "words"]];
};
// Drafts that are equally like the others are told apart by their registration.
const equalNotes = (s, { rule }) => {
	if (rule !== "most_similar") return [];
	const scores = new Map();
	for (const { one, other, ppm } of s.similarities.at(-1).pairs) {
		for (const name of [one, other]) scores.set(name, (scores.get(name) || 0) + ppm);
	}
	const top = Math.max(...scores.values());
	const best = [...scores.keys()].filter((name) => scores.get(name) === top);
	return [[best.length > 1, "tie", { debaters: list(best) }, "similarity"]];
};

function drawSimilar(f) {
	const last = f.similarities.at(-1), least = last.threshold_ppm;
	return figure("Similarity of the answers",
	last.pairs.length > 0 && [
		h("p.dim", `Round ${last.round_index}:`),
		bars(firstOf(last.pairs, 20).map((row) => [[said(row.one), " – ", said(row.other)],
			bar([[0, row.ppm / 1e6, "c0"]], least / 1e6), inPercent(row.ppm)])),
		h("p.dim", `From ${inPercent(least)} on (dashed) they count as alike: ${WORDING.alike}.`)],
		lastOnes(f.similarities),
		table("plain", "Least similar by round",
			["Round", "Answers", "Least similar", "Ended the rounds"],
			lastOf(f.similarities, MOST_ROUNDS).map((row) => [row.round_index, row.heard,
				row.pairs.length ? inPercent(Math.min(...row.pairs.map((pair) => pair.ppm))) : "–",
				row.converged ? "yes" : "no"])));
}

// The judge's reply but for the answer that it gives; else how the answer was found.
function drawJudgment({ turns, judgment }) {
	const { value } = turns.find((row) => row.role === "judge" && isHeard(row)) ?? {};
	return value ? members(Object.entries(value).filter(([key]) => key !== "answer"))
		: h("p.dim", said(judgment));
}

FORMATS.panel = {
	phases: "draft|verdict",
	firstRound: 0,
	terms: ["max_rounds:thousand convergence_ppm:ppm? resolution:synthesis|pick|majority|" +
		"similar fallback:escalate|similar", { labels: ["name"], options: ["name"] }],
	sound: ({ labels, options }) => distinct(labels) && labels.length >= 2 &&
		!options.some((name) => name === "synthesis" || labels.includes(name)),
	seats: ({ labels, resolution }) => [...labels.map((label) => ["debater", null, label]),
		...(["synthesis", "pick"].includes(resolution) ? [["judge", null]] : [])],
	templates: {
		protocol: "", debater: "last_round round speaker", chooser: "last_round options round speaker",
		judge: "", judge_choosing: "options", judge_picking: "labels",
	},
	template: ({ options, resolution }, role) => {
		if (role === "judge" && resolution === "pick") return "judge_picking";
		return options.length ? { debater: "chooser", judge: "judge_choosing" }[role] ?? role : role;
	},
	schemas: ({ options, labels, resolution }) => {
		const answer = [["answer", TEXT], ...(options.length ? [["choice", oneOf(options)]] : [])];
		const judge = resolution === "pick" ? [["winner", oneOf(labels)]] : answer;
		return [
			["debater", options.length ? record(answer) : TEXT],
			["judge", record([...judge, ["justification", TEXT]])],
		];
	},
	title: ({ id, step }) => `${id}, round ${step.round}`,
	couldRule: ({ terms: { resolution, labels, options } }, says) => (resolution === "pick"
		? labels.includes(says.winner) && nothingBut(says, "winner")
		: (options.length ? options : [null]).includes(says.choice) && nothingBut(says, "choice")),
	schedule: schedulePanel,
	lost: (walk) => {
		const { labels, resolution, fallback } = walk.terms;
		const counted = resolution === "majority" && fallback === "escalate";
		return stillIn(walk).length < (counted ? Math.floor(labels.length / 2) + 1 : 2);
	},

	result: panelResult,
	lead: (f) => {
		const { decision_rule: rule, final, winner_label: who, options } = f;
		if (rule === "majority_vote" && options.length) return countedLead(f);
		if (rule === "no_majority" && options.length) return shortLead(f);
		if (final === null) return leftLead(f);
		const words = opening(final === GONE ? null : final, ALL_WORDS);
		if (rule === "judge_synthesis") {
			return [options.length ? leadWords("carried", { words, option: f.decision }) : words,
				leadWords("answer")];
		}
		return [words, rule === "judge_pick" ? leadWords("picked", { who })
			: rule === "most_similar" ? leadWords("similar", { who, alike: WORDING.alike })
				: leadWords("alike", { votes: f.vote_tally.get(f.decision) ?? 0, all: f.debater_ids.length })];
	},
	stood: ({ last_drafts: { size } }) => (size ? leadWords("drafts", { drafts: many(size, "draft") })
		: leadWords("nothing")),
	drift: (s, { options, rounds }) => (options.length ? voteDrift(s)
		: answerDrift(s, rounds)),
	notes: {
		"votes.counted": leadersTie, "similarity.measured": similarNotes,
		"decision.reached": equalNotes,
	},
	whole: (s) => {
		const drafts = many(turnsOf(s, "debater").filter(isHeard).length, "draft");
		return [[isUnseen(s), "hollow_consensus", { drafts }, "drafts"]];
	},
	charts: (f) => [f.vote_tally && drawVotes(f), f.similarities.length > 0 && drawSimilar(f)],
	concluded: (f) => f.final && [words(f.final), drawJudgment(f)],
	undecided: (f) => [...f.last_drafts].map(([id, draft]) =>
		[h("p.by", "The last draft of ", seatName(id), ":"), shortened(draft, words(draft))]),
};
