"""Names of tensors."""

import re

from .._errors import RecorderError


def plain(name):
    """Without what torch.compile adds to a name."""
    return re.sub(r"(?:^|(?<=\.))_orig_mod\.|\._orig_mod$", "", name) if "_orig_mod" in name else name


def check_name(name):
    if not isinstance(name, str):
        raise RecorderError(f"the tensor name {name!r}: is not a text")
    if not name.isprintable() or len(name.encode()) > 1024:  # no lone surrogate is printable
        shown = repr(name if len(name) <= 80 else name[:80] + "...")
        raise RecorderError(f"the tensor name {shown}: longer than 1024 bytes, or not printable")
