"""What a secret may be called and hold, and what is said against a value that may be set all the same.

Settles names, lengths and characters. INVARIANT: no message holds anything of what was given. Does not settle what
becomes of a secret (`app.vault`).
"""

from __future__ import annotations

from collections.abc import Iterable

from stanch.values.fault import BadFields
from stanch.values.vault import LONGEST_NAME, NAME, SecretScope

SHORTEST = 8
"""Characters below which a value is taken out of nothing: it would stand in too much that is none."""
LONGEST = 65_536
LONGEST_NOTE = 2_000
LONGEST_OWNER = 512
SHORT = f"the value has fewer than {SHORTEST} characters: it is replaced in no text"
SPACED = "the value begins or ends with white space, which is part of it: without that, nobody recognises it"


def warnings(text: str) -> tuple[str, ...]:
    """What the person who sets this value should hear."""
    said = [SHORT] if len(text) < SHORTEST else []
    return (*said, SPACED) if text != text.strip() else tuple(said)


def check(name: str, text: str, note: str | None, owner: str | None, scope: SecretScope) -> None:
    """Raises `BadFields`, whose messages hold nothing of what was given."""
    wrong: list[tuple[str, str]] = []
    if type(name) is not str or NAME.fullmatch(name) is None:
        wrong.append(
            (
                "name",
                "'name' must begin with a letter or '_', and hold letters, digits and '_' only, "
                f"{LONGEST_NAME} characters at most",
            )
        )
    elif len(text) >= SHORTEST and text in name:
        wrong.append(("name", "'name' holds the value; it is shown to people"))
    if len(text) > LONGEST:
        wrong.append(("value", f"'value' is longer than {LONGEST:,} characters"))
    elif not text.strip():
        wrong.append(("value", "'value' holds nothing but space"))
    elif not _is_text(text):
        wrong.append(("value", "'value' holds a NUL, or what is no Unicode text"))
    for field, said, longest in (("note", note, LONGEST_NOTE), ("owner", owner, LONGEST_OWNER)):
        if said is None:
            continue
        if len(said) > longest or not _is_text(said):
            wrong.append((field, f"'{field}' must be text of at most {longest:,} characters"))
        elif len(text) >= SHORTEST and text in said:
            wrong.append((field, f"'{field}' holds the value; it is shown to people"))
    if owner == "":
        wrong.append(("owner", "'owner' is empty"))
    if scope is SecretScope.USER and owner is None:
        wrong.append(("owner", "'owner' is needed: whose secret it is"))
    if wrong:
        raise BadFields(*wrong)


def check_shown(values: Iterable[str], note: str, owner: str | None) -> None:
    """Raises `BadFields` where what people are shown holds one of these values of the vault."""
    known = [value for value in values if len(value) >= SHORTEST]
    said = (("note", note), ("owner", owner or ""))
    wrong = [field for field, words in said if any(value in words for value in known)]
    if wrong:
        raise BadFields(*((one, f"'{one}' holds a value of the vault; it is shown to people") for one in wrong))


def _is_text(text: str) -> bool:
    try:
        return "\0" not in text and bool(text.encode()) | (text == "")
    except UnicodeEncodeError:
        return False
