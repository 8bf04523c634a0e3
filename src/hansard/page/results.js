"use strict";
// The result of each format: what was voted, drafted, argued and judged, and what came of it.
// Whatever a reply should say may be missing or of another kind.

// What a reply says under a name: text, a whole number, texts, objects; or under several names

const saidBy = (row) => row?.value ?? {};
const textIn = (value, key) => (typeof value[key] === "string" ? value[key] : null);
const wholeIn = (value, key) => (Number.isInteger(value[key]) ? value[key] : null);
const itemsIn = (value, key) => (Array.isArray(value[key]) ? value[key] : []);
const textsIn = (value, key) => itemsIn(value, key).filter((row) => typeof row === "string");
const objectsIn = (value, key) => itemsIn(value, key).filter(isObject);
const pick = (value, read, ...keys) =>
  Object.fromEntries(keys.map((key) => [key, read(value, key)]));

// What formats have in common

const statusOf = ({ status, silence, seq }) => ({ status, reason: silence, seq });
const verdictIn = (s) => turnsOf(s, "judge").find(isHeard);
const labelOf = (s, id) => s.seats.get(id)?.stance?.label ?? null;
const stances = (s) => seated(s).filter((seat) => seat.stance)
  .map((seat) => ({ ...stanceOf(s, seat.stance), debater: seat.id }));
const tallyOf = (s) => {
  const spoke = new Set(s.turns.map((row) => row.seat)), tally = new Map();
  let silent = 0;
  for (const [seat, vote] of s.votes) {
    if (vote !== null) tally.set(vote, (tally.get(vote) || 0) + 1);
    else if (spoke.has(seat)) silent += 1;
  }
  return silent ? tally.set("abstain", silent) : tally;
};

const consensusResult = (s, { options, rule, threshold }) => ({
  options, rule, consensus_threshold: threshold, vote_tally: tallyOf(s),
  dissent: s.decision === null || s.decision.rule === "max_rounds_exhausted" ? []
    : [...s.votes].filter(([, vote]) => vote !== s.decision.decision)
      .map(([speaker, vote]) => ({ speaker, vote })),
  transcript: turnsOf(s, "debater").map((row) => ({
    round_index: row.round, speaker_id: row.seat, phase: row.phase, vote: row.vote,
    ...pick(saidBy(row), textIn, "stance", "rationale"), ...statusOf(row),
  })),
});

const judgedResult = (s) => {
  const judge = verdictIn(s), value = saidBy(judge);
  const { winner, undeclared } = judge?.found ?? {};
  return {
    stances: stances(s),
    verdict: judge ? {
      verdict: textIn(value, "verdict"), winner: labelOf(s, winner), winner_id: winner,
      reasoning: textIn(value, "reasoning"), undeclared,
      named: undeclared ? textIn(value, "winner") : null, seq: judge.seq,
    } : null,
    transcript: turnsOf(s, "debater").map((row) => ({
      round: row.round, agent_name: row.seat, stance: labelOf(s, row.seat), text: row.text,
      ...statusOf(row),
    })),
  };
};

// A panel

const panelResult = (s, { options, resolution }) => {
  const transcript = turnsOf(s, "debater").map((row) => ({
    round_index: row.round, label: row.seat, choice: row.vote,
    text: options.length ? textIn(saidBy(row), "answer") : row.text, ...statusOf(row),
  }));
  const drafts = (number) => new Map(transcript
    .filter((row) => row.round_index === number && isHeard(row))
    .map((row) => [row.label, row.text]));
  const rounds = unique(transcript.map((row) => row.round_index)).sort((a, b) => a - b)
    .map((number, index) => ({ round_index: index, drafts: drafts(number) }));
  const every = new Map(rounds.flatMap((row) => [...row.drafts]));
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
    last_drafts: last, similarities: s.similarities, transcript,
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
  const judge = verdictIn(s);
  if (judge) return shown(s, judge.reply);
  const told = [], similar = s.similarities.findLast((row) => row.converged), by = s.decision;
  if (similar) {
    told.push(similar.measure === "options"
      ? `all answers of round ${similar.round} choose one option`
      : `the answers of round ${similar.round} converged (${WORDING.alike})`);
  }
  if (by?.rule === "most_similar") {
    const others = (s.similarities.at(-1)?.heard ?? 0) - 1;
    told.push(`the draft of ${by.decision} is the most like the others, ` +
      `${inPercent(Math.floor(by.score_ppm / others))} on average; of equals the first ` +
      "registered stands");
  } else if (by && by.votes !== null) {
    told.push(`${by.votes} of ${s.votes.size} debaters hold one answer, ` +
      `${by.threshold} are needed`);
  }
  return told.join("; ") || null;
};

// A moderated debate

const argumentsOf = (row, key, said) => {
  const rows = objectsIn(saidBy(row), key);
  return numbers(row.case?.arguments ?? 0).map((number) => {
    const value = rows[number - 1] ?? {}, cited = objectsIn(value, "citations");
    const citations = row.case.citations.filter((found) => found.argument === number)
      .map(({ citation, finding }) =>
        ({ ...pick(cited[citation - 1] ?? {}, textIn, "document", "quote"), finding }));
    return {
      number, text: textIn(value, said), citations, struck: row.case.struck.includes(number),
      uncited: !citations.length, objection: wholeIn(value, "objection"),
    };
  });
};
// What a turn of each role says, part by part.
const SAID = {
  framer: (value) => ({
    ...pick(value, textIn, "thesis", "scope"), ...pick(value, textsIn, "criteria", "key_evidence"),
  }),
  proposer: (value, row) => ({
    thesis: textIn(value, "thesis"),
    supporting_arguments: argumentsOf(row, "supporting_arguments", "argument"),
    anticipated_objections: textsIn(value, "anticipated_objections"),
  }),
  critic: (value, row, s) => {
    const rating = row.case?.rating ?? null, first = s.sentBack.get(row.step) ?? null;
    return {
      thesis: textIn(value, "thesis"),
      counter_arguments: argumentsOf(row, "counter_arguments", "argument"),
      challenge_strength: rating, first_rating: first,
      weak: rating !== null && rating < s.spec.terms.min_challenge_strength,
      prompt_review: [first, rating].some(wantsReview),
    };
  },
  rebuttal: (value, row) => ({
    thesis: textIn(value, "thesis"), rebuttals: argumentsOf(row, "rebuttals", "answer"),
    concessions: objectsIn(value, "concessions").map((found) =>
      ({ objection: wholeIn(found, "objection"), reason: textIn(found, "reason") })),
    unanswered: row.case?.unanswered ?? [],
  }),
  moderator: (value, row, s) => {
    const found = row.found ?? NOTHING;
    return {
      round_index: row.round, unresolved: found.unresolved, uncertainties: found.uncertainties,
      recommend_another_round: found.another_round, confidence: found.confidence,
      upholds: found.upholds, scores: new Map(found.scores.map((each) => [each.side, each.score])),
      ranking: found.ranking.map((id) => labelOf(s, id)).filter(Boolean),
      ...pick(value, textsIn, "resolved_points", "unresolved_points"),
      synthesis: textIn(value, "synthesis"),
      explicit_uncertainties: textsIn(value, "explicit_uncertainties"),
    };
  },
};
const phaseOf = (row) => row.phase.split("-")[0]; // `critique-2` is about the second position
const moderatedResult = (s, terms) => {
  const told = s.turns.filter((row) => SAID[row.role]);
  for (const row of told) {
    row.said = { speaker: row.seat, ...SAID[row.role](saidBy(row), row, s), ...statusOf(row) };
  }
  const moderations = told.filter((row) => phaseOf(row) === "moderation");
  const last = moderations.findLast(isHeard)?.said ?? null;
  const again = told.find((row) => phaseOf(row) === "neutrality");
  const count = Math.min(s.turns.at(-1)?.round ?? 0, terms.max_rounds);
  return {
    positions: stances(s), framing: turnsOf(s, "framer")[0]?.said ?? null, moderation: last,
    wants_more: Boolean(last?.recommend_another_round) && last.round_index === terms.max_rounds,
    neutrality: again && last ? {
      moderation: again.said, changed: isHeard(again) ? !agree(last, again.said) : null,
    } : null,
    require_critic_retry_below: terms.require_critic_retry_below,
    min_challenge_strength: terms.min_challenge_strength,
    rounds: numbers(count).map((number) => ({
      round_index: number,
      new_documents: s.evidence.filter((row) => row.from_round === number)
        .map((row) => row.document),
      exchanges: exchanges(s, told.filter((row) => row.round === number)),
      moderation: moderations.find((row) => row.round === number)?.said ?? null,
      token_cost: tokensOf(s, number),
    })),
  };
};
// Case, attack and answer on each position; where no answer was heard, all objections are open.
const exchanges = (s, told) => {
  const proposers = ofRole(s, "proposer");
  const about = (row) => proposers[(row.phase.split("-")[1] || 1) - 1]?.id;
  return told.filter((row) => phaseOf(row) === "proposition").map(({ seat, said }) => {
    const [critique, rebuttal] = ["critique", "rebuttal"].map((name) =>
      told.findLast((row) => phaseOf(row) === name && about(row) === seat)?.said ?? null);
    if (rebuttal?.status === "forfeited") {
      rebuttal.unanswered = (critique?.counter_arguments ?? [])
        .filter((row) => !row.struck).map((row) => row.number);
    }
    return { position: labelOf(s, seat), proposition: said, critique, rebuttal };
  });
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

const FORMATS = {
  consensus: consensusResult, judged: judgedResult, moderated: moderatedResult, panel: panelResult,
};
const resultOf = (s) => FORMATS[s.spec.terms.format](s, s.spec.terms);
