"""The providers: one row each, with all that is known of one.

What is said to their models is in the module of a dialect; which server gets which key,
and what is missing here, in `providers`. Nothing of the vendors' is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hansard.runtime.models import google_cloud


@dataclass(frozen=True)
class Provider:
    """One row of the table.

    `dialect` is the module that speaks its language, `package` the vendor's,
    `keys` the variables that may hold its key, in the order in which they are
    looked at (none: the vendor's library finds its own); `variable` names the
    one for its address, `home` is its own, None where the vendor's library
    knows it. `place` says in a word who answers, where `home` does not, `path` is
    what its address ends with, whether or not a user writes it, and then there is
    no address but the user's own. `enveloped`: its server counts the reply's schema
    into the prefix that it caches. `local`: a server of one's own, which needs no key.
    `lent`: it is asked through the library of another vendor. `lacking` says what is
    missing in an environment with this key, where that is more than the key. `prices`
    is its list in genai-prices, `traced` its name in telemetry, where that is another one.
    """

    name: str
    extra: str
    dialect: str
    package: str
    example: str
    keys: tuple[str, ...]
    variable: str
    home: str | None
    place: str = ""
    path: str = ""
    enveloped: bool = False
    local: bool = False
    lent: bool = False
    lacking: Callable[[Mapping[str, str], str | None], list[str]] | None = None
    prices: str | None = None
    traced: str | None = None

    @property
    def needs_key(self) -> bool:
        """Whether nothing is answered without a key."""
        return bool(self.keys) and not self.local

    def address(self, url: str) -> str:
        """Return an address of its kind as it is asked."""
        is_whole = url.rstrip("/").endswith(self.path)
        return url if is_whole else url.rstrip("/") + self.path


def _chat(name: str, **more: Any) -> Provider:
    """Return one that speaks OpenAI's chat completions, or nearly."""
    upper = name.upper()
    known = {
        "extra": "openai",
        "dialect": "openai_chat",
        "package": "openai",
        "keys": (f"{upper}_API_KEY",),
        "variable": f"{upper}_BASE_URL",
    }
    return Provider(name, **(known | more))


def _local(name: str, home: str) -> Provider:
    """Return a server of one's own that speaks chat completions."""
    return _chat(name, example=f"{name}:qwen3", home=home, local=True, lent=True)


_OPENAI = _chat(
    "openai",
    example="openai:gpt-5-mini",
    home="https://api.openai.com/v1",
    enveloped=True,
    prices="openai",
)
_GOOGLE = Provider(
    "google",
    extra="google",
    dialect="google_gemini",
    package="google.genai",
    example="google:gemini-2.5-flash",
    keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    variable="GOOGLE_BASE_URL",
    home="https://generativelanguage.googleapis.com",
    prices="google",
    traced="gcp.gemini",
)
_ROWS = (
    _OPENAI,
    replace(
        _OPENAI,
        name="openai-responses",
        dialect="openai_responses",
        example="openai-responses:gpt-5-mini",
        traced="openai",
    ),
    _chat(
        "azure",
        dialect="azure_chat",
        example="azure:DEPLOYMENT",
        keys=("AZURE_OPENAI_API_KEY",),
        variable="AZURE_OPENAI_ENDPOINT",
        home=None,
        place="Azure",
        path="/openai/v1",
        enveloped=True,
        lent=True,
        prices="azure",
        traced="azure.ai.openai",
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
        prices="anthropic",
    ),
    _GOOGLE,
    replace(
        _GOOGLE,
        name="vertex",
        dialect="vertex_gemini",
        example="vertex:gemini-2.5-flash",
        keys=("GOOGLE_API_KEY",),
        variable="GOOGLE_VERTEX_BASE_URL",
        home=None,
        place="Google Cloud",
        lacking=google_cloud.lacking,
        traced="gcp.vertex_ai",
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
        place="AWS",
        enveloped=True,
        prices="aws",
        traced="aws.bedrock",
    ),
    _chat(
        "mistral",
        dialect="mistral_chat",
        example="mistral:mistral-small-latest",
        home="https://api.mistral.ai/v1",
        lent=True,
        prices="mistral",
        traced="mistral_ai",
    ),
    _chat(
        "openrouter",
        dialect="openrouter_chat",
        example="openrouter:openai/gpt-5-mini",
        home="https://openrouter.ai/api/v1",
        lent=True,
        prices="openrouter",
    ),
    _local("ollama", "http://127.0.0.1:11434/v1"),
    _local("vllm", "http://127.0.0.1:8000/v1"),
    _local("lmstudio", "http://127.0.0.1:1234/v1"),
    _local("llamacpp", "http://127.0.0.1:8080/v1"),
)
PROVIDERS: Mapping[str, Provider] = {row.name: row for row in _ROWS}
