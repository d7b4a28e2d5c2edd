"""Records a training job whose loop says nothing: one line before it."""

from __future__ import annotations

import atexit
import functools
import os
import shlex
import sqlite3
import sys
import types
from contextlib import closing, suppress
from typing import Any, Callable, List, Optional
from urllib.parse import quote

from ._errors import RecorderError, printable
from ._recorder import Recorder
from ._recorder.optimizers import optimizers_in


def init(
    model: Any,
    optimizer: Any,
    scaler: Optional[Any] = None,
    path: Optional[str] = None,
    *,
    first_step: int = 0,
    **options: Any,
) -> Recorder:
    """Records a training job from here on, and tells at its end, in one line on stderr, how it went.

    >>> ulpscope.init(model, optimizer, scaler)

    A step is recorded when the scaler was updated; without a scaler, when each optimizer stepped. Its number counts from
    first_step on. With a scaler the loss is known: the sum of what scaler.scale() got since the step before. The file is
    closed when the program ends.

    optimizer, scaler   as for Recorder: an optimizer of torch or several, a GradScaler
    path                the recording: by default run.ulp, or run-2.ulp, run-3.ulp, ... where that exists
    options             further arguments of Recorder. every=10 records every tenth step.

    Returns the Recorder: its close() ends recording earlier; its step() is not to be called. Raises RecorderError as Recorder
    does, before training.
    """
    optimizers = optimizers_in(optimizer)
    if not optimizers:
        raise RecorderError("optimizer: without one nobody knows when a step is done; use Recorder and its step()")
    path = os.fspath(path) if path is not None else _free_path()
    recorder = Recorder(path, model, optimizer=optimizers, scaler=scaler, **options)
    if recorder._file is not None:  # else another rank records
        _Unattended(recorder, optimizers, scaler, first_step)
    return recorder


def _free_path() -> str:
    path, number = "run.ulp", 1
    while os.path.lexists(path):
        number += 1
        path = f"run-{number}.ulp"
    return path


class _Unattended:
    def __init__(self, recorder: Recorder, optimizers: List[Any], scaler: Any, step: int):
        self._recorder, self._path = recorder, recorder._file.path
        self._step, self._loss = step, None
        self._awaited, self._stepped = {id(o) for o in optimizers}, set()
        self._process = os.getpid()
        self._lost: List[int] = []  # steps whose gradients are not all finite: the first, and how many
        if scaler is None:
            recorder.see_rows = self._see_rows
        self._undo: List[Callable[[], None]] = []
        if scaler is not None:
            if hasattr(scaler, "scale"):
                self._follow(scaler, "scale", self._add_loss)
            self._follow(scaler, "update", lambda *_: self._done())
        else:
            for one in optimizers:
                self._follow(one, "step", lambda *_, of=id(one): self._see_step(of))
        close = recorder.close

        def closed() -> None:
            for undo in reversed(self._undo):
                undo()
            self._undo = []
            close()

        recorder.close = closed
        atexit.register(self._end)  # before that of Recorder, which came first

    def _follow(self, of: Any, name: str, then: Callable[..., None]) -> None:
        """Calls `then` after each call of a method of the object itself; copies have their class's."""
        call, before = getattr(of, name), vars(of).get(name)

        def followed(this: Any, *arguments: Any, **named: Any) -> Any:
            if this is not of:
                return getattr(type(this), name)(this, *arguments, **named)
            result = call(*arguments, **named)
            then(*arguments)
            return result

        functools.update_wrapper(followed, call)  # with what schedulers of learning rates put there
        del followed.__wrapped__
        method = types.MethodType(followed, of)

        def undo() -> None:
            if vars(of).get(name) is not method:  # somebody wrapped it again
                return
            if before is None:
                delattr(of, name)
            else:
                setattr(of, name, before)

        setattr(of, name, method)
        self._undo.append(undo)

    def _add_loss(self, loss: Any = None, *_: Any) -> None:
        if getattr(loss, "numel", lambda: 0)() == 1:
            part = loss.detach().reshape(())
            self._loss = part if self._loss is None else self._loss + part.to(self._loss.device)

    def _see_step(self, optimizer: int) -> None:
        self._stepped.add(optimizer)
        if self._stepped == self._awaited:
            self._stepped = set()
            self._done()

    def _see_rows(self, step: int, rows: Any) -> None:
        if not rows.tables.are_finite():
            self._lost = [self._lost[0], self._lost[1] + 1] if self._lost else [step, 1]

    def _done(self) -> None:
        if not self._undo:  # closed
            return
        loss, self._loss = self._loss, None
        self._recorder.step(self._step, loss=loss)
        self._step += 1

    def _end(self) -> None:
        if os.getpid() != self._process:
            return
        with suppress(Exception):  # the interpreter ends, and what went wrong was said
            self._recorder.close()
        with suppress(Exception):
            print(printable(f"ulpscope: {told(self._path, *self._lost)}"), file=sys.stderr)


def told(path: str, first_lost: int = 0, lost: int = 0) -> str:
    """How the recorded run went, in one line. `lost`: steps of this job, without a scaler, whose gradients were not all finite."""
    near = os.path.relpath(path)
    path = path if near.startswith("..") else near
    with closing(sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True)) as file:
        steps, overflowed, known, first = file.execute(
            "SELECT count(*), coalesce(sum(found_inf), 0), count(found_inf), min(CASE WHEN found_inf THEN step END) "
            "FROM step WHERE microbatch = -1"
        ).fetchone()
    if steps == 0:
        return f"{path}: no step was recorded: the optimizer that was given did not step"
    of = f"{steps} step{'' if steps == 1 else 's'}"
    what = f": {overflowed} overflowed, the first at step {first}" if overflowed else ": none overflowed" if known else ""
    if 0 < known < steps:
        what += f", of {known} whose outcome is known"
    if lost > 0:
        what += f": {lost} with infinite or NaN gradients, the first at step {first_lost}"
    return f"{path}: {of} recorded{what}. What happened: ulp advise {shlex.quote(path)}"
