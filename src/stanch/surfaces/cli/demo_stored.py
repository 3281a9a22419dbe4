"""The second scene of the demo: stored files on their way to a model, code that runs on them, and the receipts.

Settles what is stored, what the agent does with it, and what is shown of it. Does not settle what a model may have of
a stored file (`delivery`), nor how code is run (`runtime.sandbox`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from stanch.explain import visible
from stanch.runtime.scripted_reply import say, use
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import Client
from stanch.surfaces.cli.following_turn import Answering, Following

KEY, VALUE = "CARRIER_KEY", "carrier-7f3a-91bd-44c0-e2"
"""A secret of the vault, and its value, which no model is ever sent."""
_CLEAN, _CARRYING, _UNVOUCHED = "shop/parcels.csv", "shop/carrier.md", "shop/import.csv"
_PARCELS = "day,to,kilos\n2026-10-05,Leeds,1.2\n2026-11-20,Nantes,3.4\n"
PROMPT = "How heavy were our parcels, and how do we reach the carrier?"
_CODE = (
    "import csv\n"
    f"rows = list(csv.DictReader(open('{_CLEAN}')))\n"
    "print(round(sum(float(row['kilos']) for row in rows), 1), 'kilos')\n"
    f"print(open('{_CARRYING}').read())\n"
)
_OUT = (
    "import socket\n"
    "try:\n"
    "    socket.create_connection(('192.0.2.1', 443), timeout=5)\n"
    "    print('sent')\n"
    "except OSError as why:\n"
    "    print('no way out:', why.strerror)\n"
)
STEPS = (
    use("files_read", path=_CARRYING, saying="I will read what is stored of the carrier."),
    use("files_read", path=_UNVOUCHED, saying="And what was imported."),
    use("run_code", code=_CODE, mounts=[_CLEAN, _CARRYING], saying="Now I add the weights up."),
    use("run_code", code=f"print(open('{_UNVOUCHED}').read())", mounts=[_UNVOUCHED]),
    use("run_code", code=_OUT, saying="Can I reach the network from there?"),
    say("4.6 kilos in all. The carrier takes a key, which I was not shown."),
)
_SHOWN_LINES = 6


def store(client: Client) -> None:
    """Puts a secret into the vault and three files into the store: one clean, one that carries the secret, and one of
    which the program that wrote it could not say what it carries.
    """
    client.put(f"/api/vault/{KEY}", {"value": VALUE})
    _write(client, _CLEAN, _PARCELS, {})
    _write(client, _CARRYING, f"# Carrier\n\nSend the header `X-Key: {VALUE}`.\n", {"Stanch-Secrets": KEY})
    lost = {"Stanch-Secrets": KEY, "Stanch-Secrets-Complete": "no"}
    _write(client, _UNVOUCHED, "day,note\n2026-11-02,see the old system\n", lost)


def play(client: Client, answering: Answering, sent: list[bytes], heading: Callable[[str], None]) -> bool:
    """Plays the scene, and prints it; true where it went as it should."""
    heading("Stored files: what a model may have of them, item by item.")
    terminal.out(terminal.dimmed(f"{_CARRYING} carries {KEY}; nobody can say what {_UNVOUCHED} carries"))
    store(client)
    before = len(sent)
    session = str(client.post("/api/sessions", {"agent_id": "bookkeeper", "source": "cli"})["id"])
    following = Following(client, session, answering)
    terminal.out(f"> {PROMPT}")
    done = following.say(PROMPT)
    _show_results(client, session)
    found = sum(VALUE.encode() in one for one in sent[before:])
    terminal.out(f"\n  requests that held the value of {KEY}: {found}")
    heading(f"The receipts: stanch audit who-saw {KEY}")
    _show_receipts(client)
    return bool(done["state"] == "completed" and not found)


def _write(client: Client, path: str, text: str, headers: Mapping[str, str]) -> None:
    body = json.dumps({"content": text}).encode()
    at = f"/api/files/text/{quote(path)}"
    with client.opened("PUT", at, body, {"Content-Type": "application/json", **headers}, 30.0) as answer:
        answer.read()


def _show_results(client: Client, session: str) -> None:
    """Prints what the model was given for each of its calls."""
    terminal.out("\n  What the model was given:")
    for message in client.page(f"/api/sessions/{session}/messages", limit=100):
        for part in message.get("parts", ()):
            if part.get("type") == "result":
                _show_result(part)


def _show_result(part: Mapping[str, Any]) -> None:
    text = "".join(str(one.get("text", "")) for one in part.get("content", ()))
    lines = [line for line in text.split("\n") if line.strip(" {}")]
    terminal.out(f"  {visible(str(part.get('tool')))}")
    for line in lines[:_SHOWN_LINES]:
        terminal.out(terminal.dimmed(f"      {visible(line)}"))
    if len(lines) > _SHOWN_LINES:
        more = len(lines) - _SHOWN_LINES
        terminal.out(terminal.dimmed(f"      and {more} {'line' if more == 1 else 'lines'} more"))


def _show_receipts(client: Client) -> None:
    told = client.get("/api/audit/who-saw", secret=KEY)
    for one in told["sightings"]:
        item = one["item"] or "its label alone"
        what = ", ".join(one["operations"])
        terminal.out(f"  {visible(str(one['model']))}  {visible(str(item))}  {one['form']}  ({visible(what)})")
    chain = client.get("/api/audit/verify")
    terminal.out(f"  the log of it is {'whole' if chain['holds'] else 'broken'}: {chain['intact']:,} rows")
