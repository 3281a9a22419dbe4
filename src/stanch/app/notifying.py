"""Telling others of new requests for approval: one signed POST for each, to the address that the policy names.

Settles what is sent, when it is sent again, and when nobody is told any more. INVARIANT: no argument of a call is sent,
and no request waits for this. Does not settle which request is whose to tell (`storage.telling`).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from stanch.app.live import Live
from stanch.policy.document import Webhook
from stanch.storage.store import Store
from stanch.storage.watching import Watch
from stanch.values.approval import ApprovalRecord
from stanch.values.fault import StoreUnreadable
from stanch.values.records import Actor

WAITS = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Seconds before each further try; after the last, nobody is told."""
SECONDS = 5.0
HOLD = timedelta(seconds=30)
_LOOK = 1.0
_BY = Actor("stanch", "webhook")
_LOG = logging.getLogger(__name__)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """What `Stanch-Signature` says of a body that was sent at this time, in seconds since 1970."""
    digest = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"v1={digest.hexdigest()}"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for the failure that it is: what was signed is for the address that the policy names."""

    def redirect_request(self, *_: Any) -> None:
        """Follows none."""
        return


_OPENER = urllib.request.build_opener(_NoRedirect)


class Notifier:
    """A thread that tells others of requests, once it was started. `waits` are the seconds between tries.

    `tell` makes of words what may leave this machine.
    """

    def __init__(
        self,
        store: Store,
        live: Live,
        waits: tuple[float, ...] = WAITS,
        *,
        tell: Callable[[str], str] = lambda words: words,
    ) -> None:
        self._store, self._live, self.waits, self._tell = store, live, waits, tell
        self._address: str | None = None
        self._bell, self._stopped = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._watch: Watch | None = None
        self._lacking: set[str] = set()

    def start(self, address: str | None = None) -> None:
        """Starts to tell. `address` is where this server answers, to which what is told leads back."""
        self._address = address
        self._thread = threading.Thread(target=self._run, name="stanch-webhook", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends it, after the POST that is under way. Safe to repeat."""
        self._stopped.set()
        self._bell.set()
        if self._thread is not None:
            self._thread.join(SECONDS + 1)
            self._thread = None
        if self._watch is not None:
            self._watch.stop()

    def _run(self) -> None:
        while not self._stopped.is_set():
            webhook = self._live.policy.webhook if self._live.policy.broken is None else None
            try:
                self._listen(webhook)
                secret = None if webhook is None else self._secret(webhook)
                if webhook is not None and secret is not None:
                    while not self._stopped.is_set() and self._tell_one(webhook, secret):
                        pass
            except StoreUnreadable:
                pass  # WHY: the store may be back the next time; what is not told is told then
            except Exception as error:  # this thread has to go on, whatever it met
                _LOG.error("telling of requests failed with %s", type(error).__name__)
            self._bell.wait(_LOOK)
            self._bell.clear()

    def _listen(self, webhook: Webhook | None) -> None:
        if webhook is not None and (self._watch is None or not self._watch.running):
            self._watch = self._store.watch(lambda _: self._bell.set())

    def _secret(self, webhook: Webhook) -> str | None:
        """The key of the signatures. Where there is none nothing is sent, which the log says once."""
        secret = os.environ.get(webhook.secret_env)
        if secret:
            return secret
        if webhook.secret_env not in self._lacking:
            _LOG.error("no request is told: the environment has no %s", webhook.secret_env)
            self._store.append_audit(action="webhook.no_secret", subject=webhook.secret_env, by=_BY)
            self._lacking.add(webhook.secret_env)
        return None

    def _tell_one(self, webhook: Webhook, secret: str) -> bool:
        """Tells the next request, if there is one that this process may tell."""
        claimed = self._store.claim_untold(HOLD)
        if claimed is None:
            return False
        approval, tries = claimed
        problem = _sent(webhook.url, secret, self._said(approval))
        if problem is None:
            self._store.told(approval.request_id)
        elif tries > len(self.waits):
            self._store.stop_telling(approval.request_id, why=problem, tries=tries, by=_BY)
        else:
            self._store.tell_later(approval.request_id, timedelta(seconds=self.waits[tries - 1]))
        return True

    def _said(self, approval: ApprovalRecord) -> Mapping[str, Any]:
        """What is told of a request: names, and the sentence that says why it asks. Never an argument."""
        path = f"/api/inbox/approvals/{approval.request_id}"
        return {
            "request_id": approval.request_id,
            "session_id": approval.session_id,
            "agent_id": self._tell(approval.agent_id),
            "tool": self._tell(approval.tool_name),
            "sentence": self._tell(approval.reason.get("sentence", "")),
            "created_at": approval.created_at.isoformat(),
            "expires_at": None if approval.expires_at is None else approval.expires_at.isoformat(),
            "url": None if self._address is None else self._address + path,
        }


def _sent(url: str, secret: str, said: Mapping[str, Any]) -> str | None:
    """Sends it; returns what went wrong in a word or two, None where it was taken."""
    body, timestamp = json.dumps(said).encode(), str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "stanch",
        "Stanch-Timestamp": timestamp,
        "Stanch-Signature": signature(secret, timestamp, body),
    }
    try:
        request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310 - see the next line
        if request.type not in ("http", "https"):
            return "no http address"
        with _OPENER.open(request, timeout=SECONDS):
            return None
    except urllib.error.HTTPError as error:
        with error:
            return f"status {error.code}"
    except Exception as error:  # whatever the other side, its name or its certificate did
        return type(error).__name__
