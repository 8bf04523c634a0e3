"""The servers of providers: which address and key each is asked with, and the opening of models.

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
from ipaddress import ip_address
from socket import inet_aton
from urllib.parse import SplitResult, urlsplit

from hansard.errors import UsageError
from hansard.installing import install_command
from hansard.rules.model_names import key_variable, no_model, told
from hansard.runtime.models.base import Model
from hansard.runtime.models.provider_rows import PROVIDERS, Provider

_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+").fullmatch
_BRACKETED = re.compile(r"\[[^][]*\](?::[0-9]*)?").fullmatch
# Hosts that their key's variable tells apart: in it a dot, a colon and half a hyphen are all `_`.
_LABEL = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_NAMED = re.compile(
    rf"(?:{_LABEL}\.)*(?![0-9]+$){_LABEL}|[0-9]+(?:\.[0-9]+){{3}}|[0-9a-f:]*:[0-9a-f:]*"
).fullmatch
_LOOPBACK = ("localhost", "127.0.0.1", "::1")  # where a key may go in the clear
_LIBRARY = "pydantic_ai"  # beneath all dialects


@dataclass(frozen=True)
class Server:
    """Where a model is asked: its address (None: where the vendor's library asks) and its key.

    `plain`: the server is not that of the library's vendor, so nothing goes there that
    the library finds in the environment, such as another key or a header. `own`: it is
    the provider's, where nobody is answered without a key.
    """

    base_url: str | None
    key: str | None = field(repr=False)
    enveloped: bool = False
    plain: bool = False
    own: bool = False


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
        raise UsageError("model.unknown", no_model(model))
    if {".", ".."} & set(rest.split("/")):  # some dialects put the name into the address
        said = f"a model's name has no part . or .. between /: {told(model)}"
        raise UsageError("model.unknown", said)
    server = find_server(provider, base_url, environ)
    needs, code = _lacking(provider, server, environ), "model.no_key"
    if needs and provider.home:
        needs[-1] += f" (or {provider.variable} for a server of yours)"
    package = f"a package that is not installed: {install_command(provider.extra)}"
    if not _installed(provider):
        needs, code = [*needs, package], "model.missing_extra"
    if needs:
        raise UsageError(code, f"{told(model)} needs {' and '.join(needs)}")
    try:
        dialect = import_module(f"hansard.runtime.models.{provider.dialect}")
    except ImportError as error:  # of what the package itself needs
        raise UsageError("model.missing_extra", f"{told(model)} needs {package}") from error
    opened: Model = dialect.open_model(rest, server)
    return opened


def find_server(provider: Provider, base_url: str | None, environ: Mapping[str, str]) -> Server:
    """Return the address to ask, and the one key that may go there; UsageError as open_model."""
    stated = _value(environ, provider.variable)
    stated = stated and provider.address(_checked(stated, provider.variable))
    own = {_place(url) for url in (stated, provider.home) if url}
    if base_url and "@" in base_url:
        raise UsageError(
            "model.base_url",
            "a base_url is recorded, so it must not hold a user name or a password",
        )
    base_url = base_url and provider.address(_checked(base_url, "base_url"))
    foreign = bool(base_url) and _place(base_url or "") not in own
    names = _foreign_keys(base_url) if foreign and base_url else provider.keys
    held = {name: _value(environ, name) for name in names}
    for name, key in held.items():
        if not (key.isascii() and key.isprintable()):
            raise UsageError("model.bad_key", f"{name} contains characters that a key cannot have")
    url = base_url or stated or provider.home
    at_home = not (url and provider.home) or _place(url) == _place(provider.home)
    return Server(
        url,
        next(filter(None, held.values()), None),
        provider.enveloped,
        plain=foreign or provider.lent,
        own=at_home and not foreign,
    )


def _foreign_keys(base_url: str) -> tuple[str, ...]:
    """Return the variable whose key may go to a server that a spec names, if any may.

    No key goes in the clear beyond this machine, nor to a host of whose name the
    variable would not say all: no two hosts share one.
    """
    parsed = urlsplit(base_url)
    host = parsed.hostname or ""
    safe = parsed.scheme == "https" or host in _LOOPBACK
    return (key_variable(base_url),) if safe and _NAMED(host) else ()


def is_here(host: str) -> bool:
    """Say whether a host is this machine, however that is spelled.

    >>> [is_here(host) for host in ("127.0.0.2", "127.1", "LOCALHOST.", "::ffff:127.0.0.1")]
    [True, True, True, True]
    >>> is_here("localhost.example"), is_here("128.0.0.1")
    (False, False)
    """
    name = host.lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        found = ip_address(name if ":" in name else inet_aton(name))
    except (OSError, ValueError):
        return False
    found = getattr(found, "ipv4_mapped", None) or found
    return found.is_loopback or found.is_unspecified


def survey(environ: Mapping[str, str] = os.environ) -> list[ProviderStatus]:
    """Return for each provider whether it can be used here, and what it lacks."""
    rows = []
    for provider in PROVIDERS.values():
        missing = [] if _installed(provider) else [install_command(provider.extra)]
        try:
            missing += _lacking(provider, find_server(provider, None, environ), environ)
        except UsageError as error:
            missing.append(str(error))
        rows.append(
            ProviderStatus(
                provider.name, not missing, tuple(missing), provider.extra, provider.example
            )
        )
    return rows


def _lacking(provider: Provider, server: Server, environ: Mapping[str, str]) -> list[str]:
    """Return what has to be set, or run, before a provider's own address can be asked."""
    if not server.own:
        return []
    if provider.lacking:
        return provider.lacking(environ, server.key)
    key = [" or ".join(provider.keys)] if provider.needs_key and not server.key else []
    return key if server.base_url or not provider.path else [*key, provider.variable]


def _value(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip()


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
    # What stands behind `]` without a colon is no port to `urlsplit`, and one to the clients.
    place = parsed.netloc.rpartition("@")[2]
    is_whole = "]" not in place or bool(_BRACKETED(place))
    return parsed.scheme in ("http", "https") and port != 0 and is_whole and bool(_HOST(host or ""))


def _place(url: str) -> tuple[str, str | None, int, str]:
    """Return what two spellings of an address have in common: scheme, host, port and path.

    The path counts: on one host, another path may be another customer's.
    """
    parsed: SplitResult = urlsplit(url)
    port = parsed.port or {"http": 80, "https": 443}[parsed.scheme]
    return parsed.scheme, parsed.hostname, port, parsed.path.rstrip("/")
