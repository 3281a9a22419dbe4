"""Which policy file speaks where nobody names one: the nearest `stanch.toml`, in this directory or one above.

Settles where is looked. The search ends at the root of the file system; a home directory on the way counts like any
other. Does not settle what speaks where there is none: that is for each door to say. INVARIANT: a directory that cannot
be searched is a fault, never taken for one without a policy.
"""

from __future__ import annotations

import os
from pathlib import Path

from stanch.values.fault import BadInput

POLICY_FILE = "stanch.toml"
WITHOUT = f"the nearest {POLICY_FILE} in the current directory or one above"


def nearest_policy() -> Path | None:
    """The nearest policy file: a bare name where it lies in the current directory, else an absolute path.

    A link that leads nowhere counts, so that it is reported and not passed over. Raises `BadInput` where a directory
    cannot be searched, or the current one is gone.
    """
    here = current_directory()
    for folder in (here, *here.parents):
        try:
            os.lstat(folder / POLICY_FILE)
        except FileNotFoundError:
            continue
        except OSError as error:
            why = (error.strerror or "unknown").lower()
            raise BadInput(
                f"{folder} cannot be searched for a {POLICY_FILE} ({why}); name a file with --policy"
            ) from None
        return Path(POLICY_FILE) if folder == here else folder / POLICY_FILE
    return None


def current_directory() -> Path:
    """The directory in which the command was typed. Raises `BadInput` where it is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise BadInput("the current directory is gone; change to one that exists") from None
