"""PyTorch's GradScaler driven step by step beside this project's, in one run.

    python3 tests/bench/gradscaler.py build/release/tests/bench/scalers_bench

Without a GPU the class has no kernel for its update: then the call of it is left out, which favours PyTorch.
"""

import json
import subprocess
import sys
import time
import warnings

import torch
from torch.cuda.amp import grad_scaler

STEPS = 20_000


def scaler_with(device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CUDA is not there
        scaler = grad_scaler.GradScaler()
    if not scaler.is_enabled():
        enabled = grad_scaler.GradScaler.__new__(grad_scaler.GradScaler)
        enabled.__dict__.update(
            _enabled=True, _init_scale=65536.0, _scale=None, _growth_factor=2.0, _backoff_factor=0.5,
            _growth_interval=2000, _init_growth_tracker=0, _growth_tracker=None, _per_optimizer_states={})
        scaler = enabled
        torch._amp_update_scale_ = lambda *arguments: None
    scaler._lazy_init_scale_growth_tracker(device)
    return scaler


def steps_per_second():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    scaler = scaler_with(device)
    found_inf = torch.zeros(1, device=device)
    start = time.perf_counter()
    for _ in range(STEPS):
        scaler._per_optimizer_states[0] = {
            "stage": grad_scaler.OptState.UNSCALED, "found_inf_per_device": {device: found_inf}}
        scaler.update()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return STEPS / (time.perf_counter() - start)


def main():
    theirs = steps_per_second()
    bench = [sys.argv[1], "--benchmark_filter=pytorch_gradscaler/", "--benchmark_format=json"]
    ours = json.loads(subprocess.run(bench, check=True, capture_output=True, text=True).stdout)
    print(f"{'torch ' + torch.__version__:32} {theirs:14,.0f} steps/s")
    for row in ours["benchmarks"]:
        rate = row["items_per_second"]
        print(f"{row['name']:32} {rate:14,.0f} steps/s, {rate / theirs:,.0f} times")


main()
