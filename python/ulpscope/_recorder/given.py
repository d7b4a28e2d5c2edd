"""What step() is told of a step."""

import math
import reprlib

from .._errors import RecorderError
from .held import held, number


class Given:
    __slots__ = (
        "loss", "loss_scale", "scaled", "factor", "grad_norm", "lr", "found_inf", "applied", "grads", "attempt", "microbatch"
    )  # fmt: skip

    def __init__(self, loss, loss_scale, scaled, factor, grad_norm, lr, found_inf, applied, grads, attempt, microbatch):
        self.loss, self.loss_scale, self.scaled, self.factor = loss, loss_scale, scaled, factor
        self.grad_norm, self.lr, self.found_inf, self.applied = grad_norm, lr, found_inf, applied
        self.grads, self.attempt, self.microbatch = grads, attempt, microbatch

    def waiting(self):
        """The same, to be kept until the optimizer's step: without the graph behind the loss."""
        self.loss = self.loss.detach() if hasattr(self.loss, "detach") else self.loss
        return self

    def hold(self, later):
        """Numbers that are on a device come to the host; not at once if they are asked for later."""
        for name in ("loss", "loss_scale", "grad_norm", "lr", "found_inf", "applied"):
            given = getattr(self, name)
            try:
                setattr(self, name, held(given.detach() if hasattr(given, "detach") else given, later))
            except (TypeError, ValueError):
                raise RecorderError(f"{name}={reprlib.repr(given)}: is not a number") from None

    def check_arguments(self):
        """Raises RecorderError for what no step has, as far as it is known at once."""
        if self.microbatch < -1 or (self.attempt or 0) < 0:
            raise RecorderError(
                f"attempt={self.attempt}, microbatch={self.microbatch}: counted from 0; -1 is all microbatches"
            )
        if not 0 < self.factor < math.inf:
            raise RecorderError(f"factor={self.factor}: must be above 0 and finite")
        if isinstance(self.loss_scale, (int, float)):
            self._check_scale()

    def _check_scale(self):
        if not self.loss_scale > 0:
            raise RecorderError(
                f"loss_scale={float(self.loss_scale)}: must be above 0: pass what the loss was multiplied by, 1 where it was not"
            )

    def settle(self):
        """For which the host may have to wait."""
        for name in ("loss", "loss_scale", "grad_norm", "lr", "found_inf", "applied"):
            setattr(self, name, number(getattr(self, name)))

    def complete(self, update):
        """What was seen of the optimizers' steps is taken where nothing was given. Returns a loss scale that was given and that the
        scaler did not have, else None."""
        other_scale, scale = None, number(update.scale)
        if scale is not None:
            other_scale = self.loss_scale if self.loss_scale not in (None, scale) else None
            self.loss_scale = scale
        self.loss_scale = 1.0 if self.loss_scale is None else self.loss_scale
        self.lr = update.lr if self.lr is None else self.lr
        self.found_inf = update.found_inf() if self.found_inf is None else self.found_inf
        self.applied = update.applied() if self.applied is None else self.applied
        self.scaled = not update.unscaled
        return other_scale

    def check(self):
        """Numbers become floats. Raises RecorderError for a loss scale that no step has."""
        self.loss, self.loss_scale, self.grad_norm, self.lr = (
            None if x is None else float(x) for x in (self.loss, self.loss_scale, self.grad_norm, self.lr)
        )
        if self.loss_scale is not None:
            self._check_scale()

    def key(self, step, shown):
        """Of its row. shown: the recording's name."""
        if int(step) != step:
            raise RecorderError(f"{shown}: step {step}: is not a whole number")
        if not -(2**63) <= int(step) < 2**63 - 1:
            raise RecorderError(f"{shown}: step {step}: is outside the range of step numbers")
        return int(step), self.attempt if self.attempt is None else int(self.attempt), int(self.microbatch)

    def scalars(self):
        flags = (None if x is None else int(bool(x)) for x in (self.found_inf, self.applied))
        return self.loss, self.grad_norm, self.lr, self.loss_scale, *flags
