"""What is taken of a server, a file and a program, and by which words it fails. No answer of theirs gets into a
word."""

from __future__ import annotations

import datetime
import gzip
import ipaddress
import os
import ssl
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from stanch.app import organization_fetching
from stanch.app.organization_fetching import Fetched, from_address, from_file, from_program
from stanch.policy.organization import Trouble, Unfetched
from stanch.policy.organization_rules import MOST_BYTES
from tests.organization.served import RULES, Answer, Server, says, served, whole

ROWS = tuple(RULES)


def _fetched(answer: Answer, *, etag: str = "", seconds: float = 10.0, **given: Any) -> Fetched | None:
    with served(answer) as server:
        return from_address(server.url, seconds=seconds, **given)(etag)


def _trouble(answer: Answer, *, seconds: float = 10.0, **given: Any) -> tuple[Trouble, str]:
    with pytest.raises(Unfetched) as found:
        _fetched(answer, seconds=seconds, **given)
    assert "SERVERSAYS" not in f"{found.value} {found.value.detail} {found.value!r}"
    return found.value.trouble, found.value.detail


def test_rules_are_fetched_with_their_name() -> None:
    assert _fetched(says(whole({"rules": RULES}, ETag='"v1"'))) == Fetched(ROWS, '"v1"')
    assert _fetched(says(whole(RULES))) == Fetched(ROWS, "")


def test_what_is_known_is_asked_for_and_stays() -> None:
    with served(says(whole(b"", "304 Not Modified"))) as server:
        assert from_address(server.url)('"v1"') is None
        assert server.header("if-none-match") == ['"v1"']


def test_nothing_is_known_by_a_304_that_nobody_asked_for() -> None:
    assert _trouble(says(whole(b"", "304 Not Modified"))) == (Trouble.STATUS, "304")


@pytest.mark.parametrize("name", ["v1", 'W/"' + "x" * 400 + '"', '"a\tb"'])
def test_an_odd_name_is_not_said_again(name: str) -> None:
    found = _fetched(says(whole(RULES, ETag=name)))
    assert found is not None
    assert found.etag == ""


@pytest.mark.parametrize(
    "status", ["500 SERVERSAYS", "404 Not Found", "401 SERVERSAYS", "204 No Content", "206 Partial"]
)
def test_a_status_is_told_by_its_number_alone(status: str) -> None:
    assert _trouble(says(whole(b"SERVERSAYS", status))) == (Trouble.STATUS, status[:3])


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"<html>SERVERSAYS</html>", ""),
        (b"", ""),
        (b'{"verdict": "SERVERSAYS"}', ""),
        (b'{"rules": [{"tool": "a", "action": "SERVERSAYS"}]}', "(rule 1)"),
        (b'[{"tool": "a", "action": "deny"}, {"tool": "a", "action": "deny", "SERVERSAYS": 1}]', "(rule 2)"),
        (b'["SERVERSAYS', ""),
    ],
)
def test_what_is_no_set_of_rules_is_unreadable(body: bytes, detail: str) -> None:
    assert _trouble(says(whole(body))) == (Trouble.UNREADABLE, detail)


def test_no_server_is_refused() -> None:
    with served(says(b"")) as server:
        url = server.url
    with pytest.raises(Unfetched) as found:
        from_address(url)("")
    assert found.value.trouble is Trouble.REFUSED


def test_a_name_that_is_none_cannot_be_reached() -> None:
    with pytest.raises(Unfetched) as found:
        from_address("https://nowhere.invalid/rules")("")
    assert found.value.trouble is Trouble.UNREACHABLE


def _drip(head: bytes) -> Answer:
    """Begins an answer and then sends a byte now and again, each early enough that no single wait is too long."""

    def answer(server: Server, raw: bytes) -> Iterator[bytes]:
        yield head
        while not server.ended.wait(0.05):
            yield b"a"

    return answer


@pytest.mark.parametrize(
    "head",
    [b"", b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"],
    ids=["before anything", "headers", "body"],
)
def test_a_slow_server_is_left(head: bytes) -> None:
    assert _trouble(_drip(head), seconds=0.4)[0] in (Trouble.TIMED_OUT, Trouble.UNREADABLE)


def test_a_silent_server_is_left() -> None:
    def answer(server: Server, raw: bytes) -> Iterable[bytes]:
        server.ended.wait(30)
        return []

    assert _trouble(answer, seconds=0.3) == (Trouble.TIMED_OUT, "")


def test_an_endless_body_is_left() -> None:
    def answer(server: Server, raw: bytes) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        while not server.ended.is_set():
            yield b"10000\r\n" + b" " * 65536 + b"\r\n"

    assert _trouble(answer) == (Trouble.TOO_LARGE, "")


def test_a_body_that_breaks_off_is_none() -> None:
    text = b"[[rules]]\ntool = 'a'\naction = 'deny'\n"
    cut = b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\nConnection: close\r\n\r\n" + text
    assert _trouble(says(cut))[0] is Trouble.UNREADABLE
    cut = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(text), text)
    assert _trouble(says(cut))[0] is Trouble.UNREADABLE


def test_a_body_of_which_nobody_tells_the_length_is_none() -> None:
    bare = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n[[rules]]\ntool = 'a'\naction = 'deny'\n"
    assert _trouble(says(bare)) == (Trouble.UNREADABLE, "(its length is not told)")


def test_a_packed_body_is_not_unpacked() -> None:
    bomb = gzip.compress(b" " * (64 << 20))
    assert _trouble(says(whole(bomb, Content_Encoding="gzip"))) == (Trouble.PACKED, "")
    with served(says(whole(RULES))) as server:
        from_address(server.url)("")
        assert server.header("accept-encoding") == ["identity"]


@pytest.mark.parametrize(
    "location",
    [
        "http://example.com/rules",
        "https://example.com/rules",
        "//example.com/rules",
        "file:///etc/passwd",
        "http://127.0.0.1:1/rules",
        "/elsewhere",
        "https://user:SERVERSAYS@127.0.0.1/rules",
        "https://127.0.0.1:9/rules",
        "https://localhost/rules",
        "data:application/json,[]",
        "https://[oops",
        "",
    ],
)
def test_a_redirect_leads_nowhere_else(location: str) -> None:
    with served(says(whole(b"", "302 Found", Location=location))) as server:
        with pytest.raises(Unfetched) as found:
            from_address(server.url)("")
        assert str(found.value) == Trouble.REDIRECTED.value
        assert len(server.asked) == 1


def test_a_token_is_shown_and_one_that_is_missing_is_named() -> None:
    with served(says(whole(RULES))) as server:
        from_address(server.url, token_env="ORG", environment={"ORG": "tok"})("")
        assert server.header("authorization") == ["Bearer tok"]
    for held in ({}, {"ORG": ""}, {"ORG": "a\r\nX: y"}):
        assert _trouble(says(whole(RULES)), token_env="ORG", environment=held) == (Trouble.NO_TOKEN, "in ORG")


# --- TLS -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context, and one that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "rules")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "key").write_bytes(pem)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "cert", folder / "key")
    return server, ssl.create_default_context(cafile=str(folder / "cert"))


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    with served(says(whole(RULES)), tls=certificate[0]) as server, pytest.raises(Unfetched) as found:
        from_address(server.url)("")
    assert found.value.trouble is Trouble.UNVERIFIED


def test_a_redirect_of_the_same_server_is_followed(certificate: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    def answer(server: Server, raw: bytes) -> Iterable[bytes]:
        return [whole(b"", "308 Permanent Redirect", Location="/new") if b"GET /rules" in raw else whole(RULES)]

    with served(answer, tls=certificate[0]) as server:
        fetch = from_address(server.url, verify=certificate[1], token_env="ORG", environment={"ORG": "tok"})
        assert fetch("") == Fetched(ROWS, "")
        assert server.header("authorization") == ["Bearer tok"] * 2


def test_a_redirect_in_a_circle_ends(certificate: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    with served(says(whole(b"", "302 Found", Location="/rules")), tls=certificate[0]) as server:
        with pytest.raises(Unfetched) as found:
            from_address(server.url, verify=certificate[1])("")
        assert found.value.trouble is Trouble.REDIRECTED
        assert len(server.asked) < 10


# --- files and programs ----------------------------------------------------------------------------------------------


def _old(path: Path) -> None:
    os.utime(path, (1_000_000_000, 1_000_000_000))


def test_a_file_is_read_and_read_again_where_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text("[[rules]]\ntool = '@write'\naction = 'deny'\n")
    fetch = from_file(path)
    first = fetch("")
    assert first is not None
    assert len(first.rows) == 1
    path.write_text("rules = []\n")
    second = fetch(first.etag)
    assert second is not None
    assert second.rows == ()


def test_a_file_that_is_being_written_is_left_for_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rules.toml"
    path.write_text("[[rules]]\ntool = 'a'\naction = 'deny'\n")

    def opened_while_somebody_writes(name: str, flags: int) -> int:
        with path.open("a") as file:
            file.write("[[rules]]\ntool = 'b'\naction = 'deny'\n")
        return os.open(name, flags)

    with monkeypatch.context() as patched:
        patched.setattr(organization_fetching, "_without_waiting", opened_while_somebody_writes)
        with pytest.raises(Unfetched) as found:
            from_file(path)("")
    assert found.value.trouble is Trouble.FILE_UNREADABLE
    again = from_file(path)("")
    assert again is not None
    assert len(again.rows) == 2


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b" " * (MOST_BYTES + 1))
    (tmp_path / "half").write_text('{"rules": [')
    for name, trouble in (
        ("none", Trouble.NO_FILE),
        ("pipe", Trouble.FILE_UNREADABLE),
        (".", Trouble.FILE_UNREADABLE),
        ("large", Trouble.TOO_LARGE),
        ("half", Trouble.UNREADABLE),
    ):
        with pytest.raises(Unfetched) as found:
            from_file(tmp_path / name)("")
        assert found.value.trouble is trouble, name


def test_a_program_gives_rules_in_any_form() -> None:
    for given in (RULES, tuple(RULES), {"rules": RULES}, '{"rules": []}', b"[]", []):
        assert _given(given) is not None


def _given(given: object) -> Fetched | None:
    return from_program(lambda: given)("")


@pytest.mark.parametrize("given", [None, True, 5, {"rules": None}, [None], "no", [{"tool": "a"}], "\ud800"])
def test_a_program_that_gives_no_rules_gives_none(given: object) -> None:
    with pytest.raises(Unfetched) as found:
        from_program(lambda: given)("")
    assert found.value.trouble is Trouble.UNREADABLE


def test_a_program_that_throws_is_not_quoted() -> None:
    def provide() -> object:
        raise RuntimeError("SERVERSAYS")

    with pytest.raises(Unfetched) as found:
        from_program(provide)("")
    assert str(found.value) == Trouble.THREW.value


def test_nothing_is_left_running() -> None:
    before = {thread.name for thread in threading.enumerate()}
    _fetched(says(whole(RULES)))
    assert {t.name for t in threading.enumerate() if "stanch" in t.name} <= before
