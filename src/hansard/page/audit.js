"use strict";
// Takes the entries of a record one after another: says which is due, and derives each derived
// field again (checks 9 to 16 of FORMAT.md, §11). Nothing here touches a page.

class NotDue extends Error {} // says what was due instead

function need(holds, due) {
  if (!holds) throw new NotDue(due);
}

// A time as milliseconds and the microseconds left; a month may have 31 days, a year be 0.
function instant(at) {
  const number = (from, to) => Number(at.slice(from, to));
  const year = number(0, 4), cycles = Math.floor(year / 400);
  const month = Date.UTC(400 + year % 400, number(5, 7) - 1, 1);
  const days = cycles * 146097 + number(8, 10);
  const seconds = number(11, 13) * 3600 + number(14, 16) * 60 + number(17, 19);
  return [month + days * 864e5 + seconds * 1000 + number(20, 23), number(23, 26)];
}

const LIMITS = { // by ceiling, in the order tried
  calls: "calls", tokens: "tokens", cost: "cost_micro_usd", seconds: "elapsed_ms",
};
const ENDING = ["call.answered", "call.failed", "tool.returned", "debate.resumed"]; // not scheduled
const ABANDONING = ["call.failed", "debate.resumed"];
const LOCATED = ["schema", "unknown_option"]; // these say where a reply misses its schema
// A derived value as a line holds it: sums are exact, and one beyond a line's integers is none.
const stated = (value) =>
  typeof value !== "bigint" ? value ?? null : value <= LARGEST ? Number(value) : String(value);

// One turn to be taken, and what was tried for it.
class Step {
  constructor(round, phase, seat, about, against) {
    Object.assign(this, {
      name: `r${round}.${phase}.${seat.id}`, round, phase, seat,
      about, // the seat of the proposer whose proposition it is about
      against, // the critique that a rebuttal answers
      template: "", task: [], digest: null, recipe: null, // of its prompt
      tools: [], toolsOut: 0, toolRounds: 0, // `tools`: those not yet in the digest
      attempts: 0, ended: 0, // `ended`: those that count against the step's limit
      began: "", // when its first call since the last resume was started
      lastRejected: false, refused: null, exhausted: false, open: false,
      reply: null, sentBack: null, // the one that counts, and a weak critique
    });
  }

  get fields() {
    return { step: this.name, round: this.round, phase: this.phase, speaker: this.seat.id };
  }

  get position() {
    return this.about?.stance?.label ?? "";
  }

  get heard() {
    return this.reply ?? this.sentBack;
  }

  get wantsCall() {
    return !(this.reply || this.exhausted || this.open || this.toolsOut);
  }
}

// A turn that is over: its reply, null where it was forfeited, and what it says.
class Turn {
  constructor(step, reply, says) {
    Object.assign(this, { step, reply, says, id: step.seat.id, case: says.case ?? null });
  }

  get struck() {
    return this.case?.struck ?? [];
  }
}

// The state that the lines so far give, and the findings about them.
class Walk {
  constructor(texts, approved) {
    Object.assign(this, {
      texts, approved, // `approved` by the policy; null where it cannot be read
      findings: [], log: [{ due: ["debate.opened"], steps: [] }], seen: {}, place: 0, at: "",
      opening: null, openedAt: null, terms: null, schemas: new Map(), hashes: new Map(),
      prices: new Map(), templates: [], seats: new Map(), documents: new Map(),
      transcript: null, course: null, // there once all of these are
      line: null, steps: new Map(), over: [], waiting: 0, // what is due; `over`: its turns so far
      calls: new Map(), abandoned: [], tools: new Map(), asked: null, answer: null,
      spent: { calls: 0n, tokens: 0n, cost: 0n }, folded: new Map(), recipes: new Map(),
      goneReplies: 0, goneTurns: 0, goneDocuments: false, asking: new Set(),
      decision: null, closed: null, followed: 0, ended: false,
    });
  }

  // Takes the lines one after another, up to the first that is not due.
  walk(events) {
    for (const event of events) {
      this.place++;
      try {
        this.take(event);
      } catch (error) {
        if (!(error instanceof NotDue)) throw error;
        this.report("9.not_due", error.message, event.type);
        return;
      }
      this.followed = this.place;
      this.log.push({ due: this.next(), steps: this.awaited().map(({ fields }) => fields) });
    }
    this.ended = true;
  }

  take({ type, data, at }) {
    const { answer } = this;
    this.at = at;
    this.answer = null;
    if (!this.course) {
      this.takeOpening(type, data);
    } else if (this.asked) {
      need(type === "tool.called", "tool.called");
      this.takeCalled(data);
    } else if (type === "turn.rejected" || answer?.why) {
      need(type === "turn.rejected", "turn.rejected");
      this.takeRejected(data, answer);
    } else {
      if (answer) {
        answer.step.reply = answer.reply;
        this.waiting--;
      }
      need(!this.closed, "nothing: the debate is closed");
      need(!this.abandoned.length || ABANDONING.includes(type), "call.failed of an abandoned call");
      const due = this.due();
      const isDue = ENDING.includes(type) || due.includes(type);
      need(isDue, due.join(" or ") || "the end of an open call");
      this[TAKERS[type] ?? "takeLine"](data);
    }
    this.seen[type] = (this.seen[type] ?? 0) + 1;
  }

  // The types that are due now, but for the ends of calls and for resuming.
  due() {
    if (this.line) return this.calls.size || this.tools.size ? [] : [this.line.kind];
    if (this.waiting) return ["call.started", "call.refused", "debate.truncated"];
    const [step] = this.steps.values();
    return [step.heard ? TURNS[step.seat.role] ?? "turn.recorded" : "turn.forfeited"];
  }

  // What a reader is told is due.
  next() {
    if (this.closed) return [];
    if (!this.course) {
      if (!this.opening) return ["debate.opened"];
      return [this.seats.size < this.opening.seats ? "debater.registered" : "evidence.admitted"];
    }
    if (this.asked) return ["tool.called"];
    if (this.answer?.why) return ["turn.rejected"];
    if (this.answer && this.waiting === 1) { // it is the last reply that was waited for
      const [step] = this.steps.values();
      return [TURNS[step.seat.role] ?? "turn.recorded"];
    }
    return this.due();
  }

  // The steps that are waited for; where all have ended, the one whose turn is due.
  awaited() {
    const steps = [...this.steps.values()], answered = this.answer?.why ? null : this.answer?.step;
    const open = steps.filter((step) => !step.heard && !step.exhausted && step !== answered);
    return open.length ? open : steps.slice(0, 1);
  }

  // Reports each derived field that the line states otherwise.
  compare(check, data, derived) {
    for (const [name, raw] of Object.entries(derived)) {
      const value = stated(raw);
      if (data[name] === value || canonical(data[name]) === canonical(value)) continue;
      this.report(`${check}.${name}`, value, data[name]);
    }
  }

  report(code, expected, found) {
    this.findings.push(finding(code, this.place, expected, found));
  }

  // -- opening, seats, evidence (§11.1)

  takeOpening(type, data) {
    if (!this.opening) {
      need(type === "debate.opened", "debate.opened");
      this.takeOpened(data);
    } else if (this.seats.size < this.opening.seats) {
      need(type === "debater.registered", "debater.registered");
      need(!this.seats.has(data.id), "debater.registered with another id");
      this.seats.set(data.id, data);
      if (this.seats.size === this.opening.seats) this.checkSeats();
      this.compare(9, data, { position: this.seats.size });
    } else {
      need(type === "evidence.admitted", "evidence.admitted");
      need(!this.documents.has(data.document), "evidence.admitted with another id");
      this.documents.set(data.document, data);
    }
    const { opening, seats, documents } = this;
    if (seats.size !== opening.seats || documents.size !== opening.documents) return;
    this.transcript = new Transcript(opening, [...seats.values()], [...documents.values()]);
    this.course = this.run();
    this.goOn();
  }

  takeOpened(data) {
    const roles = data.templates.map((row) => row.role);
    const names = Object.keys(templatesOf(data.terms)), format = formatOf(data.terms);
    need(canonical(roles) === canonical(names), "debate.opened with the templates of its format");
    const { options = [] } = data.terms;
    const right = distinct(options) && !options.includes("abstain") && options.length <= 100;
    const fewest = format.leastOptions ?? 0;
    need(right && options.length >= fewest,
      `debate.opened with ${fewest} to 100 different options`);
    const synthesizer = data.schemas.slice(-1).filter((row) => row.role === "synthesizer");
    const number = data.seats - synthesizer.length;
    const terms = format.fixed?.(data.terms, number) ?? data.terms;
    const schemas = format.schemas(terms);
    const hashed = schemas.map(([role, schema]) =>
      ({ role, sha256: sha256(toBytes(canonical(schema))) }));
    hashed.push(...synthesizer);
    this.compare(14, data, { terms });
    this.compare(10, data, { schemas: hashed });
    this.schemas = new Map([...schemas, ["synthesizer", {}]]); // the user's own is not known here
    this.hashes = new Map(hashed.map((row) => [row.role, row.sha256]));
    this.opening = { ...data, terms, schemas: hashed };
    this.terms = terms;
    this.format = format;
    this.openedAt = instant(this.at);
    const prices = [...data.prices].reverse(); // the first of a model counts
    for (const row of prices) this.prices.set(row.model, row);
    this.templates = data.templates.map(({ role, sha256: hash }) =>
      [role, hash, this.approved?.get(`${terms.format}.${role}`) ?? null]);
  }

  checkSeats() {
    const { terms, format } = this, seats = [...this.seats.values()];
    const scripted = seats.some((seat) => /^(scripted|recorded):/.test(seat.model));
    need(scripted === this.opening.scripted, "debate.opened with `scripted` as the models say");
    const more = this.hashes.has("synthesizer") ? [["synthesizer", null]] : [];
    const expected = [...format.seats(terms, seats.length - more.length), ...more];
    const found = seats.map((seat) => [seat.role, seat.stance?.label ?? null]);
    const same = canonical(found) === canonical(expected);
    need((format.sound?.(terms) ?? true) && same,
      "debater.registered for the seats of the format");
    if (!format.anyNames) {
      const ids = seats.filter((seat) => seat.role !== "synthesizer").map((seat) => seat.id);
      const taken = [...ids, ...found.map(([, label]) => label)];
      const reserved = taken.some((name) => RESERVED.includes(name));
      need(!reserved, "debater.registered with no name of an outcome");
    }
    const reason = format.misseated?.(this);
    need(!reason, reason);
  }

  // -- the schedule (§8)

  get turns() {
    return this.transcript?.turns ?? [];
  }

  seated(role) {
    return [...this.seats.values()].filter((seat) => seat.role === role);
  }

  step(round, phase, seat, about = null, against = null) {
    const step = new Step(round, phase, seat, about, against);
    this.transcript.begin(step, this.decision);
    return step;
  }

  // What the format says is due, then decision, synthesis and close.
  * run() {
    const [decision, reason] = yield* this.format.schedule(this);
    if (decision) {
      const { round } = this.turns[this.turns.length - 1].step;
      const review = decision.decision === "escalate" ? this.opening.review : null;
      this.decision = yield due("decision.reached", 16, { ...decision, rounds_run: round, review });
      for (const seat of this.seated("synthesizer")) yield [this.step(round, "synthesis", seat)];
    }
    yield closing(decision ? "complete" : "failed", reason);
  }

  goOn(sent) {
    const { value } = this.course.next(sent), steps = Array.isArray(value) ? value : [];
    this.line = Array.isArray(value) ? null : value;
    this.steps = new Map(steps.map((step) => [step.name, step]));
    this.over = [];
    this.waiting = steps.filter((step) => !step.heard).length;
  }

  // Takes a line that follows from those before; what is not derived of it is as it says.
  takeLine(data) {
    const { kind, check, fields } = this.line;
    const derived = typeof fields === "function" ? fields(data) : fields;
    need(derived, `${kind} with what answers can give`);
    this.compare(check, data, derived);
    if (kind === "debate.closed") this.closed = { ...data, ...derived };
    else this.goOn({ ...data, ...derived });
  }

  // -- calls (§11.3 to §11.5, §15)

  firstStep() {
    const step = [...this.steps.values()].find((each) => each.wantsCall);
    need(step, "no call: every step has a reply, or waits for one");
    return step;
  }

  takeStarted(data) {
    const step = this.steps.get(data.step);
    need(step?.wantsCall, "call.started for a step that wants a call");
    step.attempts++;
    step.open = true;
    step.began ||= this.at;
    const { role, model, parameters } = step.seat;
    const call = {
      name: `${step.name}:${step.attempts}`, step,
      tokens: BigInt(data.reserved_tokens_in) + BigInt(data.reserved_tokens_out),
      cost: data.reserved_cost_micro_usd === null ? null : BigInt(data.reserved_cost_micro_usd),
    };
    const recipe = this.transcript.prompt(step);
    this.compare(9, data, { call: call.name, attempt: step.attempts, role, model, parameters });
    this.compare(10, data, { template: step.template, schema: this.hashes.get(role) });
    this.compare(11, data, { prompt: recipe.digest });
    this.recipes.set(call.name, recipe);
    const wrong = this.unapproved();
    if (wrong) {
      this.report("10.not_approved", wrong[2], wrong[1]);
    }
    const reserved = { calls: 1n, tokens: call.tokens, cost: call.cost ?? 0n, seconds: 0n };
    const broken = Object.keys(LIMITS).find((name) => this.breaks(name, reserved[name]));
    if (broken) {
      this.report("15.ceiling", this.limit(broken), stated(this.spentOf(broken)));
    }
    this.spend(reserved);
    this.calls.set(call.name, call);
  }

  limit(ceiling) {
    return this.opening.limits[LIMITS[ceiling]];
  }

  // What is spent by now: open calls count with what they reserved (§9).
  spentOf(ceiling) {
    return ceiling === "seconds" ? BigInt(this.since(this.openedAt)) : this.spent[ceiling];
  }

  since(then) {
    const [ms, us] = instant(this.at);
    return Math.max(0, ms - then[0] - Number(us < then[1]));
  }

  breaks(ceiling, reserved) {
    const limit = this.limit(ceiling), more = ceiling === "seconds" ? 1n : reserved;
    return limit !== null && this.spentOf(ceiling) + more > BigInt(limit);
  }

  spend({ calls = 0n, tokens, cost }, sign = 1n) {
    this.spent.calls += sign * calls;
    this.spent.tokens += sign * tokens;
    this.spent.cost += sign * (cost ?? 0n);
  }

  takeTruncated(data) {
    const step = this.firstStep(), { ceiling } = data;
    need(!this.calls.size && !this.tools.size, "the end of an open call");
    const reserved = BigInt({ calls: 1, seconds: 0 }[ceiling] ?? data.reserved);
    need(this.breaks(ceiling, reserved), "call.started: it could not exceed this ceiling");
    const limit = this.limit(ceiling), spent = this.spentOf(ceiling);
    this.compare(15, data, { step: step.name, limit, spent, reserved });
    const held = [...this.steps.values()].filter((each) => each.heard);
    this.course = cutShort("truncated", `${ceiling}_ceiling`, held);
    this.goOn();
  }

  // Role, hash and approved hash of the first template that is not approved.
  unapproved() {
    return this.approved ? this.templates.find(([, hash, approved]) => hash !== approved) : null;
  }

  takeRefused(data) {
    const step = this.firstStep(), wrong = this.unapproved();
    need(this.opening.policy !== null, "call.started: the opening names no policy");
    const derived = { step: step.name };
    if (wrong) {
      const [role, found, approved] = wrong;
      Object.assign(derived, { role, found, approved });
    } else if (this.approved) {
      const hash = this.templates.find(([role]) => role === data.role)?.[1];
      const other = hash !== undefined && hash !== data.found;
      need(other, "call.started: the template is the approved one");
      derived.approved = hash;
    }
    this.compare(10, data, derived);
    this.course = cutShort("failed", "prompt_refused");
    this.goOn();
  }

  takeAnswered(data) {
    const call = this.endCall(data.call), { step } = call, cost = this.cost(call, data);
    const tools = data.finish === "tool_calls" ? data.tools : 0;
    this.compare(9, data, { tools });
    this.compare(15, data, { cost_micro_usd: cost });
    const told = data.tokens_in !== null && data.tokens_out !== null;
    const tokens = told ? BigInt(data.tokens_in) + BigInt(data.tokens_out) : call.tokens;
    this.spend({ tokens, cost: cost ?? call.cost });
    if (tools && step.toolRounds < this.opening.tool_rounds) {
      step.toolRounds++;
      this.asked = { call, tools, number: 0 };
      return;
    }
    const text = this.texts.get(data.reply.sha256), gone = text === undefined;
    const reply = { call: call.name, blob: data.reply, gone, value: null, rating: null };
    const code = UNFINISHED[data.finish];
    let why = code ? refusal(code) : null;
    if (!why) {
      if (gone) this.goneReplies++;
      else [why, reply.value] = this.read(step, text);
    }
    const uncertain = !why && (gone || step.seat.role === "synthesizer");
    this.answer = { step, reply, why, uncertain };
  }

  // Why a reply does not count for its role, if it does not, and its value.
  read(step, text) {
    const { role, model } = step.seat, schema = this.schemas.get(role);
    let [why, value] = readReply(text, schema);
    if (why?.code === "unknown_option" && this.format.anyWinner) {
      const tolerated = step.ended + 1 >= this.opening.attempts || model.startsWith("custom:");
      const alone = !misfit({ ...value, winner: null }, schema, null); // the only defect
      return [tolerated && alone ? null : why, value];
    }
    if (why) return [why, value];
    const code = this.format.misread?.(step, value, this.terms);
    return [code ? refusal(code) : null, value];
  }

  // The cost of an answered call in micro-US-dollars, rounded up (§3).
  cost({ step }, data) {
    const price = this.prices.get(step.seat.model);
    if (!price || data.tokens_in === null || data.tokens_out === null) return null;
    const cached = Math.min(data.tokens_cached ?? 0, data.tokens_in);
    const written = Math.min(data.tokens_cache_write ?? 0, data.tokens_in - cached);
    const total = [
      [data.tokens_in - cached - written, price.input_micro_usd],
      [cached, price.cached_micro_usd], [written, price.cache_write_micro_usd],
      [data.tokens_out, price.output_micro_usd],
    ].reduce((sum, [tokens, each]) => sum + BigInt(tokens) * BigInt(each), 0n);
    return (total + 999999n) / 1000000n;
  }

  endCall(name) {
    const call = this.calls.get(name);
    need(call, "the end of an open call");
    this.calls.delete(name);
    call.step.open = false;
    this.spend(call, -1n);
    return call;
  }

  // Ends an attempt without a reply that counts; returns whether there is another one.
  inVain(step, { rejected = false, final = false }) {
    step.ended++;
    step.lastRejected = rejected;
    step.exhausted = final || step.ended >= this.opening.attempts;
    if (step.exhausted) this.waiting--;
    return !step.exhausted;
  }

  takeFailed(data) {
    if (this.abandoned.length) {
      const call = this.endCall(this.abandoned.shift().name);
      this.spend(call);
      this.compare(9, data, {
        call: call.name, error: "abandoned", again: true, detail: null, status: null,
        request_id: null, wait_ms: null, latency_ms: null, sent_as_rendered: null, sent: null,
      });
      this.compare(15, data, { cost_micro_usd: call.cost });
      return;
    }
    need(data.error !== "abandoned", "debate.resumed before a call is abandoned");
    const call = this.endCall(data.call), { error, wait_ms: wait } = data;
    const paid = ["timeout", "server_error", "crashed"].includes(error); // it may have been
    if (paid) this.spend(call);
    const final = error === "client_error" || error === "no_reply"; // it would only fail alike
    if (final) this.compare(9, data, { wait_ms: null });
    const late = this.since(instant(call.step.began)) + (wait ?? 0) > this.opening.retry_ms;
    this.compare(9, data, { again: this.inVain(call.step, { final: final || late }) });
    this.compare(15, data, { cost_micro_usd: null });
  }

  takeResumed() {
    this.abandoned = [...this.calls.values()];
    for (const step of this.steps.values()) step.began = "";
  }

  // -- tools (§11.2)

  takeCalled(data) {
    const { call, tools, number } = this.asked;
    this.asked = number + 1 < tools ? { call, tools, number: number + 1 } : null;
    this.asking.add(call.name);
    this.compare(9, data, { call: call.name, number: number + 1 });
    const name = typeof data.tool === "string" ? data.tool : "of no known name";
    const tool = { step: call.step, name, arguments: data.arguments, result: null };
    this.tools.set(`${call.name} ${number + 1}`, tool);
    call.step.tools.push(tool);
    call.step.toolsOut++;
  }

  takeReturned(data) {
    const key = `${data.call} ${data.number}`, tool = this.tools.get(key);
    need(tool, "tool.returned for a tool that was called");
    this.tools.delete(key);
    tool.result = data.result;
    tool.step.toolsOut--;
  }

  // -- turns (§11.2, §11.6)

  takeRejected(data, answer) {
    need(answer && (answer.why || answer.uncertain), "no rejection: there is no reply to reject");
    const { step, reply } = answer;
    const located = LOCATED.includes(data.code) ? [data.member, data.keyword] : [];
    const why = answer.why ??
      (reply.gone ? refusal(data.code, ...located) : refusal("output_schema"));
    let rating = null, again = true;
    if (why.code === "weak_critique") {
      rating = reply.gone ? data.rating : reply.value.challenge_strength;
      const critic = step.seat.role === "critic" && !step.sentBack;
      need(critic && rating && rating < this.terms.require_critic_retry_below,
        "turn.rejected with what can be said of its reply");
      step.sentBack = { ...reply, rating };
    } else {
      again = this.inVain(step, { rejected: true });
      step.refused = {
        code: why.code, keyword: why.keyword ?? "none", member: why.member || "the reply",
      };
    }
    this.compare(9, data, { step: step.name, call: reply.call, again });
    this.compare(12, data, { ...why, rating });
  }

  takeTurn(data) {
    const [step] = this.steps.values(), reply = step.heard, { role } = step.seat;
    const names = role in TURNS ? Object.keys(NOTHING) : ["vote", "case"];
    let says;
    if (role === "synthesizer") {
      says = { text: reply.blob, schema: this.hashes.get(role) };
    } else if (reply.gone) {
      says = Object.fromEntries(names.map((name) => [name, data[name]]));
      need(this.couldSay(role, says), "a turn with what a reply of its role can say");
      this.goneTurns++;
    } else if (role in TURNS) {
      says = this.verdict(reply.value, role);
    } else {
      const value = isObject(reply.value) ? reply.value : {};
      says = { vote: value.vote ?? value.choice ?? null, case: null };
      if (role in ARGUING) says.case = this.case(step, value, data.case);
    }
    this.compare(9, data, { ...step.fields, call: reply.call });
    const { case: argued, ...rest } = says;
    this.compare(12, data, rest);
    if (argued !== undefined) this.compareCase(data, argued);
    this.endTurn(step, reply, says);
  }

  // Whether a reply that is gone could have given what a turn says (§10).
  couldSay(role, says) {
    const { terms } = this, options = terms.options?.length ? terms.options : [null];
    if (role in ARGUING) {
      const number = says.case ? says.case.arguments : -1;
      return says.vote === null && Number(role !== "rebuttal") <= number && number <= 100;
    }
    if (!(role in TURNS)) {
      return (role === "debater" ? options : [null]).includes(says.vote) && says.case === null;
    }
    const [free, right] = this.format.couldSay(this, says);
    return right && Object.keys(NOTHING).every((name) =>
      free.includes(name) || canonical(says[name]) === canonical(NOTHING[name]));
  }

  // What the reply of a judge or a moderator says.
  verdict(value, role) {
    const sides = this.schemas.get(role).properties.scores?.required ?? [];
    const stances = [...this.seats.values()].filter((seat) => seat.stance)
      .map((seat) => [seat.stance.label, seat.id]);
    const labels = (this.terms.labels ?? []).map((label) => [label, label]);
    const ids = new Map(stances.length ? stances : labels);
    const winner = value.winner ?? null, size = (name) => (value[name] ?? []).length;
    return {
      winner: ids.get(winner) ?? null, undeclared: winner !== null && !ids.has(winner),
      choice: value.choice ?? null, upholds: value.upholds_proposition ?? null,
      ranking: (value.ranking ?? []).map((label) => ids.get(label)),
      scores: sides.map((side) => ({ side, score: value.scores[side] })),
      resolved: size("resolved_points"), unresolved: size("unresolved_points"),
      uncertainties: size("explicit_uncertainties"), confidence: value.confidence ?? null,
      another_round: value.recommend_another_round ?? null,
    };
  }

  // The case that a reply makes: its arguments, and what their citations are worth.
  case(step, value, recorded) {
    const rows = value[ARGUING[step.seat.role]];
    const made = { arguments: rows.length, rating: value.challenge_strength ?? null };
    const visible = [...this.documents.values()].filter((row) => row.from_round <= step.round);
    if (visible.some((row) => !this.texts.has(row.text.sha256))) {
      this.goneDocuments = true;
      return { unanswered: [], citations: [], struck: [], ...recorded, ...made };
    }
    const citations = rows.flatMap((row, index) => row.citations.map((cited, at) =>
      ({ argument: index + 1, citation: at + 1, finding: this.find(cited, step.round) })));
    const numbers = Array.from(rows, (_, index) => index + 1);
    const struck = numbers.filter((number) =>
      citations.some((row) => row.argument === number && row.finding !== "verified"));
    let unanswered = []; // objections neither struck nor answered nor conceded
    if (step.against) {
      const standing = rows.filter((_, index) => !struck.includes(index + 1));
      const answered = [...standing, ...value.concessions].map((row) => row.objection);
      unanswered = Array.from({ length: step.against.case.arguments }, (_, index) => index + 1)
        .filter((number) => !answered.includes(number) && !step.against.struck.includes(number));
    }
    return { unanswered, citations, struck, ...made };
  }

  // The finding on one citation of a turn of round `number`.
  find(citation, number) {
    const document = this.documents.get(citation.document);
    if (!document) return "no_such_document";
    if (document.from_round > number) return "not_yet_visible";
    const name = document.text.sha256, quoted = folded(citation.quote);
    if (!this.folded.has(name)) this.folded.set(name, folded(this.texts.get(name)));
    return quoted && this.folded.get(name).includes(quoted) ? "verified" : "not_found";
  }

  compareCase(data, argued) {
    if (!argued || !data.case) {
      this.compare(12, data, { case: argued });
      return;
    }
    for (const [name, value] of Object.entries(argued)) {
      const check = name === "citations" || name === "struck" ? 13 : 12;
      this.compare(check, data.case, { [name]: value });
    }
  }

  takeForfeit(data) {
    const [step] = this.steps.values();
    const reason = step.lastRejected ? "invalid_reply" : "no_reply";
    this.compare(9, data, { ...step.fields, reason });
    this.endTurn(step, null, {});
  }

  endTurn(step, reply, says) {
    const turn = new Turn(step, reply, says);
    this.transcript.add(turn);
    this.over.push(turn);
    this.steps.delete(step.name);
    if (!this.steps.size) this.goOn(this.over);
  }
}

// ---- what checks 9 to 16 looked at in a record that was followed to its end

const UNITS = { calls: "call", tokens: "token", cost: "micro-US-dollar", seconds: "millisecond" };

function evidenceOfWalk(walk) {
  const count = (type) => walk.seen[type] ?? 0, started = count("call.started");
  const ended = many(count("call.answered") + count("call.failed"), "call");
  const turns = many(walk.turns.length, "turn"), calls = many(started, "call");
  const counts = many(count("votes.counted"), "count");
  const comparisons = many(count("similarity.measured"), "comparison");
  return [
    [9, passed(9, { turns, calls })], [10, passed(10)],
    [11, passed(11, { prompts: many(started, "prompt") })],
    [12, evidenceOfReplies(walk, count)], [13, evidenceOfCitations(walk)],
    [14, passed(14, { counts, comparisons })],
    [15, passed(15, { calls: ended, ceilings: evidenceOfCeilings(walk) })],
    [16, evidenceOfOutcome(walk)],
  ];
}

function evidenceOfReplies({ asking: { size } }, count) {
  const rejected = count("turn.rejected"), read = count("call.answered") - size;
  const replies = many(read, "reply"), asking = many(size, "reply");
  return passed(12, { replies, counted: read - rejected, rejected }) +
    (size ? passed(12, { asking }, "tools") : "") +
    (count("synthesis.recorded") ? passed(12, {}, "synthesis") : "");
}

function evidenceOfCitations({ turns }) {
  const cases = turns.map((turn) => turn.case).filter(Boolean);
  if (!cases.length) return passed(13, {}, "none");
  const rows = cases.flatMap((row) => row.citations);
  const found = rows.filter((row) => row.finding === "verified").length;
  const struck = many(sum(cases.map((row) => row.struck.length)), "argument");
  return passed(13, { citations: many(rows.length, "citation"), found, struck });
}

// Which ceilings were set, and that no call was made which could exceed one.
function evidenceOfCeilings(walk) {
  const limits = Object.keys(LIMITS).map((name) => [name, walk.limit(name)])
    .filter(([, limit]) => limit)
    .map(([name, limit]) => many(limit, UNITS[name]).replace(/^\d+/, grouped)).join(", ");
  if (!limits) return passed(15, {}, "none");
  return passed(15, { limits }, walk.seen["debate.truncated"] ? "met" : "kept");
}

const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");

function evidenceOfOutcome({ decision, closed }) {
  const rows = [];
  if (decision) rows.push(`${decision.decision} by ${decision.rule}`);
  if (closed && closed.outcome !== "complete") rows.push(`${closed.outcome}: ${closed.reason}`);
  return rows.length ? passed(16, { outcome: rows.join("; ") }) : passed(16, {}, "open");
}

const TAKERS = { // the others follow from the schedule
  "debate.resumed": "takeResumed", "call.started": "takeStarted", "call.refused": "takeRefused",
  "call.answered": "takeAnswered", "call.failed": "takeFailed", "tool.returned": "takeReturned",
  "turn.recorded": "takeTurn", "verdict.recorded": "takeTurn", "synthesis.recorded": "takeTurn",
  "turn.forfeited": "takeForfeit", "debate.truncated": "takeTruncated",
};
