"""Whose is what persons and agents put into a conversation besides the results of calls?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stanch.tiers.tag_calls import Reader
from stanch.tiers.tags import UNKNOWN_CALL, UNKNOWN_PLACE, tag_messages
from stanch.values.message import File, Message, Opaque, Origin, Part, Result, Role, SourceTag, Text
from tests.tiers.tagging import CWD, called, canonical, cat, gave, said, shapes, tagged, tags_of
from tests.tiers.test_tags import names

KEY = SourceTag("/repo/secrets/k")
READ = called("Read", {"file_path": "secrets/k"})
PICTURE = File("image/png", "AAAA")
PAGES = Opaque("document", {"source": {"type": "text", "data": "KEY"}})


@pytest.mark.parametrize("part", [PICTURE, PAGES])
def test_a_picture_behind_a_result_is_of_what_was_read(part: Part) -> None:
    after = Message(Role.USER, (Text("Attached image(s) from tool result:"), part))
    assert tagged([READ, gave("read"), after])[2].parts[1].tags == (KEY,)
    beside = Message(Role.USER, (Result("c", (Text("read"),)), part))
    assert tagged([READ, beside])[1].parts[1].tags == (KEY,)
    between = said("I have processed the tool results.", role=Role.ASSISTANT)
    assert tagged([READ, gave("read"), between, after])[3].parts[1].tags == (KEY,)


def test_a_picture_that_comes_once_the_model_has_spoken_is_the_persons_own() -> None:
    after = Message(Role.USER, (PICTURE,))
    assert tagged([READ, gave("read"), said("done", role=Role.ASSISTANT), after])[3] is after
    other = called("view_image", {"path": "a.png"}, "d")
    assert tags_of(tagged([READ, gave("read"), other, gave("x", "d"), after])[4]) == (SourceTag("/repo/a.png"),)


OUTPUT = "<bash-stdout>KEY</bash-stdout><bash-stderr></bash-stderr>"
CODEX = (
    "<user_shell_command>\n<command>\n{}\n</command>\n<result>\nExit code: 0\nOutput:\nKEY\n</result>\n"
    "</user_shell_command>"
)


def test_what_a_person_had_a_shell_print_is_of_what_the_command_read() -> None:
    typed = "<bash-input>cat secrets/k</bash-input>"
    for messages in ([said(typed), said(OUTPUT), said("why?")], [said(typed, OUTPUT, "why?")]):
        parts = [part.tags for message in tagged(messages) for part in message.parts]
        assert parts == [(), (KEY,), ()]
    assert tags_of(tagged([said(CODEX.format("cat secrets/k"))])[0]) == (KEY,)
    assert tags_of(tagged([said(typed + OUTPUT)])[0]) == (KEY,)
    (tag,) = tags_of(tagged([said(CODEX.format("make"))])[0])
    assert (tag.name, tag.origin) == ("/repo", Origin.SUBTREE)
    # The shell stays where it went.
    moved = tagged([said("<bash-input>cd secrets</bash-input>"), called("Read", {"file_path": "k"}), gave("KEY")])
    assert "/repo/secrets/k" in names(tags_of(moved[2]))


def test_what_a_shell_printed_for_nobody_knows_what_is_of_unknown_origin() -> None:
    assert tags_of(tagged([said(OUTPUT)])[0]) == (UNKNOWN_CALL,)
    assert tags_of(tagged([said(f"it says {OUTPUT}")])[0]) == ()


def test_a_resource_that_a_person_attached_is_of_unknown_origin() -> None:
    wrapped = [
        f"<system-reminder>\n{text}\n</system-reminder>" for text in ("Full contents of resource:", "KEY", "bye")
    ]
    parts = tagged([said("look @docs:plan", *wrapped, "thanks")])[0].parts
    assert [part.tags for part in parts] == [(), (), (UNKNOWN_PLACE,), (), ()]
    assert tags_of(tagged([said("Full contents of resource:\n\nKEY")])[0]) == (UNKNOWN_PLACE,)


@pytest.mark.parametrize(
    "text",
    [
        '<file\n path="secrets/k">\nKEY\n</file>',
        '<document index="1">\n<source>secrets/k</source>\n<document_content>\nKEY\n</document_content>\n</document>',
        "<skill>\n<name>x</name>\n<path>/repo/secrets/k</path>\nKEY\n</skill>",
        "Base directory for this skill: /repo/secrets/k\n\nKEY",
    ],
)
def test_more_ways_to_attach_a_file(text: str) -> None:
    assert names(tags_of(tagged([said(text)])[0])) == ["/repo/secrets/k"]


def test_a_summary_that_is_wrapped_is_one() -> None:
    begins = "This session is being continued from a previous conversation that ran out of context. KEY"
    summary = said(f"<system-reminder>\n{begins}\n</system-reminder>")
    assert names(tags_of(tagged([READ, gave("KEY"), summary])[2])) == ["/repo/secrets/k"]


@pytest.mark.parametrize(
    "part",
    [
        File("image/*", url="file:///repo/secrets/k"),
        Opaque("video_url", {"type": "video_url", "video_url": {"url": "file:///repo/secrets/k"}}),
        Opaque("document", {"source": {"type": "other", "place": "FILE:///repo/secrets/k"}}),
    ],
)
def test_an_address_on_this_machine_is_of_its_file(part: File | Opaque) -> None:
    assert tagged([Message(Role.USER, (part,))])[0].parts[0].tags == (KEY,)
    result = Message(Role.TOOL, (Result("c", (part,)),))
    assert tags_of(tagged([called("Read", {"file_path": "a"}), result])[1]) == (SourceTag("/repo/a"), KEY)
    web = Message(Role.USER, (File("image/*", url="https://x.org/secrets/k"),))
    assert tagged([web])[0] is web


@pytest.mark.parametrize("key", ["call_id", "tool_use_id", "tool_call_id"])
def test_a_block_of_an_unknown_kind_is_of_the_call_that_it_names(key: str) -> None:
    block = Message(Role.USER, (Opaque("result_of_next_month", {key: "c", "output": "KEY"}),))
    assert tags_of(tagged([READ, said("hm", role=Role.ASSISTANT), block])[2]) == (KEY,)
    assert tagged([block])[0] is block


def test_a_command_that_an_undescribed_tool_was_given_is_read() -> None:
    def of(command: str, cwd: str | None = CWD) -> list[tuple[str, Origin]]:
        ran = tagged([called("execute_command", {"command": command}), gave("KEY")], cwd)
        return [(tag.name, tag.origin) for tag in tags_of(ran[1])]

    assert of("make show") == [("/repo", Origin.SUBTREE)]
    assert of("cat k") == [("/repo/k", Origin.PATH)]
    assert [origin for _, origin in of("make show", None)] == [Origin.UNKNOWN]
    assert of("view") == []


@pytest.mark.parametrize("path", ["@secrets/k", " secrets/k", "secrets\\k", "file:///repo/secrets/k", "./secrets\\k\n"])
def test_a_path_that_a_tool_may_forgive_is_also_what_is_meant(path: str) -> None:
    assert KEY in tags_of(tagged([called("Read", {"file_path": path}), gave("KEY")])[1])


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ({"output_mode": "content", "-n": True}, "1:def x()"),
        ({"output_mode": "content"}, "def x()"),
        ({}, "Found 1 file\nsrc/a.py"),
        ({"output_mode": "count"}, "src/a.py:1"),
    ],
)
def test_a_search_in_one_file_is_of_that_file_alone(given: dict[str, Any], result: str) -> None:
    searched = [called("Grep", {"pattern": "x", "path": "src/a.py", **given}), gave(result)]
    there = tag_messages(
        searched, shapes=shapes(), cwd=CWD, canonical=canonical, command_paths=cat, is_file="/repo/src/a.py".__eq__
    )
    assert {replace(tag, span=None) for tag in tags_of(there[1])} == {SourceTag("/repo/src/a.py")}
    reader = Reader({}, shapes(), canonical, cat, "/repo/src/a.py".__eq__)
    (folder,) = reader.tags("src", [CWD], Origin.SUBTREE)
    assert (folder.origin, folder.all_below) == (Origin.SUBTREE, False)
