"use strict";
// The few words that every part of the page needs: amounts, verdicts, headlines of entries, and
// the colours of seats and votes.

const number = (n) => (n === null ? "–" : n.toLocaleString("en-US"));
const money = (micro) => (micro === null ? "no known price"
  : `$${(micro / 1e6).toFixed(micro >= 1e6 ? 2 : 4)}`);
const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;
const lower = (word) => word?.toLowerCase() ?? "–";
const clock = (event) => event.at.slice(11, 19);
const toneOf = (note) => (note.severity === "info" ? "info" : "warn");
const spaced = (name) => name.replace(/[_.]/g, " ");

const VERDICTS = {
  intact: ["Intact", "good"], consistent: ["Agrees with itself; signer not confirmed", "info"],
  foreign: ["Not signed by the key you gave", "bad"],
  partly: ["Partly checked: this browser cannot check signatures", "warn"],
  altered: ["Altered", "bad"],
};
const STATUS = {
  pass: ["good", "Passed"], fail: ["bad", "Failed"], unchecked: ["info", "Not checked"],
  passed: ["good", "Passed"], review: ["warn", "To review"],
};
const NOT_AT_HAND = "texts that are missing, withheld or changed";
// The round, phase and speaker of a call: it is named by its step and the number of its attempt.
const askedIn = ({ call }) => placeOf(call.replace(/:\d+$/, ""));
const HEADLINES = {
  "debate.opened": () => "The debate was opened: question, rules and limits are fixed",
  "debate.resumed": () => "It was interrupted, and another process went on with it",
  "debater.registered": (d) => `${d.id} takes a seat as ${d.role}: ${d.model}`,
  "evidence.admitted": (d) => `Document ${d.document}, to be seen from ` +
    (d.from_round > 1 ? `round ${d.from_round}` : "the start"),
  "call.started": (d) => `${askedIn(d).speaker} is asked (round ${askedIn(d).round}, ` +
    `${askedIn(d).phase})`,
  "call.answered": (d) => `${askedIn(d).speaker} answers`,
  "call.failed": (d) => `${askedIn(d).speaker} does not answer`,
  "tool.called": (d) => `${askedIn(d).speaker} asks a tool`,
  "tool.returned": (d) => `The tool answers ${askedIn(d).speaker}`,
  "call.refused": (d) => `The prompt of the ${d.role} is not the approved one: nobody was asked`,
  "votes.counted": (d) => "Votes counted: " +
    d.tally.map((row) => `${row.option} ${row.votes}, `).join("") +
    `abstained ${d.abstentions}; ${d.threshold} needed`,
  "similarity.measured": (d) => `Answers of round ${d.round} compared` +
    (d.converged ? ": alike enough to end the rounds" : ""),
  "debate.truncated": (d) => `Cut short before ${d.step}: the ceiling on ${d.ceiling}`,
  "decision.reached": (d) => `Decided: ${d.decision}, ${spaced(d.rule)}`,
  "debate.closed": (d) => `The debate was closed: ${d.outcome}, ${spaced(d.reason)}`,
};
const headline = ({ type, data }) =>
  HEADLINES[type]?.(data) ?? `${spaced(type)}: ${data.call ?? data.step}`;
const QUIET = ["debater.registered", "call.started", "call.answered", "tool.called",
  "tool.returned"]; // entries that are folded away until somebody looks

// A seat and an option have one colour everywhere, by their place.
const seatTone = (id) => {
  const place = page.figures.seats.findIndex((seat) => seat.id === id);
  return `c${Math.max(0, place) % 6}`;
};
const TONES = ["good", "warn", "c0", "c3", "c1", "c2"];
const voteTone = (vote) => (vote === "escalate" ? "bad"
  : TONES[(page.figures.options ?? []).indexOf(vote) % 6] ?? "c4");
const seatName = (id) => h(`strong.${seatTone(id)}`, said(id));
const pill = (vote) =>
  (vote === null ? "abstained" : h(`span.pill.${voteTone(vote)}`, said(vote)));
