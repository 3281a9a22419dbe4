"""A process that imports a file: `python -m tests.content.importing URL FILE ROWS HOW`.

It makes a CSV file of so many rows and imports it as a workflow that knows all of its secrets. HOW is `whole`, or
`half`: then it says so when it is there, and waits to be killed. At the end it says in JSON what came of it, and how
much memory it had at most before and after, in MiB.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

from stanch.app.content_writing import Declared, Said
from stanch.content.access import Access
from stanch.delivery.admit import Delivery
from stanch.provenance.seals import Seals
from stanch.provenance.states import WORKSPACE, Entry
from stanch.secrets.sealing import Key, KeyRing
from stanch.secrets.text import Secret
from stanch.storage.blobs import Blobs
from stanch.storage.content_store import ContentStore
from stanch.storage.store import Store
from stanch.values.identity import Principal, PrincipalKind
from stanch.values.records import Actor
from tests.content.imported import sent

VALUE = "pk-live-8c1f27a0b94d4e63/Q+x7Zt9"
TYPES = {"id": "integer", "amount": "number", "day": "date"}


def access(store: Store, told: object = None) -> Access:
    """The access of a workflow."""
    ring = KeyRing([Key(b"k" * 32)])
    more = {} if told is None else {"told": told}
    return Access(
        delivery=Delivery(Principal(PrincipalKind.EXECUTOR, "nightly")),
        stores=ContentStore(store),
        blobs=Blobs(None),
        seals=Seals(lambda: ring),
        writing=Said(Declared(("KEY",), True), [Entry("KEY", WORKSPACE, Secret(VALUE))]),
        by=Actor("nightly", "test"),
        root="/repo",
        **more,  # type: ignore[arg-type]
    )


def write(path: Path, count: int) -> None:
    """Makes the file; in its last row stands the secret."""
    with path.open("w", encoding="utf-8") as file:
        file.write("id,name,amount,day\n")
        for at in range(count - 1):
            file.write(f"{at},name {at},{at / 8},2024-01-{1 + at % 28:02d}\n")
        file.write(f"{count},{VALUE},0,2024-01-01\n")


def peak() -> float:
    """How much memory this process had at most, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(url: str, path: Path, count: int, how: str) -> None:
    """Imports the file."""
    write(path, count)
    store = Store.open(url)
    store.migrate()

    def told(done: int, of: int | None) -> None:
        if how == "half" and of is not None and done > of // 2:
            sys.stdout.write("half\n")
            sys.stdout.flush()
            sys.stdin.read()

    before, began = peak(), time.process_time()
    with path.open("rb") as file:
        done = sent(access(store, told), "t", "a.csv", file, create=True, types=TYPES)
    seconds = time.process_time() - began
    said = {"rows": done.rows, "before": before, "after": peak(), "per_second": done.rows / seconds}
    sys.stdout.write(json.dumps(said) + "\n")
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    sys.stdout.flush()
    os._exit(0)
