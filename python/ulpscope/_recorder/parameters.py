"""The parameters of a model, named as the model names them, without what that costs."""

from .._counting.compiled import counting
from .._counting.host import loaded_torch


class Parameters:
    """Iterated, pairs of name and parameter. No model has none."""

    def __init__(self, model):
        self._model = model
        self._structure, self._named = None, []  # of the model, and what `listed` returned for it

    def __iter__(self):
        if self._model is None:
            return
        if not self._are_named_as_usual():
            yield from self._model.named_parameters()
            return
        seen, modules, waiting = set(), set(), [("", self._model)]
        while waiting:
            prefix, module = waiting.pop()
            if module is None or module in modules:
                continue
            modules.add(module)
            for name, parameter in module._parameters.items():
                if parameter is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield prefix + name, parameter
            if module._modules:
                waiting += [(f"{prefix}{name}.", child) for name, child in reversed(module._modules.items())]

    def listed(self):
        """As a list: where counting is compiled, the same list while the model has the same parameters."""
        if counting is None or self._model is None or not self._are_named_as_usual():
            return list(self)
        structure, self._structure = self._structure or counting.Structure(), None  # None where this is interrupted
        try:
            if structure.has_changed(self._model):
                self._named = list(self)
        except TypeError:  # modules of torch.jit have no dictionaries
            return list(self)
        self._structure = structure
        return self._named

    def _are_named_as_usual(self):
        usual, own = loaded_torch().nn.Module, type(self._model)
        return own.named_parameters is usual.named_parameters and own.named_modules is usual.named_modules
