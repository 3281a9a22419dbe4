"""Reasoning items of the responses dialect: several texts and one proof become one part, and come apart again.

Settles where one text of an item ends and the next begins: the `extra` holds how long each was.
"""

from __future__ import annotations

from typing import Any

from stanch.tiers.dialects.checking import Json, copied, held, optional_words, rows, table, words
from stanch.tiers.dialects.hollow import filled, hollow
from stanch.values.message import Reasoning

_LISTS = ("summary", "content")


def read(item: Json, where: str) -> Reasoning:
    """The item's texts one after another, and what is encrypted of it as their signature. Raises `BadInput`."""
    extra = hollow(item, ("encrypted_content",))
    texts: list[str] = []
    for key in _LISTS:
        if item.get(key) is None:
            continue
        entries = []
        for at, one in enumerate(rows(item[key], f"{where}.{key}")):
            place = f"{where}.{key}[{at}]"
            entry = table(one, place)
            texts.append(words(held(entry, "text", place), f"{place}.text"))
            entries.append({**entry, "text": len(texts[-1])})
        extra[key] = entries
    proof = optional_words(item.get("encrypted_content"), f"{where}.encrypted_content")
    return Reasoning("".join(texts), proof, extra=extra)


def write(part: Reasoning) -> Json:
    """The item. A text that is longer or shorter than it was stands in the first place that held one, whole."""
    extra = part.extra or {"type": "reasoning", "id": "", "summary": [{"type": "summary_text", "text": len(part.text)}]}
    made = filled(extra, {("encrypted_content",): part.signature})
    entries: list[Any] = [entry for key in _LISTS for entry in made.get(key) or ()]
    whole = sum(entry["text"] for entry in entries) == len(part.text)
    at = 0
    for entry in entries:
        size = entry["text"] if whole else len(part.text)
        entry["text"] = part.text[at : at + size]
        at += size
    if not entries and part.text:
        made["summary"] = [{"type": "summary_text", "text": part.text}]
    if not whole:
        for key in _LISTS:
            if made.get(key):
                made[key] = [entry for entry in made[key] if entry["text"]]
    result: Json = copied(made, "item")
    return result
