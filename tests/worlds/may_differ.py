"""The one list of what a model may tell two worlds apart by, and why: all of it is said in the documents, too.

Each row makes the difference and says which part of the answers it is: with that part covered, they are the same. A row
that makes none is no longer true, and goes.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.delivery.stage import MODEL, State
from tests.worlds.casts import KEY, Cast
from tests.worlds.playing import CLOUD, Move, Played, Session, Turn

LENGTHS = r'\\?"(?:size|length|start|stop|done|of)\\?": ?\d+'
"""Numbers of letters and bytes, which a file or a document with another secret in it has others of."""
_COUNTS = r'"(?:total|withheld)":\d+|"reasons":\{[^}]*\}'
_FIRST = Cast("a")


@dataclass(frozen=True)
class Row:
    """What differs, why it may, and how it comes about: what is prepared in each world, what the model then does."""

    what: str
    why: str
    prepared: Callable[[Played], None]
    session: Session
    covered: str
    longer: bool = False


def _nothing(_: Played) -> None:
    """The world is as it was."""


def _side(world: Played, first: Any, second: Any) -> Any:
    return first if world.furnished.cast.side == "a" else second


def _file(path: str, state: State, first: str, second: str) -> Callable[[Played], None]:
    """A file of that state, with another text in either world."""

    def prepared(world: Played) -> None:
        body = {"content": _side(world, first, second)}
        world.stage.write(state, "PUT", f"/api/files/text/{path}", json=body)

    return prepared


def _row(first: dict[str, Any], second: dict[str, Any]) -> Callable[[Played], None]:
    def prepared(world: Played) -> None:
        rows = {"rows": [_side(world, first, second)]}
        world.stage.write(State.UNKNOWN, "POST", "/api/tables/orders/rows", json=rows)

    return prepared


def _encoded(world: Played) -> None:
    """A value in base64, with letters before and behind it in what was encoded."""
    text = base64.b64encode(f"x{world.furnished.cast.values[KEY][:-1]}".encode()).decode()
    world.stage.secret("INNER", world.furnished.cast.values[KEY][:-1])
    headers = world.stage.headers(State.ENTRIES, "INNER")
    world.stage.write(State.UNRECORDED, "PUT", "/api/files/text/demo/b.txt", json={"content": text}, headers=headers)


def _asks(method: str, path: str, **given: Any) -> Session:
    return Session((Move(method, path, given),), name="differing")


def _imports(path: str, *, table: str = "orders", **given: Any) -> Session:
    return _asks("POST", f"/api/tables/{table}/import/file", json={"path": path, "on_error": "null", **given})


_SWITCH = Move("POST", "/api/sessions/${chat}/model", {"json": {"model": CLOUD}}, "person")
TABLE = (
    Row(
        "how large a withheld file is",
        "a list is of what the workspace has, and says nothing of what is in it",
        _file("demo/u.txt", State.UNKNOWN, "x" * 20, "x" * 30),
        _asks("GET", "/api/files/info/demo/u.txt"),
        LENGTHS,
    ),
    Row(
        "how long a text with a secret is",
        "lengths and places are those of the stored text",
        _nothing,
        _asks("GET", "/api/knowledge/documents/${doc.e}"),
        LENGTHS,
        longer=True,
    ),
    Row(
        "what a window shows behind a secret",
        "a window is one of the text before anything is taken out of it",
        _nothing,
        _asks("GET", "/api/knowledge/documents/${doc.e}/text", params={"start": 6, "end": 50}),
        rf'{LENGTHS}|"text":"[^"]*"',
        longer=True,
    ),
    Row(
        "in which withheld file a whole word stands",
        "the place of a match is told, its surroundings are not",
        _file("demo/u.txt", State.UNKNOWN, "zebra", "horse"),
        _asks("GET", "/api/files/search", params={"query": "zebra"}),
        r'"items":\[.*\],"total":\d+',
    ),
    Row(
        "how many withheld rows fit a filter",
        "totals are the database's, whatever is withheld",
        _row({"name": "zebra"}, {"name": "horse"}),
        _asks("POST", "/api/tables/orders/query", json={"filters": [{"column": "name", "value": "zebra"}]}),
        _COUNTS,
    ),
    Row(
        "where a withheld row stands in an order",
        "the order is the database's, whatever is withheld",
        _row({"amount": 1_000}, {"amount": 11}),
        _asks(
            "POST", "/api/tables/orders/query", json={"sort": [{"column": "amount", "descending": True}], "limit": 1}
        ),
        rf'{_COUNTS}|"items":\[.*?\],"broken"|"next":"[^"]*"',
    ),
    Row(
        "in which row and column something stands",
        "the place of a match is told, its value is not",
        _row({"code": "zebra"}, {"code": "horse"}),
        _asks("GET", "/api/tables/orders/search", params={"query": "ebr"}),
        rf'"items":\[.*?\],"total":\d+|{_COUNTS}',
    ),
    Row(
        "how many rows a withheld file has",
        "an import says how many rows it has put in",
        _file("demo/u.csv", State.UNKNOWN, "name\nx\n", "name\nx\ny\n"),
        _imports("demo/u.csv"),
        rf'{LENGTHS}|"rows":\d+',
    ),
    Row(
        "how many cells of a withheld file fit a column",
        "an import says how many it had to leave empty",
        _file("demo/n.csv", State.UNKNOWN, "amount\n12\n", "amount\nxy\n"),
        _imports("demo/n.csv"),
        r'"nulled":\d+',
    ),
    Row(
        "whether the columns of a withheld file are called as the model guesses",
        "an import puts cells where its columns belong, and says where they belong nowhere",
        _file("demo/h.csv", State.UNKNOWN, "zebra\nx\n", "horse\nx\n"),
        _imports("demo/h.csv", create=True, types={"zebra": "text"}, table="guessed"),
        r"^[\s\S]*$",
    ),
    Row(
        "the bytes of a file that a person wrote, with a secret",
        "nobody recorded anything of it, and bytes are given as they are",
        _nothing,
        _asks("GET", "/api/files/content/loose/person.txt"),
        r"a person wrote .* alpha\n",
    ),
    Row(
        "whether a whole value that the model writes itself is one of the vault",
        "what it reads again has the label in its place",
        _nothing,
        Session(
            (
                Move("PUT", "/api/files/text/demo/own.txt", {"json": {"content": _FIRST.values[KEY]}}),
                Move("GET", "/api/files/text/demo/own.txt"),
            ),
            name="differing",
        ),
        rf"\{{\{{PAY_KEY\}}\}}|{re.escape(_FIRST.values[KEY])}",
    ),
    Row(
        "some bits of the ends of a value in base64",
        "a letter that depends on a neighbour, too, stays: at most eight bits at each end",
        _encoded,
        _asks("GET", "/api/files/text/demo/b.txt"),
        r'"text":"[A-Za-z0-9+/]{1,3}\{\{INNER\}\}[A-Za-z0-9+/=]{0,3}"',
    ),
    Row(
        "names in a list that a model of another tier has asked for in the same conversation",
        "what is withheld of a conversation is content; a list has none",
        lambda world: _file(_side(world, "private/zebra.txt", "private/horse.txt"), State.UNRECORDED, "x", "x")(world),
        Session(
            (Turn((("files_list", {"path": "private"}),)), _SWITCH, Turn((("runs_list", {}),))),
            MODEL,
            unseen=2,
            name="differing",
        ),
        r"zebra|horse|\{[^{}]*(?:plan|named|zebra|horse)\.txt[^{}]*\}",
    ),
    Row(
        "which lines of a file on the disk fit an expression",
        "files on the disk are no stored content: a tool searches them as they are, and what it finds is projected",
        _nothing,
        _asks(
            "POST",
            "/api/tools/grep_files/execute",
            json={"arguments": {"pattern": _FIRST.values[KEY][:8], "path": "notes.txt"}},
        ),
        r'"value":"[^"]*"',
    ),
)


def covering(data: bytes, covered: str) -> bytes:
    """The answer with the part that may differ covered, and so the number of its bytes."""
    text = re.sub(rf'{covered}|content-length: \d+|"content-length": "\d+"', "…", data.decode("utf-8", "replace"))
    return text.encode()
