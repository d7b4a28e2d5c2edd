"""Keeps a step that devices are still counting until the next one comes: nothing waits for them before."""

import contextlib
import os
import threading

try:
    import _signal as signal  # without enumerations, which take 30 microseconds of a step
except ImportError:
    import signal

from .._counting import kernels
from .._errors import RecorderError

# That users and what runs their jobs send.
SIGNALS = [
    getattr(signal, name)
    for name in "SIGINT SIGTERM SIGHUP SIGQUIT SIGUSR1 SIGUSR2 SIGALRM SIGCONT SIGXCPU SIGBREAK".split()
    if hasattr(signal, name)
]


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
            self.fail(error)

    def run(self):
        try:
            self.result = self.write()
        except Exception as error:  # whoever asks for the step raises or says it
            self.error = error
        self.arrive = self.write = None

    def fail(self, error):
        self.error, self.arrive, self.write = error, None, None


def may_interrupt(handler):
    """asyncio's does nothing, and would lose what siginterrupt() was told of it."""
    return callable(handler) and not str(getattr(handler, "__module__", None)).startswith("asyncio.")


@contextlib.contextmanager
def uninterrupted():
    """What a program's own handlers of signals do comes afterwards: they may raise, or end the process. A second interrupt does not
    wait."""
    if threading.current_thread() is not threading.main_thread():  # the only one that runs them
        yield
        return
    usual = {number: handler for number in SIGNALS for handler in [signal.getsignal(number)] if may_interrupt(handler)}
    came, left = {}, list(usual)

    def later(number, frame):
        if number == signal.SIGINT and number in came:
            usual[number](number, frame)
        came[number] = number, frame

    try:
        for number in usual:
            signal.signal(number, later)
        yield
    finally:
        raised = None
        while left:  # a handler that is back may raise at once
            try:
                while left:
                    signal.signal(left[-1], usual[left[-1]])
                    left.pop()
            except BaseException as error:
                raised = error
        for how in came.values():
            try:
                usual[how[0]](*how)
            except BaseException as error:
                raised = error
        if raised is not None:
            raise raised


class Writer:
    """Has one step at a time."""

    def __init__(self):
        self._step, self._process, self._lock = None, os.getpid(), threading.RLock()

    def begin(self, step):
        """After end()."""
        if self._step is not None:  # which kept it
            raise RecorderError(kernels.CAPTURED)
        if step.can_wait:
            kernels.device().driver.end_copies()
        else:
            step.run()
        self._step = step

    @property
    def is_done(self):
        """Whether the step that was begun is."""
        return self._step is not None and self._step.write is None

    def end(self, is_last=False):
        """The step that was begun, written or failed. None without one; while a graph is captured, which waiting would spoil, unless it
        is the last; and in a fork, where nobody writes it."""
        if os.getpid() != self._process:  # where the lock may be held for ever
            step, self._step = self._step, None
            return step if step is not None and step.write is None else None
        with self._lock:
            step = self._step
            if step is None:
                return None
            if step.write is not None and kernels.is_capturing():
                if not is_last:
                    return None
                step.fail(RecorderError("it is not in the file: the recording was closed while a CUDA graph was being captured"))
            if step.write is not None:
                step.wait()
                with uninterrupted():
                    if step.write is not None:  # else it failed, or a signal's handler asked for it meanwhile
                        step.run()
            if self._step is not step:
                return None
            self._step = None  # not before: an interrupt may come instead of what is returned
            return step
