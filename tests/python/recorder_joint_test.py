"""Pins joint tables of the recorder to those that `ulp record --joint` makes of a dump of the same arrays."""

import os
import sqlite3
import subprocess
import tempfile
import unittest
import zlib

import support

support.need("numpy", "torch")

import numpy as np  # noqa: E402
import torch  # noqa: E402

recorder = support.load()


def contents(path):
    """Of joint tables, by step and the weights' name."""
    with sqlite3.connect(path) as db:
        names = dict(db.execute("SELECT id, name FROM tensor"))
        rows = db.execute("SELECT step, tensor, content FROM extra WHERE name='joint'")
        return {(step, names[tensor]): zlib.decompress(content[8:]) for step, tensor, content in rows}


def recorded(folder, dumps):
    """What the program makes of {file name: arrays}."""
    paths = [os.path.join(folder, name) for name in dumps]
    for path, arrays in zip(paths, dumps.values()):
        np.savez(path, **arrays)
    run = os.path.join(folder, "run.ulp")
    subprocess.run([support.ULP, "record", *paths, "--joint", "-o", run], check=True, capture_output=True)
    return contents(run)


class JointTables(unittest.TestCase):
    def test_adversarial_values_of_every_type(self):
        random = np.random.default_rng(1)
        arrays, expected = {}, {}
        for of_weights, of_updates in (("f4", "f4"), ("f2", "f4"), ("f8", "f8"), ("f8", "f4"), ("f4", "f8")):
            n = 20000
            w = np.ldexp(1 + random.integers(0, 2**12, n) / 2.0**12, random.integers(-160, 20, n))
            w *= random.choice([-1, 1, 1, 0], n)
            d = np.ldexp(random.choice([1, 1, 1.5, 1 + 2.0**-23, 2 - 2.0**-23, np.pi / 2], n), random.integers(-170, 20, n))
            d *= random.choice([-1, 1, 1, 0], n)
            with np.errstate(all="ignore"):
                w, d = w.astype(of_weights), d.astype(of_updates)
            w[:4], d[2:6] = [np.inf, np.nan, 1, -np.inf], [np.nan, np.inf, 0, -0.0]
            arrays |= {f"weight__{of_weights}{of_updates}": w, f"update__{of_weights}{of_updates}": d}
            expected[0, f"weight__{of_weights}{of_updates}"] = zlib.decompress(recorder.joint_content(w, d)[8:])
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(recorded(folder, {"step0.npz": arrays}), expected)

    def test_a_training(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.LayerNorm(40), torch.nn.Linear(40, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "job.ulp")
            dumps = {}
            with recorder.Recorder(path, model, optimizer=optimizer, joint=r"weight", strict=True) as rec:
                for step in range(3):
                    loss = model(torch.randn(8, 30)).square().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    before = {name: p.detach().numpy().copy() for name, p in model.named_parameters() if "weight" in name}
                    optimizer.step()
                    after = dict(model.named_parameters())
                    dumps[f"step{step}.npz"] = {f"weight__{name}": w for name, w in before.items()} | {
                        f"update__{name}": after[name].detach().numpy() - w for name, w in before.items()
                    }
                    rec.step(step, loss=loss)
            expected = {(step, name.replace("__", "/")): of for (step, name), of in recorded(folder, dumps).items()}
            self.assertEqual(contents(path), expected)
            subprocess.run([support.ULP, "check", path], check=True, capture_output=True)

    def test_it_needs_an_optimizer(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(recorder.RecorderError):
            recorder.Recorder(os.path.join(folder, "job.ulp"), torch.nn.Linear(2, 2), joint=".")


if __name__ == "__main__":
    unittest.main()
