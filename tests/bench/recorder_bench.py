"""What recording costs a training step on the CPU: a transformer of 10 million parameters, 256 tokens, Adam.

    python3 tests/bench/recorder_bench.py [STEPS]

Prints the time of ulp_recorder's step() beside that of the training step, in one run, for each way to count: medians of
the process's time. How fast torch's BLAS is decides most of the ratio.
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
        with Recorder(path, model, every=way["every"], sums=way["sums"]) as recorder:
            for i in range(steps * way["every"]):
                start = time.process_time()
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
                loss.backward()
                between = time.process_time()
                recorder.step(i, loss=loss, loss_scale=1)
                after = time.process_time()
                optimizer.step()
                training.append(time.process_time() - after + between - start)
                if i % way["every"] == 0:
                    recording.append(after - between)
        size = os.path.getsize(path) / len(recording)
    step, record = statistics.median(training), statistics.median(recording) / way["every"]
    tensors = sum(1 for _ in model.parameters())
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{name:34} {100 * record / step:5.1f} % of {1e3 * step:.0f} ms, {size / 1e3:.0f} kB a recorded step", end="")
    print(f" ({parameters:,} parameters, {tensors} tensors)")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(sys.argv[2], int(sys.argv[1]))
    else:
        for name in WAYS:
            subprocess.run([sys.executable, "-W", "ignore", __file__, *(sys.argv[1:] or ["15"]), name], check=True)
