"""Optimizers and scalers as they are given, what is around them, and what was seen of their steps."""

from .._errors import RecorderError
from .alike import Bunch


class Update:
    """What was seen of the optimizers' steps since the last one that was recorded."""

    def __init__(self):
        self.of = self.watched = None  # the step() that came before it: step and arguments; what hooks had seen by then
        self.values, self.unfit, self.trouble = {}, {}, None
        self.bunch = None  # gradients in place of values
        self.weights, self.changes, self.states = {}, {}, {}  # what is recorded besides, by name
        self.joint = {}  # contents of joint tables, by the name of the parameter
        self.before = {}  # parameters and copies of them as they were before the optimizer's step, by name
        self.unscaled = set()  # names
        self.scale = self.lr = None
        self.open = set()  # ids of parameters whose gradients were taken, and whose optimizer did not step since
        self.stepped = {}  # by id of the optimizer: whether it stepped, and whether the scaler found an overflow
        self.known_as = {}  # ids of optimizers and of what is around them: that of the optimizer

    def take(self, gradients, with_sums):
        """Gradients, counted, in place of those of before that have their names; the names."""
        is_bunch = isinstance(gradients, Bunch)
        if is_bunch and not self.values and (self.bunch is None or self.bunch.of is gradients.of):
            gradients.count(with_sums)
            self.bunch = gradients
            return gradients.of.names
        for of in (self.bunch, gradients):
            taken = of.one_by_one(with_sums) if isinstance(of, Bunch) else of or ()
            self.values.update((each[0], each) for each in taken)
        self.bunch = None
        return gradients.of.names if is_bunch else {each[0] for each in gradients}

    def gradients(self):
        return list(self.values.values()) if self.bunch is None else self.bunch

    def forget_parts(self, name):
        """Of a gradient that is a sum of another number of parts than was thought; 16 bits are one."""
        if self.bunch is not None:
            self.bunch.forget_parts(name)
        elif name in self.values and self.values[name][-1].type.bits > 16:
            self.values[name][-1].parts = 0

    def more(self, applied):
        """Weights, updates and states. What skips a step within the optimizer changes nothing."""
        return [*self.weights.values(), *(() if applied is False else self.changes.values()), *self.states.values()]

    def found_inf(self):
        found = [inf for _, inf in self.stepped.values() if inf is not None]
        return any(map(bool, found)) if found else None

    def applied(self):
        """None where some were, and others not."""
        applied = {stepped and not inf for stepped, inf in self.stepped.values()}
        return applied.pop() if len(applied) == 1 else None


def is_closure(argument):
    return callable(argument) and not hasattr(argument, "param_groups")


def difference(after, before):
    """In float32 at least."""
    if after.element_size() < 4:
        after, before = after.float(), before.float()
    return after - before


def innermost(optimizer):
    """What objects like those of accelerate are around: the scaler may know either."""
    for _ in range(8):
        within = getattr(optimizer, "optimizer", None)
        if not hasattr(within, "param_groups"):
            break
        optimizer = within
    return optimizer


def ids_in(optimizer):
    """Those of its parameters."""
    return set().union(*(map(id, group["params"]) for group in getattr(optimizer, "param_groups", ())))


def optimizers_in(optimizer):
    if optimizer is None:
        return []
    if hasattr(optimizer, "param_groups"):
        return [optimizer]
    several = optimizer.values() if isinstance(optimizer, dict) else optimizer
    several = list(several) if hasattr(several, "__iter__") else [several]
    if not all(hasattr(each, "param_groups") for each in several):
        raise RecorderError(f"optimizer: {type(optimizer).__name__} is neither an optimizer of torch nor several of them")
    return several


def check_scaler(scaler):
    lacking = [n for n in ("get_scale", "unscale_", "step", "update") if scaler is not None and not hasattr(scaler, n)]
    if lacking:
        raise RecorderError(f"scaler: a {type(scaler).__name__} has no {lacking[0]}(): leave it out, and pass loss_scale")
