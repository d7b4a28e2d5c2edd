"""Conversions of torch's tensors on a CUDA device, by the kernels of python/device/quantize.cu and convert.cu, on torch's
current stream there.

What the compiled part does for arrays in the processor's memory, with its results and its errors; nothing is copied to the host
but what `outcomes` counts, and whether all elements that `decode` takes are codes.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Dict, List, Tuple

from .. import _core
from .._array_types import Torch
from . import driver

THREADS = 256  # of a block
# Blocks that are launched at most for each of the device's processors: some more than it holds, so that none is idle at the end.
BLOCKS = 32
# Elements that a thread does at once, of kernels by the beginning of their names.
AT_ONCE = {"convert": 1, "outcomes": 4, "find_beyond": 4, "stochastic8": 64, "stochastic16": 32}
NUMBERS_AT_ONCE = 16  # of others

BY_CODEC = ("convert", "outcomes", "find_beyond")

COUNTS = ("zero", "underflow", "subnormal", "inexact", "overflow", "nan")  # as outcome_counts of by_codec.hpp has them


@functools.lru_cache(None)
def _most_blocks(torch: Any, device: int) -> int:
    return BLOCKS * torch.cuda.get_device_properties(device).multi_processor_count


class Cuda(Torch):
    """Tensors on one device."""

    def __init__(self, device: Any) -> None:
        super().__init__()
        self.device = device

    def expect_place(self, x: Any, argument: str) -> None:
        if x.device != self.device:
            raise ValueError(f"{argument}: is on {x.device}, and other tensors on {self.device}; pass tensors of one device")

    def new(self, shape: Tuple[int, ...], dtype: Any) -> Any:
        return self.torch.empty(shape, dtype=dtype, device=self.device)

    def convert(self, how: Any, x: Tuple[Any, str], out: Tuple[Any, str]) -> None:
        name, plan, direct = _core.device_conversion(how, _described(*x), _described(*out))
        self._to(out[0], x[0], direct, functools.partial(self._launch, name, plan))

    def decode(self, name: str, codes: Any, out: Tuple[Any, str]) -> None:
        plan, direct, mask = _core.device_decoding(name, _described(codes, name), _described(*out))
        if mask >> (8 * codes.element_size() - 1) == 0:
            self._expect_codes(name, codes.contiguous(), mask)
        self._to(out[0], codes, direct, functools.partial(self._launch, "convert", plan))

    def outcomes(self, how: Any, x: Tuple[Any, str]) -> Dict[str, int]:
        plan, direct = _core.device_outcomes(how, _described(*x))
        counts = self.torch.zeros(len(COUNTS), dtype=self.torch.int64, device=self.device)
        self._launch("outcomes", plan, x[0] if direct else x[0].contiguous(), counts)
        return {"numel": x[0].numel(), **dict(zip(COUNTS, counts.tolist()))}

    def _expect_codes(self, name: str, codes: Any, mask: int) -> None:
        size = codes.numel()
        first = self.torch.full((1,), size, dtype=self.torch.int64, device=self.device)
        self._run("find_beyond", size, [_address(codes), ctypes.c_int(codes.element_size()), ctypes.c_uint64(mask), _address(first)])
        i = int(first.item())
        if i < size:
            word = int(codes.view(-1)[i].item()) & ((1 << 8 * codes.element_size()) - 1)
            _core.device_refuse_code(name, i, word)

    def _to(self, out: Any, x: Any, direct: bool, launch: Any) -> None:
        """Calls launch(x, out), or has it work on copies where it does not take them as they are."""
        if direct:
            return launch(x, out)
        made = self.new(out.shape, out.dtype)
        launch(x.contiguous(), made)
        out.copy_(made)

    def _launch(self, name: str, plan: bytes, x: Any, out: Any) -> None:
        self._run(name, x.numel(), [(ctypes.c_char * len(plan)).from_buffer_copy(plan), _address(x), _address(out)])

    def _run(self, name: str, size: int, arguments: List[Any]) -> None:
        """The kernel with these arguments and the size."""
        if size == 0:
            return
        device = self.device.index
        work = THREADS * next((n for kernel, n in AT_ONCE.items() if name.startswith(kernel)), NUMBERS_AT_ONCE)
        blocks = min(-(-size // work), _most_blocks(self.torch, device))
        with driver.on(device):
            kernel = driver.kernel("convert" if name in BY_CODEC else "quantize", name, device)
            kernel.launch((blocks, 1), THREADS, [*arguments, ctypes.c_uint64(size)], stream=driver.stream(device))


def _described(x: Any, name: str) -> Tuple[int, List[int], List[int], int, str]:
    return x.data_ptr(), list(x.shape), list(x.stride()), x.element_size(), name


def _address(x: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(x.data_ptr())


def kind_on(device: Any) -> Any:
    """For tensors there; None where this package has no kernels for it."""
    return Cuda(device) if device.type == "cuda" and driver.is_usable(device.index) else None
