"""What a text says again of words that quote tagged content, marked as coming from where that content came from.

Settles which stretches of a text these are. Does not settle which texts are looked at (`runtime.conversation`), nor
what a model may see of them (`tiers.history`).
WHY: a tool that says no names what it was asked for. A reader's filter takes what tools say for content of its own, and
knows nothing about where an argument was copied from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from stanch.tiers.history_values import argument_strings
from stanch.tiers.history_words import inner_tags
from stanch.tiers.quotes import LEAST, Withheld
from stanch.values.message import Call, Fragment, Message, Part, Result, SourceTag, Tags, Text


def marked(result: Result, call: Call | None, before: Iterable[Message]) -> Result:
    """The result, with marks on what it says again of its call's arguments that came from what was `before`.

    The very same where there is nothing to mark. The content of a file that the result shows is the file's alone.
    """
    shows = bool(result.tags) and not result.failed and all(tag.span is not None for tag in result.tags)
    if call is None or shows or not all(isinstance(one, Text) for one in result.content):
        return result
    text, before = "".join(one.text for one in result.content if isinstance(one, Text)), tuple(before)
    tags = quoted(text, argument_strings(call.arguments), before)
    return replace(result, tags=(*(_above(tag, before) for tag in result.tags), *tags)) if tags else result


def quoted(text: str, words: Iterable[str], before: Iterable[Message]) -> Tags:
    """The tags of those stretches of the text that stand in the words, too, and quote what has tags in `before`."""
    words = [one for one in words if len(one) >= LEAST]
    if not words or len(text) < LEAST:
        return ()
    known: list[SourceTag] = []
    places: dict[SourceTag, str] = {}
    sources: dict[str, dict[str, None]] = {}
    for piece, tag in _tagged(before):
        whole = replace(tag, span=None)
        if whole not in places:
            places[whole] = str(len(known))
            known.append(whole)
        sources.setdefault(piece, {})[places[whole]] = None
    spans, _ = Withheld((piece, tuple(owners)) for piece, owners in sources.items()).runs(words, tuple)
    said = [(one[span.start : span.end], span.names) for one, found in spans.items() for span in found]
    again, _ = Withheld(said).runs([text], tuple)
    return tuple(
        replace(known[int(place)], span=(span.start, span.end)) for span in again.get(text, ()) for place in span.names
    )


def _above(tag: SourceTag, before: tuple[Message, ...]) -> SourceTag:
    """The tag, by the next directory above whose name quotes nothing of another source.

    WHY: what a tag's name says, whoever may read there is taken to know, and a model may name a file that there is not.
    """
    name = tag.name
    while any(one.name != tag.name for one in quoted(name, [name], before)):
        name = name.rpartition("/")[0] or "/"
    return tag if name == tag.name else replace(tag, name=name)


def _tagged(messages: Iterable[Message]) -> Iterator[tuple[str, SourceTag]]:
    """Each piece of text that has a tag, with the tag."""
    for message in messages:
        for part in message.parts:
            text = _text(part)
            for tag in (*part.tags, *(inner_tags(part) if isinstance(part, Result) else ())):
                # WHY the whole for a result's inner tag: its place is counted within another text.
                yield (text[slice(*tag.span)] if tag.span is not None and tag in part.tags else text), tag


def _text(part: Part) -> str:
    match part:
        case Text() | Fragment():
            return part.text
        case Result():
            return "".join(one.text for one in part.content if isinstance(one, Text))
    return ""
