"""Random sessions: what a model might do that is curious about what it may not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.delivery.stage import MODEL
from tests.worlds.playing import CLOUD, Move, Session, Turn
from tests.worlds.requests import READING, Call, Requests


class Drawing(Requests):
    """Draws sessions. `private`: of models in the cloud, in worlds that differ in what these may not see."""

    def session(self, name: str) -> Session:
        """One session."""
        drawing = self._random
        free = drawing.random() < 0.75
        model = CLOUD if self._private or drawing.random() < 0.25 else MODEL
        moves: list[Move | Turn] = []
        unseen = 0
        if self._private and free and drawing.random() < 0.4:
            # A model that may see all of it has been here before: its conversation goes on in the cloud.
            calls = tuple(self.call(READING) for _ in range(drawing.randint(1, 3)))
            moves = [Turn(calls), Move("POST", "/api/sessions/${chat}/model", {"json": {"model": CLOUD}}, "person")]
            unseen, model = len(moves), MODEL
        for _ in range(drawing.randint(2, 6)):
            moves += self._moves(free)
        if not self._private and free and drawing.random() < 0.15:
            other = MODEL if model == CLOUD else CLOUD
            moves.append(Move("POST", "/api/sessions/${chat}/model", {"json": {"model": other}}, "person"))
            moves.append(self._turn())
        return Session(tuple(moves), model, free, unseen, name)

    def _moves(self, free: bool) -> list[Move | Turn]:
        drawing = self._random
        if free and drawing.random() < 0.025:
            return [self._turn()]
        if drawing.random() < 0.04:
            return self._approved()
        if drawing.random() < 0.08:
            return self._pages()
        make: Callable[[], Move] = drawing.choice(
            (
                self._files,
                self._files,
                self._writing,
                self._knowledge,
                self._tables,
                self._tables,
                self._runs,
                self._asks,
            )
        )
        return [make()]

    def _turn(self) -> Turn:
        # WHY only where ordinary asks are bypassed: else the turn waits for a person.
        below = self._random.random() < 0.25
        tools = (
            *READING,
            "files_edit",
            "tools_execute",
            "runs_execute",
            *(("read_file", "grep_files") * 4),
            "files_share",
            "run_code",
        )
        return Turn(tuple(self.call(READING if below else tools) for _ in range(self._random.randint(1, 3))), below)

    def _code(self) -> str:
        """What a model runs: it reads a file that it has no leave to see, and counts its letters."""
        read = f"files_get({self._bytes()!r})"
        return self._one("print(1)", f"print({read})", f"print(len({read}))")

    def call(self, tools: Sequence[str]) -> Call:
        """One call of a tool of the chat."""
        tool = self._random.choice(tools)
        given: Mapping[str, Callable[[], dict[str, Any]]] = {
            "files_list": lambda: self._one({}, {"path": "open"}, {"limit": 2}),
            "files_read": lambda: {"path": self._path()},
            "files_grep": lambda: {"pattern": self._one(self._pattern(), self._word())},
            "files_search": lambda: {"query": self._word()},
            "files_versions": lambda: {"path": self._path()},
            "files_links": lambda: {"path": self._bytes()},
            "files_share": lambda: {"path": self._bytes()},
            "files_edit": lambda: {"path": self._path(), "old": self._guess(), "new": self._said()},
            "knowledge_search": lambda: {"query": self._word()},
            "knowledge_read": lambda: {"id": self._document(), **({"end": 12} if self._windows else {})},
            "knowledge_chunks": lambda: {"id": self._document()},
            "tables_read": lambda: {"table": self._table()},
            "tables_rows": lambda: {"table": self._table()},
            "tables_row": lambda: {"table": "orders", "row": self._one(1, 2, 3, 5)},
            "tables_query": lambda: {"table": (table := self._table()), **self._query(table)},
            "tables_search": lambda: {"table": "orders", "query": self._word()},
            "tables_selection": lambda: {"table": "orders", "rows": [1, 2, 3, 5]},
            "runs_read": lambda: {"run": self._run()},
            "runs_files": lambda: {"run": self._run()},
            "runs_get": lambda: {"run": self._run(), "name": self._one("log.txt", "pic.png")},
            "runs_execute": lambda: {"run": self._run()},
            "tools_execute": lambda: {"tool": self._one("look_up", "guess_at"), "arguments": {}},
            "read_file": lambda: {"path": self._one("notes.txt", "private/plan.txt", "secrets/k.txt")},
            "grep_files": lambda: {"pattern": self._word(), "path": "."},
            "run_code": lambda: {"code": self._code(), "language": "snippet", "mounts": [self._bytes()]},
        }
        return tool, given.get(tool, dict)()
