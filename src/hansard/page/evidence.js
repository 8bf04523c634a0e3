"use strict";
// The documents, and who cited them.

function citationsIn(turns) {
	return turns.filter((turn) => turn.case && turn.value).flatMap((turn) =>
		turn.case.citations.flatMap(({ argument, citation, finding }) => {
			const rows = turn.value[ARGUING[turn.role]], cited = rows?.[argument - 1]?.citations?.[citation - 1];
			return isObject(cited) ? [{ ...cited, turn, finding }] : [];
		}));
}
const placeIn = (evidence, id) => evidence.findIndex((row) => row.id === id);
const documentFacts = ({ from_round: from, characters, sha256, source }) => [
	`seen from round ${from}`,
	characters === null ? GONE : plural(characters, "character"), ["SHA-256 ", hash(sha256)],
	...(source ? [takenFrom(source), ["SHA-256 of the file ", said(source.sha256)]] : []),
];

// What saves the file that a document was taken from, where it is here and has its hash. It is
// never shown: nobody has looked at more of it than its bytes.
// `hashes` are those of the originals by name, of which each is looked at once.
function saver({ id, source: { media_type: type, sha256, original } }, hashes) {
	const spelled = page.result.texts.get(original) ?? "-";
	if (!hashes.has(original)) hashes.set(original, hashOfOriginal(spelled));
	const found = hashes.get(original);
	if (!found || found !== (sha256 ?? found)) return null;
	const ending = WORDING.media[type]?.toLowerCase() ?? "bin";
	const name = `${id.replace(/[^A-Za-z0-9._-]/g, "-")}.${ending}`;
	return h("p", button(`Save ${name}`, () => save(name, strictBase64(spelled))));
}

function drawEvidence() {
	const { evidence, turns } = page.figures;
	if (!evidence.length) return null;
	const cited = citationsIn(turns), hashes = new Map();
	return section("evidence", "Evidence", plural(evidence.length, "document"),
		evidence.map((row, i) => drawDocument(row, `d${i + 1}`, cited.filter((each) =>
			each.document === row.id), hashes)));
}

function drawDocument(row, id, cited, hashes) {
	const text = page.result.texts.get(row.sha256) ?? null;
	return h("article.card.document", { id }, h("h3", said(row.id)),
		h("p.dim", documentFacts(row).map((fact, i) => [i > 0 && " · ", fact])),
		row.source && saver(row, hashes),
		cited.length > 0 && h("ul.plain", firstOf(cited, 200).map(({ turn, quote, finding }) =>
			signed("li.signed", finding === "verified" ? "good" : "bad", seatName(turn.seat), " ",
				ref(turn.seq), ": “", said(`${quote}`), "” ", h("span.dim", spaced(finding),
					onPage({ document: row.id, quote }, finding === "verified"))))),
		text === null ? h("p", h("em", GONE))
			: lazily("Read the document", () => h("div.reading",
				{ tabindex: 0, role: "group", "aria-label": "Text of the document" }, typesetAll(text, row.source)), "annexed"));
}

// A citation beside its source: the words around it, as the document has them.
const AROUND = 300; // characters on each side
function inSource(quote, name) {
	const text = (page.result.texts.get(name) ?? "").replaceAll("\f", "\n"), sought = levelled(quote);
	const begin = whereIn(sought, plainMarks(text.replace(BLANKS, " ")));
	if (begin < 0) return h("p.dim", "Its place is not shown here: read the document.");
	const [index, end] = [begin, begin + sought.length].map((at) => unfolded(text, at));
	const before = text.slice(Math.max(0, index - AROUND), index), after = text.slice(end, end + AROUND);
	return h("p.said.reading", { dir: "auto" },
		index > AROUND ? before.replace(/^\S*\s/, "… ") : before, h("mark", text.slice(index, end)),
		end + AROUND < text.length ? after.replace(/\s\S*$/, " …") : after);
}

// Where in a text its place `at` is once each run of blanks is one.
function unfolded(text, at) {
	let more = 0;
	for (const { 0: run, index } of text.matchAll(BLANKS)) {
		if (index - more >= at) break;
		more += run.length - 1;
	}
	return at + more;
}
