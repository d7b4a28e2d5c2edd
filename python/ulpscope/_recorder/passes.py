"""How many backward passes a gradient is the sum of."""

import functools
import math
import weakref

from .._counting.compiled import counting
from .hooks import Hooks

FORWARD, SCALED = 1, 1 << 32  # what comes before a backward pass: forward passes of the model, losses that were scaled


class Calls:
    """Counts what came since the last backward pass began."""

    __slots__ = ("now", "right", "number", "has_pass")

    def __init__(self):
        self.now, self.number, self.has_pass = 0, 0, False
        self.right = None  # what must come before a pass of which the uses are known; None: anything

    def see(self, what):
        if self.has_pass:
            self.now, self.has_pass = 0, False
            self.number += 1
        self.now += what


class Counted:
    """Counts the backward passes that come to a parameter, by hooks."""

    __slots__ = ("uses", "is_known", "since_zero", "ever", "see", "see_added", "added") + (
        "_calls", "_may_repeat", "_number", "_came", "_version", "_is_taken", "_is_ended"
    )  # fmt: skip

    def __init__(self, parameter, uses, calls, is_open):
        self.uses = uses
        self.is_known = True  # whether uses are those of one pass
        self.since_zero = 0 if parameter.grad is None else math.nan  # passes; NaN: not known
        self.ever = 0
        self.see = functools.partial(self._see, weakref.ref(parameter))  # hooks: before a pass is added to the gradient
        self.see_added = functools.partial(self._see_added, weakref.ref(parameter))  # and where nothing tells when it was
        self.added = self._added  # after it was
        self._calls = calls
        self._may_repeat = is_open and sum(uses) == 1  # else a further pass of the same graph may be a part of it, or one within another
        self._number = -1  # of the calls before the last pass
        self._came = None  # of a pass that came and is not yet seen to be added: what version the gradient had, -1: there was none
        self._version = None  # that the gradient has in the next pass if all that happens to it is that this one is added
        self._is_taken = False  # whether it was recorded since: it is set to zero then, if it is changed at all
        self._is_ended = False  # whether it was recorded as that of a whole step: then more does not seem to be added

    def _lose(self):
        """Training goes on; the parameter may be gone already."""
        self._came, self.since_zero = None, math.nan

    def _see(self, parameter, gradient):
        try:
            before = parameter().grad
            self._came = -1 if before is None else before._version
        except Exception:
            self._lose()

    def _see_added(self, parameter, gradient):
        try:
            self._see(parameter, gradient)
            before = parameter().grad
            self._count(before, gradient._version if before is None else before._version + 1)
        except Exception:
            self._lose()

    def _added(self, parameter):
        try:
            if self._came is not None:
                gradient = parameter.grad
                self._count(gradient, gradient._version)
        except Exception:
            self._lose()

    def _count(self, gradient, version):
        """version: of the gradient when the pass is added."""
        came, self._came, calls = self._came, None, self._calls
        self.ever += 1
        if came == -1:
            self.since_zero = 1
        elif came == self._version:
            self.since_zero += math.nan if self._is_ended else 1  # .data.zero_() leaves the version as it is
        else:  # views of one tensor share their versions
            self.since_zero = 1 if self._is_taken and not gradient._is_view() else math.nan
        if calls.right is not None:
            if calls.now != calls.right or (calls.number == self._number and not self._may_repeat):
                self.since_zero = math.nan
        self._number, calls.has_pass = calls.number, True
        self._version, self._is_taken, self._is_ended = version, False, False

    def take(self, gradient):
        """What is recorded is the sum of the passes that were counted."""
        if self._came is not None and gradient._version != self._came:  # it may have been added or not
            self._lose()
        self._version, self._is_taken = gradient._version, True

    def end(self):
        """It was recorded as that of a whole step."""
        self._is_taken = self._is_ended = True


if counting is not None:
    Calls, Counted = counting.Calls, counting.Passes


class Passes(Counted):
    """Has its hooks placed."""

    def __init__(self, parameter, uses, calls, is_open=True):
        super().__init__(parameter, tuple(uses), calls, is_open)
        tells = hasattr(parameter, "register_post_accumulate_grad_hook")  # torch.autograd.grad calls the other hook, too
        self.hook = Hooks([parameter.register_hook(self.see if tells else self.see_added)])
        if tells:
            self.hook.append(parameter.register_post_accumulate_grad_hook(self.added))
