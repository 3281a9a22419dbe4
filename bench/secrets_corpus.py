"""What is looked for and looked through: secrets, and lines of a log with some of them, always the same.

Secrets have 16 to 64 characters: 40 % tokens that begin as their vendor's do, 25 % hex, 15 % UUIDs, 20 % passwords with
punctuation. The log has timestamps, JSON, UUIDs, ids in hex, base64 and tracebacks, and 20 secrets per million bytes.
"""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
from pathlib import Path

SIZES = (10, 1_000, 10_000)
HITS_PER_MB = 20
_ALNUM = string.ascii_letters + string.digits
_PREFIXES = ("ghp_", "sk_live_", "xoxb-", "AKIA", "glpat-", "npm_", "hf_", "dop_v1_")


def secrets(count: int) -> dict[str, str]:
    """So many secrets under their names; the fewer are among the more."""
    drawn = random.Random(20_26)
    return {f"SECRET_{at}": _secret(drawn) for at in range(count)}


def _secret(drawn: random.Random) -> str:
    kind, size = drawn.random(), drawn.randint(16, 64)
    if kind < 0.40:
        prefix = drawn.choice(_PREFIXES)
        return prefix + "".join(drawn.choices(_ALNUM, k=max(size - len(prefix), 12)))
    if kind < 0.65:
        return "".join(drawn.choices("0123456789abcdef", k=size))
    if kind < 0.80:
        return str(uuid.UUID(int=drawn.getrandbits(128)))
    return "".join(drawn.choices(_ALNUM + "!#$%&'()*+,-./:;<=>?@[]^_{|}~\"\\", k=size))


def log(size: int, held: list[str]) -> bytes:
    """About so many bytes of a log, with some of these secrets in it."""
    drawn = random.Random(168)
    every = 1_000_000 // HITS_PER_MB
    lines, length, hits = [], 0, 0
    while length < size:
        line = _line(drawn)
        if length >= hits * every:
            middle = len(line) // 2
            line = f"{line[:middle]} {drawn.choice(held)} {line[middle:]}"
            hits += 1
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines).encode()


def _line(drawn: random.Random) -> str:
    def upto(most: int) -> int:
        return drawn.randint(1, most)

    stamp = f"2026-{upto(12):02}-{upto(28):02}T{upto(23):02}:{upto(59):02}:07.{upto(999):03}Z"
    ids, kind = f"{drawn.getrandbits(64):016x}", drawn.random()
    if kind < 0.35:
        row = {
            "level": "info",
            "msg": "request served",
            "path": f"/api/v1/items/{upto(9999)}",
            "ms": upto(900),
            "id": ids,
        }
        return f"{stamp} {json.dumps(row)}"
    if kind < 0.55:
        job = uuid.UUID(int=drawn.getrandbits(128))
        return f"{stamp} INFO worker-{upto(64)} job {job} took {drawn.random():.4f} s"
    if kind < 0.70:
        return f"{stamp} DEBUG payload={base64.b64encode(drawn.randbytes(11 + upto(79))).decode()}"
    if kind < 0.85:
        return f'  File "/srv/app/service/handlers_{upto(40)}.py", line {upto(900)}, in handle_request'
    return f"{stamp} WARN no entry for user:{upto(99999)}:{ids} (shard {upto(31)}), trying again in {upto(30)} s"


def message(size: int) -> str:
    """A text of this size with no secret in it."""
    return log(size + 400, ["nothing"]).decode()[: size + 400].replace(" nothing ", "")[:size]


def prepare(folder: Path, megabytes: int) -> None:
    """Write the secrets, their forms, and the log, unless they are there."""
    from stanch.secrets.encodings import forms

    folder.mkdir(parents=True, exist_ok=True)
    for count in SIZES:
        known = secrets(count)
        file = folder / f"{count}.json"
        if not file.exists():
            every = {form: None for value in known.values() for form in forms(value)}
            row = {
                "secrets": known,
                "raw": [value.encode().hex() for value in known.values()],
                "enc": [form.hex() for form in every],
            }
            file.write_text(json.dumps(row), encoding="utf-8")
        text = folder / f"{count}-{megabytes}.log"
        if not text.exists():
            text.write_bytes(log(megabytes * 1_000_000, list(known.values())))
