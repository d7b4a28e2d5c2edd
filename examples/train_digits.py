"""Trains a small convolutional network on scikit-learn's handwritten digits as in float16 with dynamic loss scaling, and
records its gradients.

    python3 examples/train_digits.py digits.ulp [--steps 250] [--every 1]

Needs torch and scikit-learn (Debian: python3-torch, python3-sklearn), no GPU: float16 is what convolutions and linear
layers take and give, forward and backward, while sums in them, batch normalisation and the loss are float32, as under
autocast. Deterministic on one machine; another processor rounds sums in another order.
"""

import argparse
import os
import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from ulpscope import Recorder  # noqa: E402


def float16(x):
    """Rounded to float16; so is the gradient on its way back, which may overflow or vanish there."""
    return x.half().float()


class Convolution(nn.Conv2d):
    def forward(self, images):
        return functional.conv2d(float16(images), float16(self.weight), padding=1)


class Linear(nn.Linear):
    def forward(self, x):
        return functional.linear(float16(x), float16(self.weight), float16(self.bias))


class Network(nn.Module):
    """Two convolutions with batch normalisation and a linear layer; 6,138 parameters."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = Convolution(1, 16, 3, bias=False), nn.BatchNorm2d(16)
        self.conv2, self.norm2 = Convolution(16, 32, 3, bias=False), nn.BatchNorm2d(32)
        self.fc = Linear(128, 10)

    def forward(self, images):
        x = functional.max_pool2d(functional.relu(self.norm1(float16(self.conv1(images)))), 2)
        x = functional.max_pool2d(functional.relu(self.norm2(float16(self.conv2(x)))), 2)
        return float16(self.fc(x.flatten(1)))


class Scaler:
    """torch.cuda.amp.GradScaler's rule, for the CPU."""

    def __init__(self, scale, growth_interval):
        self.scale, self.growth_interval, self.good = scale, growth_interval, 0

    def update(self, found_inf):
        self.good = 0 if found_inf else self.good + 1
        if found_inf:
            self.scale *= 0.5
        elif self.good == self.growth_interval:
            self.scale, self.good = 2 * self.scale, 0


def batches(images, labels, size, generator):
    """Endless; shuffled anew each time around."""
    while True:
        order = torch.randperm(len(images), generator=generator)
        for begin in range(0, len(order) - size + 1, size):
            chosen = order[begin : begin + size]
            yield images[chosen], labels[chosen]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", help="the recording to write")
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--every", type=int, default=1, help="record each such step")
    options = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)  # the order of sums, and so the last bits, depend on it
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    training, held_out = slice(0, 1437), slice(1437, None)
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scaler = Scaler(2.0**16, growth_interval=20)
    data = batches(images[training], labels[training], 64, torch.Generator().manual_seed(0))

    # What the modules put out is float16 in all but type here, so the roles are said. Equal runs get equal names.
    roles = {"^(conv|fc)": "low", "^norm": "float32"}
    with Recorder(
        options.output, model, every=options.every, sums=True, activations="^(conv|fc)", roles=roles, run_id="digits"
    ) as recorder:
        for step in range(options.steps):
            x, y = next(data)
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(x), y)
            (loss * scaler.scale).backward()
            gradients = [p.grad for p in model.parameters()]
            found_inf = not all(bool(g.isfinite().all()) for g in gradients)
            norm = None if found_inf else torch.stack([g.norm() for g in gradients]).norm() / scaler.scale
            recorder.step(
                step, loss=loss, loss_scale=scaler.scale, grad_norm=norm, lr=0.05, found_inf=found_inf, applied=not found_inf
            )
            if not found_inf:
                for g in gradients:
                    g.div_(scaler.scale)
                optimizer.step()
            scaler.update(found_inf)

    model.eval()
    with torch.no_grad():
        right = (model(images[held_out]).argmax(1) == labels[held_out]).float().mean()
    print(f"{options.output}: {options.steps} steps, loss {loss:.3g}, {100 * right:.1f} % of other images right")


if __name__ == "__main__":
    main()
