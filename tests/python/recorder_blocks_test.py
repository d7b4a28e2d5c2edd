"""Pins block tables of the recorder to those that `ulp record --blocks` makes of a dump of the same arrays."""

import os
import sqlite3
import warnings
import zlib

import support

support.need("numpy", "torch")

import numpy as np  # noqa: E402
import torch  # noqa: E402

torch.zeros(1).numpy()  # torch looks once whether numpy is there
recorder = support.load()
without_numpy = support.load(without=("numpy", "ulpscope._core"))
BLOCKS = "32,16,128x128,3x5,1,65536x7"
EDGES = [1, 1.5, 1.75, 1.8125, 1.875, 1.9375, 1.96875, 2 - 2.0**-6, 2 - 2.0**-7, 2 - 2.0**-8, 2 - 2.0**-17, 2 - 2.0**-18]
EDGES += [of + step for of in EDGES for step in (-(2.0**-23), 2.0**-23) if 1 <= of + step < 2] + [2 - 2.0**-23]


def contents(path):
    """Of block tables, by step and name."""
    with sqlite3.connect(path) as db:
        names = dict(db.execute("SELECT id, name FROM tensor"))
        has_some = db.execute("SELECT 1 FROM sqlite_master WHERE name='extra'").fetchone()
        rows = db.execute("SELECT step, tensor, content FROM extra WHERE name='blocks'").fetchall() if has_some else []
    db.close()
    return {(step, names[tensor]): zlib.decompress(content[8:]) for step, tensor, content in rows}


def outcomes(path):
    """Of gradients, but for what a dump does not tell."""
    rows = support.json_of("outcomes", path, "--format", "mxfp8,mxfp4", "--by", "tensor", "--tensor", "^[02g]").rows
    return [{key: of for key, of in row.items() if key not in ("kind", "role", "scale")} for row in rows]


def numbers_at(edges, exponents, shape, random):
    with np.errstate(all="ignore"):
        signed = random.choice(edges, shape) * random.choice([-1, 1], shape)
        return np.ldexp(signed, random.integers(*exponents, shape)).astype("f4")


def adversarial():
    """Arrays by name."""
    random = np.random.default_rng(1)
    mixed = (random.standard_normal((50, 70)) * 1e-3).astype("f4")
    mixed[3, 4], mixed[10, 60], mixed[10, 61], mixed[20] = np.inf, np.nan, -np.inf, 0
    mixed[25] = 3e38 * np.sign(mixed[25])  # the end of float32
    mixed[26], mixed[27, ::2] = 2e-34, -1e-41
    return {
        "gradients": (random.standard_normal((300, 200)) * 1e-4).astype("f4"),
        "a_vector": (random.standard_normal(1000) * 1e-4).astype("f4"),
        "any_bits": random.integers(-(2**31), 2**31, (64, 96)).astype("i4").view("f4"),
        "edges": numbers_at(EDGES, (-149, 128), (200, 300), random),
        "near_each_other": numbers_at(EDGES, (-3, 3), (100, 100), random),
        "least": numbers_at(EDGES, (-149, -100), (64, 515), random),
        "greatest": numbers_at(EDGES[:2], (120, 128), (64, 33), random),
        "mixed": mixed,
        "zeros": np.zeros((5, 7), "f4"),
        "empty": np.zeros((0, 4), "f4"),
        "one": np.array([1.5], "f4"),
        "a_scalar": np.array(-1e-40, "f4"),
        "cube": random.standard_normal((3, 4, 5, 40)).astype("f4"),
        "halves": (random.standard_normal((40, 50)) * 1e-6).astype("f2"),
        "doubles": random.standard_normal((4, 5)),
        "large": (random.standard_normal((3000, 200)) * 1e-4).astype("f4"),
    }


class BlockTables(support.InFolder):
    def by_program(self, dumps, *options):
        """The recording that the program makes of {file name: arrays}."""
        for name, arrays in dumps.items():
            np.savez(self.path(name), **arrays)
        run = self.path("program.ulp")
        support.ulp("record", *map(self.path, dumps), "-o", run, "--blocks", BLOCKS, *options)
        return run

    def recorded(self, package, steps, blocks=BLOCKS, **options):
        """The recording that a Recorder makes of dictionaries of arrays."""
        run = self.path(f"{package.__name__}.ulp")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with package.Recorder(run, blocks=blocks, strict=True, **options) as rec:
                for i, grads in enumerate(steps):
                    rec.step(i, grads=grads, loss_scale=1)
        support.check(run)
        return run

    def test_adversarial_values_along_each_axis(self):
        arrays = adversarial()
        tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        for axis in ("last", "other", "both"):
            expected = contents(self.by_program({"step0.npz": arrays}, "--axis", axis, "--overwrite"))
            self.assertNotIn((0, "doubles"), expected)
            self.assertEqual(len(expected), len(arrays) - 1)
            for package, grads in ((recorder, arrays), (recorder, tensors), (without_numpy, tensors)):
                run = self.recorded(package, [grads], axis=axis)
                self.assertEqual(contents(run), expected)
                os.remove(run)

    def test_types_of_few_bits(self):
        """Of each all codes."""
        dumps = {
            "F16": torch.arange(-(1 << 15), 1 << 15).short().view(torch.float16).reshape(256, 256),
            "BF16": torch.arange(-(1 << 15), 1 << 15).short().view(torch.bfloat16).reshape(256, 256),
        }
        tensors = {name: (name, (256, 256), of.view(torch.int16).numpy().tobytes()) for name, of in dumps.items()}
        support.save_safetensors(self.path("step0.safetensors"), tensors)
        support.ulp("record", self.path("step0.safetensors"), "-o", self.path("program.ulp"), "--blocks", BLOCKS, "--axis=both")
        expected = contents(self.path("program.ulp"))
        for package in (recorder, without_numpy):
            self.assertEqual(contents(self.recorded(package, [dumps], axis="both")), expected)

    def test_what_does_not_lie_row_by_row(self):
        random = np.random.default_rng(2)
        whole = random.standard_normal((40, 60, 3)).astype("f4")
        parts = {"transposed": whole.transpose(2, 1, 0), "part": whole[3:, ::2], "reversed": whole[::-1]}
        parts["swapped"] = whole.astype(">f4")
        expected = contents(self.by_program({"step0.npz": {name: np.ascontiguousarray(of, "f4") for name, of in parts.items()}}))
        self.assertEqual(contents(self.recorded(recorder, [parts])), expected)
        tensors = {"transposed": torch.from_numpy(whole).permute(2, 1, 0), "part": torch.from_numpy(whole)[3:, ::2]}
        tensors["expanded"], tensors["sparse"] = torch.ones(3, 1).expand(3, 40), torch.eye(70).to_sparse()
        dense = {name: of.to_dense().numpy() if of.is_sparse else of.contiguous().numpy() for name, of in tensors.items()}
        expected = contents(self.by_program({"step0.npz": dense}, "--overwrite"))
        for package in (recorder, without_numpy):
            run = package.__name__ + ".ulp"
            if os.path.exists(self.path(run)):
                os.remove(self.path(run))
            self.assertEqual(contents(self.recorded(package, [tensors])), expected)

    def test_a_training(self):
        """Gradients of each step, taken one by one in the first and together in the others; and what is recorded besides."""
        for package in (recorder, without_numpy):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(30, 140), torch.nn.LayerNorm(140), torch.nn.Linear(140, 3))
            optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
            run, dumps = self.path("job.ulp"), {}
            options = {"weights": "0.weight", "updates": "2.weight", "blocks": [32, "128x128"], "strict": True}
            with package.Recorder(run, model, optimizer=optimizer, **options) as rec:
                for step in range(4):
                    loss = model(torch.randn(8, 30)).square().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    arrays = {name: p.grad.numpy().copy() for name, p in model.named_parameters()}
                    arrays["weight__0.weight"] = model[0].weight.detach().numpy().copy()
                    before = model[2].weight.detach().clone()
                    optimizer.step()
                    arrays["update__2.weight"] = (model[2].weight.detach() - before).numpy()
                    dumps[f"step{step}.npz"] = arrays
                    rec.step(step, loss=loss)
            support.check(run)
            for name, arrays in dumps.items():
                np.savez(self.path(name), **arrays)
            of_program = self.path("of_program.ulp")
            support.ulp("record", *map(self.path, dumps), "-o", of_program, "--blocks", "32,128x128", "--overwrite")
            self.assertEqual(contents(run), {(i, name.replace("__", "/")): of for (i, name), of in contents(of_program).items()})
            self.assertEqual(len(outcomes(run)), 8)
            self.assertEqual(outcomes(run), outcomes(of_program))
            os.remove(run)

    def test_modules_that_are_called_several_times(self):
        """Their outputs and gradients are of one table: the elements of all."""
        torch.manual_seed(0)
        model = torch.nn.ModuleDict({"twice": torch.nn.Linear(20, 20)})
        x = torch.randn(7, 20)
        first = model["twice"](x)
        outputs = [first.detach().numpy().copy(), model["twice"](first).detach().numpy().copy()]
        for package in (recorder, without_numpy):
            run = self.path(f"{package.__name__}.ulp")
            with package.Recorder(run, model, forward="twice", blocks=8, strict=True) as rec:
                loss = model["twice"](model["twice"](x)).square().mean()
                loss.backward()
                rec.step(0, loss=loss, loss_scale=1)
            model.zero_grad()
            support.check(run)
            np.savez(self.path("step0.npz"), both=np.concatenate(outputs))
            support.ulp("record", self.path("step0.npz"), "-o", self.path("program.ulp"), "--blocks", "8", "--overwrite")
            self.assertEqual(contents(run)[0, "forward/twice"], contents(self.path("program.ulp"))[0, "both"])

    def test_microbatches_ranks_and_a_job_that_goes_on(self):
        random = np.random.default_rng(3)
        parts = [(random.standard_normal((20, 33)) * 1e-3).astype("f4") for _ in range(2)]
        expected = contents(self.by_program({"step0.npz": {"g": parts[0]}, "step1.npz": {"g": parts[1]}}))
        for package in (recorder, without_numpy):
            run = self.path(f"going_on_{package.__name__}.ulp")
            for step, part in enumerate(parts):
                tensor = torch.from_numpy(part)
                with package.Recorder(run, append=True, blocks=BLOCKS, strict=True) as rec:
                    rec.step(step, grads={"g": tensor}, loss_scale=1, microbatch=0)
                    rec.step(step, grads={"g": tensor}, loss_scale=1)
            support.check(run)
            self.assertEqual(contents(run), expected)
            ranks = []
            for rank, part in enumerate(parts):
                path = self.path(f"{package.__name__}.ulp")
                with package.Recorder(path, shards=True, rank=rank, world=2, run_id="one", blocks=BLOCKS, strict=True) as rec:
                    rec.step(0, grads={"g": torch.from_numpy(part)}, loss_scale=1)
                ranks.append(path.replace(".ulp", f".rank{rank}.ulp"))
            both = self.path(f"both_{package.__name__}.ulp")
            support.ulp("merge", *ranks, "-o", both)
            whole = self.path("whole.ulp")
            np.savez(self.path("step0.npz"), g=np.concatenate(parts))
            support.ulp("record", self.path("step0.npz"), "-o", whole, "--blocks", "32,16,1", "--overwrite")  # that no part ends
            with package.Recorder(self.path(f"again_{package.__name__}.ulp"), blocks="32,16,1", strict=True) as rec:
                rec.step(0, grads={"g": torch.from_numpy(np.concatenate(parts))}, loss_scale=1)
            self.assertEqual(contents(self.path(f"again_{package.__name__}.ulp")), contents(whole))
            self.assertEqual(outcomes(both), outcomes(whole))

    def test_it_says_once_what_has_none(self):
        with warnings.catch_warnings(record=True) as warned, recorder.Recorder(self.path("job.ulp"), blocks=32) as rec:
            warnings.simplefilter("always")
            for step in range(3):
                rec.step(step, grads={"a": np.ones(3), "b": np.ones(3, "c8"), "c": np.ones(3, "f4")}, loss_scale=1)
            rec.flush()
        said = [str(of.message) for of in warned]
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], "no blocks are counted of 'a', which is float64, and blocks are of float32 .*, and of 1 more")
        self.assertEqual([name for _, name in contents(self.path("job.ulp"))], ["c"] * 3)

    def test_what_there_is_not_is_refused(self):
        for blocks in ("", "0", "x32", [65537], "4x4x4", []):
            with self.subTest(blocks), self.assertRaisesRegex(recorder.RecorderError, "^blocks: "):
                recorder.Recorder(self.path("job.ulp"), blocks=blocks)
        with self.assertRaisesRegex(recorder.RecorderError, "axis='rows': one of last, other, both"):
            recorder.Recorder(self.path("job.ulp"), blocks=32, axis="rows")
        self.assertFalse(os.path.exists(self.path("job.ulp")))


if __name__ == "__main__":
    import unittest

    unittest.main()
