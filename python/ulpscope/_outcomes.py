"""One name for two questions: outcomes of an array, and of a run."""

from __future__ import annotations

import os


def outcomes(x, format, *arguments, **options):
    """How many values underflow, become subnormal or overflow in a format.

    Of an array as `ulpscope._arrays.outcomes` has it; of a run (a path, several, or what `ulpscope.open` returned) as
    `ulpscope._runs.outcomes`, which is `ulp outcomes`.
    """
    if _is_run(x):
        from ._runs import outcomes as of_run

        return of_run(x, format, *arguments, **options)
    from ._arrays import outcomes as of_array

    return of_array(x, format, *arguments, **options)


def _is_run(x):
    if isinstance(x, (list, tuple)):
        return len(x) > 0 and all(isinstance(one, (str, bytes, os.PathLike)) for one in x)
    if isinstance(x, (str, bytes, os.PathLike)):
        return True
    from ._runs import Run

    return isinstance(x, Run)
