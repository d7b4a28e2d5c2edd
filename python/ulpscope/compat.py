"""Functions of other packages under their own signatures: change the import line, and each result is rounded once.

    from ulpscope.compat import float_quantize                # qtorch.quant
    from ulpscope.compat import round_float, RoundMode        # gfloat
    from ulpscope.compat import quantize_elemwise_op          # mx.elemwise_ops (microxcaling)
    from ulpscope.compat import quantize_mx_op                # mx.mx_ops (microxcaling)
    from ulpscope.compat import to_mx                         # torchao.prototype.mx_formats.mx_tensor
    from ulpscope.compat import quantize_block                # gfloat
    from ulpscope.compat import Chop                          # pychop

Where the original is wrong the function here is right; its docstring names the case. All take arrays of numpy and
tensors of torch. Tensors that require grad are taken without it, as the originals do. What they draw at random comes
from one stream after the other of `seed(n)`, 0 where nothing is said: the same calls give the same results.
"""

from __future__ import annotations

import enum
import itertools
import math
import operator
from typing import Any, Mapping, Optional, Tuple, TypeVar

from . import _core
from ._arrays import _conversion, encode, quantize
from ._flags import flag

Array = TypeVar("Array")

__all__ = [
    "float_quantize",
    "RoundMode",
    "round_float",
    "quantize_elemwise_op",
    "quantize_mx_op",
    "to_mx",
    "quantize_block",
    "Chop",
    "seed",
]


class _Draws:
    """A seed, and the streams that were not taken yet."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.streams = itertools.count()

    def next(self) -> Mapping[str, int]:
        return {"seed": self.seed, "stream": next(self.streams)}


_draws = _Draws(0)


def seed(n: int) -> None:
    """Begins the random bits of this module's functions anew."""
    global _draws
    _draws = _Draws(operator.index(n))


def _detached(x: Any) -> Any:
    return x.detach() if hasattr(x, "detach") else x


def float_quantize(x: Array, exp: int, man: int, rounding: str = "stochastic") -> Array:
    """qtorch.quant.float_quantize: x in a format of `exp` exponent and `man` fraction bits, "stochastic" or "nearest".

    Numbers beyond the largest become that, as in QPyTorch. Different, measured with QPyTorch 0.3 on the CPU:
    - the largest number is that of IEEE's format, 65504 for (5, 10), where QPyTorch uses the codes of infinity and NaN
      for numbers up to 131008. "e5m10,specials=none" is that format in `ulpscope.quantize`.
    - NaN stays NaN, where it became 131008.
    - "nearest" takes ties to even, as QPyTorch's release 0.2 announces, where it takes them away from zero:
      1 + 2**-11 in (5, 10) is 1, not 1 + 2**-10.
    - "stochastic" has 32 random bits for subnormal results too, where QPyTorch resolves 2**-13.
    """
    if rounding not in ("stochastic", "nearest"):
        raise ValueError(f"rounding: {rounding!r} is not 'stochastic' or 'nearest'")
    if rounding == "nearest":
        return quantize(_detached(x), (exp, man), saturate=True)
    return quantize(_detached(x), (exp, man), "stochastic", saturate=True, **_draws.next())


class RoundMode(enum.Enum):
    """gfloat.RoundMode."""

    TowardZero = 1
    TowardNegative = 2
    TowardPositive = 3
    TiesToEven = 4
    TiesToAway = 5
    Stochastic = 6
    StochasticFast = 7
    StochasticFastest = 8


_ROUNDINGS = {
    "TowardZero": "toward-zero",
    "TowardNegative": "toward-negative",
    "TowardPositive": "toward-positive",
    "TiesToEven": "nearest-even",
    "TiesToAway": "nearest-away",
    "ToOdd": "to-odd",
    "StochasticFastest": "stochastic:A",
    "StochasticFast": "stochastic:B",
    "Stochastic": "stochastic:C",
}


def round_float(
    fi: Any,
    v: float,
    rnd: Any = RoundMode.TiesToEven,
    sat: bool = False,
    srbits: int = -1,
    srnumbits: int = 0,
) -> float:
    """gfloat.round_float: the number v, as a float, rounded to a format.

    fi is gfloat's FormatInfo, or whatever `ulpscope.quantize` takes for a format. rnd is a RoundMode of gfloat or of
    this module; the stochastic ones take the `srnumbits` random bits `srbits`. With `sat` numbers beyond the largest
    and infinities become that; without, an infinity that the format lacks becomes NaN, and ValueError is raised where
    that is lacking too, and for NaN there. P3109's formats are among them, with infinities and without, of 2 and more
    bits of precision. ValueError for those of 1, which have no fraction bits, for unsigned ones, and for StochasticOdd,
    which rounds what is discarded to the random bits with ties to odd: the definitions here know ties to even (C) alone.

    Different: srbits that are no number of srnumbits bits are an error in all stochastic modes, where gfloat takes the
    default, -1, and 2**srnumbits and more in StochasticFastest and StochasticOdd.
    """
    name = getattr(rnd, "name", rnd)
    if name not in _ROUNDINGS:
        raise ValueError(f"rnd: {rnd!r} is not one of {', '.join(_ROUNDINGS)}")
    drawn = name.startswith("Stochastic")
    if drawn and not (1 <= srnumbits <= 32 and 0 <= srbits < 1 << srnumbits):
        raise ValueError(f"srbits: {srbits} is not a number of srnumbits={srnumbits} bits, 1 to 32")
    of_p3109 = _is_extended_p3109(fi)
    saturate = flag(sat, "sat") and not of_p3109
    how = _conversion(_of_gfloat(fi), _ROUNDINGS[name], saturate=saturate, bits=srnumbits if drawn else None)
    number, nan_is_lost, overflowed = _core.round_number(how, float(v), srbits if drawn else 0)
    to_zero = name in ("TowardZero", "ToOdd") or name == ("TowardNegative" if v > 0 else "TowardPositive")
    if of_p3109 and not math.isnan(v):  # its infinity is where the format that was rounded to has its largest number
        facts = _core.format_facts(how.format)
        largest = facts["max"] - 2.0 ** (facts["emax"] - facts["fraction_bits"])
        if overflowed or math.isinf(v) or abs(number) > largest:
            number = math.copysign(largest if sat or (to_zero and math.isfinite(v)) else math.inf, v)
        return number
    lost = nan_is_lost or (overflowed and not sat and not (to_zero and math.isfinite(v)))
    if lost and not _core.format_facts(how.format)["has_nan"]:
        raise ValueError(f"{how.format} has neither infinity nor NaN for {v}; sat=True gives its largest number")
    return number


def _has_infinity(fi: Any) -> bool:
    return fi.has_infs if hasattr(fi, "has_infs") else fi.domain.name == "Extended"


def _is_extended_p3109(fi: Any) -> bool:
    """Whether the largest code is infinity, and the only NaN where others have -0."""
    return hasattr(fi, "num_high_nans") and _has_infinity(fi) and fi.num_high_nans == 0 and not fi.has_nz


def _of_gfloat(fi: Any) -> Any:
    """The name of a FormatInfo's format, of any version of gfloat; other things as they are. Of P3109's with infinities
    that whose largest number is where they have infinity."""
    if not hasattr(fi, "num_high_nans"):
        return fi
    has_infinity = _has_infinity(fi) and not _is_extended_p3109(fi)
    bias = fi.bias if hasattr(fi, "bias") else fi.expBias
    fraction_bits = fi.precision - 1
    if not fi.is_signed or getattr(fi, "is_twos_complement", False):
        if str(fi.name).endswith("e8m0"):
            return "float8_e8m0"
        raise ValueError(f"fi: {fi.name} has no sign bit of its own; round to it otherwise")
    nans_and_zero = (has_infinity, fi.num_high_nans, bool(fi.has_nz))
    specials = {
        (True, (1 << fraction_bits) - 1, True): "ieee",
        (False, 1, True): "fn",
        (False, 0, False): "fnuz",
        (False, 0, True): "none",
    }.get(nans_and_zero)
    if specials is None:
        raise ValueError(
            f"fi: the special codes of {fi.name} are none that ulpscope has: `ulp formats` lists what there is"
        )
    subnormals = "yes" if fi.has_subnormals else "no"
    return f"e{fi.k - 1 - fraction_bits}m{fraction_bits},bias={bias},specials={specials},subnormals={subnormals}"


def quantize_elemwise_op(A: Array, mx_specs: Optional[Mapping[str, Any]] = None, round: Optional[str] = None) -> Array:
    """mx.elemwise_ops.quantize_elemwise_op: A in bfloatX (mx_specs["bfloat"] > 9 bits) or fpX (mx_specs["fp"] > 6 bits,
    5 of them the exponent); as it is where mx_specs is None or both are 0.

    round is "nearest" (ties away from zero), "even", "floor" (toward zero) or "dither" (stochastic, of 24 bits), by
    default mx_specs["round"]. mx_specs["bfloat_subnorms"] False flushes numbers below the smallest normal. Different:
    - "even" takes half the smallest subnormal to 0, where microxcaling rounds it up; negative zeros keep their sign.
    - "floor" follows IEEE 754 beyond the largest number, which is delivered, where microxcaling gives infinity.
    """
    if mx_specs is None:
        return A
    specs = mx_specs
    bfloat, fp = specs.get("bfloat", 0), specs.get("fp", 0)
    if bfloat > 0 and fp > 0:
        raise ValueError("mx_specs: bfloat and fp are both set; set one of them")
    if 0 < bfloat <= 9 or 0 < fp <= 6:
        raise ValueError("mx_specs: bfloat must be above 9, and fp above 6, or 0")
    if bfloat in (0, 32) and fp == 0:
        return A
    mode = specs.get("round", "nearest") if round is None else round
    known = {"nearest": "nearest-away", "even": "nearest-even", "floor": "toward-zero", "dither": "stochastic,bits=24"}
    if mode not in known:
        raise ValueError(f"round: {mode!r} is not one of {', '.join(known)}")
    return quantize(
        _detached(A),
        (8, bfloat - 9) if bfloat else (5, fp - 6),
        known[mode],
        ftz=None if specs.get("bfloat_subnorms", True) else "before",
        **(_draws.next() if mode == "dither" else {}),
    )


def quantize_mx_op(
    A: Array,
    mx_specs: Mapping[str, Any],
    elem_format: Any = None,
    block_size: Optional[int] = None,
    axes: Any = None,
    round: str = "nearest",
    expand_and_reshape: bool = False,
) -> Array:
    """mx.mx_ops.quantize_mx_op: A in blocks of 32 along one axis, each with a power of two as its scale; as it is where
    elem_format is None.

    elem_format is "fp8_e4m3", "fp8_e5m2", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1" or "int8", or microxcaling's ElemFormat; axes an
    axis, or a list of one. round is "nearest" (ties away from zero), "even" or "floor". mx_specs["custom_cuda"] True is
    the original's extension in C++, else its path in PyTorch; `ulp formats --blocks` lists the rows of both. ValueError for
    what is none of them: other block sizes, scale_bits and shared_exp_method, and mx_flush_fp32_subnorms.
    """
    if elem_format is None:
        return A
    size = mx_specs.get("block_size", 0) if block_size is None else block_size
    kept = {
        "block_size": (size, 32),
        "scale_bits": (mx_specs.get("scale_bits", 0) or 8, 8),
        "shared_exp_method": (mx_specs.get("shared_exp_method", "max"), "max"),
        "mx_flush_fp32_subnorms": (bool(mx_specs.get("mx_flush_fp32_subnorms", False)), False),
        "expand_and_reshape": (bool(expand_and_reshape), False),
    }
    for name, (given, known) in kept.items():
        if given != known:
            raise ValueError(f"{name}: {given!r} is not {known!r}, which alone is known")
    along = [axes] if isinstance(axes, int) else list(axes or [])
    if len(along) != 1:
        raise ValueError(f"axes: {axes!r} is not one axis, along which blocks run")
    path = "microxcaling_cpp" if mx_specs.get("custom_cuda", False) else "microxcaling"
    return _in_blocks(A, f"{path}_{_element_name(elem_format)}_{round}", along[0])


def to_mx(data_hp: Array, elem_dtype: Any, block_size: int = 32, scaling_mode: Any = "floor") -> Tuple[Any, Any]:
    """torchao's to_mx: (scale, data) of blocks along the last axis, as codes: of float8_e8m0 and of the element, a byte
    each, where torchao has its own types and packs two of four bits into a byte.

    elem_dtype is torch's float8_e4m3fn or float8_e5m2, or "fp6_e2m3", "fp6_e3m2", "fp4_e2m1"; scaling_mode torchao's
    ScaleCalculationMode or its name: floor, rceil, ceil, even.
    """
    if block_size != 32:
        raise ValueError(f"block_size: {block_size} is not 32")
    mode = str(getattr(scaling_mode, "value", scaling_mode)).lower()
    element = _element_name(elem_dtype).split("_")[-1].replace("fn", "")
    row = f"torchao_mx{element}_{mode}"
    if not _core.is_block_format(row):
        raise ValueError(f"elem_dtype: torchao has no {elem_dtype!r} with scaling_mode {scaling_mode!r}")
    blocks = encode(_detached(data_hp), row)
    return blocks.scale, blocks.codes


def quantize_block(fi: Any, vals: Array, compute_scale: Any = None, round: Any = RoundMode.TiesToEven) -> Array:
    """gfloat.quantize_block with compute_scale_amax: blocks of 32 along the last axis, as the numbers that they stand for.

    fi is gfloat's BlockFormatInfo or its name: "mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4_e2m1", "mxint8".
    round is TiesToEven, TiesToAway or TowardZero. Where gfloat raises for infinity or NaN in an element that has none, the
    block is as its scale makes it. ValueError for other functions that compute scales.
    """
    if getattr(compute_scale, "__name__", "compute_scale_amax") != "compute_scale_amax":
        raise ValueError(f"compute_scale: {compute_scale!r} is not compute_scale_amax, which alone is known")
    ways = {"TiesToEven": "even", "TiesToAway": "away", "TowardZero": "zero"}
    way = ways.get(getattr(round, "name", round))
    name = str(getattr(fi, "name", fi)).replace("ocp_", "")
    element = name.replace("mxint8", "int8").split("_")[-1]
    row = f"gfloat_mx{element}_{way}"
    if way is None or not _core.is_block_format(row):
        raise ValueError(f"fi: {name!r} rounded by {getattr(round, 'name', round)!r} is no row of `ulp formats --blocks`")
    return _in_blocks(vals, row, -1)


def _in_blocks(x: Array, row: str, axis: int) -> Array:
    if not _core.is_block_format(row):
        raise ValueError(f"{row} is no row of `ulp formats --blocks`")
    return quantize(_detached(x), row, axis=axis)


def _element_name(element: Any) -> str:
    """Of a string, an enumeration's member or a type of torch."""
    return str(getattr(element, "name", element)).replace("torch.", "").lower()


class Chop:
    """pychop.Chop: a function that rounds arrays to a format of `exp_bits` exponent and `sig_bits` fraction bits.

    rmode is 1 (nearest, ties to even), 2 (toward positive), 3 (toward negative), 4 (toward zero), 5 (stochastic), 8
    (nearest, ties away) or 9 (to odd). 6 (up or down with one half each), 7 (ties toward zero) and 10 are errors.
    subnormal False flushes numbers below the smallest normal. random_state is the seed; each call takes a stream of its
    own. chunk_size says nothing here. `u` is the unit roundoff.

    Different, found in pychop's torch backend: near ties of subnormal results round as they should, 1,025 of float16's
    values and midpoints with their neighbours did not: 2.9802326e-08, just above half the smallest subnormal, is
    5.9604645e-08, and was 0. From half a unit above the largest number on, the result is infinite.
    """

    _MODES = {
        1: "nearest-even",
        2: "toward-positive",
        3: "toward-negative",
        4: "toward-zero",
        5: "stochastic",
        8: "nearest-away",
        9: "to-odd",
    }

    def __init__(
        self,
        exp_bits: int,
        sig_bits: int,
        rmode: int = 1,
        subnormal: bool = True,
        chunk_size: int = 800,
        random_state: int = 42,
        verbose: int = 0,
    ) -> None:
        if rmode not in self._MODES:
            raise ValueError(f"rmode: {rmode!r} is not one of {', '.join(map(str, self._MODES))}")
        self.exp_bits, self.sig_bits, self.rmode, self.subnormal = exp_bits, sig_bits, rmode, flag(subnormal, "subnormal")
        self.chunk_size, self.random_state, self.verbose = chunk_size, random_state, verbose
        self.u = 2.0 ** -(sig_bits + 1)
        self._how = {"rounding": self._MODES[rmode], "ftz": None if self.subnormal else "before"}
        _conversion((exp_bits, sig_bits), **self._how)  # says what is wrong with them
        self._draws = _Draws(random_state)
        if verbose:
            print(f"unit roundoff {self.u:e} (2^{-(sig_bits + 1)})")

    def __call__(self, X: Array) -> Array:
        drawn = self._draws.next() if self.rmode == 5 else {}
        return quantize(_detached(X), (self.exp_bits, self.sig_bits), **self._how, **drawn)
