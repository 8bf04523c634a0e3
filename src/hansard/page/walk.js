"use strict";
// The walk (§11, checks 9 to 16): says of each entry whether it is due, and derives its derived
// fields again. What a type of entry means is a function `take…`, which its row of TYPES names.

class NotDue extends Error {} // says what was due instead

function need(holds, due) {
	if (!holds) throw new NotDue(due);
}

// A derived value as an entry holds it: sums are exact, and one beyond its integers is none.
const stated = (value) =>
	typeof value !== "bigint" ? value ?? null : value <= LARGEST ? Number(value) : String(value);

// One turn to be taken, and what was tried for it.
class Step {
	constructor(round, phase, seat, about, against) {
		Object.assign(this, {
			name: `r${round}.${phase}.${seat.id}`, round, phase, seat,
			about, // the seat of the proposer whose proposition it is about
			against, // the critique that a rebuttal answers
			tools: [], toolsOut: 0, toolRounds: 0, // `tools`: those not yet in the digest
			attempts: 0, ended: 0, // `ended`: those that count against the step's limit
			began: "", // when its first call since the last resume was started
			reply: null, sentBack: null, // the one that counts, and a critique
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
		return !(this.reply || this.exhausted || this.open || this.out || this.toolsOut);
	}

	get recorded() {
		return TURNS[this.seat.role] ?? "turn.recorded";
	}
}

// A turn that is over: its reply, null where it was forfeited, and what it says.
const turnOf = (step, reply, says) => ({
	step, reply, says, id: step.seat.id, case: says.case ?? null, struck: says.case?.struck ?? [],
});

// The state that the entries so far give, and the findings about them.
class Walk {
	constructor(texts, policy, redactions) {
		Object.assign(this, {
			texts, policy, // null where it cannot be read
			redactions, // what the record says was erased
			findings: [], told: {}, log: [{ due: ["debate.opened"], steps: [] }], seen: {}, place: 0,
			prices: new Map(), seats: new Map(), documents: new Map(), // and the rest of the opening
			entry: null, steps: new Map(), over: [], waiting: 0, // what is due; `over`: its turns so far
			lost: new Map(), // by seat: the steps in a row that it has lost (§11)
			calls: new Map(), abandoned: [], tools: new Map(), asked: null, answer: null,
			spent: { calls: 0n, tokens: 0n, cost: 0n }, levelled: new Map(), begins: new Map(),
			recipes: new Map(),
			goneReplies: 0, goneTurns: 0, goneAnswer: false, decision: null, followed: 0, after: [], held: false,
		});
	}

	// Takes the entries up to the first that is not due.
	walk(events) {
		for (const event of events) {
			this.place++;
			const faults = this.findings.length;
			try {
				this.take(event);
			} catch (error) {
				if (!(error instanceof NotDue)) throw error;
				this.report("9.not_due", error.message, event.type);
				return;
			}
			if (this.findings.length === faults) Object.defineProperty(event, "data", { value: event.data });
			this.followed = this.place;
			this.log.push({ due: this.next(), steps: this.awaited().slice(0, 8).map(({ fields }) => fields) });
		}
		this.ended = true;
	}

	take(event) {
		const { type, data, at, debate } = event, { answer } = this, { take, anytime, abandoning } = TYPES.get(type);
		Object.assign(this, { at, debate });
		this.answer = null;
		if (this.shut) { // closed, or never a debate
			takeAfter(this, event);
		} else if (!this.course) {
			takeOpening(this, type, data);
		} else if (this.asked) {
			need(type === "tool.called", "tool.called");
			takeCalled(this, data);
		} else if (type === "turn.rejected" || answer?.why) {
			need(type === "turn.rejected", "turn.rejected");
			takeRejected(this, data, answer);
		} else {
			if (answer) {
				answer.step.reply = answer.reply;
				this.waiting--;
			}
			need(!this.abandoned.length || abandoning, "call.failed of an abandoned call");
			const due = this.due();
			need(anytime || due.includes(type), due.join(" or ") || "the end of an open call");
			take(this, data);
		}
		this.seen[type] = (this.seen[type] ?? 0) + 1;
	}

	// The types that are due now, but for ends of calls and resuming.
	due() {
		if (this.raised) return this.calls.size || this.tools.size ? []
			: ["debate.resumed", this.cut];
		if (this.entry) return this.calls.size || this.tools.size ? [] : [this.entry.kind];
		if (this.waiting) return ["call.started", "call.refused", this.cut];
		const [step] = this.steps.values();
		return [step.heard ? step.recorded : "turn.forfeited"];
	}

	// What may stand in place of a call (§9).
	get cut() {
		return this.decision ? "turn.forfeited" : "debate.truncated";
	}

	// What a reader is told is due.
	next() {
		if (this.shut) return [];
		if (!this.course) {
			return [this.seats.size < this.opening.seats ? "debater.registered" : "evidence.admitted"];
		}
		if (this.asked) return ["tool.called"];
		if (this.answer?.why) return ["turn.rejected"];
		const [step] = this.steps.values(); // of the last reply that was waited for
		return this.answer && this.waiting === 1 ? [step.recorded] : this.due();
	}

	// The steps that are waited for; where all have ended, the one whose turn is due.
	awaited() {
		const steps = [...this.steps.values()], answered = this.answer?.why ? null : this.answer?.step;
		const open = steps.filter((step) =>
			!(step.heard || step.exhausted || step.out || step === answered));
		return open.length ? open : steps.slice(0, 1);
	}

	// Reports each derived field that the entry states otherwise.
	compare(check, data, derived) {
		for (const [name, raw] of Object.entries(derived)) {
			const value = stated(raw);
			if (data[name] === value || canonical(data[name]) === canonical(value)) continue;
			this.report(`${check}.${name}`, value, data[name]);
		}
	}

	// Of a check of which enough is told nothing more is kept than how often it fails.
	report(code, ...evidence) {
		const check = parseInt(code, 10), told = this.told[check] ?? 0;
		const row = finding(code, this.place, ...(told > MOST_EVIDENCE ? [] : evidence));
		this.told[check] = told + sizeOf(row);
		this.findings.push(row);
	}

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

	firstStep() {
		const step = [...this.steps.values()].find((each) => each.wantsCall);
		need(step, "no call");
		return step;
	}
}
