"use strict";
// Whether a debate was advised (FORMAT.md §3): what a gate was asked, and what follows from it.

const HIGH_RISK = ["contract", "security", "architecture", "investment", "compliance"];
const HEDGES = ("not sure,not certain,not clear,unsure,uncertain,unclear,hard to say," +
	"difficult to say,it depends,i think,i believe,i guess,it seems,might be,may be,could be," +
	"perhaps,possibly,probably").split(",");
const LOW_PPM = 700000; // a confidence score below it is low
WORDS.gate_rule = matching(/^(downside|any|all)$/); // `any` is a word of its own here
WORDS.gate = test(form(`advised:bool rule:gate_rule contested:bool confidence_ppm:ppm?
	downside_micro_usd:count? threshold_micro_usd:count? factor:positive task_type:name? answer:blob?`,
	{ conditions: [form("name:downside|uncertain|high_risk met:bool")] }));

const isLow = ({ confidence_ppm: ppm }) => ppm !== null && ppm < LOW_PPM;
// The first phrase by which an answer hedges.
const hedgeIn = (text) => phraseIn(compared(text), HEDGES);

// The gate of an entry follows from what it was asked.
function checkGate(walk, entry, gate, kind) {
	const { rule, contested, conditions, answer } = gate, rests = answer && !isLow(gate);
	const [downside, threshold] = [gate.downside_micro_usd, gate.threshold_micro_usd];
	walk.goneAnswer = Boolean(rests) && !walk.texts.has(answer.sha256);
	const recorded = () => conditions.some(({ name, met }) => name === "uncertain" && met);
	const hedges = rests && (walk.goneAnswer ? recorded()
		: hedgeIn(walk.texts.get(answer.sha256)) !== null);
	const met = {
		downside: downside !== null && threshold !== null &&
			BigInt(downside) > BigInt(threshold) * BigInt(gate.factor),
		uncertain: isLow(gate) || Boolean(hedges), high_risk: HIGH_RISK.includes(kind),
	};
	const all = Object.values(met), enough = { downside: met.downside,
		any: all.includes(true), all: !all.includes(false) };
	const derived = Object.entries(met).map(([name, holds]) => ({ name, met: holds }));
	need(gate.task_type === kind && canonical(conditions) === canonical(derived) &&
		gate.advised === (contested && enough[rule]),
		`${entry} with a gate that follows from what it was asked`);
}

// A record of its own, where no debate was held.
entryType("gate.answered", form(`engine:id rules:=1 question:blob requester:person? owner:person?
	labels:labels retention:name? gate:gate`));

function takeGate(walk, data) {
	checkLabels("gate.answered", data.labels);
	checkGate(walk, "gate.answered", data.gate, data.gate.task_type);
	Object.assign(walk, { opening: data, shut: true });
}
