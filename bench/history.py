"""A conversation filtered for another model, beside the same done in Node with a plain `map`, and beside copying it.

100,000 messages with none to three source tags each, out of 1,000 paths, of which some are closed: so many that 1.5,
14.5 or 54 of a hundred messages are touched. Node filters messages of the same shape (and, for comparison, flat ones),
makes the same texts and the same counts; both are asked in turn, in one run, each alone. First it is checked that they
make the same. `copy.deepcopy` and `list` copy the same messages, the former as plain dicts. Quotes are off but in the
rows that say so. Where there is no Node, the rows against it are left out.
"""

from __future__ import annotations

import copy
import gc
import hashlib
import json
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.pool import progress
from bench.rows import Row, Target, duration, save
from stanch.tiers.dialects.ours import write_messages
from stanch.tiers.history import Look, Read, Redacted, redact_history
from stanch.tiers.kept import Kept
from stanch.values.decision import Effect
from stanch.values.message import Message, Origin, Result, Role, SourceTag, Text

MESSAGES, PATHS = 100_000, 1_000
SHARES = {"1.5 %": (10, 1.0), "14.5 %": (100, 1.5), "54 %": (500, 1.5)}
"""How many of the paths are closed so that this share of the messages is touched, and the target against Node."""
GROWTH = (1_000, 10_000, 100_000, 1_000_000)
NEW = 20
WORDS = Path(__file__).parent / "corpus" / "words.txt"
NODE = Path(__file__).with_suffix(".mjs")
ALLOW, DENY = Effect.ALLOW, Effect.DENY
NOBODY: frozenset[str] = frozenset()


def paths() -> list[str]:
    return [f"/srv/work/d{at % 37}/sub{at % 11}/f{at}.md" for at in range(PATHS)]


def closed(count: int) -> frozenset[str]:
    """So many of the paths, spread over all of them."""
    return frozenset(path for at, path in enumerate(paths()) if at * 7919 % PATHS < count)


def conversation(count: int) -> list[Message]:
    """Messages of a person, a model and tools in turn, each one text of up to 40 words."""
    drawn = random.Random(168)
    words = WORDS.read_text(encoding="utf-8").split()
    tags = [SourceTag(path) for path in paths()]
    found = []
    for at in range(count):
        sources = tuple(drawn.choices(tags, k=drawn.randrange(4)))
        text = " ".join(drawn.choices(words, k=drawn.randrange(1, 40)))
        if at % 3 == 2:
            found.append(Message(Role.TOOL, (Result(f"c{at}", (Text(text),), tags=sources),), f"m{at}"))
        else:
            role = Role.ASSISTANT if at % 3 else Role.USER
            found.append(Message(role, (Text(text, sources),), f"m{at}"))
    return found


def reader(names: frozenset[str]) -> Read:
    def read(name: str, _: Origin, /) -> Effect:
        return DENY if name in names else ALLOW

    return read


def filtered(messages: Sequence[Message], names: frozenset[str], *, quotes: bool = False) -> Redacted:
    return redact_history(messages, reader(names), "Outside", quotes=quotes)


class Node:
    """Node with the same messages; asked a line, it answers a line."""

    def __init__(self, program: str, messages: Sequence[Message], folder: Path) -> None:
        rows = write_messages(messages)
        for row in rows:
            for part in row["parts"]:
                part.setdefault("tags", [])
        file = folder / "messages.json"
        file.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
        command = [program, str(NODE), str(file)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, way: str, names: Iterable[str], *, digest: bool = False) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"way": way, "closed": sorted(names), "digest": digest}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def run(quick: bool) -> list[Row]:
    rounds = 7 if quick else 25
    progress("history: making the messages")
    messages = conversation(MESSAGES)
    program = shutil.which("node")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        node = None if program is None else Node(program, messages, Path(folder))
        try:
            rows += _first_passes(messages, node, rounds)
        finally:
            if node is not None:
                node.close()
    if node is None:
        progress("history: there is no node here; the rows against it are left out")
    rows += _copied(messages, rounds)
    rows.append(_resent(messages, rounds * 4))
    rows += _with_quotes(messages, max(rounds // 4, 2))
    del messages
    rows += _grown(rounds, GROWTH[:-1] if quick else GROWTH)
    save("history", rows, quick=quick)
    return rows


def _first_passes(messages: list[Message], node: Node | None, rounds: int) -> list[Row]:
    rows = []
    for share, (count, target) in SHARES.items():
        names = closed(count)
        progress(f"history: {share} of the messages")
        touched = _check(messages, names, node)
        gc.collect()
        took: dict[str, list[float]] = {"ours": [], "same": [], "flat": []}
        for _ in range(rounds):
            took["ours"].append(_timed(lambda names=names: filtered(messages, names)))  # type: ignore[misc]
            if node is not None:
                for way in ("same", "flat"):
                    took[way].append(node.ask(way, names)["milliseconds"] * 1000)
        what, sizes = f"history, first pass, {touched / MESSAGES:.1%} filtered", f"{MESSAGES:,} messages"
        if node is None:
            rows.append(Row(what, "", sizes, statistics.median(took["ours"]) / 1000, "ms"))
            continue
        rows.append(_ratio(what, "Node, map over the same messages", sizes, took["ours"], took["same"], target))
        rows.append(_ratio(what, "Node, map over flat messages", sizes, took["ours"], took["flat"], None))
    return rows


def _check(messages: list[Message], names: frozenset[str], node: Node | None) -> int:
    """How many messages are touched; that nothing else is, and that Node says the same."""
    done = filtered(messages, names)
    touched = 0
    for old, new in zip(messages, done.messages, strict=True):
        is_closed = any(tag.name in names for tag in old.parts[0].tags)
        touched += is_closed
        assert (new is not old) is is_closed
    if node is not None:
        texts = hashlib.sha256("".join(f"{_text(one)}\0" for one in done.messages).encode()).hexdigest()
        for way in ("same", "flat"):
            answer = node.ask(way, names, digest=True)
            assert answer["digest"] == texts
            assert answer["counted"] == sum(done.report.pieces.values())
    return touched


def _text(message: Message) -> str:
    part = message.parts[0]
    inner = part.content[0] if isinstance(part, Result) else part
    assert isinstance(inner, Text)
    return inner.text


def _copied(messages: list[Message], rounds: int) -> list[Row]:
    """Beside a deep copy of the messages as dicts."""
    progress("history: beside copies")
    plain = write_messages(messages)
    names = closed(SHARES["14.5 %"][0])
    ours, deep = [], []
    for _ in range(max(rounds // 3, 3)):
        ours.append(_timed(lambda: filtered(messages, names)))
        deep.append(_timed(lambda: copy.deepcopy(plain)))
    sizes = f"{MESSAGES:,} messages"
    return [_ratio("history, first pass, 14.5 % filtered", "copy.deepcopy", sizes, ours, deep, 1 / 15)]


def _resent(messages: list[Message], rounds: int) -> Row:
    """Sent again after some more messages, out of the copy that was kept, beside a copy of the list."""
    progress("history: sent again")
    names = closed(SHARES["14.5 %"][0])
    kept, said = Kept(), messages[: MESSAGES - NEW * rounds]

    def look() -> Look:
        return Look(reader(names), "Outside", model=None, answers=NOBODY, quotes=False)

    kept.sent(said, 1, look)
    ours, lists = [], []
    for _ in range(rounds):
        said.extend(messages[len(said) : len(said) + NEW])
        lists.append(_timed(lambda: list(said)))
        ours.append(_timed(lambda: kept.sent(said, 1, look)))
    assert list(kept.sent(said, 1, look).messages) == filtered(said, names).messages
    return _ratio(f"history, sent again with {NEW} more", "list(messages)", f"{MESSAGES:,} messages", ours, lists, 1.0)


def _with_quotes(messages: list[Message], rounds: int) -> list[Row]:
    rows = []
    for share, (count, _) in SHARES.items():
        names = closed(count)
        off = [_timed(lambda names=names: filtered(messages, names)) for _ in range(rounds)]  # type: ignore[misc]
        on = [_timed(lambda names=names: filtered(messages, names, quotes=True)) for _ in range(rounds)]  # type: ignore[misc]
        what, sizes = f"history, quotes on, {share} filtered", f"{MESSAGES:,} messages"
        rows.append(_ratio(what, "the same with quotes off", sizes, on, off, None))
    return rows


def _grown(rounds: int, sizes: Sequence[int]) -> list[Row]:
    """The time for each message, at more messages, beside that at the fewest."""
    names = closed(SHARES["14.5 %"][0])
    each: dict[int, list[float]] = {}
    floor: dict[int, list[float]] = {}
    for size in sizes:
        progress(f"history: {size:,} messages")
        repeats = max(sizes[-1] // size // 10, 1)
        each[size], floor[size] = _each(conversation(size), names, rounds if size < MESSAGES else 5, repeats)
    least = sizes[0]
    middle = {size: statistics.median(times) for size, times in each.items()}
    bare = {size: statistics.median(times) for size, times in floor.items()}
    return [
        Row(
            "history, time for each message, 14.5 % filtered",
            f"that of {least:,} messages",
            f"{size:,} messages",
            middle[size] / middle[least],
            "times",
            Target("at most", 1.1) if size == sizes[-1] else None,
            f"{duration(middle[size])} to {duration(middle[least])}; "
            f"just to look at each takes {bare[size] / bare[least]:.1f} times as long",
        )
        for size in sizes[1:]
    ]


def _each(messages: list[Message], names: frozenset[str], rounds: int, repeats: int) -> tuple[list[float], list[float]]:
    """Microseconds for each message: to filter it, and just to look at it."""
    filtering, looking = [], []
    for _ in range(rounds):
        spent = sum(_timed(lambda: filtered(messages, names)) for _ in range(repeats))
        filtering.append(spent / len(messages) / repeats)
        spent = sum(_timed(lambda: [one.marks for one in messages]) for _ in range(repeats))
        looking.append(spent / len(messages) / repeats)
    return filtering, looking


def _ratio(what: str, rival: str, sizes: str, ours: list[float], theirs: list[float], target: float | None) -> Row:
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    middle = statistics.median(ours) / statistics.median(theirs)
    note = f"{duration(statistics.median(ours))} to {duration(statistics.median(theirs))}"
    bound = None if target is None else Target("at most", target)
    return Row(what, rival, sizes, middle, "times its time", bound, note, min(ratios), max(ratios))


def _timed(work: Callable[[], object]) -> float:
    """How long it took, in microseconds, with what it made still there."""
    begun = time.perf_counter()
    made = work()
    spent = time.perf_counter() - begun
    del made
    return spent * 1e6
