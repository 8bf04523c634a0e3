"use strict";
// moderated: a framing, then rounds of propositions, each attacked and defended, and a moderation
// (FORMAT.md §8.3).

function* scheduleModerated(debate) {
	const { terms } = debate, [moderator] = debate.seated("moderator");
	const proposers = debate.seated("proposer"), critics = debate.seated("critic");
	let moderation, number = 0;
	yield [debate.step(1, "framing", debate.seated("framer")[0])];
	do {
		number++;
		const turns = yield proposers.map((seat) => debate.step(number, "proposition", seat, seat));
		if (!heard(turns).length) return [null, "nobody_heard"];
		for (const { step: { seat } } of critics.length ? heard(turns) : []) {
			const suffix = proposers.length > 1 ? `-${proposers.indexOf(seat) + 1}` : "";
			const [critique] = yield [debate.step(number, `critique${suffix}`, critics[0], seat)];
			if (critique.reply) {
				const [rebuttal] = debate.seated("rebuttal");
				yield [debate.step(number, `rebuttal${suffix}`, rebuttal, seat, critique)];
			}
		}
		[moderation] = yield [debate.step(number, "moderation", moderator)];
		if (!moderation.reply) return [null, "moderator_failed"];
	} while (moderation.says.another_round && number < terms.max_rounds);
	if (terms.neutrality_check) yield [debate.step(number, "neutrality", moderator)];
	const reason = moderation.says.another_round ? "max_rounds_exhausted" : "moderator_satisfied";
	return [moderatorDecision(debate, moderation), reason];
}

// As the last moderation says, where its position was heard and challenged (§9).
function moderatorDecision(debate, { says: { ranking, upholds } }) {
	const first = ranking.length ? ranking[0] : debate.seated("proposer")[0].id;
	const turns = heard(debate.turns).filter((turn) => turn.step.about?.id === first);
	const cases = turns.filter((turn) => turn.step.seat.role === "proposer");
	const critiques = turns.filter((turn) => turn.step.seat.role === "critic");
	const stands = (turn) => turn.struck.length < turn.case.arguments;
	if (!cases.length) return tooFew();
	if (debate.terms.critique && !critiques.some(stands)) return decided("escalate", "unchallenged");
	if ((ranking.length || upholds) && !cases.some(stands)) return decided("escalate", "unsupported");
	if (ranking.length) return decided(debate.seats.get(first).stance.label, "moderator_ranking");
	return decided(upholds ? "upheld" : "not_upheld", "moderator_synthesis");
}

function moderatedSchemas({ positions, critique }) {
	const texts = several(0, 100, TEXT), thesis = ["thesis", TEXT];
	const objection = ["objection", whole(1, 100)];
	const citations = ["citations", several(0, 10, record([["document", TEXT], ["quote", TEXT]]))];
	const args = several(1, 100, record([["argument", TEXT], citations]));
	const rebuttals = several(0, 100, record([objection, ["answer", TEXT], citations]));
	const concessions = several(0, 100, record([objection, ["reason", TEXT]]));
	const attacked = critique || !positions.length ? ["critic", "rebuttal"] : [];
	const sides = [...(positions.length ? positions : ["proposer"]), ...attacked];
	const last = positions.length
		? ["ranking", several(positions.length, positions.length, oneOf(positions))]
		: ["upholds_proposition", TRUTH];
	return [
		["framer", record([
			thesis, ["scope", TEXT], ["criteria", several(1, 100, TEXT)], ["key_evidence", texts],
		])],
		["proposer", record([
			thesis, ["supporting_arguments", args], ["anticipated_objections", texts],
		])],
		["critic", record([thesis, ["counter_arguments", args], ["challenge_strength", whole(1, 10)]])],
		["rebuttal", record([thesis, ["rebuttals", rebuttals], ["concessions", concessions]])],
		["moderator", record([
			["scores", record(unique(sides).map((side) => [side, whole(1, 10)]))],
			["resolved_points", texts], ["unresolved_points", texts],
			["recommend_another_round", TRUTH], ["synthesis", TEXT],
			["confidence", oneOf(["HIGH", "MODERATE", "LOW"])], ["explicit_uncertainties", texts], last,
		])],
	];
}

const phaseOf = (row) => row.phase.split("-")[0]; // `critique-2` is about the second position
// What a moderation says: of one that was forfeited, nothing.
const moderationOf = (s, row) => {
	const value = saidBy(row), found = row.found ?? NOTHING;
	return {
		speaker: row.seat, round_index: row.round, status: row.status, reason: row.silence,
		seq: row.seq, unresolved: found.unresolved,
		recommend_another_round: found.another_round, confidence: found.confidence,
		upholds: found.upholds, scores: new Map(found.scores.map((each) => [each.side, each.score])),
		ranking: found.ranking.map((id) => labelOf(s, id)).filter(Boolean),
		synthesis: textIn(value, "synthesis"), resolved_points: textsIn(value, "resolved_points"),
		unresolved_points: textsIn(value, "unresolved_points"),
		explicit_uncertainties: textsIn(value, "explicit_uncertainties"),
	};
};
// Whether two moderations come to one outcome.
const agree = (one, other) =>
	JSON.stringify([one.upholds, one.ranking]) === JSON.stringify([other.upholds, other.ranking]);
const casesOf = (s) => s.turns.map((row) => row.case).filter(Boolean);
const sentBackFor = (s, code) => [...s.sentBack.values()].filter((row) => row.code === code);

const moderatedResult = (s, terms) => {
	const said = turnsOf(s, "moderator").map((row) => ({ row, found: moderationOf(s, row) }));
	const moderations = said.filter(({ row }) => row.phase === "moderation");
	const last = moderations.findLast(({ row }) => isHeard(row))?.found ?? null;
	const again = last && said.find(({ row }) => row.phase === "neutrality");
	return {
		positions: stances(s), moderation: last,
		wants_more: Boolean(last?.recommend_another_round) && last.round_index === terms.max_rounds,
		neutrality: again ? {
			moderation: again.found, changed: isHeard(again.row) ? !agree(last, again.found) : null,
		} : null,
		require_critic_retry_below: terms.require_critic_retry_below,
		min_challenge_strength: terms.min_challenge_strength,
		require_cited_critique: terms.require_cited_critique,
		rounds: numbers(Math.min(s.turns.at(-1)?.round ?? 0, terms.max_rounds)).map((number) => ({
			round_index: number,
			new_documents: s.evidence.filter((row) => row.from_round === number)
				.map((row) => row.document),
			moderation: moderations.find(({ row }) => row.round === number)?.found ?? null,
			token_cost: tokensOf(s, number),
		})),
	};
};
// Each change of a thesis from one round to the next, position by position.
const thesisDrift = (s) => {
	const last = new Map(), found = [];
	for (const row of s.turns.filter((each) => each.role in ARGUING)) {
		const place = `${row.phase} ${row.seat}`, after = textIn(saidBy(row), "thesis");
		if (after === null) continue;
		const before = last.get(place);
		if (before !== undefined && before !== after) {
			found.push(change(row, "thesis", { before, after }));
		}
		last.set(place, after);
	}
	return found;
};
// The tokens of a round by role.
const tokensOf = (s, round) => {
	const found = new Map();
	for (const [number, role, tokens] of s.roundTokens) {
		if (number !== round || role === "synthesizer") continue;
		found.set(role, (found.get(role) || 0) + tokens);
	}
	return found;
};

const REVIEW_BELOW = 5; // of 10
const ratingNote = (whose, rating) => [rating !== null && rating < REVIEW_BELOW, "prompt_review",
	{ who: whose, rating, limit: REVIEW_BELOW }];
// What is worth a note of the case that a turn makes, and of a moderation.
function caseNotes(s, { step, round, case: found }) {
	if (!found) return [];
	const { arguments: total, rating, unanswered, citations, struck } = found;
	const least = s.spec.terms.min_challenge_strength;
	const whose = who(step), visible = s.evidence.some((row) => row.from_round <= round);
	const wrong = citations.filter((row) => row.finding !== "verified").map((row) =>
		fill(WORDING.citation, { ...row, finding: WORDING.findings[row.finding] }));
	const cited = new Set(citations.map((row) => row.argument));
	const phrase = phraseIn(textIn(saidBy(s.turns.at(-1)), "thesis") ?? "", WORDING.soft.split(", "));
	const uncited = numbers(total).filter((number) => !cited.has(number));
	const against = s.turns.at(-1).role === "rebuttal" && s.turns.at(-2)?.case;
	const standing = against ? against.arguments - against.struck.length : 0;
	return [
		[rating && rating < least, "weak_critique", { who: whose, rating, least }],
		[rating && visible && wrong.length === citations.length, "uncited_critique", { who: whose }],
		[rating && phrase, "soft_critique", { who: whose, phrase, rating }],
		ratingNote(whose, rating),
		[wrong.length, "fabricated_citation",
			{ who: whose, citations: wrong.join("; "),
				struck: fill(WORDING.struck[struck[1] ? "more" : "one"], { numbers: list(struck) }) }],
		[uncited.length, "uncited", { who: whose, arguments: list(uncited) }],
		[unanswered.length, "unanswered", { who: whose, objections: list(unanswered) }],
		[standing > 0 && !total && !unanswered.length, "capitulation", { who: whose }, "conceded"],
	];
}
function moderationNotes(s, d) {
	const again = d.phase === "neutrality" && s.verdict, same = again && agree(s.verdict, d);
	const last = d.phase === "moderation" && d.round === s.spec.terms.max_rounds;
	return [
		[again, same ? "neutrality_unchanged" : "neutrality_changed"],
		[last && d.another_round, "still_open", { points: d.unresolved }],
		[d.phase === "moderation" && d.confidence === "HIGH" && !d.uncertainties, "no_uncertainty"],
	];
}

// What is found for the rows of the governance table that only this format has.
const CASE_ROWS = {
	critic_rating: (s, part) => {
		const ratings = casesOf(s).map((row) => row.rating).filter(Boolean);
		const parts = [
			...(ratings.length ? [part("rated", { ratings: list(ratings) })] : []),
			...sentBackFor(s, "weak_critique").map((row) => part("sent_back", row)),
		];
		const { min_challenge_strength: least, require_critic_retry_below: below } = s.spec.terms;
		return [parts.length ? "text" : null, { parts: parts.join("; "), least, below }];
	},
	citations: (s, part) => {
		const all = casesOf(s).flatMap((row) => row.citations);
		const good = all.filter((row) => row.finding === "verified").length;
		const critiques = sentBackFor(s, "uncited_critique").length;
		const parts = [part(good < all.length ? "struck" : "good",
			{ good, citations: many(all.length, "citation") })];
		if (critiques) parts.push(part("sent_back", { critiques }));
		return casesOf(s).length && ["text", { parts: parts.join("; ") }];
	},
	objections: (s) => {
		const objections = sum(casesOf(s).map((row) => row.unanswered.length));
		return casesOf(s).length && [objections ? "open" : "text", { objections }];
	},
	neutrality: (s) => {
		const again = turnsOf(s, "moderator").find((row) => row.phase === "neutrality");
		const changed = s.notes.some((note) => note.code === "neutrality_changed");
		return again && [!isHeard(again) ? "silent" : changed ? "changed" : "same"];
	},
	open_points: ({ verdict: v }) => v && ["text", {
		points: many(v.unresolved, "open point"), uncertainties: many(v.uncertainties, "uncertainty"),
		confidence: lower(v.confidence),
	}, v.unresolved > 0],
};

// What the framer put to the debate.
const thesisOf = (f) => textIn(saidBy(f.turns.find((row) => row.role === "framer" && isHeard(row))),
	"thesis");
// A side as a line shows it: a position in its words, a critic by its role.
const positionIn = ({ positions }, label) =>
	stanceIn(label, positions.find((row) => row.label === label)?.text, 80);

function drawScores(f) {
	const rounds = f.rounds.filter((round) => round.moderation?.scores.size);
	if (!rounds.length) return null;
	const score = (round, side) => round.moderation.scores.get(side) ?? "–";
	const sides = [...rounds.at(-1).moderation.scores.keys()];
	const name = (side) => h(`strong.${seatTone(side)}`, said(positionIn(f, side)));
	const dot = (round, side) => {
		const cx = share(score(round, side) * 0.092 + 0.01);
		return s(`g.${seatTone(side)}${round === rounds.at(-1) ? "" : ".past"}`,
			s("circle", { cx, cy: "50%", r: 10 }), s("text", { x: cx, y: "50%" }, score(round, side)));
	};
	const ratings = ({ round_index: round }) =>
		list(f.turns.filter((row) => row.round === round && row.case?.rating)
			.map((row) => row.case.rating)) || "–";
	return figure("Quality of the arguments, 1 to 10",
		bars(sides.map((side) => [name(side), s("svg.dots", { "aria-hidden": "true" },
			s("line", { x1: "5%", x2: "95%", y1: "50%", y2: "50%" }),
			rounds.map((round) => dot(round, side))), ""])),
		h("p.dim", "The moderator rates arguments, not positions. Hollow: earlier rounds."),
		table("plain", "Scores by round",
			["Side", ...rounds.map((round) => `Round ${round.round_index}`)], [
				...sides.map((side) => [name(side), ...rounds.map((round) => score(round, side))]),
				["Confidence", ...rounds.map((round) => lower(round.moderation.confidence))],
				["Critic's own rating", ...rounds.map(ratings)]]));
}

FORMATS.moderated = {
	phases: "framing|proposition|critique|rebuttal|moderation|neutrality",
	terms: ["max_rounds:three critique:bool neutrality_check:bool require_cited_critique:bool " +
		"require_critic_retry_below:ten min_challenge_strength:ten", { positions: ["name"] }],
	sound: ({ positions, critique }) => {
		const roles = ["proposer", "critic", "rebuttal"];
		const apart = distinct(positions) && !positions.some((name) => roles.includes(name));
		return apart && positions.length !== 1 && (positions.length > 0 || critique);
	},
	seats: (terms) => {
		const positions = terms.positions.length ? terms.positions : [null];
		const attack = terms.critique ? [["critic", null], ["rebuttal", null]] : [];
		const proposers = positions.map((position) => ["proposer", position]);
		return [["framer", null], ...proposers, ...attack, ["moderator", null]];
	},
	templates: {
		protocol: "", framer: "", proposer: "position round", critic: "position round",
		critic_again: "code rating", rebuttal: "position round", moderator: "citations round",
		moderator_ranking: "citations positions round",
	},
	template: ({ positions }, role) =>
		(role === "moderator" && positions.length ? "moderator_ranking" : role),
	schemas: moderatedSchemas,
	title: ({ step }) => {
		const phase = phaseOf(step);
		return `${step.position ? `${phase} ${step.position}` : phase}, round ${step.round}`;
	},
	view: (turn) => ({ struck: turn.struck, view: "points" }),
	// A moderator that is asked again reads all but the last moderation, which is the last turn.
	ownOrder: (transcript, step) => {
		if (step.phase !== "neutrality") return null;
		const rank = { framer: 0, moderator: 2 };
		return inOrder(heard(transcript.turns).slice(0, -1).reverse(),
			(turn) => rank[turn.step.seat.role] ?? 1).flatMap((turn) => transcript.said(turn));
	},
	read: (walk, step, why, value) => {
		const { seat: { role }, against } = step;
		if (why || role === "synthesizer") return why; // what it writes need not be an object
		const cited = sum((value[ARGUING[role]] ?? []).map((row) => row.citations.length));
		const most = Math.floor(500 / walk.seated("proposer").length);
		if (cited > most) return rejection("schema", "citations", "minItems");
		const rows = against ? [...value.rebuttals, ...value.concessions] : [];
		const unmade = rows.some((row) => row.objection > against.case.arguments);
		const twice = role === "moderator" && !distinct(value.ranking ?? []);
		if (unmade || twice) return rejection("unknown_option");
		const back = wanting(walk, step, value.challenge_strength);
		if (back === "uncited_critique" && (!allThere(walk, step) || value.counter_arguments.some(
			(row) => row.citations.some((cited) => lookUp(walk, cited, step.round) === "verified")))) {
			return null;
		}
		return back && rejection(back);
	},
	couldRule: (debate, says) => {
		const { winner, undeclared, choice, ...free } = NOTHING, { positions } = debate.terms;
		const places = positions.length ? debate.seated("proposer").map((seat) => seat.id) : [];
		return nothingBut(says, ...Object.keys(free)) &&
			canonical([...says.ranking].sort()) === canonical(places.sort()) &&
			(says.upholds === null) === places.length > 0 &&
			says.confidence !== null && says.another_round !== null;
	},
	schedule: scheduleModerated,

	result: moderatedResult,
	lead: (f) => {
		const { decision, moderation: m, positions } = f, confidence = lower(m?.confidence);
		const sure = (words) => leadWords("confident", { words, confidence });
		if (f.decision_rule === "moderator_synthesis") {
			return [leadWords(decision === "upheld" ? "upheld" : "not_upheld"), sure(opening(thesisOf(f)))];
		}
		if (f.decision_rule !== "moderator_ranking") return leftLead(f);
		return [stanceIn(decision, positions.find((row) => row.label === decision)?.text, MOST_WORDS),
			sure(leadWords("ranked", { all: positions.length }))];
	},
	stood: ({ moderation: m }) => (m ? leadWords("moderated", { words: opening(m.synthesis) })
		: leadWords("unruled")),
	drift: thesisDrift,
	notes: {
		"turn.recorded": caseNotes,
		"turn.rejected": (s, d) => [ratingNote(who(d.step), d.rating)],
		"verdict.recorded": moderationNotes,
	},
	whole: (s) => {
		const unpriced = unique(seated(s).map((seat) => seat.model))
			.filter((model) => !priceOf(s, model)).sort();
		const cited = casesOf(s).flatMap((row) => row.citations), last = s.turns.at(-1)?.round;
		const documents = s.evidence.filter((row) => row.from_round <= last).length;
		return [
			[unpriced.length, "no_ceiling", { models: list(unpriced) }],
			[casesOf(s).some((row) => row.rating), "self_rated"],
			[s.spec.terms.require_cited_critique && !s.evidence.length, "nothing_to_cite"],
			[isDecided(s) && documents && cited.every((row) => row.finding !== "verified"),
				"hollow_consensus",
				{ citations: cited.length, documents: many(documents, "document") }, "uncited"],
		];
	},
	rows: CASE_ROWS,
	charts: (f) => [drawScores(f)],
	concluded: (f, m = f.moderation) => m && [
		f.turns.filter((row) => row.role === "framer").map((row) =>
			h("p", h("span.key", "Proposition: "), said(textIn(saidBy(row), "thesis")))),
		words(m.synthesis), m.ranking.length > 0 && h("p", "Ranking: ",
			said(m.ranking.map((label) => positionIn(f, label)).join(" → "))),
		h("p.dim", `The moderator's synthesis, round ${m.round_index}, entry `, ref(m.seq))],
	points: ({ moderation: m }) =>
		m && [...m.unresolved_points, ...m.explicit_uncertainties].map(said),
};
