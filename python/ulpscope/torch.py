"""Rounding inside of torch: with a gradient, and as one operator that torch.compile keeps in its graph.

    import ulpscope.torch
    y = ulpscope.torch.quantize(x, "float8_e4m3fn", "stochastic", bits=8, seed=1, stream=step)

On the processor and on CUDA devices, where it is done on torch's current stream.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple, Union

import torch

from . import _arrays
from ._formats import Format, format_name

__all__ = ["quantize"]

GRADIENTS = ("straight-through", "quantized")


def quantize(
    x: torch.Tensor,
    format: Format,
    rounding: str = "nearest-even",
    *,
    scale: float = 1,
    saturate: Union[bool, str] = False,
    ftz: Optional[str] = None,
    daz: bool = False,
    seed: int = 0,
    stream: int = 0,
    index: int = 0,
    bits: Union[int, str, None] = None,
    gradient: str = "straight-through",
) -> torch.Tensor:
    """ulpscope.quantize, whose arguments and results these are, for tensors that require grad too.

    gradient  "straight-through": what comes back is multiplied by scale, as if nothing had been rounded. "quantized":
              that product is rounded once, as x was; stochastic rounding takes the stream whose top bit is the other
              one.

    >>> x = torch.tensor([0.1, 1e-9], requires_grad=True)
    >>> y = ulpscope.torch.quantize(x, "float16")
    >>> y.sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    if gradient not in GRADIENTS:
        raise ValueError(f"gradient: {gradient!r} is not one of {', '.join(GRADIENTS)}")
    if isinstance(bits, str) and bits != "all" or isinstance(bits, int) and bits < 1:
        raise ValueError(f"bits: {bits!r} is neither 1 to 32 nor 'all'")
    how = (
        _name(format),
        rounding,
        float(scale),
        saturate if isinstance(saturate, str) else "all" if saturate else "",
        ftz,
        daz,
        _signed(seed, "seed"),
        _signed(stream, "stream"),
        _signed(index, "index"),
        0 if bits == "all" else -1 if bits is None else bits,
    )
    return _rounded(x, *how, gradient)


def _name(format: Format) -> str:
    """The compiler follows this, and not format_name."""
    if isinstance(format, torch.dtype):
        return str(format)[len("torch.") :]
    return format if isinstance(format, str) else format_name(format)


def _signed(n: int, argument: str) -> int:
    """Operators take integers of 64 bits with a sign."""
    if not 0 <= n < 1 << 64:
        raise ValueError(f"{argument}: {n} is not from 0 to {(1 << 64) - 1}")
    return n - (1 << 64) if n >= 1 << 63 else n


# Of the operator. saturate: "", "all" or "finite"; bits: -1 for None, 0 for "all".
_SCHEMA = (
    "(Tensor x, str format, str rounding, float scale, str saturate, str? ftz, bool daz, SymInt seed, SymInt stream, SymInt index,"
    " int bits, str gradient) -> Tensor"
)


def _forward(
    x: torch.Tensor,
    format: str,
    rounding: str,
    scale: float,
    saturate: str,
    ftz: Optional[str],
    daz: bool,
    seed: int,
    stream: int,
    index: int,
    bits: int,
    gradient: str,
) -> torch.Tensor:
    return _arrays.quantize(
        x.detach(),
        format,
        rounding,
        scale=scale,
        saturate=True if saturate == "all" else saturate or False,
        ftz=ftz,
        daz=daz,
        seed=seed % (1 << 64),
        stream=stream % (1 << 64),
        index=index % (1 << 64),
        bits="all" if bits == 0 else None if bits == -1 else bits,
    )


def _keep(ctx: Any, inputs: Tuple[Any, ...], output: Any = None) -> None:
    ctx.how = inputs[1:]


def _backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
    *how, gradient = ctx.how
    scale, stream = how[2], how[7]
    if gradient == "quantized":
        how[7] = stream + (1 << 63) if stream < 0 else stream - (1 << 63)
        grad = _rounded(grad, *how, gradient)
    elif scale != 1:
        grad = grad * scale
    return (grad, *[None] * len(ctx.how))


if hasattr(torch.library, "custom_op"):  # 2.4
    _rounded = torch.library.custom_op("ulpscope::quantize", _forward, mutates_args=(), schema=_SCHEMA)
    _rounded.register_fake(lambda x, *how: torch.empty_like(x))
    _rounded.register_autograd(_backward, setup_context=_keep)
else:

    class _Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, *how):
            _keep(ctx, (x, *how))
            return _forward(x, *how)

        @staticmethod
        def backward(ctx, grad):
            return _backward(ctx, grad)

    _rounded = _Rounded.apply
