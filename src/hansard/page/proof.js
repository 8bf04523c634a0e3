"use strict";
// The section Verify: who signed, the reader's own keys, what that proves, and checking elsewhere.

const CONSISTENT = ["shown", "unsigned", "unproven"];
const CLAIMS = {
	intact: ["proven", "unproven"], altered: ["altered"],
	consistent: CONSISTENT, partly: CONSISTENT, foreign: ["foreign", ...CONSISTENT],
};

// The claims, with what they leave out where texts are not available.
function drawClaims(state) {
	const { checks, counted: { named, present } } = page.result;
	const whole = checks.every((row) => row.number < 9 || row.status !== "unchecked");
	const gone = whole ? "" : WORDING.claims.gone;
	const left = present < named ? ["Not checked: what rests on texts that are not available."] : [];
	return [...CLAIMS[state].map((name) => fill(WORDING.claims[name], { gone })), ...left]
		.map((text) => h("p", text));
}

const NOTE_OF = { manifest: "The record: ", policy: "The approved prompts: ", checkpoint: "The register: " };

function drawProof() {
	const last = page.result.lines.at(-1);
	return [h("h3", "Which record is it?"),
		...(last ? [h("p.key", "SHA-256 of the last entry"), h("pre", last.hash), copy(last.hash)]
			: []),
		h("h3", "Who signed it?"), ...page.result.signers.map((row) => h("p",
			NOTE_OF[row.what], said(row.words), ".")),
		...drawRegister()];
}

// Where the record stands in a register, and the checkpoint, which the reader may keep.
function drawRegister() {
	const { place } = page.result;
	if (!place) return [];
	const bytes = toBytes(place.checkpoint), name = `checkpoint-${place.size}.txt`;
	const cosigned = readCheckpoint(bytes).note.signatures.filter(([,, data]) => data.length === 72)
		.map(([who,, data]) => `${who} at ${timeOf(data)}`);
	return [h("h3", "Where does it stand in the register?"),
		h("p", `The latest version is line ${place.head} of ${place.size} in the register `,
			said(place.origin), `; the opening is line ${place.opened}. The other lines are not in this ` +
			"page: only the register shows whether a later version exists."),
		cosigned.length > 0 && h("p", "The checkpoint says that it was cosigned by ",
			said(list(cosigned)), ". This page does not check that."),
		h("p", "Keep the checkpoint, and whoever has the register can later show you that nothing in " +
			"these lines was left out or changed. ", h("code", `--since ${name}`), " compares it."),
		h("p.controls", button("Keep this checkpoint", () => save(name, bytes)))].filter(Boolean);
}

// What a key of each role signs.
const SIGNED = { export: "manifest", approval: "policy", log: "checkpoint" };
const signerOf = (what) => page.result.signers.find((row) => row.what === what);

// The keys of the reviews; a reader compares each of them.
const reviewKeys = () => unique(page.result.walk.after
	.filter(({ event }) => ["review.signed", "hold.lifted"].includes(event.type))
	.flatMap((row) => row.key ?? []));
// Who signed with the key that was given in a field: a name, or nothing.
const keySigned = (id, role) => (role === "reviewer"
	? page.result.walk.after.find((row) => row.key === page.trusted.get(id)?.name &&
		["trusted", "involved"].includes(row.standing))?.key
	: signerOf(SIGNED[role])?.by);

function keyField(role, label, id = role) {
	const note = h("p", { role: "status" });
	const field = h("input", { id: `${id}-key`, type: "text", spellcheck: "false",
		autocomplete: "off", placeholder: "name+0a1b2c3d+AbC…" });
	const compare = async () => {
		const key = readKey(field.value.trim());
		if (key) page.trusted.set(id, { role, ...key });
		else page.trusted.delete(id);
		await check();
		drawVerdict();
		const by = keySigned(id, role);
		note.className = by ? "good" : "bad";
		note.textContent = by ? "Signed with this key."
			: key && !page.result.ed25519 ? "This browser cannot check signatures."
				: key ? "Not signed with this key."
					: "This is not a public key, which looks like name+0a1b2c3d+AbC…";
	};
	// One after the other: what was asked last is said last.
	const inTurn = () => { page.comparing = page.comparing.then(compare); };
	return h("div.field", h("label", { for: field.id }, label), field, button("Compare", inTurn),
		note);
}

function save(name, bytes) {
	const href = URL.createObjectURL(new Blob([bytes]));
	h("a", { href, download: name }).click();
	setTimeout(() => URL.revokeObjectURL(href), 10000);
}

function drawVerify() {
	const name = `hansard-${page.result.lines.at(-1)?.hash.slice(0, 8) ?? "record"}.zip`;
	return section("verify", "Verify", "Checked in this browser. Nothing was sent anywhere.",
		h("div.card", h("p.paper", "Paper cannot be checked: ask for the export, and verify that."),
			h("div", { id: "proof" }),
			h("div", { id: "keys" }, h("h3", "Whose key is it?"),
				h("p", "This page cannot know. Paste the public key that the organisation gave you by ",
					"another route, such as a letter or its website."),
				keyField("export", "Public key of the exporter of this record"),
				signerOf("policy") && keyField("approval", "Public key of the approver of its prompts"),
				signerOf("checkpoint") && keyField("log", "Public key of the register that it is in"),
				reviewKeys().map((name, n) =>
					keyField("reviewer", ["Public key of the reviewer ", said(name)], `reviewer-${n}`))),
			h("h3", "What is proven, and what is not"), h("div", { id: "claims" }),
			h("h3", "Check without trusting this page"),
			h("p", "A forged page could show whatever it likes. ", h("code", "hansard verify"),
				" also reads this file, and says whether its code is the released one. ",
				h("code", "verify.py"), " needs only Python: take it from a release, not the sender."),
			h("pre", `hansard verify ${name}\npython3 verify.py ${name} --trust trust.json`),
			h("p.controls", button("Save the record (zip)", () => save(name, page.zip)),
				button("Save events.jsonl", () => save("events.jsonl", page.files.get("events.jsonl"))),
				button("Print", () => print()),
				h("label", h("input", { id: "with-prompts", type: "checkbox" }), " with every prompt")),
			!drawsFeet() && h("p.dim", "This browser prints no foot on the sheets: record, hash and ",
				"verdict stand on the first one alone.")));
}
