"""On a CUDA device: what the kernels count, against torch's operations and the host; and what it costs, against a copy.

    PYTHONPATH=build/release/python python3 tests/device/measure_counting.py [--check]

--check compares only, which is what compute-sanitizer can be asked to watch. Prints a table, and ends with 1 where anything differs.
"""

import statistics
import sys
import time

import torch

from ulpscope._counting.on_device import table_of_entries, to_host, vector_of_bits
from ulpscope._counting.tables import as_compiled, payloads_of, summaries_of
from ulpscope._counting.types import TYPES
from ulpscope._device import counting, driver

DEVICE = torch.device("cuda", torch.cuda.current_device())
wrong = 0


def places_of(tensors):
    return [(t.data_ptr(), t.numel(), TYPES[str(t.dtype)[6:]].number) for t in tensors]


def counted(tensors, sums):
    return counting.start(places_of(tensors), sums, DEVICE.index).tables()


def by_torch(tensors, sums):
    tables = []
    for t in tensors:
        of = TYPES[str(t.dtype)[6:]]
        vector = vector_of_bits(t.flatten().view(getattr(torch, f"int{of.bits}")), of, sums)
        ((at, counts),) = to_host([vector])
        tables.append(as_compiled(table_of_entries(at, counts, of, t.numel(), sums)))
    return tables


def bytes_of(tables, tensors):
    numbers = [TYPES[str(t.dtype)[6:]].number for t in tensors]
    return payloads_of(tables), summaries_of(tables, list(range(len(tables))), numbers, [1.0] * len(tables))


def check(name, tensors, sums):
    global wrong
    same = bytes_of(counted(tensors, sums), tensors) == bytes_of(by_torch(tensors, sums), tensors)
    wrong += not same
    print(f"{'equal' if same else 'DIFFER'}: {name}, {len(tensors)} tensors, sums={sums}", flush=True)


def milliseconds(what, n=20):
    for _ in range(3):
        what()
    times = []
    for _ in range(n):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        what()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


class Again:
    """The launches alone, of tensors that were described once."""

    def __init__(self, tensors, sums):
        places, self.stream = places_of(tensors), driver.stream(0)
        self.plan = counting.plan_of(tuple((n, t) for _, n, t in places), sums, DEVICE.index, counting.ROOM)
        self.host = counting.pool.take(8 * self.plan.host_words)
        self.memory = driver.memory(8 * self.plan.device_words)
        tables = counting.tables_for(DEVICE.index, self.stream, max(16, self.plan.table_bytes))
        self.plan.describe(counting.as_host_array([p for p, *_ in places]), self.host.address, self.memory.data_ptr(), tables)

    def __call__(self):
        at = self.memory.data_ptr()
        driver.copy_to_device(at, self.host.address, 8 * len(self.plan.described), self.stream)
        self.plan.launch(at, DEVICE.index, self.stream)
        if self.carried:
            self.plan.carry(at, self.host.address, DEVICE.index, self.stream)

    carried = False


def gpt2(dtype, generator):
    """Of its shapes, with magnitudes as gradients have them: normal, by tensor and element of several binades."""
    block = [(768,), (768,), (2304, 768), (2304,), (768, 768), (768,), (768,), (768,), (3072, 768), (3072,), (768, 3072), (768,)]
    shapes = [(50257, 768), (1024, 768), *12 * block, (768,), (768,)]
    for i, shape in enumerate(shapes):
        spread = torch.exp2(2 * torch.randn(shape, device=DEVICE, generator=generator))
        yield (torch.randn(shape, device=DEVICE, generator=generator) * spread * 2.0 ** -(8 + i % 9)).to(dtype)


def main():
    generator = torch.Generator(DEVICE).manual_seed(5)
    print(torch.cuda.get_device_name(), torch.__version__, "compiled" if counting.compiled else "python")
    begin = time.perf_counter()
    tensors = list(gpt2(torch.float32, generator))
    counted(tensors[1:2], False)
    print(f"first use {time.perf_counter() - begin:.2f} s")
    for sums in False, True:
        check("float32, GPT-2", tensors[2:8] if "--check" in sys.argv else tensors[:30], sums)
        for name, of in TYPES.items():
            if hasattr(torch, name):
                every = getattr(torch, f"int{of.bits}")
                raw = [
                    torch.randint(0, 256, (n * of.bits // 8 + 64,), dtype=torch.uint8, device=DEVICE, generator=generator)
                    for n in (1, 5, 1000, 32767, 32768, 65529, 131073, *([] if "--check" in sys.argv else [1 << 20, 3000017]))
                ]
                views = [t.view(every)[i % 5 :].view(getattr(torch, name)) for i, t in enumerate(raw)]
                views.append(torch.zeros(300000, dtype=every, device=DEVICE).view(getattr(torch, name)))
                check(f"{name}, random bits", views, sums)
    if "--check" in sys.argv:
        print("all equal" if wrong == 0 else f"{wrong} DIFFER")
        return wrong > 0
    print("\n            ms    x copy")
    flat, n = torch.cat([t.flatten() for t in tensors]), sum(t.numel() for t in tensors)
    other = torch.empty_like(flat)
    copy = milliseconds(lambda: other.copy_(flat))
    print(f"copy, float32 {n}: {copy:.3f}")
    for overhead in 1 << 12, 1 << 13, 1 << 14:
        for sums in False, True:
            for threads in (512, 384, 256) if not sums else (768, 512):
                counting.OVERHEAD = overhead
                counting.THREADS[32] = counting.THREADS_WITH_SUMS[32] = threads
                counting.plan_of.cache_clear()
                took = milliseconds(Again(tensors, sums))
                print(f"float32 overhead {overhead} threads {threads} sums={sums}: {took:.3f} {took / copy:.2f}", flush=True)
    counting.THREADS[32], counting.THREADS_WITH_SUMS[32], counting.OVERHEAD = 512, 768, 1 << 13
    counting.plan_of.cache_clear()
    again = Again(tensors, False)
    again.carried = True
    print(f"float32 carried too: {milliseconds(again) / copy:.2f}")
    zeros = [torch.zeros_like(t) for t in tensors]
    print(f"zeros: {milliseconds(Again(zeros, False)) / copy:.2f}; one value: {milliseconds(Again([z + 1 for z in zeros], False)) / copy:.2f}")
    for dtype in torch.float16, torch.bfloat16, torch.float8_e5m2, torch.float64:
        some = [t.to(dtype) for t in tensors]
        flat_some = torch.cat([t.flatten().view(torch.uint8) for t in some])
        other = torch.empty_like(flat_some)
        its = milliseconds(lambda: other.copy_(flat_some))
        again = Again(some, False)
        took = milliseconds(again)
        again.carried = True
        print(f"{dtype}: {took:.3f} {took / its:.2f}, carried too {milliseconds(again):.3f} (its copy {its:.3f})", flush=True)
    small = [torch.randn(1000, device=DEVICE, generator=generator) for _ in range(3000)]
    for sums in False, True:
        print(f"3000 x 1000 sums={sums}: {milliseconds(Again(small, sums)):.3f} ms")
    for what, of in ("148", tensors), ("3000", small):
        for sums in False, True:
            counted(of, sums)
            host, whole, parse = [], [], []
            for _ in range(10):
                torch.cuda.synchronize()
                a = time.perf_counter()
                started = counting.start(places_of(of), sums, DEVICE.index)
                b = time.perf_counter()
                torch.cuda.synchronize()
                c = time.perf_counter()
                started.tables()
                d = time.perf_counter()
                host.append(b - a), whole.append(c - a), parse.append(d - c)
            took = (1e3 * statistics.median(t) for t in (host, whole, parse))
            print(f"{what} sums={sums}: host %.2f ms until enqueued, %.2f until counted, then %.2f for tables" % tuple(took))
    print(f"memory on the device {torch.cuda.memory_allocated() >> 20} MiB, of it tables {sum(t.numel() for t in counting.tables_on.values()) >> 20}")
    print("all equal" if wrong == 0 else f"{wrong} DIFFER")
    return wrong > 0


sys.exit(main())
