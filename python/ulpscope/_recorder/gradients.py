"""Takes the gradients of the model's parameters."""

import itertools

from .._counting import kernels
from .._counting.compiled import counting
from .._counting.host import loaded_torch, np
from .._counting.values import SmallValues, TINY, plain_values, take_gradients
from .alike import Alike, Bunch
from .graph import UNSEEN
from .names import plain
from .ranks import is_replica, is_summand


def size_if_small(gradient, torch):
    """The number of its elements if it is one of those that numpy counts together, else 0."""
    if type(gradient) is not torch.Tensor or gradient.dtype is not torch.float32:
        return 0
    if not gradient.is_cpu or gradient.layout is not torch.strided or gradient.is_neg():
        return 0
    size = gradient.numel()
    return size if size < TINY else 0


class Gradients:
    def __init__(self, scope, file, parameters, parts, taker):
        self._scope, self._file, self._parameters, self._parts, self._taker = scope, file, parameters, parts, taker
        self.local = None  # Local, where gradients are taken before they are reduced over ranks
        self.alike = None  # what mostly is as in the step before
        self._seen = None  # what gradients there are, where that is not so
        self._recorded_of = None, []  # what _recorded was asked for last, and what it answered
        self._counts_together = np is not None and counting is None and not scope.sums  # small ones
        self._torch = None  # where tensors are taken, it is loaded
        self._worker = None

    def take(self, unfit, of=None):
        """Those of the model's parameters, or of some of them: a Bunch where they are Alike, else a list."""
        self._parts.settle()
        return self._take(unfit, of, None if self.local is None else self.local.taken)

    def take_before_reduction(self, unfit, of):
        """Those of some parameters, in this rank alone."""
        return self._take(unfit, of, None)

    def _take(self, unfit, of, reduced):
        """reduced: {id of parameter: what was taken of it before it was reduced; None if it is not reduced}."""
        named, at_once, self._seen, self._torch = self._recorded(of), itertools.repeat(None), None, loaded_torch()
        if counting is not None and named:
            taken = take_gradients(kernels.are_there())(named)
            if taken.are_plain and self.local is None:
                kinds = taken.kinds
                if self.alike is not None and self.alike.named is named and self.alike.kinds == kinds:
                    return Bunch(self.alike, taken, self._parts_of_all(named, taken), self._scope.blocks)
                self._seen = named, kinds
            at_once = plain_values(taken)
        values, casts = [], self._parts.casts
        for (name, parameter), taken_as_is in zip(named, at_once):
            gradient = parameter.grad
            if gradient is None:
                continue
            if reduced is None:
                taken = self._take_one(name, parameter, gradient, taken_as_is, casts, unfit)
            elif id(parameter) not in reduced:  # no backward pass came to it here
                continue
            else:
                taken = reduced[id(parameter)]
                if taken is None:
                    taken = self._take_one(name, parameter, gradient, taken_as_is, casts, unfit)
                elif taken[-1].type.bits > 16:
                    taken[-1].parts = self._parts.parts_of(parameter, gradient)
            if taken is not None:
                values.append(taken)
        return values

    def _take_one(self, name, parameter, gradient, taken_as_is, casts, unfit):
        """taken_as_is: PlainValues of it, or None."""
        blocks = self._scope.blocks
        cast = casts.get(id(parameter), UNSEEN)
        is_known = name in self._file.tensors
        if taken_as_is is not None and is_known:
            if taken_as_is.type.bits <= 16:
                taken_as_is.parts = 1
            elif self._parts.passes:
                taken_as_is.parts = self._parts.parts_of(parameter, gradient)
            if blocks is not None:
                taken_as_is.blocks = blocks.count(name, gradient)
            return name, "weight_grad", (), 0, cast, taken_as_is
        if is_known and self._counts_together and (size := size_if_small(gradient, self._torch)):
            small = SmallValues(gradient, size, self._parts.parts_of(parameter, gradient))
            if blocks is not None:
                small.blocks = blocks.count(name, gradient)
            return name, "weight_grad", (), 0, cast, small
        if is_replica(gradient) and not is_summand(gradient):
            return None
        total = parameter.numel() if hasattr(parameter, "to_local") else 0
        taken = self._taker.take(name, "weight_grad", parameter.shape, total, cast, gradient, unfit)
        if taken is not None:
            taken[-1].parts = 1 if taken[-1].type.bits <= 16 else self._parts.parts_of(parameter, gradient)
        return taken

    def _recorded(self, of=None):
        """Pairs of plain name and parameter of which gradients are recorded here, of the model's or of some: while these are the
        same, the same list."""
        if of is None:
            of = self._parameters.listed()
        if self._recorded_of[0] is not of:
            only, named = self._scope.wanted.get("gradients"), ((plain(name) if "_orig_mod" in name else name, p) for name, p in of)
            some = [(n, p) for n, p in named if n not in self._scope.elsewhere and (only is None or only.search(n))]
            self._recorded_of = of, some
        return self._recorded_of[1]

    def _parts_of_all(self, named, taken):
        """Of those that have a gradient."""
        if not self._parts.passes:
            return self.alike.parts
        return tuple(self._parts.parts_of_all(named, taken.tensors, self.alike.in_few_bits))

    def take_seen(self):
        """What gradients there are, where they were taken one by one: of the step that is taken now."""
        seen, self._seen = self._seen, None
        return seen

    def learn(self, rows, seen):
        """What is known of them, now that they are in the file."""
        layout = self._file.layout
        if self.alike is not None and layout is not None and layout.of[0] is self.alike.infos:
            self.alike.groups = [*layout.groups.values()]
        if seen is None:
            return
        named, kinds = seen
        of = {info.name: (info, number) for info, number in zip(rows.infos, rows.type_numbers)}
        its = [of.get(name) for (name, _), number in zip(named, kinds) if number != 0]
        if its and None not in its:
            self._worker = self._worker or (counting and counting.Worker())
            self.alike = Alike(named, kinds, *zip(*its), self._worker)

    def forget(self):
        """After a step that could not be recorded."""
        self.alike = self._seen = None
