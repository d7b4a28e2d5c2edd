"""How many backward passes a gradient is the sum of."""

import functools
import math
import weakref

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


class Passes:
    """Counts the backward passes that come to a parameter."""

    __slots__ = (
        "uses", "calls", "may_repeat", "number", "is_known", "since_zero", "ever", "came", "version", "is_taken", "is_ended", "hook"
    )  # fmt: skip

    def __init__(self, parameter, uses, calls, is_open=True):
        self.uses, self.calls = uses, calls
        self.may_repeat = is_open and sum(uses) == 1  # else a further pass of the same graph may be a part of it, or one within another
        self.number = -1  # of the calls before the last pass
        self.is_known = True  # whether uses are those of one pass
        self.since_zero = 0 if parameter.grad is None else math.nan  # NaN: not known
        self.ever = 0
        self.came = None  # of a pass that came and is not yet seen to be added: what version the gradient had, -1: there was none
        self.version = None  # that the gradient has in the next pass if all that happens to it is that this one is added
        self.is_taken = False  # whether it was recorded since: it is set to zero then, if it is changed at all
        self.is_ended = False  # whether it was recorded as that of a whole step: then more does not seem to be added
        tells = hasattr(parameter, "register_post_accumulate_grad_hook")  # torch.autograd.grad calls the other hook, too
        see = functools.partial(self._see if tells else self._see_added, weakref.ref(parameter))
        self.hook = Hooks([parameter.register_hook(see)])
        if tells:
            self.hook.append(parameter.register_post_accumulate_grad_hook(self.added))

    def _see(self, parameter, gradient):
        try:
            before = parameter().grad
            self.came = -1 if before is None else before._version
        except Exception:  # training goes on
            self.since_zero = math.nan

    def _see_added(self, parameter, gradient):
        try:
            self._see(parameter, gradient)
            before = parameter().grad
            self._count(before, gradient._version if before is None else before._version + 1)
        except Exception:  # training goes on
            self.since_zero = math.nan

    def added(self, parameter):
        try:
            if self.came is not None:
                gradient = parameter.grad
                self._count(gradient, gradient._version)
        except Exception:  # training goes on; it may be gone already
            self.came, self.since_zero = None, math.nan

    def _count(self, gradient, version):
        """version: of the gradient when the pass is added."""
        came, self.came, calls = self.came, None, self.calls
        self.ever += 1
        if came == -1:
            self.since_zero = 1
        elif came == self.version:
            self.since_zero += math.nan if self.is_ended else 1  # .data.zero_() leaves the version as it is
        else:  # views of one tensor share their versions
            self.since_zero = 1 if self.is_taken and not gradient._is_view() else math.nan
        if calls.right is not None:
            if calls.now != calls.right or (calls.number == self.number and not self.may_repeat):
                self.since_zero = math.nan
        self.number, calls.has_pass = calls.number, True
        self.version, self.is_taken, self.is_ended = version, False, False

    def take(self, gradient):
        """What is recorded is the sum of the passes that were counted."""
        if self.came is not None and gradient._version != self.came:  # it may have been added or not
            self.came, self.since_zero = None, math.nan
        self.version, self.is_taken = gradient._version, True
