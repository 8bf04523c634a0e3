"""The providers: which package, key and address each needs, and the opening of its models.

A spec may come from somebody else, so a provider's key goes only to the
provider's own address, or to the one in the provider's own variable (such as
OPENAI_BASE_URL). A server that a seat's `base_url` names, and that is neither,
gets the key in HANSARD_KEY_<HOST>, where there is one.

Nothing of the vendors' is imported before a model is opened. Neither a key nor
an address stands in an error's sentence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from urllib.parse import SplitResult, urlsplit

from hansard.errors import UsageError
from hansard.rules.model_names import key_variable
from hansard.runtime.models.base import Model

_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+").fullmatch
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LIBRARY = "pydantic_ai"  # beneath all dialects


@dataclass(frozen=True)
class Provider:
    """One row of the table.

    `dialect` is the module that speaks its language, `package` the vendor's,
    `keys` the variables that may hold its key, in the order in which they are
    looked at (none: the vendor's library finds its own); `variable` names the
    one for its address, `home` is its own, None where the vendor's library
    knows it. `enveloped`: its server counts the reply's schema into the prefix
    that it caches. `local`: a server of one's own, which needs no key.
    """

    name: str
    extra: str
    dialect: str
    package: str
    example: str
    keys: tuple[str, ...]
    variable: str
    home: str | None
    enveloped: bool = False
    local: bool = False

    @property
    def needs_key(self) -> bool:
        """Whether nothing is answered without a key."""
        return bool(self.keys) and not self.local


def _local(name: str, home: str, example: str) -> Provider:
    """Return a server of one's own that speaks chat completions."""
    upper = name.upper()
    return Provider(
        name,
        extra="openai",
        dialect="openai_chat",
        package="openai",
        example=f"{name}:{example}",
        keys=(f"{upper}_API_KEY",),
        variable=f"{upper}_BASE_URL",
        home=home,
        local=True,
    )


_OPENAI = "https://api.openai.com/v1"
_ROWS = (
    Provider(
        "openai",
        extra="openai",
        dialect="openai_chat",
        package="openai",
        example="openai:gpt-5-mini",
        keys=("OPENAI_API_KEY",),
        variable="OPENAI_BASE_URL",
        home=_OPENAI,
        enveloped=True,
    ),
    Provider(
        "openai-responses",
        extra="openai",
        dialect="openai_responses",
        package="openai",
        example="openai-responses:gpt-5-mini",
        keys=("OPENAI_API_KEY",),
        variable="OPENAI_BASE_URL",
        home=_OPENAI,
        enveloped=True,
    ),
    Provider(
        "anthropic",
        extra="anthropic",
        dialect="anthropic_messages",
        package="anthropic",
        example="anthropic:claude-haiku-4-5",
        keys=("ANTHROPIC_API_KEY",),
        variable="ANTHROPIC_BASE_URL",
        home="https://api.anthropic.com",
        enveloped=True,
    ),
    Provider(
        "google",
        extra="google",
        dialect="google_gemini",
        package="google.genai",
        example="google:gemini-2.5-flash",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        variable="GOOGLE_BASE_URL",
        home="https://generativelanguage.googleapis.com",
    ),
    Provider(
        "bedrock",
        extra="bedrock",
        dialect="bedrock_converse",
        package="boto3",
        example="bedrock:amazon.nova-lite-v1:0",
        keys=(),
        variable="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        home=None,
        enveloped=True,
    ),
    _local("ollama", "http://127.0.0.1:11434/v1", "qwen3"),
    _local("vllm", "http://127.0.0.1:8000/v1", "qwen3"),
    _local("lmstudio", "http://127.0.0.1:1234/v1", "qwen3"),
    _local("llamacpp", "http://127.0.0.1:8080/v1", "qwen3"),
)
PROVIDERS: Mapping[str, Provider] = {row.name: row for row in _ROWS}


@dataclass(frozen=True)
class Server:
    """Where a model is asked: its address (None: where the vendor's library asks) and its key.

    `plain`: the server is not the vendor's, so nothing goes there that the
    vendor's library finds in the environment, such as another key or a header.
    """

    base_url: str | None
    key: str | None = field(repr=False)
    enveloped: bool = False
    plain: bool = False


@dataclass(frozen=True)
class ProviderStatus:
    """What a provider needs here: `missing` are commands and variables, none where it is usable."""

    name: str
    usable: bool
    missing: tuple[str, ...]
    extra: str
    example: str


def open_model(
    model: str, base_url: str | None = None, environ: Mapping[str, str] = os.environ
) -> Model:
    """Return the model `provider:name`, at the seat's `base_url` where it gives one.

    Raises UsageError `model.unknown`, `model.missing_extra`, `model.no_key`,
    `model.bad_key` or `model.base_url`.
    """
    name, _, rest = model.partition(":")
    provider = PROVIDERS.get(name)
    if provider is None or not rest:
        raise UsageError(
            "model.unknown", f"unknown provider in {model}; use one of {', '.join(PROVIDERS)}"
        )
    if {".", ".."} & set(rest.split("/")):  # some dialects put the name into the address
        raise UsageError("model.unknown", f"a model's name has no part . or .. between /: {model}")
    server = find_server(provider, base_url, environ)
    if _lacks_key(provider, server):
        keys = " or ".join(provider.keys)
        raise UsageError(
            "model.no_key", f"{model} needs {keys}, or {provider.variable} for a server of yours"
        )
    try:
        dialect = import_module(f"hansard.runtime.models.{provider.dialect}")
    except ImportError as error:
        raise UsageError(
            "model.missing_extra",
            f"{name}:… needs a package that is not installed: {_install(provider)}",
        ) from error
    opened: Model = dialect.open_model(rest, server)
    return opened


def find_server(provider: Provider, base_url: str | None, environ: Mapping[str, str]) -> Server:
    """Return the address to ask, and the one key that may go there; UsageError as open_model."""
    stated = _value(environ, provider.variable)
    own = {_place(_checked(stated, provider.variable))} if stated else set()
    own |= {_place(provider.home)} if provider.home else set()
    if base_url and "@" in base_url:
        raise UsageError(
            "model.base_url",
            "a base_url is recorded, so it must not hold a user name or a password",
        )
    foreign = base_url is not None and _place(_checked(base_url, "base_url")) not in own
    names = _foreign_keys(base_url) if foreign and base_url else provider.keys
    held = {name: _value(environ, name) for name in names}
    for name, key in held.items():
        if not (key.isascii() and key.isprintable()):
            raise UsageError("model.bad_key", f"{name} contains characters that a key cannot have")
    return Server(
        base_url or stated or provider.home,
        next(filter(None, held.values()), None),
        provider.enveloped,
        plain=foreign or provider.local,
    )


def _foreign_keys(base_url: str) -> tuple[str, ...]:
    """Return the variable whose key may go to a server that a spec names, if any may.

    No key goes in the clear beyond this machine, nor to a host of whose name the
    variable would not say all: no two hosts share one.
    """
    parsed = urlsplit(base_url)
    host = parsed.hostname or ""
    named = "_" not in host and all(host.split("."))
    safe = parsed.scheme == "https" or host in _LOOPBACK
    return (key_variable(base_url),) if named and safe else ()


def survey(environ: Mapping[str, str] = os.environ) -> list[ProviderStatus]:
    """Return for each provider whether it can be used here, and what it lacks."""
    rows = []
    for provider in PROVIDERS.values():
        missing = [] if _installed(provider) else [_install(provider)]
        try:
            server = find_server(provider, None, environ)
            if _lacks_key(provider, server):
                missing.append(" or ".join(provider.keys))
        except UsageError as error:
            missing.append(str(error))
        rows.append(
            ProviderStatus(
                provider.name, not missing, tuple(missing), provider.extra, provider.example
            )
        )
    return rows


def _lacks_key(provider: Provider, server: Server) -> bool:
    """Say whether a provider's own address would be asked without a key."""
    if server.key or not provider.needs_key or not server.base_url or not provider.home:
        return False
    return _place(server.base_url) == _place(provider.home)


def _value(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip()


def _install(provider: Provider) -> str:
    return f"pip install 'hansard[{provider.extra}]'"


def _installed(provider: Provider) -> bool:
    try:
        return all(find_spec(name) for name in (_LIBRARY, provider.package))
    except ImportError:  # of the package's parent
        return False


def _checked(url: str, name: str) -> str:
    """Return an address that can be asked; raises UsageError `model.base_url`."""
    if not _is_address(url):
        raise UsageError(
            "model.base_url", f"{name} must be an http:// or https:// address without a query"
        )
    return url


def _is_address(url: str) -> bool:
    if not (url.isascii() and url.isprintable()) or re.search(r"[\s?#\\]", url):
        return False
    try:
        parsed = urlsplit(url)
        port, host = parsed.port, parsed.hostname
    except ValueError:
        return False
    return parsed.scheme in ("http", "https") and port != 0 and bool(_HOST(host or ""))


def _place(url: str) -> tuple[str, str | None, int, str]:
    """Return what two spellings of an address have in common: scheme, host, port and path.

    The path counts: on one host, another path may be another customer's.
    """
    parsed: SplitResult = urlsplit(url)
    port = parsed.port or {"http": 80, "https": 443}[parsed.scheme]
    return parsed.scheme, parsed.hostname, port, parsed.path.rstrip("/")
