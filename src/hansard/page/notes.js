"use strict";
// What a reader should look at: notes on one entry, made when the state has it, and notes on the
// debate as a whole. Each is made of a row [whether it holds, code, values, variant]: its sentence
// and how severe it is stand in the vocabulary.

const REVIEW_BELOW = 5; // of 10

const notesFrom = (rows, seq = null) => rows.filter(([holds]) => holds)
  .map(([, code, values = {}, variant = "text"]) => {
    const { severity, [variant]: sentence } = VOCABULARY.notes[code];
    return { code, severity, message: fill(sentence, values), seq };
  });
// Whether two verdicts of a moderator come to one outcome.
const agree = (one, other) =>
  JSON.stringify([one.upholds, one.ranking]) === JSON.stringify([other.upholds, other.ranking]);

// One entry: a function for each type that may be worth a note

const goneNote = (s, blob, what, values) => {
  const gone = blob && !s.texts.has(blob.sha256);
  return [gone, "text_gone", gone && { what: fill(WORDING.texts[what], values) }];
};
const goneTurnNote = (s, d) => goneNote(s, s.turns.at(-1).reply, "turn", { who: who(d.step) });

const NOTED = {
  "debate.opened": (s, d) => [goneNote(s, d.question, "question")],
  "debate.resumed": () => [[true, "resumed"]],
  "debater.registered": (s, d) =>
    [goneNote(s, d.persona, "persona", d), goneNote(s, d.stance?.text, "stance", d.stance)],
  "evidence.admitted": (s, d) => [goneNote(s, d.text, "evidence", d)],
  "call.failed": (s, d) => {
    const { call, again, wait_ms: ms } = d, abandoned = d.error === "abandoned";
    return [
      [abandoned, "abandoned", d],
      [!abandoned, "failed", { call, why: failure(d), wait: `${inSeconds(ms)} s` },
        again ? ms ? "later" : "again" : "final"],
    ];
  },
  "call.refused": (s, d) => [[true, "refused", d, "entry"]],
  "tool.called": (s, d) => [goneNote(s, d.arguments, "arguments", d)],
  "tool.returned": (s, d) => [goneNote(s, d.result, "result", d)],
  "turn.recorded": (s, d) =>
    [...(d.case ? caseNotes(s, who(d.step), d.case) : []), goneTurnNote(s, d)],
  "turn.forfeited": (s, d) => {
    const { role, reason: why } = s.turns.at(-1), last = role === "synthesizer";
    const values = { who: who(d.step), why };
    return [
      [last, "synthesis_missing", values],
      [!last, "forfeited", values, s.votes.has(d.speaker) ? "abstained" : "text"],
    ];
  },
  "turn.rejected": (s, d) => [
    [true, "rejected", { who: who(d.step), why: s.rejected.at(-1).reason },
      d.again ? "again" : "final"],
    ratingNote(who(d.step), d.rating),
  ],
  "votes.counted": (s, d) => {
    const inPanel = s.spec.terms.format === "panel";
    // In a panel no two answers can both be held by more than half: there the leaders tie.
    const votes = inPanel ? Math.max(0, ...d.tally.map((row) => row.votes)) : d.threshold;
    const tied = d.tally.filter((row) => row.votes >= votes).map((row) => row.option);
    return [[tied.length > 1, "tie", { ...d, options: list(tied), votes },
      inPanel ? "votes" : "threshold"]];
  },
  "similarity.measured": (s, d) => {
    const least = inPercent(d.pairs.length ? Math.min(...d.pairs.map((row) => row.ppm)) : 0);
    return [[d.converged, "similar_wording", { ...d, least, alike: WORDING.alike },
      d.measure === "options" ? "options" : "words"]];
  },
  "verdict.recorded": (s, d) => [...verdictNotes(s, d), goneTurnNote(s, d)],
  "synthesis.recorded": (s, d) => [goneTurnNote(s, d)],
  "decision.reached": (s, d) => [
    ...(d.rule === "most_similar" ? similarNotes(s) : []), goneNote(s, d.review, "review"),
  ],
  "debate.closed": (s, { reason }) => [
    [["judge_failed", "moderator_failed"].includes(reason), reason],
    ...(s.truncated ? truncatedNotes(s, s.truncated) : []),
  ],
};
const noteEntry = (s, { type, data }) =>
  s.notes.push(...notesFrom(NOTED[type]?.(s, data) ?? [], s.seq));

const wantsReview = (rating) => rating !== null && rating < REVIEW_BELOW;
const ratingNote = (whose, rating) => [wantsReview(rating), "prompt_review",
  { who: whose, rating, limit: REVIEW_BELOW }];
const caseNotes = (s, whose, { arguments: total, rating, unanswered, citations, struck }) => {
  const least = s.spec.terms.min_challenge_strength;
  const wrong = citations.filter((row) => row.finding !== "verified").map((row) =>
    fill(WORDING.citation, { ...row, finding: WORDING.findings[row.finding] }));
  const cited = new Set(citations.map((row) => row.argument));
  const uncited = numbers(total).filter((number) => !cited.has(number));
  return [
    [rating && rating < least, "weak_critique", { who: whose, rating, least }],
    ratingNote(whose, rating),
    [wrong.length, "fabricated_citation",
      { who: whose, citations: wrong.join("; "), struck: list(struck) }],
    [uncited.length, "uncited", { who: whose, arguments: list(uncited) }],
    [unanswered.length, "unanswered", { who: whose, objections: list(unanswered) }],
  ];
};
const verdictNotes = (s, d) => {
  const again = d.phase === "neutrality" && s.verdict, same = again && agree(s.verdict, d);
  const last = d.phase === "moderation" && d.round === s.spec.terms.max_rounds;
  return [
    [d.undeclared, "undeclared_winner", { judge: d.speaker }],
    [again, same ? "neutrality_unchanged" : "neutrality_changed"],
    [last && d.another_round, "still_open", { points: d.unresolved }],
  ];
};
const similarNotes = (s) => {
  const scores = new Map();
  for (const { one, other, ppm } of s.similarities.at(-1).pairs) {
    for (const name of [one, other]) scores.set(name, (scores.get(name) || 0) + ppm);
  }
  const top = Math.max(...scores.values());
  const best = [...scores.keys()].filter((name) => scores.get(name) === top);
  return [[best.length > 1, "tie", { debaters: list(best) }, "similarity"]];
};
const truncatedNotes = (s, { step, ceiling, ...cut }) => {
  const total = totalOf(s), [limit, spent, reserved] = [cut.limit, cut.spent, cut.reserved]
    .map((n) => amount(ceiling, n));
  const paid = fill(WORDING.paid, {
    calls: many(total.calls, "call"), tokens: many(total.tokens_in + total.tokens_out, "token"),
    cost: s.spec.prices.length ? amount("cost", total.cost_micro_usd) : WORDING.no_price,
  });
  return [[true, "truncated", { step, limit, spent, reserved, paid }]];
};

// The debate as a whole: its terms, who sits at the table, what was used

const notesOf = (s, theatre) => [
  ...notesFrom([...termsNotes(s), ...tableNotes(s, theatre), ...useNotes(s)]), ...s.notes,
];
const MANY_ROUNDS = 4; // of a judged debate
const termsNotes = (s) => {
  const { format, max_rounds: rounds, threshold } = s.spec.terms, debaters = s.votes.size;
  const unpriced = unique(seated(s).map((seat) => seat.model))
    .filter((model) => !priceOf(s, model)).sort();
  return [
    [threshold * 2 <= debaters, "low_threshold", { threshold, debaters }],
    [format === "judged" && rounds > MANY_ROUNDS, "many_rounds", { rounds, limit: MANY_ROUNDS }],
    [format === "moderated" && unpriced.length, "no_ceiling", { models: list(unpriced) }],
  ];
};
const tableNotes = (s, theatre) => {
  const seats = seated(s), ids = (rows) => list(rows.map((seat) => seat.id));
  const filledBy = (kind) => seats.filter((seat) => seat.model.startsWith(`${kind}:`));
  const pairs = ofRole(s, "critic").flatMap((critic) => ofRole(s, "proposer").map((proposer) =>
    ({ critic, proposer, kin: shared(critic, proposer) })));
  const biased = ofRole(s, "judge", "moderator").flatMap((judge) => {
    const alike = ofRole(s, ...ARGUERS).map((seat) => ({ ...seat, kin: shared(judge, seat) }));
    return unique(alike.map((seat) => seat.kin)).map((kin) =>
      ({ judge: judge.id, kin, judged: ids(alike.filter((seat) => seat.kin === kin)) }));
  });
  const custom = filledBy("custom"), { context, instructions, tools } = s.spec;
  const told = context || instructions || tools.length || custom.some((seat) => seat.persona);
  return [
    ...["scripted", "recorded"].map((code) => {
      const of = filledBy(code);
      return [of.length, code, { seats: ids(of) }, of.length === seats.length ? "all" : "some"];
    }),
    ...theatre.map((row) => [true, "theatre", { seats: list(row.seats), kin: nameKin(row) },
      row.persona ? "persona" : "bare"]),
    ...pairs.map(({ critic, proposer, kin }) =>
      [kin, "single_model", { proposer: proposer.id, critic: critic.id, kin }]),
    ...biased.map((row) => [row.kin, "self_bias", row]),
    [custom.length && told, "custom_seats", { seats: ids(custom) }],
  ];
};
const useNotes = (s) => {
  const { policy, prices } = s.spec, total = totalOf(s), limits = ceilings(s);
  const charged = [
    ["tokens", s.tokens, total.tokens_in + total.tokens_out],
    ["cost", s.microUsd, total.cost_micro_usd],
  ];
  const other = list(s.sentOtherwise.slice(0, 3)), more = s.sentOtherwise.length - 3;
  return [
    [s.failed, "failed", { failed: s.failed, calls: many(total.calls, "call") }, "total"],
    ...limits.map(({ name, limit, spent }) => [
      s.closed && spent > limit && name !== s.truncated?.ceiling, "over_ceiling",
      { spent: amount(name, spent), limit: amount(name, limit) }]),
    [s.refused, "refused", { role: s.refused?.role }, "total"],
    [policy, "policy", { policy: policy?.slice(0, 16) }],
    [s.unpriced && prices.length, "cost_incomplete", { replies: many(s.unpriced, "reply") }],
    ...charged.map(([name, counted, used]) => [
      counted !== used && limits.some((row) => row.name === name), "charged",
      { charged: amount(name, counted), used: amount(name, used) }]),
    [other, "sent_otherwise",
      { calls: more > 0 ? fill(WORDING.more, { names: other, more }) : other }],
    [s.turns.some((row) => row.case?.rating), "self_rated"],
  ];
};
