"""The organization's rules as this process has them: fetched in a thread, kept for a while, told to whoever judges.

Settles when they are fetched, again and again, and what is known of them at each moment. Does not settle how one try
goes (`app.organization_fetching`), nor what the rules say of a call (`policy.organization`).
INVARIANT: no call waits for any of this.
"""

from __future__ import annotations

import logging
import random
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from stanch.app.organization_copy import CopyFile, digest_of
from stanch.app.organization_fetching import Fetch, Fetched
from stanch.policy.organization import Copy, Known, Moment, Standing, Trouble, Unfetched, age
from stanch.policy.organization_rules import meaningless

LOOK_SECONDS = 1.0
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 1.0, 60.0
_PATIENCE = 2.0
_LOG = logging.getLogger(__name__)

Clock = Callable[[], Moment]


def clock() -> Moment:
    """What this machine's clocks say."""
    return Moment(time.time(), time.monotonic())


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of the rules at one moment, for whoever looks after them. `source` holds no key of any kind.

    `why` is why the last try failed, in closed words, `age_s` how old the copy is and `until` when it expires, in
    seconds since 1970: None where there is none. `rules` counts them, `digest` tells one set from another, and `allows`
    are the numbers of rules that never say anything.
    """

    source: str
    known: Known
    words: str
    why: str
    max_age_s: float
    age_s: float | None = None
    until: float | None = None
    rules: int = 0
    digest: str = ""
    allows: tuple[int, ...] = ()


class Reader(Protocol):
    """Somebody who reads the rules: an engine."""

    def take(self, standing: Standing) -> None:
        """Takes what is known from now on."""

    def look(self) -> None:
        """Looks whether the rules still mean what they meant, now and again."""


class Organization:
    """The rules of one source. Safe to use from any thread; `close` ends the fetching, and with it the rules' use.

    `source` is what to call it. A copy holds for `max_age_s` seconds from the moment at which its fetching began.
    `kept` is where a copy outlives this process, and `copy` one that is known already. `told` hears of each change of
    what is known. With `every`, it is fetched each so many seconds; without, twice within the time that a copy holds.
    """

    def __init__(
        self,
        fetch: Fetch,
        *,
        source: str,
        max_age_s: float,
        every: float | None = None,
        kept: CopyFile | None = None,
        told: Callable[[Status], None] | None = None,
        copy: Copy | None = None,
        now: Clock = clock,
        drawn: Callable[[], float] = random.random,
    ) -> None:
        self.source, self.now = source, now
        self._fetch, self._every, self._kept, self._told, self._drawn = fetch, every, kept, told, drawn
        known = copy if copy is not None or kept is None else kept.read(now())
        self.standing = Standing(max_age_s, known)
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()
        self._changing, self._fetching, self._hearing = threading.Lock(), threading.Lock(), threading.Lock()
        self._failures, self._due = 0, now().steady
        self._heard: tuple[Known, str, str] | None = None
        self._bell, self._closed, self._tried = threading.Event(), threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> Organization:
        """Begins to fetch, now and again. Safe to repeat."""
        with self._changing:
            if self._thread is None and not self._closed.is_set():
                held = weakref.ref(self), self._bell, self._closed
                self._thread = threading.Thread(target=_run, args=held, name="stanch-organization", daemon=True)
                self._thread.start()
                # WHY: a program that lets its engines go has nobody who would close this.
                weakref.finalize(self, self._bell.set)
        return self

    def close(self) -> None:
        """Ends the fetching, and that the copy speaks. A try that is under way is not waited for. Safe to repeat."""
        self._closed.set()
        self._bell.set()
        self._tell(Standing(self.standing.max_age_s, None, Trouble.REPLACED))
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_PATIENCE)

    def __enter__(self) -> Organization:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def read_by(self, reader: Reader) -> None:
        """Tells the reader what is known, now and after each change, for as long as somebody holds it."""
        with self._changing:
            reader.take(self.standing)
            self._readers.add(reader)

    def wait(self, seconds: float) -> bool:
        """Waits until the rules have been fetched or not once, at most so many seconds; whether they were tried."""
        return self._tried.wait(seconds)

    def status(self) -> Status:
        """What is known now."""
        standing, now = self.standing, self.now()
        copy = standing.copy
        known = standing.known(now)
        said = Status(self.source, known, standing.words(now), standing.why, standing.max_age_s)
        if copy is None:
            return said
        return replace(
            said,
            age_s=age(copy, now),
            until=copy.at.wall + standing.max_age_s,
            rules=len(copy.rows),
            digest=copy.digest[:12],
            allows=meaningless(copy.rows),
        )

    def refresh(self) -> Status:
        """Fetches the rules once more, in this thread; returns what is known then."""
        with self._fetching:
            self._try()
        self._hear()
        return self.status()

    def look(self) -> None:
        """Does what is due by now: fetches, and tells of what changed, if only because a copy has expired."""
        if self.now().steady >= self._due:
            with self._fetching:
                self._try()
        for reader in list(self._readers):
            reader.look()
        self._hear()

    def _try(self) -> None:
        before, began = self.standing, self.now()
        copy, trouble = before.copy, None
        try:
            fetched = self._fetch("" if copy is None else copy.etag)
            copy = self._copied(copy, fetched, began)
        except Unfetched as why:
            trouble = why
        except Exception as error:
            _LOG.error("fetching the organization's rules failed with %s", type(error).__name__)
            trouble = Unfetched(Trouble.UNREACHABLE)
        if trouble is None and copy is not None:
            self._failures, wait = 0, self._pause(before.max_age_s)
            standing = Standing(before.max_age_s, copy)
        else:
            self._failures += 1
            wait = self._backoff(before.max_age_s)
            found = trouble or Unfetched(Trouble.UNREADABLE)
            standing = replace(before, trouble=found.trouble, detail=found.detail)
        self._due = self.now().steady + wait
        self._tell(standing)
        self._tried.set()
        if trouble is None and copy is not None and self._kept is not None and not self._closed.is_set():
            self._kept.write(copy)

    @staticmethod
    def _copied(copy: Copy | None, fetched: Fetched | None, began: Moment) -> Copy | None:
        if fetched is None:
            return None if copy is None else replace(copy, at=began)
        digest = digest_of(fetched.rows)
        # WHY the same rows: whoever has read them has nothing to do.
        rows = copy.rows if copy is not None and copy.digest == digest else fetched.rows
        return Copy(rows, digest, began, fetched.etag)

    def _pause(self, max_age_s: float) -> float:
        """Until the next try after one that went well; WHY drawn: many nodes must not ask at once."""
        return self._every if self._every is not None else max_age_s * (0.4 + 0.2 * self._drawn())

    def _backoff(self, max_age_s: float) -> float:
        """Until the next try after one that did not: twice as long each time, and several within a copy's time."""
        most = max(FIRST_RETRY_SECONDS, min(LAST_RETRY_SECONDS, max_age_s / 4))
        wait = min(most, FIRST_RETRY_SECONDS * 2.0 ** min(self._failures - 1, 16))
        wait *= 0.5 + 0.5 * self._drawn()
        return wait if self._every is None else min(wait, self._every)

    def _tell(self, standing: Standing) -> None:
        with self._changing:
            if self._closed.is_set() and standing.trouble is not Trouble.REPLACED:
                return
            for reader in list(self._readers):
                reader.take(standing)
            self.standing = standing

    def _hear(self) -> None:
        """Tells of what is known, where that is not what was told last."""
        if self._told is None:
            return
        with self._hearing:
            standing = self.standing
            digest = "" if standing.copy is None else standing.copy.digest
            heard = standing.known(self.now()), standing.why, digest
            if heard == self._heard or self._closed.is_set():
                return
            try:
                self._told(self.status())
            except Exception as error:  # it is told again the next time
                _LOG.error("a change of the organization's rules could not be told: %s", type(error).__name__)
            else:
                self._heard = heard


def _run(held: weakref.ref[Organization], bell: threading.Event, closed: threading.Event) -> None:
    while not closed.is_set():
        organization = held()
        if organization is None:
            return
        try:
            organization.look()
        except Exception as error:  # this thread has to go on, whatever it met
            _LOG.error("looking for the organization's rules failed with %s", type(error).__name__)
        del organization
        bell.wait(LOOK_SECONDS)
        bell.clear()
