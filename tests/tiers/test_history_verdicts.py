"""Which tags are closed, told by a tier that is a function; and spans that do not fit the text that they are of."""

from __future__ import annotations

from typing import cast

import pytest

from stanch.tiers.history import redact_history
from stanch.tiers.history_verdicts import Read, Verdicts
from stanch.values.decision import Effect
from stanch.values.message import File, Message, Opaque, Origin, Result, Role, SourceTag, Text

LINE = '[Content from /hr filtered — trust tier "T" does not have read access]'


def denies_hr(name: str, origin: Origin) -> Effect:
    return Effect.DENY if (name, origin) == ("/hr", Origin.PATH) or origin is Origin.UNKNOWN else Effect.ALLOW


def asks(name: str, origin: Origin) -> Effect:
    return Effect.ASK


def of(tags: tuple[SourceTag, ...], text: str = "words", role: Role = Role.USER) -> Message:
    return Message(role, (Text(text, tags),))


def copy(message: Message, read: Read = denies_hr, answers: tuple[str, ...] = ()) -> Message:
    return redact_history([message], read, "T", answers=answers).messages[0]


@pytest.mark.parametrize("span", [None, (0, 5)])
def test_an_item_is_not_the_path_that_is_called_like_it(span: tuple[int, int] | None) -> None:
    """Also where the path was looked up before."""
    verdicts = Verdicts(denies_hr, "T", frozenset())
    assert verdicts.denied([SourceTag("/hr", span=span)]) == ["/hr"]
    assert verdicts.denied([SourceTag("/hr", Origin.ITEM, span)]) == []
    messages = [of((SourceTag("/hr"),)), of((SourceTag("/hr", Origin.ITEM, span),))]
    done = redact_history(messages, denies_hr, "T").messages
    assert done[0] is not messages[0]
    assert done[1] is messages[1]


@pytest.mark.parametrize("span", [(0, 6), (4, 2), (-1, 3), (9, 12)])
@pytest.mark.parametrize("role", Role)
def test_a_span_that_does_not_fit_is_as_none(span: tuple[int, int], role: Role) -> None:
    message = of((SourceTag("/hr", span=span), SourceTag("/app", span=(0, 2))), role=role)
    assert copy(message).parts == (Text(LINE),)
    result = Message(role, (Result("c", (Text("words"),), tags=message.parts[0].tags),))
    assert copy(result).parts == (Result("c", (Text(LINE),)),)


def test_an_ask_passes_by_the_name_that_was_answered_alone() -> None:
    message = of((SourceTag("/app"),))
    assert copy(message, asks) is not message
    assert copy(message, asks, ("/ap",)) is not message
    assert copy(message, asks, ("/app",)) is message


def test_an_answer_for_a_subtree_is_for_all_that_it_names() -> None:
    message = of((SourceTag("/app", Origin.SUBTREE, below=("/app/a", "/app/b"), all_below=False),))
    assert copy(message, asks, ("/app/a",)) is not message
    assert copy(message, asks, ("/app",)) is message
    denied = of((SourceTag("/app", Origin.SUBTREE, below=("/hr",)),))
    assert copy(denied, denies_hr, ("/app", "/hr")) is not denied


def test_what_is_no_effect_closes() -> None:
    message = of((SourceTag("/app"),))
    for nonsense in (None, True, "allow", 1):

        def read(name: str, origin: Origin, said: object = nonsense) -> Effect:
            return cast(Effect, said)

        assert copy(message, read, ("/app",)) is not message


def test_names_that_are_written_alike_are_one_line() -> None:
    def closed(name: str, origin: Origin) -> Effect:
        return Effect.DENY

    done = copy(of((SourceTag("/a\n"), SourceTag("/a\\n"), SourceTag("/a\n"))), closed)
    assert done.parts == (Text('[Content from /a\\n filtered — trust tier "T" does not have read access]'),)


def test_a_text_file_is_withheld_as_its_text() -> None:
    """A quote of a file that came as base64 is found."""
    import base64

    words = "the pay of everybody in the house is written down here"
    data = base64.b64encode(words.encode()).decode()
    said = Message(Role.ASSISTANT, (Text(f"so {words}"),))
    for part in (File("text/csv", data, tags=(SourceTag("/hr"),)), Opaque("doc", {"a": [words]}, (SourceTag("/hr"),))):
        done = redact_history([Message(Role.USER, (part,)), said], denies_hr, "T").messages
        assert done[0].parts == (Text(LINE),)
        assert done[1].parts == (Text(f"so \n{LINE}"),)


def test_no_text_twice_of_an_original_is_folded() -> None:
    """Neighbours that are the same object, and nobody's placeholder, stay two."""
    same = Text("again")
    message = Message(Role.USER, (same, same, Text("words", (SourceTag("/hr"),))))
    assert copy(message).parts == (same, same, Text(LINE))
    result = Message(Role.TOOL, (Result("c", (same, same, File("a/b", "x", tags=(SourceTag("/hr"),)))),))
    assert copy(result).parts == (Result("c", (same, same, Text(LINE))),)
