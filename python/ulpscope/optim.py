"""Optimizers as the libraries step them, bit for bit, and states in 8 and 4 bits. Needs numpy.

>>> o = ulpscope.optim.optimizer("bnb_cpu_default_adam8bit", weights="bf16", lr=0.01)
>>> w = numpy.float32([1, -2, 0.5])
>>> o.step(w, numpy.float32([0.1, 0.2, -0.3]))
>>> w
array([ 0.98828125, -2.015625  ,  0.51171875], dtype=float32)
>>> o.state["v_codes"]
array([128, 175, 255], dtype=uint8)

A dialect is one library's optimizer: its order of operations, what it rounds where, how it keeps its states.
docs/optimizers.md has them all with their rules and sources. Errors are ValueError with the program's sentence, before
anything is written; TypeError where an argument is of no such kind at all.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Iterable, List, Optional, Tuple

import numpy

from . import _core
from ._arrays import _integer, encode, quantize
from ._flags import flag
from ._formats import Format, format_name

# Parameters that are int64, as `ulp precision optimizer` writes them; all others are float64.
_COUNTS = ("block_size", "micro_batches", "resume_at", "stochastic_rounding")

__all__ = [
    "Optimizer",
    "dequantize_blockwise",
    "dialects",
    "dynamic_map",
    "linear_map",
    "map_4bit",
    "optimizer",
    "quantize_blockwise",
    "quantizers",
    "simulate",
]


def dialects() -> List[Dict[str, Any]]:
    """Every dialect: its name, aliases, family, summary, states, defaults, rules, quirks and source."""
    return _core.optimizer_dialects()


def optimizer(
    dialect: str,
    *,
    weights: Format = "float32",
    weight_rounding: str = "own",
    seed: int = 0,
    tensor: str = "weights",
    **parameters: Any,
) -> Optimizer:
    """The optimizer of that name or alias before its first step, an `Optimizer`.

    weights          the format of weights and gradients: "float32", "bfloat16", "float16", or another that float32
                     holds, as for `quantize`.
    weight_rounding  how new weights are stored: "own" as the dialect does, "nearest", "stochastic", or "kahan", which
                     adds what was lost to the next update.
    seed, tensor     of random bits where a step is given none.
    parameters       the library's own, see dialects(): lr, beta1, beta2, eps, weight_decay, ...
    """
    return Optimizer(dialect, weights, weight_rounding, seed, tensor, parameters)


class Optimizer:
    """One tensor's optimizer as its library has it. Made by `optimizer`. Not to be stepped by several threads at once."""

    def __init__(
        self,
        dialect: str,
        weights: Format,
        weight_rounding: str,
        seed: int,
        tensor: str,
        parameters: Dict[str, Any],
    ) -> None:
        self._weights = format_name(weights)
        for argument, word in (("dialect", dialect), ("weight_rounding", weight_rounding), ("tensor", tensor)):
            _expect_text(word, argument)
        # Its size is known with the first step; what is wrong is said now.
        number = _integer(seed, "seed", 0, 2**64 - 1)
        self._made = (dialect, self._weights, weight_rounding, number, tensor, _values(parameters))
        self._empty = self._of_size(0)  # of no elements: what parameters are tried on
        self._of = self._empty.copy()

    def _of_size(self, size: int) -> Any:
        dialect, weights, rounding, seed, tensor, parameters = self._made
        return _core.Optimizer(dialect, size, weights, rounding, seed, tensor, parameters)

    @property
    def dialect(self) -> str:
        """Its name in the catalogue."""
        return self._of.dialect()

    @property
    def parameters(self) -> Dict[str, Any]:
        """All of them with their values, under the library's names."""
        return self._of.parameters()

    def set(self, **parameters: Any) -> None:
        """Changes parameters from the next step on, such as lr; not those that decide how states are kept. Where one is
        refused, none is changed."""
        tried = self._empty.copy()
        values = _values(parameters)
        for name, value in values.items():
            tried.set_parameter(name, value)
        self._empty = tried
        for name, value in values.items():
            self._of.set_parameter(name, value)
            self._made[5][name] = value

    @property
    def steps(self) -> int:
        """Steps done."""
        return self._of.steps()

    @property
    def micro_batches(self) -> int:
        """Gradients that a step takes; more than one where the dialect accumulates them."""
        return self._of.micro_batches()

    @property
    def gradient_norm(self) -> float:
        """Of the last step, as the dialect computed it; NaN where it computes none."""
        return self._of.gradient_norm()

    @property
    def state(self) -> Dict[str, Any]:
        """Copies of the states, by name: float32, float64, or codes in uint8 and uint16. 4-bit codes are two in a byte,
        the first in the high half. Empty arrays before the first step."""
        return self._of.state()

    def step(self, w: Any, grads: Any, bits: Optional[Any] = None) -> None:
        """One step: `w` is changed in place.

        w      an array of numpy or a tensor of torch of any shape that can be written, with numbers of the weights'
               format in a type that holds all of that format's: float32, float64, or its own (numpy.float16,
               torch.bfloat16).
        grads  as many numbers, of micro_batches gradients one after the other; rounded to the weights' format first.
        bits   uint16, one for each weight: where weights are rounded stochastically; else they are drawn from the seed.
        """
        weights = _numbers(w, "w")
        self._refuse_unwritable(w, weights)
        gradients = _rounded_once(_numbers(grads, "grads"), self._weights).ravel()
        # Integers of torch that are uint16 in numpy are int16 or int32 there.
        drawn = None if bits is None else _bits(bits)
        if self.steps == 0 and self._of.size() != weights.size:
            self._of = self._of_size(weights.size)
        in_place = weights.dtype == numpy.float32 and weights.flags.c_contiguous and weights.flags.writeable
        flat = weights.reshape(-1) if in_place else numpy.array(weights, dtype=numpy.float32, order="C").reshape(-1)
        self._of.step(gradients, flat, drawn)
        if in_place and not _is_tensor(w):
            return
        if _is_tensor(w):
            torch = sys.modules["torch"]
            with torch.no_grad():
                w.copy_(torch.from_numpy(flat.reshape(tuple(w.shape))))
        else:
            w[...] = flat.reshape(w.shape)

    def _refuse_unwritable(self, w: Any, weights: Any) -> None:
        # Before the step: after it the states would have moved on, and the weights not.
        if not _is_tensor(w) and not w.flags.writeable:
            raise ValueError("w: is read-only, and is changed in place; pass a copy")
        strides = w.stride() if _is_tensor(w) else w.strides
        if any(stride == 0 and size > 1 for stride, size in zip(strides, w.shape)):
            raise ValueError("w: several elements share one place in memory, and each is changed; pass a copy")
        if _is_tensor(w) and w.is_inference() and not sys.modules["torch"].is_inference_mode_enabled():
            raise ValueError("w: is an inference tensor, which torch changes in inference mode only; pass a clone")
        kept_in = str(w.dtype).replace("torch.", "") if _is_tensor(w) else w.dtype.newbyteorder("=").name
        if not _core.holds(kept_in, self._weights):
            raise ValueError(f"w: elements are {kept_in}, which does not hold all numbers of {self._weights}")
        if weights.dtype.itemsize > 4:
            with numpy.errstate(over="ignore"):
                single = weights.astype(numpy.float32)
            if not numpy.array_equal(single, weights, equal_nan=True):
                raise ValueError("w: has numbers that float32 does not hold; round them first")

    def copy(self) -> Optimizer:
        """Another in the same state."""
        made = object.__new__(type(self))
        made._weights = self._weights
        made._made = (*self._made[:5], dict(self._made[5]))
        made._empty = self._empty.copy()
        made._of = self._of.copy()
        return made

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Optimizer:
        return self.copy()

    def __repr__(self) -> str:
        return f"<Optimizer {self.dialect}: {self._weights}, {self.steps} steps>"


def simulate(
    grads: Any,
    w0: Any,
    dialect: str,
    *,
    weights: Format = "float32",
    steps: Optional[Iterable[int]] = None,
    bits: Optional[Any] = None,
    **parameters: Any,
) -> Dict[str, Any]:
    """A run of gradients through an optimizer: what `ulp precision optimizer` writes, as a dictionary of arrays.

    grads is (steps, elements), w0 (elements,), bits (steps, elements) of uint16. `steps` are those whose weights and
    states are kept, from 1; by default the last. Weights below float32 come as codes: uint16 or uint8. Numbers among the
    parameters are in it, too: float64, and int64 where they count.
    """
    given = _numbers(grads, "grads")
    if given.ndim != 2:
        raise ValueError(f"grads: has {given.ndim} dimensions, not 2: (steps, elements)")
    o = optimizer(dialect, weights=weights, **parameters)
    gradients = _rounded_once(given, format_name(weights))
    first = _rounded_once(_numbers(w0, "w0"), format_name(weights)).ravel()
    last = len(gradients) // o.micro_batches
    if last == 0:
        few = f"{len(gradients)} gradients, and a step takes {o.micro_batches}" if len(gradients) else "no steps"
        raise ValueError(f"grads has {few}")
    try:
        named = [last] if steps is None else list(steps)
    except TypeError:
        raise TypeError(f"steps: {steps!r} is not a list of steps, such as [1, {last}]") from None
    wanted = sorted({_integer(step, "steps", 1, last) for step in named})
    if not wanted:
        raise ValueError("steps: names none")
    drawn = None if bits is None else _bits(bits, flat=False)
    if drawn is not None and (drawn.shape[1:] != first.shape or len(drawn) < wanted[-1]):
        raise ValueError(f"bits: is of shape {drawn.shape}, not a row for each of {wanted[-1]} steps")
    w = quantize(first, format_name(weights))
    moments: Dict[str, List[Any]] = {}
    norms = []
    for step in range(1, wanted[-1] + 1):
        rows = gradients[(step - 1) * o.micro_batches : step * o.micro_batches]
        o.step(w, rows, None if drawn is None else drawn[step - 1])
        norms.append(o.gradient_norm)
        if step in wanted:
            kept = w.copy() if format_name(weights) in ("float32", "fp32") else encode(w, format_name(weights))
            moments.setdefault("w", []).append(kept)
            for name, values in o.state.items():
                moments.setdefault(name, []).append(values)
    made: Dict[str, Any] = {"steps": numpy.array(wanted, dtype=numpy.int64)}
    made.update({name: numpy.stack(values) for name, values in moments.items()})
    if not all(norm != norm for norm in norms):
        made["grad_norm"] = numpy.array(norms)
    for name, value in o.parameters.items():
        if isinstance(value, (bool, float)):
            made[name] = numpy.int64(value) if name in _COUNTS else numpy.float64(value)
    return made


def quantizers() -> List[Tuple[Any, ...]]:
    """Every blockwise quantizer: name, whose it is, how it divides, which code is nearest, zero blocks and NaN, and
    whether it takes whole blocks only."""
    return _core.block_quantizers()


def dynamic_map(
    signed: bool = True, *, arithmetic: str = "torch26_nofma", max_exponent_bits: int = 7, total_bits: int = 8
) -> Any:
    """The numbers of the codes of bitsandbytes and torchao, ascending: create_dynamic_map.

    `arithmetic` is "torch26_nofma", "torch26_fma" (what torch 2.6 computes on a processor with AVX2) or
    "correctly_rounded".

    >>> ulpscope.optim.dynamic_map()[[0, 127, 128, 255]]
    array([-9.9296874e-01,  0.0000000e+00,  5.5000004e-07,  1.0000000e+00],
          dtype=float32)
    """
    exponent_bits = _integer(max_exponent_bits, "max_exponent_bits", 0, 64)
    bits = _integer(total_bits, "total_bits", 0, 64)
    return _core.dynamic_map(flag(signed, "signed"), _expect_text(arithmetic, "arithmetic"), exponent_bits, bits)


def linear_map(signed: bool = True, *, arithmetic: str = "torch26_nofma") -> Any:
    """bitsandbytes' create_linear_map in 8 bits."""
    return _core.linear_map(flag(signed, "signed"), arithmetic)


def map_4bit(signed: bool = True, *, arithmetic: str = "torch26_nofma") -> Any:
    """torchao's maps of 16 numbers; the unsigned one has no zero."""
    return _core.map_4bit(flag(signed, "signed"), arithmetic)


def quantize_blockwise(
    x: Any, quantizer: str = "bnb_default", *, map: Optional[Any] = None, block_size: int = 256
) -> Tuple[Any, Any]:
    """x as codes (uint8, one an element) and absmax (float32, one a block), as that implementation computes them.

    `map` are the numbers of the codes, by default the signed dynamic map. "ao_fp8" needs none: codes are float8_e4m3fn.

    >>> ulpscope.optim.quantize_blockwise(numpy.float32([1, -0.5, 0]))
    (array([255,  35, 127], dtype=uint8), array([1.], dtype=float32))
    """
    _expect_text(quantizer, "quantizer")
    numbers = _numbers(x, "x")
    flat = numpy.ascontiguousarray(numbers, dtype=numpy.float32).reshape(-1)
    size = _integer(block_size, "block_size", 1, 2**63 - 1)
    codes, absmax = _core.quantize_blockwise(flat, quantizer, _map(map), size)
    return codes.reshape(numbers.shape), absmax


def dequantize_blockwise(
    codes: Any, absmax: Any, quantizer: str = "bnb_default", *, map: Optional[Any] = None, block_size: int = 256
) -> Any:
    """The numbers of codes: map[code] * absmax of the block, in float32."""
    _expect_text(quantizer, "quantizer")
    given = numpy.asarray(codes)
    if given.dtype != numpy.uint8:
        raise ValueError(f"codes: elements are {given.dtype.name}, not uint8")
    scales = numpy.ascontiguousarray(_numbers(absmax, "absmax"), dtype=numpy.float32).reshape(-1)
    flat = numpy.ascontiguousarray(given).reshape(-1)
    entries = _map(map)
    if quantizer != "ao_fp8" and flat.size and flat.max() >= len(entries):
        raise ValueError(f"codes: {flat.max()} is beyond the map of {len(entries)} entries")
    size = _integer(block_size, "block_size", 1, 2**63 - 1)
    return _core.dequantize_blockwise(flat, scales, quantizer, entries, size).reshape(given.shape)


def _map(given: Optional[Any]) -> Any:
    chosen = dynamic_map() if given is None else _numbers(given, "map")
    return numpy.ascontiguousarray(chosen, dtype=numpy.float32).reshape(-1)


def _expect_text(word: Any, argument: str) -> str:
    if not isinstance(word, str):
        raise TypeError(f"{argument}: is a {type(word).__name__}, not text")
    return word


def _values(parameters: Dict[str, Any]) -> Dict[str, Any]:
    """Of parameters: None, flags and words as they are, else floats."""
    made = {}
    for name, value in parameters.items():
        try:
            made[name] = value if value is None or isinstance(value, (bool, str)) else float(value)
        except OverflowError:
            raise ValueError(f"{name}: is beyond float64") from None
        except (TypeError, ValueError):
            raise TypeError(f"{name}: is a {type(value).__name__}, not a number, flag or word") from None
    return made


def _rounded_once(array: Any, format: str) -> Any:
    """In float32: float64 as the format has it, because the step rounds to that what float32 has rounded already."""
    if array.dtype.kind == "f" and array.dtype.itemsize == 8 and format not in ("float32", "fp32"):
        array = quantize(array, format)
    with numpy.errstate(over="ignore"):
        return numpy.asarray(array, dtype=numpy.float32, order="C")


def _is_tensor(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _numbers(x: Any, argument: str) -> Any:
    """A numpy array of floating-point numbers; the memory of float32 tensors is shared."""
    if _is_tensor(x):
        if x.device.type != "cpu":
            raise ValueError(f"{argument}: is on {x.device}; pass x.cpu()")
        if not x.is_floating_point():
            raise ValueError(f"{argument}: elements are {x.dtype}, not floating-point numbers")
        kept = x.detach()
        torch = sys.modules["torch"]
        return (kept if kept.dtype in (torch.float32, torch.float64) else kept.float()).numpy()
    if argument == "w" and not isinstance(x, numpy.ndarray):
        raise TypeError(f"w: is a {type(x).__name__}, and is changed in place; pass an array")
    array = numpy.asarray(x)
    # Of ml_dtypes by their names.
    if array.dtype.kind != "f" and not array.dtype.name.startswith(("bfloat16", "float8_", "float6_", "float4_")):
        raise ValueError(f"{argument}: elements are {array.dtype.name}, not floating-point numbers")
    return array


def _bits(bits: Any, flat: bool = True) -> Any:
    array = bits.numpy() if _is_tensor(bits) else numpy.asarray(bits)
    if array.dtype.kind not in "iu":
        raise ValueError(f"bits: elements are {array.dtype.name}, not integers of 16 bits")
    if array.dtype == numpy.int16:
        array = array.view(numpy.uint16)
    if array.size and (array.min() < 0 or array.max() > 0xFFFF):
        raise ValueError("bits: must be from 0 to 65535")
    made = numpy.ascontiguousarray(array, dtype=numpy.uint16)
    return made.reshape(-1) if flat else made
