"use strict";
// Who at the table is too much alike: seats of one model, or of one family of models; with one
// prompt too they are theatre.

// The family of a model, null where no model answers: `gpt` of `openai:gpt-4o`.
const familyOf = (model) => {
	if (/^(scripted|recorded):/.test(model)) return null;
	if (/^(python|custom):/.test(model)) return model;
	const [provider, ...path] = model.split(":");
	let name = path.join(":").split("/").at(-1).toLowerCase();
	if (provider === "bedrock") name = name.replace(/^([a-z-]+\.)+/, "");
	return /^[^-0-9.:]+/.exec(name)?.[0] ?? model;
};
// What two seats share, or null.
const shared = (one, other) => {
	const kin = familyOf(one.model);
	if (kin === null || kin !== familyOf(other.model)) return null;
	return nameKin({ model: one.model === other.model && one.model, family: kin });
};

// The groups of seats that differ in nothing but their names.
const theatreOf = (s) => {
	const groups = new Map(), found = [], numbers = new Map(); // of personas, which may be long
	const numberOf = (text) => {
		if (!numbers.has(text)) numbers.set(text, numbers.size);
		return numbers.get(text);
	};
	for (const seat of s.seats.values()) {
		const persona = seat.persona ? textOf(s, seat.persona) || seat.persona.sha256 : null;
		const prompt = JSON.stringify([seat.role, persona && numberOf(persona), seat.stance?.label ?? null]);
		groups.set(prompt, [...(groups.get(prompt) || []), seat]);
	}
	for (const rows of groups.values()) {
		const models = unique(rows.map((row) => row.model)), persona = rows[0].persona !== null;
		const seats = (of) => rows.filter((row) => of.includes(row.model)).map((row) => row.id);
		for (const model of models) {
			const ids = seats([model]);
			if (ids.length > 1) found.push({ seats: ids, model, family: familyOf(model), persona });
		}
		for (const kin of unique(models.map(familyOf))) {
			const of = models.filter((model) => kin && familyOf(model) === kin);
			if (of.length > 1) found.push({ seats: seats(of), model: null, family: kin, persona });
		}
	}
	return found;
};
