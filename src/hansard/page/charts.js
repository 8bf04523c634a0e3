"use strict";
// Votes, scores and cost, counted again from the entries. Beside each bar stands its number as
// text: the drawings are for the eye alone.

const share = (part) => `${part * 100}%`;
const bar = (pieces, mark = null) => s("svg.bar", { "aria-hidden": "true" },
  s("rect.rail", { width: "100%", height: "100%", rx: 4 }),
  pieces.map(([start, size, tone]) =>
    s(`rect.${tone}`, { x: share(start), width: share(size), height: "100%", rx: 4 })),
  mark !== null && s("line.mark", { x1: share(mark), x2: share(mark), y2: "100%" }));
const bars = (rows) => h("div.bars", rows.map(([name, drawn, text]) =>
  h("div", h("span", name), drawn, h("span", text))));

const MOST_ROUNDS = 4; // that a table has columns or rows for
const lastOnes = (all) => all.length > MOST_ROUNDS &&
  h("p.dim", `The last ${MOST_ROUNDS} of ${all.length} rounds:`);

// In the replay not all debaters may have their seats yet, and there is no room for names.
function voteBars(f, named = true) {
  const all = Math.max(1, page.figures.debater_ids.length);
  const held = new Map(f.options.map((vote) => [vote, []]));
  for (const vote of f.vote_tally.keys()) if (!held.has(vote)) held.set(vote, []);
  for (const seat of f.seats) {
    if (seat.votes.length) held.get(seat.votes.at(-1) ?? "abstain")?.push(seat.id);
  }
  return [bars([...held].map(([vote, ids]) => {
    const count = f.vote_tally.get(vote) ?? 0, tone = voteTone(vote);
    const pieces = ids.length === count ? ids.map((id, i) => [i / all, 1 / all, tone])
      : [[0, count / all, tone]];
    return [h(`strong.${tone}`, said(vote)), bar(pieces, f.consensus_threshold / all), count];
  })), named && [...held].filter(([, ids]) => ids.length).map(([vote, ids]) =>
    h("p", pill(vote), " ", ids.map((id, i) => [i > 0 && ", ", seatName(id)]))),
  h("p.dim", `${f.consensus_threshold} of ${plural(all, "vote")} are needed (dashed).`)];
}

function drawVotes(f) {
  const cast = f.options.length ? f.turns.filter((turn) =>
    turn.role === "debater" && ["counted", "forfeited"].includes(turn.status)) : [];
  const rounds = [...new Set(cast.map((turn) => turn.round))];
  const shown = rounds.slice(-MOST_ROUNDS);
  const votes = (id, round) => { // of each phase, or the one of all phases
    const all = cast.filter((turn) => turn.seat === id && turn.round === round)
      .map((turn) => turn.vote);
    const told = all.every((vote) => vote === all[0]) ? all.slice(0, 1) : all;
    return told.length ? told.map((vote, i) => [i > 0 && " → ", pill(vote)]) : "–";
  };
  return h("article.card", h("h3", "Votes"), voteBars(f), lastOnes(rounds), rounds.length > 0 &&
    table("plain", "Votes by round", ["Debater", ...shown.map((round) => `Round ${round}`)],
      f.debater_ids.map((id) => [seatName(id), ...shown.map((round) => votes(id, round))])));
}

const drawSides = (f) => h("article.card", h("h3", "Sides"),
  table("plain", "Sides", ["Stance", "Argued by", "Verdict"], f.stances.map((row) =>
    [said(row.label), seatName(row.debater),
      row.label === f.verdict?.winner ? h("span.pill.good", "won") : "–"])),
  f.stances.map((row) => h("p.dim", h("strong", said(row.label)), ": ", said(row.text))));

function drawSimilar(f) {
  const last = f.similarities.at(-1), least = last.threshold_ppm;
  return h("article.card", h("h3", last.pairs.length
    ? `How alike the answers of round ${last.round_index} are` : "Answers compared"),
  last.pairs.length > 0 && [
    bars(last.pairs.slice(0, 20).map((row) => [[said(row.one), " – ", said(row.other)],
      bar([[0, row.ppm / 1e6, "c0"]], least / 1e6), inPercent(row.ppm)])),
    h("p.dim", `From ${inPercent(least)} on (dashed) they count as alike: similar wording, `,
      "neither agreement nor correctness.")],
    lastOnes(f.similarities),
    table("plain", "Least alike by round",
      ["Round", "Answers", "Least alike", "Ended the rounds"],
      f.similarities.slice(-MOST_ROUNDS).map((row) => [row.round_index, row.heard,
        row.pairs.length ? inPercent(Math.min(...row.pairs.map((pair) => pair.ppm))) : "–",
        row.converged ? "yes" : "no"])));
}

function drawScores(f) {
  const rounds = f.rounds.filter((round) => round.moderation?.scores.size);
  if (!rounds.length) return null;
  const score = (round, side) => round.moderation.scores.get(side) ?? "–";
  const sides = [...rounds.at(-1).moderation.scores.keys()];
  const dot = (round, side) => {
    const cx = share(score(round, side) * 0.092 + 0.01);
    return s(`g.${seatTone(side)}${round === rounds.at(-1) ? "" : ".past"}`,
      s("circle", { cx, cy: "50%", r: 10 }), s("text", { x: cx, y: "50%" }, score(round, side)));
  };
  const ratings = (round) =>
    round.exchanges.map((row) => row.critique?.challenge_strength ?? "–").join(", ");
  return h("article.card", h("h3", "Quality of the arguments, 1 to 10"),
    bars(sides.map((side) => [seatName(side), s("svg.dots", { "aria-hidden": "true" },
      s("line", { x1: "5%", x2: "95%", y1: "50%", y2: "50%" }),
      rounds.map((round) => dot(round, side))), ""])),
    h("p.dim", "The moderator's word on arguments, not on positions. Hollow: earlier rounds."),
    table("plain", "Scores by round",
      ["Side", ...rounds.map((round) => `Round ${round.round_index}`)], [
        ...sides.map((side) => [seatName(side), ...rounds.map((round) => score(round, side))]),
        ["Confidence", ...rounds.map((round) => lower(round.moderation.confidence))],
        ["Critic on itself", ...rounds.map(ratings)]]));
}

const CEILINGS = [
  ["calls", (f) => f.totals.calls, (n) => plural(n, "call")],
  ["tokens", (f) => f.charged.tokens, (n) => plural(n, "token")],
  ["cost_micro_usd", (f) => f.charged.cost_micro_usd, money],
];
const spending = (f) => CEILINGS.filter(([key]) => f.limits[key] !== null)
  .map(([key, used, unit]) => [h("p.dim", `${unit(used(f))} of at most ${unit(f.limits[key])}`),
    bar([[0, Math.min(1, used(f) / f.limits[key]), "c0"]])]);

function drawCost(f) {
  const most = Math.max(1, ...f.seats.map((seat) => seat.cost_micro_usd));
  return h("article.card", h("h3", "Cost by seat"), bars(f.seats.map((seat) => [seatName(seat.id),
    bar([[0, seat.cost_micro_usd / most, seatTone(seat.id)]]), money(seat.cost_micro_usd)])),
  spending(f),
  table("numbers", "Use by seat", ["Seat", "Calls", "Tokens in", "Tokens out"],
    [...f.seats, f.totals].map((row) => [
      row.id ? seatName(row.id) : `All: ${money(row.cost_micro_usd)}`,
      ...[row.calls, row.tokens_in, row.tokens_out].map(number)])));
}

function drawFigures() {
  const f = page.figures;
  return section("figures", asFound("Votes, scores and cost"),
    "Counted again in this page from the entries.", h("div.cards",
      f.stances && drawSides(f), f.vote_tally && drawVotes(f),
      f.similarities?.length > 0 && drawSimilar(f),
      f.format === "moderated" && drawScores(f), drawCost(f)));
}
