"""A process with one way to find secrets in it: `python -m bench.secrets_worker WAY FOLDER COUNT KIND MEGABYTES`.

It speaks JSON lines, as `bench.worker` does: first how long it took to be ready, then one answer to each order. Each
timing is of CPU time, with `bytes.find` of one absent needle timed beside it, in the same process and moment.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

NEEDLE = b"kKVVp0INinFbgwGz"
OURS = {"stanch": "vectors", "stanch, standard library alone": "grams"}


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def ours(name: str, known: dict[str, str], kind: str) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """How our matcher is made and asked. The forms of a secret are kept with it, so they are made before."""
    from stanch.secrets.budget import Budget
    from stanch.secrets.engines import engines
    from stanch.secrets.known import joined
    from stanch.secrets.matcher import Layer, Matcher
    from stanch.secrets.text import Secret

    engine = next(one for one in engines() if one.name == name)
    forms: Any = {value.encode(): ((key,), False) for key, value in known.items()}
    if kind == "enc":
        forms = joined((key, Secret(value)) for key, value in known.items())
    return (
        lambda: Matcher([Layer(forms, engine)], Budget(), (), engine, escapes=kind == "enc"),
        lambda matcher: lambda data: [(start, -end) for start, end, _ in matcher.find(data)],
    )


def covered(found: Any, size: int) -> str:
    """A digest of what all pairs cover together."""
    if not found:
        return "nothing"
    cover = bytearray(size)
    for start, end in found:
        cover[start:end] = b"\1" * (end - start)
    return hashlib.sha256(cover).hexdigest()


def main() -> None:
    way, folder, count, kind, megabytes = sys.argv[1:]
    row = json.loads((Path(folder) / f"{count}.json").read_text(encoding="utf-8"))
    data = (Path(folder) / f"{count}-{megabytes}.log").read_bytes()
    patterns = [bytes.fromhex(one) for one in row[kind]]
    make, ask = (
        ours(OURS[way], row["secrets"], kind)
        if way in OURS
        else (lambda: import_module("bench.rivals.matchers").MADE[way](patterns), lambda found: found)
    )
    before, start = resident_megabytes(), time.process_time()
    made = make()
    find = ask(made)
    find(data[:1000])
    answer: dict[str, Any] = {
        "seconds": time.process_time() - start,
        "megabytes": resident_megabytes() - before,
        "patterns": len(patterns),
    }
    while True:
        print(json.dumps(answer), flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        order = json.loads(line)
        part = data[: order["size"]]
        if order["do"] == "check":
            answer = {"covered": covered(list(find(part)), len(part))}
            continue
        repeats = order.get("repeats", 1)
        start = time.process_time()
        for _ in range(repeats):
            part.find(NEEDLE)
        floor = time.process_time() - start
        start = time.process_time()
        for _ in range(repeats):
            find(part)
        answer = {"floor": floor / repeats, "seconds": (time.process_time() - start) / repeats, "size": len(part)}


if __name__ == "__main__":
    main()
