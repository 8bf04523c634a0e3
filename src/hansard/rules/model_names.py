"""The names of models: `provider:name`, who answers under one, and what a wrong one may have meant.

What was meant is only ever asked in the sentence that refuses a name: nothing is put in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from urllib.parse import urlsplit

from pydantic_core import PydanticCustomError

from hansard.rules.own import MODEL

OWN = ("scripted", "recorded", "python", "custom")  # answer without a server of a provider's
SERVERS = (
    "openai",
    "openai-responses",
    "azure",
    "anthropic",
    "google",
    "vertex",
    "bedrock",
    "mistral",
    "openrouter",
    "ollama",
    "vllm",
    "lmstudio",
    "llamacpp",
)
PROVIDERS = OWN + SERVERS

_MOST_ALIASES = 10  # that an error lists
_LONGEST = 80  # characters of a name that an error shows
_SURE, _LIKELY = 0.84, 0.7  # how alike a slip is to what was meant
# What others call a provider, where the two words are not alike.
_CALLED = {
    "azure-openai": "azure",
    "google-vertex": "vertex",
    "gemini": "google",
    "claude": "anthropic",
    "gpt": "openai",
    "aws": "bedrock",
    "amazon": "bedrock",
}
# Whose model a name without a provider is, in this order.
_FAMILIES = tuple(
    (re.compile(pattern).match, provider)
    for pattern, provider in (
        (r".*\.(?:ya?ml|json)$", "scripted"),
        (r"(?:[a-z]+\.)?(?:amazon|anthropic|cohere|meta|mistral)\.[a-z]", "bedrock"),
        (r"(?:gpt-oss|llama|qwen|gemma|phi|deepseek)[-.:0-9]", "ollama"),
        (r"(?:chat)?gpt-|o[1-9](?:-|$)", "openai"),
        (r"claude-", "anthropic"),
        (r"gemini-", "google"),
        (r"(?:open-)?(?:mistral|mixtral|ministral|magistral|codestral|devstral)-", "mistral"),
    )
)
_AUTHORS = (
    "openai",
    "anthropic",
    "google",
)  # providers who are an author's name at OpenRouter, too


def known_model(value: str, aliases: Iterable[str] = ()) -> str:
    """Return a model's name, or refuse one of no provider that there is (`spec.unknown_model`)."""
    provider, _, name = value.partition(":")
    if provider not in PROVIDERS or not name:
        said = no_model(value, tuple(aliases))
        raise PydanticCustomError("spec.unknown_model", "{sentence}", {"sentence": said})
    return value


def no_model(value: str, aliases: tuple[str, ...] = ()) -> str:
    """Return the sentence that refuses a model's name: what was meant, or what there is.

    >>> no_model("opneai:gpt-5")
    'there is no model opneai:gpt-5; did you mean openai:gpt-5?'
    """
    close = meant(value, aliases)
    known = ", ".join([*(f"{name}:…" for name in PROVIDERS), *aliases[:_MOST_ALIASES]])
    end = f"did you mean {told(close)}?" if close else f"write one of {known}"
    return f"there is no model {told(value)}; {end}"


def told(value: str) -> str:
    r"""Return a model's name as an error shows it: cut, and without a sign that no name can have.

    >>> told("openai:m\n\x1b[2J"), len(told("x" * 256))
    ('openai:m???2J', 80)
    """
    safe = re.sub(r"[^A-Za-z0-9._:/@+=-]", "?", value[: _LONGEST + 1])
    return safe if len(safe) <= _LONGEST else safe[: _LONGEST - 1] + "…"


def meant(value: str, aliases: tuple[str, ...] = ()) -> str | None:
    """Return the alias or the model that a name is a slip of; None where that is anybody's guess.

    >>> meant("gpt-5-mini"), meant("azure-openai:mine"), meant("meta-llama/llama-4")
    ('openai:gpt-5-mini', 'azure:mine', 'openrouter:meta-llama/llama-4')
    >>> meant("strnog", ("strong",)), meant("crystal:ball")
    ('strong', None)
    """
    return next(_guesses(value, aliases), None) if re.fullmatch(MODEL, value) else None


def is_slip(value: str) -> bool:
    """Say whether words can only be a slip of a model's name; yes/no may be words.

    >>> is_slip("gpt-5-mini"), is_slip("yes/no"), is_slip("Ship: now."), is_slip("optimist")
    (True, False, False, False)
    """
    return "/" not in value.partition(":")[0] and meant(value) is not None


def _guesses(value: str, aliases: tuple[str, ...]) -> Iterator[str]:
    """Yield what a name may have meant, the likeliest first."""
    yield from get_close_matches(value, aliases, 1, _LIKELY)
    head, _, name = value.partition(":")
    sure, likely = (_provider(head, alike) for alike in (_SURE, _LIKELY))
    if name and sure:
        yield f"{sure}:{name}"
    for is_of, provider in _FAMILIES:
        if is_of(value.lower()):
            yield f"{provider}:{value}"
    if "/" in head:
        first, _, rest = value.partition("/")
        is_way = rest and first in SERVERS and first not in _AUTHORS
        yield f"{first}:{rest}" if is_way else f"openrouter:{value}"
    if name and likely:
        yield f"{likely}:{name}"


def _provider(word: str, alike: float) -> str | None:
    """Return the provider that a word is another one for."""
    plain = re.sub(r"[_.]", "-", word.lower())
    close = get_close_matches(plain, PROVIDERS, 1, alike)
    return _CALLED.get(plain) or (close[0] if close else None)


def has_server(model: str) -> bool:
    """Say whether a model is asked over the wire of a provider's."""
    return provider_of(model) in SERVERS


def provider_of(model: str) -> str:
    """Return what stands before the colon of a model: who is asked."""
    return model.partition(":")[0]


def key_variable(base_url: str) -> str:
    """Return the variable with the key of a server that a seat names by its address.

    A hyphen is two signs: `llm-example` must not be given the key of `llm.example`.

    >>> key_variable("https://my-llm.example:8443/v1")
    'HANSARD_KEY_MY__LLM_EXAMPLE_8443'
    """
    place = urlsplit(base_url).netloc.upper().replace("-", "__")
    return "HANSARD_KEY_" + re.sub(r"[^A-Z0-9]", "_", place)
