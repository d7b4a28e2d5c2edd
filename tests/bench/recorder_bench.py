"""What recording costs a training step on the CPU: a transformer of 10 million parameters, 256 tokens, Adam.

    python3 tests/bench/recorder_bench.py [STEPS [WAY...]]

Two equal models are trained in turns, one of them with a Recorder that records each step; with one thread, in the process's
time. For each way to count: how much longer a step with it takes, and in brackets what of that is spent in step(), the rest
being hooks; of medians. ULP_PACKAGES is the folder that has the package, by default build/release/python. How fast torch's
BLAS is decides most of it: Debian's torch takes OpenBLAS where libopenblas0-pthread is installed, else one that is twenty
times slower.

    python3 tests/bench/recorder_bench.py tensors

prints what a step() of 3000 parameters of one element takes, per parameter.

    ULP_EMULATED_COUNTING=build/release/tests/device/libdevice_counting_emulated.so python3 tests/bench/recorder_bench.py device [TENSORS]

prints what the host spends in a step() whose gradients are on a CUDA device, which is emulated: what kernels take is left out, and
so is what torch takes to tell where gradients are.
"""

import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.environ.get("ULP_PACKAGES", os.path.join(HERE, "..", "..", "build", "release", "python"))
WAYS = {
    f"{what}, {how}": (without, what == "sums")
    for how, without in (("compiled", ()), ("numpy", ("ulpscope._core",)), ("torch alone", ("ulpscope._core", "numpy")))
    for what in ("counts", "sums")
}


class Training:
    def __init__(self, torch):
        self.torch = torch
        torch.manual_seed(0)
        width, vocabulary, length = 320, 256, 64
        layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.model = torch.nn.Sequential(
            torch.nn.Embedding(vocabulary, width),
            torch.nn.TransformerEncoder(layer, 8),
            torch.nn.Linear(width, vocabulary),
        )
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-3)
        self.tokens = torch.randint(0, vocabulary, (4, length + 1))

    def step(self, before=lambda loss: None):
        """The process's time of a step, and what of it `before` the optimizer's step took."""
        start = time.process_time()
        self.optimizer.zero_grad()
        output = self.model(self.tokens[:, :-1]).flatten(0, 1)
        loss = self.torch.nn.functional.cross_entropy(output, self.tokens[:, 1:].flatten())
        loss.backward()
        begin = time.process_time()
        before(loss)
        end = time.process_time()
        self.optimizer.step()
        return time.process_time() - start, end - begin


def measure(name, steps):
    without, sums = WAYS[name]
    sys.modules.update({module: None for module in without})
    sys.path.insert(0, PACKAGES)
    import torch

    from ulpscope import Recorder

    torch.set_num_threads(1)
    plain, recorded = Training(torch), Training(torch)
    times = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.ulp")
        with Recorder(path, recorded.model, sums=sums, strict=True) as recorder:
            for i in range(steps + 2):
                alone, _ = plain.step()
                times.append((alone, *recorded.step(lambda loss: recorder.step(i, loss=loss, loss_scale=1))))
        size = os.path.getsize(path) / (steps + 2)
    alone, together, within = (statistics.median(of) for of in zip(*times[2:]))  # without what is made once
    parameters = sum(p.numel() for p in plain.model.parameters())
    print(
        f"{name:20} {100 * (together / alone - 1):5.1f} % of {1e3 * alone:.0f} ms ({100 * within / alone:.1f} %), "
        f"{size / 1e3:.0f} kB a step, {parameters:,} parameters, counted by {Recorder.counting}",
        flush=True,
    )


def measure_tensors():
    sys.path.insert(0, PACKAGES)
    import torch

    from ulpscope import Recorder

    model = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(1)) for _ in range(3000)])
    for parameter in model:
        parameter.grad = torch.randn(1)
    for sums in (False, True):
        times = []
        with tempfile.TemporaryDirectory() as folder, Recorder(os.path.join(folder, "run.ulp"), model, sums=sums) as recorder:
            for i in range(60):
                start = time.process_time()
                recorder.step(i, loss_scale=1)
                times.append(time.process_time() - start)
        print(f"sums={sums}: {1e6 * statistics.median(times[5:]) / 3000:.2f} us a tensor, counted by {Recorder.counting}")


def measure_device(tensors, elements=20000):
    sys.path.insert(0, os.path.join(HERE, "..", "python"))
    os.environ["ULP_PACKAGES"] = PACKAGES
    import emulated_device
    import support
    import torch

    recorder = support.load(part="_recorder.recorder")
    for part in ("_device.counting", "_counting.kernels", "_counting.on_host"):
        importlib.import_module(f"{recorder.__name__}.{part}")
    torch.set_num_threads(1)
    model = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(elements)) for _ in range(tensors)])
    for parameter in model:
        parameter.grad = torch.empty(elements)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    times = []
    with emulated_device.device(recorder, torch), tempfile.TemporaryDirectory() as folder:
        with recorder.Recorder(os.path.join(folder, "run.ulp"), model, optimizer=optimizer, strict=True) as rec:
            for i in range(200):
                for parameter in model:
                    parameter.grad.normal_()
                optimizer.step()  # in which the kernels run
                time.sleep(0.005)  # as long as a step takes, in which the tables are made
                start = time.perf_counter()
                rec.step(i, loss=torch.tensor(1.0))
                times.append(time.perf_counter() - start)
    median = 1e3 * statistics.median(times[110:])  # the first hundred are looked at for mistakes
    print(f"step() of {tensors} tensors: {median:.2f} ms of the host, counted by {rec.counting}")


if __name__ == "__main__":
    steps, *names = sys.argv[1:] or ["15"]
    if steps == "tensors":
        measure_tensors()
    elif steps == "device":
        measure_device(int(names[0]) if names else 148)
    elif len(names) == 1:
        measure(names[0], int(steps))
    else:
        for name in names or WAYS:
            subprocess.run([sys.executable, "-W", "ignore", __file__, steps, name], check=True)
