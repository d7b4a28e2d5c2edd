"""Pins what the package says of runs to what `ulp ... --json` prints, and its counts to numpy's from the dumps."""

import copy
import json
import math
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path

from support import SOURCE, ULP, InFolder, has, json_of, need, need_compiled, save_safetensors, ulp

need("numpy")
need_compiled("_runs")
if not ULP:
    raise unittest.SkipTest("SKIPPED: the program ulp is not there: ULP_PROGRAM names it")

import numpy as np

import ulpscope

DIGITS = os.path.join(SOURCE, "examples", "digits.ulp")
TRANSFORMER = os.path.join(SOURCE, "examples", "transformer.ulp")
PLAIN = os.path.join(SOURCE, "tests", "data", "amp", "plain.ulp")
TIED = os.path.join(SOURCE, "tests", "data", "amp", "tied_accumulated.ulp")
DUMP = os.path.join(SOURCE, "examples", "digits.step00100.safetensors")
CONFIG = os.path.join(SOURCE, "tests", "data", "configs", "deepspeed_megatron_zero2.json")
SHARED = os.path.join(SOURCE, "..", "shared", "data")
RECORDINGS = [path for path in (DIGITS, PLAIN, TIED) if os.path.exists(path)]


def data(name):
    return os.path.join(SOURCE, "tests", "data", name)


def as_printed(value):
    """A value of Python as JSON of the program has it."""
    if isinstance(value, dict):
        return {key: as_printed(inner) for key, inner in value.items()}
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


class Compared(InFolder):
    def assert_printed(self, table, *arguments, summary=None):
        """Every figure, key and note is what the program prints; returns how many figures were compared."""
        printed = json_of(*arguments)
        self.assertEqual(table.notes, printed.notes)
        self.assertEqual(table.schema, printed.schema)
        rows = [as_printed(row) for row in table.records()]
        self.assertEqual(len(rows), len(printed.rows))
        figures = 0
        for ours, theirs in zip(rows, printed.rows):
            if ours != theirs:
                # Columns of drawn counts are there in the rows that have them.
                ours = {key: value for key, value in ours.items() if key in theirs or value is not None}
            self.assertEqual(ours, theirs)
            figures += len(theirs)
        if printed.summary is not None:
            self.assertEqual(as_printed(table.summary), printed.summary)
            figures += len(printed.summary)
        return figures


class Questions(Compared):
    def test_replay(self):
        figures = 0
        for path in RECORDINGS:
            for name, settings, arguments in (
                ("megatron", {}, ()),
                ("pytorch", {"growth_interval": 20}, ("--set", "growth_interval=20")),
                ("deepspeed", {"set": {"scale_window": 50}}, ("--set", "scale_window=50")),
            ):
                for format in ("float16", "cbfloat16"):
                    figures += self.assert_printed(
                        ulpscope.replay(path, scaler=name, format=format, **settings),
                        "replay", path, "--scaler", name, "--format", format, *arguments,
                    )  # fmt: skip
        self.assertGreater(figures, 50_000)

    def test_options_mean_what_they_mean_on_the_command_line(self):
        for settings, arguments in (
            ({"clip_norm": 1}, ("--clip-norm", "1")),
            ({"clip_value": 0.5, "order": "clip,unscale,check"}, ("--clip-value", "0.5", "--order", "clip,unscale,check")),
            ({"steps": "10:50", "every": 2}, ("--steps", "10:50", "--every", "2")),
            ({"tensor": "weight", "check": "conv"}, ("--tensor", "weight", "--check", "conv")),
            ({"rounding": "rz", "saturate": True}, ("--rounding", "rz", "--saturate")),
            ({"rounding": "stochastic:A,bits=8", "seed": 7}, ("--rounding", "stochastic:A,bits=8", "--seed", "7")),
            ({"ftz": "after"}, ("--ftz", "after")),
            ({"start": {"scale": 1024}}, ("--start", "scale=1024")),
            ({"group": {"conv": "^conv", "fc": "^fc"}}, ("--group", "conv=^conv", "--group", "fc=^fc")),
            ({"kind": ["weight_grad"]}, ("--kind", "weight_grad")),
            ({"window": 30}, ("--set", "window=30")),
            ({"attempts": "first"}, ("--attempts", "first")),
        ):
            with self.subTest(settings=settings):
                self.assert_printed(
                    ulpscope.replay(DIGITS, "pytorch", "float16", **settings),
                    "replay", DIGITS, "--scaler", "pytorch", "--format", "float16", *arguments,
                )  # fmt: skip

    def test_replay_of_a_configuration(self):
        self.assert_printed(
            ulpscope.replay(DIGITS, config=Path(CONFIG), format="float16"),
            "replay", DIGITS, "--config", CONFIG, "--format", "float16",
        )  # fmt: skip

    def test_replay_by_tensor(self):
        ulp("replay", PLAIN, "--scaler", "pytorch", "--format", "float16", "--per-tensor", self.path("t.csv"))
        table = ulpscope.replay(PLAIN, "pytorch", "float16", per_tensor=True).per_tensor
        with open(self.path("t.csv")) as file:
            lines = file.read().splitlines()
        self.assertEqual(table.height, len(lines) - 1)
        first = dict(zip(lines[0].split(","), lines[1].split(",")))
        self.assertEqual(str(table["tensor"][0]), first["tensor"])
        self.assertEqual(int(table["step"][0]), int(first["step"]))

    def test_outcomes(self):
        figures = 0
        for path in RECORDINGS + [DUMP, TRANSFORMER]:
            figures += self.assert_printed(
                ulpscope.outcomes(path, ["float16", "cbfloat16", "e4m3fn"], scale=[1, "2^15"]),
                "outcomes", path, "--format", "float16,cbfloat16,e4m3fn", "--scale", "1,2^15",
            )  # fmt: skip
            figures += self.assert_printed(
                ulpscope.open(path).outcomes("float16", by=["kind"], as_recorded=True),
                "outcomes", path, "--format", "float16", "--by", "kind", "--as-recorded",
            )  # fmt: skip
        figures += self.assert_printed(
            ulpscope.outcomes(DIGITS, "float16", rounding="sr", seed=3, sort="underflow", top=3),
            "outcomes", DIGITS, "--format", "float16", "--rounding", "sr", "--seed", "3", "--sort", "underflow",
            "--top", "3",
        )  # fmt: skip
        self.assertGreater(figures, 5000)

    def test_sweep(self):
        for path in RECORDINGS:
            self.assert_printed(
                ulpscope.sweep(path, ["pytorch", "tf_keras", "cerebras"], ["float16", "cbfloat16"], window=[50, 200]),
                "sweep", path, "--scaler", "pytorch,tf_keras,cerebras", "--set", "window=50,200", "--format",
                "float16,cbfloat16",
            )  # fmt: skip
        ulp("sweep", DIGITS, "--scaler", "pytorch", "--format", "fp16", "--hindsight", self.path("h.csv"))
        best = ulpscope.sweep(DIGITS, "pytorch", "fp16", hindsight=True, rounding=["rne"]).hindsight
        scales = np.loadtxt(self.path("h.csv"), delimiter=",", skiprows=1, usecols=(0, 3))
        self.assertTrue(np.array_equal(scales[:, 1], best["scale"]))
        self.assertTrue(np.array_equal(scales[:, 0], best["step"]))

    def test_advise(self):
        for path in RECORDINGS + [TRANSFORMER]:
            self.assert_printed(ulpscope.advise(path), "advise", path)
        self.assert_printed(
            ulpscope.advise(DIGITS, format="float8_e4m3fn", epsilon=1e-3, group={"fc": "^fc"}),
            "advise", DIGITS, "--format", "float8_e4m3fn", "--epsilon", "0.001", "--group", "fc=^fc",
        )  # fmt: skip

    def test_precision(self):
        w, m = os.path.join(SOURCE, "examples", "weights.step00100.safetensors"), os.path.join(SOURCE, "examples", "microbatches32.safetensors")
        inputs = os.path.join(SOURCE, "tests", "data", "golden_optim", "inputs.npz")
        config = self.path("lightning.yaml")
        with open(config, "w") as file:
            file.write("trainer:\n  precision: bf16-true\n  accumulate_grad_batches: 4\n")
        two = ["bnb_cpu_default_adam8bit", "bnb_cpu_default_adam32bit:bf16:kahan"]
        for path, question, settings, arguments in (
            (w, "weights", {"lr": 0.05}, ("--lr", "0.05")),
            (
                w, "weights",
                {"format": ["bf16", "cb16"], "lr": 0.05, "by": ["step"], "rounding": "stochastic:A,bits=8", "top": 1},
                ("--format", "bf16,cb16", "--lr", "0.05", "--by", "step", "--rounding", "stochastic:A,bits=8", "--top", "1"),
            ),
            (w, "weights", {"lr": 0.05, "config": config}, ("--lr", "0.05", "--config", config)),
            (m, "accumulate", {"format": "bf16", "chunk": [4, 8]}, ("--format", "bf16", "--chunk", "4,8")),
            (m, "accumulate", {"config": config, "microbatches": 3}, ("--config", config, "--microbatches", "3")),
            (DIGITS, "accumulate", {"config": config, "tensor": "fc"}, ("--config", config, "--tensor", "fc")),
            (w, "random-bits", {"lr": 0.05, "lose": 0.1}, ("--lr", "0.05", "--lose", "0.1")),
            (w, "random-bits", {"lr": 0.05, "by_tensor": True}, ("--lr", "0.05", "--by-tensor")),
            (
                inputs, "optimizer8",
                {"dialect": two, "lr": 0.01, "set": {"beta1": 0.8}, "by_tensor": True, "parts": {"a": 8, "b": 80}},
                ("--dialect", ",".join(two), "--lr", "0.01", "--set", "beta1=0.8", "--by-tensor", "--parts", "a=8,b=80"),
            ),
            (inputs, "optimizer8", {"quantizers": True, "dialect": two[0]}, ("--quantizers", "--dialect", two[0])),
        ):  # fmt: skip
            with self.subTest(question, **settings):
                table = ulpscope.precision(path, question, **settings)
                self.assertGreater(self.assert_printed(table, "precision", question, path, *arguments), 10)
        run = ulpscope.open(DIGITS, tensor="fc")
        self.assertEqual(
            run.precision("accumulate", (8, 7), microbatches=32).records(),
            ulpscope.precision(DIGITS, "accumulate", "e8m7", microbatches=32, tensor="fc").records(),
        )
        for ask, error, text in (
            (lambda: run.precision("weigths"), ValueError, "one of weights, accumulate, random-bits, optimizer8"),
            (lambda: ulpscope.precision(w, "weights", by="layer"), ValueError, "--by: unknown 'layer'"),
            (lambda: ulpscope.precision(w, "random-bits", lose=1, los=1), TypeError, "did you mean 'lose'"),
            (lambda: ulpscope.precision(inputs, "optimizer8", "bf16"), TypeError, "no option 'format'"),
            (lambda: ulpscope.precision(inputs, "optimizer8", w0=self.path("none.npz")), FileNotFoundError, "none"),
        ):
            with self.assertRaisesRegex(error, text):
                ask()

    def test_shared_runs(self):
        amp = os.path.join(SHARED, "amp")
        if not os.path.isdir(amp):
            self.skipTest("no shared/data beside the project")
        figures = 0
        for name in ("accum4", "resumed", "unscale", "untied1_fp32"):
            path = os.path.join(amp, name + ".ulp")
            figures += self.assert_printed(
                ulpscope.replay(path, "pytorch", "float16"),
                "replay", path, "--scaler", "pytorch", "--format", "float16",
            )  # fmt: skip
            figures += self.assert_printed(
                ulpscope.outcomes(path, "float16"), "outcomes", path, "--format", "float16"
            )
        self.assertGreater(figures, 10_000)

    def test_a_scenario_asks_several_runs_the_same(self):
        scenario = ulpscope.Scenario("megatron", "float16", clip_norm=1, hysteresis=3)
        for path in RECORDINGS:
            table = scenario.replay(path)
            command = scenario.command(path)
            self.assertTrue(command.startswith("ulp replay "), command)
            again = subprocess.run(
                command.replace("ulp ", f"'{ULP}' ", 1) + " --json", shell=True, capture_output=True, text=True, check=True
            )
            self.assertEqual(as_printed(table.summary), json.loads(again.stdout)["summary"])
        self.assertEqual(scenario, ulpscope.Scenario("megatron", "float16", clip_norm=1, hysteresis=3))


class Contents(InFolder):
    def arrays(self):
        """Gradients of three steps with every class of values, as {step: {tensor: float32}}."""
        random = np.random.default_rng(7)
        made = {}
        for step in (1, 2, 5):
            weight = (random.standard_normal((40, 30)) * 2.0 ** random.integers(-40, 10, (40, 30))).astype(np.float32)
            weight[0, :7] = [0, -0.0, np.inf, -np.inf, np.nan, 1e-42, -1.5]
            made[step] = {"a.weight": weight, "b.bias": random.standard_normal(16).astype(np.float32)}
        return made

    def dumps(self, arrays):
        paths = []
        for step, tensors in arrays.items():
            paths.append(self.path(f"step{step}.npz"))
            np.savez(paths[-1], **tensors)
        return paths

    def test_counts_sums_and_extremes_are_numpys(self):
        arrays = self.arrays()
        paths = self.dumps(arrays)
        ulp("record", *paths, "-o", self.path("run.ulp"))
        for opened in (ulpscope.open(paths), ulpscope.Recording(self.path("run.ulp"))):
            self.assertEqual(opened.steps["step"].tolist(), [1, 2, 5])
            self.assertEqual(opened.tensors["tensor"].tolist(), ["a.weight", "b.bias"])
            self.assertEqual(opened.tensors["shape"].tolist(), [(40, 30), (16,)])
            self.assertEqual(opened.tensors["numel"].tolist(), [1200, 16])
            rows = opened.rows
            self.assertEqual(rows.height, 6)
            exponents, counts, of_rows = opened.binades()
            self.assertEqual(counts.shape, (6, len(exponents)))
            self.assertEqual(counts.dtype, np.int64)
            for i in range(rows.height):
                x = arrays[rows["step"][i]][rows["tensor"][i]].astype(np.float64).ravel()
                finite = np.abs(x[np.isfinite(x) & (x != 0)])
                k = np.frexp(finite)[1] - 1
                self.assertEqual(
                    [int((k == e).sum()) for e in exponents], counts[i].tolist(), (rows["step"][i], rows["tensor"][i])
                )
                self.assertEqual(rows["numel"][i], x.size)
                self.assertEqual(rows["zero"][i], int((x == 0).sum()))
                self.assertEqual(rows["positive_inf"][i], int((x == np.inf).sum()))
                self.assertEqual(rows["negative_inf"][i], int((x == -np.inf).sum()))
                self.assertEqual(rows["nan"][i], int(np.isnan(x).sum()))
                self.assertEqual(rows["max_abs"][i], finite.max())
                self.assertEqual(rows["min_abs"][i], finite.min())
                self.assertEqual(rows["sums"][i], "exact")
                self.assertAlmostEqual(rows["l1"][i] / math.fsum(finite), 1, delta=1e-15)
                self.assertAlmostEqual(rows["square_sum"][i] / math.fsum(finite**2), 1, delta=1e-15)
            one = opened.binades("b.bias")
            self.assertEqual(one.rows["step"].tolist(), [1, 2, 5])
            self.assertEqual(one.counts.sum(axis=1).tolist(), [16, 16, 16])
            with self.assertRaisesRegex(ValueError, "no tensor 'nobody'"):
                opened.binades("nobody")

    def test_signs_and_slots_of_cells(self):
        x = np.array([1, -1, 1.5, 1.25, -0.75], np.float32)
        save_safetensors(self.path("step0.safetensors"), {"x": ("F32", [5], x.tobytes())})
        cells = ulpscope.open(self.path("step0.safetensors")).cells
        seen = {(int(s), int(e)): int(c) for s, e, c in zip(cells["sign"], cells["exponent"], cells["count"]) if e == 0}
        self.assertEqual(sum(c for (s, _), c in seen.items() if s < 0), 1)
        self.assertEqual(cells["count"].sum(), 5)
        self.assertEqual(sorted(set(cells["sign"].tolist())), [-1, 1])
        self.assertEqual(cells["slot"].min(), 0)

    def test_scalars_are_those_that_were_logged(self):
        for path in RECORDINGS:
            steps = ulpscope.Recording(path).steps
            exported = [json.loads(line) for line in ulp("export", path, "--json-lines").splitlines()]
            by_step = {row["step"]: row for row in exported}
            self.assertEqual(sorted(by_step), sorted(set(steps["step"].tolist())))
            compared = 0
            for record in steps.records():
                row = by_step[record["step"]]
                for ours, theirs in (("loss", "loss"), ("scale", "loss_scale"), ("lr", "learning_rate")):
                    if theirs in row:
                        self.assertEqual(record[ours], row[theirs])
                        compared += 1
            self.assertGreater(compared, len(by_step))

    def test_totals_are_those_of_info(self):
        for path in RECORDINGS:
            opened = ulpscope.open(path)
            printed = json_of("info", path)
            for row in printed.rows:
                mine = opened.rows.take(opened.rows["tensor"] == row["tensor"])
                self.assertEqual(mine.height, row["steps"])
                self.assertEqual(mine["numel"].sum(), row["numel"])
                self.assertEqual(mine["zero"].sum(), row["zero"])
                self.assertEqual(mine["max_abs"].max(), row["max_abs"])
            self.assertEqual(len(opened.tensors["tensor"]), len(printed.rows))
            self.assertEqual(opened.steps.height, printed.summary["steps"])
            self.assertEqual(opened.header.get("run_id"), printed.summary["run_id"])

    def test_every_kind_of_input_opens(self):
        ulp("export", PLAIN, "-o", self.path("h.csv"))
        with open(self.path("log.csv"), "w") as file:
            file.write("step,found_inf\n0,1\n1,0\n2,0\n")
        with open(self.path("max.csv"), "w") as file:
            file.write("step,maxabs,scale\n0,0.5,65536\n1,nan,32768\n2,2,32768\n")
        for path, kind, tensors in (
            (PLAIN, "recording", True),
            (DUMP, "dump", True),
            (self.path("h.csv"), "histogram_csv", True),
            (self.path("log.csv"), "step_log", False),
            (self.path("max.csv"), "step_log", False),
        ):
            opened = ulpscope.open(path)
            self.assertEqual(opened.kind, kind)
            self.assertEqual(opened.rows.height > 0, tensors)
            self.assertEqual(list(opened.rows), list(ulpscope.open(PLAIN).rows))
            self.assertIsInstance(opened, ulpscope.Run)
        log = ulpscope.open(self.path("log.csv")).steps
        self.assertEqual(log["found_inf"].tolist(), [True, False, False])
        self.assertEqual(ulpscope.open(self.path("max.csv")).steps["max_abs"][2], 2)
        events = os.path.join(SHARED, "tfevents")
        if os.path.isdir(events):
            files = [os.path.join(folder, name) for folder, _, names in os.walk(events) for name in names]
            opened = ulpscope.open(files)
            self.assertEqual(opened.kind, "event_files")
            rows, buckets = opened.rows, opened.buckets
            self.assertGreater(buckets.height, rows.height)
            self.assertEqual(int(buckets["count"].sum()), int((rows["numel"] - rows["zero"] - rows["inf"] - rows["nan"]).sum()))
            self.assertTrue((buckets["low"] <= buckets["high"]).all())

    def test_selections_and_options_of_an_opened_run_hold_for_questions(self):
        run = ulpscope.open(DIGITS, tensor="^fc", steps="100:200")
        self.assertTrue(all(name.startswith("fc") for name in run.tensors["tensor"]))
        self.assertEqual((run.steps["step"].min() >= 100, run.steps["step"].max() < 200), (True, True))
        printed = json_of("outcomes", DIGITS, "--format", "fp16", "--tensor", "^fc", "--steps", "100:200")
        self.assertEqual([as_printed(r) for r in run.outcomes("fp16").records()], printed.rows)

    def test_what_is_read_when(self):
        """Opening reads no steps, steps no tensors, and a range of steps no others: damage elsewhere is not met."""
        run = ulpscope.open(PLAIN)
        self.assertEqual(list(run._read), ["kind", "description", "header", "tensors", "read", "step_count", "notes"])
        self.assertEqual(repr(run), f"<Run {PLAIN}: recording, {run._read['step_count']} steps, {run.tensors.height} tensors>")
        steps = run.steps
        self.assertNotIn("rows", run._read)
        rows = run.rows
        self.assertNotIn("cells", run._read)
        run.cells
        for before, now in ((steps, run.steps), (rows, run.rows)):
            self.assertEqual(before.records(), now.records())
        some = steps["step"][3:7].tolist()
        part = ulpscope.open(PLAIN, steps=f"{some[0]}:{some[-1] + 1}")
        self.assertEqual(part.steps.records(), steps.take(slice(3, 7)).records())
        self.assertEqual(part.rows.records(), rows.take(np.isin(rows["step"], some)).records())
        for nothing in ("1000000:", ":0"):
            self.assertEqual([ulpscope.open(PLAIN, steps=nothing).steps.height, ulpscope.open(PLAIN, steps=nothing).cells.height], [0, 0])
        labelled = ulpscope.open(PLAIN, steps=f"{some[0]}:{some[-1] + 1}", role={".": "low"})
        self.assertEqual(set(labelled.tensors["role"]), {"low"})
        self.assertEqual(labelled.rows["max_abs"].tolist(), part.rows["max_abs"].tolist())

    def test_a_folder_of_event_files(self):
        good = os.path.join(SHARED, "tfevents", "chartf_good_v1")
        if not os.path.isdir(good):
            self.skipTest("../shared/data is not there")
        (file,) = [os.path.join(good, name) for name in os.listdir(good) if "tfevents" in name]
        of_folder, of_file = ulpscope.open(good), ulpscope.open(file)
        self.assertEqual(of_folder.kind, "event_files")
        self.assertEqual(of_folder.rows.records(), of_file.rows.records())
        os.mkdir(self.path("none"))
        with self.assertRaisesRegex(ValueError, "none: is a folder without TensorBoard event files"):
            ulpscope.open(self.path("none"))

    def test_following(self):
        following = ulpscope.follow(PLAIN, timeout=30, interval=0.01, cells=True)
        got = list(following)
        run = ulpscope.open(PLAIN, attempts="last")
        accumulated = run.steps.take(run.steps["microbatch"] == -1)
        self.assertEqual([dict(step) for step in got], accumulated.records())
        self.assertEqual(following.state, "closed")
        of_all = run.rows.take(run.rows["microbatch"] == -1)
        self.assertEqual([row for step in got for row in step.rows.records()], of_all.records())
        self.assertEqual(sum(step.cells["count"].sum() for step in got), run.cells["count"].sum())
        self.assertIsNone(next(ulpscope.follow(PLAIN)).cells)

    def test_following_a_job(self):
        from ulpscope import Recorder

        path = self.path("run.ulp")
        following = ulpscope.follow(path, timeout=0.1, interval=0.02, tensor="^b$")
        self.assertEqual(list(following), [])
        self.assertEqual(following.state, "awaited")
        with Recorder(path, strict=True) as rec:
            for step in range(3):
                rec.step(step, loss_scale=1, grads={"a": np.float32([1, 2]), "b": np.float32([np.inf, step])})
                (got,) = following
                self.assertEqual((got["step"], got.rows["tensor"].tolist(), got.rows["inf"].tolist()), (step, ["b"], [1]))
                self.assertEqual(following.state, "recording")
            threading.Timer(0.2, lambda: rec.step(3, loss_scale=1, grads={"b": np.float32([7])})).start()
            self.assertEqual(next(ulpscope.follow(path, steps="3:", timeout=30, interval=0.02))["step"], 3)
        self.assertEqual([step["step"] for step in following], [3])
        self.assertEqual((list(following), following.state), ([], "closed"))

    def test_copies_and_rows_of_tables(self):
        table = ulpscope.replay(PLAIN, "pytorch", "float16", per_tensor=True)
        for made in (table.copy(), copy.copy(table), copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
            self.assertIsInstance(made, ulpscope.Table)
            self.assertEqual(made.records(), table.records())
            self.assertEqual((made.notes, made.summary, made.schema), (table.notes, table.summary, table.schema))
            self.assertEqual(made.per_tensor.height, table.per_tensor.height)
        last = table.records()[-1]
        mask = np.arange(table.height) == table.height - 1
        for rows in ([-1], (-1,), mask, mask.tolist(), slice(-1, None), np.array([-1])):
            self.assertEqual(table.take(rows).records(), [last])
        self.assertEqual(table.take([]).height, 0)
        for rows, error, text in (
            (None, TypeError, "None is neither positions nor a mask"),
            (3, TypeError, r"3 is neither positions nor a mask; \[3\] is one row"),
            ("step", TypeError, "'step' is neither"),
            ([10**6], IndexError, "out of bounds"),
            (mask[1:], IndexError, "boolean"),
        ):
            with self.assertRaisesRegex(error, text):
                table.take(rows)

    def test_what_cannot_be_followed(self):
        for ask, error, text in (
            (lambda: next(ulpscope.follow(DUMP)), ValueError, "recording"),
            (lambda: ulpscope.follow(PLAIN, timeout=-1), ValueError, "timeout=-1"),
            (lambda: ulpscope.follow(PLAIN, timeout=math.nan), ValueError, "timeout=nan"),
            (lambda: ulpscope.follow(PLAIN, interval=0), ValueError, "interval=0"),
            (lambda: ulpscope.follow(PLAIN, colour=1), TypeError, "colour"),
            (lambda: ulpscope.follow(None), TypeError, "NoneType"),
        ):
            with self.assertRaisesRegex(error, text):
                ask()

    def test_formats_by_type(self):
        wanted = ulpscope.outcomes(PLAIN, "float16").records()
        self.assertEqual(ulpscope.outcomes(PLAIN, np.float16).records(), wanted)
        self.assertEqual(ulpscope.outcomes(PLAIN, np.dtype("float16")).records(), wanted)
        bits = [{**row, "format": "float16"} for row in ulpscope.outcomes(PLAIN, (5, 10)).records()]
        self.assertEqual(bits, wanted)
        if has("torch"):
            import torch

            self.assertEqual(ulpscope.outcomes(PLAIN, torch.float16).records(), wanted)

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_pandas_takes_tables(self):
        import pandas

        run = ulpscope.open(PLAIN)
        for table in (
            run.steps, run.rows, run.tensors, run.cells, run.replay("pytorch", "fp16"), run.outcomes("fp16"),
            run.sweep("pytorch", "fp16"), run.advise(), ulpscope.scalers(),
        ):  # fmt: skip
            frame = pandas.DataFrame(table)
            self.assertEqual(len(frame), table.height)
            self.assertEqual(list(frame), list(table))
        frame = pandas.DataFrame(run.rows)
        self.assertEqual(frame.groupby("tensor")["numel"].sum().sum(), run.rows["numel"].sum())


class Pictures(InFolder):
    def test_each_view_is_well_formed_and_shows_what_the_page_shows(self):
        self.assertEqual(ulpscope.views(), ["window", "scale", "layers", "clipping", "logged"])
        ulp("report", DIGITS, "--scaler", "megatron", "--format", "float16", "--clip-norm", "1", "-o", self.path("p.html"))
        with open(self.path("p.html"), encoding="utf-8") as file:
            page = file.read()
        for view in ulpscope.views():
            picture = ulpscope.open(DIGITS).plot(view, scaler="megatron", format="float16", clip_norm=1)
            self.assertEqual(picture._repr_svg_(), picture.svg)
            root = xml.etree.ElementTree.fromstring(picture.svg)
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            self.assertNotIn("var(", picture.svg)
            self.assertNotIn("script", picture.svg)
            drawn = [d for d in root.iter("{http://www.w3.org/2000/svg}g") if d.get("aria-label")]
            self.assertGreaterEqual(len(drawn), 1)
            for drawing in drawn:  # the same strokes as on the page
                path = max((p.get("d") for p in drawing.iter("{http://www.w3.org/2000/svg}path")), key=len)
                self.assertGreater(len(path), 20)
                self.assertIn(path, page)
            picture.save(self.path("p.svg"))
            with open(self.path("p.svg"), encoding="utf-8") as file:
                self.assertEqual(file.read(), picture.svg)

    def test_what_cannot_be_drawn_says_so(self):
        with self.assertRaisesRegex(ValueError, "unknown view 'colours': one of window, scale"):
            ulpscope.open(DIGITS).plot("colours")
        with self.assertRaisesRegex(ValueError, "nothing to draw in 'scale': it holds 1 step"):
            ulpscope.open(DUMP).plot("scale")
        with self.assertRaisesRegex(ValueError, "nothing to draw in 'layers': no tensor loses anything to underflow"):
            ulpscope.open(DIGITS).plot("layers", format="float32")
        with open(self.path("log.csv"), "w") as file:
            file.write("step,found_inf\n0,1\n1,0\n2,0\n")
        with self.assertRaisesRegex(ValueError, "nothing to draw in 'window'"):
            ulpscope.open(self.path("log.csv")).plot("window")

    def test_hostile_names_stay_text(self):
        name = "</style><script>&\"'"
        for step in range(3):
            x = (np.arange(1, 100) * 1e-13).astype("<f4")
            save_safetensors(self.path(f"step{step}.safetensors"), {name: ("F32", [99], x.tobytes())})
        paths = [self.path(f"step{step}.safetensors") for step in range(3)]
        self.assertEqual(ulpscope.open(paths).tensors["tensor"].tolist(), [name])
        svg = ulpscope.open(paths).plot("layers").svg
        xml.etree.ElementTree.fromstring(svg)
        self.assertNotIn("<script>", svg)
        self.assertIn("&lt;script&gt;&amp;", svg)


class Errors(InFolder):
    def sentence(self, *arguments):
        """The line that the program prints, without its name."""
        done = subprocess.run([ULP, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stdout)
        return done.stderr.strip().splitlines()[-1].removeprefix("ulp: ")

    def test_sentences_are_those_of_the_program(self):
        path = self.path("x.ulp")
        with open(path, "w") as file:
            file.write("no recording")
        for ask, *arguments in (
            (lambda: ulpscope.open(path), "info", path),
            (lambda: ulpscope.replay(DIGITS, "pytorch"), "replay", DIGITS, "--scaler", "pytorch"),
            (lambda: ulpscope.replay(DIGITS, format="fp16"), "replay", DIGITS, "--format", "fp16"),
            (lambda: ulpscope.replay(DIGITS, "pytorh", "fp16"), "replay", DIGITS, "--scaler", "pytorh", "--format", "fp16"),
            (lambda: ulpscope.outcomes(DIGITS, "fp17"), "outcomes", DIGITS, "--format", "fp17"),
            (lambda: ulpscope.outcomes(DIGITS, "fp16", scale=-1), "outcomes", DIGITS, "--format", "fp16", "--scale=-1"),
            (lambda: ulpscope.outcomes(DIGITS, "fp16", sort="x"), "outcomes", DIGITS, "--format", "fp16", "--sort", "x"),
            (
                lambda: ulpscope.outcomes(DIGITS, "fp16", tensor="fcc1"),
                "outcomes", DIGITS, "--format", "fp16", "--tensor", "fcc1",
            ),
            (lambda: ulpscope.advise(DIGITS, tensor="("), "advise", DIGITS, "--tensor", "("),
            (lambda: ulpscope.advise(DIGITS, steps="9:1"), "advise", DIGITS, "--steps", "9:1"),
            (lambda: ulpscope.advise(DIGITS, steps="99999:"), "advise", DIGITS, "--steps", "99999:"),
            (
                lambda: ulpscope.sweep(DIGITS, ["pytorch", "pytorch"], "fp16"),
                "sweep", DIGITS, "--scaler", "pytorch,pytorch", "--format", "fp16",
            ),
            (
                lambda: ulpscope.replay(DIGITS, "pytorch", "fp16", set={"backoff_factor": 2}),
                "replay", DIGITS, "--scaler", "pytorch", "--format", "fp16", "--set", "backoff_factor=2",
            ),
            (
                lambda: ulpscope.replay(DIGITS, "pytorch", "fp16", clip_norm=0),
                "replay", DIGITS, "--scaler", "pytorch", "--format", "fp16", "--clip-norm", "0",
            ),
        ):  # fmt: skip
            with self.subTest(arguments=arguments):
                with self.assertRaises(ValueError) as caught:
                    ask()
                self.assertEqual(str(caught.exception), self.sentence(*arguments))

    def test_missing_files_and_unknown_options(self):
        for ask in (
            lambda: ulpscope.open(self.path("none.ulp")),
            lambda: ulpscope.replay(self.path("none.ulp"), "pytorch", "fp16"),
            lambda: ulpscope.open([DUMP, self.path("none.npz")]),
            lambda: ulpscope.replay(DIGITS, config=self.path("none.json"), format="fp16"),
            lambda: ulpscope.open(DUMP, scalars=self.path("none.csv")),
        ):
            with self.assertRaisesRegex(FileNotFoundError, "none"):
                ask()
        for ask, text in (
            (lambda: ulpscope.replay(DIGITS, "pytorch", "fp16", clip_nrom=1), "did you mean 'clip_norm'"),
            (lambda: ulpscope.outcomes(DIGITS, "fp16", scaler="pytorch"), "no option 'scaler'"),
            (lambda: ulpscope.open(DIGITS, scale=1), "no option 'scale'"),
            (lambda: ulpscope.advise(DIGITS, format=object()), "format|object"),
            (lambda: ulpscope.open(3), "int"),
            (lambda: ulpscope.replay(DIGITS, "pytorch", "fp16", clip_norm=object()), "clip_norm"),
        ):
            with self.assertRaisesRegex((TypeError, ValueError), text):
                ask()
        for ask in (lambda: ulpscope.open([]), lambda: ulpscope.open("-"), lambda: ulpscope.Recording(DUMP)):
            with self.assertRaises(ValueError):
                ask()

    def test_tables_show_their_rows(self):
        run = ulpscope.open(DIGITS)
        table = run.tensors
        self.assertEqual(len(table), table.height)
        lines = repr(table).splitlines()
        self.assertEqual(len(lines), 2 + len(table))
        self.assertEqual(lines[0], f"<Table: {len(table)} rows of {len(table.keys())} columns>")
        for name, line in zip(table["tensor"], lines[2:]):
            self.assertTrue(line.startswith(name), line)
        steps = run.steps
        self.assertGreater(len(steps), 20)
        self.assertEqual(repr(steps).count("\n..") + repr(steps).count("\n ..."), 1)
        shown = steps._repr_html_()
        self.assertEqual(shown.count("<tr>"), 1 + 10 + 1 + 5)
        self.assertIn(f"{len(steps)} rows", shown)
        self.assertIn("&lt;b&gt;", type(table)({"<b>": np.array(["x"], object)})._repr_html_())
        self.assertFalse(table.take([]))

    def test_values_that_mean_nothing(self):
        for settings, error in (
            ({"saturate": "False"}, TypeError),
            ({"saturate": 2}, TypeError),
            ({"per_tensor": "yes"}, TypeError),
            ({"clip_norm": [1, 2]}, TypeError),
            ({"every": 1.5}, ValueError),
            ({"every": -1}, ValueError),
            ({"seed": -1}, ValueError),
            ({"seed": 2**64}, ValueError),
            ({"attempts": "second"}, ValueError),
            ({"steps": 7.5}, ValueError),
            ({"set": {"growth_interval": None}}, ValueError),
            ({"group": "no equals sign"}, ValueError),
            ({"tensor": "\udcff"}, (ValueError, UnicodeError)),
            ({"limit": "nonsense=1"}, ValueError),
        ):
            with self.subTest(settings=settings), self.assertRaises(error):
                ulpscope.replay(DIGITS, "pytorch", "fp16", **settings)
        for settings in ({"every": np.int64(2)}, {"clip_norm": np.float32(0.5)}, {"seed": 2**64 - 1}, {"saturate": np.True_}):
            self.assertGreater(ulpscope.replay(DIGITS, "pytorch", "fp16", **settings).height, 0)
        with self.assertRaisesRegex(ValueError, "--scale: the list is empty"):
            ulpscope.outcomes(DIGITS, "fp16", scale=[])

    def test_arrays_are_lists_and_numbers_of_numpy_numbers(self):
        scales = ulpscope.outcomes(DIGITS, "fp16", scale=[1, 1024])
        for given in (np.array([1, 1024]), np.float32([1, 1024]), (np.float64(1), np.float32(1024))):
            self.assertEqual(ulpscope.outcomes(DIGITS, "fp16", scale=given).records(), scales.records())
        windows = ulpscope.sweep(DIGITS, "pytorch", "fp16", window=[50, 51])
        for given in (np.array([50, 51]), range(50, 52)):
            self.assertEqual(ulpscope.sweep(DIGITS, "pytorch", "fp16", window=given).records(), windows.records())
        for given in (np.float64(1024), np.array(1024.0), np.array(1024)):
            self.assertEqual(ulpscope.scaler("megatron", initial_scale=given).scale, 1024)
        with self.assertRaisesRegex(TypeError, "tensor: takes text or a number, not list"):
            ulpscope.open(DIGITS, tensor=np.array(["^fc$"]))
        self.assertEqual(ulpscope.outcomes(iter([DIGITS]), "fp16").height, ulpscope.outcomes(DIGITS, "fp16").height)

    def test_damaged_files_are_refused(self):
        with open(PLAIN, "rb") as file:
            good = file.read()
        for at in (100, 5000, len(good) // 2, len(good) - 300):
            with open(self.path("bad.ulp"), "wb") as file:
                file.write(good[:at] + bytes(255 - b for b in good[at : at + 64]) + good[at + 64 :])
            with self.subTest(at=at):
                try:
                    opened = ulpscope.open(self.path("bad.ulp"))
                    self.assertEqual(opened.rows.records(), ulpscope.open(PLAIN).rows.records())
                except ValueError as error:
                    self.assertIn("bad.ulp", str(error))
            with open(self.path("cut.ulp"), "wb") as file:
                file.write(good[:at])
            with self.assertRaises(ValueError):
                ulpscope.open(self.path("cut.ulp"))
        malformed = os.path.join(SHARED, "malformed")
        if os.path.isdir(malformed):
            for name in sorted(os.listdir(malformed)):
                try:
                    ulpscope.open(os.path.join(malformed, name)).rows
                except ValueError as error:
                    self.assertIn(name, str(error))


class Documented(InFolder):
    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_the_examples_of_the_documentation_run(self):
        with open(os.path.join(SOURCE, "docs", "python.md"), encoding="utf-8") as file:
            blocks = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertGreaterEqual(len(blocks), 6)
        os.symlink(os.path.join(SOURCE, "examples"), self.path("examples"))
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", "\n".join(blocks)], cwd=self.folder, capture_output=True, text=True
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("32768.0 True", done.stdout)  # Megatron's hysteresis: the second overflow halves
        self.assertTrue(os.path.exists(self.path("window.svg")))

    def test_every_public_name_has_a_docstring_and_types(self):
        import inspect

        checked = 0
        for name in sorted(ulpscope._PLACES):
            if ulpscope._PLACES[name] not in ("_recorded_runs", "_scalers", "_run_tables"):
                continue
            thing = getattr(ulpscope, name)
            self.assertTrue(inspect.getdoc(thing), name)
            functions = [thing] if inspect.isfunction(thing) else []
            if inspect.isclass(thing):
                functions += [f for n, f in vars(thing).items() if inspect.isfunction(f) and not n.startswith("__")]
                functions += [f.fget for f in vars(thing).values() if isinstance(f, property)]
            for function in functions:
                if function.__name__.startswith("_"):
                    continue
                self.assertTrue(inspect.getdoc(function), function)
                for parameter in inspect.signature(function).parameters.values():
                    self.assertTrue(
                        parameter.name == "self" or parameter.annotation is not inspect.Parameter.empty,
                        (function, parameter),
                    )
                self.assertIn("return", function.__annotations__, function)
                checked += 1
        self.assertGreater(checked, 30)


class Running(InFolder):
    def long_log(self):
        path = self.path("long.csv")
        with open(path, "w") as file:
            file.write("step,maxabs\n")
            file.writelines(f"{step},{(step % 97 + 1) / 64}\n" for step in range(1_000_000))
        return path

    def test_ctrl_c_ends_long_work(self):
        path = self.long_log()
        code = (
            "import ulpscope, sys\n"
            "print('ready', flush=True)\n"
            "try:\n"
            f"    while True: ulpscope.sweep({path!r}, ['pytorch', 'megatron', 'cerebras'], 'fp16', window=[9, 99, 999])\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted', flush=True)\n"
        )
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        time.sleep(1)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.communicate(timeout=60)[0], "interrupted\n")
        self.assertLess(time.monotonic() - sent, 20)
        self.assertEqual(child.returncode, 0)

    def test_other_threads_run_meanwhile(self):
        path = self.long_log()
        ticks, done = [], threading.Event()

        def tick():
            while not done.wait(0.005):
                ticks.append(time.monotonic())

        ticking = threading.Thread(target=tick)
        ticking.start()
        began = time.monotonic()
        ulpscope.outcomes  # what is loaded lazily is loaded
        table = ulpscope.replay(path, "pytorch", "fp16")
        took = time.monotonic() - began
        done.set()
        ticking.join()
        self.assertEqual(table.height, 1_000_000)
        self.assertGreater(len(ticks), 5 * took)

    def test_threads_get_what_one_gets(self):
        wanted = {path: ulpscope.replay(path, "megatron", "fp16").summary for path in RECORDINGS}
        seen, errors = [], []

        def ask(path):
            try:
                for _ in range(3):
                    seen.append((path, ulpscope.replay(path, "megatron", "fp16").summary))
            except Exception as error:  # told to the test's own thread
                errors.append(error)

        threads = [threading.Thread(target=ask, args=(path,)) for path in RECORDINGS * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(len(seen), 6 * len(RECORDINGS))
        for path, summary in seen:
            self.assertEqual(summary, wanted[path])

    def test_the_package_imports_without_numpy(self):
        code = (
            "import sys\n"
            "sys.modules['numpy'] = None\n"
            "import ulpscope\n"
            "assert ulpscope.__version__\n"
            "print(ulpscope.scaler('pytorch').scale)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("65536.0\n", ""))


if __name__ == "__main__":
    unittest.main()
