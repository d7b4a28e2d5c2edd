"""The scales of a run in 8 bits as it has them: the state of TransformerEngine's modules under delayed scaling, by attribute."""

import struct
import sys
import warnings

from .._counting import kernels
from .._counting.payloads import compressed, varint
from .._errors import RecorderError, printable
from .names import check_name, plain

# Of a module's fp8_meta: where the states of its passes are, and what their columns are of, again for each matrix product
# (NVIDIA/TransformerEngine @d0067d0d transformer_engine/pytorch/csrc/common.h, FP8FwdTensors and FP8BwdTensors).
PASSES = (("scaling_fwd", "GEMM{n}_INPUT GEMM{n}_WEIGHT GEMM{n}_OUTPUT"), ("scaling_bwd", "GRAD_OUTPUT{n} GRAD_INPUT{n}"))
STARTS_LATE = 1  # amaxes came before that are not known


def _name(module, tensors, column):
    of = tensors.split()
    return f"{module}.".lstrip(".") + of[column % len(of)].format(n=column // len(of) + 1)


def _moved(before, now):
    """By how many slots a history moved on: the fewest that what is left of it shows."""
    return next(n for n in range(len(now) + 1) if before[n:] == now[: len(now) - n])


class Scales:
    """What changed of them since the step before."""

    def __init__(self, model, regex, path):
        named = {} if model is None else {plain(name): module for name, module in model.named_modules()}
        self._modules = {name: of for name, of in named.items() if regex.search(name) and hasattr(of, "fp8_meta")}
        if not self._modules:
            reason = f"fp8_scales: {regex.pattern!r} matches no module with fp8_meta, as TransformerEngine's have"
            raise RecorderError(printable(f"{path}: {reason}"))
        self._histories, self._taken = {}, {}  # by tensor: those of the step before, and of the one that is being written
        self._is_told = False

    def take(self):
        """The content of a row of `extra` (docs/recording-format.md, "Scales of 8-bit runs"); None where there are none yet."""
        if kernels.is_capturing():
            raise RecorderError(kernels.CAPTURED)
        entries, self._taken = [], {}
        for name, history, scale in self._columns():
            before = self._histories.get(name)
            is_new = before is None or len(before) != len(history)
            before = [0] * len(history) if is_new else before
            if is_new and history == before:
                continue  # nothing was cast yet, or never is, as the outputs of linear layers
            self._taken[name] = history
            moved = _moved(before, history)
            octets = name.encode()
            flags = STARTS_LATE if is_new and moved == len(history) and len(history) > 1 else 0
            amaxes = history[len(history) - moved :]
            numbers = struct.pack(f"<{moved + 1}i", scale, *amaxes)
            entries.append(varint(len(octets)) + octets + varint(flags) + varint(moved) + numbers)
        return compressed(varint(len(entries)) + b"".join(entries)) if entries else None

    def keep(self):
        """What was taken is in the file."""
        self._histories.update(self._taken)

    def _columns(self):
        """(name, history, scale) of each tensor, as bits: the history from its oldest amax, without the slot that gathers."""
        states = [
            (module, tensors, state.amax_history.detach(), state.scale.detach())
            for module, of in self._modules.items()
            for key, tensors in PASSES
            for state in [of.fp8_meta.get(key)]
            if hasattr(state, "amax_history") and hasattr(state, "scale")  # other recipes keep nothing
        ]
        if not states:
            return
        torch = sys.modules["torch"]
        of_all = [values.float().reshape(-1) for *_, history, scale in states for values in (history, scale)]
        bits = torch.cat([values.to(of_all[0].device) for values in of_all]).cpu().view(torch.int32).tolist()
        at = 0
        for module, tensors, history, scale in states:
            slots, columns = history.shape
            self._tell_of_one(module, slots)
            for column in range(columns if slots > 1 else 0):
                name = _name(module, tensors, column)
                check_name(name)
                yield name, bits[at + columns + column : at + slots * columns : columns], bits[at + slots * columns + column]
            at += (slots + 1) * columns

    def _tell_of_one(self, module, slots):
        if slots > 1 or self._is_told:
            return
        self._is_told = True
        text = (
            f"ulpscope: fp8_scales: {module!r} has a history of one amax, which TransformerEngine clears when it makes the "
            "next scale: its scales are not recorded (amax_history_len=2 with most_recent scales alike)"
        )
        warnings.warn(printable(text), RuntimeWarning, stacklevel=2)
