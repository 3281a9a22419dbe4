"""The sends of a case about a conversation, as they are written.

Settles which keys a send has. Does not settle how it is carried out (`app.case_history`).
"""

from __future__ import annotations

from stanch.app.case_messages import Conversations
from stanch.app.case_records import History, Send
from stanch.app.case_yaml import Reading, Table

SEND_KEYS = ("to", "more", "answers", "quotes", "becomes", "hides", "pieces", "quoted", "asks", "unsent", "fault")


def read_history(reading: Reading, table: Table) -> History:
    """The conversation and its sends. Raises `BadInput`."""
    reading.known(table, ("messages", "sends"), "'history'")
    conversations = Conversations(reading)
    messages = conversations.messages(table, "messages")
    sends = tuple(_send(reading, conversations, row) for row in reading.tables(table, "sends"))
    if not messages or not sends:
        raise reading.wrong(table, "'history' has 'messages' and 'sends'")
    return History(messages, sends)


def _send(reading: Reading, conversations: Conversations, row: Table) -> Send:
    reading.known(row, SEND_KEYS, "a send")
    becomes = {}
    for one in reading.tables(row, "becomes"):
        at = reading.take(one, "at", int, "the number of a message")
        if at is None or at < 1:
            raise reading.wrong(one, "'at' is the number of a message, from 1")
        becomes[at] = conversations.message(one, "at")
    answers = []
    for one in reading.tables(row, "answers"):
        reading.known(one, ("path", "send", "below"), "an answer")
        send, below = (reading.take(one, key, bool, "true or false", default=False) for key in ("send", "below"))
        answers.append((reading.text(one, "path"), bool(send), bool(below)))
    counts = {}
    for key in ("pieces", "quoted"):
        found = reading.take(row, key, dict, "a table of numbers")
        if found is not None and not all(type(count) is int for count in found.values()):
            raise reading.wrong(row, f"'{key}' must hold numbers only", key)
        counts[key] = found
    return Send(
        reading.text(row, "to"),
        row.line,
        conversations.messages(row, "more"),
        tuple(answers),
        reading.take(row, "quotes", bool, "true or false", default=True),
        becomes,
        reading.texts(row, "hides"),
        counts["pieces"],
        counts["quoted"],
        reading.texts(row, "asks") if "asks" in row else None,
        reading.take(row, "unsent", int, "a number"),
        reading.take(row, "fault", str, "a text"),
    )
