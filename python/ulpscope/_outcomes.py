"""One name for two questions: outcomes of an array, and of a run."""

from __future__ import annotations

import os
import sys
from typing import Any, Iterator

from ._formats import Format
from ._loading import load


def outcomes(x: Any, format: Format, *arguments: Any, **options: Any) -> Any:
    """How many values underflow, become subnormal or overflow in a format.

    Of an array: outcomes(x, format, rounding="nearest-even", *, scale=1, ...), the arguments of `quantize` except out.
    The result is a dictionary of counts: numel; zero: zero before; underflow: nonzero to zero; subnormal: results below
    the smallest normal number; inexact; overflow: finite numbers beyond the largest, whatever is delivered; nan.

    Of a run, which is a path, a list of paths or what `open` returned: the options of `ulp outcomes` with underscores.
    format and scale may be several; by="kind", sort="underflow", top=10. The result is a Table with the columns of
    `ulp outcomes --json`.

    >>> import numpy
    >>> outcomes(numpy.float32([1e-9, 70000, 0]), "float16")["underflow"]
    1
    """
    if _is_run(x):
        return load("_recorded_runs", "outcomes").outcomes(x, format, *arguments, **options)
    from ._arrays import outcomes as of_array

    return of_array(x, format, *arguments, **options)


def _is_run(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return len(x) > 0 and all(isinstance(one, (str, bytes, os.PathLike)) for one in x)
    if isinstance(x, (str, bytes, os.PathLike, Iterator)):
        return True
    opened = sys.modules.get(f"{__package__}._recorded_runs")  # of which there are no runs before it is loaded
    return opened is not None and isinstance(x, opened.Run)
