"""Are a model's own words in a summary told apart from what another wrote there, and from nothing else?"""

from __future__ import annotations

from dataclasses import replace

from stanch.app.proxy_own_words import LONGEST, MOST_ANSWERS, OwnWords, own, summaries
from stanch.values.message import Message, Origin, Part, Role, SourceTag, Text

OPENING = "This session is being continued from a previous conversation that ran out of context. Summary:\n"
TAG = SourceTag("earlier messages that are not here", Origin.UNKNOWN)


def message(*parts: Part, role: Role = Role.USER) -> Message:
    return Message(role, parts)


def kept(message: Message) -> str:
    """What of the one part of a message is of no file."""
    (part,) = message.parts
    assert isinstance(part, Text)
    spans = {tag.span for tag in part.tags}
    if None in spans:
        return ""
    closed = {at for span in spans if span is not None for at in range(*span)}
    return "".join(one for at, one in enumerate(part.text) if at not in closed)


def test_the_very_words_are_their_models_own_and_all_around_them_is_not() -> None:
    summary = message(Text(f"{OPENING}They looked.\n\nIt began with mark-1.", tags=(TAG,)))
    assert summaries([message(Text("hi")), summary]) == (1,)
    assert kept(own(summary, ["They looked."])) == "They looked."
    for words in ([], ["They looked at it."], [OPENING.upper()]):
        assert own(summary, words) is summary


def test_nothing_but_a_summary_is_anybodys_own() -> None:
    file = message(Text("Contents of /a/b:\n\nThey looked.", tags=(TAG,)))
    split = message(Text(f"{OPENING}They looked.", tags=(replace(TAG, span=(0, 4)),)))
    assert summaries([file, split, message(Text(OPENING))]) == ()
    assert own(file, ["They looked."]) is file
    assert own(split, ["They looked."]) is split


def test_answers_are_kept_by_session_and_making_and_no_more_than_a_few() -> None:
    said = OwnWords[str]()
    said.note("one", "<analysis>I think.</analysis>\n<summary>\nThey looked.\n</summary>", "small")
    said.note("one", "All of it", "large")
    said.note("one", "  \n", "small")
    said.note("one", "x" * (LONGEST + 1), "small")
    assert said.of("one", lambda made: made == "small") == ("They looked.",)
    assert said.of("two", lambda _: True) == ()
    for number in range(MOST_ANSWERS):
        said.note("one", f"answer {number}", "small")
    assert len(said.of("one", lambda _: True)) == MOST_ANSWERS
    assert "They looked." not in said.of("one", lambda _: True)
