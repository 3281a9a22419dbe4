"""The wording of every reason: one table for every door, log and page. The words are in `explain.sentences`."""

from stanch.explain.sentences import TEMPLATES, brief, sentence, subject, visible

__all__ = ["TEMPLATES", "brief", "sentence", "subject", "visible"]
