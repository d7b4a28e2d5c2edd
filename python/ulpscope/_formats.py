"""Formats as Python names them, and what is to be known of one."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
import os
import sys
import warnings
from typing import Any, List, Optional, Tuple, Union

from . import _core

_FOLDER = os.path.dirname(__file__)

Format = Union[str, Tuple[int, int], "finfo", Any]


@functools.lru_cache(maxsize=1000)
def _note(name: str) -> str:
    if not name.isprintable():
        raise ValueError(f"format: {name!r} is not a name of one")
    return _core.note_on_name(name)


def _is_known(name: str) -> bool:
    try:
        _core.format_facts(name)
    except ValueError:
        return False
    return True


def _callers_level() -> int:
    """The stacklevel of warnings at which the first line outside this package is."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == _FOLDER:
        level, frame = level + 1, frame.f_back
    return level


def format_name(format: Format) -> str:
    """The name under which the library knows what a caller gave: text, (exponent bits, fraction bits), a dtype of
    numpy, ml_dtypes or torch, or a finfo. Warns of text that is easily taken for OCP's format and is not."""
    if isinstance(format, str):
        note = _note(format)
        if note.startswith(f"{format} is IEEE-style"):
            warnings.warn(note, stacklevel=_callers_level())
        return format
    if isinstance(format, finfo):
        return format.name
    if isinstance(format, tuple):
        try:
            exponent_bits, fraction_bits = format
            return f"e{operator.index(exponent_bits)}m{operator.index(fraction_bits)}"
        except (TypeError, ValueError):
            raise ValueError(f"format: {format!r} is not (exponent bits, fraction bits)") from None
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(format, torch.dtype):
        return str(format)[len("torch.") :]
    numpy = sys.modules.get("numpy")
    if numpy is not None and format is not None:  # None is float64 to numpy
        try:
            name = numpy.dtype(format).name
            if name not in ("object", "void"):  # which any class, and a list, is to it
                return name
        except TypeError:
            pass
    for name in (getattr(getattr(format, "dtype", format), of, None) for of in ("name", "__name__")):
        if isinstance(name, str) and _is_known(name):  # a type of ml_dtypes or jax, whatever numpy knows of it
            return name
    raise TypeError(
        f"format: {format!r} is not a name, (exponent bits, fraction bits), or a dtype of numpy, ml_dtypes or torch"
    )


def formats() -> List[str]:
    """The names of the catalogue, as `ulp formats` lists them. Others are e<E>m<M> with options, "e6m9,bias=30"."""
    return _core.formats()


@dataclasses.dataclass(frozen=True)
class _Facts:
    """What the library says of a format."""

    name: str
    bits: int
    exponent_bits: int
    fraction_bits: int
    bias: int
    emin: int
    emax: int
    has_sign: bool
    has_zero: bool
    has_subnormals: bool
    has_infinity: bool
    has_nan: bool
    max: float
    smallest_normal: float
    smallest_subnormal: Optional[float]
    max_code: int
    infinity_code: Optional[int]
    nan_code: Optional[int]
    source: str
    note: str


class finfo(_Facts):
    """The limits of a format, under the names of numpy.finfo and some more.

    >>> ulpscope.finfo("cbfloat16").smallest_subnormal
    1.8189894035458565e-12

    Numbers are Python floats, exact for every format of at most 64 bits. None stands where a format has no such number
    or code. Raises ValueError for an unknown format, TypeError for what is none.
    """

    def __init__(self, format: Format) -> None:
        super().__init__(**_core.format_facts(format_name(format)))

    @property
    def min(self) -> float:
        """The smallest number: -max, or without a sign the smallest above zero."""
        if self.has_sign:
            return -self.max
        return 0.0 if self.has_zero else self.smallest_normal

    @property
    def tiny(self) -> float:
        """smallest_normal."""
        return self.smallest_normal

    @property
    def eps(self) -> float:
        """From 1 to the next larger number."""
        return 2.0**self.machep

    @property
    def epsneg(self) -> float:
        """From 1 to the next smaller number."""
        return 2.0**self.negep

    @property
    def machep(self) -> int:
        """The exponent of eps."""
        return -self.fraction_bits

    @property
    def negep(self) -> int:
        """The exponent of epsneg."""
        return -self.fraction_bits - 1

    @property
    def nmant(self) -> int:
        """fraction_bits."""
        return self.fraction_bits

    @property
    def iexp(self) -> int:
        """exponent_bits."""
        return self.exponent_bits

    @property
    def nexp(self) -> int:
        """exponent_bits."""
        return self.exponent_bits

    @property
    def minexp(self) -> int:
        """The exponent of smallest_normal."""
        return math.frexp(self.smallest_normal)[1] - 1

    @property
    def maxexp(self) -> int:
        """The smallest power of 2 that overflows."""
        return self.emax + 1

    @property
    def precision(self) -> int:
        """Decimal digits that every number of so many keeps, by numpy's formula."""
        return int(-math.log10(self.eps))

    @property
    def resolution(self) -> float:
        """10**-precision."""
        return 10.0**-self.precision

    def __str__(self) -> str:
        return self.name
