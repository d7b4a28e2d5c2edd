"""quantize, encode, decode and outcomes as they work on a CUDA device, with its kernels run on the host: the results and the errors
are those of the same tensors without one. tests/device/quantize_device.py does it on a device."""

import contextlib
import ctypes
import itertools
import os
import unittest
from unittest import mock

import support

support.need("torch")
support.need_compiled()

import torch  # noqa: E402

import ulpscope  # noqa: E402
from ulpscope import _arrays  # noqa: E402
from ulpscope._device import rounding  # noqa: E402

LIBRARY = os.environ.get("ULP_EMULATED_ROUNDING", "")
HERE = torch.device("cpu")


class Driver:
    """In place of _device/driver.py."""

    def __init__(self):
        self.launched = []
        self.library = ctypes.CDLL(LIBRARY)
        self.library.ulp_emulate_rounding.restype = ctypes.c_bool

    def on(self, device):
        return contextlib.nullcontext()

    def stream(self, device):
        return 0

    def kernel(self, file, name, device):
        with open(os.path.join(os.path.dirname(rounding.__file__), file + ".ptx"), encoding="ascii") as kernels:
            assert f".entry {name}(" in kernels.read()
        return mock.Mock(launch=lambda *how, **more: self.launch(name, *how, **more))

    def launch(self, name, grid, threads, arguments, stream):
        self.launched.append(name)
        pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        assert self.library.ulp_emulate_rounding(name.encode(), ctypes.c_uint64(grid[0] * threads), pointers), name


def numbers(size, seed=0):
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(size, generator=draw) * torch.exp2(torch.randint(-40, 30, (size,), generator=draw).float())
    for i, special in enumerate([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 70000.0, -1e-45]):
        x[i * 3] = special
    x[30:33] = torch.tensor([0x7F800001, -0x3FFFFE, 0x7FFFFFFF], dtype=torch.int32).view(torch.float32)
    return x


def layouts(x):
    plane = x[: 60 * 70].reshape(60, 70)
    yield "plain", plane
    yield "transposed", plane.t()
    yield "every third", plane[::3, 1::2]
    yield "from the second on", x[1:4000]
    yield "repeated", x[:50].expand(7, 50)
    yield "empty", x[:0]
    yield "a number", x[5]
    yield "channels last", x[: 2 * 3 * 20 * 30].view(2, 3, 20, 30).to(memory_format=torch.channels_last)


def bits(x):
    """What tells NaNs apart."""
    return x.contiguous().view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()])


@unittest.skipIf(not LIBRARY, "ULP_EMULATED_ROUNDING is not set")
class OnADevice(unittest.TestCase):
    def setUp(self):
        self.driver = Driver()
        self.x = numbers(5000)

    @contextlib.contextmanager
    def device(self):
        with mock.patch.object(rounding, "driver", self.driver), mock.patch.object(rounding, "_most_blocks", lambda *_: 2):
            with mock.patch.object(_arrays, "converter_of", lambda *_: rounding.Cuda(HERE)):
                yield

    def both(self, function, *arguments, **how):
        expected = function(*arguments, **how)
        with self.device():
            return expected, function(*arguments, **how)

    def same(self, function, *arguments, **how):
        with self.subTest(function=function.__name__, how=how):
            expected, got = self.both(function, *arguments, **how)
            self.assertEqual((got.dtype, got.shape, got.stride()), (expected.dtype, expected.shape, expected.stride()))
            self.assertTrue(torch.equal(bits(got), bits(expected)))

    def refused(self, function, *arguments, **how):
        texts = []
        for device in (contextlib.nullcontext(), self.device()):
            with device, self.assertRaises((ValueError, TypeError)) as caught:
                function(*arguments, **how)
            texts.append((type(caught.exception), str(caught.exception)))
        self.assertEqual(*texts)

    def test_layouts(self):
        for name, x in layouts(self.x):
            for how in ({}, {"rounding": "sr", "bits": 8, "seed": 3, "index": 5}, {"rounding": "sr"}, {"scale": 3.0}):
                with self.subTest(layout=name):
                    self.same(ulpscope.quantize, x, "float16", **how)
                    self.same(ulpscope.encode, x, "float16", **how)

    def test_formats_and_roundings(self):
        formats = ("float16", "bfloat16", "cbfloat16", "e4m3fn", "e5m2", "float8_e4m3fnuz", "dlfloat16", "float8_e8m0", "float4_e2m1", "tf32", "float32", "e7m10,bias=110")
        roundings = ("rne", "rna", "rz", "ru", "rd", "ro", "sr:A,bits=16", "sr:B,bits=7", "sr:C,bits=11")
        for format, how in itertools.product(formats, roundings):
            self.same(ulpscope.quantize, self.x, format, how)
        for format in formats:
            for more in ({"saturate": True}, {"saturate": "finite"}, {"ftz": "before"}, {"ftz": "after"}, {"ftz": "result"}, {"daz": True}, {"scale": 2.0**-9}, {"scale": 1e-3}):
                self.same(ulpscope.quantize, self.x, format, **more)
                self.same(ulpscope.quantize, self.x, format, "sr", bits=9, **more)
            self.same(ulpscope.quantize, self.x, format, "sr", bits="all")
            self.same(ulpscope.encode, self.x, format)

    def test_types(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            for how in ({}, {"rounding": "sr", "bits": 16}, {"scale": 2.0**70, "daz": True}):
                self.same(ulpscope.quantize, self.x.to(dtype), "e4m3fn", **how)
                self.same(ulpscope.encode, self.x.to(dtype), "bfloat16", **how)

    def test_fast_kernels_take_what_is_usual(self):
        with self.device():
            for format in ("float16", "bfloat16", "cbfloat16", "e4m3fn"):
                ulpscope.quantize(self.x, format)
                ulpscope.quantize(self.x, format, "sr", bits=8, seed=1)
                ulpscope.quantize(self.x, format, "rz", ftz="before")
        self.assertNotIn("convert", self.driver.launched)

    def test_out(self):
        memory = self.x.clone()
        out = torch.empty(200, dtype=torch.float64)
        wide = torch.zeros(20, 30)
        cases = [
            lambda: (ulpscope.quantize(self.x[:200], "float16", out=out), out),
            lambda: (ulpscope.quantize(self.x[:600].view(20, 30), "float16", out=wide.t().contiguous().t()),) * 2,
            lambda: (memory.copy_(self.x), ulpscope.quantize(memory, "float16", out=memory), memory)[1:],
            lambda: (memory.copy_(self.x), ulpscope.quantize(memory[1:], "float16", "sr", out=memory[:-1]), memory)[1:],
            lambda: (memory.copy_(self.x), ulpscope.quantize(memory[::2], "float16", out=memory[1::2]), memory)[1:],
            lambda: (memory.copy_(self.x), ulpscope.encode(memory, "tf32", out=memory.view(torch.int32)), memory)[1:],
        ]
        for case in cases:
            expected = [bits(t).clone() for t in case()]
            with self.device():
                got = [bits(t).clone() for t in case()]
            self.assertTrue(all(map(torch.equal, got, expected)))
        before = memory._version
        with self.device():
            self.assertIs(ulpscope.quantize(memory, "float16", out=memory), memory)
        if hasattr(torch.autograd.graph, "increment_version"):
            self.assertGreater(memory._version, before)

    def test_decode(self):
        for format, dtype, most in (("e4m3fn", torch.uint8, 256), ("float16", torch.int16, 1 << 16), ("float16", torch.int64, 1 << 16), ("e3m2", torch.int32, 64)):
            codes = torch.arange(most).to(dtype)
            self.same(ulpscope.decode, codes, format)
            self.same(ulpscope.decode, codes[1::3], format, out=torch.empty(len(codes[1::3]), dtype=torch.float64))
        for codes in (torch.tensor([1, 2, 64]), torch.tensor([5, -1], dtype=torch.int8)):
            self.refused(ulpscope.decode, codes, "e3m2")
        self.refused(ulpscope.decode, codes, "float16")

    def test_outcomes(self):
        for how in ({}, {"rounding": "sr"}, {"scale": 1024.0, "ftz": "result"}):
            for _, x in layouts(self.x):
                self.assertEqual(*self.both(ulpscope.outcomes, x, "float16", **how))

    def test_errors(self):
        x = self.x
        self.refused(ulpscope.quantize, x.half(), "bfloat16")
        self.refused(ulpscope.quantize, x, "float64")
        self.refused(ulpscope.quantize, x, "e8m30")
        self.refused(ulpscope.quantize, x, "float16", out=torch.empty(3))
        self.refused(ulpscope.quantize, x[:2], "float16", out=torch.zeros(1).expand(2))
        self.refused(ulpscope.quantize, x.clone().requires_grad_(), "float16")
        self.refused(ulpscope.quantize, x.int(), "float16")
        self.refused(ulpscope.encode, x, "float16", out=torch.empty(5000, dtype=torch.uint8))
        elsewhere = x.to("meta")
        with self.device(), self.assertRaisesRegex(ValueError, "out: is on meta, and other tensors on cpu"):
            ulpscope.quantize(x, "float16", out=elsewhere)


if __name__ == "__main__":
    unittest.main()
