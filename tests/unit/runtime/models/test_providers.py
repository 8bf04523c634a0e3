"""Which key goes to which address, and what is missing here."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from contextlib import suppress
from itertools import chain, product

import pytest

from hansard.errors import UsageError
from hansard.installing import install_command
from hansard.rules.model_names import PROVIDERS as KNOWN
from hansard.rules.model_names import key_variable
from hansard.runtime.models import providers
from hansard.runtime.models.provider_rows import PROVIDERS
from hansard.runtime.models.providers import (
    find_server,
    open_model,
    survey,
)
from instant import GUARD

HOME = "https://api.openai.com/v1"
MINE = "https://gateway.example/mine/v1"
ENVIRON = {
    "OPENAI_API_KEY": "sk-own",
    "OPENAI_BASE_URL": MINE,
    "HANSARD_KEY_LLM_EXAMPLE": "sk-named",
    "HANSARD_KEY_LLM_EXAMPLE_8443": "sk-port",
}
BY_KEY = [name for name, row in PROVIDERS.items() if row.keys]


def server(base_url=None, name="openai", **environ):
    return find_server(PROVIDERS[name], base_url, environ or ENVIRON)


def test_every_provider_that_a_spec_may_name_can_be_opened():
    offline = {"scripted", "recorded", "python", "custom"}
    assert set(PROVIDERS) == set(KNOWN) - offline
    assert all(row.example.startswith(f"{name}:") for name, row in PROVIDERS.items())


@pytest.mark.parametrize(
    ("base_url", "key", "plain"),
    [
        (None, "sk-own", False),
        (HOME, "sk-own", False),
        (HOME + "/", "sk-own", False),
        ("https://API.openai.com:443/v1", "sk-own", False),
        (MINE, "sk-own", False),
        # on the same host, another path may be another customer's
        ("https://gateway.example/other/v1", None, True),
        ("https://gateway.example/mine/../other/v1", None, True),
        ("http://gateway.example/mine/v1", None, True),
        ("http://api.openai.com/v1", None, True),
        ("https://api.openai.com:8443/v1", None, True),
        ("https://api.openai.com.evil.example/v1", None, True),
        ("https://llm.example/v1", "sk-named", True),
        ("https://LLM.example/any", "sk-named", True),
        ("https://llm.example:8443", "sk-port", True),
        ("https://llm.example:8444", None, True),
        ("https://llm-example/v1", None, True),
    ],
)
def test_a_key_goes_to_its_own_address_and_nowhere_else(base_url, key, plain):
    found = server(base_url)
    assert (found.key, found.plain) == (key, plain)
    assert found.base_url == (base_url or MINE)
    assert "sk-" not in repr(found)


def test_where_nothing_is_said_the_provider_itself_is_asked():
    assert server(OPENAI_API_KEY="k").base_url == HOME
    assert server(OPENAI_API_KEY="k").key == "k"
    assert server(name="ollama", PATH="").base_url == "http://127.0.0.1:11434/v1"
    assert server(name="ollama", OLLAMA_BASE_URL=MINE).base_url == MINE


def test_no_provider_is_given_the_key_of_another():
    every = {key: f"key of {name}" for name, row in PROVIDERS.items() for key in row.keys}
    for name, row in PROVIDERS.items():
        found = find_server(row, None, every)
        assert found.key in {every[key] for key in row.keys} | {None}, name
        assert find_server(row, "https://evil.example/v1", every).key is None


def test_a_server_of_ones_own_is_sent_nothing_from_the_environment():
    assert server(name="vllm").plain
    assert not server().plain


@pytest.mark.parametrize("name", BY_KEY)
def test_without_a_key_a_vendor_is_not_asked(name):
    row = PROVIDERS[name]
    if not row.needs_key:
        assert find_server(row, None, {}).key is None
        return
    for base_url in (None, row.home):
        with pytest.raises(UsageError) as caught:
            open_model(f"{name}:m", base_url, {})
        assert caught.value.code == "model.no_key"
        assert row.keys[0] in str(caught.value)


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_package_and_a_key_that_are_missing_are_told_in_one_sentence(name, monkeypatch, tmp_path):
    monkeypatch.setattr(providers, "find_spec", lambda _: None)
    row, environ = PROVIDERS[name], {"CLOUDSDK_CONFIG": str(tmp_path)}
    with pytest.raises(UsageError) as caught:
        open_model(row.example, None, environ)
    error = caught.value
    assert (error.code, error.others) == ("model.missing_extra", ())
    assert error.sentence.startswith(f"{row.example} needs ")
    assert error.sentence.endswith(f"a package that is not installed: {install_command(row.extra)}")
    (status,) = [each for each in survey(environ) if each.name == name]
    assert all(each in error.sentence for each in status.missing)


def test_what_is_told_where_only_one_of_both_is_missing(monkeypatch):
    with pytest.raises(UsageError) as caught:
        open_model("openai:m", None, {})
    said = "openai:m needs OPENAI_API_KEY (or OPENAI_BASE_URL for a server of yours)"
    assert (caught.value.code, caught.value.sentence) == ("model.no_key", said)
    monkeypatch.setattr(providers, "find_spec", lambda _: None)
    with pytest.raises(UsageError) as caught:
        open_model("openai:m", None, ENVIRON)
    said = f"openai:m needs a package that is not installed: {install_command('openai')}"
    assert (caught.value.code, caught.value.sentence) == ("model.missing_extra", said)


@pytest.mark.parametrize("model", ["openai:", "openai", "nobody:m", "", ":m"])
def test_a_model_of_no_provider(model):
    with pytest.raises(UsageError) as caught:
        open_model(model, None, ENVIRON)
    assert caught.value.code == "model.unknown"


@pytest.mark.parametrize("name", ["..", "../x", "a/../../b", "a/.", "./a"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_models_name_does_not_walk_in_an_address(provider, name):
    with pytest.raises(UsageError) as caught:
        open_model(f"{provider}:{name}", None, {})
    assert caught.value.code == "model.unknown"


@pytest.mark.parametrize(
    "url",
    ["http://a:0/v1", "http://a:x/v1", "http://a:99999", "http://a b/", "http://é.example/",
     "http://a/v1#x", "http://a/v1?k=1", "http:\\\\a", "http://a\n.example", "ftp://a", "a.example",
     "http:///v1", "http://[::1", "http://u:p@a/v1", "http://[fe80::1%25eth0]/",
     "http://[::1]8000/v1", "http://a[::1]/v1"],
)  # fmt: skip
def test_a_seat_names_no_address_that_is_none(url):
    with pytest.raises(UsageError) as caught:
        server(url)
    assert caught.value.code == "model.base_url"
    assert url not in str(caught.value)


def test_no_key_goes_to_another_port_that_only_clients_see():
    """`urlsplit` sees no port there, and so the place of ones own; a client asks port 8000."""
    held = {"OPENAI_API_KEY": "sk-own", "OPENAI_BASE_URL": "http://[::1]/v1"}
    with pytest.raises(UsageError) as caught:
        find_server(PROVIDERS["openai"], "http://[::1]8000/v1", held)
    assert caught.value.code == "model.base_url"


@pytest.mark.parametrize("url", ["http://localhost:1", "https://[::1]:8000/v1", "http://my_llm/v1"])
def test_a_seat_names_an_address(url):
    assert server(url).base_url == url


# What is missing


def test_what_is_missing_here(monkeypatch):
    monkeypatch.setattr(providers, "find_spec", lambda name: None if name == "boto3" else object())
    rows = {row.name: row for row in survey({"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "g"})}
    assert set(rows) == set(PROVIDERS)
    assert (rows["openai"].usable, rows["openai"].missing) == (True, ())
    assert rows["google"].usable
    assert rows["ollama"].usable
    assert (rows["anthropic"].usable, rows["anthropic"].missing) == (False, ("ANTHROPIC_API_KEY",))
    assert rows["bedrock"].missing == (install_command("bedrock"),)


def test_a_package_whose_parent_is_missing_is_missing(monkeypatch):
    def find(name):
        if "." in name:
            raise ModuleNotFoundError(name)
        return object()

    monkeypatch.setattr(providers, "find_spec", find)
    (row,) = [row for row in survey({"GOOGLE_API_KEY": "g"}) if row.name == "google"]
    assert row.missing == (install_command("google"),)


def test_a_setting_that_cannot_work_is_missing_and_not_quoted():
    environ = {"OPENAI_API_KEY": "é-secret", "VLLM_BASE_URL": "localhost-secret"}
    rows = {row.name: row for row in survey(environ)}
    for name, variable in (("openai", "OPENAI_API_KEY"), ("vllm", "VLLM_BASE_URL")):
        assert not rows[name].usable
        assert variable in rows[name].missing[0]
        assert "secret" not in str(rows[name])


def test_with_an_address_of_ones_own_no_key_is_missing():
    (row,) = [row for row in survey({"OPENAI_BASE_URL": MINE}) if row.name == "openai"]
    assert row.usable


def test_nothing_of_the_vendors_is_imported_to_look():
    vendors = "{'pydantic_ai', 'openai', 'anthropic', 'google.genai', 'boto3', 'httpx2'}"
    code = (
        "import sys; from hansard.runtime.models.providers import survey; survey();"
        f"print({vendors} & {{*sys.modules}})"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=GUARD
    )
    assert run.stdout.strip() == "set()"


@pytest.mark.parametrize(
    "url",
    [
        "http://llm.example/v1",  # in the clear
        "https://llm_example/v1",  # another host whose variable has the same name
        "https://llm..example/v1",
        "https://.llm.example/v1",
    ],
)
def test_no_key_goes_to_a_server_that_is_not_safe_or_not_fully_named(url):
    held = dict.fromkeys(("HANSARD_KEY_LLM_EXAMPLE", key_variable(url)), "sk-named")
    try:
        server = find_server(PROVIDERS["openai"], url, held)
    except UsageError as error:
        assert error.code == "model.base_url"  # noqa: PT017
    else:
        assert server.key is None


def test_no_two_hosts_share_a_key():
    """All short addresses of these characters, among them `a.1` and `a:1`, `1--1` and `1.-.1`."""
    keyed = defaultdict(set)
    for length in range(1, 6):
        for host in map("".join, product("a1.-:", repeat=length)):
            names = [host, f"[{host}]"] if ":" in host else [host]
            for url in (f"https://{name}" for name in names):
                with suppress(UsageError, ValueError):  # it is no address
                    name = key_variable(url)
                    if find_server(PROVIDERS["openai"], url, {name: "sk-named"}).key:
                        keyed[name].add(url.rstrip(":"))
    assert {"https://a.a", "https://a-a:1", "https://[a::1]"} <= {*chain(*keyed.values())}
    assert [urls for urls in keyed.values() if len(urls) > 1] == []


def test_a_key_named_for_a_server_goes_to_it():
    held = {"HANSARD_KEY_LLM_EXAMPLE": "sk-named", "HANSARD_KEY_LOCALHOST_8000": "sk-own"}
    held |= {"HANSARD_KEY_10_0_0_7": "sk-v4", "HANSARD_KEY____1__8000": "sk-v6"}
    for url, key in (
        ("https://llm.example/v1", "sk-named"),
        ("http://localhost:8000", "sk-own"),
        ("https://10.0.0.7/v1", "sk-v4"),
        ("http://[::1]:8000", "sk-v6"),
    ):
        assert find_server(PROVIDERS["openai"], url, held).key == key


def test_without_a_home_nothing_is_found_there(monkeypatch):
    """As in a container, whose user may be a number that no password file has."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    (row,) = (row for row in survey({"GOOGLE_CLOUD_PROJECT": "so"}) if row.name == "vertex")
    assert row.missing[-1] == "gcloud auth application-default login"
