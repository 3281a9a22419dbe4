"""All tries, one after the other. It is run inside; tests import the names of the tries."""

from __future__ import annotations

import json
import sys

from tests.runtime.sandbox import hostile_files, hostile_kernel, hostile_network
from tests.runtime.sandbox.hostile import AIMS, TRIES, Held

PARTS = ("hostile", "hostile_files", "hostile_kernel", "hostile_network", "hostile_run")
TRIED = (hostile_files, hostile_kernel, hostile_network)


def main() -> None:
    AIMS.update(json.loads(sys.stdin.buffer.read()))
    came: dict[str, list[object]] = {}
    for name, trying in TRIES.items():
        try:
            came[name] = [True, repr(trying())]
        except (Held, OSError, ValueError) as error:
            came[name] = [False, f"{type(error).__name__}: {error}"]
        except Exception as error:
            came[name] = [True, f"{type(error).__name__}: {error}"]
    print(json.dumps(came))


if __name__ == "__main__":
    main()
