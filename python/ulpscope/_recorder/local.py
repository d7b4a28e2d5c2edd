"""Gradients as they are before DistributedDataParallel reduces them over ranks."""

import functools

from .._counting.host import loaded_torch
from .._counting.values import SmallValues
from .._errors import RecorderError


class Local:
    def __init__(self, scope, parameters, parts, gradients, schedule, seen):
        if not hasattr(loaded_torch().Tensor, "register_post_accumulate_grad_hook"):
            raise RecorderError("local: DistributedDataParallel needs torch 2.1 or newer; leave it out")
        self._scope, self._parts, self._gradients, self._schedule, self._seen = scope, parts, gradients, schedule, seen
        self.taken = {}  # {id of parameter: what was taken of it; None if it is not reduced}
        self.hooks = [
            parameter.register_post_accumulate_grad_hook(functools.partial(self._before_reduction, name))
            for name, parameter in parameters
            if parameter.requires_grad
        ]

    def _before_reduction(self, name, parameter):
        if not self._schedule.is_due:
            return
        self.taken[id(parameter)] = None
        self._parts.count_added(parameter)
        if not self._scope.replicas.require_backward_grad_sync:
            return
        try:
            for taken in self._gradients.take_before_reduction(self._seen.unfit, [(name, parameter)]):
                if type(taken[-1]) is SmallValues:
                    taken[-1].array = taken[-1].array.clone()
                else:
                    taken[-1].count(self._scope.sums)
                self.taken[id(parameter)] = taken
                self._seen.bound(taken[-1])
        except Exception as error:  # training goes on, and step() raises it
            self._seen.trouble = error

    def forget(self, parameters):
        """By ids: what was taken of them is recorded."""
        for parameter in parameters:
            self.taken.pop(parameter, None)
