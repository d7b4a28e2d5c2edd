"""On a CUDA device: quantize, encode, decode and outcomes of tensors there equal those of the same tensors on the host, bit for bit,
and how fast they are beside a copy. Run as

    PYTHONPATH=build/release/python python3 tests/device/quantize_device.py [--seconds 100]

All 2^32 floats are compared for four formats in six roundings, as many parts of them as the seconds allow, which the table says. Exit
code 1 where anything differs, 77 without a device.
"""

import argparse
import itertools
import statistics
import sys
import time
import traceback

try:
    import torch

    if not torch.cuda.is_available():
        raise ImportError("torch finds no CUDA device")
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

import ulpscope
from ulpscope import _core
from ulpscope._device import rounding

FORMATS = ("float16", "bfloat16", "cbfloat16", "float8_e4m3fn")
ROUNDINGS = ("nearest-even", "nearest-away", "toward-zero", "toward-positive", "toward-negative", "to-odd")
PART = 1 << 26
ROWS = []
FAILED = []


def bits(x):
    return x.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()])


def compare(what, x, got, expected):
    """x, got: on the device; expected: on the host."""
    expected = expected.to(got.device, non_blocking=True)
    if torch.equal(bits(got), bits(expected)):
        return
    wrong = (bits(got) != bits(expected)).reshape(-1).nonzero().reshape(-1)
    shown = [
        tuple(hex(bits(t).reshape(-1)[i].item() & (1 << 8 * t.element_size()) - 1) for t in (x, got, expected)) for i in wrong[:3]
    ]
    FAILED.append(what)
    print(f"DIFFERS: {what}: {len(wrong)} of {got.numel()}, the first as (element, here, host): {shown}", flush=True)


def both(function, x, *arguments, **how):
    """On x, which is on the host, and on its copy on the device."""
    expected, there = function(x, *arguments, **how), x.cuda()
    compare(f"{function.__name__} {x.dtype} {arguments} {how}", there, function(there, *arguments, **how), expected)


def all_floats(seconds):
    """Parts from all over, so that few of them still meet every exponent of one sign."""
    end, parts = time.monotonic() + seconds, (1 << 32) // PART
    order = sorted(range(parts), key=lambda i: int(f"{i:06b}"[::-1], 2))
    made, here = torch.empty(PART, device="cuda"), torch.empty(PART, pin_memory=True)
    done = 0
    for part in order:
        if time.monotonic() > end:
            break
        first = part * PART - (1 << 32 if part * PART >= 1 << 31 else 0)
        codes = torch.arange(first, first + PART, dtype=torch.int32)
        x, there = codes.view(torch.float32), codes.cuda().view(torch.float32)
        for format, way in itertools.product(FORMATS, ROUNDINGS):
            ulpscope.quantize(there, format, way, out=made)
            ulpscope.quantize(x, format, way, out=here)
            compare(f"{format} {way} part {part}", there, made, here)
        done += 1
    ROWS.append(("floats compared", f"{done} of {parts} parts of 2^26, {len(FORMATS)} formats, {len(ROUNDINGS)} roundings"))
    if done < parts:
        FAILED.append("not all floats were compared in time")


def drawn(size):
    """As many bit patterns as values near the formats' numbers."""
    draw = torch.Generator(device="cuda").manual_seed(1)
    codes = torch.randint(-(1 << 31), 1 << 31, (size,), generator=draw, device="cuda", dtype=torch.int64).int()
    near = torch.randn(size, generator=draw, device="cuda")
    near *= torch.exp2(torch.randint(-45, 20, (size,), generator=draw, device="cuda").float())
    return torch.where(torch.arange(size, device="cuda") % 2 == 0, codes.view(torch.float32), near)


def stochastic(size):
    there = drawn(size)
    x, made, here = there.cpu(), torch.empty_like(there), torch.empty(size, pin_memory=True)
    for format, n in itertools.product(FORMATS, (1, 8, 16)):
        how = dict(bits=n, seed=0x123456789ABCDEF0 + n, stream=7, index=(1 << 32) - 777 if format == "float16" else 0)
        ulpscope.quantize(there, format, "stochastic", out=made, **how)
        ulpscope.quantize(x, format, "stochastic", out=here, **how)
        compare(f"{format} stochastic {n} bits", there, made, here)
    ROWS.append(("stochastic compared", f"{size} floats, {len(FORMATS)} formats, 1, 8 and 16 bits"))


def the_rest(size):
    x = drawn(size).cpu()
    formats = ("float8_e5m2", "float8_e4m3fnuz", "dlfloat16", "float4_e2m1", "float8_e8m0", "tf32", "float32", "e7m10,bias=110")
    for format in (*FORMATS, *formats):
        for way in ("nearest-even", "to-odd", "toward-negative", "sr:A,bits=32", "sr:B,bits=7", "sr:C,bits=11"):
            both(ulpscope.quantize, x, format, way)
        for more in ({"saturate": True}, {"saturate": "finite"}, {"ftz": "before"}, {"ftz": "after"}, {"ftz": "result"}, {"daz": True},
                     {"scale": 2.0**-9}, {"scale": 1e-3}):  # fmt: skip
            both(ulpscope.quantize, x, format, **more)
            both(ulpscope.quantize, x, format, "sr", bits=9, **more)
        both(ulpscope.quantize, x[: size // 8], format, "sr", bits="all")
        both(ulpscope.encode, x, format)
        if ulpscope.outcomes(x, format, "sr") != ulpscope.outcomes(x.cuda(), format, "sr"):
            FAILED.append(f"outcomes {format}")
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        both(ulpscope.quantize, x.to(dtype), "float8_e4m3fn")
        both(ulpscope.quantize, x.to(dtype), "float8_e4m3fn", "sr", bits=16)
        both(ulpscope.encode, x.to(dtype), "bfloat16")
    both(ulpscope.decode, torch.arange(1 << 16, dtype=torch.int32), "cbfloat16")
    for n in (0, 1, 3, 255, 257, 4099):
        for begin in (0, 1, 4):
            both(ulpscope.quantize, x[begin : begin + n], "float16")
            both(ulpscope.quantize, x[begin : begin + n], "float16", "sr", bits=8, index=begin)
    plane = x[: 300 * 400].view(300, 400)
    for view in (plane.t(), plane[::3, 1::2], plane[:1].expand(5, 400)):
        both(ulpscope.quantize, view, "float16", "sr", bits=8)
        both(ulpscope.quantize, view, "float16")
    try:
        ulpscope.decode(torch.tensor([1, 64], device="cuda"), "e3m2")
        FAILED.append("64 was taken for a code of e3m2")
    except ValueError:
        pass
    source, expected = x.cuda(), ulpscope.quantize(x, "float16")
    there = torch.zeros_like(source)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(10_000_000)
        there.copy_(source)
        ulpscope.quantize(there, "float16", out=there)
    side.synchronize()
    compare("in place, on another stream", source, there, expected)
    graph, there = torch.cuda.CUDAGraph(), torch.zeros_like(there)
    with torch.cuda.graph(graph):
        made = ulpscope.quantize(there, "float16")
    there.copy_(x)
    graph.replay()
    compare("in a graph", there, made, expected)
    ROWS.append(("other formats, roundings, types, functions", f"{size} floats each"))


def operator(size):
    """ulpscope.torch, compiled without a break."""
    import ulpscope.torch as rounded

    def loss(x, way, stream, gradient):
        y = rounded.quantize(x * 2, "float16", way, bits=8 if way == "sr" else None, stream=stream, gradient=gradient)
        return (y * 3).sum(), y

    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    for way, gradient in itertools.product(("rne", "sr"), rounded.GRADIENTS):
        for stream in (1, 2, 77):
            results = []
            for function in (loss, compiled):
                x = drawn(size).nan_to_num(0, 1, -1).requires_grad_()
                total, y = function(x, way, stream, gradient)
                total.backward()
                results.append((y.detach(), x.grad))
            for got, expected in zip(results[1], results[0]):
                compare(f"compiled {way} {gradient}", x.detach(), got, expected.cpu())
            how = {"bits": 8, "stream": stream} if way == "sr" else {}
            compare(f"operator {way}", x.detach(), results[0][0], ulpscope.quantize((x.detach() * 2).cpu(), "float16", way, **how))
    ROWS.append(("ulpscope.torch.quantize, eager and compiled", f"{size} floats"))


def speed(size):
    x = torch.randn(size, device="cuda") * 2.0**-8
    out = torch.empty_like(x)

    def timed(work, calls=10, times=11):
        """Of one call."""
        marks = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(times + 1)]
        for begin, end in marks:
            begin.record()
            for _ in range(calls):
                work()
            end.record()
        torch.cuda.synchronize()
        return statistics.median(begin.elapsed_time(end) for begin, end in marks[1:]) / calls

    copy = timed(lambda: out.copy_(x))
    ROWS.append((f"a copy of {size} floats", f"{copy:.3f} ms, {8 * size / copy / 1e9:.2f} TB/s"))
    usual = rounding.BLOCKS
    cases = [("float16", way, {}) for way in ROUNDINGS] + [("bfloat16", ROUNDINGS[0], {}), ("float8_e4m3fn", ROUNDINGS[0], {})]
    cases += [(format, "stochastic", {"bits": n}) for format in ("float16", "bfloat16") for n in (8, 16, 32)]
    for format, way, how in cases:
        ratios = []
        for blocks in (usual, 3, 6, 12, 64, 1 << 20):
            rounding.BLOCKS = blocks
            rounding._most_blocks.cache_clear()
            ratios.append(copy / timed(lambda: ulpscope.quantize(x, format, way, out=out, **how)))
        more = ", ".join(f"{r:.2f}" for r in ratios[1:])
        ROWS.append((f"{format} {way} {how.get('bits', '')}".rstrip(), f"{ratios[0]:.3f} x copy  (blocks a processor 3, 6, 12, 64, all: {more})"))
    rounding.BLOCKS = usual
    rounding._most_blocks.cache_clear()
    slow = timed(lambda: ulpscope.quantize(x, "float8_e4m3fnuz", out=out), 2, 3)
    ROWS.append(("float8_e4m3fnuz nearest-even, by the codec", f"{copy / slow:.3f} x copy"))
    counted = timed(lambda: ulpscope.outcomes(x, "float16"), 2, 3)
    ROWS.append(("outcomes float16, by the codec", f"{copy / counted:.3f} x copy"))
    small = torch.zeros(1000, device="cuda")
    begin = time.perf_counter()
    for _ in range(1000):
        ulpscope.quantize(small, "float16", out=small)
    ROWS.append(("a call's own time", f"{1e3 * (time.perf_counter() - begin):.1f} us"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=100, help="for all floats")
    seconds = parser.parse_args().seconds
    for name, check in {
        "first call": lambda: ulpscope.quantize(torch.zeros(1000, device="cuda"), "float16"),
        "speed": lambda: speed(1 << 26),
        "the rest": lambda: the_rest(1 << 18),
        "operator": lambda: operator(1 << 16),
        "stochastic": lambda: stochastic(1 << 28),
        "all floats": lambda: all_floats(seconds),
    }.items():
        begin = time.monotonic()
        try:
            check()
            torch.cuda.synchronize()
        except Exception as problem:
            traceback.print_exc()
            FAILED.append(f"{name}: {problem!r}")
        ROWS.append((f"  took: {name}", f"{time.monotonic() - begin:.1f} s"))
        print(*ROWS[-1], flush=True)
    print(f"\n{torch.cuda.get_device_name()}, torch {torch.__version__}, host {_core.targets()[-1]}")
    for what, result in ROWS:
        print(f"{what:44} {result}")
    print("FAILED: " + "; ".join(FAILED[:20]) if FAILED else "all equal")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
