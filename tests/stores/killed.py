"""A process that changes a store for as long as it lives."""

from __future__ import annotations

from dataclasses import replace
from multiprocessing.connection import Connection

from stanch.storage.store import Store
from stanch.values.context import RunContext
from stanch.values.decision import Effect
from stanch.values.records import Actor, RuleFields
from tests.stores.places import new_session

RULE_NOTE = "rewritten over and over"


def work(url: str, name: str, started: Connection) -> None:
    """Makes one change after the other, and says when it made the first. Each writes its number wherever it can."""
    by = Actor(name, "child")
    store = Store.open(url)
    store.migrate()
    session = new_session(store, session_id=name, by=by)
    rule = store.create_rule(RuleFields(tool_pattern="x", action=Effect.ALLOW, note=RULE_NOTE), by=by)
    number = 0
    while True:
        number += 1
        if number % 3 == 1:
            store.duplicate_group("default", new_id=f"{name}-{number}", new_name=str(number), by=by)
        store.update_rule(rule.id, replace(rule, priority=number, path_pattern=f"p{number}"), by=by)
        store.set_run_context(session.id, RunContext(f"g{number}", (), (f"w{number}",), (), f"/{number}"), by=by)
        store.append_audit(action="child.counted", subject=str(number), by=by)
        if number % 3 == 0:
            store.delete_group(f"{name}-{number - 2}", by=by)
        if number == 1:
            started.send(number)
