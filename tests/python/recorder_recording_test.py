"""Pins recordings: what the recorder writes of gradients is, byte for byte once inflated, what `ulp record` makes of
a dump."""

import random
import sqlite3
import struct
import sys
import unittest

import support

support.need("numpy", "torch")

import numpy as np  # noqa: E402
import torch  # noqa: E402

CODES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
STEPS = 150  # two whole blocks of 64 and a part of one


def gradients(step):
    """Of many magnitudes, types and specials; tensors come and go."""
    generator = torch.Generator().manual_seed(step)
    draw = lambda *shape: torch.randn(*shape, generator=generator)  # noqa: E731
    tensors = {
        "wgrad/large": draw(100, 200) * 2.0 ** -(step % 60),
        "wgrad/small": draw(17) * 1e-3,
        "wgrad/scalar": draw(()),
        "wgrad/empty": torch.zeros(0, 5),
        "wgrad/zeros": torch.zeros(70),
        "wgrad/half": (draw(3000) * 1e-3).half(),
        "agrad/brain": draw(2, 30, 7).bfloat16() * 2.0**-120,
        "wgrad/double": draw(50).double() * 1e-300 * (draw(50) > 0),
    }
    tensors["wgrad/large"][0, :4] = torch.tensor([0.0, -0.0, 1.5, -1.75])
    if step % 5 == 0:
        tensors["wgrad/small"][:3] = torch.tensor([float("inf"), -float("inf"), float("nan")])
        tensors["wgrad/half"][:2] = float("inf")
    if step % 3 == 0:
        tensors["agrad/sometimes"] = draw(40, 500) * 2.0**-130
    return tensors


def scale_of(step):
    return 2.0 ** (16 - step // 100)


def octets(tensor):
    return bytes(tensor.contiguous().flatten().view(torch.uint8).numpy()) if tensor.numel() else b""


class SameAsRecord(support.InFolder):
    def record(self, name, grads_of, without=(), **options):
        recorder = support.load(without=without)
        with recorder.Recorder(self.path(name), run_id="r", **options) as rec:
            for step in range(STEPS):
                rec.step(
                    step,
                    loss=1 / (step + 1),
                    loss_scale=scale_of(step),
                    lr=0.5,
                    found_inf=step % 5 == 0,
                    grads=grads_of(step),
                )
        return support.content(self.path(name))

    def dumped(self, *options):
        """The same gradients through `ulp record`."""
        log = ["step,loss,lr,scale,found_inf"]
        paths = []
        for step in range(STEPS):
            paths.append(self.path(f"step{step:04}.safetensors"))
            tensors = gradients(step)
            support.save_safetensors(paths[-1], {n: (CODES[t.dtype], t.shape, octets(t)) for n, t in tensors.items()})
            log.append(f"{step},{1 / (step + 1)!r},0.5,{scale_of(step)!r},{int(step % 5 == 0)}")
        with open(self.path("log.csv"), "w") as file:
            file.write("\n".join(log) + "\n")
        support.ulp(
            "record", *paths, "-o", self.path("dumped.ulp"), "--scalars", self.path("log.csv"), "--factor", "scale",
            "--role", "half=low", "--role", "brain=low", "--role", ".=float32", *options
        )  # fmt: skip
        return support.content(self.path("dumped.ulp"))

    def compare(self, recorded, dumped):
        name_of = [{row[0]: row[1] for row in content["tensor"]} for content in (recorded, dumped)]
        self.assertEqual(sorted(row[1:] for row in recorded["tensor"]), sorted(row[1:] for row in dumped["tensor"]))
        self.assertEqual(recorded["total"], dumped["total"])
        self.assertEqual(recorded["level_total"], dumped["level_total"])
        for table in ("step", "level"):
            self.assertEqual(len(recorded[table]), len(dumped[table]))
            for ours, theirs in zip(recorded[table], dumped[table]):
                self.assertEqual(ours[:-2], theirs[:-2])
                self.assertEqual(self.by_name(ours, name_of[0]), self.by_name(theirs, name_of[1]))
        self.assertEqual([len(dumped["level"]), {row[0] for row in dumped["level"]}], [3, {64}])

    def by_name(self, row, name_of):
        """Summary records without the tensor's number, and payloads: a dump has its tensors in another order."""
        tables, at = [], 0
        for i in range(0, len(row[-2]), 104):
            number, rest = struct.unpack("<I", row[-2][i : i + 4])[0], row[-2][i + 4 : i + 104]
            _, at_length = varint(row[-1], at)
            length, begin = varint(row[-1], at_length)
            tables.append((name_of[number], rest, row[-1][at : begin + length]))
            at = begin + length
        self.assertEqual(at, len(row[-1]))
        return sorted(tables)

    def test_counts_and_sums(self):
        roles = {"half|brain": "low", ".": "float32"}
        for options, keep_sums in ([], True), (["--no-sums"], False):
            dumped = self.dumped(*options)
            digest = support.ulp("info", "--digest", self.path("dumped.ulp"))
            for i, without in enumerate(([], ["numpy"])):
                name = f"{keep_sums}{i}.ulp"
                recorded = self.record(name, gradients, without, sums=keep_sums, roles=roles)
                self.compare(recorded, dumped)
                self.assertEqual(support.ulp("info", "--digest", self.path(name)), digest)
            support.os.remove(self.path("dumped.ulp"))

    def test_arrays(self):
        """As JAX and TensorFlow gradients come: arrays, without torch."""
        roles = {"half|brain": "low", ".": "float32"}
        as_arrays = lambda step: {
            n: t.numpy() for n, t in gradients(step).items() if t.dtype != torch.bfloat16
        }  # noqa: E731
        as_tensors = lambda step: {n: t for n, t in gradients(step).items() if t.dtype != torch.bfloat16}  # noqa: E731
        recorded = [self.record(f"{i}.ulp", of, roles=roles) for i, of in enumerate((as_arrays, as_tensors))]
        self.assertEqual(*recorded)

    def test_other_byte_orders_and_strides(self):
        recorder = support.load()
        draw = np.random.default_rng(1).standard_normal((30, 50)).astype(np.float32)
        with recorder.Recorder(self.path("a.ulp")) as rec:
            rec.step(0, grads={"x": draw.astype(">f4")})
            rec.step(1, grads={"x": np.asfortranarray(draw)})
            rec.step(2, grads={"x": torch.from_numpy(draw.T.copy()).t()})
            rec.step(3, grads={"x": torch.from_numpy(draw).to_sparse()})
        steps = support.content(self.path("a.ulp"))["step"]
        self.assertEqual(len({(row[-2], row[-1]) for row in steps}), 1)

    def test_values_out_of_range_of_the_estimates(self):
        recorder = support.load()
        with recorder.Recorder(self.path("a.ulp")) as rec:
            rec.step(0, grads={"wgrad/x": np.array([1e300, 1e-310, 2.0])})
        tensor = {"wgrad/x": ("F64", (3,), np.array([1e300, 1e-310, 2.0]).tobytes())}
        support.save_safetensors(self.path("step0.safetensors"), tensor)
        support.ulp("record", self.path("step0.safetensors"), "--no-sums", "-o", self.path("b.ulp"))
        ours, theirs = (support.content(self.path(name))["step"] for name in ("a.ulp", "b.ulp"))
        self.assertEqual(ours, theirs)

    def test_empty_tensors_of_16_bits(self):
        """As `ulp record` writes them: cells, of which there are none."""
        recorder = support.load()
        with recorder.Recorder(self.path("a.ulp"), strict=True) as rec:
            rec.step(0, grads={"empty": np.zeros(0, np.float16)})
        support.save_safetensors(self.path("step0.safetensors"), {"empty": ("F16", (0,), b"")})
        support.ulp("record", self.path("step0.safetensors"), "--no-sums", "-o", self.path("b.ulp"))
        ours, theirs = (support.content(self.path(name))["step"] for name in ("a.ulp", "b.ulp"))
        self.assertEqual(ours, theirs)


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


class ManySmallTensors(support.InFolder):
    """Those of a model are counted together, from the second step on, when their names are known."""

    def model(self, sizes):
        model = torch.nn.Module()
        for i, size in enumerate(sizes):
            model.register_parameter(f"p{i}", torch.nn.Parameter(torch.zeros(size)))
        return model

    def test_same_as_one_by_one(self):
        recorder = support.load()
        draw = np.random.default_rng(3)
        specials = np.float32([0, -0.0, 1, -1.75, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.4e38, 1.1754944e-38])
        makes = [
            lambda n: draw.integers(0, 2**32, n, dtype=np.uint32).view(np.float32),
            lambda n: draw.standard_normal(n).astype(np.float32),
            lambda n: draw.standard_normal(n).astype(np.float32) * np.float32(1e-40),
            lambda n: draw.choice(specials, n),
            lambda n: np.zeros(n, np.float32),
        ]
        model = self.model([draw.choice((0, 1, 2, 5, 130, 4000, 5000, 20000)) for _ in range(200)])
        names = [name for name, _ in model.named_parameters()]
        for sums in (False, True):
            paths = [self.path(f"{name}{sums}.ulp") for name in ("model", "arrays")]
            with recorder.Recorder(paths[0], model, run_id="r", sums=sums, strict=True) as together:
                with recorder.Recorder(paths[1], run_id="r", sums=sums, strict=True) as one_by_one:
                    for step in range(0, 90, 4):
                        grads = {n: draw.choice(makes)(p.numel()) for n, p in zip(names, model.parameters())}
                        for n, p in model.named_parameters():
                            p.grad = torch.from_numpy(grads[n])
                        together.step(step, loss_scale=4)
                        one_by_one.step(step, loss_scale=4, grads=grads)
            self.assertEqual(*map(support.content, paths))
            self.assertEqual(*(support.ulp("info", "--digest", path) for path in paths))

    def test_what_a_tensor_costs(self):
        """In calls of functions, which do not depend on the machine; there were 151 of them, and 50 are left in Python."""
        recorder = support.load()
        model = self.model([1] * 1000)
        calls = 0

        def count(frame, event, argument):
            nonlocal calls
            calls += event in ("call", "c_call")

        with recorder.Recorder(self.path("a.ulp"), model, strict=True) as rec:
            for step in range(3):
                for p in model.parameters():
                    p.grad = torch.randn(1)
                sys.setprofile(count if step == 2 else None)
                rec.step(step, loss=1.0, loss_scale=1024)
                sys.setprofile(None)
        self.assertLess(calls / 1000, 22 if recorder.Recorder.counting == "compiled" else 50)


class Levels(support.InFolder):
    """Blocks as the program would merge them when they are read, or none."""

    def blocks(self, name):
        content = support.content(self.path(name))
        return {(row[0], row[1]): row[3:6] for row in content["level"]}

    def grads(self, step):
        return {f"wgrad/{i}": np.float32([1, step, -i]) for i in range(3)}

    def test_wide_blocks(self):
        """Written in one go they are those that the program writes."""
        recorder = support.load()
        with recorder.Recorder(self.path("a.ulp"), run_id="r") as rec:
            for step in range(-64, 4160, 4):
                rec.step(step, loss_scale=2.0 ** (step // 3000), grads=self.grads(step))
        support.ulp("record", self.path("a.ulp"), "-o", self.path("b.ulp"))
        ours, theirs = support.content(self.path("a.ulp")), support.content(self.path("b.ulp"))
        self.assertEqual({row[0] for row in ours["level"]}, {64, 4096})
        for table in ours:
            self.assertEqual(ours[table], theirs[table], table)

    def test_out_of_order_and_appended(self):
        recorder = support.load()
        with recorder.Recorder(self.path("a.ulp")) as rec:
            for step in [*range(0, 64), *range(128, 192), *range(64, 100)]:
                rec.step(step, grads=self.grads(step))
            rec.step(150, attempt=1, grads=self.grads(150))
        self.assertEqual(self.blocks("a.ulp"), {(64, 0): (64, 0, 63), (64, 1): (36, 64, 99), (64, 2): (64, 128, 191)})
        with recorder.Recorder(self.path("a.ulp"), append=True) as rec:
            for step in range(100, 128):
                rec.step(step, grads=self.grads(step))
            for step in range(192, 256):
                rec.step(step, microbatch=0, grads=self.grads(step))
                rec.step(step, grads=self.grads(step))
        self.assertEqual(self.blocks("a.ulp")[64, 3], (64, 192, 255))
        # Blocks 1 and 2 are of other steps than those that are there now: readers merge these themselves.
        report = support.ulp("report", self.path("a.ulp"), "-o", self.path("a.html"))
        self.assertIn("a.html", report)

    def test_changing_factors(self):
        """Where each step has a factor of its own, blocks would hold as much as the steps."""
        recorder = support.load()
        with recorder.Recorder(self.path("a.ulp")) as rec:
            for step in range(130):
                rec.step(step, loss_scale=1 + step, grads=self.grads(step))
        self.assertEqual(self.blocks("a.ulp"), {})


class TheFile(support.InFolder):
    def test_identity_and_single_file(self):
        recorder = support.load()
        rec = recorder.Recorder(self.path("a.ulp"), run_id="mine")
        rec.step(3, loss=float("nan"), found_inf=True, applied=False, grads={"agrad/x": np.float32([1, 2])})
        self.assertEqual(sorted(support.os.listdir(self.folder)), ["a.ulp", "a.ulp-shm", "a.ulp-wal"])
        rec.close()
        rec.close()
        self.assertEqual(support.os.listdir(self.folder), ["a.ulp"])
        with sqlite3.connect(self.path("a.ulp")) as db:
            for pragma, value in (("application_id", 1970040946), ("user_version", 2), ("journal_mode", "delete")):
                self.assertEqual(db.execute(f"PRAGMA {pragma}").fetchone(), (value,))
            writer = db.execute("SELECT value FROM meta WHERE key='writer'").fetchone()
            self.assertEqual(writer, (recorder.WRITER,))
            self.assertRegex(recorder.WRITER, r"^ulpscope \d+\.\d+\.\d+( \([0-9a-f]{12,}(-dirty)?\))?$")
        db.close()
        content = support.content(self.path("a.ulp"))
        self.assertEqual(
            dict(content["meta"]),
            {"run_id": "mine", "rank": "0", "world": "1", "reduction": "local", "layout": "replica", "closed": "1"},
        )
        self.assertEqual(content["tensor"], [(0, "agrad/x", "activation_grad", "unknown", "", "2", 2)])
        self.assertEqual(content["step"][0][:11], (3, 0, -1, "0", None, None, None, None, 1, 0, None))
        self.assertIn("1: 3 to 3", support.ulp("info", self.path("a.ulp")))

    def test_tensor_rows(self):
        """Sizes that vary become 0; what the file says of a name holds."""
        recorder = support.load()
        with recorder.Recorder(self.path("a.ulp"), roles={"x": "low"}) as rec:
            rec.step(0, grads={"x": np.float32([1, 2]), "y": np.float16([3])})
            rec.step(1, grads={"x": np.float32([1, 2, 3])})
        with recorder.Recorder(self.path("a.ulp"), append=True) as rec:
            rec.step(2, grads={"x": np.float32([1]), "z": np.float64([1])})
        self.assertEqual(
            support.content(self.path("a.ulp"))["tensor"],
            [(0, "x", "weight_grad", "low", "", "2", 0), (1, "y", "weight_grad", "low", "float16", "1", 1),
             (2, "z", "weight_grad", "unknown", "", "1", 1)],
        )  # fmt: skip
        support.ulp("info", self.path("a.ulp"))

    def test_random_bits_read_back(self):
        """The program reads what random bits of every type make, and counts what it reads as recorded."""
        recorder = support.load()
        draw = random.Random(5)
        with recorder.Recorder(self.path("a.ulp"), sums=True) as rec:
            for step in range(20):
                n = draw.choice((1, 100, 20000))
                bits = np.frombuffer(draw.randbytes(8 * n), np.uint64)
                rec.step(
                    step, grads={"d": bits.view(np.float64), "f": bits.view(np.float32), "h": bits.view(np.float16)}
                )
        for table in support.content(self.path("a.ulp"))["step"]:
            self.assertEqual(len(table[-2]), 3 * 104)
        self.assertIn("exact cells, exact sums", support.ulp("info", self.path("a.ulp")))


if __name__ == "__main__":
    unittest.main()
