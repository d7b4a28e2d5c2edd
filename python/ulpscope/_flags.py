"""Options that are on or off."""

from __future__ import annotations

from typing import Any


def flag(value: Any, argument: str) -> bool:
    """The truth of True, False and what is equal to one of them, such as numpy's. Raises TypeError for anything else,
    of which Python would make True."""
    try:
        if value == True or value == False:  # noqa: E712
            return bool(value)
    except (TypeError, ValueError, RuntimeError):  # arrays of several
        pass
    raise TypeError(f"{argument}: {value!r} is not True or False")
