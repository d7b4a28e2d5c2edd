"""Keeps a step that devices are still counting until the next one comes: nothing waits for them before."""

import contextlib
import os
import signal
import threading

from .._counting import kernels


class Step:
    """One on its way to the file."""

    def __init__(self, step, arrive, write, unfit, seen, can_wait):
        """arrive() waits for what devices have of it; write() writes it. seen: what gradients there are, where that is new; can_wait:
        whether both have time until the next step."""
        self.step, self.arrive, self.write, self.unfit, self.seen, self.can_wait = step, arrive, write, unfit, seen, can_wait
        self.result = self.error = None

    def wait(self):
        """An interrupt leaves it as it is."""
        try:
            self.arrive()
        except Exception as error:
            self.error, self.write = error, None

    def run(self):
        try:
            if self.error is None:
                self.result = self.write()
        except Exception as error:  # whoever asks for the step raises or says it
            self.error = error
        self.arrive = self.write = None


@contextlib.contextmanager
def uninterrupted():
    """What a user's interrupt does comes afterwards."""
    usual = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if not callable(usual):
        yield
        return
    came = []
    signal.signal(signal.SIGINT, lambda *how: came.append(how))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if came:
            usual(*came[0])


class Writer:
    """Has one step at a time."""

    def __init__(self):
        self._step, self._process, self._lock = None, os.getpid(), threading.RLock()

    def begin(self, step):
        """Whether it is done already."""
        if step.can_wait:
            kernels.device().driver.end_copies()
        else:
            step.run()
        self._step = step
        return not step.can_wait

    def end(self):
        """The step that was begun, written or failed; None without one, and in a fork, where nobody writes it."""
        if os.getpid() != self._process:  # where the lock may be held for ever
            step, self._step = self._step, None
            return step if step is not None and step.write is None else None
        with self._lock:
            step = self._step
            if step is None:
                return None
            if step.write is not None:
                if kernels.is_capturing():  # a graph, which waiting would spoil
                    return None
                step.wait()
                with uninterrupted():
                    self._step = None
                    step.run()
            self._step = None
            return step
