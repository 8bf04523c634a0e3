"use strict";
// The first screen: what was asked and decided, whether the record can be relied on, what is still
// open; and the table of the governance checks.

function drawSummary(state) {
  const f = page.figures;
  if (!f) {
    return h("section", { id: "summary" }, drawAltered(),
      h("h1", "A record that makes no sense"), drawIntegrity(state));
  }
  const facts = [
    ["Held", `${f.opened_at.slice(0, 10)} ${f.opened_at.slice(11, 16)} UTC`],
    ["Format", f.format], ["Record", f.debate.slice(0, 8)],
    ["Replies", f.scripted ? "scripted" : "from models"],
    ["Cost", money(f.totals.cost_micro_usd)],
  ];
  return h("section", { id: "summary" }, state === "altered" && drawAltered(),
    f.name !== null && h("p.dim", said(f.name)), h("h1", said(f.question)),
    h("dl.facts", facts.map(([name, value]) => h("div", h("dt", name), h("dd", value)))),
    attempt(() => plainWords(f).map(([tone, ...text]) => signed("p.alert", tone, text))),
    h("div.cards", attempt(() => drawDecision(f, state)), drawIntegrity(state),
      attempt(drawReview)),
    attempt(() => h("div.cards.two", drawConcluded(f), drawOpen(f))));
}

const MOST_OF_A_CHECK = 5; // findings that are listed

function drawAltered() {
  const { findings } = page.result, checks = new Set(findings.map(checkOf));
  return h("div.alert.bad", { role: "alert" },
    h("h2", sign("bad"), "Do not rely on this record: it was altered"),
    Array.from(checks, (number) =>
      drawFindings(number, findings.filter((row) => checkOf(row) === number))));
}

function drawFindings(check, rows) {
  const more = rows.length - MOST_OF_A_CHECK;
  return [h("p", h("strong", VOCABULARY.checks[check].failed)),
    h("ul.dim", rows.slice(0, MOST_OF_A_CHECK).map((row) =>
      h("li", row.seq ? ["Entry ", ref(row.seq)] : "The record", ": ", said(row.message),
        ` (${row.code})`)),
    more > 0 && h("li", `… and ${plural(more, "finding")} more`))];
}

// What a reader must know before the cards, a sentence each.
const PLAIN = ["scripted", "recorded", "truncated", "refused", "judge_failed",
  "moderator_failed"];
function plainWords(f) {
  const told = new Map(f.notes.filter((note) => PLAIN.includes(note.code))
    .map((note) => [note.code, note])); // the last of each kind
  return [
    f.status === "open" && ["warn",
      "This debate is still open: this is what was recorded so far."],
    f.decision === "escalate" && ["warn", "A person must decide",
      f.review ? [": ", said(f.review)] : "."],
    ...Array.from(told.values(), (note) =>
      [toneOf(note), note.message, ". ", note.seq && ref(note.seq)]),
    f.resumes > 0 && ["info", `The debate was resumed ${plural(f.resumes, "time")}.`],
    page.result.unchecked && ["warn", `${page.result.unchecked}: ` +
      "texts are missing, withheld or changed."],
  ].filter(Boolean);
}

const card = (title, tone, head, ...children) =>
  h(`article.card.top.${tone}`, h("h2.key", title), h("p.head", head), children);

// Enough votes may also ask for a person: that is agreed on.
const agreedOnNothing = (f) => f.decision === "escalate" && !/_vote$/.test(f.decision_rule);
// A judge may name nobody.
const noWinner = (f) => f.decision && f.verdict && f.verdict.winner === null;
// The decision in a word or two: an option is left as it is spelled.
function decisionInWords(f) {
  if (!f.decision) return { open: "Still open", truncated: "Cut short" }[f.status] ?? "Failed";
  if (f.decision_rule === "judge_synthesis") return "Answer by the judge";
  if (f.format === "moderated" && f.decision === "not_upheld") return "not upheld";
  return noWinner(f) ? "No winner" : f.decision;
}
const drawTally = (f) =>
  [...f.vote_tally ?? []].map(([vote, count]) => h("p", pill(vote), ` ${count}`));

function drawDecision(f, state) {
  const altered = state === "altered", by = f.decided_on;
  const tone = f.decision && !noWinner(f) ? voteTone(f.decision) : "warn";
  const needed = by?.threshold ?? null, no = agreedOnNothing(f);
  const tied = f.counts.at(-1)?.tally.filter((row) => row.votes >= needed).length > 1;
  const how = needed === null ? f.how ?? f.stopped ?? "There is no decision yet"
    : no ? `${tied ? "A tie: more than one option was" : "No option was"} held by enough ` +
        `debaters (${needed} needed)`
      : `${by.votes} of ${plural(f.debater_ids.length, "vote")}, ${needed} needed`;
  const whose = f.verdict?.winner_id ?? f.winner_label;
  const rounds = f.rounds_run > 0 && `, ${f.status === "complete" ? "after" : "in round"} ` +
    `${f.rounds_run} of at most ${plural(f.max_rounds, "round")}`;
  return card(asFound("Decision"),
    altered ? "c4" : tone, h(altered ? "s" : `strong.${tone}`, said(decisionInWords(f))),
    h("p", how, rounds, "."), (!f.decision || no) && drawTally(f),
    whose && h("p", "Argued by ", seatName(whose), "."),
    f.moderation && h("p", `Confidence: ${lower(f.moderation.confidence)}.`),
    f.dissent?.map((row) => h("p", "Dissent: ", seatName(row.speaker), " ", pill(row.vote))),
    h("p.dim", "Sign-off by a person: none is recorded."));
}

// Whether a reader may trust it, where no key has answered that.
const NOTHING_SPEAKS = "Nothing in it contradicts itself, but anybody could have written it: ";
const TRUST = {
  consistent: `${NOTHING_SPEAKS}ask the sender for the export key by another route.`,
  partly: `${NOTHING_SPEAKS}check its signature with hansard verify.`,
  foreign: "A key that you gave did not sign this. It may be forged: do not rely on it before " +
    "the sender explains why.",
};

function drawIntegrity(state) {
  const [name, tone] = VERDICTS[state], { checks, entries, unchecked } = page.result;
  const by = (n) => checks.find((row) => row.number === n);
  const line = (status, ...text) => signed("li.signed", STATUS[status][0], text);
  const rules = checks.filter((row) => row.number > 8);
  const signer = signerOf("manifest");
  const names = signer?.names.length && ["Signer not confirmed: it names itself ",
    said(signer.names.join(", ")), ". ", h("a", { href: "#keys" }, "Compare the key")];
  const whose = signer?.by ? line("pass", "Signed by ", said(signer.by), ", whose key you gave")
    : line("unchecked", names || "Nobody signed it");
  const failing = checks.filter((row) => row.status === "fail");
  return card("Record integrity", tone,
    [sign(tone), h(`strong.${tone}${name.length > 20 ? ".long" : ""}`, name)],
    h("ul.plain", failing.length ? failing.map((row) =>
      line("fail", VOCABULARY.checks[row.number].failed)) : [
      line("pass", entries === 1 ? "The 1 entry matches its fingerprint"
        : `All ${number(entries)} entries match their fingerprints`),
      line(by(8).status, by(8).evidence),
      rules.every((row) => row.status === "pass") && !unchecked
        ? line("pass", page.figures?.decision
          ? "Turns, votes and decision follow from the replies"
          : "What was recorded follows the rules")
        : line("unchecked", "What follows from the replies was checked as far as the texts are " +
          "at hand"), whose]),
    TRUST[state] && h("p", state === "consistent" && signer?.by
      ? "Who approved its prompts is not confirmed: compare that key too." : TRUST[state],
    " ", h("a", { href: "#claims" }, "What is proven")),
    unchecked && h("p.warn", h("strong", unchecked)));
}

// The table's rows: those that a check of the verification decides have its status.
const rules = () => page.figures.governance.map((row) => {
  const checks = page.result.checks.filter((each) => row.checks.includes(each.number));
  const status = (name) => checks.find((each) => each.status === name);
  const worst = status("fail") ?? (row.status === "passed" && status("unchecked"));
  return worst ? { ...row, status: worst.status, found: worst.evidence } : row;
});

function drawReview() {
  const rows = rules(), look = rows.filter((row) => ["review", "fail"].includes(row.status));
  const passed = rows.filter((row) => row.status === "passed").length;
  const failing = rows.some((row) => row.status === "fail");
  const open = rows.length - passed - look.length; // not checked, or not in full
  const tone = failing ? "bad" : look.length ? "warn" : open ? "info" : "good";
  const head = look.length ? `${look.length} to review`
    : open ? `${open} not checked` : "All passed";
  return card("Governance", tone,
    [sign(tone), h(`strong.${tone}`, head)],
    h("p", `${passed} of ${rows.length} passed, recomputed from the entries.`,
      open > 0 && ` ${open} could not be checked in full.`),
    h("ul.plain", look.map((row) =>
      signed("li.signed", STATUS[row.status][0], h("strong", row.name), ": ",
        row.notes[0]?.message ?? row.found))));
}

const lastOf = (f, id) =>
  f.transcript.findLast((row) => row.speaker_id === id && row.status === "counted")?.stance;

function drawConcluded(f) {
  const { moderation: m, verdict: v } = f, rows = [];
  if (f.output !== null) rows.push(parts(f.output));
  if (m) {
    rows.push(f.framing?.thesis && h("p", h("span.key", "Proposition: "), said(f.framing.thesis)),
      words(m.synthesis), m.ranking.length > 0 && h("p", "Ranking: ", said(m.ranking.join(", "))),
      h("p.dim", `The moderator's synthesis, round ${m.round_index}, entry `, ref(m.seq)));
  }
  if (v) {
    rows.push(h("p.key", "The judge's verdict, entry ", ref(v.seq)), words(v.verdict),
      words(v.reasoning));
  }
  if (f.final) rows.push(words(f.final));
  if (!rows.length && (agreedOnNothing(f) || !f.decision)) rows.push(drawStanding(f));
  else for (const seat of f.format === "consensus" ? f.seats : []) {
    if (seat.votes.at(-1) !== f.decision) continue;
    rows.push(h("p.by", seatName(seat.id), " ", pill(f.decision)), words(lastOf(f, seat.id)));
  }
  return h("article.card", h("h2", asFound("What was concluded")),
    rows.length ? rows : h("p", "No answer was found."));
}

// How far a debate came that has no answer.
function drawStanding(f) {
  const no = f.decision ? "Nothing was agreed on: a person must decide."
    : { open: "Still open.", truncated: "Cut short." }[f.status] ?? "It failed, without an answer.";
  return [h("p", no), f.format === "consensus" && !f.decision && f.vote_tally.size > 0 &&
    [h("p", "No option has enough votes yet:"), drawTally(f)],
  Array.from(f.last_drafts ?? [], ([id, draft]) =>
    [h("p.by", "The last draft of ", seatName(id), ":"), words(draft)])];
}

const OPEN = ["unanswered", "tie", "forfeited", "still_open", "undeclared_winner"];
function drawOpen(f) {
  const m = f.moderation, rows = [
    ...(f.decision && f.decision !== "escalate" ? []
      : [`The question itself: nothing ${f.status === "open" ? "is" : "was"} decided.`]),
    ...(m ? [...m.unresolved_points, ...m.explicit_uncertainties] : []).map(said),
    ...(f.dissent ?? []).map((row) =>
      [seatName(row.speaker), " ", pill(row.vote), " ", said(lastOf(f, row.speaker))]),
    ...f.notes.filter((note) => OPEN.includes(note.code))
      .map((note) => [note.message, ". ", note.seq && ref(note.seq)]),
  ];
  return h("article.card", h("h2", asFound("What is still open")), rows.length
    ? h("ul", rows.map((row) => h("li", row))) : h("p", m ? "Nothing is listed as open."
      : "This format lists no open points."));
}

const outcome = (status) =>
  signed("span.signed", STATUS[status][0], h("strong", STATUS[status][1]));

const drawChecks = () => section("checks", "Governance checks",
  "Each rule, and what this page found when it recomputed it.",
  h("div.card", table("rules", "Governance checks", ["Result", "Check", "Rule", "Found"],
    rules().map((row) => [outcome(row.status), h("strong", row.name), h("span.dim", row.rule),
      [row.found, row.seqs.slice(0, 12).map((seq) => [" ", ref(seq)]),
        row.notes.slice(0, 12).map((note) => h("p.dim", note.message))]]))));
