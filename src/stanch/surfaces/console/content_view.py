"""`/console/content/view`: a stored file as a page within a page, for the person who asks for it as it is.

Settles that it stands in a frame of the console and nowhere else, and that a failure is said there. Does not settle how
a file is shown (`content.views`), nor what such a page may do (`surfaces.inline`).
"""

from __future__ import annotations

from html import escape

from starlette.responses import Response

from stanch.content.views import ViewFile, view_file
from stanch.explain import visible
from stanch.surfaces.console.content_reach import Reach, made
from stanch.surfaces.console.guard import HEADERS, Asked
from stanch.surfaces.inline import HEADERS as ALONE
from stanch.surfaces.inline import inline
from stanch.values.fault import BadInput, StoreUnreadable

POLICY = f"{HEADERS['Content-Security-Policy']}; frame-src 'self'"
"""What the console's page may do that shows a file in a frame."""


def page(asked: Asked) -> Response:
    """The newest version of a file, or an older one, as a page."""
    reach = Reach(asked)
    arguments = made(ViewFile, path=reach.get("path"), version=reach.number("version"))
    try:
        stream = reach.asks(view_file, arguments)
    except (BadInput, StoreUnreadable) as why:
        words = escape(visible(asked.failing.sentence(why)))
        page = f'<!doctype html><meta name="color-scheme" content="light dark"><p>{words}</p>'
        return Response(page, media_type="text/html; charset=utf-8", headers=ALONE)
    return inline(stream, reach.say(stream.name))
