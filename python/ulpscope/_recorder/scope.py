"""What of a job one recorder records: decided before training, and the same for all steps."""

from collections import namedtuple

from .._errors import RecorderError
from .names import expression, plain

# model: without its wrappers, or None; replicas: with that of DistributedDataParallel. elsewhere: names of parameters that other
# ranks record. is_alone: this rank knows all gradients. summed: of how many ranks a gradient is the sum. tells_more: this rank
# records more than gradients, since all else is the same on all ranks. wanted: {argument: compiled expression}. role_of: a function
# of a tensor's name. sums: whether exact sums are kept. blocks: a BlockCounter, or None. strict: whether step() raises.
ScopeFields = namedtuple("Scope", "model replicas shards is_alone summed tells_more elsewhere wanted role_of sums blocks strict")


class Scope(ScopeFields):
    __slots__ = ()

    def wants(self, what, name):
        regex = self.wanted.get(what)
        return regex is not None and regex.search(name) is not None

    def chosen(self, what, named):
        """The wanted ones of pairs of name and parameter, by plain name."""
        regex = self.wanted.get(what)
        return {} if regex is None else {plain(name): p for name, p in named if regex.search(plain(name))}


def compiled_expressions(model, has_optimizer, has_scaler, expressions):
    """Of {argument: expression}, without those that are None. Raises RecorderError for what can never match."""
    wanted = {what: expression(regex, what) for what, regex in expressions.items() if regex}
    if model is None and (has_scaler or has_optimizer or wanted):
        raise RecorderError(f"{', '.join(['scaler, optimizer', *wanted])}: need a model")
    for what, regex in wanted.items():
        if what in ("updates", "joint", "states") and not has_optimizer:
            raise RecorderError(f"{what}: needs optimizer=, which makes them")
        if what != "states" and not any(regex.search(plain(name)) for name, _ in model.named_parameters()):
            raise RecorderError(f"{what}: {regex.pattern!r} matches no parameter name")
    return wanted
