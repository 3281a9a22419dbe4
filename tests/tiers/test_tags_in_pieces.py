"""Tags of a conversation that comes piece by piece are those of the whole."""

from __future__ import annotations

import posixpath
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stanch.app.foreign_tags import shipped_shapes
from stanch.policy.known_tools import known
from stanch.tiers.tag_calls import Reader
from stanch.tiers.tags import Tagging, tag_messages
from stanch.values.message import Call, Message, Opaque, Result, Role, Text

CALLS: st.SearchStrategy[tuple[str, dict[str, Any]]] = st.sampled_from(
    [
        ("Read", {"file_path": "a/b"}),
        ("Read", {"file_path": "/x/y"}),
        ("Bash", {"command": "cd src && make"}),
        ("Bash", {"command": "cd $X"}),
        ("BashOutput", {}),
        ("Grep", {"pattern": "k", "path": "src", "output_mode": "content", "-n": True}),
        ("view_image", {"path": "p.png"}),
        ("unheard_of", {"file": "z.txt"}),
    ]
)
SAID = st.sampled_from(
    [
        Message(Role.USER, (Text("go on"),)),
        Message(Role.USER, (Text("<environment_context><cwd>/else</cwd>"),)),
        Message(Role.USER, (Text("What did we do so far?"),)),
        Message(Role.ASSISTANT, (Text("a summary"),)),
        Message(Role.ASSISTANT, (Opaque("compaction", {"encrypted_content": "x"}),)),
        Message(Role.SYSTEM, (Text("Working directory: /sys"),)),
        Message(Role.USER, (Text('Called the Read tool with the following input: {"filePath": "q"}'),)),
        Message(Role.USER, (Text("Result of calling the Read tool"),)),
    ]
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Calls are answered in the next message, or never; each id is used once."""
    found: list[Message] = []
    for number in range(draw(st.integers(0, 8))):
        if draw(st.booleans()):
            tool, arguments = draw(CALLS)
            found.append(Message(Role.ASSISTANT, (Call(f"c{number}", tool, arguments),)))
            if draw(st.booleans()):
                found.append(Message(Role.TOOL, (Result(f"c{number}", (Text("src/k:3:text"),)),)))
        else:
            found.append(draw(SAID))
    return found


def canonical(path: str, base: str) -> str:
    return posixpath.normpath(posixpath.join(base, path))


def reader() -> Reader:
    return Reader(known(), shipped_shapes(), canonical, None)


@given(conversations(), st.data())
def test_piece_by_piece_is_the_same(messages: list[Message], data: st.DataObject) -> None:
    whole = tag_messages(messages, shapes=shipped_shapes(), cwd="/repo", canonical=canonical)
    tagging, got = Tagging(reader(), shipped_shapes(), "/repo"), list[Message]()
    while len(got) < len(messages):
        step = data.draw(st.integers(1, 3))
        piece = messages[len(got) : len(got) + step]
        # What one copy is told is nothing to the other.
        tagging.copied(reader()).more(piece)
        got += tagging.more(piece)
    assert got == whole
    again = Tagging(reader(), shipped_shapes(), "/repo")
    assert again.more(got) == got
    assert again.places == tagging.places
