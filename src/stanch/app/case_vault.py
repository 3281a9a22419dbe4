"""Cases about the vault: what is set, revoked and forgotten in turn, and what is taken out of texts then.

Settles when such a case fails. Does not settle its keys (`app.case_vaults`). Whatever a step says, it is looked at that
no value of the case stands in what is told of the step, in the list of names, in an audit row, or in the store's file.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stanch.app.case_records import Case, Vaulting, VaultStep
from stanch.app.case_told import Mismatch
from stanch.app.projecting import Projecting
from stanch.app.vault import Vault
from stanch.secrets.sealing import Key, KeyRing
from stanch.secrets.text import Secret
from stanch.storage.store import Store
from stanch.values.fault import BadFields, BadInput, BrokenRow, Conflict, Fault, NotFound
from stanch.values.records import Actor, Broken
from stanch.values.vault import SecretScope

SHORT = 8
_BY = Actor("ada", "case")
_DONE = "done"
_SEAL = re.compile(r"s1\.[0-9a-f]+\.[\w-]+")


def played(case: Case, act: Vaulting) -> Iterator[Mismatch]:
    """Everything that came out otherwise than the case says."""
    given = case.given.get("secrets", {})
    with tempfile.TemporaryDirectory(prefix="stanch-case-") as folder:
        world = _World(Path(folder))
        try:
            for name, value in given.items():
                world.set(name, {"value": value})
            for step in act.steps:
                about = f"{step.does} (line {step.line}): "
                yield from (Mismatch(f"{about}{wanted}", got) for wanted, got in world.step(step))
        finally:
            world.close()


class _World:
    """A vault with its store and its keys, and whoever projects by it."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "vault.db"
        self._store = Store.open(f"sqlite:///{self._file}")
        self._store.migrate()
        self._keys = [_key(0)]
        self._values: set[str] = set()
        self._open()

    def _open(self) -> None:
        """As a process does that begins with what there is."""
        ring = KeyRing(self._keys) if self._keys else None
        self._vault = Vault(self._store, ring)
        self._projecting = Projecting(self._vault)

    def close(self) -> None:
        self._store.close()

    def step(self, step: VaultStep) -> Iterator[Mismatch]:
        does, name, row = step.does, step.name, step.row
        if does == "text":
            yield from self._text(name, row)
            return
        if does in ("names", "revoked", "unreadable"):
            got = sorted(getattr(self, f"_{does}")())
            if got != (wanted := sorted(name)):
                yield Mismatch(repr(wanted), repr(got))
            return
        done, said = _outcome(lambda: getattr(self, does)(name, row))
        if done != (wanted := row.get("expect", _DONE)):
            yield Mismatch(str(wanted), f"{done}: {said}")
        yield from (Mismatch(f"says {word!r}", said) for word in row.get("says", ()) if word not in said)
        if not row.get("says") and done == _DONE and said:
            yield Mismatch("nothing said", said)
        yield from self._silent(said)

    def set(self, name: str, row: Any) -> str:
        self._values.add(row["value"])
        scope = SecretScope(row.get("scope", "workspace"))
        kept = self._vault.set(
            name, Secret(row["value"]), note=row.get("note"), owner=row.get("owner"), scope=scope, by=_BY
        )
        return "; ".join(kept.warnings)

    def revoke(self, name: str, _: Any) -> str:
        self._vault.revoke(name, by=_BY)
        return ""

    def forget(self, name: str, _: Any) -> str:
        self._vault.forget(name, by=_BY)
        return ""

    def forget_unreadable(self, count: int, _: Any) -> str:
        self._vault.forget_unreadable(count, by=_BY)
        return ""

    def key(self, word: str, _: Any) -> str:
        """`lost`: there is none. `new`: another one goes first. `alone`: only the first is left. `back`: the first."""
        match word:
            case "lost":
                self._keys = []
            case "new":
                self._keys = [_key(len(self._keys) + 1), *self._keys]
            case "alone":
                self._keys = self._keys[:1]
            case _:
                self._keys = [_key(0)]
        self._open()
        return ""

    def reseal(self, _: Any, __: Any) -> str:
        self._vault.reseal(by=_BY)
        return ""

    def restart(self, _: Any, __: Any) -> str:
        self._open()
        return ""

    def move(self, name: str, row: Any) -> str:
        """Puts the sealed value of one secret into the row of another, as a person with a database client does."""
        rows = self._store.vault_values()[1]
        first, second = (next(one for one in rows if one.name == which) for which in (name, row["to"]))
        self._store.reseal_vault_values({second.id: (second.sealed, first.sealed)}, by=_BY, detail={})
        return ""

    def _text(self, text: str, row: Any) -> Iterator[Mismatch]:
        """What a model would be sent of a text; `stops`: nothing is sent, and no word of it is told."""
        try:
            got = self._projecting.projector().text(text)
        except BrokenRow as why:
            if not row.get("stops"):
                yield Mismatch(row.get("becomes", text), f"nothing is sent: {why}")
            if self._values and text in str(self._projecting.told(text)):
                yield Mismatch("no word of it where nobody can tell", text)
            yield from self._silent(str(why))
            return
        if row.get("stops"):
            yield Mismatch("nothing is sent", got)
        elif got != (wanted := row.get("becomes", text)):
            yield Mismatch(repr(wanted), repr(got))
        elif (told := self._projecting.told(text)) != got:
            yield Mismatch(f"a failure tells {got!r}", repr(told))

    def _names(self) -> list[str]:
        return [one.id if isinstance(one, Broken) else one.name for one in self._vault.names().items]

    def _revoked(self) -> list[str]:
        items = self._vault.names().items
        return [one.name for one in items if not isinstance(one, Broken) and one.revoked_at is not None]

    def _unreadable(self) -> list[str]:
        return [f"{one.id.partition('.')[0]}: {one.problem}" for one in self._vault.unreadable()]

    def _silent(self, said: str) -> Iterator[Mismatch]:
        """No value of eight characters or more is told, listed, noted or stored as it is."""
        rows = self._store.list_audit(limit=500).items
        stored = self._file.read_bytes().decode("latin-1")
        places = {"what is said": said, "the list": repr(self._vault.names()), "an audit row": repr(rows)}
        for value in self._values:
            for place, text in {**places, "the store": _SEAL.sub("", stored)}.items():
                if len(value) >= SHORT and value in text:
                    yield Mismatch(f"{place} without a value", "it holds one")


def _key(number: int) -> Key:
    return Key(bytes([number]) * 32)


def _outcome(do: Callable[[], str]) -> tuple[str, str]:
    """What came of a step, in a word, and what was said."""
    try:
        return _DONE, do()
    except NotFound as why:
        return "unknown", str(why)
    except Conflict as why:
        return "conflict", str(why)
    except BadFields as why:
        return "invalid", "; ".join(message for _, message in why.fields)
    except BadInput as why:
        return "invalid", str(why)
    except BrokenRow as why:
        return "stopped", str(why)
    except Fault as why:
        return type(why).__name__, str(why)
