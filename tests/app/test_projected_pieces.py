"""What leaves this process, where a value is where nobody expects one: between two parts, in a name, in a key."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from stanch.app.projected_messages import message_projected
from stanch.app.projecting import UNOPENED, WITHHELD, Projecting
from stanch.app.vault import Vault
from stanch.secrets.budget import Cause, Withheld
from stanch.secrets.projection import Projector
from stanch.secrets.sealing import Key, KeyRing
from stanch.secrets.text import Secret
from stanch.storage.store import Store
from stanch.values.message import Call, File, Fragment, Message, Opaque, Part, Result, Role, Text
from stanch.values.records import Actor

VALUE = "marker-of-the-value/4711"
DATA = base64.b64encode(b"xx " + VALUE.encode()).decode()
GONE = "[a file was withheld: it holds {{KEY}}]"
PROJECTOR = Projector({"KEY": Secret(VALUE), "NUMBER": Secret("12345678")})


def projected(*parts: Part) -> tuple[Part, ...]:
    message = message_projected(Message(Role.USER, parts), PROJECTOR)
    assert message_projected(message, PROJECTOR) is message, "twice changes nothing"
    return message.parts


def test_a_value_that_reaches_from_one_text_into_the_next_is_replaced() -> None:
    between = Call("c", "t", {})
    assert projected(Text(f"a {VALUE[:9]}"), Text(VALUE[9:12]), Text(f"{VALUE[12:]} b"), between, Text("c")) == (
        Text("a {{KEY}} b"),
        between,
        Text("c"),
    )
    apart = Text(VALUE[:9]), between, Text(VALUE[9:])
    assert projected(*apart) == apart, "they are not read as one"
    texts = Text("a"), Text("b", extra={"cache_control": {"type": "ephemeral"}})
    assert all(new is old for new, old in zip(projected(*texts), texts, strict=True))


class OnlyShort:
    """A projector that cannot look through more than ten letters."""

    def __init__(self, cause: Cause) -> None:
        self.cause = cause

    def text(self, text: str) -> str:
        if len(text) > 10:
            raise Withheld(self.cause)
        return text


def test_texts_that_cannot_be_looked_through_together_are_withheld() -> None:
    message, large, broken = Message(Role.USER, (Text("a" * 8), Text("b" * 8))), Cause.TOO_LARGE, Cause.ENGINE_FAILED
    projector: Any = OnlyShort(large)
    (made,) = message_projected(message, projector).parts
    assert isinstance(made, Text)
    assert made.text.startswith("[content withheld")
    failing: Any = OnlyShort(broken)
    with pytest.raises(Withheld):
        message_projected(message, failing)


@pytest.mark.parametrize(
    ("part", "wanted"),
    [
        (Call(VALUE, VALUE, {}), Call("{{KEY}}", "{{KEY}}", {})),
        (Result(VALUE, (Text("a"),), VALUE), Result("{{KEY}}", (Text("a"),), "{{KEY}}")),
        (Fragment("a", VALUE), Fragment("a", "{{KEY}}")),
        (Opaque(VALUE, {"a": 1}), Opaque("{{KEY}}", {"a": 1})),
        (File(VALUE, "iVBO"), Text(GONE)),
    ],
)
def test_names_are_looked_through_too(part: Part, wanted: Part) -> None:
    assert projected(part) == (wanted,)


@pytest.mark.parametrize(
    "part",
    [
        File("image/svg+xml", url=f"data:image/svg+xml;charset=utf-8;base64,{DATA}"),
        File("image/svg+xml", url=f"DATA:image/svg+xml;base64,{DATA}"),
        Opaque("input_video", {"type": "input_video", "data": DATA}),
        Opaque("image", {"type": "image", "data": DATA}),
        Opaque("image_generation_call", {"result": DATA}),
    ],
)
def test_what_is_a_file_is_withheld_whole(part: Part) -> None:
    assert projected(part) == (Text(GONE),)
    assert projected(Opaque("image", {"data": "iVBO"})) == (Opaque("image", {"data": "iVBO"}),)


def test_what_is_too_deep_is_withheld() -> None:
    deep: dict[str, Any] = {"a": VALUE}
    for _ in range(5_000):
        deep = {"a": deep}
    (made,) = projected(Opaque("odd", deep))
    assert isinstance(made, Text)
    assert made.text.startswith("[content withheld")


def test_what_is_told_in_place_of_what_cannot_be_looked_through_holds_no_value(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/s.db")
    store.migrate()
    vault = Vault(store, KeyRing([Key(b"k" * 32)]))
    vault.set("KEY", Secret(VALUE), by=Actor("ada", "test"))
    value: Any = {VALUE: 1, "{{KEY}}": [2, 12345678, 1.5, None, True, VALUE.encode()], "session_id": VALUE, 12345678: 3}
    told = Projecting(Vault(store, None)).told(value)
    assert told == {UNOPENED: 3, "session_id": UNOPENED}
    projecting = Projecting(vault)
    for whole in (value, {VALUE: {"count": 2}, "{{KEY}}": 1, "a": [2, 12345678, 1.5, None, True, VALUE.encode()]}):
        told = projecting.told(whole)
        assert VALUE not in repr(told)
        assert "12345678" not in repr(told)
        assert WITHHELD in told
    assert told["a"] == [2, WITHHELD, 1.5, None, True, WITHHELD]
    deep: Any = {1}
    for _ in range(5_000):
        deep = {"a": deep}
    words, deeper = projecting.told([VALUE, deep])
    assert (words, type(deeper)) == (WITHHELD, dict)
    store.close()
