"""What answers about tokens and the audit log hold.

Settles shapes only. INVARIANT: a token's secret is in one answer, the one that made it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from stanch.app.told_records import TellsRecords
from stanch.delivery.who_saw import Form, Sightings
from stanch.surfaces.http.shown import PrincipalShown, Shown, principal_shown
from stanch.values.records import AuditRecord, ChainBreak, ChainReport, NewToken, TokenRecord


class TokenShown(Shown):
    """What is known of a token."""

    id: str
    name: str
    principal: PrincipalShown
    created_at: datetime
    revoked_at: datetime | None


class NewTokenShown(TokenShown):
    """A token just made. Its secret is shown this once."""

    secret: str


class AuditShown(Shown):
    """One row of the audit log."""

    seq: int
    at: datetime
    actor: str
    surface: str
    action: str
    subject: str
    detail: dict[str, Any]
    previous: str
    digest: str


class ChainShown(Shown):
    """Whether the audit log holds: how many rows do, and the first that does not."""

    holds: bool
    intact: int
    seq: int | None
    broken: ChainBreak | None


class SightingShown(Shown):
    """What one model in one session was sent of one item in one form. `item` is null where a label came without one."""

    session: str
    model: str
    item: str | None
    form: Form
    first: datetime
    last: datetime
    count: int
    operations: list[str]


class WhoSawShown(Shown):
    """Which sessions and models were ever sent a secret's label or an item, and whether the log of it holds.

    `known` is false where neither the vault's history nor any receipt names the secret. `unrecorded` counts how often a
    model got an item of which nobody had recorded what it carries. `more` counts what there was no room for, `unread`
    the receipts that cannot be read.
    """

    secret: str | None
    item: str | None
    known: bool
    sightings: list[SightingShown]
    more: int
    unrecorded: int
    unread: int
    log: ChainShown


def token_shown(token: TokenRecord) -> TokenShown:
    """What is known of a token, as JSON."""
    return TokenShown(
        id=token.id,
        name=token.name,
        principal=principal_shown(token.principal),
        created_at=token.created_at,
        revoked_at=token.revoked_at,
    )


def new_token_shown(token: NewToken) -> NewTokenShown:
    """A token just made, as JSON, with its secret."""
    return NewTokenShown(**token_shown(token.record).model_dump(), secret=token.secret)


def audit_shown(row: AuditRecord, told: TellsRecords) -> AuditShown:
    """A row of the audit log as JSON."""
    row = told.row(row)
    return AuditShown(
        seq=row.seq,
        at=row.at,
        actor=row.actor,
        surface=row.surface,
        action=row.action,
        subject=row.subject,
        detail=dict(row.detail),
        previous=row.previous,
        digest=row.digest,
    )


def who_saw_shown(found: Sightings, report: ChainReport, told: TellsRecords) -> WhoSawShown:
    """Who saw a secret or an item, as JSON."""
    asked = found.asked
    return WhoSawShown(
        secret=None if asked.secret is None else told.tell(asked.secret),
        item=None if asked.item is None else told.tell(asked.item),
        known=found.known,
        sightings=[
            SightingShown(
                session=told.tell(one.session),
                model=told.tell(one.model),
                item=None if one.item is None else told.tell(one.item),
                form=one.form,
                first=datetime.fromisoformat(one.first),
                last=datetime.fromisoformat(one.last),
                count=one.count,
                operations=one.operations,
            )
            for one in found.items
        ],
        more=found.more,
        unrecorded=found.unrecorded,
        unread=found.unread,
        log=chain_shown(report),
    )


def chain_shown(report: ChainReport) -> ChainShown:
    """What verifying the audit log found, as JSON."""
    return ChainShown(holds=report.broken is None, intact=report.intact, seq=report.seq, broken=report.broken)
