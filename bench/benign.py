"""Everyday shell commands under the development policy: how often a person is asked without need, or not asked.

The corpus (`bench/corpus`) holds commands of eight kinds, each with the right answer: `allow`, or `ask` where a person
should see it. Each is judged in a session of its own, in a small repository that is made for the run, in a place that
the policy does not open by itself. First it is checked that no two commands have one shape (`bench.corpus.shapes`).
`python -m bench.benign --show [KIND ...]` lists every command that is not answered as it should be.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.corpus.shapes import duplicates
from bench.pool import progress
from bench.rows import Row, Target, save
from stanch.app.engine import Engine
from stanch.app.loading import open_engine
from stanch.surfaces.cli.policy_start import preset
from stanch.values.decision import Effect

CORPUS = Path(__file__).parent / "corpus"
LEAST = 5000
MOST_NEEDLESS = 2.0
# Temporary, and not `/tmp`: that the policy opens.
OUTSIDE = "/var/tmp"
FILES = """
.git/HEAD .git/config .gitignore Cargo.toml Dockerfile Makefile README.md docker-compose.yml go.mod package.json
package-lock.json pyproject.toml requirements.txt build/out.txt data/sizes.csv dist/bundle.js docs/api.md docs/index.md
node_modules/.bin/tsc scripts/x.py scripts/x.sh src/app/main.py src/app/utils.py src/index.ts src/lib.rs src/main.rs
tests/test_app.py
""".split()  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Everyday:
    """A command of the corpus and its right answer."""

    kind: str
    command: str
    label: Effect


@dataclass(slots=True)
class Tally:
    """How often a label of one kind got which answer, and the commands of those that differ."""

    counts: Counter[tuple[Effect, Effect]] = field(default_factory=Counter)
    others: list[str] = field(default_factory=list)

    def labelled(self, label: Effect) -> int:
        """How many commands have this label."""
        return sum(count for (given, _), count in self.counts.items() if given is label)

    def needless(self, answer: Effect) -> float:
        """Of a hundred commands to be allowed, those answered so instead."""
        return 100 * self.counts[Effect.ALLOW, answer] / (self.labelled(Effect.ALLOW) or 1)


def run(quick: bool) -> list[Row]:
    """Two rows for each kind: questions without need, and questions that were not asked."""
    corpus = checked(read_corpus())
    with repository() as folder:
        tallies = judged(open_engine(folder / "stanch.toml"), corpus)
    rows = [row for kind, tally in tallies.items() for row in _rows(kind, tally)]
    whole = Tally()
    for tally in tallies.values():
        whole.counts.update(tally.counts)
    rows += _rows("all", whole)
    save("benign", rows, quick=quick, details={kind: tally.others for kind, tally in tallies.items()})
    return rows


def read_corpus() -> list[Everyday]:
    """Every command, kind by kind."""
    found = []
    for file in sorted(CORPUS.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found.append(Everyday(file.stem.replace("_", " "), row["command"], Effect(row["label"])))
    return found


def checked(corpus: list[Everyday]) -> list[Everyday]:
    """The corpus, if it is large enough and no two of its commands differ in an operand alone."""
    same = duplicates(one.command for one in corpus)
    if same or len(corpus) < LEAST:
        raise SystemExit(f"benign: {len(corpus):,} commands, {len(same)} of the shape of another: {same[:3]}")
    return corpus


@contextmanager
def repository() -> Iterator[Path]:
    """A repository under the development policy, in a home directory of its own, until the block ends."""
    before = os.environ.get("HOME")
    with tempfile.TemporaryDirectory(dir=OUTSIDE) as name:
        home = Path(os.path.realpath(name)) / "dev"
        folder = home / "repo"
        for path in FILES:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text("one\n", encoding="utf-8")
        (folder / "stanch.toml").write_text(preset("dev"), encoding="utf-8")
        os.environ["HOME"] = str(home)
        try:
            yield folder
        finally:
            if before is None:
                del os.environ["HOME"]
            else:
                os.environ["HOME"] = before


def judged(engine: Engine, corpus: Sequence[Everyday]) -> dict[str, Tally]:
    """What the policy answers, by kind."""
    tallies: dict[str, Tally] = {}
    for number, one in enumerate(corpus):
        if number % 1000 == 0:
            progress(f"benign: {number:,} of {len(corpus):,} commands")
        decision = engine.session().check("Bash", {"command": one.command})
        tally = tallies.setdefault(one.kind, Tally())
        tally.counts[one.label, decision.effect] += 1
        if decision.effect is not one.label:
            why = f"{decision.reason.code.value} {decision.reason.subject} {decision.reason.detail}".rstrip()
            tally.others.append(f"{one.label.value}, answered {decision.effect.value}: {one.command!r} ({why})")
    return tallies


def _rows(kind: str, tally: Tally) -> Iterator[Row]:
    allow, ask = tally.labelled(Effect.ALLOW), tally.labelled(Effect.ASK)
    asked, denied = tally.counts[Effect.ALLOW, Effect.ASK], tally.counts[Effect.ALLOW, Effect.DENY]
    missed = tally.counts[Effect.ASK, Effect.ALLOW]
    share = 100 * missed / (ask or 1)
    shown = f"{allow - asked - denied:,} allowed, {asked} asked, {denied} denied"
    target = Target("at most", MOST_NEEDLESS)
    what = "everyday commands: "
    needless = tally.needless(Effect.ASK) + tally.needless(Effect.DENY)
    yield Row(what + "asked without need", "", f"{kind}, {allow:,}", needless, "%", target, shown)
    yield Row(what + "to be asked, and allowed", "", f"{kind}, {ask}", share, "%", None, f"{missed} of {ask}")


def main() -> None:
    """Judge the corpus and list what is not answered as it should be."""
    parser = argparse.ArgumentParser(prog="python -m bench.benign", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--show", nargs="*", metavar="KIND", default=None, help="list them, of all kinds or these")
    chosen = parser.parse_args()
    with repository() as folder:
        tallies = judged(open_engine(folder / "stanch.toml"), checked(read_corpus()))
    for kind, tally in tallies.items():
        for row in _rows(kind, tally):
            print("  ".join(row.cells()))
        if chosen.show is not None and (not chosen.show or kind in chosen.show):
            print("".join(f"    {one}\n" for one in tally.others), end="")


if __name__ == "__main__":
    main()
