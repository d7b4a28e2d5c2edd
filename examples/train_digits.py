"""Trains a small convolutional network on scikit-learn's handwritten digits, and records its gradients.

    python3 examples/train_digits.py digits.ulp [--steps 800] [--every 1]

Needs torch and scikit-learn (Debian: python3-torch, python3-sklearn). Deterministic on one machine; another processor
or BLAS rounds otherwise.
"""

import argparse
import os
import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from ulp_recorder import Recorder  # noqa: E402


class Network(nn.Module):
    """Three convolutions with batch normalisation, two linear layers; 40,506 parameters."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32)
        self.conv3, self.bn3 = nn.Conv2d(32, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64)
        self.fc1, self.fc2 = nn.Linear(256, 64), nn.Linear(64, 10)

    def forward(self, images):
        x = functional.relu(self.bn1(self.conv1(images)))
        x = functional.max_pool2d(functional.relu(self.bn2(self.conv2(x))), 2)
        x = functional.max_pool2d(functional.relu(self.bn3(self.conv3(x))), 2)
        return self.fc2(functional.relu(self.fc1(x.flatten(1))))


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
    parser.add_argument("--steps", type=int, default=800)
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
    data = batches(images[training], labels[training], 64, torch.Generator().manual_seed(0))

    with Recorder(options.output, model, every=options.every, activations="^(conv|fc)", roles="autocast") as recorder:
        for step in range(options.steps):
            x, y = next(data)
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(x), y)
            loss.backward()
            norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
            recorder.step(step, loss=loss, loss_scale=1, grad_norm=norm, lr=0.05)
            optimizer.step()

    model.eval()
    with torch.no_grad():
        right = (model(images[held_out]).argmax(1) == labels[held_out]).float().mean()
    print(f"{options.output}: {options.steps} steps, loss {loss:.3g}, {100 * right:.1f} % of other images right")


if __name__ == "__main__":
    main()
