"use strict";
// The table of governance checks: each rule in plain words, and what the figures `f` show of it.
// Every note that is more than information belongs to exactly one of them.

const tallyInWords = (count) => list([
  ...count.tally.map((row) => `${row.option} ${row.votes}`), `abstained ${count.abstentions}`,
]);
// Only of models that were asked: replies of a script are nobody's.
const modelsOf = (f, ...roles) => list(f.seats
  .filter((seat) => roles.includes(seat.role) && familyOf(seat.model))
  .map((seat) => `${seat.id}: ${seat.model}`));
const casesOf = (f) => f.turns.filter((row) => row.case).map((row) => row.case);
const hasNote = (f, code) => f.notes.some((note) => note.code === code);
const callsOf = (f) => f.calls.asked && many(f.calls.asked, "call");
// Only this one of a format's own outcomes is two words: an option may well hold a "_".
const decisionOf = (f) => (f.decision === "not_upheld" ? "not upheld" : f.decision);

// Name, rule, what was found, then what it rests on, and whether there is more to review. It rests
// on checks of the verification, by number, and notes, by code. Where nothing was found that it
// rules on, a rule is left out.
const GOVERNANCE = [
  ["Votes add up", "The recorded tally equals the count of each debater's latest vote.",
    (f) => f.counts.length && tallyInWords(f.counts.at(-1)), [14]],
  ["Decision follows the rule",
    "The recorded decision is what the rule makes of the votes, the verdict or the drafts.",
    (f) => {
      if (!f.decision) return "";
      const { votes, threshold, rule } = f.decided_on;
      // Other rules may note votes as well, but it is not they that decided.
      const counted = votes !== null && rule.endsWith("_vote")
        ? ` (${many(votes, "vote")}, ${threshold} needed)` : "";
      return `${decisionOf(f)}: ${f.how}${counted}`;
    }, [16]],
  ["Replies read as written",
    "Every vote, rating, score and winner on record is what the reply itself says.",
    (f) => many(f.turns.filter(isHeard).length, "reply that counts"), [12]],
  ["Speakers by schedule", "Everybody speaks in the fixed order; no model picks who is next.",
    (f) => many(f.speaker_schedule.length, "turn"), [9]],
  ["Prompts as approved", "Each prompt is made of the templates that the signed policy approves.",
    (f) => {
      if (f.refused) return `the prompt of the role ${f.refused.role} was not approved`;
      return hasNote(f, "policy") && (callsOf(f) || "no prompt yet");
    }, [3, 10, "refused"]],
  ["Prompts as fixed at the opening",
    "Each prompt is made of the templates that were fixed at the opening.",
    (f) => !hasNote(f, "policy") && "no policy was named", [10]],
  ["Prompts as recorded",
    "Each prompt, made again from its recipe, has the fingerprint recorded before it was sent.",
    callsOf, [11]],
  ["Prompts sent as made", "What each model was sent is the prompt that the record gives.",
    (f) => (hasNote(f, "sent_otherwise") ? "some calls sent something else" : f.compared &&
      `${f.compared} of ${many(f.calls.asked, "call")} compared with what was sent`),
    ["sent_otherwise"]],
  ["Clear outcome",
    "One outcome stands, with no tie; votes, where counted, are more than half of all.",
    (f) => f.decision && (f.decision === "escalate"
      ? "nothing was agreed on: a person must decide" : decisionOf(f)),
    [16, "tie", "low_threshold", "undeclared_winner"], (f) => f.decision === "escalate"],
  ["Round limit", (f) => `At most ${many(f.max_rounds, "round")}.`,
    (f) => `${many(f.rounds_run, "round")} run`, ["many_rounds"],
    (f) => f.rounds_run > f.max_rounds],
  ["Ceilings kept", "No more is used than was allowed, and what is used is known.",
    (f) => list(f.ceilings.map((row) =>
      `${amount(row.name, row.spent)} of ${amount(row.name, row.limit)}`)),
    [15, "no_ceiling", "cost_incomplete", "over_ceiling"]],
  ["Critic challenged hard enough",
    (f) => `The critic rates its challenge at ${f.min_challenge_strength} of 10 or more; below ` +
      `${f.require_critic_retry_below} it is sent back once.`,
    (f) => {
      const ratings = list(casesOf(f).map((row) => row.rating).filter(Boolean));
      return [
        ratings && `the critic rated itself ${ratings.replace(/, (\d+)$/, " and $1")} of 10`,
        ...f.sent_back.map((rating) => `one critique rated ${rating} was sent back`),
      ].filter(Boolean).join("; ");
    }, [12, "weak_critique", "prompt_review"]],
  ["Citations exist in the sources",
    "Every argument cites a document, and every quote is found in it word for word.",
    (f) => {
      const all = casesOf(f).flatMap((row) => row.citations);
      const good = all.filter((row) => row.finding === "verified").length;
      return casesOf(f).length && `${good} of ${many(all.length, "citation")} found` +
        (good < all.length ? "; the arguments that rest on the others are struck" : "");
    }, [13, "fabricated_citation", "uncited"]],
  ["Objections answered", "Every objection that holds is answered or granted.",
    (f) => casesOf(f).length && (sum(casesOf(f).map((row) => row.unanswered.length)) || "none") +
      " left unanswered", [12, 13, "unanswered"]],
  ["Judge is independent",
    (f) => "Whoever judges shares no model, and no family of models, with those that argue" +
      (f.neutrality ? ", and comes to the same outcome in another order." : "."),
    (f) => modelsOf(f, "judge", "moderator"), ["self_bias", "neutrality_changed"]],
  ["Debaters differ",
    "No two that argue are one model with one prompt; a critic is of another family of models " +
      "than the proposer.",
    (f) => modelsOf(f, ...ARGUERS), ["theatre", "single_model"]],
  ["Open points", "What could not be settled is listed for a person to decide.",
    (f) => f.moderation && list([many(f.moderation.unresolved, "open point"),
      many(f.moderation.uncertainties, "uncertainty"),
      `confidence ${f.moderation.confidence}`.toLowerCase()]),
    [12, "still_open"], (f) => f.moderation?.unresolved > 0],
  ["Models really asked", "Every reply came from a model or a function that was asked.",
    (f) => (f.scripted ? "replies come from a script or a record: no model was asked"
      : many(f.calls.answered, "reply")), [], (f) => f.scripted],
  ["Everybody was heard", "Every call brings a reply, and every speaker has turns that count.",
    (f) => `${many(f.turns.filter((row) => row.silence).length, "turn")} forfeited, ` +
      `${many(f.calls.failed + f.calls.abandoned, "call")} without a reply, ` +
      `${many(f.calls.rejected, "reply")} sent back`,
    ["forfeited", "failed", "abandoned"]],
  ["Ran to the end", "The debate closed as complete: it was not cut short, refused or failed.",
    (f) => (f.stopped ? `${f.status}: ${f.stopped}` : "it is not closed yet"),
    [16, "truncated", "judge_failed", "moderator_failed", "synthesis_missing"],
    (f) => f.status !== "complete"],
  ["Texts at hand", "Every text that the record shows is here to be read.",
    (f) => (hasNote(f, "text_gone") ? "some are missing, withheld or changed" : "none is missing"),
    [8, "text_gone"]],
];

const governanceOf = (f) => GOVERNANCE.flatMap(([name, rule, find, by, review]) => {
  const notes = f.notes.filter(({ code, severity }) => severity !== "info" && by.includes(code));
  const row = {
    name, rule: typeof rule === "string" ? rule : rule(f), found: find(f) || "", notes,
    seqs: unique(notes.map((note) => note.seq)).filter((seq) => seq !== null),
    checks: by.filter(Number.isInteger),
    status: notes.length || review?.(f) ? "review" : "passed",
  };
  return row.found || notes.length ? [row] : [];
});
