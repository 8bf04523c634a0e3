"use strict";
// What a reader should look at: notes on one entry, made when the state has it, and notes on the
// debate as a whole. Each is made of a row [whether it holds, code, message].

const REVIEW_BELOW = 5; // of 10
const INFO = ["scripted", "recorded", "custom_seats", "charged", "self_rated", "rejected",
  "policy", "resumed", "similar_wording", "neutrality_unchanged"];
const CRITICAL = ["refused", "fabricated_citation", "judge_failed", "moderator_failed",
  "over_ceiling"];

const severityOf = (code) =>
  (INFO.includes(code) ? "info" : CRITICAL.includes(code) ? "critical" : "warning");
const notesFrom = (rows, seq = null) => rows.filter(([holds]) => holds)
  .map(([, code, message]) => ({ code, severity: severityOf(code), message, seq }));
// Whether two verdicts of a moderator come to one outcome.
const agree = (one, other) =>
  JSON.stringify([one.upholds, one.ranking]) === JSON.stringify([other.upholds, other.ranking]);

// One entry: a function for each type that may be worth a note

const goneNote = (s, blob, what) =>
  [blob && !s.texts.has(blob.sha256), "text_gone", `The text of ${what} is erased or missing`];
const goneTurnNote = (s, d) => goneNote(s, s.turns.at(-1).reply, `the turn of ${who(d.step)}`);

const NOTED = {
  "debate.opened": (s, d) => [goneNote(s, d.question, "the question")],
  "debate.resumed": () =>
    [[true, "resumed", "The debate stopped here and was resumed by another process"]],
  "debater.registered": (s, d) => [
    goneNote(s, d.persona, `the persona of ${d.id}`),
    goneNote(s, d.stance?.text, `the stance ${d.stance?.label}`),
  ],
  "evidence.admitted": (s, d) => [goneNote(s, d.text, `the evidence ${d.document}`)],
  "call.failed": (s, d) => {
    const abandoned = d.error === "abandoned";
    const wait = d.wait_ms ? ` after ${inSeconds(d.wait_ms)} s` : "";
    return [
      [abandoned, "abandoned", `The call ${d.call} was in the air when its process died; it is ` +
        "charged at what was reserved and asked again"],
      [!abandoned, "failed", `The call ${d.call} failed: ${failure(d)}; it is ` +
        (d.again ? `tried again${wait}` : "not tried again")],
    ];
  },
  "call.refused": (s, d) => [[true, "refused", `The template of the role ${d.role} is not the ` +
    "approved one, so no model was called and the debate ended"]],
  "tool.called": (s, d) => [goneNote(s, d.arguments, `what ${d.call} asked of a tool`)],
  "tool.returned": (s, d) => [goneNote(s, d.result, `what a tool gave ${d.call}`)],
  "turn.recorded": (s, d) =>
    [...(d.case ? caseNotes(s, who(d.step), d.case) : []), goneTurnNote(s, d)],
  "turn.forfeited": (s, d) => {
    const { role, reason } = s.turns.at(-1), last = role === "synthesizer";
    const silent = `${who(d.step)} was not heard: ${reason}`;
    return [
      [last, "synthesis_missing", `${silent}; there is no output`],
      [!last, "forfeited", s.votes.has(d.speaker) ? `${silent}; this is an abstention` : silent],
    ];
  },
  "turn.rejected": (s, d) => [
    [true, "rejected", `A reply of ${who(d.step)} does not count: ${s.rejected.at(-1).reason}; ` +
      `it was ${d.again ? "" : "not "}asked again`],
    ratingNote(who(d.step), d.rating),
  ],
  "votes.counted": (s, d) => {
    const inPanel = s.spec.terms.format === "panel";
    // In a panel no two answers can both be held by more than half: there the leaders tie.
    const least = inPanel ? Math.max(0, ...d.tally.map((row) => row.votes)) : d.threshold;
    const tied = d.tally.filter((row) => row.votes >= least).map((row) => row.option);
    return [[tied.length > 1, "tie", `A tie in round ${d.round}, ${d.phase}: ${list(tied)} all ` +
      `${inPanel ? `hold ${least} each` : "reach the threshold"}; no consensus`]];
  },
  "similarity.measured": (s, d) => {
    const least = d.pairs.length ? Math.min(...d.pairs.map((row) => row.ppm)) : 0;
    return [[d.converged, "similar_wording", d.measure === "options"
      ? `All ${d.heard} answers of round ${d.round} choose the same option, which ended the ` +
        "rounds: it need not be correct"
      : `The answers of round ${d.round} are alike by ${inPercent(least)} at least, which ended ` +
        `the rounds: ${ALIKE}`]];
  },
  "verdict.recorded": (s, d) => [...verdictNotes(s, d), goneTurnNote(s, d)],
  "synthesis.recorded": (s, d) => [goneTurnNote(s, d)],
  "decision.reached": (s, d) => [
    ...(d.rule === "most_similar" ? similarNotes(s) : []), goneNote(s, d.review, "who must look"),
  ],
  "debate.closed": (s, { reason }) => [
    [reason === "judge_failed", reason, "The judge could not be heard: there is no verdict"],
    [reason === "moderator_failed", reason,
      "The moderator could not be heard: there is no decision"],
    ...(s.truncated ? truncatedNotes(s, s.truncated) : []),
  ],
};
const noteEntry = (s, { type, data }) =>
  s.notes.push(...notesFrom(NOTED[type]?.(s, data) ?? [], s.seq));

const wantsReview = (rating) => rating !== null && rating < REVIEW_BELOW;
const ratingNote = (whose, rating) => [wantsReview(rating), "prompt_review",
  `A critique of ${whose} rates itself ${rating}, below ${REVIEW_BELOW}: the critic's prompt ` +
  "wants a review"];
const caseNotes = (s, whose, { arguments: total, rating, unanswered, citations, struck }) => {
  const least = s.spec.terms.min_challenge_strength;
  const wrong = citations.filter((row) => row.finding !== "verified").map(
    (row) => `argument ${row.argument}, citation ${row.citation}: ${FINDINGS[row.finding]}`);
  const cited = new Set(citations.map((row) => row.argument));
  const uncited = numbers(total).filter((number) => !cited.has(number));
  return [
    [rating && rating < least, "weak_critique",
      `The critique of ${whose} counts, but is weak: it rates itself ${rating}, below ${least}`],
    ratingNote(whose, rating),
    [wrong.length, "fabricated_citation",
      `${whose} cites what does not hold (${wrong.join("; ")}); struck: ${list(struck)}`],
    [uncited.length, "uncited", `${whose} cites nothing for argument ${list(uncited)}`],
    [unanswered.length, "unanswered",
      `${whose} leaves objection ${list(unanswered)} unanswered`],
  ];
};
const verdictNotes = (s, d) => {
  const again = d.phase === "neutrality" && s.verdict, same = again && agree(s.verdict, d);
  const order = "With the sides in the other order the moderator comes to";
  const last = d.phase === "moderation" && d.round === s.spec.terms.max_rounds;
  return [
    [d.undeclared, "undeclared_winner",
      `${d.speaker} named a winner that is no declared stance; nobody has won`],
    [again && same, "neutrality_unchanged", `${order} the same outcome`],
    [again && !same, "neutrality_changed", `${order} another outcome`],
    [last && d.another_round, "still_open", "The moderator wanted another round when the last " +
      `one was over; points that stayed open: ${d.unresolved}`],
  ];
};
const similarNotes = (s) => {
  const scores = new Map();
  for (const { one, other, ppm } of s.similarities.at(-1).pairs) {
    for (const name of [one, other]) scores.set(name, (scores.get(name) || 0) + ppm);
  }
  const top = Math.max(...scores.values());
  const best = [...scores.keys()].filter((name) => scores.get(name) === top);
  return [[best.length > 1, "tie", `The drafts of ${list(best)} are equally like the others; ` +
    "the one registered first stands"]];
};
const truncatedNotes = (s, { step, ceiling, limit, spent, reserved }) => {
  const total = totalOf(s), tokens = total.tokens_in + total.tokens_out;
  const cost = s.spec.prices.length ? amount("cost", total.cost_micro_usd) : "no known price";
  return [[true, "truncated", `The debate was cut short before ${step}: the ceiling is ` +
    `${amount(ceiling, limit)}, counted as used ${amount(ceiling, spent)}, wanted next ` +
    `${amount(ceiling, reserved)}; paid for: ${amount("calls", total.calls)}, ${tokens} tokens, ` +
    cost]];
};

// The debate as a whole: its terms, who sits at the table, what was used

const notesOf = (s, theatre) => [
  ...notesFrom([...termsNotes(s), ...tableNotes(s, theatre), ...useNotes(s)]), ...s.notes,
];
const termsNotes = (s) => {
  const { format, max_rounds: rounds, threshold } = s.spec.terms, voters = s.votes.size;
  const unpriced = unique(seated(s).map((seat) => seat.model))
    .filter((model) => !priceOf(s, model)).sort();
  return [
    [threshold * 2 <= voters, "low_threshold",
      `The threshold ${threshold} is no more than half of ${voters} debaters`],
    [format === "judged" && rounds > 4, "many_rounds",
      `${rounds} rounds: above 4, debaters tend to give in to each other`],
    [format === "moderated" && unpriced.length, "no_ceiling",
      `There was no ceiling on cost: the price of ${list(unpriced)} is not known`],
  ];
};
const tableNotes = (s, theatre) => {
  const seats = seated(s), ids = (rows) => list(rows.map((seat) => seat.id));
  const filledBy = (kind) => seats.filter((seat) => seat.model.startsWith(`${kind}:`));
  const offline = [["scripted", "scripted"], ["recorded", "taken from a record"]];
  const pairs = ofRole(s, "critic").flatMap((critic) => ofRole(s, "proposer").map((proposer) =>
    ({ critic, proposer, what: shared(critic, proposer) })));
  const kin = ofRole(s, "judge", "moderator").flatMap((judge) => {
    const alike = ofRole(s, ...ARGUERS).map((seat) => ({ ...seat, what: shared(judge, seat) }));
    return unique(alike.map((seat) => seat.what)).map((what) =>
      ({ judge, what, whose: ids(alike.filter((seat) => seat.what === what)) }));
  });
  const custom = filledBy("custom"), { context, instructions, tools } = s.spec;
  const told = context || instructions || tools.length || custom.some((seat) => seat.persona);
  return [
    ...offline.map(([code, how]) => {
      const of = filledBy(code), whose = of.length === seats.length ? "" : ` of ${ids(of)}`;
      return [of.length, code, `Replies${whose} were ${how}: no model was asked`];
    }),
    ...theatre.map((row) => [true, "theatre", `${list(row.seats)} share ${kinship(row)} and ` +
      `${row.persona ? "one persona" : "no persona"}: theatre`]),
    ...pairs.map(({ critic, proposer, what }) => [what, "single_model",
      `${proposer.id} and its critic ${critic.id} share ${what}, and its blind spots`]),
    ...kin.map(({ judge, what, whose }) => [what, "self_bias",
      `${judge.id} shares ${what} with ${whose}: it may favour its kin`]),
    [custom.length && told, "custom_seats", "Persona, instructions, context and tools do not " +
      `reach ${ids(custom)}: a function fills that seat`],
  ];
};
const useNotes = (s) => {
  const { policy, prices } = s.spec, total = totalOf(s), limits = ceilings(s);
  const charged = [
    ["tokens", s.tokens, total.tokens_in + total.tokens_out],
    ["cost", s.microUsd, total.cost_micro_usd],
  ];
  const other = s.sentOtherwise, more = other.length - 3;
  return [
    [s.failed, "failed", `${s.failed} of ${total.calls} calls failed; the entries below say how`],
    ...limits.map(({ name, limit, spent }) => [
      s.closed && spent > limit && name !== s.truncated?.ceiling, "over_ceiling",
      `The last calls went over a ceiling: ${amount(name, spent)} of ${amount(name, limit)}`]),
    [s.refused, "refused",
      `The prompt of the role ${s.refused?.role} was not approved: no model was called`],
    [policy, "policy", `Prompts were held to the signed policy ${policy?.slice(0, 16)}…`],
    [s.unpriced && prices.length, "cost_incomplete",
      `The cost of ${s.unpriced} replies is not known; the sums leave it out`],
    ...charged.map(([name, counted, used]) => [
      counted !== used && limits.some((row) => row.name === name), "charged",
      `${amount(name, counted)} count against the ceiling and ${amount(name, used)} are known to ` +
        "be used: a call that does not say what it used counts as what was reserved for it"]),
    [other.length, "sent_otherwise", "What was sent is not what was rendered, and is kept as it " +
      `was sent: ${list(other.slice(0, 3))}${more > 0 ? ` and ${more} more` : ""}`],
    [s.turns.some((row) => row.case?.rating), "self_rated",
      "Each critic rates its own critique: that is its word, not a measure"],
  ];
};
