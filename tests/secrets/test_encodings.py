"""Is a value found in the form that real encoders give it, and not in those that are said not to be looked for?"""

from __future__ import annotations

import base64
import codecs
import html
import json
import quopri
import shlex
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode
from xml.sax.saxutils import escape, quoteattr

import pytest

from stanch.secrets.encodings import FLOOR, encoded, forms
from stanch.secrets.known import forms_of
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret

VALUES = {
    "token": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "uuid": "0b2f1f0e-8d1c-4bfa-9a43-1f1e5a1c9b7d",
    "password": "p@ss/w\"o'rd <&>\\ $x!",
    "letters": "пароль-✓-é-😀",
    "lines": "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nw0BAQEFAASCBKcwg\n-----END KEY-----",
    "url": "postgres://user:p%40ss@db.example:5432/prod?x=1&y=2",
    "eight": "hunter2x",
}
LOOKED_FOR: dict[str, Callable[[str], str]] = {
    "itself": str,
    "json": json.dumps,
    "json with letters": lambda value: json.dumps(value, ensure_ascii=False),
    "json in json": lambda value: json.dumps(json.dumps({"k": value})),
    "json in json with letters": lambda value: json.dumps(json.dumps(value, ensure_ascii=False), ensure_ascii=False),
    "json of a browser's page": lambda value: json.dumps(value).replace("<", "\\u003c").replace("&", "\\u0026"),
    "json of php": lambda value: json.dumps(value).replace("/", "\\/"),
    "json, all units": lambda value: "".join(
        f"\\u{unit.hex()}" for letter in value for unit in _units(letter.encode("utf-16-be"))
    ),
    "quote": quote,
    "quote, all": lambda value: quote(value, safe=""),
    "quote, small": lambda value: quote(value, safe="").replace("%2F", "%2f").replace("%3C", "%3c"),
    "quote_plus": quote_plus,
    "urlencode": lambda value: urlencode({"k": value, "z": "1"}),
    "percent, every byte": lambda value: "".join(f"%{byte:02x}" for byte in value.encode()),
    "html": html.escape,
    "html without quotes": lambda value: html.escape(value, quote=False),
    "xml": escape,
    "xml attribute": quoteattr,
    "html, all numbers": lambda value: "".join(f"&#{ord(letter)};" for letter in value),
    "html, all hex": lambda value: "".join(f"&#x{ord(letter):X};" for letter in value),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 for urls": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "base64 behind one byte": lambda value: base64.b64encode(b"x" + value.encode()).decode(),
    "base64 behind two bytes": lambda value: base64.b64encode(b"x:" + value.encode() + b"\n").decode(),
    "base64 in lines": lambda value: base64.encodebytes(b"y" * 40 + value.encode() + b"z" * 99).decode(),
    "base64 in lines in json": lambda value: json.dumps(base64.encodebytes(b"y" * 41 + value.encode()).decode()),
    "base64 in indented lines": lambda value: (
        base64.encodebytes(b"y" * 42 + value.encode()).decode().replace("\n", "\n    ")
    ),
    "base64 in a url": lambda value: quote(base64.b64encode(value.encode()).decode(), safe=""),
    "hex": lambda value: value.encode().hex(),
    "large hex": lambda value: value.encode().hex().upper(),
    "hex in lines": lambda value: "\n".join(_parts((b"before" + value.encode()).hex(), 60)),
    "shell": shlex.quote,
    "shell, double quotes": lambda value: '"' + "".join(f"\\{x}" if x in '"$`\\' else x for x in value) + '"',
    "repr": repr,
    "other line breaks": lambda value: value.replace("\n", "\r\n"),
    "spaces for line breaks": lambda value: value.replace("\n", " "),
}
NOT_LOOKED_FOR: dict[str, Callable[[str], str]] = {
    "base32": lambda value: base64.b32encode(value.encode()).decode(),
    "reversal": lambda value: value[::-1],
    "capitals": str.upper,
    "rot13": lambda value: codecs.encode(value, "rot13"),
    "utf-16": lambda value: base64.b64encode(value.encode("utf-16-le")).decode(),
    "full width": lambda value: "".join(chr(ord(x) + 0xFEE0) if "!" <= x <= "~" else x for x in value),
    "pieces": " ".join,
    "quoted printable, broken": lambda value: quopri.encodestring(value.encode() * 2).decode()[5:20],
    "percent, twice": lambda value: "".join(f"%25{byte:02x}" for byte in value.encode()),
}


def _units(raw: bytes) -> list[bytes]:
    return [raw[at : at + 2] for at in range(0, len(raw), 2)]


def _parts(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.parametrize("way", LOOKED_FOR)
@pytest.mark.parametrize("kind", VALUES)
def test_a_value_is_found_as_encoders_write_it(kind: str, way: str) -> None:
    value = VALUES[kind]
    printed = LOOKED_FOR[way](value)
    projector = Projector({"KEY": Secret(value)})
    text = f"before {printed} behind"
    got = projector.text(text)
    assert projector.label("KEY") in got
    assert got.startswith("before ")
    assert got.endswith(" behind")
    # What is left besides the label: what was encoded along with it, quotes, and letters that hold parts of both.
    plain = projector.text(f"before {LOOKED_FOR[way]('')} behind")
    assert len(got) - len(plain) < len(printed) or len(printed) < 24
    for at in range(len(value) - FLOOR + 1):
        assert value[at : at + FLOOR] not in got


@pytest.mark.parametrize("way", NOT_LOOKED_FOR)
def test_what_is_not_looked_for_is_left_alone(way: str) -> None:
    value = VALUES["token"]
    projector = Projector({"KEY": Secret(value)})
    text = f"before {NOT_LOOKED_FOR[way](value)} behind"
    assert projector.text(text) is text


@pytest.mark.parametrize("value", [*VALUES.values(), "a" * 8, " " * 9, "\n" * 8, "{\n}\n{\n}\n", "x\ud800yyyyyyy"])
def test_no_form_is_shorter_than_the_floor_and_the_value_is_one(value: str) -> None:
    found = forms(value)
    assert min(map(len, found)) >= FLOOR
    assert encoded(value) in found


@pytest.mark.parametrize("value", ["a", "1234567", "é" * 7, "{\n}", "\n" * 7])
def test_a_short_value_has_no_forms(value: str) -> None:
    assert not forms(value)


def test_forms_are_made_once() -> None:
    secret = Secret(VALUES["lines"])
    assert forms_of(secret) is forms_of(secret)


def test_an_ordinary_token_has_few_forms() -> None:
    assert len(forms("ghp16C7e42F292c6912E7710c838347Ae178B4a")) <= 9
