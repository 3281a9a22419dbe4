"""A workspace with trust tiers of its own, and a conversation that holds what some of them may not read."""

from __future__ import annotations

import os
from pathlib import Path

from stanch.values.message import Call, Message, Result, Role, SourceTag, Text
from tests.http.served import World

POLICY = """\
version = 1
[models]
default_tier = "trusted"
[models.assignments]
"house/*" = "trusted"
"out/*" = "outside"
"out/asking-*" = "asking"
"small/llama" = "limited"
[tiers.outside]
label = "Outside"
otherwise = { read = "allow", write = "ask", execute = "deny", network = "deny" }
[[tiers.outside.cells]]
path = "private"
read = "deny"
[[tiers.outside.cells]]
path = "private/handbook.md"
read = "allow"
[[tiers.outside.cells]]
path = "drafts"
write = "allow"
execute = "ask"
[tiers.asking]
label = "Asks first"
otherwise = { read = "allow", write = "deny", execute = "deny", network = "deny" }
[[tiers.asking.cells]]
path = "private"
read = "ask"
[[groups]]
id = "default"
[[groups.rules]]
tool = "*"
action = "ask"
"""
FILES = (
    *("private/pay.csv", "private/handbook.md", "private/plans/next.md", "drafts/a.md", "src/app/main.py", "src/b.py"),
    *("README.md", ".stanch/ours-alone", ".git/hooks/pre-commit"),
)
PAY = "A. Example earns 1234567 a year and has a car of the firm"
PLAN = "the plan for next year has the number nine"


def fill(workspace: Path) -> None:
    """Puts files and links into the workspace."""
    for name in FILES:
        place = workspace / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("x\n", "utf-8")
    os.symlink("private/pay.csv", workspace / "pay-link")
    os.symlink("private", workspace / "private-link")
    os.symlink(".stanch/ours-alone", workspace / "sneaky")
    os.symlink("loop", workspace / "loop")


def path_of(world: World, name: str) -> str:
    """The canonical path of a file in the workspace."""
    return str(world.workspace / name)


def read(world: World, name: str, text: str, *, call_id: str = "c1") -> tuple[Message, Message]:
    """A call that read a file, and its result."""
    tags = (SourceTag(path_of(world, name)),)
    return (
        Message(Role.ASSISTANT, (Call(call_id, "read_file", {"path": name}),), model="house/one"),
        Message(Role.TOOL, (Result(call_id, (Text(text),), "read_file", tags=tags),)),
    )


def talked(world: World, *more: Message, model: str = "house/one") -> str:
    """A session that read two private files, and quoted one of them."""
    session = world.session(model=model)
    quoting = Message(Role.ASSISTANT, (Text(f"Look: {PAY}, they say."),), model="house/one")
    messages = (
        Message(Role.USER, (Text("What do they earn?"),)),
        *read(world, "private/pay.csv", PAY),
        *read(world, "private/plans/next.md", PLAN, call_id="c2"),
        quoting,
        *more,
    )
    world.service.messages.add_all(session, messages)
    return session


def switch(world: World, session: str, model: str) -> None:
    """Gives a session another model."""
    world.post(f"/api/sessions/{session}/model", {"model": model})
