"use strict";
// The words that the figures are told in, which are those of the JSON report: tables of what the
// codes of a record mean; and amounts, lists and steps in words.

const GONE = "[text erased or missing]";
const ALIKE = "similar wording, neither agreement nor correctness";
const SILENCES = { no_reply: "no reply came", invalid_reply: "no reply could be counted" };
const REJECTIONS = {
  unreadable: "it is not the JSON that was asked for",
  schema: "a part is missing, empty or one too many",
  unknown_option: "it names something that is not an option",
  output_schema: "it does not fit the output schema",
  weak_critique: "it rates itself too weak",
  cut_off: "it was cut off",
  refused: "the model refused",
  filtered: "the provider filtered it",
  not_finished: "the model did not finish it",
};
const MISSES = new Map([ // the only words that are looked up by what a record names freely
  ["type", "is of the wrong type"],
  ["enum", "is none of what may be named"],
  ["minLength", "is empty"],
  ["minimum", "is out of its range"],
  ["minItems", "has too few or too many items"],
  ["required", "is missing"],
  ["additionalProperties", "has a part that was not asked for"],
]);
const ERRORS = {
  rate_limited: "rate limited",
  timeout: "no answer in time",
  server_error: "error of the server",
  client_error: "refused by the server",
  unreachable: "server not reached",
  crashed: "error in the client",
  no_reply: "no reply",
};
const STATUSES = {
  400: "it did not accept the settings, or the prompt is too long",
  401: "it did not accept the key",
  402: "there is no credit left",
  403: "the key may not do this",
  404: "there is no such model, or the address is wrong; most end in /v1",
  413: "the prompt is too long",
};
const FINDINGS = {
  verified: "found in the document",
  no_such_document: "there is no such document",
  not_yet_visible: "nobody had seen that document yet",
  not_found: "not found in the document",
};
const beforeNext = (what) => `the next call could have broken the ceiling on ${what}`;
const STOPPED = {
  votes_reached: "an option was held by enough debaters",
  max_rounds_exhausted: "the rounds were used up",
  rounds_complete: "all its rounds were over",
  converged: "the answers of a round were alike",
  moderator_satisfied: "the moderator wanted no further round",
  calls_ceiling: beforeNext("calls"),
  tokens_ceiling: beforeNext("tokens"),
  cost_ceiling: beforeNext("cost"),
  seconds_ceiling: "the time allowed for it was up",
  prompt_refused: "a prompt was not approved",
  judge_failed: "the judge could not be heard",
  moderator_failed: "the moderator could not be heard",
};
const HOW = {
  threshold_vote: "enough debaters hold it",
  majority_vote: "more than half of the debaters hold it",
  unanimous_vote: "all debaters hold it",
  max_rounds_exhausted: "no option was held by enough debaters",
  judge_verdict: "the judge's verdict",
  judge_synthesis: "the judge wrote the answer",
  judge_pick: "the judge picked this draft",
  moderator_synthesis: "the moderator weighed the arguments",
  moderator_ranking: "the moderator ranked it first",
  unchallenged: "no critique that holds was made of what the moderator upheld",
  unsupported: "every argument for it rests on a citation that does not hold",
  too_few_heard: "too few were heard",
  no_majority: "no answer was held by more than half of the debaters",
  most_similar: `this draft is the most like the others: ${ALIKE}`,
};

const many = (n, one, more = `${one}s`) => `${n} ${n === 1 ? one : more}`;
const list = (rows) => rows.join(", ");
const unique = (rows) => [...new Set(rows)];
const sum = (rows) => rows.reduce((total, row) => total + row, 0);
// 1, 2, 3 …; no reply that counts has more than a hundred of anything.
const numbers = (total) => Array.from({ length: Math.min(total, 100) }, (_, index) => index + 1);
const inPercent = (ppm) => `${(Math.floor(ppm / 1000) / 10).toFixed(1)} %`;
const inSeconds = (ms) => String(Number((ms / 1000).toPrecision(10)));
const amount = (ceiling, n) => {
  if (ceiling === "seconds") return `${inSeconds(n)} seconds`;
  if (ceiling !== "cost") return many(n, ceiling.slice(0, -1));
  return `${Math.floor(n / 1e6)}.${String(n % 1e6).padStart(6, "0")} US dollars`;
};

// Where a step stands: `r2.critique.ann` is Ann's critique of round 2.
const placeOf = (step) => {
  const [round, phase, ...speaker] = step.split(".");
  return { round: Number(round.slice(1)), phase, speaker: speaker.join(".") };
};
const who = (step) => {
  const { round, phase, speaker } = placeOf(step);
  return `${speaker} in round ${round}, ${phase},`;
};

// Why a reply does not count.
const whyRejected = ({ code, member, keyword, rating }) => {
  const where = member === null ? "it" : `its part ${member}`;
  const why = keyword === null ? REJECTIONS[code]
    : `${where} ${MISSES.get(keyword) ?? `does not fit (${keyword})`}`;
  return rating ? `${why} (${rating} of 10)` : why;
};
// How a call failed.
const failure = ({ error, status, detail, request_id: id }) => {
  const known = [status ? `HTTP ${status}` : detail, STATUSES[status],
    typeof id === "string" && `request ${id}`].filter(Boolean);
  return known.length ? `${ERRORS[error]} (${list(known)})` : ERRORS[error];
};
