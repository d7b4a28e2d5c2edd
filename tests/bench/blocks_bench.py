"""Block formats of 64 Mi floats: `ulpscope.quantize` beside microxcaling's PyTorch code and gfloat, in one run.

    PYTHONPATH=build/release/python python3 tests/bench/blocks_bench.py [FOLDER...]

The folders are those that `mx` (github.com/microsoft/microxcaling) and `gfloat` (github.com/graphcore-research/gfloat) are imported
from; one that is not there is left out, and said. Each gives float32 numbers of the format, on the processor, with as many threads
as it takes. The two are given less where they would take minutes: what is compared is the time for an element. microxcaling's result
is compared with that of its row.
"""

import statistics
import sys
import time

import numpy

import ulpscope

COLUMNS = 8192
ELEMENTS = 1 << 26


def nanoseconds(work, size, rounds):
    times = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return 1e9 * statistics.median(times[1:] if rounds > 1 else times) / size


def microxcaling(x, element):
    import torch
    from mx.mx_ops import quantize_mx_op

    part = torch.from_numpy(x[: len(x) // 16])
    specs = {"scale_bits": 8, "block_size": 32, "shared_exp_method": "max", "mx_flush_fp32_subnorms": False}
    specs |= {"custom_cuda": False}

    def work():
        return quantize_mx_op(part, specs, elem_format=element, axes=[-1], round="even")

    row = f"microxcaling_{element}_even"
    got, own = work().numpy(), ulpscope.quantize(part.numpy(), row)
    differing = numpy.count_nonzero(got.view(numpy.uint32) != own.view(numpy.uint32))
    return nanoseconds(work, part.numel(), 3), f"{differing} of {part.numel():,} differ from {row}"


def gfloat_blocks(x, name):
    import gfloat
    import gfloat.formats

    info = getattr(gfloat.formats, name)
    blocks = x.reshape(-1, info.k)[:256]

    def work():
        return [gfloat.quantize_block(info, block, gfloat.compute_scale_amax) for block in blocks]

    return nanoseconds(work, blocks.size, 3), ""


def main(folders):
    sys.path[:0] = folders
    random = numpy.random.default_rng(1)
    part = 1e-3 * random.standard_normal((1 << 20) // COLUMNS * COLUMNS, dtype=numpy.float32)
    x = numpy.tile(part, ELEMENTS // part.size).reshape(-1, COLUMNS)
    copied = numpy.empty_like(x)
    print(f"{ELEMENTS >> 20} Mi floats; nanoseconds an element")
    print(f"{'numpy.copyto':32}{nanoseconds(lambda: numpy.copyto(copied, x), x.size, 7):10.3f}")
    for name, element, block in [
        ("mxfp8", "fp8_e4m3", "format_info_mxfp8_e4m3"),
        ("mxfp4", "fp4_e2m1", "format_info_mxfp4_e2m1"),
        ("nvfp4", None, None),
        ("fp8_1x128", None, None),
    ]:
        print(f"{name:32}{nanoseconds(lambda: ulpscope.quantize(x, name), x.size, 5):10.3f}")
        for peer, work, key in [("microxcaling", microxcaling, element), ("gfloat", gfloat_blocks, block)]:
            if key is None:
                continue
            try:
                time_, said = work(x, key)
            except ImportError as error:
                print(f"  {peer}: {error}")
                continue
            print(f"{'  ' + peer + ' ' + key:32}{time_:10.3f}  {said}")


if __name__ == "__main__":
    main(sys.argv[1:])
