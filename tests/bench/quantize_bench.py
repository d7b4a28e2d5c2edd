"""`ulpscope.quantize` on 64 Mi floats beside the C interface's call on the same memory, in one run.

    PYTHONPATH=build/release/python python3 tests/bench/quantize_bench.py build/release/formats/libulp_formats.a

The two take turns, 15 times: medians of their times, the median of their ratios, and the ratio of their best. `new` makes
an array for each result. One thread is one processor (taskset). Makes a shared library of the archive with c++.
"""

import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

import ulpscope

ELEMENTS = 1 << 26
ROUNDS = 15


class Format(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int32) for n in ("exponent_bits", "fraction_bits", "bias", "top", "bottom", "has_sign")]


class Rounding(ctypes.Structure):
    _fields_ = [
        (n, ctypes.c_int32) for n in ("direction", "overflow", "flush", "daz", "tininess", "definition", "random_bits")
    ]


class How(ctypes.Structure):
    _fields_ = [
        ("rounding", Rounding),
        ("scale", ctypes.c_double),
        ("random", ctypes.c_uint64 * 3),
        ("threads", ctypes.c_uint32),
    ]


def library(archive, folder):
    path = os.path.join(folder, "libulp.so")
    everything = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"]
    subprocess.run(["c++", "-shared", "-o", path, *everything, "-lfmt", "-ltbb"], check=True)
    made = ctypes.CDLL(path)
    made.ulp_default_conversion.restype = How
    return made


def call_of(c, format_, rounding, x, out):
    to, how = Format(), c.ulp_default_conversion()
    assert c.ulp_format_by_name(format_.encode(), ctypes.byref(to)) == 0
    assert c.ulp_rounding_by_name(rounding.encode(), ctypes.byref(how.rounding)) == 0
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, out)]
    size = ctypes.c_size_t(x.size)

    def call():
        error = c.ulp_round_floats(ctypes.byref(to), pointers[0], size, pointers[1], ctypes.byref(how), None)
        assert error == 0

    return call


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main(archive):
    random = numpy.random.default_rng(1)
    part = random.standard_normal(1 << 20, dtype=numpy.float32)
    part *= numpy.exp2(-10 + 3 * random.standard_normal(part.size, dtype=numpy.float32))
    x = numpy.tile(part, ELEMENTS // part.size)
    out = numpy.zeros_like(x)  # of both: where memory lies makes a difference of some per cent
    print(f"{ELEMENTS >> 20} Mi floats, {len(os.sched_getaffinity(0))} processors; ms")
    print(f"{'':24}{'C':>8}{'out=':>8}{'ratio':>8}{'best':>8}{'new':>8}{'numpy':>8}")
    with tempfile.TemporaryDirectory() as folder:
        c = library(archive, folder)
        for format_, rounding in [
            ("float16", "rne"),
            ("cbfloat16", "rne"),
            ("e4m3fn", "rne"),
            ("cbfloat16", "sr,bits=8"),
        ]:
            call = call_of(c, format_, rounding, x, out)
            times = {"c": [], "out": [], "new": []}
            for i in range(ROUNDS):
                works = [
                    ("c", call),
                    ("out", lambda: ulpscope.quantize(x, format_, rounding, out=out)),
                    ("new", lambda: ulpscope.quantize(x, format_, rounding)),
                ]
                for name, work in works[i % 3 :] + works[: i % 3]:
                    times[name].append(seconds(work))
            call()
            assert numpy.array_equal(out, ulpscope.quantize(x, format_, rounding))
            middle = {name: 1e3 * statistics.median(of) for name, of in times.items()}
            ratio = statistics.median(mine / c_ for mine, c_ in zip(times["out"], times["c"]))
            best = min(times["out"]) / min(times["c"])
            cast = ""
            if format_ == "float16":
                cast = f"{1e3 * seconds(lambda: x.astype(numpy.float16).astype(numpy.float32)):8.1f}"
            row = f"{middle['c']:8.1f}{middle['out']:8.1f}{ratio:8.3f}{best:8.3f}{middle['new']:8.1f}{cast}"
            print(f"{format_ + ' ' + rounding:24}{row}")
    small = x[:1].copy()
    each = min(seconds(lambda: [ulpscope.quantize(small, "float16", out=small) for _ in range(1000)]) for _ in range(5))
    print(f"one element: {1e3 * each:.1f} us")


if __name__ == "__main__":
    main(*sys.argv[1:])
