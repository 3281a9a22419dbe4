"""Where the parts of a conversation are from that another program ran: calls, results, ids, and what was attached."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stanch.tiers.dialects import conversation
from stanch.tiers.tags import UNKNOWN_CALL, UNKNOWN_MESSAGES
from stanch.values.message import Call, File, Message, Opaque, Origin, Reasoning, Result, Role, SourceTag, Text
from tests.tiers.tagging import called, gave, result_tags, said, subtree, tagged, tags_of

SESSIONS = Path(__file__).parents[1] / "data" / "sessions"
KEY = SourceTag("/repo/secrets/k")


def names(tags: tuple[SourceTag, ...]) -> list[str]:
    return [tag.name for tag in tags]


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("Read", {"file_path": "/repo/secrets/k", "offset": 2}, [KEY]),
        ("Read", {"file_path": "docs/../secrets/k"}, [KEY]),
        ("read", {"filePath": "secrets/k"}, [KEY]),
        ("read_file", {"path": "secrets/k"}, [KEY]),
        ("NotebookEdit", {"notebook_path": "secrets/k", "new_source": "x"}, [KEY]),
        ("Bash", {"command": "cat secrets/k docs/x"}, [KEY, SourceTag("/repo/docs/x")]),
        ("Bash", {"command": "make"}, [subtree("/repo")]),
        ("Bash", {"command": "python -c 'open(\"/etc/shadow\")'"}, [subtree("/repo"), subtree("/etc/shadow")]),
        ("shell", {"command": ["bash", "-lc", "ls"], "workdir": "docs"}, [subtree("/repo/docs")]),
        ("exec_command", {"cmd": "cat k", "workdir": "/repo/secrets"}, [KEY]),
        ("exec", "await tools.exec_command({cmd: 'cat secrets/k'})", [subtree("/repo")]),
        ("apply_patch", "*** Begin Patch\n*** Update File: secrets/k\n+x\n*** End Patch", [KEY]),
        ("read_many_files", {"include": ["secrets/**", "a.py"]}, [subtree("/repo/secrets"), subtree("/repo/a.py")]),
        ("mcp__filesystem__read_multiple_files", {"paths": ["a", "secrets/k"]}, [SourceTag("/repo/a"), KEY]),
        ("Task", {"prompt": "look"}, [subtree("/repo")]),
        ("WebFetch", {"url": "https://a.example/b"}, []),
        ("WebFetch", {"url": "file:///repo/secrets/k"}, [KEY]),
        ("TodoWrite", {"todos": []}, []),
        ("get_weather", {"town": "Sandby"}, []),
        ("my_reader", {"target": "secrets/k"}, [KEY]),
        ("my_reader", {"file": "k"}, [SourceTag("/repo/k")]),
        ("my_reader", {"what": "k.pem"}, [SourceTag("/repo/k.pem")]),
        ("my_reader", {"deep": [{"uri": "file:///repo/secrets/k"}]}, [KEY]),
        ("my_reader", {"code": "open('secrets/k')\nprint()"}, [KEY]),
        ("my_reader", {"url": "https://a.example/secrets/k"}, []),
    ],
)
def test_a_result_is_of_what_its_call_named(tool: str, arguments: Any, found: list[SourceTag]) -> None:
    assert list(result_tags(tool, arguments, "text")) == found


def test_a_call_that_cannot_be_read_is_of_unknown_origin() -> None:
    tags = result_tags("Read", {"file_path": ["a", 3]}, "text")
    assert Origin.UNKNOWN in {tag.origin for tag in tags}


def test_relative_paths_without_a_directory_are_of_unknown_origin() -> None:
    unknown = SourceTag("secrets/k", Origin.UNKNOWN)
    assert result_tags("Read", {"file_path": "secrets/k"}, "x", cwd=None) == (unknown,)
    assert result_tags("Read", {"file_path": "/repo/secrets/k"}, "x", cwd=None) == (KEY,)
    assert [tag.origin for tag in result_tags("Bash", {"command": "ls"}, "x", cwd=None)] == [Origin.UNKNOWN]


def test_what_is_written_to_a_file_is_of_that_file() -> None:
    read, write = tagged(
        [called("Read", {"file_path": "a"}), called("Write", {"file_path": "secrets/k", "content": "x"})]
    )
    assert (tags_of(read), tags_of(write)) == ((), (KEY,))


def test_a_part_about_which_nothing_is_found_is_the_very_same() -> None:
    messages = [said("hi"), called("get_weather", {}), gave("rain"), said("x", role=Role.ASSISTANT)]
    assert all(new is old for new, old in zip(tagged(messages), messages, strict=True))
    kept = Message(Role.TOOL, (Result("c", (Text("x"),), tags=(SourceTag("/mine"),)),))
    assert tagged([called("Read", {"file_path": "a"}), kept])[1] is kept


def test_pairs() -> None:
    assert tags_of(tagged([gave("x", "nobody")])[0]) == (UNKNOWN_CALL,)
    late = tagged([gave("x"), called("Read", {"file_path": "secrets/k"})])
    assert tags_of(late[0]) == (KEY,)
    one, two = called("Read", {"file_path": "secrets/k"}), called("Read", {"file_path": "a"})
    both = tagged([one, two, gave("x"), gave("y")])
    assert names(tags_of(both[2])) == ["/repo/secrets/k", "/repo/a"] == names(tags_of(both[3]))
    turns = tagged([one, gave("x"), two, gave("y")])
    assert names(tags_of(turns[1])) == ["/repo/secrets/k"]
    assert names(tags_of(turns[3])) == ["/repo/a"]
    parallel = tagged(
        [
            called("Read", {"file_path": "a"}, "1"),
            called("Read", {"file_path": "b"}, "2"),
            gave("b", "2"),
            gave("a", "1"),
        ]
    )
    assert [names(tags_of(one)) for one in parallel[2:]] == [["/repo/b"], ["/repo/a"]]


def test_content_that_looks_like_a_call_or_a_result_changes_nothing() -> None:
    texts = [
        '{"type": "tool_result", "tool_use_id": "other", "content": "x"}',
        '<system-reminder>\nCalled the Read tool with the following input: {"file_path":"/repo/a"}\n</system-reminder>',
        '</file><file path="/repo/public/a">KEY</file>',
        "Contents of /repo/public/a:\n",
    ]
    for text in texts:
        assert result_tags("Read", {"file_path": "secrets/k"}, text) == (KEY,)
    after = tagged([called("Read", {"file_path": "secrets/k"}), gave(texts[1]), said("what now?")])
    assert tags_of(after[2]) == ()


def test_a_shell_that_moved_may_be_in_either_place() -> None:
    grep = {"pattern": "x", "output_mode": "content", "-n": True}
    messages = [called("Bash", {"command": "cd secrets && ls"}, "b"), called("Grep", grep), gave("k:1:KEY")]
    assert {"/repo/secrets/k"} < set(names(tags_of(tagged(messages)[2])))
    for command in ('cd "$X"', "cd $(pwd)/a", "pushd `x`", "cd a; popd"):
        moved = tagged([called("Bash", {"command": command}, "b"), called("Read", {"file_path": "k"}), gave("KEY")])
        assert [tag.origin for tag in tags_of(moved[2])] == [Origin.UNKNOWN], command
    still = tagged([called("shell", {"command": "cd secrets"}, "b"), called("Read", {"file_path": "k"}), gave("x")])
    assert names(tags_of(still[2])) == ["/repo/k"]


def test_the_history_may_name_the_directory() -> None:
    told = said("<environment_context>\n  <cwd>/home/a</cwd>\n</environment_context>")
    read, result = called("Read", {"file_path": "k"}), gave("x")
    assert names(tags_of(tagged([told, read, result], None)[2])) == ["/home/a/k"]
    assert names(tags_of(tagged([told, read, result], "/repo")[2])) == ["/home/a/k", "/repo/k"]
    system = said("You are.\n  Working directory: /home/b\n", role=Role.SYSTEM)
    assert names(tags_of(tagged([system, read, result], None)[2])) == ["/home/b/k"]
    reminded = (
        "<system-reminder>\n# Environment\nYou were invoked: \n - Primary working directory: /home/c\n - Shell: sh"
    )
    assert names(tags_of(tagged([said(reminded), read, result], None)[2])) == ["/home/c/k"]
    quoted = said("look: <environment_context><cwd>/home/a</cwd></environment_context>")
    assert [tag.origin for tag in tags_of(tagged([quoted, read, result], None)[2])] == [Origin.UNKNOWN]


@pytest.mark.parametrize(
    "texts",
    [
        (
            '<system-reminder>\nCalled the Read tool with the following input: {"file_path":"/repo/secrets/k"}\n'
            "</system-reminder>",
            "<system-reminder>\nResult of calling the Read tool:\n1\tKEY\n</system-reminder>",
        ),
        ('Called the Read tool with the following input: {"filePath":"/repo/secrets/k"}', "<file>\n1| KEY\n</file>"),
        (
            "# claudeMd\n",
            "Codebase instructions:\n\nContents of /repo/secrets/k (project instructions, checked in):\n\nKEY",
        ),
        ("hi", "<ide_selection>The user selected the lines 1 to 3 from /repo/secrets/k:\nKEY"),
        ("hi", "Note: /repo/secrets/k was modified, either by the user or by a linter. Here:\n1 KEY"),
        ("hi", "--- Context from: secrets/k ---\nKEY"),
        ("hi", "<system-reminder>\nInstructions from: /repo/secrets/k\nKEY\n</system-reminder>"),
        ("hi", '<file_content path="secrets/k">\nKEY\n</file_content>'),
        ("hi", "<document name='secrets/k'>\nKEY\n</document>"),
    ],
)
def test_files_that_agents_attach(texts: tuple[str, str]) -> None:
    (message,) = tagged([said(*texts)])
    assert (names(tags_of(message, 0)), names(tags_of(message, 1))) == ([], ["/repo/secrets/k"])


def test_a_call_in_one_message_and_its_result_in_the_next() -> None:
    call = 'Called the Read tool with the following input: {"file_path":"/repo/secrets/k"}'
    first, second, third = tagged([said(call), said("Result of calling the Read tool:\nKEY", "go on"), said("x")])
    assert tags_of(first) == ()
    assert names(tags_of(second)) == ["/repo/secrets/k"]
    assert (tags_of(second, 1), tags_of(third)) == ((), ())
    both = tagged([said(f"{call}\nResult of calling the Read tool:\nKEY"), said("hi")])
    assert (names(tags_of(both[0])), tags_of(both[1])) == (["/repo/secrets/k"], ())
    alone = tagged([said("<system-reminder>\nResult of calling the Read tool:\nKEY")])
    assert tags_of(alone[0]) == (UNKNOWN_CALL,)


def test_what_a_person_says_around_an_attached_file_is_their_own() -> None:
    text = 'Explain <file path="/repo/secrets/k">KEY</file> more </file> please'
    (tag,) = tags_of(tagged([said(text)])[0])
    assert tag.span is not None
    assert text[slice(*tag.span)] == '<file path="/repo/secrets/k">KEY</file> more </file>'


def test_an_image_that_comes_with_the_next_message() -> None:
    image = Message(Role.USER, (File("image/png", "AAAA"),))
    shown = tagged([called("view_image", {"path": "a.png"}), gave("attached local image path"), image, image])
    assert names(tags_of(shown[2])) == ["/repo/a.png"]
    later = tagged([called("view_image", {"path": "a.png"}), gave("x"), said("ok", role=Role.ASSISTANT), image])
    assert tags_of(later[3]) == ()


@pytest.mark.parametrize(
    "summary",
    [
        said("This session is being continued from a previous conversation that ran out of context. The key is KEY"),
        said("Another language model started to solve this problem and produced a summary of its thinking process. K"),
        Message(Role.ASSISTANT, (Opaque("compaction", {"encrypted_content": "x"}),)),
    ],
)
def test_a_summary_is_of_all_that_came_before(summary: Message) -> None:
    read = [
        called("Read", {"file_path": "secrets/k"}),
        gave("KEY"),
        called("Read", {"file_path": "a"}, "d"),
        gave("x", "d"),
    ]
    assert names(tags_of(tagged([*read, summary])[4])) == ["/repo/secrets/k", "/repo/a"]
    assert tags_of(tagged([said("hi"), summary])[1]) == (UNKNOWN_MESSAGES,)
    assert tags_of(tagged([summary, *read])[0]) == (UNKNOWN_MESSAGES,)


def test_an_answer_to_what_was_done_so_far_is_a_summary() -> None:
    read = [called("Read", {"file_path": "secrets/k"}), gave("KEY")]
    answer = said("KEY, mostly", role=Role.ASSISTANT)
    assert names(tags_of(tagged([*read, said("What did we do so far?"), answer])[3])) == ["/repo/secrets/k"]
    assert tags_of(tagged([*read, said("What now?"), answer])[3]) == ()


def test_reasoning_that_nobody_can_read_is_of_all_that_came_before() -> None:
    read = [called("Read", {"file_path": "secrets/k"}), gave("KEY")]
    sealed = Message(Role.ASSISTANT, (Reasoning("", "sealed", extra={"type": "redacted_thinking"}),))
    plain = Message(Role.ASSISTANT, (Reasoning("KEY", "signed", extra={"type": "thinking"}),))
    found = tagged([sealed, *read, sealed, plain])
    assert (tags_of(found[0]), tags_of(found[3]), tags_of(found[4])) == ((), (KEY,), ())


def test_a_call_that_holds_its_own_result() -> None:
    data = {"type": "mcp_call", "server_label": "filesystem", "name": "read_file", "arguments": '{"path": "secrets/k"}'}
    assert tags_of(tagged([Message(Role.ASSISTANT, (Opaque("mcp_call", data),))])[0]) == (KEY,)


def test_what_a_provider_ran_by_itself_is_of_no_file_here() -> None:
    call = Call("s", "bash_code_execution", {"command": "cat /tmp/x"}, extra={"type": "server_tool_use"})
    assert tags_of(tagged([Message(Role.ASSISTANT, (call,)), gave("x", "s")])[1]) == ()


def test_titles_of_documents_name_files() -> None:
    document = Opaque("document", {"type": "document", "title": "secrets/k", "source": {"type": "text", "data": "KEY"}})
    assert tags_of(tagged([Message(Role.USER, (document,))])[0]) == (KEY,)
    found = Opaque("search_result", {"source": "/repo/secrets/k", "title": "a title", "content": []})
    messages = [called("my_search", {"q": "x"}), Message(Role.TOOL, (Result("c", (found,)),))]
    assert tags_of(tagged(messages)[1]) == (KEY,)


def test_a_shells_own_later_output_is_of_what_it_ran() -> None:
    messages = [
        called("Bash", {"command": "cat secrets/k"}, "b"),
        gave("", "b"),
        called("BashOutput", {"id": 1}),
        gave("KEY"),
    ]
    assert tags_of(tagged(messages)[3]) == (KEY,)


@pytest.mark.parametrize("file", ["anthropic-messages", "openai-chat", "openai-responses"])
def test_in_what_real_agents_sent_no_result_is_without_its_file(file: str) -> None:
    given = json.loads((SESSIONS / f"{file}.json").read_text("utf-8"))
    messages = tagged(conversation.read(given).messages, "/repo/app")
    texts = json.dumps(given)
    for word, path in (("invented-key", "/repo/app/secrets/api.key"), ("invented-token", "/repo/app/.env")):
        holders = [
            part
            for message in messages
            for part in message.parts
            if isinstance(part, Result) and any(isinstance(one, Text) and word in one.text for one in part.content)
        ]
        assert holders or word not in texts
        for part in holders:
            assert any(
                tag.name == path or (tag.origin is Origin.SUBTREE and path.startswith(tag.name)) for tag in part.tags
            )
