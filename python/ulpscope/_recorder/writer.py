"""Keeps a step that devices are still counting until the next one comes: nothing waits for them before."""

import os

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


class Writer:
    """Has one step at a time."""

    def __init__(self):
        self._step, self._process = None, os.getpid()

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
        step = self._step
        if step is None or (step.write is not None and os.getpid() != self._process):
            return None
        if step.write is not None:
            step.wait()
            self._step = None
            step.run()
        self._step = None
        return step
