"""Checks 4 to 8: the bytes, forms and links of entries, times and texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance_kit.case import Case, bad, good, group
from conformance_kit.debates import decided, escalated, priced, served, vote
from conformance_kit.exports import export, files_of, manifest, seal, withholding, zip_of
from conformance_kit.records import Files, Record, derived, digest, dump
from hansard.record import blob


@group
def line_cases() -> Iterator[Case]:
    """Check 4: entries whose bytes are not canonical. All but two are the last entry."""
    base = decided()

    def spelled(key: str, code: str, why: str, old: bytes, new: bytes, seq: int = 12) -> Case:
        return bad(f"line-{key}", code, seq, why, export(base.swap(seq, old, new)))

    end, v, reason = b'"seq":12', b'"v":1}', b"votes_reached"
    yield spelled("float", "4.profile", "A number has a fraction.", v, b'"v":1.5}')
    yield spelled("float-of-an-integer", "4.bytes", "`1.0` stands for `1`.", v, b'"v":1.0}')
    yield spelled("exponent", "4.bytes", "`12e0` stands for `12`.", end, b'"seq":12e0')
    yield spelled("minus-zero", "4.bytes", "`-0` stands for `0`.", b'ns":0', b'ns":-0', 10)
    yield spelled(
        "integer-too-large",
        "4.profile",
        "2^53 is beyond the integers that all readers have.",
        end,
        b'"seq":9007199254740992',
    )
    yield spelled(
        "integer-far-too-large",
        "4.profile",
        "10^20, spelled as canonical JSON spells it, is beyond the integers of a line.",
        end,
        b'"seq":100000000000000000000',
    )
    yield spelled("key-twice", "4.bytes", "A key stands twice.", v, b'"v":1,"v":1}')
    yield spelled(
        "keys-unsorted",
        "4.bytes",
        "Two keys are swapped.",
        b'"seq":12,"type":"debate.closed"',
        b'"type":"debate.closed","seq":12',
    )
    yield spelled("space", "4.bytes", "A space stands after a colon.", end, b'"seq": 12')
    yield spelled("carriage-return", "4.bytes", "The line ends with CR LF.", v, b'"v":1}\r')
    yield spelled(
        "byte-order-mark",
        "4.json",
        "A byte order mark comes first.",
        b'{"at"',
        b'\xef\xbb\xbf{"at"',
        1,
    )
    yield spelled(
        "escape", "4.bytes", "A letter is written as an escape.", reason, b"votes\\u005freached"
    )
    yield spelled(
        "escaped-space",
        "4.profile",
        "A string holds a space, written as an escape: a line is read, the profile comes first, "
        "the spelling second.",
        reason,
        b"votes\\u0020reached",
    )
    yield spelled("text", "4.profile", "A string holds a space.", reason, b"votes reached")
    yield spelled(
        "not-ascii", "4.profile", "A string holds a letter beyond ASCII.", reason, "é".encode()
    )
    yield spelled("empty-string", "4.profile", "A string is empty.", reason, b"")
    yield spelled("long-string", "4.profile", "A string has 257 characters.", reason, b"a" * 257)
    yield spelled("key", "4.profile", "A key has an upper-case letter.", b"outcome", b"Outcome")
    yield spelled("not-utf-8", "4.json", "A byte is not UTF-8.", reason, b"votes\xffreached")
    yield spelled("not-json", "4.json", "A comma stands too much.", v, b'"v":1,}')
    yield spelled("nan", "4.json", "`NaN` is no JSON.", end, b'"seq":NaN')
    yield spelled(
        "too-deep",
        "4.profile",
        "Thirty-three containers are nested, the line itself the first.",
        v,
        b'"v":1,"x":' + b"[" * 32 + b"]" * 32 + b"}",
    )
    yield spelled(
        "deep",
        "7.schema",
        "Thirty-two nested containers are admitted; what fails is the field.",
        v,
        b'"v":1,"x":' + b"[" * 31 + b"]" * 31 + b"}",
    )
    yield spelled(
        "lone-surrogate",
        "4.profile",
        "A string holds half of a surrogate pair, as an escape: that is JSON, but no id.",
        reason,
        b"\\ud800",
    )
    yield bad(
        "line-deep-and-broken",
        "4.profile",
        12,
        "Forty brackets are opened and none is closed: depth is counted before anything is parsed.",
        export(base.put(12, b"[" * 40)),
    )
    yield bad(
        "line-brackets-in-a-string",
        "4.profile",
        12,
        "A string of brackets that close nothing stands before ninety thousand that open: brackets "
        "in strings are not counted.",
        export(base.put(12, b'["' + b"]" * 90_000 + b'",' + b"[" * 90_000)),
    )
    yield bad(
        "line-brackets-in-strings-alone",
        "7.schema",
        12,
        "An entry is a list of forty lists, one after another: forty brackets, but two levels.",
        export(base.put(12, b"[" + b",".join([b"[]"] * 40) + b"]")),
    )
    yield bad(
        "line-empty",
        "4.json",
        13,
        "An empty line follows the last one.",
        export(replace(base, lines=(*base.lines, b""))),
    )
    head, tail = base.lines[11][:-1] + b',"x":["', b'"]}'
    many, rest = divmod(1_048_577 - len(head + tail), 259)
    words = b"a" * rest + (b'","' + b"a" * 256) * many
    yield bad(
        "line-too-long",
        "4.size",
        12,
        "The line has 1,048,577 bytes.",
        export(base.put(12, head + words + tail)),
    )


@group
def schema_cases() -> Iterator[Case]:
    """Check 7: entries that are no event of a known type and form."""
    base = decided()

    def form(key: str, why: str, record: Record, seq: int = 12) -> Case:
        return bad(f"event-{key}", "7.schema", seq, why, export(record))

    data, debate = base.event(12)["data"], base.event(12)["debate"]
    yield form("type", "There is no such type.", base.top(12, type="debate.sealed"))
    yield form("unknown-key", "`data` has a key more.", base.top(12, data={**data, "note": None}))
    yield form("missing-key", "`data` has a key less.", base.top(12, data={"reason": "x"}))
    yield form("top-key", "The line has a key more.", base.top(12, note=None))
    yield form("no-object", "The line is a list.", base.put(12, b"[]"))
    yield form("enum", "There is no such outcome.", base.data(12, outcome="cancelled"))
    yield form("version", "`v` is not 1.", base.top(12, v=2))
    yield form(
        "version-true", "`v` is `true`, which some readers take for 1.", base.top(12, v=True)
    )
    yield form("rules", "There is no second version of the rules.", base.data(1, rules=2), 1)
    yield form(
        "format",
        "There is no such format.",
        base.data(1, terms={**base.event(1)["data"]["terms"], "format": "quorum"}),
        1,
    )
    yield form(
        "prev-in-upper-case",
        "`prev` has upper-case letters.",
        base.top(12, prev=base.event(12)["prev"].upper()),
    )
    yield form("hash-too-short", "A hash has 63 digits.", base.data(4, prompt="0" * 63), 4)
    yield form(
        "month", "There is no thirteenth month.", base.top(12, at="2026-13-05T09:00:00.012000Z")
    )
    yield form(
        "milliseconds", "A time has three decimals.", base.top(12, at="2026-01-05T09:00:00.012Z")
    )
    yield form(
        "id",
        "The debate's id is a UUID of version 1.",
        base.top(12, debate=f"{debate[:14]}1{debate[15:]}"),
    )
    yield form("name", "A name has 65 characters.", base.data(2, id="a" * 65), 2)
    yield form("negative", "A count is negative.", base.data(6, latency_ms=-1), 6)
    yield form("zero", "`seq` is 0.", base.top(12, seq=0))
    yield form("number-for-flag", "`reached` is 1.", base.data(10, reached=1), 10)
    yield form(
        "decimal",
        "A decimal begins with a point.",
        base.data(2, parameters={**base.event(2)["data"]["parameters"], "temperature": ".7"}),
        2,
    )
    (price,) = priced().event(1)["data"]["prices"]
    yield form("layout", "There is no such layout.", base.data(1, layout="role-last"), 1)
    yield form("no-time", "There is no time to retry in.", base.data(1, retry_ms=0), 1)
    yield form(
        "price-of-nobody",
        "Nobody says where the price is from.",
        priced().data(1, prices=[{name: price[name] for name in price.keys() - {"source"}}]),
        1,
    )
    yield form("structured", "JSON cannot be asked for like that.", served(structured="grammar"), 2)
    for key, url, why in (
        ("user", "http://user@localhost/v1", "The server's address holds a name."),
        ("scheme", "file:///v1", "That is no server's address."),
    ):
        yield form(f"base-url-{key}", why, served(base_url=url), 2)
    yield form("case", "`case` is an object without its members.", base.data(8, case={}), 8)


@group
def chain_cases() -> Iterator[Case]:
    """Checks 5 and 6: links, numbers, one debate, and time."""
    base = decided()
    altered = dump({**base.event(6), "data": {**base.event(6)["data"], "latency_ms": 5}})
    lines = list(base.lines)
    yield bad(
        "chain-line-altered",
        "5.prev",
        6,
        "A latency was altered, and the next line is linked to the line as it was.",
        export(replace(base, lines=(*lines[:5], altered, *lines[6:]))),
    )
    yield bad(
        "chain-lines-swapped",
        "5.prev",
        5,
        "Two lines are swapped as they stand: neither is linked to what now stands before it.",
        export(replace(base, lines=(*lines[:5], lines[6], lines[5], *lines[7:]))),
    )
    yield bad(
        "chain-begins-elsewhere",
        "5.prev",
        0,
        "The first line is linked to another one before it.",
        export(base.top(1, prev=digest(b""))),
    )
    yield bad(
        "chain-number", "5.seq", 12, "The last line is the 13th.", export(base.top(12, seq=13))
    )
    other = escalated().event(1)["debate"]
    yield bad(
        "chain-other-debate",
        "5.debate",
        12,
        "The last line is of another debate.",
        export(base.top(12, debate=other)),
    )
    empty = Record((), {}, {}, {})
    yield bad("chain-empty", "5.empty", 0, "The record has no lines.", export(empty))
    yield bad(
        "time-goes-back",
        "6.order",
        12,
        "The last line is a microsecond earlier than the line before it.",
        export(base.top(12, at="2026-01-05T09:00:00.010999Z")),
    )


@group
def blob_cases() -> Iterator[Case]:
    """Check 8: the texts."""
    base = decided()
    question = base.file_of(1, "question")
    files = files_of(base)

    def lacking(seq: int, field: str) -> Files:
        name = base.file_of(seq, field)
        return seal({path: body for path, body in files.items() if path != name})

    yield bad("text-missing", "8.missing", 1, "The question is gone.", lacking(1, "question"))
    yield bad("reply-missing", "8.missing", 6, "Ann's reply is gone.", lacking(6, "reply"))
    yield bad(
        "text-altered",
        "8.hash",
        1,
        "One letter of the question is another; the manifest was made to fit.",
        seal({**files, question: files[question].replace(b"Shall", b"shall")}),
    )
    file = files[question]
    yield bad(
        "text-header",
        "8.header",
        1,
        "A byte was moved from the salt to the text.",
        export(base.blob(1, "question", file[:79] + b"\n" + file[79:80] + file[81:])),
    )
    yield bad(
        "text-header-version",
        "8.header",
        1,
        "The header is of another version.",
        export(base.blob(1, "question", file.replace(b"/v1 ", b"/v2 "))),
    )
    yield bad(
        "text-not-utf-8",
        "8.text",
        1,
        "The question is not UTF-8.",
        export(base.blob(1, "question", file + b"\xff")),
    )
    yield bad(
        "text-with-a-surrogate",
        "8.text",
        1,
        "The question holds a surrogate, written as no UTF-8 writes it.",
        export(base.blob(1, "question", file + b"\xed\xa0\x80")),
    )
    yield bad(
        "salt-twice",
        "8.salt",
        1,
        "Question and review have one salt.",
        export(base.blob(1, "review", file[: blob.HEADER] + b"the board")),
    )
    reply = file[: blob.HEADER] + vote("a").text.encode()
    yield bad(
        "salt-twice-in-two-lines",
        "8.salt",
        6,
        "Ann's reply has the salt of the question.",
        export(base.blob(6, "reply", reply)),
    )
    second = base.seq("call.answered", 2)
    twice = base.data(second, reply=base.event(6)["data"]["reply"]).pruned()
    yield bad(
        "reply-of-two-calls",
        "8.reused",
        second,
        "Ann's reply is said to be ben's as well, word for word and with its salt.",
        export(twice),
    )
    path = twice.file_of(6, "reply")
    yield bad(
        "reply-of-two-calls-withheld",
        "8.reused",
        second,
        "Ann's reply is withheld, and said to be ben's as well.",
        withholding(twice, path),
    )
    name, body = blob.pack("nobody asked", derived("salt of a stranger"))
    question = base.event(1)["data"]["question"]
    yield bad(
        "reply-that-is-the-question",
        "8.reused",
        6,
        "Ann's reply is said to be the question, word for word and with its salt.",
        export(base.data(6, reply=question).pruned()),
    )
    yield bad(
        "text-not-named",
        "8.unnamed",
        0,
        "There is a text that no line names.",
        seal({**files, f"blobs/{name}": body}),
    )


@group
def salt_cases() -> Iterator[Case]:
    """Check 8: a salt that stands twice, beside a text that is damaged or withheld."""
    question = decided().file_of(1, "question")
    header = files_of(decided())[question][: blob.HEADER]
    twin = decided().blob(6, "reply", header + vote("a").text.encode())
    files, reply = files_of(twin), twin.file_of(6, "reply")
    yield bad(
        "salt-of-a-damaged-text",
        "8.hash",
        1,
        "The question was altered behind its header, so that its salt does not count: Ann's "
        "reply, which has it as well, has no finding.",
        zip_of(seal({**files, question: files[question] + b"!"})),
    )
    yield bad(
        "salt-of-a-damaged-text-named-later",
        "8.hash",
        6,
        "Ann's reply, which has the salt of the question, was altered behind its header.",
        zip_of(seal({**files, reply: files[reply] + b"!"})),
    )
    unread = twin.blob(1, "question", header + b"\xff")
    yield bad(
        "salt-of-a-text-that-is-not-utf-8",
        "8.text",
        1,
        "The question is not UTF-8, but its salt counts: Ann's reply has it as well.",
        zip_of(export(unread)),
    )
    yield bad(
        "salt-of-a-text-that-is-not-utf-8-named-later",
        "8.text",
        6,
        "Ann's reply has the salt of the question and is not UTF-8, which is reported first.",
        zip_of(export(decided().blob(6, "reply", header + b"\xff"))),
    )
    yield good(
        "salt-of-a-withheld-text",
        "Ann's reply has the salt of the question, which is withheld: nobody can tell.",
        zip_of(withholding(twin, question)),
    )
    kept = seal(files, text=manifest(files, {question: "personal_data"}))
    yield bad(
        "salt-of-a-withheld-text-that-is-there",
        "2.withheld",
        0,
        "The question is listed as withheld, and it is there: its salt counts, and Ann's reply "
        "has it as well.",
        zip_of(kept),
    )
