"""A model: what is around it, and its modules."""

import os

from .._errors import RecorderError
from .names import plain

# What is around a model, and where it has it; torch.compile calls it likewise in the names of what it is around.
WRAPPERS = {"DistributedDataParallel": "module", "DataParallel": "module", "OptimizedModule": "_orig_mod"}


def unwrapped(model):
    """(the model without what is around it, with DistributedDataParallel around it, whether its graph can be seen): of a compiled
    one nothing of it can, and a hook would break it in two."""
    is_compiled, replicas = False, model
    while type(model).__name__ in WRAPPERS:
        is_compiled = is_compiled or type(model).__name__ == "OptimizedModule"
        replicas = model if type(model).__name__ == "DistributedDataParallel" else replicas
        model = getattr(model, WRAPPERS[type(model).__name__])
    is_compiled = is_compiled or getattr(model, "_compiled_call_impl", None) is not None
    return model, replicas, model is not None and not is_compiled


def modules_to_watch(model, path, of):
    """(name, module, what) for each expression in {what is recorded: compiled expression} and the modules that it finds."""
    modules = {}
    for name, module in () if model is None else model.named_modules():
        modules.setdefault(plain(name), module)  # what is compiled keeps its graph whole: the hook is around it
    watched = []
    for what, regex in of.items():
        found = [(name, module, what) for name, module in modules.items() if regex.search(name)]
        if not found:
            raise RecorderError(f"{os.fspath(path)}: {regex.pattern!r} matches no module name")
        watched += found
    return watched
