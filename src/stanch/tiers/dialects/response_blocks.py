"""The blocks inside of a message of the responses dialect, and of a tool's output there.

Settles how texts, refusals, images and files are read and written. Does not settle items (`responses`).
"""

from __future__ import annotations

from stanch.tiers.dialects.checking import Json, copied, held, words
from stanch.tiers.dialects.files import ANY, IMAGE, file_by_url, write_by_url
from stanch.tiers.dialects.hollow import TAKEN, Way, filled, hollow
from stanch.values.fault import BadInput
from stanch.values.message import File, Fragment, Opaque, Part, Role, Text

_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")


def read_block(block: Json, where: str) -> Text | File | Opaque:
    """The part that a block is. Raises `BadInput` for a block of a known kind that lacks what it must have."""
    kind = words(held(block, "type", where), f"{where}.type")
    if kind in _TEXTS:
        return Text(words(held(block, "text", where), f"{where}.text"), extra=hollow(block, ("text",)))
    if kind == "refusal":
        return Text(words(held(block, kind, where), f"{where}.{kind}"), extra=hollow(block, (kind,)))
    if kind in ("input_image", "computer_screenshot"):
        return file_by_url(block, ("image_url",), block.get("image_url"), IMAGE)
    if kind == "input_file":
        key = "file_data" if isinstance(block.get("file_data"), str) else "file_url"
        return file_by_url(block, (key,), block.get(key), ANY, block.get("filename"))
    return Opaque(kind, block)


def write_block(part: Part, role: Role = Role.USER) -> Json:
    """The block of a part; one that was read from no block gets a fresh one, as who speaks there must write it."""
    match part:
        case Text() if part.extra.get("type") == "refusal":
            return filled(part.extra, {("refusal",): part.text})
        case Text() | Fragment():
            return filled(part.extra if "type" in part.extra else _fresh(part, role), {("text",): part.text})
        case Opaque():
            made: Json = copied(part.data, "data")
            return made
        case File() if part.extra:
            return write_by_url(part, _way(part))
        case File():
            kind = "input_image" if part.media_type.startswith("image/") else "input_file"
            key = "image_url" if kind == "input_image" else "file_data" if part.data is not None else "file_url"
            extra = {"type": kind, key: TAKEN, **({"detail": "auto"} if kind == "input_image" else {})}
            return write_by_url(File(part.media_type, part.data, part.url, extra=extra), (key,))
        case _:
            raise BadInput(f"a message of the responses shape cannot hold a {type(part).__name__.lower()}")


def _fresh(part: Text | Fragment, role: Role) -> Json:
    if role is Role.ASSISTANT:
        return {"type": "output_text", "text": TAKEN, "annotations": [], **part.extra}
    return {"type": "input_text", "text": TAKEN, **part.extra}


def _way(file: File) -> Way:
    if file.extra.get("type") == "input_file":
        return ("file_data",) if file.extra.get("file_data") == TAKEN else ("file_url",)
    return ("image_url",)
