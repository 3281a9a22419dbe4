"""What is kept of a document that is written: its bytes, its text, its chunks, and what is known of each of them.

Settles that the complete text is looked through before it is cut, and that a chunk is known to carry each secret of
which a part stands in it. Does not settle who writes what (`content.knowledge_writing`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stanch.content.access import Access, Knowing, Pieces
from stanch.content.knowledge_cutting import BETWEEN, Piece, cuts_of, joined
from stanch.content.knowledge_pieces import MOST_ORIGINAL, MOST_TEXT, pieces_of
from stanch.content.knowledge_provenance import chunk_place, chunk_version
from stanch.content.knowledge_words import words_of
from stanch.provenance.states import Exact, Provenance, merged
from stanch.secrets.telling import size_of
from stanch.storage.blobs import Blob
from stanch.storage.knowledge_records import NewChunk
from stanch.values.fault import BadFields, Conflict

TOLD_EACH = 200
_LONGER = 8
"""How many times longer than a secret any form of it is, at most."""
_FARTHEST = 50_000


@dataclass(frozen=True, slots=True)
class Body:
    """A document as it came, whose bytes are kept, and its text in pieces, which is kept as `written`."""

    original: Blob
    pieces: tuple[Piece, ...]
    text: str
    written: Blob
    provenance: Provenance


def body_of(access: Access, chunks: Iterable[bytes], knowing: Knowing) -> Body:
    """Keeps the bytes of a document and its text, which nothing names yet, with what is known of both.

    Raises `BadInput` for one that is too long, or has no text.
    """
    original = access.blobs.put(chunks, most=MOST_ORIGINAL)
    with access.blobs.open(original.digest) as file:
        pieces = pieces_of(file, access.cancelled)
    text = joined(pieces)
    if not text.strip():
        raise BadFields(("text", "a document must have some text"))
    # WHY pieces too: what stands between two of them is ours.
    known = [knowing(text), *(knowing(piece.text) for piece in pieces if len(pieces) > 1)]
    known += [knowing(sheet) for sheet in {piece.sheet for piece in pieces} if sheet is not None]
    written = access.blobs.put([text.encode()], most=MOST_TEXT)
    if written.digest != original.digest:
        known.append(knowing(Pieces(access.blobs.chunks(original.digest))))
    return Body(original, pieces, text, written, merged(known))


def chunks_of(access: Access, document_id: str, body: Body, knowing: Knowing) -> tuple[NewChunk, ...]:
    """The chunks of a document. Raises `Conflict` where nobody waits for it any more."""
    cuts, chunks = tuple(cuts_of(body.pieces)), []
    far = _far(body.provenance)
    for number, cut in enumerate(cuts):
        if access.cancelled.is_set():
            raise Conflict("nobody waits for the document any more; nothing was kept")
        text = body.text[cut.start : cut.stop]
        known = body.provenance
        # WHY only then: of a text in which nothing was found, no part holds anything.
        if isinstance(known, Exact) and known.entries and far <= _FARTHEST:
            around = body.text[max(0, cut.start - far) : cut.stop + far]
            known = merged(knowing(one) for one in (around, text, cut.sheet) if one is not None)
        version = chunk_version(
            document_id, body.written.digest, number, (cut.start, cut.stop, cut.page, cut.sheet), text
        )
        chunk = NewChunk(
            number=number,
            start=cut.start,
            stop=cut.stop,
            page=cut.page,
            sheet=cut.sheet,
            text=text,
            words=words_of(text),
            provenance=access.seals.kept(known, chunk_place(document_id, number), version),
        )
        chunks.append(chunk)
        if number % TOLD_EACH == 0:
            access.told(number, len(cuts))
    access.told(len(cuts), len(cuts))
    return tuple(chunks)


def _far(known: Provenance) -> int:
    """How far beyond a chunk the rest of a secret may stand of which a part is in it."""
    entries = known.entries if isinstance(known, Exact) else ()
    return _LONGER * max((size_of(one.secret) for one in entries), default=0) + len(BETWEEN)
