"""Why: the closed catalogue of reason codes, and what a reason may carry.

Settles which codes there are and which facts ride along. Does not settle their wording (`explain`).
INVARIANT: a reason carries names only: codes, rule places, paths the caller itself named, tool names, types. Never the
value of a secret, never text quoted from content.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class LayerId(StrEnum):
    """The layers of the gate, in the order they are asked; then `relaxation`, which answers after the walk,
    `approval`, where a person has the last word, and `delivery`, which speaks of stored content instead of calls.
    """

    INTEGRITY = "integrity"
    SKILL_ROWS = "skill_rows"
    NARROWING = "narrowing"
    TIER = "tier"
    CALLER_POLICY = "caller_policy"
    INHERITED_CONSTRAINT = "inherited_constraint"
    PERSISTED_RULES = "persisted_rules"
    ORG_RULES = "org_rules"
    HOOKS = "hooks"
    RELAXATION = "relaxation"
    APPROVAL = "approval"
    DELIVERY = "delivery"


class Code(StrEnum):
    """The closed list of reason codes. `explain` has a sentence for each."""

    RULE = "rule"
    NO_MATCH = "no_match"
    MEMORY_EXCEPTION = "memory_exception"
    READ_GRANT = "read_grant"
    WRITE_GRANT = "write_grant"
    BYPASS = "bypass"
    FILE_HAS_LINKS = "file_has_links"
    COVERS_REFUSED = "covers_refused"
    COVERS_TOO_MUCH = "covers_too_much"
    COMMAND_UNREAD = "command_unread"
    NOTHING_BY_ITSELF = "nothing_by_itself"
    MAY_WRITE_CLOSED = "may_write_closed"
    TIER_DENIES = "tier_denies"
    TIER_ASKS = "tier_asks"
    TIER_COVERS = "tier_covers"
    GROUP_MISSING = "group_missing"
    STORE_UNREADABLE = "store_unreadable"
    POLICY_INVALID = "policy_invalid"
    LAYER_FAILED = "layer_failed"
    REWRITE_LOOP = "rewrite_loop"
    POLICY_SAYS = "policy_says"
    PATH_UNREADABLE = "path_unreadable"
    PATH_PROTECTED = "path_protected"
    RUNS_CODE = "runs_code"
    TARGET_CHANGED = "target_changed"
    CALL_UNREADABLE = "call_unreadable"
    CALL_CHANGED = "call_changed"
    REJECTED = "rejected"
    APPROVAL_EXPIRED = "approval_expired"
    APPROVAL_LAPSED = "approval_lapsed"
    NO_APPROVER = "no_approver"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    APPROVED = "approved"
    CONTENT_UNKNOWN = "content_unknown"
    CONTENT_OPAQUE = "content_opaque"
    CONTENT_CUT = "content_cut"
    CONTENT_TIER = "content_tier"
    CONTENT_ASKS = "content_asks"
    CONTENT_UNSCANNED = "content_unscanned"
    CONTENT_UNACCOUNTED = "content_unaccounted"
    REGISTRY_FULL = "registry_full"
    REGISTRY_LATCHED = "registry_latched"
    RECEIPT_FAILED = "receipt_failed"
    SECRET_TOO_SHORT = "secret_too_short"  # noqa: S105 - a reason's code
    WORKBENCH_TAINTED = "workbench_tainted"
    WORKBENCH_UNREADABLE = "workbench_unreadable"


@dataclass(frozen=True, slots=True)
class RuleRef:
    """Which rule spoke: its id, its group, its note, where it was written (`stanch.toml:6`), and its own words."""

    id: int
    group: str
    place: str
    words: str
    note: str | None = None


class Reason(NamedTuple):
    """Why an answer is what it is: a code, the layer that gave it, the rule if one did, and the subject.

    `subject` is a canonical path or a tool's name; `requested` the path as the call wrote it. `detail` is one further
    fact out of the safe set (a cause, a place in a file, a type's name).
    """

    code: Code
    layer: LayerId
    rule: RuleRef | None = None
    subject: str = ""
    detail: str = ""
    requested: str = ""
