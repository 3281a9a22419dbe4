"""A picture, made anew from nothing but its own points.

Settles which formats are pictures, how large one may be, and that nothing else of its bytes is kept: no words in its
head, no second file behind it. Does not settle who may see it.
"""

from __future__ import annotations

import io
import warnings

from PIL import Image, ImageOps

from stanch.content.compile_template import Problem, Uncompiled

MOST_BYTES = 32 << 20
MOST_POINTS = 40_000_000
WIDEST = 2_000
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


def type_of(data: bytes) -> str:
    """The type of a picture by what is in it, whatever its name says. Raises `Uncompiled`."""
    return _TYPES[_opened(data).format or ""]


def picture(data: bytes, width: int = WIDEST) -> tuple[str, bytes]:
    """The type and the bytes of the picture made anew, no wider than that. Of a moving one, the first part.

    Raises `Uncompiled`.
    """
    image = _opened(data)
    try:
        photo = image.format == "JPEG"
        made: Image.Image = ImageOps.exif_transpose(image)
        made = made.convert("RGB" if photo else "RGBA")
        if made.width > width:
            made = made.resize((width, max(1, made.height * width // made.width)))
        # WHY: a format writes what it finds there, such as a comment or a profile of colours.
        made.info = {}
        out = io.BytesIO()
        if photo:
            made.save(out, "JPEG", quality=88)
        else:
            made.save(out, "PNG")
    except Exception:  # whatever the library makes of what it cannot read
        raise Uncompiled(Problem.NO_PICTURE) from None
    return ("image/jpeg" if photo else "image/png"), out.getvalue()


def _opened(data: bytes) -> Image.Image:
    """The picture, of which nothing but the head was read. Raises `Uncompiled`."""
    if len(data) > MOST_BYTES:
        raise Uncompiled(Problem.TOO_LARGE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the size is looked at below
            image = Image.open(io.BytesIO(data), formats=_FORMATS)
    except Image.DecompressionBombError:
        raise Uncompiled(Problem.TOO_LARGE) from None
    except Exception:  # whatever the library makes of what it cannot read
        raise Uncompiled(Problem.NO_PICTURE) from None
    if image.width * image.height > MOST_POINTS:
        raise Uncompiled(Problem.TOO_LARGE)
    return image
