"""What the graph behind an output or a loss says of parameters."""

import re
from collections import namedtuple

from .._counting.host import loaded_torch


def tensors_in(output):
    """The floating-point tensors of a module's output."""
    if isinstance(output, loaded_torch().Tensor):
        return [output] if output.is_floating_point() else []
    if isinstance(output, dict):
        output = list(output.values())
    return [t for part in output for t in tensors_in(part)] if isinstance(output, (list, tuple)) else []


UNSEEN = object()
# What the graph behind the output of a forward pass, or behind a loss, says of parameters. casts: {id: the type that it is cast
# to, "" where that is not known, None where it is used as it is}. uses: {id: [casts, other uses], through each of which a part
# of the gradient comes}; unsure: ids of those where that is not certain. is_open: whether no function written in Python is in
# it, whose backward pass may run another.
Graph = namedtuple("Graph", "casts uses unsure is_open")
# Nodes that only move values: those of a cast before them come out as they were rounded there.
MOVES = re.compile(
    "(ToCopy|Copy|Clone|Alias|View|Reshape|UnsafeView|T|Transpose|Permute|Split|UnsafeSplit|Slice|Select|Squeeze|Unsqueeze|"
    r"Unbind|Expand|AsStrided|Cat|Stack|Index|Repeat|Flip|Roll)[A-Za-z]*Backward\d*$|CppFunction|CopySlices|CopyBackwards"
)


def graph_behind(output):
    """None where there is no graph. A cast is a node of its own between the parameter and what uses it: autocast keeps it,
    and what several uses say is added up there in 16 bits. What functions written in Python do with a parameter,
    checkpointing and compiled graphs among them, is not seen: it is not listed then."""
    nodes = [t.grad_fn for t in tensors_in(output) if t.grad_fn is not None]
    if not nodes:
        return None
    opaque = loaded_torch().autograd.function.BackwardCFunction
    casts, uses, seen = {}, {}, set(nodes)
    is_open, is_mixed, unsure, moved = True, False, set(), set()
    while nodes:
        node = nodes.pop()
        is_opaque = isinstance(node, opaque)
        is_open = is_open and not is_opaque
        is_mixed = is_mixed or may_cast(node)
        for following, _ in node.next_functions:
            if following is None or following in seen:
                continue
            if type(following).__name__ != "AccumulateGrad":
                seen.add(following)
                nodes.append(following)
                continue
            parameter = following.variable
            of = uses.setdefault(id(parameter), [0, 0])
            cast = cast_of(node, parameter)
            if cast is not None:
                casts[id(parameter)] = cast
                of[0] += 1
            elif not is_opaque:
                casts.setdefault(id(parameter))
                of[1] += 1
            if cast == "" or is_opaque:
                unsure.add(id(parameter))
            if cast is None and MOVES.match(type(node).__name__):
                moved.add(id(parameter))
    return Graph(casts, uses, unsure | moved if is_mixed or not is_open else unsure, is_open)


def may_cast(node):
    """Whether it casts anything to 16 or 8 bits, or may do so."""
    if not type(node).__name__.startswith("ToCopyBackward"):
        return False
    return not hasattr(node, "_input_metadata") or node._input_metadata[0].dtype.itemsize <= 2


def cast_of(node, parameter):
    """What type of 16 or 8 bits the node casts a float32 parameter to: "" where that is not known, None where it does not."""
    torch = loaded_torch()
    if parameter.dtype != torch.float32 or not type(node).__name__.startswith("ToCopyBackward"):
        return None
    if not hasattr(node, "_input_metadata"):  # before torch 2.1
        return autocast_type(parameter.device.type)
    dtype = node._input_metadata[0].dtype
    return None if dtype.itemsize > 2 else str(dtype)[len("torch.") :]


def autocast_type(device):
    """What autocast casts to on that kind of device, "" outside of it."""
    torch = loaded_torch()
    try:
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
    except TypeError:  # before torch 2.4
        cpu = device == "cpu"
        enabled = torch.is_autocast_cpu_enabled() if cpu else torch.is_autocast_enabled()
        dtype = (torch.get_autocast_cpu_dtype() if cpu else torch.get_autocast_gpu_dtype()) if enabled else None
    return "" if dtype is None else str(dtype)[len("torch.") :]
