"""A process is killed while it writes: what it began is there whole, or not at all, and the store opens again."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from stanch.policy.seeds import ROWS
from stanch.storage.store import Store
from stanch.values.records import AuditRecord, RuleRecord, SessionRecord
from tests.stores.killed import RULE_NOTE, work
from tests.stores.places import BY, SECONDS, Place, PostgresqlPlace, SqlitePlace, all_of

# WHY: forked from a server that has no threads and has everything imported, a process starts in milliseconds.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.stores.killed"])
LONGEST_LIFE = 0.08

ROUNDS = pytest.mark.parametrize("rounds", [40, pytest.param(1000, marks=pytest.mark.soak)])


@ROUNDS
def test_a_kill_leaves_nothing_half_written_in_sqlite(tmp_path: Path, rounds: int) -> None:
    kill_writers(SqlitePlace(str(tmp_path / "s.db")), rounds)


@ROUNDS
def test_a_kill_leaves_nothing_half_written_in_postgresql(
    new_database: Callable[[], PostgresqlPlace], rounds: int
) -> None:
    kill_writers(new_database(), rounds)


def test_a_process_killed_at_its_start_leaves_an_empty_store_or_a_whole_one(tmp_path: Path) -> None:
    for number in range(20):
        place = SqlitePlace(str(tmp_path / f"{number}.db"))
        live_and_be_killed(place, "child", random.uniform(0, 0.2), wait=False)
        store = Store.open(place.url)
        store.migrate()
        assert store.verify_audit().broken is None
        assert store.list_rules(group_id="default").total in (len(ROWS), len(ROWS) + 1)
        assert store.list_audit(action="store.seed").total == 1
        store.close()


def kill_writers(place: Place, rounds: int) -> None:
    """Kills one writer after the other, and looks at the store after each."""
    seed = random.randrange(1 << 32)
    print(f"random seed: {seed}")
    chance = random.Random(seed)
    for number in range(rounds):
        live_and_be_killed(place, f"child{number}", chance.uniform(0, LONGEST_LIFE), wait=True)
        store = Store.open(place.url)
        look(store, f"child{number}")
        store.close()


def live_and_be_killed(place: Place, name: str, life: float, *, wait: bool) -> None:
    """Starts a writer and kills it after some time, counted from its first change where `wait` is true."""
    ours, theirs = FORKS.Pipe(duplex=False)
    child = FORKS.Process(target=work, args=(place.url, name, theirs), daemon=True)
    child.start()
    theirs.close()
    if wait:
        assert ours.poll(SECONDS), "the writer never wrote"
        ours.recv()
    child.join(life)
    child.kill()
    child.join(SECONDS)
    assert child.exitcode == -9, "the writer ended by itself"
    child.close()
    ours.close()


def look(store: Store, name: str) -> None:
    """Holds the rows of the killed writer against its audit rows: each change is in both, or in neither."""
    assert store.ready().ready
    # WHY: a change waits for the one before it: behind this one, a server has done what it was last told by the dead.
    store.append_audit(action="test.look", subject=name, by=BY)
    report = store.verify_audit()
    assert report.broken is None
    assert report.intact == store.revision()

    (session,) = store.list_sessions(agent_id="coder", limit=1).items
    assert isinstance(session, SessionRecord)
    assert session.id == name
    assert session.run_context is not None
    number = int((session.run_context.security_group or "g0")[1:])
    assert session.run_context.allow_fs_writes == (f"w{number}",)
    assert session.run_context.working_directory == f"/{number}"
    assert last(store, name, "session.set_run_context").detail["security_group"] == f"g{number}"

    update = last(store, name, "rule.update")
    rule = store.get_rule(int(update.subject))
    assert isinstance(rule, RuleRecord)
    assert (rule.priority, rule.path_pattern, rule.note) == (update.detail["priority"], f"p{rule.priority}", RULE_NOTE)

    groups = {group.id for group in all_of(store.list_groups)} - {"default"}
    made = {row.subject for row in all_of(store.list_audit, action="group.duplicate", actor=name)}
    gone = {row.subject for row in all_of(store.list_audit, action="group.delete", actor=name)}
    assert groups == made - gone
    whole = store.list_rules(group_id="default").total
    for group in groups:
        assert store.list_rules(group_id=group).total == whole
        store.delete_group(group, by=BY)
    store.delete_rule(rule.id, by=BY)


def last(store: Store, actor: str, action: str) -> AuditRecord:
    """The newest audit row of this kind."""
    (row,) = store.list_audit(actor=actor, action=action, newest_first=True, limit=1).items
    assert isinstance(row, AuditRecord)
    return row
