"""The register of a store: one list over all its debates, and what others can check of it.

Each debate opened, each head after its close, each gate answered and each policy used has a
line, written in the transaction of what it is about. A checkpoint is the hash over all lines so
far, signed by your log key. Whoever keeps one can see later that nothing before it was dropped,
changed or put in another order.

>>> from tempfile import TemporaryDirectory
>>> from hansard import open_keyring, open_store, read_register, run_sync, sign_checkpoint
>>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
>>> ask = {"ask": lambda request: "Because."}
>>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
...     _ = run_sync(spec, models=ask, store=store)
...     kept = sign_checkpoint(store, open_keyring(home).signer("log"))
...     _ = run_sync(spec, models=ask, store=store)
...     found = read_register(store)
...     held = verify_register(store, since=kept)
>>> found.kinds, held.ok, held.since
({'opened': 2, 'head': 2}, True, 2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.api.records import Record
    from hansard.governance.registrar import TakenIn
    from hansard.governance.witness import Cosigned
    from hansard.record.checkpoint import Checkpoint
    from hansard.record.keys import Trust
    from hansard.record.note import Signer
    from hansard.record.policy import Policy
    from hansard.report.registered import RegisterCheck, Registered
    from hansard.store.application import Store
    from hansard.store.registering import Row

    # A key, or what gives it: asked for only where something is to be signed.
    Key = Signer | Callable[[], Signer]


def read_register(store: Store, trust: Trust | None = None) -> Registered:
    """Return what is in the register of a store: lines by kind, checkpoints, who cosigned.

    `trust` names the witnesses that count. Nothing is compared; `verify_register` does that.
    Raises DataError `store.*`, `register.damaged`, `register.line` or `checkpoint.malformed`.

    >>> from hansard import open_store
    >>> with open_store("sqlite:///:memory:") as store:
    ...     read_register(store).lines
    0
    """
    from hansard.record.keys import Trust
    from hansard.report.registered import show

    with store.register.at_once() as log:
        return show(log, trust or Trust())


def sign_checkpoint(store: Store, signer: Key) -> bytes:
    """Return the checkpoint over all lines, signed by your log key, and keep it in the store.

    It is a C2SP checkpoint: a text of three lines and a signature. Give it to somebody
    outside. The lines of those who signed it before, as an earlier log key and witnesses, stay.
    The register takes its name from the first key that signs. Raises UsageError `register.key`
    for one of another name; ForkError `register.fork` where it was signed with other lines under
    it; DataError `register.damaged` or `register.line` where the lines since it was last signed
    are not those of its hashes, and `checkpoint.full` where it has no room for one more signature.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import open_keyring, open_store
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     note = sign_checkpoint(store, open_keyring(home).signer("log"))
    >>> note.splitlines()[1]
    b'0'
    """
    from hansard.governance.registrar import sign

    return sign(store.register, _key(signer)).data


def prove(
    store: Store, record: Record, signer: Key, *, under: Path | str | bytes | None = None
) -> Record:
    """Return a record of the store with the proofs of its place in the register.

    Its exports and pages then carry them: that its opening and its last entry are in the
    register, under a signed checkpoint. The head of an open debate is registered first. The
    checkpoint is `under`, such as one that the recipient kept; or else the one that most
    witnesses cosigned, or the newest that is signed and late enough. Where there is none,
    one is signed now: `signer` is the log key, or what returns it, which is called only then.

    Raises DataError `record.altered`, `register.damaged` where the lines and hashes of the
    register prove nothing; UsageError `register.moved` where somebody added to the debate since
    it was read, `register.late` where `under` is older than the last entry, and what
    `sign_checkpoint` and `prove_since` raise.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import open_keyring, open_store, read_record, run_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     debate = run_sync(spec, models={"ask": lambda _: "Because."}, store=store).debate
    ...     key = open_keyring(home).signer("log")
    ...     record = prove(store, read_record(store, debate), key)
    >>> sorted(record.bundle.proofs)
    ['head', 'opened']
    """
    from hansard.governance.registrar import prove

    record.verification.require_ok(f"debate {record.debate[:8]}")
    known = None if under is None else read_checkpoint(under)
    proofs = prove(store.register, record.debate, record.head, _key(signer), known)
    return replace(record, bundle=replace(record.bundle, proofs=proofs._asdict()))


def prove_since(store: Store, since: Path | str | bytes, signer: Key) -> bytes:
    """Return the latest checkpoint with the proof that it extends `since`, an earlier one.

    A witness needs it to cosign (`cosign`). It has the form of a request to a C2SP witness:
    `old` and the earlier size, the hashes of the consistency proof, an empty line, the
    checkpoint. Raises UsageError `input.unreadable`, `register.other` for the checkpoint of
    another store, `register.rewound` where the store has fewer lines; ForkError
    `register.fork` where it has others; DataError `checkpoint.malformed`.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import open_keyring, open_store, run_sync
    >>> spec = {"format": "panel", "question": "Why?", "agents": 2, "model": "python:ask"}
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     key = open_keyring(home).signer("log")
    ...     old = sign_checkpoint(store, key)
    ...     _ = run_sync(spec, models={"ask": lambda _: "Because."}, store=store)
    ...     prove_since(store, old, key).splitlines()[0]
    b'old 0'
    """
    from hansard.governance.registrar import extend

    return extend(store.register, read_checkpoint(since), _key(signer))


def verify_register(
    store: Store, since: Path | str | bytes | None = None, trust: Trust | None = None
) -> RegisterCheck:
    """Compare the register of a store with its hashes, its debates, and what somebody kept.

    `since` is a checkpoint that was kept outside: the register must begin with the lines
    under it. Without it a store that was put back from a backup looks sound. `trust` says
    which log keys are known. What is wrong is in `findings`. Raises UsageError
    `input.unreadable`, DataError `checkpoint.malformed`, or `checkpoint.forged` where
    `since` is not what a known key signed.

    >>> from hansard import open_store
    >>> with open_store("sqlite:///:memory:") as store:
    ...     verify_register(store).findings
    ()
    """
    from hansard.record.keys import Trust
    from hansard.report.registered import check

    kept = None if since is None else read_checkpoint(since)
    with store.register.at_once() as log:
        return check(log, trust or Trust(), kept)


def cosign(
    checkpoint: Path | str | bytes,
    signer: Key,
    trust: Trust,
    folder: Path | str | None = None,
) -> Cosigned:
    """Cosign a checkpoint as a witness, unless it does not extend the last one you cosigned.

    `checkpoint` is one, or what `prove_since` returned: a later one must come with the proof.
    `trust` has the log key of whoever keeps the register. The last checkpoint of each
    register is kept in `folder`, by default `witness` in HANSARD_HOME. `signer` is your
    witness key, or what returns it, which is called only where all else is right. `note` of
    what is returned is the checkpoint with your line; its owner takes that in with
    `add_cosigned`.

    Raises ForkError `checkpoint.fork`, whose `notes` are both checkpoints; UsageError
    `checkpoint.older` or `checkpoint.unproven`; DataError `checkpoint.malformed`,
    `checkpoint.forged`, `checkpoint.untrusted` or `checkpoint.full`. Nothing is signed then.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import open_keyring, open_store
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     keys = open_keyring(home)
    ...     note = sign_checkpoint(store, keys.signer("log"))
    ...     seen = cosign(note, keys.signer("witness"), keys.trust(), home)
    >>> seen.before is None
    True
    """
    from hansard.governance.keyring import Keyring
    from hansard.governance.witness import MAX_REQUEST, Witness
    from hansard.runtime.clock import Clock

    place = Keyring.default_folder() / "witness" if folder is None else Path(folder)
    data = _bytes(checkpoint, MAX_REQUEST)
    return Witness(place).cosign(data, _key(signer), trust, Clock().now())


def add_cosigned(store: Store, checkpoint: Path | str | bytes, trust: Trust) -> TakenIn:
    """Keep the signatures that witnesses added to a checkpoint that was signed in this store.

    Only those of witnesses in `trust` that are right are kept, one of each witness. `new` is
    how many were not there yet, `ignored` how many lines were left out. Raises what
    `prove_since` raises; UsageError `register.unsigned` for a checkpoint that was not signed in
    this store, `register.witness` where no witness that you trust cosigned it; and DataError
    `checkpoint.forged` where the signature of a key that you know is wrong, or `checkpoint.full`.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import open_keyring, open_store
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     keys = open_keyring(home)
    ...     note = sign_checkpoint(store, keys.signer("log"))
    ...     seen = cosign(note, keys.signer("witness"), keys.trust(), home)
    ...     add_cosigned(store, seen.note, keys.trust())
    TakenIn(new=1, ignored=0)
    """
    from hansard.governance.registrar import take_in

    return take_in(store.register, read_checkpoint(checkpoint), trust)


def add_to_register(
    store: Store, *, trust: Trust | None = None, policies: Iterable[Policy] = ()
) -> int:
    """Add to a register what no debate brings into it; return how much was not there yet.

    Of `trust`, a line for each key, for each that is revoked, and for each policy that has a
    line and is revoked; and a line for each of `policies`. Do so when you approve or revoke
    something: a line shows that it was so before the lines after it. A policy that a debate is
    opened under has its line already. Raises DataError `store.*` and `register.damaged`.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import open_keyring, open_store
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     keys = open_keyring(home)
    ...     _ = keys.signer("approval")
    ...     add_to_register(store, trust=keys.trust()), read_register(store).kinds
    (1, {'key_approved': 1})
    """
    from hansard.store.registering import Row

    rows = [Row("policy_approved", policy.hash, policy.hash) for policy in policies]
    added = store.register.add([*rows, *_of_keys(trust)])
    revoked = [row.sha256 for row in trust.policies] if trust else []
    known = filter(store.register.of, revoked)  # a policy has other hashes, too (FORMAT.md §14)
    return added + store.register.add([Row("policy_revoked", name, name) for name in known])


def _of_keys(trust: Trust | None) -> Iterable[Row]:
    """Yield what a trust file says of keys, as lines."""
    from hansard.record.register import key_hash
    from hansard.store.registering import Row

    for row in trust.keys if trust else ():
        name = key_hash(row.key)
        yield Row("key_approved", name, name)
        if row.revoked is not None:
            yield Row("key_revoked", name, name)


def read_checkpoint(checkpoint: Path | str | bytes) -> Checkpoint:
    """Return a checkpoint, from its file or its bytes, whoever signed it.

    Raises UsageError `input.unreadable` and DataError `checkpoint.malformed`.

    >>> from tempfile import TemporaryDirectory
    >>> from hansard import open_keyring, open_store
    >>> with TemporaryDirectory() as home, open_store("sqlite:///:memory:") as store:
    ...     read_checkpoint(sign_checkpoint(store, open_keyring(home).signer("log"))).head.size
    0
    """
    from hansard.record import checkpoint as checkpoints

    return checkpoints.parse(_bytes(checkpoint, checkpoints.MAX_CHECKPOINT))


def _bytes(source: Path | str | bytes, most: int) -> bytes:
    from hansard.api.files import read_file

    return source if isinstance(source, bytes) else read_file(Path(source), most)


def _key(signer: Key) -> Callable[[], Signer]:
    return signer if callable(signer) else lambda: signer
