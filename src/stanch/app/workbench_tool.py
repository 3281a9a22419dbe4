"""The tool `run_code`, as models know it.

Settles its arguments, and what a model is told of it. Does not settle what comes of it (`app.workbench_running`).
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stanch.app.workbench_running import TOOL, Asked, RunCode
from stanch.runtime.sandbox.program import Limits
from stanch.runtime.tool import Builtin, Job, Output

MOST_CODE = 100_000
MOST_MOUNTS = 200
MOST_SECONDS = 600.0
DESCRIPTION = (
    "Runs code in this chat's workbench: a directory of its own, without a network, whose files stay from one call to "
    "the next. Gives what it printed, and how it ended. `mounts` copies stored files into it first, each at its own "
    "path. Python has `from stanch_workbench import files, call`: `files.get(path)` gives the bytes of a stored file, "
    "`files.save(path)` puts them into the workbench, `call(tool, **arguments)` runs a tool on stored content, such as "
    "`call('files_write', path='out.txt', content=text)`; bash has `stanch-files get PATH` and `stanch-call TOOL "
    "JSON`. The language snippet is a small Python without files, packages or a network, with the functions "
    "`files_get(path)` and `call(tool, arguments)`. Secrets are taken out of what is printed."
)


class RunCodeArguments(BaseModel):
    """What is run."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    code: Annotated[str, Field(min_length=1, max_length=MOST_CODE, description="The code.")]
    language: Literal["python", "bash", "snippet"] = "python"
    mounts: tuple[Annotated[str, Field(min_length=1, max_length=1_024)], ...] | None = Field(
        default=None, max_length=MOST_MOUNTS, description="Paths of stored files, such as notes/plan.md."
    )
    timeout: Annotated[float, Field(gt=0, le=MOST_SECONDS, description="The most seconds that it may take.")] | None = (
        None
    )


def run_code_tool(run: RunCode, limits: Limits | None = None) -> Builtin:
    """The tool. `limits` are those of each run."""
    usual = limits or Limits()

    def ran(job: Job) -> Output:
        try:
            asked = RunCodeArguments.model_validate_json(json.dumps(dict(job.arguments)))
        except ValidationError as why:
            return Output(_unusable(why), failed=True)
        if "\0" in asked.code or _is_half(asked.code) or len(asked.code.encode()) > MOST_CODE:
            return Output(f"'code' has to be a text of up to {MOST_CODE:,} bytes, without a NUL", failed=True)
        if asked.mounts and asked.language == "snippet":
            return Output("A snippet has no files: take another language, or files_get(path)", failed=True)
        within = replace(usual, seconds=usual.seconds if asked.timeout is None else asked.timeout)
        return run(job, Asked(asked.code, asked.language, asked.mounts or (), within))

    return Builtin(TOOL, DESCRIPTION, RunCodeArguments.model_json_schema(), ran)


def _is_half(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _unusable(why: ValidationError) -> str:
    """What is wrong with the arguments, without a word of theirs."""
    found = [f"'{'.'.join(map(str, error['loc'])) or 'arguments'}': {error['msg']}" for error in why.errors()[:10]]
    return "The arguments cannot be used: " + "; ".join(found)
