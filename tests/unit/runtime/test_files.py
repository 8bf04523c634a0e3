"""What a spec names is read below its own folder or where the caller allows it, and bounded."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from hansard.errors import UsageError
from hansard.rules.spec_parts import Evidence
from hansard.runtime import files
from hansard.runtime.files import LIMITS, Files, folder_of, read_own, settled
from hansard.runtime.inputs import read_evidence
from hansard.verify.checks import MAX_DOCUMENTS
from playing import spec_of

SECRET = "hunter2-the-secret"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A spec's folder beside a secret, with links out of it, and the caller's keys."""
    spec, other, home = (tmp_path / name for name in ("spec", "other", "home"))
    for folder in (spec, spec / "in", spec / ".git", other, other / ".hidden", home / "keys"):
        folder.mkdir(parents=True)
    (spec / "memo.md").write_text("memo")
    (spec / "in" / "note.md").write_text("note")
    (spec / "a..b").write_text("dots")
    (spec / "..memo").write_text(SECRET)
    (spec / ".env").write_text(SECRET)
    (spec / ".git" / "config").write_text(SECRET)
    (other / "secret").write_text(SECRET)
    (other / ".hidden" / "secret").write_text(SECRET)
    (home / "keys" / "export.pem").write_text(SECRET)
    (spec / "link").symlink_to(other / "secret")
    (spec / "out").symlink_to(other)
    (spec / "twice").symlink_to(spec / "out")
    (spec / "inner").symlink_to("in")
    (spec / "seen").symlink_to(".env")
    (spec / "loop").symlink_to("loop")
    (spec / "dangling").symlink_to("nowhere")
    (spec / "keys").symlink_to(home / "keys")
    monkeypatch.setenv("HANSARD_HOME", str(home))
    return tmp_path


def refused(function, *args):
    with pytest.raises(UsageError) as caught:
        function(*args)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def read(place, name, *allowed):
    found = Files(settled(place / "spec"), tuple(map(settled, allowed)))
    return found.text(name, "document", "spec.unreadable")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("memo.md", "memo"),
        ("./in/../memo.md", "memo"),
        ("in/note.md", "note"),
        ("inner/note.md", "note"),
        ("../spec/memo.md", "memo"),
        ("a..b", "dots"),
    ],
)
def test_what_is_below_the_folder_is_read(place, name, text):
    assert read(place, name) == text
    assert read(place, str(place / "spec" / name)) == text


OUTSIDE = [
    "../other/secret",
    "in/../../other/secret",
    "link",
    "out/secret",
    "twice/secret",
    "in/../out/secret",
    ".env",
    "seen",
    "..memo",
    ".git/config",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_outside_or_hidden_is_not_read(place, name):
    error = refused(read, place, name)
    assert error.code == "spec.file_outside"
    assert str(error).startswith(f"{name} is hidden or outside the spec's folder")
    assert "--allow DIR" in str(error)


def test_an_absolute_path_outside_is_not_read(place):
    assert refused(read, place, str(place / "other" / "secret")).code == "spec.file_outside"
    assert refused(read, place, "/proc/self/environ").code == "spec.file_kind"


def test_a_folder_whose_name_begins_alike_is_outside(place):
    (place / "spec-too").mkdir()
    (place / "spec-too" / "secret").write_text(SECRET)
    assert refused(read, place, "../spec-too/secret").code == "spec.file_outside"


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_the_caller_allows_is_read(place, name):
    assert read(place, name, place / "other", place / "spec") == SECRET


def test_an_allowed_folder_may_be_a_link_and_opens_no_other(place):
    assert read(place, "../other/secret", place / "spec" / "out") == SECRET
    assert read(place, "../other/.hidden/secret", place / "other") == SECRET
    assert refused(read, place, ".env", place / "other").code == "spec.file_outside"


@pytest.mark.parametrize("name", ["../home/keys/export.pem", "keys/export.pem"])
def test_keys_are_never_read(place, name):
    for allowed in ((), (place,), (place / "home" / "keys",), (Path("/"),)):
        assert refused(read, place, name, *allowed).code == "spec.file_keys"
    own = place / "home" / "keys" / "export.pem"
    assert refused(read, place, own).code == "spec.file_keys"


def test_keys_are_never_read_however_their_folder_is_spelled(place, monkeypatch):
    """As where case does not matter: there a path has several spellings, and none is a link."""
    (place / "HOME").symlink_to(place / "home")
    monkeypatch.setattr(os.path, "realpath", lambda path, **_: os.path.abspath(path))  # noqa: PTH100
    assert refused(read, place, "../HOME/keys/export.pem", place).code == "spec.file_keys"


def test_keys_below_the_specs_own_folder_are_never_read(place, monkeypatch):
    monkeypatch.setenv("HANSARD_HOME", str(place / "spec" / "inner"))
    assert refused(read, place, "in/note.md").code == "spec.file_keys"


@pytest.mark.parametrize("name", ["keys", "keys/export.pem"])
def test_keys_that_a_link_in_their_folder_leads_to_are_never_read(place, name):
    """As where a tool keeps all that is set up on a machine, or keys, in a folder of its own."""
    kept = place / "spec" / "kept"
    (place / "home" / name).rename(kept)
    (place / "home" / name).symlink_to(kept)
    found = "kept/export.pem" if kept.is_dir() else "kept"
    assert refused(read, place, found).code == "spec.file_keys"
    assert refused(read, place, place / "spec" / found).code == "spec.file_keys"


def test_a_second_name_of_a_key_is_not_read(place):
    (place / "home" / "keys" / "another.pem").symlink_to("nowhere")
    (place / "spec" / "again.txt").hardlink_to(place / "home" / "keys" / "export.pem")
    assert refused(read, place, "again.txt").code == "spec.file_keys"


def test_a_path_from_python_is_the_callers_own(place, monkeypatch):
    assert read(place, place / "other" / "secret") == SECRET
    monkeypatch.chdir(place / "other")
    assert read(place, Path("secret")) == SECRET


def test_without_a_folder_a_name_leads_nowhere_unless_it_is_absolute_and_allowed(place):
    nowhere = Files(None, (place / "other",))
    assert refused(nowhere.text, "memo.md", "document", "x.y").code == "spec.file_outside"
    memo, secret = str(place / "spec" / "memo.md"), str(place / "other" / "secret")
    assert refused(nowhere.text, memo, "document", "x.y").code == "spec.file_outside"
    assert nowhere.text(secret, "document", "x.y") == SECRET


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "device"])
@pytest.mark.parametrize("own", [False, True], ids=["named", "own"])
def test_what_is_no_regular_file_is_neither_opened_nor_waited_for(place, kind, own):
    path = place / "spec" / "odd"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(path))
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    error = refused(read, place, path if own else "odd", Path("/dev"))
    assert error.code == "spec.file_kind"
    assert "not a regular file" in str(error)


@pytest.mark.parametrize("name", ["a\0b", "loop", "chain/0"])
def test_a_folder_that_leads_nowhere_opens_nothing(place, name):
    (place / "chain").mkdir()
    for number in range(2_000):  # more than Python can follow
        (place / "chain" / f"{number}").symlink_to(f"{number + 1}")
    with pytest.raises(UsageError):
        Files(settled(place / "spec" / name), (settled(place / name),)).text(
            "secret", "document", "spec.unreadable"
        )


@pytest.mark.parametrize("swapped", ["folder", "file"])
def test_a_link_put_there_after_the_look_is_not_followed(place, monkeypatch, swapped):
    look = Files._resolved

    def late(self, name):
        found = look(self, name)
        (place / "spec" / "in").rename(place / "spec" / "was")
        if swapped == "folder":
            (place / "spec" / "in").symlink_to(place / "other")
        else:
            (place / "spec" / "in").mkdir()
            (place / "spec" / "in" / "secret").symlink_to(place / "other" / "secret")
        return found

    (place / "spec" / "in" / "secret").write_text("harmless")
    monkeypatch.setattr(Files, "_resolved", late)
    assert refused(read, place, "in/secret").code in ("spec.unreadable", "spec.file_kind")


@pytest.mark.parametrize(
    ("kind", "code"), [("fifo", "spec.file_kind"), ("link", "spec.unreadable")]
)
def test_what_became_something_else_after_the_look_is_refused_at_once(
    place, monkeypatch, kind, code
):
    check, seen = files._check_kind, []
    memo = place / "spec" / "memo.md"

    def first(found, name):
        seen.append(found)
        if len(seen) == 1:
            memo.unlink()
            os.mkfifo(memo) if kind == "fifo" else memo.symlink_to(place / "other" / "secret")
        check(found, name)

    monkeypatch.setattr(files, "_check_kind", first)
    assert refused(read, place, "memo.md").code == code


def test_a_file_of_keys_that_was_put_there_after_the_look_is_not_read(place, monkeypatch):
    look, memo = Files._resolved, place / "spec" / "memo.md"

    def late(self, name):
        found = look(self, name)
        memo.unlink()
        memo.hardlink_to(place / "pass")
        return found

    (place / "pass").write_text(SECRET)
    monkeypatch.setenv("HANSARD_PASSPHRASE_FILE", str(place / "pass"))
    monkeypatch.setattr(Files, "_resolved", late)
    assert refused(read, place, "memo.md").code == "spec.file_keys"


UNREADABLE = {
    "missing": "b.md",
    "a link to nothing": "dangling",
    "a link to itself": "loop",
    "below a file": "memo.md/b.md",
    "a name too long": "x" * 300,
    "a name with NUL": "a\0b",
}


@pytest.mark.parametrize("how", UNREADABLE)
def test_a_file_that_cannot_be_read_is_named(place, how):
    assert refused(read, place, UNREADABLE[how]).code == "spec.unreadable"


@pytest.mark.parametrize("body", [b"caf\xe9", "café".encode("utf-16")])
def test_a_file_that_is_not_utf_8_is_named_and_not_quoted(place, body):
    (place / "spec" / "odd").write_bytes(body)
    assert str(refused(read, place, "odd")) == "odd is not UTF-8 text"


@pytest.mark.parametrize("kind", [kind for kind in LIMITS if kind != "export"])
def test_a_file_is_read_up_to_its_bound(place, kind):
    path = place / "spec" / "big"
    path.write_bytes(b"x" * LIMITS[kind])
    assert len(Files(place / "spec").read("big", kind, "x.y")) == LIMITS[kind]
    with path.open("ab") as file:
        file.write(b"x")
    error = refused(Files(place / "spec").read, "big", kind, "x.y")
    assert error.code == "spec.file_size"
    assert f"{LIMITS[kind]:,} bytes" in str(error)


def test_no_more_than_the_bound_is_read_of_a_file_of_any_size(place, monkeypatch):
    with (place / "spec" / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    got = []
    genuine = os.read

    def counted(file, count):
        got.append(len(found := genuine(file, count)))
        return found

    monkeypatch.setattr(os, "read", counted)
    assert refused(read, place, "sparse").code == "spec.file_size"
    assert sum(got) == LIMITS["document"] + 1


def documents(*texts):
    rows = [Evidence(id=f"d{n}", text=text) for n, text in enumerate(texts)]
    return spec_of("panel", evidence=rows)


def test_documents_have_a_bound_each_and_together():
    most = "é" * (LIMITS["document"] // 2)
    whole = documents(*[most] * (MAX_DOCUMENTS // LIMITS["document"]))
    assert read_evidence(whole, Files(None)) == whole
    one_more = whole.model_copy(update={"evidence": [*whole.evidence, Evidence(id="z", text="x")]})
    assert refused(read_evidence, one_more, Files(None)).code == "spec.file_size"
    assert refused(read_evidence, documents(most + "x"), Files(None)).code == "spec.file_size"


def test_documents_have_a_bound_together_as_prompts_show_them():
    text = "\x01" * (LIMITS["document"] - 1)
    assert read_evidence(documents(text, text), Files(None)).evidence
    error = refused(read_evidence, documents(text, text, text), Files(None))
    assert error.code == "spec.file_size"
    assert "as prompts show them" in str(error)


def test_a_document_that_grows_in_nfc_is_measured_as_it_is_recorded(place):
    (place / "spec" / "grows.md").write_text("\u0958" * (LIMITS["document"] // 6))
    spec = spec_of("panel", evidence=["grows.md"])
    assert read_evidence(spec, Files(place / "spec")).evidence[0].text
    (place / "spec" / "grows.md").write_text("\u0958" * (LIMITS["document"] // 6 + 1))
    assert refused(read_evidence, spec, Files(place / "spec")).code == "spec.file_size"


def test_the_spec_itself_may_come_through_a_pipe_and_then_has_no_folder(place):
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as file:
        file.write(b"question: q")
    with os.fdopen(reader, "rb"):
        path = Path(f"/dev/fd/{reader}")
        assert folder_of(path) is None
        assert read_own(path) == b"question: q"


def test_a_spec_file_has_the_folder_that_it_is_named_in(place):
    (place / "spec" / "spec.yaml").write_text("a: b")
    (place / "other" / "linked.yaml").symlink_to(place / "spec" / "spec.yaml")
    assert folder_of(place / "spec" / "spec.yaml") == place / "spec"
    assert folder_of(place / "other" / "linked.yaml") == place / "other"
    assert folder_of(Path("/proc/self/environ")) is None


@pytest.mark.parametrize("name", ["nowhere.yaml", "spec", "/dev/zero", "a\0b"])
def test_a_spec_that_cannot_be_read_is_refused(place, name):
    assert refused(read_own, place / name).code in ("spec.unreadable", "spec.file_size")


def test_where_nobody_can_tell_a_home_there_are_no_keys(place, monkeypatch):
    monkeypatch.delenv("HANSARD_HOME")

    def nowhere():
        raise RuntimeError

    monkeypatch.setattr(Path, "home", nowhere)
    assert read(place, "memo.md") == "memo"


def test_where_folders_cannot_be_walked_a_file_is_read_all_the_same(place, monkeypatch):
    monkeypatch.setattr(files, "_WALKS", False)
    assert read(place, "in/note.md") == "note"
    assert refused(read, place, "link").code == "spec.file_outside"
    assert refused(read, place, "in").code == "spec.file_kind"


@pytest.mark.parametrize("name", ["/proc/self/environ", "/sys/kernel/notes"])
def test_what_the_kernel_shows_is_no_file_whatever_is_allowed(place, name):
    if not Path(name).exists():
        pytest.skip("this system shows no such file")
    assert refused(read, place, name, Path("/")).code == "spec.file_kind"


@pytest.mark.parametrize(
    "variable",
    [
        "HANSARD_PASSPHRASE_FILE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_CONFIG_FILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        "PGPASSFILE",
        "PGSERVICEFILE",
        "PGSSLKEY",
        "OTEL_EXPORTER_OTLP_CLIENT_KEY",
        "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
        "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY",
        "AWS_CREDENTIAL_FILE",
        "BOTO_CONFIG",
        "ANTHROPIC_IDENTITY_TOKEN_FILE",
        "NETRC",
    ],
)
def test_a_file_of_keys_that_the_environment_names_belongs_to_them(place, monkeypatch, variable):
    (place / "spec" / "pass").write_text(SECRET)
    assert read(place, "pass") == SECRET
    monkeypatch.setenv(variable, str(place / "spec" / "pass"))
    error = refused(read, place, "pass")
    assert error.code == "spec.file_keys"
    assert f"belongs to your keys (by {variable})" in str(error)
    (place / "spec" / "other").hardlink_to(place / "spec" / "pass")
    assert refused(read, place, "other").code == "spec.file_keys"
    monkeypatch.setenv("HOME", str(place))
    for spelled in ("~/spec/pass", "$HOME/spec/pass"):
        monkeypatch.setenv(variable, spelled)
        assert refused(read, place, "pass").code == "spec.file_keys"
    monkeypatch.setenv(variable, "nowhere")
    assert read(place, "pass") == SECRET


@pytest.mark.parametrize(
    "variable", ["CLOUDSDK_CONFIG", "ANTHROPIC_CONFIG_DIR", "AWS_LOGIN_CACHE_DIRECTORY"]
)
def test_a_folder_of_keys_that_the_environment_names_belongs_to_them(place, monkeypatch, variable):
    (place / "spec" / "cloud" / "in").mkdir(parents=True)
    for name in ("cloud/default.json", "cloud/in/token"):
        (place / "spec" / name).write_text(SECRET)
    monkeypatch.setenv("HOME", str(place))
    for spelled in (str(place / "spec" / "cloud"), "~/spec/cloud"):
        monkeypatch.setenv(variable, spelled)
        for name in ("cloud/default.json", "cloud/in/token"):
            assert refused(read, place, name).code == "spec.file_keys"
    monkeypatch.setenv(variable, "nowhere")
    assert read(place, "cloud/default.json") == SECRET


def test_a_chain_of_links_longer_than_python_can_follow_is_refused(place):
    for number in range(2_000):
        (place / "spec" / f"l{number}").symlink_to(f"l{number + 1}")
    assert refused(read, place, "l0").code == "spec.unreadable"
