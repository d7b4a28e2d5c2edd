"""`ulpscope.quantize` on 64 Mi floats beside the C interface's call on the same memory, in one run.

    PYTHONPATH=build/release/python python3 tests/bench/quantize_bench.py build/release/formats/libulp_formats.a

Medians of nine, the two in turns; one thread is one processor (taskset). Makes a shared library of the archive with
c++.
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
ROUNDS = 9


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
    out, theirs = numpy.zeros_like(x), numpy.zeros_like(x)
    print(f"{ELEMENTS >> 20} Mi floats, {len(os.sched_getaffinity(0))} processors; ms")
    print(f"{'':32}{'C':>8}{'out=':>8}{'ratio':>8}{'new':>8}{'numpy':>8}")
    with tempfile.TemporaryDirectory() as folder:
        c = library(archive, folder)
        for format_, rounding in [
            ("float16", "rne"),
            ("cbfloat16", "rne"),
            ("e4m3fn", "rne"),
            ("cbfloat16", "sr,bits=8"),
        ]:
            call = call_of(c, format_, rounding, x, theirs)
            times = {"c": [], "out": [], "new": []}
            for _ in range(ROUNDS):
                times["c"].append(seconds(call))
                times["out"].append(seconds(lambda: ulpscope.quantize(x, format_, rounding, out=out)))
                times["new"].append(seconds(lambda: ulpscope.quantize(x, format_, rounding)))
            assert numpy.array_equal(out.view(numpy.uint32), theirs.view(numpy.uint32))
            c_, mine, new = (1e3 * statistics.median(times[k]) for k in ("c", "out", "new"))
            cast = (
                f"{1e3 * seconds(lambda: x.astype(numpy.float16).astype(numpy.float32)):8.1f}"
                if format_ == "float16"
                else ""
            )
            print(f"{format_ + ' ' + rounding:32}{c_:8.1f}{mine:8.1f}{mine / c_:8.3f}{new:8.1f}{cast}")
    small = x[:1].copy()
    each = min(seconds(lambda: [ulpscope.quantize(small, "float16", out=small) for _ in range(1000)]) for _ in range(5))
    print(f"one element: {1e3 * each:.1f} us")


if __name__ == "__main__":
    main(*sys.argv[1:])
