"""What recording costs a training step on the CPU: a transformer of 10 million parameters, 256 tokens, Adam.

    python3 tests/bench/recorder_bench.py [STEPS [WAY...]]

Prints the time of ulp_recorder's step() beside that of the training step, for each way to count. One step in two is
recorded, so that both are measured in one run under the same conditions, with one thread; each ratio is of the medians of
the process's time, and in brackets of the minima, which other work on the machine disturbs less. How fast torch's BLAS
is decides most of it: Debian's torch takes OpenBLAS where libopenblas0-pthread is installed, else one that is twenty
times slower.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

WAYS = {
    "counts, numpy": dict(numpy=True, every=1, sums=False),
    "counts, torch alone": dict(numpy=False, every=1, sums=False),
    "sums every 10th step, numpy": dict(numpy=True, every=10, sums=True),
    "sums every 10th step, torch alone": dict(numpy=False, every=10, sums=True),
}


def measure(name, steps):
    way = WAYS[name]
    if not way["numpy"]:
        sys.modules["numpy"] = None
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../python"))
    import torch
    from torch import nn

    from ulp_recorder import Recorder

    torch.set_num_threads(1)
    torch.manual_seed(0)
    width, vocabulary, length = 320, 256, 64
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.Sequential(
        nn.Embedding(vocabulary, width), nn.TransformerEncoder(layer, 8), nn.Linear(width, vocabulary)
    )
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    tokens = torch.randint(0, vocabulary, (4, length + 1))
    training, recording = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.ulp")
        with Recorder(path, model, sums=way["sums"], strict=True) as recorder:
            for i in range(2 * steps + 2):
                start = time.process_time()
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
                loss.backward()
                between = time.process_time()
                if i % 2 == 1:
                    recorder.step(i, loss=loss, loss_scale=1)
                after = time.process_time()
                optimizer.step()
                if i < 2:  # what is made once
                    continue
                training.append(time.process_time() - after + between - start)
                if i % 2 == 1:
                    recording.append(after - between)
        size = os.path.getsize(path) / (steps + 1)
    tensors = sum(1 for _ in model.parameters())
    parameters = sum(p.numel() for p in model.parameters())
    median, least = (100 * of(recording) / way["every"] / of(training) for of in (statistics.median, min))
    print(
        f"{name:34} {median:5.1f} % of {1e3 * statistics.median(training):.0f} ms ({least:.1f} % of {1e3 * min(training):.0f} ms),"
        f" {size / 1e3:.0f} kB a recorded step, {parameters:,} parameters, {tensors} tensors",
        flush=True,
    )


if __name__ == "__main__":
    steps, *names = sys.argv[1:] or ["15"]
    if len(names) == 1:
        measure(names[0], int(steps))
    else:
        for name in names or WAYS:
            subprocess.run([sys.executable, "-W", "ignore", __file__, steps, name], check=True)
