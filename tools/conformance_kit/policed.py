"""Check 18, and 10 of texts: what a policy demands beside the templates (FORMAT.md §15)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from conformance_kit.case import Case, bad, good, group
from conformance_kit.debates import OTHER, approved, approving, decided, policy_of, under
from conformance_kit.deliverables import told_all
from conformance_kit.exports import export, withholding, zip_of
from conformance_kit.judged import arguing, judged_once, own_judge, ruled
from conformance_kit.moderated import moderated, moderating
from conformance_kit.records import TEMPLATES, Record, digest
from conformance_kit.tool_use import look, using
from hansard.runtime.models.base import Completion

JUDGED = [
    f"judged.{role} template {digest(text.encode())}" for role, text in TEMPLATES["judged"].items()
]
MODERATED = [
    f"moderated.{role} template {digest(text.encode())}"
    for role, text in TEMPLATES["moderated"].items()
]
GPT = "judged.judge served gpt-*"
TOLD = [  # what the seats of `told_all` are told
    f"* context {digest(b'It is December.')}",
    "judged instructions " + digest(b"Be brief.\n{{stance}}"),
    f"judged.judge persona {digest(b'You are old.')}",
]


def held(record: Record, *lines: str) -> Record:
    """Put a policy with these lines into the place of a record's own."""
    return under(record, policy_of(sorted(lines)))


@cache
def served() -> Record:
    """A judged debate whose replies say who served them: 7 ann, 10 nobody, 13 no id."""
    verdict = ruled("ship").text
    return arguing(
        "served",
        {
            "r1.argument.ann:1": Completion("Yes.", model="gpt-4o-2024-08-06"),
            "r1.verdict.judge:1": Completion(verdict, model="Modèle 4 (β)"),
        },
        task_type="contract",
        requester={"name": "Ann"},
        retention="long",
        limits={"calls": 40, "seconds": 90},
        evidence=[{"id": "e", "text": "It rains."}],
    )


def served_by(model: str) -> Record:
    """A judged debate whose verdict, entry 12, was served by a model of this name."""
    verdict = Completion(ruled("ship").text, model=model)
    return arguing("served-by", {"r1.verdict.judge:1": verdict})


@group
def text_cases() -> Iterator[Case]:
    """Check 10: no text reaches who judges that the policy does not approve."""
    told = told_all()
    yield good("policy-texts", "All that is told is approved.", export(held(told, *JUDGED, *TOLD)))
    free = [f"judged.judge {term} any" for term in ("persona", "instructions", "context")]
    yield good(
        "policy-texts-any",
        "The policy lets the judge be told anything; of the debaters it says nothing.",
        export(held(told, *JUDGED, *free)),
    )
    yield good(
        "policy-texts-none",
        "Nobody is told anything, which is what a policy allows that does not speak of it.",
        export(held(arguing("once"), *JUDGED, "judged persona none", "* context none")),
    )
    sound = held(told, *JUDGED, *TOLD)
    names = [sound.event(4)["data"]["persona"], sound.event(1)["data"]["context"]]
    yield good(
        "policy-texts-withheld",
        "Two texts that the policy is about are withheld: nobody can compare them.",
        withholding(sound, *(f"blobs/{name['sha256']}" for name in names)),
    )
    yield good(
        "policy-no-context-for-a-moderator",
        "A moderator is told no context, so it needs no approval.",
        export(held(moderating("context", context="It is December."), *MODERATED)),
    )
    for term, line in zip(("context", "instructions", "persona"), TOLD, strict=True):
        rest = [other for other in TOLD if other != line]
        yield bad(
            f"policy-{term}-of-a-judge",
            f"10.{term}",
            4,
            f"The policy does not speak of the judge's {term}, so there must be none.",
            export(held(told, *JUDGED, *rest)),
        )
    yield bad(
        "policy-other-persona",
        "10.persona",
        4,
        "The judge has another persona than the two that are approved.",
        export(
            held(
                told,
                *JUDGED,
                *TOLD[:2],
                f"judged.judge persona {OTHER}",
                "judged.judge persona none",
            )
        ),
    )
    yield bad(
        "policy-persona-missing",
        "10.persona",
        2,
        "The policy has one persona for each debater, and ann has none.",
        export(held(arguing("once"), *JUDGED, f"judged.debater persona {OTHER}")),
    )
    yield bad(
        "policy-persona-withheld",
        "10.persona",
        4,
        "The judge's persona is withheld, but the policy allows none at all.",
        withholding(
            held(told, *JUDGED, *TOLD[:2]), f"blobs/{told.event(4)['data']['persona']['sha256']}"
        ),
    )
    given = using("policed", {}, {"look": look})
    own = given.event(1)["data"]["tools"][0]["sha256"]
    yield good(
        "policy-tool", "The tool is approved.", export(held(given, *JUDGED, f"* tool {own}"))
    )
    yield bad(
        "policy-no-tools",
        "10.tool",
        1,
        "The policy allows no tools, and there is one.",
        export(held(given, *JUDGED, "* tool none")),
    )
    yield bad(
        "policy-schema",
        "10.schema",
        1,
        "The judge's replies are asked for in another form than the approved one.",
        export(held(told, *JUDGED, *TOLD, f"judged.judge schema {OTHER}")),
    )


@group
def seat_cases() -> Iterator[Case]:
    """Checks 10 and 18: seats of scripted models, of user's functions, and of no provider."""
    script = judged_once().until(4).data(1, scripted=True)
    for seq in (2, 3, 4):
        script = script.data(seq, model="scripted:demo")
    yield good(
        "policy-scripts-of-one-family",
        "Judge and debaters are one script: of a script there is no family.",
        export(held(script, *JUDGED, "judged.judge independent family")),
    )
    yield bad(
        "policy-scripts-of-one-model",
        "18.independent",
        4,
        "Judge and debaters are one script, which is one model.",
        export(held(script, *JUDGED, "judged.judge independent model")),
    )
    first = judged_once().until(4).moved(4, 2)
    for seq in (2, 3, 4):
        first = first.data(seq, position=seq - 1)
    yield bad(
        "policy-judge-registered-first",
        "18.independent",
        2,
        "The judge is registered before the debaters, whose model it has: the policy is about all "
        "seats, whether or not each is due.",
        export(held(first, *JUDGED, "judged.judge independent model")),
    )
    bare = under(decided().until(3), approving())
    for seq in (2, 3):
        bare = bare.data(seq, model="gpt-4")
    yield good(
        "policy-model-without-a-provider",
        "The models have no colon: all of each is the provider, and what follows is empty, which "
        "`*` is, too.",
        export(under(bare, approving("* model *", "* provider gpt-4"))),
    )
    yield bad(
        "policy-model-without-a-colon",
        "18.model",
        2,
        "The models have no colon: all of each is the provider, and none the model.",
        export(under(bare, approving("* model gpt-4"))),
    )
    yield good(
        "policy-served-any",
        "The verdict was served by a model whose name is a text: a value `*` is any string.",
        export(held(served(), *JUDGED, "judged.judge served *")),
    )
    named = held(served(), *JUDGED, GPT)
    yield bad(
        "policy-served-under-another-name",
        "18.served",
        13,
        "The verdict was served by a model whose name is a text: it is compared like an id.",
        export(named),
    )
    yield good(
        "policy-served-under-a-name-withheld",
        "The name of the model that served the verdict is withheld: it is not compared.",
        zip_of(withholding(named, named.file_of(13, "model"))),
    )
    yield bad(
        "policy-served-by-nobody",
        "18.served",
        10,
        "The provider does not say who served a reply: a value `*` is any string, but none.",
        export(held(served(), *JUDGED, "judged.debater served *")),
    )
    yield good(
        "policy-served-by-a-long-name",
        "The name of the model that served the verdict has 257 characters, and begins as it may.",
        export(held(served_by("gpt-" + "\N{GREEK SMALL LETTER BETA}" * 253), *JUDGED, GPT)),
    )
    yield bad(
        "policy-served-by-another-long-name",
        "18.served",
        12,
        "The name of the model that served the verdict has 257 characters, of which 256 may serve.",
        export(held(served_by("m" * 257), *JUDGED, "judged.judge served " + "m" * 256)),
    )
    free = [f"judged.judge {term} any" for term in ("context", "instructions", "persona")]
    yield good(
        "policy-texts-of-a-function",
        "The judge is a function, which is told nothing; the policy approves what it is given.",
        export(held(own_judge(), *JUDGED, *free)),
    )
    for term, seq in (("context", 4), ("persona", 4)):
        rest = [line for line in free if term not in line]
        yield bad(
            f"policy-{term}-of-a-function",
            f"10.{term}",
            seq,
            f"The judge is a function, which is told nothing; but there is a {term}, and the "
            "policy allows none.",
            export(held(own_judge(), *JUDGED, *rest)),
        )
    for key, days in (("leading-zero", "007"), ("no-days", "0"), ("seven-digits", "1000000")):
        yield bad(
            f"policy-retention-{key}",
            "10.policy",
            1,
            f"`{days}` is not how a policy says days: one to six digits, the first not 0.",
            export(held(served(), *JUDGED, f"judged retention long:{days}")),
        )


BASELINES = ("0", "0.000001", "7", "30.5", "123456789.123456")
OTHERWISE = {  # a decimal number that is not spelled so, and why not
    "nought-first": ("07", "a nought stands first"),
    "nought-last": ("0.50", "a nought stands last"),
    "nothing-after-the-point": ("7.", "nothing follows the point"),
    "nothing-before-the-point": (".5", "nothing precedes the point"),
    "below-nought": ("-1", "it is below nought"),
    "exponent": ("1e3", "it has an exponent"),
    "ten-digits": ("1234567890", "it has ten digits"),
    "seven-places": ("0.1234567", "it has seven places"),
    "missing": ("", "there is none"),
}


@group
def metric_cases() -> Iterator[Case]:
    """What metrics are to be compared with: one spelling of each baseline, and none a check."""
    rows = [f"* metric m{place}:{number}" for place, number in enumerate(BASELINES)]
    yield good(
        "policy-metrics",
        "Baselines of metrics; two scopes have one each of the same metric.",
        export(held(served(), *JUDGED, *rows, "judged metric m1:3")),
    )
    for key, (number, why) in OTHERWISE.items():
        yield bad(
            f"policy-metric-{key}",
            "10.policy",
            1,
            f"`{number}` is not how a policy writes a baseline: {why}.",
            export(held(served(), *JUDGED, f"* metric m:{number}")),
        )
    yield bad(
        "policy-metric-twice",
        "10.policy",
        1,
        "One metric has two baselines in a scope.",
        export(held(served(), *JUDGED, "* metric m:1", "* metric m:2")),
    )
    yield bad(
        "policy-metric-without-a-name",
        "10.policy",
        1,
        "A baseline has no metric.",
        export(held(served(), *JUDGED, "* metric :1")),
    )


HOLD = (  # what is so in `served`
    "* base_url default",
    "* callable any",
    "* max_calls 1",  # a narrower scope says more
    "* max_seconds 90",
    "* model b*",
    "* model other",
    "* provider openai",
    "* provider python",
    "* require requester",
    "* task_type contract",
    "* task_type vendor",
    "judged evidence required",
    "judged max_calls 40",
    "judged max_rounds 1",
    "judged retention long:2555",
)
BROKEN = {  # a line that is not kept to, where that shows, and what it stands in place of
    "* base_url https://models.example": ("18.base_url", 2),
    "judged.debater callable none": ("18.callable", 2),
    "judged.judge independent family": ("18.independent", 4),
    "judged.judge independent model": ("18.independent", 4),
    "judged max_calls 39": ("18.max_calls", 1),
    "* max_cost_micro_usd 1000000": ("18.max_cost_micro_usd", 1),
    "* max_tokens 1000": ("18.max_tokens", 1),
    "* max_seconds 89": ("18.max_seconds", 1),
    "judged.judge model bo": ("18.model", 4),
    "judged.judge provider custom": ("18.provider", 4),
    "* require owner": ("18.require", 1),
    "judged task_type vendor": ("18.task_type", 1),
    "judged retention short:30": ("18.retention", 1),
    "judged.debater served gpt-4o*": ("18.served", 10),
    "judged.judge served Model*": ("18.served", 13),
}


@group
def term_cases() -> Iterator[Case]:
    """Check 18: each term at its bound and past it."""
    base = served()
    yield good("policy-terms", "All terms are kept to.", export(held(base, *JUDGED, *HOLD)))
    for line, (code, seq) in BROKEN.items():
        scope, term, _ = line.split()
        name = f"policy-{term.replace('_', '-')}-{scope.replace('*', 'all').replace('.', '-')}"
        yield bad(
            name + ("-model" if line.endswith(" model") else ""),
            code,
            seq,
            f"The policy says `{line}`, and that is not so.",
            zip_of(export(held(base, *JUDGED, line))),
        )
    yield bad(
        "policy-rounds",
        "18.max_rounds",
        1,
        "The policy allows one round, the debate two at most, though it ran one.",
        export(held(moderated(), *MODERATED, "* max_rounds 1")),
    )
    yield bad(
        "policy-strength",
        "18.min_challenge_strength",
        1,
        "The policy wants a stronger critique than the debate does.",
        export(held(moderated(), *MODERATED, "moderated min_challenge_strength 9")),
    )
    yield bad(
        "policy-cited-critique",
        "18.cited_critique",
        1,
        "The policy wants critiques that cite, and the debate does not.",
        export(held(moderated(), *MODERATED, "* cited_critique required")),
    )
    yield bad(
        "policy-critic-alike",
        "18.independent",
        4,
        "The critic is of the proposer's model.",
        export(held(moderated(), *MODERATED, "moderated.critic independent model")),
    )
    yield bad(
        "policy-evidence",
        "18.evidence",
        1,
        "The policy requires evidence, and there is none.",
        export(held(told_all(), *JUDGED, *TOLD, "judged evidence required")),
    )
    texts = [
        f"consensus.{role} template {digest(text.encode())}"
        for role, text in TEMPLATES["consensus"].items()
    ]
    yield good(
        "policy-of-many-scopes",
        "Of a term the lines of the narrowest scope count, and no other.",
        export(
            held(
                approved(),
                *texts,
                "* max_rounds 1",
                "consensus max_rounds 100",
                "judged max_calls 1",
            )
        ),
    )
    lines = [f"* model m{n}" for n in range(999 - len(JUDGED))]
    yield good(
        "policy-as-long-as-can-be",
        "The policy has 1,000 lines, one of which allows the model.",
        export(held(base, *JUDGED, *lines, "* model b*")),
    )
    yield bad(
        "policy-of-many-models",
        "18.model",
        2,
        "The policy has a thousand lines, of which ten are said.",
        export(held(base, *JUDGED, *lines, "* model other")),
    )
    named = base.event(13)["data"]["model"]["sha256"]
    yield good(
        "policy-served-withheld",
        "The name of the model that served a reply is withheld: nobody can compare it.",
        withholding(held(base, *JUDGED, "judged.judge served Mod*"), f"blobs/{named}"),
    )
