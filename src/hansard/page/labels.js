"use strict";
// Amounts, verdicts, and the colours of seats and options.

const number = (n) => (n === null ? "–" : n.toLocaleString("en-US"));
const money = (micro) => (micro === null ? "no known price"
	: `$${(micro / 1e6).toFixed(micro >= 1e6 ? 2 : 4)}`);
const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;
const clock = (event) => event.at.slice(11, 19);
const toneOf = (note) => (note.severity === "info" ? "info" : "warn");
const capital = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
const spaced = (name) => name.replace(/[_.]/g, " ");

const VERDICTS = {
	intact: ["Intact", "good"], consistent: ["Agrees with itself; signer not confirmed", "info"],
	foreign: ["Not signed by the key you gave", "bad"],
	partly: ["Partly checked: this browser cannot check signatures", "warn"],
	altered: ["Altered", "bad"],
};
const STATUS = {
	pass: ["good", "Passed"], fail: ["bad", "Failed"], unchecked: ["info", "Not checked"],
	unsupported: ["info", "Not supported"], review: ["warn", "To review"],
};
// A seat and an option have one colour everywhere, by their place. No colour of an option praises
// or blames it: green and red are those of the checks alone.
const seatTone = (id) => {
	const place = page.figures.seats.findIndex((seat) => seat.id === id);
	return `c${Math.max(0, place) % 6}`;
};
const TONES = ["c3", "c4", "c5", "c0", "c1", "c2"]; // not in the order of the seats
const voteTone = (vote) => TONES[(page.figures.options ?? []).indexOf(vote) % 6] ?? "dim";
const seatName = (id) => h(`strong.${seatTone(id)}`, said(id));
const pill = (vote) =>
	(vote === null ? "abstained" : h(`span.pill.${voteTone(vote)}`, said(vote)));
