"use strict";
// The formats of debate: each script in `formats/` puts a row into this table, and all others ask
// it. A row has the rules of FORMAT.md §6 to §9, and how the format is shown. Every row has
// - `phases`, as a pattern, and `terms`: the form of the terms, and of the lists in them;
// - `seats(terms, number)`: role and stance of each seat but a synthesizer's, in order;
// - `templates`: its own, with the values that each is filled with;
// - `schemas(terms)`: the reply schema of each role, in order;
// - `title(turn)`: what stands above a turn in a prompt;
// - `schedule(debate)`: yields steps, which are due at once, and is sent their turns; or an entry,
//   and is sent its data as derived. It returns a decision, if any, and why the debate ended;
// - `result(s, terms)`, `drift(s, result)`, `notes` by type of event, and `charts(f)`;
// - `lead(f)`: what was decided, and how, in words (lead.js); `stood(f)`: where a debate stood that
//   was cut short.
const FORMATS = {};
const formatOf = ({ format }) => FORMATS[format];
