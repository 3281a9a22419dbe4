"""An approval, from the request to the release of its call, beside one committed write of the same store.

Both are on an embedded store in a directory of their own. The path measured is what stands between a call that asks and
its start: the request stored, a person's answer stored, the call judged again and moved to running. What is not in it
is the person. The rival is the least that any stored change takes: one transaction with its audit row. They are done in
turn, round after round. First it is checked that the call really waits, is released once, and refused a second time.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

from bench.pool import progress
from bench.rows import Row, Target, duration, save
from stanch.app.service import Service
from stanch.storage.store import Store
from stanch.values.approval import CallState
from stanch.values.fault import Conflict
from stanch.values.identity import Principal, PrincipalKind, Source
from stanch.values.records import Actor

ROUNDS = {True: 60, False: 400}
BENCH = Actor("bench", "bench")
ARGUMENTS = {"command": "make deploy"}


def run(quick: bool) -> list[Row]:
    """The row, with the median of the rounds."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(os.path.realpath(name))
        store = Store.open(f"sqlite:///{root / 'stanch.db'}")
        store.migrate()
        (root / "workspace").mkdir()
        service = Service.open(store=store, policy=None, workspace=root / "workspace", alone=True)
        try:
            principal = Principal(PrincipalKind.DELEGATED, "bench", "copilot")
            session = service.sessions.create(agent_id="a", source=Source.API, principal=principal, by=BENCH).id
            _check(service, session)
            progress("approval: rounds")
            ratios, approvals, writes = [], [], []
            for _ in range(ROUNDS[quick]):
                write = _timed(lambda: store.append_audit(action="bench.write", subject="bench", by=BENCH))
                approval = _timed(lambda: _approved(service, session))
                ratios.append(approval / write)
                approvals.append(approval)
                writes.append(write)
        finally:
            service.close()
            store.close()
    took = statistics.median(approvals) / statistics.median(writes)
    rows = [
        Row(
            "an approval, from request to release",
            "one committed write of the store",
            "embedded store",
            took,
            "times",
            Target("at most", 4.0),
            f"{duration(statistics.median(approvals))}; a write {duration(statistics.median(writes))}",
            statistics.quantiles(ratios, n=10)[0],
            statistics.quantiles(ratios, n=10)[-1],
        )
    ]
    save("approval", rows, quick=quick)
    return rows


def _approved(service: Service, session: str) -> str:
    submitted = service.calls.submit(session, "execute_cmd", ARGUMENTS, by=BENCH)
    assert submitted.approval is not None
    service.approving.approve(submitted.approval.request_id, by=BENCH)
    service.calls.start(submitted.call.id, by=BENCH)
    return submitted.call.id


def _check(service: Service, session: str) -> None:
    submitted = service.calls.submit(session, "execute_cmd", ARGUMENTS, by=BENCH)
    assert submitted.approval is not None
    assert submitted.call.state is CallState.AWAITING_APPROVAL
    try:
        service.calls.start(submitted.call.id, by=BENCH)
    except Conflict:
        pass
    else:
        raise AssertionError("a call ran that nobody approved")
    service.approving.approve(submitted.approval.request_id, by=BENCH)
    assert service.calls.start(submitted.call.id, by=BENCH).call.state is CallState.RUNNING
    try:
        service.calls.start(submitted.call.id, by=BENCH)
    except Conflict:
        return
    raise AssertionError("a call ran twice")


def _timed(work: object) -> float:
    begun = time.perf_counter()
    work()  # type: ignore[operator]
    return (time.perf_counter() - begun) * 1e6
