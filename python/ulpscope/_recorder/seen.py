"""What hooks see between two steps."""

from .._counting.host import loaded_torch
from .._counting.values import WAITING, tables_of
from .graph import tensors_in


class Seen:
    """Since the last step."""

    def __init__(self, sums):
        self._sums = sums
        self.watched = []  # tensors that were taken
        self.trouble = None  # what went wrong: training goes on, and step() raises it
        self.unfit = {}  # tensors that cannot be recorded: why
        self._pending = []  # values that were counted on a device

    def bound(self, values):
        """Lets no more wait on a device than step() would."""
        if values.vector is not None or values.started is not None:
            self._pending.append(values)
        if len(self._pending) == WAITING:
            pending, self._pending = self._pending, []
            tables_of([v for v in pending if v.table is None], self._sums)

    def take_watched(self):
        watched, self.watched = self.watched, []
        return watched

    def take_problems(self):
        """(trouble, unfit)"""
        problems = self.trouble, self.unfit
        self.trouble, self.unfit = None, {}
        return problems


# What is recorded of a module: what begins its name, and its kind.
WATCHED = {"gradient": ("", "activation_grad"), "output": ("forward/", "activation"), "input": ("activation/", "activation")}


class Watch:
    """Takes the inputs of a module, its outputs or their gradients into Seen: `see` is a forward hook."""

    def __init__(self, name, what, schedule, taker, seen, sums):
        self._name, self._what, self._schedule = name, what, schedule
        self._taker, self._seen, self._sums = taker, seen, sums

    def see(self, module, inputs, output):
        if not self._schedule.is_due or not loaded_torch().is_grad_enabled():
            return
        tensors = tensors_in(inputs if self._what == "input" else output)
        for i, tensor in enumerate(tensors):
            label = self._name if len(tensors) == 1 else f"{self._name}[{i}]"
            if self._what != "gradient":
                self._take(label, tensor)
            elif tensor.requires_grad:
                tensor.register_hook(lambda gradient, label=label: self._take(label, gradient))

    def _take(self, label, tensor):
        try:
            begin, kind = WATCHED[self._what]
            taken = self._taker.take(begin + label, kind, (), 0, None, tensor, self._seen.unfit)
            if taken is not None:
                taken[-1].count(self._sums)
                self._seen.watched.append(taken)
                self._seen.bound(taken[-1])
        except Exception as error:  # training goes on
            self._seen.trouble = error
