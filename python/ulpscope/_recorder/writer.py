"""Writes steps that devices are still counting in a thread of its own."""

import queue
import threading


class Step:
    """One on its way to the file. write() writes it."""

    __slots__ = ("step", "write", "unfit", "can_wait", "result", "error")

    def __init__(self, step, write, unfit, can_wait):
        self.step, self.write, self.unfit, self.can_wait = step, write, unfit, can_wait
        self.result = self.error = None

    def run(self):
        try:
            self.result = self.write()
        except Exception as error:  # whoever asks for the step raises or says it
            self.error = error
        self.write = None


class Writer:
    """Has one step at a time."""

    def __init__(self):
        self._step = None
        self._begun, self._done = queue.SimpleQueue(), queue.SimpleQueue()
        self._thread = None

    @property
    def is_busy(self):
        return self._step is not None and self._step.can_wait

    def begin(self, step):
        if not step.can_wait:
            step.run()
            self._step = step
            return
        self._step = step
        if self._thread is None or not self._thread.is_alive():  # a fork has none
            self._thread = threading.Thread(target=work, args=(self._begun, self._done), name="ulpscope", daemon=True)
            self._thread.start()
        self._begun.put(step)

    def end(self):
        """The step that was begun, written or failed; None without one."""
        step, self._step = self._step, None
        if step is not None and step.can_wait:
            self._done.get()
        return step


def work(begun, done):
    while True:
        step = begun.get()
        step.run()
        del step
        done.put(None)
