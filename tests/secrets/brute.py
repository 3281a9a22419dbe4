"""What an occurrence is, by trying every form at every place: slow, short, and with none of the engines' code.

Escapes are undone here one byte after the other, into a list of (byte, where it begins, where it ends) triples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
HEX = b"0123456789abcdefABCDEF"
NAMED = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
Forms = Mapping[bytes, tuple[tuple[str, ...], bool]]
Spans = list[tuple[int, int, str]]


def hits(forms: Forms, data: bytes) -> list[tuple[int, int, tuple[str, ...]]]:
    """Every occurrence of every form, and of every form that is escaped."""
    found = [(start, end, names) for start, end, names, _ in whole_hits(forms, data)]
    kinds = (percent, unit, reference)
    for undo in (*kinds, line_break):
        read = list(reading(data, undo))
        text = bytes(byte for byte, _, _, _ in read)
        inner = escapes(data, undo)
        for at, last, names, breaks in whole_hits(forms, text) if inner else ():
            if undo is not line_break or breaks:
                start, end = read[at][1], read[last - 1][2]
                if any(start <= begin and stop <= end for begin, stop in inner):
                    found.append((start, end, names))
    inner = [one for undo in kinds for one in escapes(data, undo)]
    return [(*whole(start, end, inner), names) for start, end, names in found]


def whole_hits(forms: Forms, data: bytes) -> Iterator[tuple[int, int, tuple[str, ...], bool]]:
    for form, (names, breaks) in forms.items():
        start = data.find(form)
        while start >= 0:
            yield start, start + len(form), names, breaks
            start = data.find(form, start + 1)


def whole(start: int, end: int, inner: list[tuple[int, int]]) -> tuple[int, int]:
    """The stretch with the whole of each escape that one of its edges lies in."""
    first = min([begin for begin, stop in inner if begin < start < stop], default=start)
    last = max([stop for begin, stop in inner if begin < end < stop], default=end)
    return (start, end) if (first, last) == (start, end) else whole(first, last, inner)


def spans(forms: Forms, data: bytes) -> Spans:
    """What all hits cover: those that overlap together, named by the longest of those that begin first."""
    merged: Spans = []
    for start, end, names in sorted(hits(forms, data), key=lambda hit: (hit[0], -hit[1], hit[2])):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]), merged[-1][2])
        else:
            merged.append((start, end, names[0]))
    return merged


def projected(forms: Forms, data: bytes) -> bytes:
    """The bytes with `{{NAME}}` for each span."""
    out, at = b"", 0
    for start, end, name in spans(forms, data):
        out += data[at:start] + b"{{" + name.encode() + b"}}"
        at = end
    return out + data[at:]


def escapes(data: bytes, undo: object) -> list[tuple[int, int]]:
    """Where the escapes of one kind stand."""
    found, at = [], 0
    while at < len(data):
        one = undo(data, at)  # type: ignore[operator]
        if one is None:
            at += 1
        else:
            found.append((at, one[0]))
            at = one[0]
    return found


def reading(data: bytes, undo: object) -> Iterator[tuple[int, int, int, bool]]:
    """The bytes that are read, each with where it stands, and whether it was escaped."""
    at = 0
    while at < len(data):
        one = undo(data, at)  # type: ignore[operator]
        if one is None:
            yield data[at], at, at + 1, False
            at += 1
        else:
            end, meant = one
            yield from ((byte, at, end, True) for byte in meant)
            at = end


def percent(data: bytes, at: int) -> tuple[int, bytes] | None:
    digits = data[at + 1 : at + 3]
    if data[at] == ord("%") and len(digits) == 2 and all(digit in HEX for digit in digits):
        return at + 3, bytes.fromhex(digits.decode())
    return None


def unit(data: bytes, at: int) -> tuple[int, bytes] | None:
    first = _one_unit(data, at)
    if first is None:
        return None
    end, code = first
    second = _one_unit(data, end) if 0xD800 <= code < 0xDC00 else None
    if second is not None and 0xDC00 <= second[1] < 0xE000:
        return second[0], chr(0x10000 + ((code - 0xD800) << 10) + second[1] - 0xDC00).encode()
    return end, chr(code).encode("utf-8", "surrogatepass")


def _one_unit(data: bytes, at: int) -> tuple[int, int] | None:
    for slashes in (3, 2, 1):
        digits = data[at + slashes + 1 : at + slashes + 5]
        begins = data[at : at + slashes + 1] == b"\\" * slashes + b"u"
        if begins and len(digits) == 4 and all(digit in HEX for digit in digits):
            return at + slashes + 5, int(digits, 16)
    return None


def reference(data: bytes, at: int) -> tuple[int, bytes] | None:
    end = data.find(b";", at, at + 11)
    if data[at] != ord("&") or end < 0:
        return None
    inner = data[at + 1 : end]
    if inner in NAMED:
        return end + 1, NAMED[inner]
    if inner[:2] in (b"#x", b"#X") and 3 <= len(inner) <= 8 and all(digit in HEX for digit in inner[2:]):
        code = int(inner[2:], 16)
    elif inner[:1] == b"#" and 2 <= len(inner) <= 8 and inner[1:].isdigit():
        code = int(inner[1:])
    else:
        return None
    return end + 1, chr(code).encode("utf-8", "surrogatepass") if code < 0x110000 else data[at : end + 1]


def line_break(data: bytes, at: int) -> tuple[int, bytes] | None:
    before = data[max(0, at - 24) : at]
    if len(before) < 24 or not all(letter in LETTERS for letter in before):
        return None
    for text in (b"\r\n", b"\n", rb"\r\n", rb"\n"):
        if data.startswith(text, at):
            end = at + len(text)
            while end < len(data) and data[end] in b" \t" and end < at + len(text) + 8:
                end += 1
            return end, b""
    return None
