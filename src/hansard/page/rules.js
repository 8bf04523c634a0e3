"use strict";
// The four formats: who is due, what is counted and compared, and how it ends (FORMAT.md §8, §9).

// ---- 14 counts (§9)

const WORD = /[^\x00-\/:-@\[-`{-\xbf\u2000-\u206f\u3000-\u303f]+/gu;
const NEGATIONS = new Set((
  "no not never none nor neither nobody nothing cannot without dont doesnt didnt isnt arent " +
  "wasnt werent wont wouldnt shouldnt cant couldnt hasnt havent hadnt mustnt").split(" "));
const folded = (text) => text.replace(BLANKS, " ").replace(/^ +| +$/g, "");
const plain = (text) =>
  text.replace(/['’]/g, "").replace(/[A-Z]/g, (letter) => letter.toLowerCase());

// What is compared of a draft: its words, and the whole of its answer.
function answerOf(turn) {
  const { value } = turn.reply, text = isObject(value) ? value.answer : value;
  const words = plain(text).match(WORD) ?? [];
  const negations = words.filter((word) => NEGATIONS.has(word)).length;
  return { id: turn.id, whole: folded(text), words: new Set(words), negations };
}

function compareAnswers(one, other, measure) {
  const common = [...one.words].filter((word) => other.words.has(word)).length;
  const all = one.words.size + other.words.size - common;
  const ppm = measure === "whole" ? 1000000 * (one.whole === other.whole)
    : Math.floor(1000000 * common / (all || 1));
  const differs = one.negations !== other.negations;
  return { one: one.id, other: other.id, ppm, negation_differs: differs };
}

const pairsOf = (rows) =>
  rows.flatMap((one, index) => rows.slice(index + 1).map((other) => [one, other]));
// A line that is due and follows from those before: its type, check and derived fields, or, where
// it rests on a text that is gone, a function of what it says that gives them, or null.
const due = (kind, check, fields) => ({ kind, check, fields });

function counted(turns, tally, threshold) {
  const { round, phase } = turns[0].step, rows = [...tally];
  return due("votes.counted", 14, {
    round, phase, tally: rows.map(([option, votes]) => ({ option, votes })),
    abstentions: turns.length - heard(turns).length, threshold,
    reached: rows.filter(([, votes]) => votes >= threshold).length === 1,
  });
}

// The current votes are those of the last turns, one of each debater.
function countVotes(options, turns, threshold) {
  const votes = heard(turns).map((turn) => turn.says.vote);
  const tally = options.map((option) => [option, votes.filter((vote) => vote === option).length]);
  return counted(turns, new Map(tally), threshold);
}

// The different answers, each under the first who gave it.
function countAnswers(turns, threshold) {
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
    const answer = plain(answerOf(turn).whole), first = alike.get(answer) ?? turn.id;
    alike.set(answer, first);
    tally.set(first, (tally.get(first) ?? 0) + 1);
  }
  return counted(turns, tally, threshold);
}

function byCount({ tally, threshold, reached }, rule) {
  const first = reached && tally.find((row) => row.votes >= threshold);
  const decision = first ? first.option : "escalate"; // which may be an option as well
  const votes = tally.find((row) => row.option === decision)?.votes ?? 0;
  return decided(decision, rule, { votes, threshold });
}

// The answers of a round compared; the last time, it is their words alone that count.
function measure(terms, round, drafts, last = false) {
  const threshold = terms.convergence_ppm ?? 0, options = terms.options.length > 0 && !last;
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
  const pairs = pairsOf(drafts.map(answerOf))
    .map(([one, other]) => compareAnswers(one, other, kind));
  const alike = pairs.every((row) => row.ppm >= threshold && !row.negation_differs);
  return similarity({ ...fields, pairs, converged: enough && alike && !last });
}

// ---- 9 schedule (§8). A schedule yields steps, which are due at once, and is sent their turns;
// or a line, and is sent its data as derived. It returns a decision, if any, and why it ended.

const RESERVED = ["escalate", "synthesis", "upheld", "not_upheld"]; // decisions, not seats
const ARGUING = { // the roles whose turns have a case, and where their arguments stand
  proposer: "supporting_arguments", critic: "counter_arguments", rebuttal: "rebuttals",
};
const TURNS = { // of the roles whose turn is not `turn.recorded`
  judge: "verdict.recorded", moderator: "verdict.recorded", synthesizer: "synthesis.recorded",
};
const NOTHING = { // a verdict that says nothing
  winner: null, undeclared: false, choice: null, upholds: null, ranking: [], scores: [],
  resolved: 0, unresolved: 0, uncertainties: 0, confidence: null, another_round: null,
};
const decided = (decision, rule, more = {}) =>
  ({ decision, rule, votes: null, threshold: null, score_ppm: null, ...more });
const tooFew = () => decided("escalate", "too_few_heard");
const distinct = (names) => new Set(names).size === names.length;

// Whether the terms' own conditions hold, but for those on options.
function sound({ format, positions, critique, stances, labels, options = [] }) {
  if (format === "moderated") {
    const roles = ["proposer", "critic", "rebuttal"];
    const apart = distinct(positions) && !positions.some((name) => roles.includes(name));
    return apart && positions.length !== 1 && (positions.length > 0 || critique);
  }
  const names = stances ?? labels, taken = ["synthesis", ...(labels ?? [])];
  const apart = !options.some((name) => taken.includes(name));
  return !names || (distinct(names) && names.length >= 2 && apart);
}

// Role and stance of each seat but a synthesizer's, in order.
function seatsOf(terms, number) {
  const several = (count) => Array(count).fill(["debater", null]);
  if (terms.format === "consensus") return several(Math.max(number, 1));
  if (terms.format === "judged") {
    return [...terms.stances.map((stance) => ["debater", stance]), ["judge", null]];
  }
  if (terms.format === "moderated") {
    const positions = terms.positions.length ? terms.positions : [null];
    const attack = terms.critique ? [["critic", null], ["rebuttal", null]] : [];
    const proposers = positions.map((position) => ["proposer", position]);
    return [["framer", null], ...proposers, ...attack, ["moderator", null]];
  }
  const judge = ["synthesis", "pick"].includes(terms.resolution) ? [["judge", null]] : [];
  return [...several(terms.labels.length), ...judge];
}

// Rounds of four phases, each with a count, until enough votes agree (§8.1).
function* consensus(debate) {
  const { terms } = debate, debaters = debate.seated("debater");
  const rules = {
    threshold: "threshold_vote", majority: "majority_vote", unanimity: "unanimous_vote",
  };
  let count;
  for (let number = 1; number <= terms.max_rounds; number++) {
    for (const phase of ["proposal", "critique", "revision", "consensus"]) {
      let turns = [];
      if (number === 1 && phase === "proposal") {
        turns = yield debaters.map((seat) => debate.step(number, phase, seat));
      } else {
        for (const seat of debaters) turns.push(...yield [debate.step(number, phase, seat)]);
      }
      count = yield countVotes(terms.options, turns, terms.threshold);
      if (count.reached) return [byCount(count, rules[terms.rule]), "votes_reached"];
    }
  }
  return [byCount(count, "max_rounds_exhausted"), "max_rounds_exhausted"];
}

// Rounds in which each side argues, then a judge (§8.2).
function* judged(debate) {
  const number = debate.terms.max_rounds, spoken = new Set(), reason = "rounds_complete";
  for (let each = 1; each <= number; each++) {
    for (const seat of debate.seated("debater")) {
      const turns = yield [debate.step(each, "argument", seat)];
      for (const turn of heard(turns)) spoken.add(turn.id);
    }
  }
  if (spoken.size < 2) return [tooFew(), reason];
  const [verdict] = yield [debate.step(number, "verdict", debate.seated("judge")[0])];
  if (!verdict.reply) return [null, "judge_failed"];
  const { winner } = verdict.says;
  if (winner && !spoken.has(winner)) return [tooFew(), reason];
  const decision = winner ? debate.seats.get(winner).stance.label : "synthesis";
  return [decided(decision, "judge_verdict"), reason];
}

// A framing, then rounds of propositions, each attacked and defended (§8.3).
function* moderated(debate) {
  const { terms } = debate, [moderator] = debate.seated("moderator");
  const proposers = debate.seated("proposer"), critics = debate.seated("critic");
  let moderation, number = 0;
  yield [debate.step(1, "framing", debate.seated("framer")[0])];
  do {
    number++;
    const turns = yield proposers.map((seat) => debate.step(number, "proposition", seat, seat));
    if (!heard(turns).length) return [tooFew(), "max_rounds_exhausted"];
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

// Rounds in which all draft at once, until they converge; then one way to resolve (§8.4).
function* panel(debate) {
  const { terms } = debate, debaters = debate.seated("debater");
  let similarity, turns, drafts, number = -1;
  do {
    number++;
    turns = yield debaters.map((seat) => debate.step(number, "draft", seat));
    drafts = heard(turns);
    if (terms.convergence_ppm !== null) similarity = yield measure(terms, number, drafts);
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
      : countAnswers(turns, threshold);
    if (count.reached) return [byCount(count, "majority_vote"), reason];
    if (terms.fallback === "escalate") {
      return [decided("escalate", "no_majority", { votes: 0, threshold }), reason];
    }
  }
  if (similarity?.measure !== "words") similarity = yield measure(terms, number, drafts, true);
  const scores = new Map(drafts.map((turn) => [turn.id, 0]));
  for (const { one, other, ppm } of similarity.pairs) {
    scores.set(one, scores.get(one) + ppm);
    scores.set(other, scores.get(other) + ppm);
  }
  let best = drafts[0].id; // the first of those with the highest score
  for (const [id, score] of scores) if (score > scores.get(best)) best = id;
  return [decided(best, "most_similar", { score_ppm: scores.get(best) }), reason];
}

const SCHEDULES = { consensus, judged, moderated, panel };
const closing = (outcome, reason) => due("debate.closed", 16, { outcome, reason });

// What ends a debate before its time: the turns of replies in hand, and the close.
function* cutShort(outcome, reason, held = []) {
  if (held.length) yield held;
  yield closing(outcome, reason);
}
