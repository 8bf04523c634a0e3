"""Heads of responses have a bound, whatever a server sends, and honest ones are read."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from hansard.runtime.models import bodies, client, heads
from hansard.runtime.models.base import ModelError
from hansard.runtime.models.providers import open_model
from instant import GUARD
from services.asking import asked
from services.block_dialects import SHAPES

CHAT = SHAPES["chat"]
HOST = "model.example"
TEXT = '{"vote": "yes"}'
TUNNEL = b"HTTP/1.1 200 OK\r\n\r\n"  # as a proxy says that it has connected
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")  # in either case


class Telling:
    """A server that writes for each request the pieces of the next answer.

    A tunnel through it, as through a proxy, ends in itself, under TLS.
    """

    def __init__(self, *answers, tunnel=TUNNEL, tls=None, is_direct=False):
        self.tunnels = 0
        self.connections = []
        self._answers = iter(answers)
        self._tunnel = tunnel
        self._tls = tls
        self._is_direct = is_direct

    @property
    def url(self):
        return f"{self.root}/v1"

    async def open(self):
        tls = self._tls if self._is_direct else None
        server = await asyncio.start_server(self._serve, "127.0.0.1", ssl=tls)
        port = server.sockets[0].getsockname()[1]
        self.proxy = f"http://127.0.0.1:{port}"
        self.root = f"https://127.0.0.1:{port}" if self._is_direct else self.proxy
        return server

    async def _serve(self, reader, writer):
        self.connections.append(asyncio.current_task())
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"CONNECT "):
                    self.tunnels += 1
                    writer.write(self._tunnel)
                    await writer.start_tls(self._tls)
                    continue
                length = re.search(rb"(?i)\r\ncontent-length: *([0-9]+)", head)
                await reader.readexactly(int(length[1]))
                for piece in next(self._answers):
                    writer.write(piece)
                    await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client let go of it
        finally:
            writer.close()


@pytest.fixture
def tell(monkeypatch):
    """Ask a model behind such a server so many times; return what came of it."""
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)

    def run(server, times=1, shape=CHAT, through=None):
        async def go():
            async with asyncio.timeout(GUARD), await server.open():
                for name, value in shape.variables(server).items():
                    monkeypatch.setenv(name, value)
                if through is not None:
                    monkeypatch.setenv("ALL_PROXY", server.proxy)
                    monkeypatch.setenv("OPENAI_BASE_URL", f"{through}://{HOST}/v1")
                model: Any = open_model(shape.model)
                try:
                    return [await model.complete(asked(max_tokens=90)) for _ in range(times)]
                finally:
                    await model.aclose()
                    await asyncio.gather(*server.connections)

        return asyncio.run(go())

    return run


def answer(*lines, shape=CHAT, before=b""):
    """An honest response with these lines in its head, and so much before its body."""
    body = before + json.dumps(shape.said(TEXT)).encode()
    own = (b"content-type: application/json", b"content-length: %d" % len(body))
    return b"\r\n".join([b"HTTP/1.1 200 OK", *own, *lines, b"", body])


def lines(count, size=0):
    return [b"x-%d: %b" % (number, b"a" * size) for number in range(count)]


def hint(*lines):
    return b"\r\n".join([b"HTTP/1.1 103 Early Hints", *lines, b"", b""])


# As any client would read them, each is followed by an honest response: its own, or another.
TOO_LARGE = {
    "1xx without end": lambda shape: b"HTTP/1.1 100 x\r\n\r\n" * 20_000 + answer(shape=shape),
    "many short lines": lambda shape: answer(*[b"ab:"] * 15_000, shape=shape),
    "many lines that go on": lambda shape: answer(b"ab: c", *[b" "] * 15_000, shape=shape),
    "1xx of many short lines": lambda shape: hint(*[b"ab:"] * 15_000) + answer(shape=shape),
    "1xx of few lines, often": lambda shape: hint(*lines(50)) * 20 + answer(shape=shape),
    "one long line": lambda shape: answer(*lines(1, 60_000), shape=shape),
    "1xx of one long line": lambda shape: hint(*lines(1, 60_000)) + answer(shape=shape),
    "a few long lines": lambda shape: answer(*lines(90, 600), shape=shape),
    "a long status": lambda shape: (
        b"HTTP/1.1 100 %b\r\n\r\n" % (b"x" * 60_000) + answer(shape=shape)
    ),
}


@pytest.mark.parametrize("head", TOO_LARGE)
@pytest.mark.parametrize("name", SHAPES)
def test_heads_beyond_their_bound_are_no_response(tell, name, head):
    shape = SHAPES[name]
    server = Telling([TOO_LARGE[head](shape)])
    with pytest.raises(ModelError) as caught:
        tell(server, shape=shape)
    assert (caught.value.kind, caught.value.detail) == ("server_error", "too-large")
    assert (caught.value.wire.status, caught.value.wire.sent_as_rendered) == (None, True)
    assert len(server.connections) == 1


HONEST = [hint(*lines(20)), hint(*lines(3)), answer(*lines(100))]


def cut(size):
    whole = b"".join(HONEST)
    return [whole[at : at + size] for at in range(0, len(whole), size)]


@pytest.mark.parametrize("pieces", [HONEST, cut(1), cut(7), cut(1_000), cut(100_000)])
def test_an_honest_head_is_read_in_whatever_pieces_it_comes(tell, pieces):
    (done,) = tell(Telling(pieces))
    assert (done.text, done.status) == (TEXT, 200)


def test_calls_on_one_connection_have_each_their_own_bound(tell):
    pieces = [answer(*lines(300, 60))]  # twice as much would be too long in either way
    server = Telling(pieces, pieces, pieces)
    assert [row.text for row in tell(server, times=3)] == [TEXT] * 3
    assert len(server.connections) == 1


@pytest.mark.parametrize("blank", [b"\n", b"\r\n" * 5])
def test_a_body_that_comes_with_its_head_is_not_counted(tell, blank):
    """Some servers write blank lines while a model thinks, and a proxy may keep them together."""
    whole = answer(before=blank * 30_000)
    (done,) = tell(Telling([whole]))
    assert done.text == TEXT


@pytest.mark.parametrize("size", [0, 100])
def test_a_head_may_have_all_of_its_bound_and_no_piece_more(tell, monkeypatch, size):
    """Only the piece that ends a head may pass the bound."""
    head = answer(*lines(200, size)).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    monkeypatch.setattr(bodies, "MAX_HEAD" if size else "MAX_LINES", len(head) if size else 204)
    assert tell(Telling([answer(*lines(200, size))]))[0].text == TEXT
    last = b"x: %b" % (b"a" * heads.PIECE)
    with pytest.raises(ModelError, match="too-large"):
        tell(Telling([answer(*lines(202, size), last)]))


def test_what_a_call_given_up_still_reads_is_nothing():
    held = bodies.Held()
    held.check_heads()
    held.release()
    with pytest.raises(bodies.TooLarge):
        held.check_heads()


# Proxies and TLS


@pytest.fixture
def tls(tmp_path, monkeypatch):
    """What a server of HOST and of this machine needs, whom every client trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now, day = datetime.now(UTC), timedelta(days=1)
    names = [x509.DNSName(HOST), x509.IPAddress(IPv4Address("127.0.0.1"))]
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - day).not_valid_after(now + day)
    certificate = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    pem = tmp_path / "server.pem"
    pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    trusting = ssl.create_default_context(cafile=pem)
    monkeypatch.setattr(client, "_trusted", lambda: trusting)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem)
    return context


WAYS = {"TLS": (True, None), "a proxy": (False, "http"), "a tunnel": (False, "https")}


@pytest.mark.parametrize("way", WAYS)
def test_an_honest_head_is_read_in_whatever_way_it_comes(tell, tls, way):
    is_direct, through = WAYS[way]
    server = Telling(HONEST, HONEST, tls=tls, is_direct=is_direct)
    done = tell(server, times=2, through=through)
    assert [row.text for row in done] == [TEXT] * 2
    assert (len(server.connections), server.tunnels) == (1, way == "a tunnel")


@pytest.mark.parametrize("head", ["1xx without end", "many short lines", "one long line"])
@pytest.mark.parametrize("way", WAYS)
def test_heads_have_their_bound_in_whatever_way_they_come(tell, tls, way, head):
    is_direct, through = WAYS[way]
    server = Telling([TOO_LARGE[head](CHAT)], tls=tls, is_direct=is_direct)
    with pytest.raises(ModelError, match=r"server_error \(too-large\)"):
        tell(server, through=through)
    assert (len(server.connections), server.tunnels) == (1, way == "a tunnel")


def test_what_a_proxy_says_counts_as_well(tell, tls):
    tunnel = b"\r\n".join([b"HTTP/1.1 200 OK", *lines(9_000), b"", b""])
    with pytest.raises(ModelError, match=r"server_error \(too-large\)"):
        tell(Telling(HONEST, tls=tls, tunnel=tunnel), through="https")
