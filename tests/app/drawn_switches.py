"""Conversations of agents drawn at random, in which every file holds a mark that occurs nowhere else.

What a model must not see is then a search for a text. A mark stands in whatever came from its file: what tools gave
back, what was attached, what models quote, titles and summaries.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from stanch.values.message import (
    Call,
    File,
    Fragment,
    Message,
    Opaque,
    Origin,
    Part,
    Reasoning,
    Result,
    Role,
    SourceTag,
    Text,
)

FOLDERS = ("open", "asked", "private")
FILES = 3
HOME = "local/big"
"""The model that may see all, and that alone signs what it thinks."""


class Drawn(NamedTuple):
    """A file: its folder, its path, its mark, and what it holds."""

    folder: str
    path: str
    mark: str
    content: str

    @property
    def data(self) -> str:
        """What it holds, in base64."""
        return base64.b64encode(self.content.encode()).decode()


class Drawing:
    """One conversation as it grows. `plain` are files that a tool gave back whole, in a result of their own."""

    def __init__(self, random: Random, workspace: str) -> None:
        self.random, self.workspace = random, workspace
        self.files = [self._file(folder, number) for folder in FOLDERS for number in range(FILES)]
        self.plain: set[str] = set()
        self._tags: dict[SourceTag, None] = {}
        self._calls = 0

    def _file(self, folder: str, number: int) -> Drawn:
        mark = f"{self.random.getrandbits(160):040x}"
        content = f"a line before\n{mark} and {mark[::-1]}\nthe end of {number}"
        return Drawn(folder, f"{self.workspace}/{folder}/f{number}.txt", mark, content)

    def turn(self, model: str, seen: list[Drawn]) -> list[Message]:
        """What a turn of this model adds, which was shown these files."""
        made = [self._asked()]
        for _ in range(self.random.randint(1, 3)):
            made += self.random.choice([self._read, self._searched, self._ran, self._failed, self._wrote])(model, seen)
        made.append(self._answer(model, seen))
        if self.random.random() < 0.3:
            made.append(self._summary(model, seen))
        return made

    def words(self, seen: list[Drawn]) -> str:
        """What somebody says who was shown these files."""
        quoted = [file.mark for file in self._some(seen)]
        return " ".join(["as I have read:", *quoted, "and so on"])

    # --- what is said ------------------------------------------------------------------------------------------------

    def _some(self, files: list[Drawn]) -> list[Drawn]:
        return self.random.sample(files, self.random.randint(0, min(2, len(files))))

    def _tag(self, file: Drawn, span: tuple[int, int] | None = None) -> SourceTag:
        self._tags.setdefault(SourceTag(file.path))
        return SourceTag(file.path, span=span)

    def _asked(self) -> Message:
        """A person's words, with what they attach and what loads by itself."""
        parts: list[Part] = [Text("go on, please")]
        for file in self._some(self.files):
            tags = (self._tag(file),)
            kinds: list[Part] = [
                File("text/plain", file.data, name=file.path, tags=tags),
                Text(f'<file path="{file.path}">{file.content}</file>', tags),
                Opaque("slideshow", {"pages": [file.content], "title": "slides"}, tags),
            ]
            parts.append(self.random.choice(kinds))
        if self.random.random() < 0.3:
            file = self.random.choice(self.files)
            return Message(Role.SYSTEM, (Fragment(file.content, "AGENTS.md", (self._tag(file),)),))
        return Message(Role.USER, tuple(parts))

    def _answer(self, model: str, seen: list[Drawn]) -> Message:
        parts: list[Part] = []
        if self.random.random() < 0.5:
            parts.append(Reasoning(self.words(seen), "proof" if model == HOME else None))
        if self.random.random() < 0.3:
            parts.append(Opaque("odd_words", {"type": "odd_words", "said": [self.words(seen)]}))
        return Message(Role.ASSISTANT, (*parts, Text(self.words(seen))), model=model)

    def _summary(self, model: str, seen: list[Drawn]) -> Message:
        """A summary or a title: with the tags of all that it sums up."""
        return Message(Role.ASSISTANT, (Text(self.words(seen), tuple(self._tags)),), model=model)

    # --- what tools give back ----------------------------------------------------------------------------------------

    def _called(self, model: str, call: Call, result: Result) -> list[Message]:
        return [Message(Role.ASSISTANT, (call,), model=model), Message(Role.TOOL, (result,))]

    def _id(self) -> str:
        self._calls += 1
        return f"call_{self._calls}"

    def _read(self, model: str, seen: list[Drawn]) -> list[Message]:
        file, name = self.random.choice(self.files), self._id()
        self.plain.add(file.path)
        seen.append(file)
        content = (Text(file.content), File("image/png", file.data)) if self.random.random() < 0.2 else None
        return self._called(
            model,
            Call(name, "read_file", {"path": file.path}),
            Result(name, content or (Text(file.content),), "read_file", tags=(self._tag(file),)),
        )

    def _failed(self, model: str, seen: list[Drawn]) -> list[Message]:
        """An error that repeats what it met."""
        file, name = self.random.choice(self.files), self._id()
        seen.append(file)
        words = f"cannot parse line 2: {file.mark}"
        return self._called(
            model,
            Call(name, "read_file", {"path": file.path}),
            Result(name, (Text(words),), "read_file", failed=True, tags=(self._tag(file),)),
        )

    def _searched(self, model: str, seen: list[Drawn]) -> list[Message]:
        """Lines of several files, each with its span."""
        name, text, tags = self._id(), "", []
        for file in self.random.sample(self.files, self.random.randint(1, 4)):
            line = f"{file.path}:2: {file.mark}"
            tags.append(self._tag(file, (len(text), len(text) + len(line))))
            text += line + "\n"
            seen.append(file)
        return self._called(
            model,
            Call(name, "grep_files", {"pattern": "a"}),
            Result(name, (Text(text),), "grep_files", tags=tuple(tags)),
        )

    def _ran(self, model: str, seen: list[Drawn]) -> list[Message]:
        """A command of which nobody knows what it read, or of which nobody could look at all that it might have."""
        name, files = self._id(), self._some(self.files)
        seen += files
        looked = self.random.random() < 0.5
        below = tuple(file.path for file in self.files if looked and file.folder != "open")
        tag = SourceTag(self.workspace, Origin.SUBTREE, below=below, all_below=looked)
        self._tags.setdefault(tag)
        return self._called(
            model,
            Call(name, "execute_cmd", {"command": "make"}),
            Result(name, (Text("\n".join(file.content for file in files) or "ok"),), "execute_cmd", tags=(tag,)),
        )

    def _wrote(self, model: str, seen: list[Drawn]) -> list[Message]:
        """Words that the model had read, on their way to an open file; or back to where it had them from."""
        name = self._id()
        target = self.random.choice(self.files)
        words, tags = self.words(seen), ()
        if self.random.random() < 0.5:
            return self._called(
                model,
                Call(name, "write_file", {"path": target.path, "content": words}, (self._tag(target),)),
                Result(name, (Text("written"),), "write_file", tags=(self._tag(target),)),
            )
        return self._called(model, Call(name, "remember", {"notes": [words]}, tags), Result(name, (Text("done"),)))


def marks_in(files: list[Drawn], text: str) -> Iterator[Drawn]:
    """The files of which something is in the text, in any of the forms that a drawing writes it in."""
    for file in files:
        if file.mark in text or file.mark[::-1] in text or file.data in text:
            yield file
