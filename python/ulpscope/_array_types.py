"""Arrays of numpy and tensors of torch, as the compiled part takes them.

It takes pairs: what exports the memory (the buffer protocol, or DLPack) and the name of the format of its elements.
Neither library is imported unless the caller has one of its arrays; everything that is not a tensor becomes a numpy
array.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Dict, Tuple

from . import _core

# Floating-point types beside float16, float32 and float64: their codes are looked at as unsigned integers.
_SMALL = ("bfloat16", "float8_", "float6_", "float4_")


def _no_numbers(argument: str, type_: str) -> ValueError:
    mend = "convert to float64 first"
    if argument == "out":
        mend = "pass an array of them"
    elif type_.startswith("complex"):
        mend = "pass the real and the imaginary part"
    return ValueError(f"{argument}: elements are {type_}, not floating-point numbers of at most 64 bits; {mend}")


@functools.lru_cache(maxsize=None)
def _name(dtype: Any) -> str:
    """numpy takes microseconds to make it."""
    return dtype.name


class Host:
    """Arrays in the processor's memory: conversions are the compiled part's."""

    def convert(self, how: Any, x: Tuple[Any, str], out: Tuple[Any, str]) -> None:
        _core.convert(how, x, out)

    def decode(self, name: str, codes: Any, out: Tuple[Any, str]) -> None:
        _core.decode(name, codes, out)

    def outcomes(self, how: Any, x: Tuple[Any, str]) -> Dict[str, int]:
        return _core.array_outcomes(how, x)


class Numpy(Host):
    """numpy's arrays, and what numpy.asarray makes of other things."""

    def __init__(self) -> None:
        try:
            import numpy
        except ImportError:
            raise TypeError(
                "numbers, lists and arrays need numpy, which is not installed; tensors of torch do not"
            ) from None
        self.np = numpy

    def take(self, x: Any, argument: str) -> Any:
        # On a device, or with another library's own laws: not to be copied behind its back.
        if not isinstance(x, (self.np.ndarray, self.np.generic)) and hasattr(x, "__cuda_array_interface__"):
            raise ValueError(f"{argument}: is not in the processor's memory; copy it there first")
        if isinstance(x, self.np.ma.MaskedArray):
            raise ValueError(f"{argument}: is a masked array; pass x.filled(...), or x.data")
        return self.np.asarray(x)

    def type_of(self, x: Any) -> str:
        return _name(x.dtype)

    def elements(self, x: Any, argument: str) -> Tuple[Any, str]:
        name = _name(x.dtype)
        if name in ("float16", "float32", "float64"):
            return x, name
        if name.startswith(_SMALL):
            return x.view(f"u{x.dtype.itemsize}"), name
        raise _no_numbers(argument, name)

    def integers(self, x: Any, argument: str) -> Any:
        if x.dtype.kind not in "iu":
            raise ValueError(f"{argument}: elements are {x.dtype.name}; codes are integers")
        return x

    def new_like(self, x: Any, dtype: Any) -> Any:
        return self.np.empty_like(x, dtype=dtype, subok=False)

    def new(self, shape: Tuple[int, ...], dtype: Any) -> Any:
        return self.np.empty(shape, dtype=dtype)

    def code_type(self, bits: int) -> Any:
        return f"u{_size(bits)}"

    def named(self, name: str) -> Any:
        return self.np.dtype(name)

    def output(self, out: Any) -> Any:
        if not isinstance(out, self.np.ndarray):
            raise TypeError(f"out: is a {type(out).__name__}, not a numpy array as x is")
        return out

    def result(self, made: Any, operands: Tuple[Any, ...]) -> Any:
        """A number for numbers, as numpy's functions give it."""
        return made if made.ndim or any(isinstance(x, self.np.ndarray) for x in operands) else made[()]

    def written(self, out: Any) -> None:
        pass


class Torch(Host):
    """Tensors, here in the processor's memory. Where gradients are recorded, those that require them are refused."""

    def __init__(self) -> None:
        self.torch = sys.modules["torch"]

    def take(self, x: Any, argument: str) -> Any:
        torch = self.torch
        if not isinstance(x, torch.Tensor):
            raise TypeError(
                f"{argument}: is a {type(x).__name__} beside a tensor; pass tensors, or arrays of numpy, alone"
            )
        if x.layout is not torch.strided or x.is_quantized:
            raise ValueError(f"{argument}: is not a dense tensor; pass x.to_dense()")
        self.expect_place(x, argument)
        if x.requires_grad and torch.is_grad_enabled():
            raise ValueError(
                f"{argument}: requires grad, and rounding has no gradient; pass x.detach(), or use torch.no_grad()"
            )
        return x.detach()

    def expect_place(self, x: Any, argument: str) -> None:
        if x.device.type != "cpu":
            raise ValueError(f"{argument}: is on {x.device}, and rounding is done by the CPU; pass x.cpu()")

    def type_of(self, x: Any) -> str:
        return str(x.dtype)[len("torch.") :]

    def elements(self, x: Any, argument: str) -> Tuple[Any, str]:
        name = self.type_of(x)
        if name in ("float16", "float32", "float64", "bfloat16"):
            return x.resolve_neg(), name
        if name.startswith(_SMALL) and not name.endswith("_x2"):
            return x.view(self.torch.uint8), name
        raise _no_numbers(argument, name)

    def integers(self, x: Any, argument: str) -> Any:
        if x.is_floating_point() or x.is_complex() or x.dtype is self.torch.bool:
            raise ValueError(f"{argument}: elements are {self.type_of(x)}; codes are integers")
        return x

    def new_like(self, x: Any, dtype: Any) -> Any:
        return self.torch.empty_like(x, dtype=dtype, requires_grad=False)

    def new(self, shape: Tuple[int, ...], dtype: Any) -> Any:
        return self.torch.empty(shape, dtype=dtype)

    def code_type(self, bits: int) -> Any:
        # Unsigned ones are in few versions, and do little.
        return {1: self.torch.uint8, 2: self.torch.int16, 4: self.torch.int32}[_size(bits)]

    def named(self, name: str) -> Any:
        return getattr(self.torch, name)

    def output(self, out: Any) -> Any:
        out = self.take(out, "out")
        if out.is_neg():
            raise ValueError("out: is a negated view; pass a tensor of its own")
        return out

    def result(self, made: Any, operands: Tuple[Any, ...]) -> Any:
        return made

    def written(self, out: Any) -> None:
        """Autograd is told that a tensor it may have kept has changed; versions before 2.1 have no way to."""
        tell = getattr(self.torch.autograd.graph, "increment_version", None)
        if tell is not None:
            tell(out)


def _size(bits: int) -> int:
    return 1 if bits <= 8 else 2 if bits <= 16 else 4


def kind_of(*arrays: Any) -> Any:
    """Torch where one of them is a tensor, else Numpy."""
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(x, torch.Tensor) for x in arrays):
        return Torch()
    return Numpy()


def converter_of(*arrays: Any) -> Any:
    """That, or what converts tensors where they are, on a device for which the package has kernels."""
    kind = kind_of(*arrays)
    if isinstance(kind, Torch):
        for x in arrays:
            if isinstance(x, kind.torch.Tensor) and x.device.type == "cuda":
                from ._device.rounding import kind_on

                return kind_on(x.device) or kind
    return kind
