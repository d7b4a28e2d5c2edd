"""Names of tensors."""

import re

from .._errors import RecorderError


def plain(name):
    """Without what torch.compile adds to a name."""
    return re.sub(r"(?:^|(?<=\.))_orig_mod\.|\._orig_mod$", "", name) if "_orig_mod" in name else name


def expression(regex, argument):
    """Compiled."""
    if not isinstance(regex, (str, re.Pattern)):
        raise RecorderError(
            f"{argument}: {regex!r} is a {type(regex).__name__}; give one regular expression as a str, such as '.' for all "
            "or 'fc1|fc2' for two"
        )
    try:
        return re.compile(regex)
    except re.error as error:
        raise RecorderError(f"{argument}: {regex!r} is no regular expression: {error}; re.escape() makes one of a name") from None


def check_name(name):
    if not isinstance(name, str):
        raise RecorderError(f"the tensor name {name!r}: is not a text")
    if not name.isprintable() or len(name.encode()) > 1024:  # no lone surrogate is printable
        shown = repr(name if len(name) <= 80 else name[:80] + "...")
        raise RecorderError(f"the tensor name {shown}: longer than 1024 bytes, or not printable")
