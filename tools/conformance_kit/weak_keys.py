"""Public keys under which anybody can sign, with either sign bit (FORMAT.md §14, §18)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from conformance_kit.case import Case, bad, group, untrusted
from conformance_kit.debates import decided
from conformance_kit.exports import ORDER_OF_ED25519, commitment, export, scalar
from conformance_kit.people import review
from conformance_kit.records import EXPORT, STRANGER, derived
from conformance_kit.signatures import ORDER_8, trusting
from hansard.record.note import Signer, VerifierKey

P = 2**255 - 19
POSITIVE = int.from_bytes(bytes.fromhex(ORDER_8), "little")
SIGN = 1 << 255
WEAK = {  # by what it is: y, and the sign bit
    "order-1-and-the-sign": 1 | SIGN,
    "order-2": P - 1,
    "order-2-and-the-sign": P - 1 | SIGN,
    "order-4": 0,
    "order-4-and-the-sign": SIGN,
    "order-8-and-the-sign": POSITIVE | SIGN,
    "order-8-negative": P - POSITIVE,
    "order-8-negative-and-the-sign": P - POSITIVE | SIGN,
}


@dataclass(frozen=True)
class Anybody(Signer):
    """Signs with a weak key, for which nobody needs a private one.

    Eight times its point is the neutral one. So where 8 divides k, a signature without its part
    k·A verifies, by RFC 8032 or as some libraries read a sign bit that no point has.
    """

    public: bytes

    @property
    def key(self) -> VerifierKey:
        """The weak key."""
        return VerifierKey(self.name, self.public)

    def sign(self, message: bytes) -> bytes:
        """Return a signature that anybody can make."""
        for number in count(1):
            nonce = derived("anybody's nonce", number)
            point, hashed = commitment(nonce, self.public, message)
            if hashed % 8 == 0:
                break
        return point + (scalar(nonce) % ORDER_OF_ED25519).to_bytes(32, "little")


@group
def weak_cases() -> Iterator[Case]:
    """A weak key in a trust file, or of a review."""
    base = decided()
    for key, number in WEAK.items():
        public = number.to_bytes(32, "little")
        yield untrusted(
            f"trust-key-{key}",
            "The y of a public key is that of a point of small order: no sign bit mends it.",
            export(base),
            trusting(EXPORT.key, VerifierKey(EXPORT.name, public)),
        )
        yield bad(
            f"review-key-{key}",
            "19.signature",
            13,
            "Anybody could have made this signature: the key's y is that of a point of small "
            "order, and no sign bit mends it.",
            export(review(base, by=Anybody("eve", STRANGER.private, public))),
        )
