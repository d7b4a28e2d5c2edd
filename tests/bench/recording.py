"""`ulp record` on one float32 safetensors file beside numpy's equivalent and a plain sum, in one run.

    python3 tests/bench/recording.py build/release/cli/ulp [FOLDER]

FOLDER, 300 MB free, is best a file system in memory. Medians of seven; one thread is one processor (taskset).
"""

import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy

ELEMENTS = 1 << 26


def gradients():
    random = numpy.random.default_rng(1)
    part = random.standard_normal(1 << 20, dtype=numpy.float32)
    part *= numpy.exp2(-10 + 3 * random.standard_normal(part.size, dtype=numpy.float32))
    part[random.integers(0, 20, part.size) == 0] = 0
    return numpy.tile(part, ELEMENTS // part.size)


def safetensors(path, values):
    header = json.dumps({"g": {"dtype": "F32", "shape": [values.size], "data_offsets": [0, values.nbytes]}}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        values.tofile(file)


def numpy_equivalent(values):
    """What a cell table has: counts by cell, exact sums of significands and of their squares by binade, extremes."""
    for chunk in numpy.array_split(values, values.size >> 19):
        bits = chunk.view(numpy.uint32)
        binade = (bits >> 23).astype(numpy.int64)
        fraction = bits & 0x7FFFFF
        rest = 0x7FFFFF - fraction
        ones = numpy.minimum(149 - (rest.astype(numpy.float32).view(numpy.uint32) >> 23), 12)
        cell = 2 * ones + ((rest & (rest + 1)) != 0)
        cell += 22 * ((fraction >= 0x680000) & (fraction < 0x700000)).astype(numpy.uint32)
        cell -= fraction == 0x680000
        numpy.bincount(binade * 32 + cell, minlength=1 << 14)
        significand = (fraction | 0x800000).astype(numpy.uint64)
        square = significand * significand
        # Of so many values sums of up to 34 bits each are exact in float64.
        for part in (significand, square & 0xFFFFFF, square >> 24):
            numpy.bincount(binade, weights=part, minlength=512)
        magnitude = bits & 0x7FFFFFFF
        magnitude.max()
        (magnitude - 1).min()
        numpy.count_nonzero(magnitude > 0x7F800000)


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    ulp, folder = os.path.abspath(sys.argv[1]), (sys.argv[2:] + [None])[0]
    values = gradients()
    with tempfile.TemporaryDirectory(dir=folder) as place:
        dump = os.path.join(place, "step1.safetensors")
        safetensors(dump, values)

        def record(prefix):
            out = os.path.join(place, "run.ulp")
            subprocess.run([*prefix, ulp, "record", dump, "-o", out], check=True, stdout=subprocess.DEVNULL)
            os.remove(out)

        work = {
            "plain sum": lambda: values.view(numpy.uint32).sum(dtype=numpy.uint32),
            "numpy": lambda: numpy_equivalent(values),
            "record, 1 processor": lambda: record(["taskset", "-c", "0"]),
            "record, 2 processors": lambda: record(["taskset", "-c", "0,1"]),
        }
        times = {name: [] for name in work}
        for _ in range(7):
            for name, one in work.items():
                times[name].append(timed(one))
    median = {name: statistics.median(of) for name, of in times.items()}
    for name, seconds in median.items():
        print(f"{name:22} {ELEMENTS / seconds / 1e9:6.3f} G elements/s, {median['plain sum'] / seconds:6.3f} of the plain sum")
    one = median["record, 1 processor"]
    print(f"2 processors / 1: {one / median['record, 2 processors']:.2f}; record / numpy: {median['numpy'] / one:.1f}")


main()
