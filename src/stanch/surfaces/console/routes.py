"""The console's addresses.

Settles which page is where, and how somebody logs in and out. Does not settle what a page shows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import resources

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stanch.app.service import Service
from stanch.surfaces.console import (
    content,
    content_badges,
    content_document,
    content_download,
    content_file,
    content_reach,
    content_run,
    content_table,
    content_view,
    inbox,
    ledger,
    receipts,
    rules,
    sent,
    session_list,
    session_new,
    session_page,
    session_stream,
    tiers,
    vault,
    who_saw,
    workbench,
    workbench_file,
    workbench_list,
)
from stanch.surfaces.console.guard import HEADERS, HOME, LOGIN, Asked, Guard, cookie_of, form_of, goes_to, html
from stanch.surfaces.console.logins import LONGEST, LoginRefused, Logins
from stanch.surfaces.console.rendering import rendered
from stanch.surfaces.console.streaming import streaming
from stanch.values.fault import NotFound

LOGOUT = "/logout"
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "txt": "text/plain"}
_STATIC = (
    *("console.css", "cards.css", "sessions.css", "tiers.css", "content.css", "receipts.css", "workbench.css"),
    *("console.js", "sessions.js", "tiers.js"),
    *("htmx.min.js", "hx-sse.min.js", "icon.svg", "htmx.LICENSE.txt"),
)


def routes(service: Service) -> list[BaseRoute]:
    """Every route of the console over a service."""
    logins = Logins(service)
    guard = Guard(service, logins)
    answers = "/console/inbox/approvals/{request_id}"
    session = f"{session_list.PAGE}/{{session_id}}"
    return [
        Route(LOGIN, _login_page(guard), methods=["GET"], include_in_schema=False),
        Route(LOGIN, _login(logins, guard), methods=["POST"], include_in_schema=False),
        guard.question(LOGOUT, _logout),
        Route("/console/stream", streaming(guard), methods=["GET"], include_in_schema=False),
        Route("/console/static/{name}", _static, methods=["GET"], include_in_schema=False),
        guard.page("/", _home),
        guard.page("/console", _home),
        guard.page(HOME, inbox.page),
        guard.page("/console/inbox/cards", inbox.cards),
        guard.form(answers, inbox.answer),
        guard.form("/console/inbox/plans/{plan_id}", inbox.answer_plan),
        guard.form("/console/inbox/questions/{request_id}", inbox.reply),
        guard.page(session_list.PAGE, session_list.page),
        guard.form(session_list.PAGE, session_new.begin),
        guard.page(f"{session_list.PAGE}-rows", session_list.rows),
        guard.page(session, session_page.page),
        guard.page(f"{session}/timeline", session_page.timeline),
        guard.page(f"{session}/messages/{{seq}}/{{part}}", session_page.part),
        guard.form(f"{session}/say", session_page.say),
        guard.form(f"{session}/stop", session_page.stop),
        guard.form(f"{session}/model", session_page.set_model),
        guard.form(f"{session}/answers", session_page.answer_tier),
        guard.form(f"{session}/end", session_page.end),
        guard.page(f"{session}/sent", sent.page),
        guard.page(f"{session}/receipts", receipts.page),
        guard.page(workbench_list.PAGE, workbench_list.page),
        guard.page(f"{session}/workbench", workbench.page),
        guard.page(f"{session}/workbench/file", workbench_file.page),
        guard.page(f"{session}/workbench/download", workbench_file.download),
        guard.page(f"{session}/workbench/output", workbench_file.output),
        guard.form(f"{session}/workbench/remove", workbench.remove),
        guard.form(f"{session}/workbench/clear", workbench.clear),
        Route(f"{session}/stream", session_stream.streaming(guard), methods=["GET"], include_in_schema=False),
        guard.page(rules.PAGE, rules.page),
        guard.form("/console/rules/write", rules.write_rule),
        guard.form("/console/rules/delete", rules.delete_rule),
        guard.form("/console/rules/move", rules.move_rule),
        guard.form("/console/rules/groups", rules.write_group),
        guard.question("/console/rules/try", rules.try_call),
        guard.page(tiers.PAGE, tiers.page),
        guard.page(f"{tiers.PAGE}/folder", tiers.folder),
        guard.page(content_reach.PAGE, content.page),
        guard.page(f"{content_reach.PAGE}/folder", content.folder),
        guard.page(f"{content_reach.PAGE}/badge", content_badges.piece),
        guard.page(f"{content_reach.PAGE}/file", content_file.page),
        guard.form(f"{content_reach.PAGE}/unshare", content_file.unshare),
        guard.page(f"{content_reach.PAGE}/runs", content_run.listed),
        guard.page(f"{content_reach.PAGE}/run", content_run.page),
        guard.page(f"{content_reach.PAGE}/run-file", content_run.file_page),
        guard.page(f"{content_reach.PAGE}/knowledge", content_document.listed),
        guard.page(f"{content_reach.PAGE}/document", content_document.page),
        guard.page(f"{content_reach.PAGE}/tables", content_table.listed),
        guard.page(f"{content_reach.PAGE}/table", content_table.page),
        guard.page(f"{content_reach.PAGE}/download", content_download.page),
        guard.page(f"{content_reach.PAGE}/view", content_view.page),
        guard.page(vault.PAGE, vault.page),
        guard.form(f"{vault.PAGE}/set", vault.set_secret),
        guard.form(f"{vault.PAGE}/revoke", vault.revoke),
        guard.form(f"{vault.PAGE}/forget", vault.forget),
        guard.page(ledger.BYPASSES, ledger.bypasses),
        guard.form("/console/bypasses/end", ledger.end_bypass),
        guard.page("/console/audit", ledger.audit),
        guard.page(who_saw.PAGE, who_saw.page),
        guard.page(f"{content_reach.PAGE}/who-saw", who_saw.of_file),
        guard.question("/console/audit/verify", ledger.verify),
        guard.page("/console/{address:path}", _nowhere),  # whatever none of the above is
    ]


def _home(_: Asked) -> Response:
    return goes_to(HOME)


def _nowhere(_: Asked) -> Response:
    raise NotFound("page", "")


def _login_page(guard: Guard) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            login = await run_in_threadpool(guard.login_of, request)
        except Exception as fault:
            return _login_again(*await run_in_threadpool(guard.failing.said_of, fault))
        return goes_to(HOME) if login is not None else _login_again(200, "")

    return answer


def _login(logins: Logins, guard: Guard) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        body = await request.body()
        try:
            token = form_of(request, body).get("token", [""])[-1].strip()
            login_id = await run_in_threadpool(logins.begin, token)
        except LoginRefused as why:
            return _login_again(403, str(why))
        except Exception as fault:
            return _login_again(*await run_in_threadpool(guard.failing.said_of, fault))
        answered = goes_to(HOME)
        answered.set_cookie(
            cookie_of(request),
            login_id,
            max_age=int(LONGEST),
            path="/",
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answered

    return answer


def _login_again(status: int, problem: str) -> Response:
    return html(rendered("login.html.j2", login=None, problem=problem), status)


def _logout(asked: Asked) -> Response:
    asked.end_login()
    return goes_to(LOGIN)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        return Response("There is nothing at this address.", 404, HEADERS, "text/plain")
    content = (resources.files("stanch.surfaces.console") / "static" / name).read_bytes()
    headers = {**HEADERS, "Cache-Control": "no-cache"}
    return Response(content, headers=headers, media_type=_KINDS[name.rpartition(".")[2]])
