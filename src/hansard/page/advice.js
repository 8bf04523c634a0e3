"use strict";
// What a gate answered, in the words of the reports.

// The gate of an opening, with what its answer says.
const gateOf = (s) => {
	const { gate } = s.spec;
	if (!gate) return null;
	const answer = gate.answer && textOf(s, gate.answer);
	return { ...gate, answered: gate.answer !== null, answer,
		hedge: answer === null ? null : hedgeIn(answer) };
};
// Why a debate is advised, or is not.
const whyAdvised = ({ advised, rule, contested }) =>
	WORDING.gate[contested ? `${advised ? "for" : "not"}_${rule}` : "lookup"];
const adviceIn = (gate) =>
	fill(WORDING.gate[gate.advised ? "advised" : "against"], { why: whyAdvised(gate) });
// 250,000.00 or 0.043284
const inDollars = (n) => `${Math.floor(n / 1e6).toLocaleString("en-US")}.` +
	String(n % 1e6).padStart(6, "0").replace(/0{1,4}$/, "");
// The advice and each condition, met or not, with its numbers, by their labels.
const gateRows = (gate) => {
	const { gate: words } = WORDING, { factor, task_type } = gate;
	const [downside, threshold] = [gate.downside_micro_usd, gate.threshold_micro_usd]
		.map((n) => n !== null && inDollars(n));
	const confidence = gate.confidence_ppm === null ? null : String(gate.confidence_ppm / 1e6);
	const told = (name, value) => (value === null ? words[`no_${name}`]
		: fill(words[name], { [name]: value }));
	const doubts = [told("confidence", confidence)];
	if (gate.hedge) doubts.push(fill(words.hedges, { phrase: gate.hedge }));
	else if (gate.answered) doubts.push(gate.answer === null ? words.gone : words.plain);
	const why = {
		downside: downside && threshold ? fill(words.amounts, { downside, factor, threshold })
			: downside ? words.no_threshold : words.no_downside,
		uncertain: list(doubts), high_risk: told("task_type", task_type),
	};
	return { gate: adviceIn(gate), ...Object.fromEntries(gate.conditions.map(({ name, met }) =>
		[name, fill(met ? words.met : words.unmet, { why: why[name] })])) };
};
