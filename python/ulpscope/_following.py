"""A recording while it is being written, step by step."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, Mapping, Optional

from . import _runs
from ._flags import flag
from ._recorded_runs import Path, _given, _keywords
from ._run_tables import Table

__all__ = ["Following", "Step", "follow"]


class Step(Dict[str, Any]):
    """What was logged of a step, under the names of the columns of `Run.steps`: a dictionary of Python's own values, None where
    nothing was logged. `rows` is a `Table` of its tensors, with the columns of `Run.rows`; `cells` one of all counts as
    `Run.cells`, where they were asked for, else None."""

    def __init__(self, read: Mapping[str, Any]) -> None:
        super().__init__(Table(read["steps"]).records()[0])
        self.rows = Table(read["rows"])
        self.cells: Optional[Table] = Table(read["cells"]) if "cells" in read else None

    def __repr__(self) -> str:
        return f"<Step {self['step']}: {self.rows.height} tensors>"


class Following(Iterator[Step]):
    """The steps of a recording as they come, made by `follow`.

    `state` is what is known of the writing job: "awaited" (no recording yet, or no step in it), "recording", "stopped" (it ended
    without closing the recording; a resumed job may go on), "closed".
    """

    def __init__(self, path: Path, timeout: Optional[float], interval: float, depth: str, options: Dict[str, Any]) -> None:
        if timeout is not None and not timeout >= 0:
            raise ValueError(f"timeout={timeout}: a number of seconds from 0 on, or None to wait forever")
        if not 0 < interval < float("inf"):
            raise ValueError(f"interval={interval}: a number of seconds above 0")
        given = {name: _given(value) for name, value in options.items()}
        self._of = _runs.Follower(os.fsencode(path), _keywords(given), depth)
        self._timeout, self._interval = timeout, interval

    def __iter__(self) -> Following:
        return self

    def __next__(self) -> Step:
        read = self._of.next(self._timeout, self._interval)
        if read is None:
            raise StopIteration
        return Step(read)

    @property
    def state(self) -> str:
        return self._of.state()


def follow(
    path: Path, timeout: Optional[float] = None, *, interval: float = 1.0, cells: bool = False, **options: Any
) -> Following:
    """The steps of a recording that is being written, each as soon as it is there: what `ulp watch` looks at.

    Yields the steps that are there, then waits for more, and for the recording itself if there is none. Ends when the
    recording is closed, or when nothing came for `timeout` seconds; iterated again, it continues. `interval` is the
    time between two checks. Only accumulated gradients are read. A job that resumes from a checkpoint records some steps
    again, and they are yielded again. `options` are those of `Run`; `cells=True` reads all counts of each step.

        for step in ulpscope.follow("run.ulp", timeout=60):
            print(step["step"], step["scale"], step.rows["inf"].sum())

    Ctrl-C raises KeyboardInterrupt. Raises ValueError if the file is not a recording.
    """
    return Following(path, timeout, interval, "cells" if flag(cells, "cells") else "rows", options)
