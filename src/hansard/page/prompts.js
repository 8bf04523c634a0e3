"use strict";
// Prompts as recipes: their parts are hashed once and folded into digests, as the transcript grows;
// and any prompt as it was sent (FORMAT.md §4, §7).

// The templates of a format, in order, and the values that each is filled with.
const templatesOf = (terms) => {
	const { protocol, ...own } = formatOf(terms).templates;
	const shared = { block: "label", again: "code keyword member" };
	return { protocol, ...shared, ...own, synthesizer: "decision rule" };
};

// Turns by their rounds, those of a round in the order of a key.
const inOrder = (turns, key) => turns.map((turn) => [turn, key(turn)])
	.sort(([a, one], [b, other]) => a.step.round - b.step.round ||
		(one < other ? -1 : Number(one > other)))
	.map(([turn]) => turn);

const part = (content) => ({ content, hash: digest(toBytes(canonical(content))) });

function fold(start, parts) {
	let folded = start;
	const both = new Uint8Array(64);
	for (const { hash } of parts) {
		both.set(folded);
		both.set(hash, 32);
		folded = digest(both);
	}
	return folded;
}

const heard = (turns) => turns.filter((turn) => turn.reply);

// What all seats share, as it grows by evidence and turns.
class Transcript {
	constructor(opening, seats, documents) {
		const { terms } = opening, rounds = String(terms.max_rounds);
		Object.assign(this, { opening, documents, turns: [], reached: 0, format: formatOf(terms) });
		this.filled = templatesOf(terms);
		this.alone = new Map(); // what each seat alone is told
		this.templates = new Map(opening.templates.map((row) => [row.role, row.sha256]));
		this.values = { max_rounds: rounds, rounds, last_round: rounds };
		for (const name of ["options", "stances", "positions", "labels"]) {
			this.values[name] = (terms[name] ?? []).join(", ");
		}
		this.system = [part({ role: "system" }), this.template("protocol")];
		this.start = [part({ role: "user" }), ...this.block("question", opening.question)];
		for (const { stance } of seats) {
			if (stance) this.start.push(...this.block(`stance ${stance.label}`, stance.text));
		}
		this.systemDigest = fold(new Uint8Array(32), this.system);
		this.roleFirst = opening.layout === "role-first";
		const before = this.roleFirst ? new Uint8Array(32) : this.systemDigest;
		this.startDigest = fold(before, this.start);
		this.shared = [...this.start];
		this.digest = this.startDigest;
		this.reach(1);
	}

	grow(parts) {
		this.shared.push(...parts);
		this.digest = fold(this.digest, parts);
	}

	template(role, values = {}) {
		const names = this.filled[role].split(" ").filter(Boolean);
		const known = { ...this.values, ...values };
		const filled = Object.fromEntries(names.map((name) => [name, known[name]]));
		return part({ template: this.templates.get(role), values: filled });
	}

	block(label, blob, view = {}) {
		const title = { template: this.templates.get("block"), values: { label } };
		return [part(title), part({ blob: blob.sha256, struck: [], view: "quoted", ...view })];
	}

	// A turn under its title.
	said(turn, more = "") {
		const judge = turn.step.seat.role === "judge";
		const title = judge ? "verdict of the judge" : this.format.title(turn) + more;
		const view = this.format.view?.(turn), { role } = turn.step.seat;
		if (view) view.schema = this.opening.schemas.find((row) => row.role === role).sha256;
		return this.block(title, turn.reply.blob, view);
	}

	// The documents visible in round `number`, not yet in `after`.
	evidence(after, number) {
		return this.documents
			.filter((row) => after < row.from_round && row.from_round <= number)
			.flatMap((row) => this.block(`evidence ${row.document}`, row.text));
	}

	reach(number) {
		if (number <= this.reached) return;
		this.grow(this.evidence(this.reached, number));
		this.reached = number;
	}

	add(turn) {
		this.turns.push(turn);
		this.reach(turn.step.round);
		if (turn.reply && turn.step.phase !== "synthesis") this.grow(this.said(turn));
	}

	// Sets what is known of the prompt of `step` from the start, in the order of the layout.
	begin(step, decision) {
		const task = this.task(step, decision), { seat } = step;
		step.template = task.content.template;
		const alone = seat.model.startsWith("custom:") ? [] : [...this.told(seat), ...this.instructed(step)];
		step.task = [...alone, task];
		if (seat.role === "synthesizer") {
			step.task.push(part({ template: this.opening.schemas.at(-1).sha256, values: {} }));
		}
		const own = this.format.ownOrder?.(this, step) ?? null, base = own ? this.start : this.shared;
		const more = [...this.evidence(own ? 0 : this.reached, step.round), ...(own ?? [])];
		const recipe = { before: [], base, length: base.length, more };
		step.recipe = recipe;
		step.digest = fold(own ? this.startDigest : this.digest, more);
		if (this.roleFirst) { // the transcript is one part of it
			step.digest = fold(fold(this.systemDigest, step.task), [{ hash: step.digest }]);
			recipe.before = step.task;
			step.task = [];
		}
	}

	// What a seat alone is told, whatever the round.
	told(seat) {
		const { context } = this.opening;
		if (!this.alone.has(seat)) {
			this.alone.set(seat, [
				...(context && seat.role !== "moderator" ? this.block("context", context) : []),
				...(seat.persona ? this.block(`persona of ${seat.id}`, seat.persona) : []),
			]);
		}
		return this.alone.get(seat);
	}

	// The instructions of a step: of the last row of its seat that holds, else the opening's.
	instructed({ seat, round }) {
		const rows = seat.instructions ?? [{ round: 0, text: this.opening.instructions }];
		let [from, until] = [0, rows.length];
		while (from < until) {
			const middle = (from + until) >> 1;
			if (rows[middle].round <= round) from = middle + 1;
			else until = middle;
		}
		const text = rows[from - 1]?.text;
		return text ? this.block("", text, { view: "plain" }).slice(1) : [];
	}

	task(step, decision) {
		const { seat } = step;
		const values = {
			round: String(step.round), phase: step.phase, speaker: seat.id,
			stance: seat.stance ? seat.stance.label : "", position: step.position || "the proposition",
		};
		if (seat.role === "moderator") values.citations = this.citations(step.round);
		if (seat.role === "synthesizer") {
			values.decision = decision.decision;
			values.rule = decision.rule;
		}
		const { role } = seat, name = this.format.template?.(this.opening.terms, role) ?? role;
		return this.template(name, values);
	}

	// What the moderator is told of the citations of a round.
	citations(number) {
		const rows = this.turns.filter((turn) => turn.step.round === number && turn.case)
			.map((turn) => turn.case.citations.map((row) => `${this.format.title(turn)}, argument ` +
				`${row.argument}, citation ${row.citation}: ${row.finding}`).join("; "));
		return rows.filter(Boolean).join("; ") || "there are none";
	}

	// The recipe of a call for `step`, whose tools have come back, and its digest.
	prompt(step) {
		for (const tool of step.tools) {
			const asked = this.block(`tool ${tool.name}, arguments`, tool.arguments);
			const parts = [...asked, ...this.block(`tool ${tool.name}, result`, tool.result)];
			step.digest = fold(step.digest, parts);
			step.recipe.more.push(...parts); // of all calls of the step, each up to its `until`
		}
		step.tools = [];
		const parts = [...step.task];
		if (step.sentBack) {
			parts.push(...this.block("your critique that was sent back", step.sentBack.blob));
			parts.push(this.template("critic_again", step.sentBack.told));
		}
		if (step.rejected) parts.push(this.template("again", step.rejected));
		const until = step.recipe.more.length;
		return { ...step.recipe, until, after: parts, digest: toHex(fold(step.digest, parts)) };
	}

	// The parts of a recipe, in order.
	parts({ before, base, length, more, until, after }) {
		const shown = [...base.slice(0, length), ...more.slice(0, until)];
		return [...this.system, ...before, ...shown, ...after];
	}
}

// ---- prompts as they were sent (§4)

const CONTROL = new RegExp(
	"[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e" +
	"\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}]", "gu");
// What a server that reads its chat template's marks in any text would take for one.
const MARK = new RegExp(
	"<(?=/?[|｜][^ \\t\\n|｜>]|[a-z_]{1,32}\\|>|</?SYS>>|(?:BOS|EOS|EOP)_TOKEN>|/?(?:s|bos|eos" +
	"|pad|unk|mask|sop|eop|think|tools|tool_call|tool_response|(?:start|end)_of_(?:turn|image)" +
	"|extra_id_[0-9]+|SPECIAL_[0-9]+)>)" +
	"|\\[(?=\\|(?:system|user|assistant|tool|endofturn)\\|\\]|/?(?:INST|SYSTEM_PROMPT" +
	"|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|CALL_ID|THINK|MODEL_SETTINGS|IMG" +
	"|gMASK)\\])", "gu");
const codePoint = (char) =>
	`<U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`;
const spellOut = (text) => text.replace(CONTROL, codePoint);
const quote = (text) => // a page of a document ends a line
	spellOut(text.replaceAll("\f", "\n")).replace(MARK, codePoint).split("\n")
		.map((line) => `| ${line}\n`).join("");

// What a schema names of a structured reply as numbered points, its struck arguments marked.
function asPoints(text, struck, schema) {
	const argued = Object.values(ARGUING);
	let value;
	try {
		value = named(valueOf(text), schema);
	} catch {
		return text;
	}
	const point = (name, value, indent, struck) => {
		if (isObject(value)) {
			const inner = ORDER.get(value).flatMap((key) => point(key, value[key], `${indent}  `, []));
			return [`${indent}${name}:`, ...inner];
		}
		if (Array.isArray(value)) {
			const mark = " [STRUCK: it rests on a citation that was not found; give it no weight]";
			const rows = value.flatMap((item, index) =>
				point(`${name} ${index + 1}${struck.includes(index + 1) ? mark : ""}`, item, indent, []));
			return rows.length ? rows : [`${indent}${name}: none`];
		}
		const words = typeof value === "string" ? value : JSON.stringify(value);
		return [`${indent}${name}: ${words.replace(/[\n\f]/g, `\n${indent}  > `)}`];
	};
	if (!isObject(value)) return text;
	return ORDER.get(value)
		.flatMap((key) => point(key, value[key], "", argued.includes(key) ? struck : [])).join("\n");
}

// What a part says, which is no role.
function pieceOf({ texts, templates }, content) {
	const of = (map, name) => {
		if (!map.has(name)) throw new Error("This prompt quotes a text that is erased or missing.");
		return map.get(name);
	};
	if (content.template) {
		const { values } = content;
		const fill = (mark, name) => Object.hasOwn(values, name) ? values[name] : mark;
		return of(templates, content.template).replace(/\{\{([a-z][a-z0-9_]*)\}\}/g, fill);
	}
	const text = of(texts, content.blob);
	return content.view === "plain" ? `\n${text}\n`
		: quote(content.view === "quoted" ? text
			: asPoints(text, content.struck, readJson(of(templates, content.schema))));
}

function recipeOf({ walk }, call) {
	const recipe = walk.recipes.get(call);
	if (!recipe) throw new Error("The record holds no such call, or could not be followed to it.");
	return recipe;
}

// The messages of a call as they were sent, each {role, text}.
function promptOf(result, call) {
	const messages = [];
	for (const { content } of result.walk.transcript.parts(recipeOf(result, call))) {
		if (content.role) messages.push({ role: content.role, text: "" });
		else messages.at(-1).text += pieceOf(result, content);
	}
	return messages;
}
