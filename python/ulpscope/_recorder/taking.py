"""Takes the values of tensors one by one."""

from .._counting.values import Values, begin
from .._errors import RecorderError
from .names import check_name
from .ranks import is_replica, is_summand


class Taker:
    """What is taken of a tensor is (name, kind, shape, total, cast, values): total is its number of values over all shards, cast
    what its graph says."""

    def __init__(self, scope, file):
        self._scope, self._file = scope, file

    def take(self, name, kind, shape, total, cast, array, unfit):
        """None where it cannot be recorded, and others can: `unfit` then says why, by name."""
        try:
            if not isinstance(name, str) or name not in self._file.tensors:
                check_name(name)
            if is_summand(array):
                raise RecorderError(
                    f"tensor {name!r}: its parts are still to be added up over ranks: set p.grad = "
                    "p.grad.redistribute(placements=p.placements) on all of them before"
                )
            values = Values(name, array, self._scope.blocks)
            return name, kind, values.shape if shape is None else shape, total, cast, values
        except (RecorderError, TypeError, ValueError) as error:
            if self._scope.strict:
                raise
            if not isinstance(error, RecorderError):
                error = RecorderError(f"tensor {name!r}: {type(error).__name__}: {error}")
            unfit[name] = error
            return None

    def take_more(self, kind, tensors, unfit):
        """What is recorded besides gradients, {name: tensor}, as it is now."""
        taken = []
        for name, tensor in tensors.items() if self._scope.tells_more else ():
            of = name.partition("/")[2] if kind == "unknown" else name
            if of not in self._scope.elsewhere and not is_replica(tensor):
                prefix = kind if kind != "unknown" else "state"
                total = tensor.numel() if hasattr(tensor, "to_local") else 0
                taken.append(self.take(f"{prefix}/{name}", kind, tensor.shape, total, None, tensor, unfit))
        taken = [of for of in taken if of is not None]
        begin([of[-1] for of in taken], self._scope.sums)
        return taken
