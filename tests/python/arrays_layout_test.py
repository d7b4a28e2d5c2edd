"""Arrays as they come: strides, orders, types, outputs, overlaps, threads. The results are those of a plain copy."""

import concurrent.futures
import threading
import time
import unittest

import support

support.need("numpy")
support.need_compiled()

import numpy as np

import ulpscope

try:
    import torch
except ImportError:
    torch = None

DRAWN = {"rounding": "stochastic", "bits": 8, "seed": 3}


def values(*shape, type_=np.float32):
    random = np.random.default_rng(len(shape) + shape[-1])
    return (random.standard_normal(shape) * np.exp2(random.integers(-20, 20, shape))).astype(type_)


def layouts(type_):
    """Arrays of one type that lie in memory in all the ways that numpy has, by name."""
    plane = values(60, 70, type_=type_)
    packed = np.zeros(500, [("tag", "u1"), ("x", type_)])
    packed["x"] = values(500, type_=type_)
    yield "plain", plane
    yield "transposed", plane.T
    yield "columns in order", np.asfortranarray(plane)
    yield "every third", plane[::3, 1::2]
    yield "backwards", plane[::-1, ::-1]
    yield "backwards in one", plane.T[::-1]
    yield "three dimensions", values(7, 8, 9, type_=type_).transpose(2, 0, 1)
    yield "narrow rows", values(3000, 5, type_=type_)[:, :3]
    yield "large", values(300, 400, type_=type_)[:, ::-2]
    yield "one number for all", np.broadcast_to(type_(0.3), (40, 50))
    yield "rows for all", np.broadcast_to(values(50, type_=type_), (40, 50))
    yield "not aligned", packed["x"]
    yield "other byte order", plane.astype(plane.dtype.newbyteorder())
    yield "of ones", values(1, 1, 9, 1, type_=type_)[:, :, ::2]
    yield "nothing", plane[:0]
    yield "nothing in the middle", values(3, 0, 4, type_=type_)
    yield "no dimensions", np.array(0.3, type_)
    readonly = plane.copy()
    readonly.flags.writeable = False
    yield "read-only", readonly


class Layouts(unittest.TestCase):
    def test_numpy(self):
        for type_ in (np.float16, np.float32, np.float64):
            for name, x in layouts(type_):
                plain = np.array(x, type_, order="C")
                for how in ({}, DRAWN, {"scale": 3.0}):
                    with self.subTest(type=type_.__name__, name=name, how=how):
                        result = ulpscope.quantize(x, "e4m3fn", **how)
                        self.assertEqual((result.shape, result.dtype), (x.shape, x.dtype))
                        expected = ulpscope.quantize(plain.ravel(), "e4m3fn", **how).reshape(x.shape)
                        self.assertTrue(np.array_equal(result, expected, equal_nan=True))
                        codes = ulpscope.encode(x, "e4m3fn", **how)
                        self.assertEqual(codes.dtype, np.uint8)
                        self.assertTrue(np.array_equal(ulpscope.decode(codes, "e4m3fn"), expected, equal_nan=True))
                        self.assertEqual(
                            ulpscope.outcomes(x, "e4m3fn", **how), ulpscope.outcomes(plain.ravel(), "e4m3fn", **how)
                        )
                        twice = ulpscope.add(x, x, "e4m3fn")
                        self.assertTrue(np.array_equal(twice, ulpscope.quantize(x, "e4m3fn", scale=2), equal_nan=True))
                self.assertTrue(np.array_equal(x, plain))  # untouched

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_torch(self):
        base = torch.from_numpy(values(60, 70))
        for type_ in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            for x in (base, base.t(), base[::3, 1::2], base[:0], base[3, 4], base[:1].expand(9, 70), base.unsqueeze(1)):
                x = x.to(type_) if x.stride() != (0, 1) else x[:1].to(type_).expand(9, 70)
                for how in ({}, DRAWN):
                    result = ulpscope.quantize(x, "e4m3fn", **how)
                    self.assertEqual((result.shape, result.dtype), (x.shape, x.dtype))
                    plain = np.array(x.double().numpy(), order="C")
                    expected = ulpscope.quantize(plain, "e4m3fn", **how)
                    self.assertTrue(np.array_equal(result.double().numpy(), expected, equal_nan=True))

    def test_other_things_become_arrays_of_numpy(self):
        result = ulpscope.quantize([[0.1, 0.2], [0.3, 0.4]], "fp16")
        self.assertEqual((result.dtype, result.shape), (np.float64, (2, 2)))
        self.assertIsInstance(ulpscope.quantize(0.1, "fp16"), np.float64)
        self.assertIsInstance(ulpscope.quantize(np.float32(0.1), "fp16"), np.float32)
        self.assertIsInstance(ulpscope.quantize(np.array(0.1), "fp16"), np.ndarray)

    def test_codes_are_integers_of_any_type(self):
        plain = ulpscope.decode(np.arange(256, dtype=np.uint8), "e4m3fn")
        for type_ in "iu":
            for size in "248":
                codes = np.arange(256).astype(type_ + size)[::-1]
                self.assertTrue(np.array_equal(ulpscope.decode(codes, "e4m3fn")[::-1], plain, equal_nan=True))
        self.assertTrue(np.array_equal(ulpscope.decode(np.arange(256).astype("i1"), "e4m3fn"), plain, equal_nan=True))
        self.assertEqual(ulpscope.decode(np.uint16([1]), "e10m5").dtype, np.float64)


class Outputs(unittest.TestCase):
    def test_in_place(self):
        for x in (values(1000), values(70, 30)[::2], values(70, 30).T[::-1], values(9000, 3)[:, :2]):
            for how in ({}, DRAWN):
                expected = ulpscope.quantize(x.copy(order="C"), "bf16", **how)
                mine = x.copy(order="K")
                view = np.lib.stride_tricks.as_strided(mine, x.shape, mine.strides)
                self.assertIs(ulpscope.quantize(view, "bf16", out=view, **how), view)
                self.assertTrue(np.array_equal(view, expected))

    def test_another_type(self):
        x = values(200, 30, type_=np.float64)
        expected = ulpscope.quantize(x, "e4m3fn")
        for type_ in (np.float16, np.float32, np.float64):
            out = np.empty((30, 200), type_).T
            self.assertIs(ulpscope.quantize(x, "e4m3fn", out=out), out)
            self.assertTrue(np.array_equal(out, expected, equal_nan=True))
        codes = np.empty((200, 30), np.int8)
        ulpscope.encode(x, "e4m3fn", out=codes)
        self.assertTrue(np.array_equal(codes.view(np.uint8), ulpscope.encode(x, "e4m3fn")))
        half = np.empty(x.shape, np.float16)
        ulpscope.decode(codes, "e4m3fn", out=half)
        self.assertTrue(np.array_equal(half, expected, equal_nan=True))

    def test_memory_that_overlaps_is_as_if_it_did_not(self):
        for step in (1, 5, 9000):
            for swap in (False, True):
                memory = values(100000)
                a, b = memory[:-step], memory[step:]
                x, out = (b, a) if swap else (a, b)
                expected = ulpscope.quantize(x.copy(), "fp16")
                ulpscope.quantize(x, "fp16", out=out)
                self.assertTrue(np.array_equal(out, expected))
        memory = values(100000)
        expected = ulpscope.add(memory[:-1].copy(), memory[1:].copy(), "fp16")
        ulpscope.add(memory[:-1], memory[1:], "fp16", out=memory[1:])
        self.assertTrue(np.array_equal(memory[1:], expected))
        square = values(300, 300)
        expected = ulpscope.quantize(square.copy(), "fp16")
        ulpscope.quantize(square, "fp16", out=square.T)
        self.assertTrue(np.array_equal(square.T, expected))

    def test_codes_in_the_place_of_their_numbers(self):
        x = values(50000)
        expected = ulpscope.encode(x.copy(), "tf32")
        codes = ulpscope.encode(x, "tf32", out=x.view(np.uint32))
        self.assertTrue(np.array_equal(codes, expected))
        x = values(50000)
        bytes_ = x.view(np.uint8)[:50000]  # each where another number was
        self.assertTrue(np.array_equal(ulpscope.encode(x.copy(), "e5m2"), ulpscope.encode(x, "e5m2", out=bytes_)))

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_parameters_without_grad(self):
        weight = torch.nn.Parameter(torch.tensor([0.1, 0.2]))
        with torch.no_grad():
            self.assertIs(ulpscope.quantize(weight, "e4m3fn", out=weight), weight)
        self.assertEqual(weight.tolist(), [0.1015625, 0.203125])
        self.assertTrue(weight.requires_grad)


class Threads(unittest.TestCase):
    def test_results_do_not_depend_on_who_else_computes(self):
        x = values(1 << 20)
        expected = ulpscope.quantize(x, "bf16", **DRAWN)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda _: ulpscope.quantize(x, "bf16", **DRAWN), range(8)))
        for result in results:
            self.assertTrue(np.array_equal(result, expected))

    def test_other_threads_run_meanwhile(self):
        """A thread counts; a call that held the lock would not let it count between its begin and its end."""
        x = values(1 << 21, type_=np.float64)
        halves = x.astype(np.float16)
        counted, stop = [0], threading.Event()

        def count():
            while not stop.is_set():
                counted[0] += 1
                time.sleep(0)

        thread = threading.Thread(target=count)
        thread.start()
        try:
            for call in (
                lambda: ulpscope.quantize(x, "fp16", "sr", bits="all", scale=1 / 3),
                lambda: ulpscope.outcomes(x, "fp16", "sr", bits="all", scale=1 / 3),
                lambda: ulpscope.add(x, x, "fp16"),
                lambda: ulpscope.dot(halves, halves),
                lambda: ulpscope.exact_dot(halves, halves),
            ):
                while counted[0] == 0:
                    time.sleep(0.001)
                before = counted[0]
                begin = time.monotonic()
                call()
                during = counted[0] - before
                self.assertGreater(during, 20, f"in {time.monotonic() - begin:.3f} s")
        finally:
            stop.set()
            thread.join()


if __name__ == "__main__":
    unittest.main()
