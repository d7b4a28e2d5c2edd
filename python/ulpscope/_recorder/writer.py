"""Writes steps that devices are still counting in a thread of its own."""

import os
import queue
import threading

from .._counting import kernels


class Step:
    """One on its way to the file. write() writes it."""

    __slots__ = ("step", "write", "unfit", "seen", "can_wait", "done", "result", "error")

    def __init__(self, step, write, unfit, seen, can_wait):
        """seen: what gradients there are, where that is new; can_wait: whether the thread may write it."""
        self.step, self.write, self.unfit, self.seen, self.can_wait = step, write, unfit, seen, can_wait
        self.done = threading.Event()
        self.result = self.error = None

    def run(self, caught=Exception):
        try:
            self.result = self.write()
        except caught as error:  # whoever asks for the step raises or says it
            self.error = error
        self.done.set()  # before what it holds goes: that may be the last that holds the recorder, which then waits for it
        self.write = None


class Writer:
    """Has one step at a time."""

    def __init__(self):
        self._step, self._thread, self._process = None, None, os.getpid()
        self._begun = queue.SimpleQueue()

    def begin(self, step):
        """Whether it is done already."""
        if step.can_wait and self._has_thread():
            kernels.device().driver.end_copies()
            self._step = step
            self._begun.put(step)
            return False
        step.run()
        self._step = step
        return True

    def _has_thread(self):
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=work, args=(self._begun,), name="ulpscope", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # as many as the machine allows
                return False
            self._thread = thread
        return True

    def end(self):
        """The step that was begun, written or failed; None without one, and in a fork, where nobody writes it."""
        step = self._step
        if step is None or not (step.done.is_set() or os.getpid() == self._process):
            return None
        step.done.wait()  # an interrupt leaves it as it is
        self._step = None
        return step

    def stop(self):
        """After end()."""
        if self._thread is not None:
            self._begun.put(None)
            self._thread = None


def work(begun):
    kernels.device().driver.allow_captures()
    while True:
        step = begun.get()
        if step is None:
            return
        step.run(BaseException)
        del step
