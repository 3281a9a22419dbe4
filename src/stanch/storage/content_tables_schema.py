"""The tables of tables, as the newest migration leaves them.

Settles columns, keys and indexes, as `schema` does for all other tables.
"""

from __future__ import annotations
