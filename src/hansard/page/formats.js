"use strict";
// The formats of debate: each script in `formats/` puts a row into this table, and all others ask
// it. A row has the rules of FORMAT.md §6 to §9, and how the format is shown (README.md here).
const FORMATS = {};
const formatOf = ({ format }) => FORMATS[format];
