"use strict";
// The documents: what is known of each, who cited it, and its text with its structure.

// The citations of all turns that count, each with its turn and what was found of it.
function citationsIn(turns) {
	return turns.filter((turn) => turn.case && turn.value).flatMap((turn) =>
		turn.case.citations.flatMap(({ argument, citation, finding }) => {
			const rows = turn.value[ARGUING[turn.role]], cited = rows?.[argument - 1]?.citations?.[citation - 1];
			return isObject(cited) ? [{ ...cited, turn, finding }] : [];
		}));
}
const placeIn = (evidence, id) => evidence.findIndex((row) => row.id === id);
// What is known of the document as a file stands here, too.
const documentFacts = ({ from_round: from, characters, sha256 }) => [
	`seen from round ${from}`,
	characters === null ? GONE : plural(characters, "character"), ["SHA-256 ", hash(sha256)],
];

function drawEvidence() {
	const { evidence, turns } = page.figures;
	if (!evidence.length) return null;
	const cited = citationsIn(turns);
	return section("evidence", "Evidence", plural(evidence.length, "document"),
		evidence.map((row, i) => drawDocument(row, `d${i + 1}`, cited.filter((each) =>
			each.document === row.id))));
}

function drawDocument(row, id, cited) {
	const text = page.result.texts.get(row.sha256) ?? null;
	return h("article.card.document", { id }, h("h3", said(row.id)),
		h("p.dim", documentFacts(row).map((fact, i) => [i > 0 && " · ", fact])),
		cited.length > 0 && h("ul.plain", cited.slice(0, 200).map(({ turn, quote, finding }) =>
			signed("li.signed", finding === "verified" ? "good" : "bad", seatName(turn.seat), " ",
				ref(turn.seq), ": “", said(`${quote}`), "” ", h("span.dim", spaced(finding))))),
		text === null ? h("p", h("em", GONE))
			: lazily("Read the document", () => h("div.reading",
				{ tabindex: 0, role: "group", "aria-label": "Text of the document" }, typeset(text)), "printed"));
}

// A citation beside its source: the words around it, as the document has them.
const AROUND = 300; // characters on each side
function inSource(quote, name) {
	const text = page.result.texts.get(name) ?? "", parts = quote.trim().split(/\s+/);
	const pattern = parts.map((part) => part.replace(/[\\^$.*+?()[\]{}|\/-]/g, "\\$&")).join("\\s+");
	const found = quote.length <= 2000 && new RegExp(pattern, "u").exec(text);
	if (!found) return h("p.dim", "Its place is not shown here: read the document.");
	const { index, 0: whole } = found, end = index + whole.length;
	const before = text.slice(Math.max(0, index - AROUND), index), after = text.slice(end, end + AROUND);
	return h("p.said.reading", { dir: "auto" },
		index > AROUND ? before.replace(/^\S*\s/, "… ") : before, h("mark", whole),
		end + AROUND < text.length ? after.replace(/\s\S*$/, " …") : after);
}
