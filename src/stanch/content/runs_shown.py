"""A run as it is given: each value of it an item of its own, and the files that its values name.

Settles that a value which may not be given is left out, and said to be, and that nothing stands in for it. Does not
settle who finds the run (`content.runs`), nor which gate admits an item (`delivery`).
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from stanch.content.access import Access
from stanch.content.run_values import known_files, known_values, read_value, references
from stanch.delivery.admit import admit_content
from stanch.delivery.operation import Given
from stanch.delivery.source import COMPLETE, OPAQUE, Kind, Source
from stanch.storage.content_run_nouns import KeptPart
from stanch.values.fault import BadInput, StoreUnreadable
from stanch.values.reason import Reason
from stanch.values.run import Part, RunFileRecord, RunRecord, RunState, StepRecord, StepState

MOST_INLINED = 8 << 20
"""Bytes of files that one answer holds as base64."""
MOST_DESCRIBED = 200
_NAMING = (Part.OUTPUT, Part.RESULT)


class RunBrief(Given):
    """A run without its values. `failed_at` is the place of the step that it failed at, `steps` counts them."""

    id: str
    name: str
    owner: str | None
    session_id: str | None
    of_run: str | None
    state: RunState
    synchronous: bool
    steps: int
    failed_at: int | None
    created_by: str
    created_at: datetime
    changed_at: datetime
    ended_at: datetime | None


class WithheldPart(Given):
    """A value that is left out: which one, and why, by a reason's code. `cause` says more of it."""

    part: Part
    code: str
    cause: str


class NotInlined(Given):
    """A file that was asked for as base64 and is only described: `code` is a reason's, `too_large`, `asynchronous` or
    `unreadable`.
    """

    file: str
    code: str
    cause: str = ""


class FileDescribed(Given):
    """What a file of a run is, as values name it."""

    file: str
    media_type: str
    size: int


class StepShown(Given):
    """One step. What `values` lacks and `withheld` names is there, and not given. `reason` is why it was refused."""

    place: int
    tool: str
    state: StepState
    call_id: str | None
    reason: dict[str, Any] | None
    values: dict[Part, Any]
    withheld: tuple[WithheldPart, ...] = ()


class RunShown(Given):
    """A run, and the steps of it that were asked for. `next` is the place that the following ones are behind.

    `withheld` are values of the run itself; `withheld_total` counts these and those of the steps. `files` describes the
    first of its files, whatever is withheld of the values that name them.
    """

    run: RunBrief
    values: dict[Part, Any]
    withheld: tuple[WithheldPart, ...] = ()
    steps: tuple[StepShown, ...] = ()
    next: int | None = None
    withheld_total: int = 0
    files: tuple[FileDescribed, ...] = ()
    not_inlined: tuple[NotInlined, ...] = ()


def brief(run: RunRecord) -> RunBrief:
    """The run without its values."""
    return RunBrief(**{name: getattr(run, name) for name in RunBrief.model_fields})


def source_id(run_id: str, place: int, part: Part) -> str:
    """The name of a value of a run as an item."""
    return f"{run_id}/{part.value}" if not place else f"{run_id}/steps/{place}/{part.value}"


def run_shown(
    access: Access,
    run: RunRecord,
    steps: Sequence[StepRecord],
    *,
    parts: Collection[Part],
    inlined: bool = False,
    after: int | None = None,
) -> RunShown:
    """The run with these steps, and those of the values that are wanted and may be given. `after` names what follows.

    `inlined`: files that a value names are put into it as base64, where the run was waited for.
    """
    places = [0, *(step.place for step in steps)]
    wanted = [one for one in access.stores.run_parts(run.id, places) if one.part in parts]
    refusals = _refusals(access, run, wanted)
    # WHY only now, and only these: what is refused is not loaded.
    loaded = access.stores.run_values([one.id for one in wanted if one.id not in refusals])
    values: dict[int, dict[Part, Any]] = {place: {} for place in places}
    withheld: dict[int, list[WithheldPart]] = {place: [] for place in places}
    for one in wanted:
        if one.id in loaded:
            values[one.place][one.part] = read_value(loaded[one.id].text)
        elif one.id in refusals:
            why = refusals[one.id]
            withheld[one.place].append(WithheldPart(part=one.part, code=why.code.value, cause=why.detail))
    naming = [value for found in values.values() for part, value in found.items() if part in _NAMING]
    left = _described(access, run, naming, inlined=inlined)
    return RunShown(
        run=brief(run),
        values=values[0],
        withheld=tuple(withheld[0]),
        steps=tuple(_step(access, step, values[step.place], withheld[step.place]) for step in steps),
        next=after,
        withheld_total=sum(map(len, withheld.values())),
        files=tuple(_files(access, run)),
        not_inlined=tuple(left),
    )


def _files(access: Access, run: RunRecord) -> Iterable[FileDescribed]:
    for one in access.stores.run_files(run.id, limit=MOST_DESCRIBED).items:
        if isinstance(one, RunFileRecord):
            yield FileDescribed(file=one.name, media_type=one.media_type, size=one.size)


def _refusals(access: Access, run: RunRecord, wanted: Sequence[KeptPart]) -> dict[str, Reason]:
    """Why each value that may not be given is withheld, by its id. Each place that it came from is asked about."""
    batch = known_values(access, run, [one.id for one in wanted])
    sources = [
        (one.id, Source(Kind.RUN, source_id(run.id, one.place, one.part), batch.of(one.id), COMPLETE, path or None))
        for one in wanted
        for path in (one.came_from or (None,))
    ]
    admissions = admit_content(access.delivery, [source for _, source in sources])
    found: dict[str, Reason] = {}
    for (key, _), admission in zip(sources, admissions, strict=True):
        if admission.refusal is not None:
            found.setdefault(key, admission.refusal)
    return found


def _step(access: Access, step: StepRecord, values: dict[Part, Any], withheld: Sequence[WithheldPart]) -> StepShown:
    return StepShown(
        place=step.place,
        tool=step.tool,
        state=step.state,
        call_id=step.call_id,
        reason=_reason(access, step.reason, told=Part.ARGUMENTS in values),
        values=values,
        withheld=tuple(withheld),
    )


def _reason(access: Access, reason: Mapping[str, Any] | None, *, told: bool) -> dict[str, Any] | None:
    """Why a step was refused. WHY not all of it to a model that is not given the arguments: it may name one of them."""
    if reason is None:
        return None
    if access.delivery.classified and not told:
        return {name: reason[name] for name in ("code", "layer") if name in reason}
    return dict(reason)


def _described(access: Access, run: RunRecord, values: Iterable[Any], *, inlined: bool) -> list[NotInlined]:
    """Says of each file that is named what it is, and puts its bytes beside that; returns those that it did not."""
    naming = [here for value in values for here in references(value)]
    files = access.stores.run_files_named(run.id, list(dict.fromkeys(str(here["file"]) for here in naming)))
    for here in naming:
        file = files.get(here["file"])
        if file is not None:
            here.update(media_type=file.media_type, size=file.size)
            here.pop("base64", None)
    if not inlined or not files:
        return []
    if not run.synchronous:
        return [NotInlined(file=name, code="asynchronous") for name in files]
    bytes_of, left = _inlined(access, run, list(files.values()))
    for here in naming:
        if here["file"] in bytes_of:
            here["base64"] = bytes_of[here["file"]]
    return left


def _inlined(access: Access, run: RunRecord, files: Sequence[RunFileRecord]) -> tuple[dict[str, str], list[NotInlined]]:
    """The base64 of each file that may be given so, and the others."""
    batch = known_files(access, run, files)
    admissions = admit_content(access.delivery, [file_source(run, file, batch.of(file.id)) for file in files])
    found: dict[str, str] = {}
    left: list[NotInlined] = []
    room = MOST_INLINED
    for file, one in zip(files, admissions, strict=True):
        if one.refusal is not None:
            left.append(_left(file, one.refusal))
        elif file.size > room:
            left.append(NotInlined(file=file.name, code="too_large"))
        else:
            try:
                found[file.name] = base64.b64encode(access.blobs.whole(file.digest, room)).decode("ascii")
                room -= file.size
            except (StoreUnreadable, BadInput):
                left.append(NotInlined(file=file.name, code="unreadable"))
    return found, left


def file_source(run: RunRecord, file: RunFileRecord, known: Any, *, text: bool = False) -> Source:
    """A file of a run as an item: as a text, or as bytes that nothing can be taken out of."""
    return Source(Kind.RUN_FILE, f"{run.id}/{file.name}", known, COMPLETE if text else OPAQUE)


def _left(file: RunFileRecord, refusal: Reason) -> NotInlined:
    return NotInlined(file=file.name, code=refusal.code.value, cause=refusal.detail)
