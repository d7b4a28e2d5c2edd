"""Pins what a Recorder keeps of TransformerEngine's scales: stand-ins that have its modules' attributes go through golden traces, whose
scales its own code made; the replay of the recording must have the same, and name the first that was changed."""

import json
import os
import tempfile
import unittest
import warnings
from pathlib import Path

import support

support.need("torch")

import torch  # noqa: E402

recorder = support.load()
GOLDEN = Path(support.SOURCE) / "tests/data/golden_fp8"


class State:
    """DelayedScalingRecipeState: scale and amax_history, whose slot 0 gathers the amax of what is being computed."""

    def __init__(self, length, tensors):
        self.scale = torch.ones(tensors)
        self.amax_history = torch.zeros(length, tensors)

    def cast(self, column, amax):
        self.amax_history[0, column] = amax

    def update(self, column, scale):
        """common/recipe/delayed_scaling.cu: where there is an amax, it becomes the last of the history, and the first slot is cleared."""
        if self.amax_history[0, column] != 0:
            self.amax_history[:, column] = torch.roll(self.amax_history[:, column], -1, 0)
            self.amax_history[0, column] = 0
        self.scale[column] = scale


class Linear(torch.nn.Linear):
    """With what transformer_engine.pytorch.Linear has beside, before its first forward pass."""

    def __init__(self, length):
        super().__init__(2, 2)
        self.length = length
        self.fp8_meta = {"fp8_checkpoint": False, "fp8_group": None, "num_gemms": 1}

    def begin(self):
        self.fp8_meta.update(scaling_fwd=State(self.length, 3), scaling_bwd=State(self.length, 2))


class Golden:
    """A trace of three tensors: (step, tensor, amax, scale after)."""

    def __init__(self, name):
        lines = (GOLDEN / f"{name}.csv").read_text().splitlines()
        columns = lines[1].split(",")
        at = [columns.index(c) for c in ("step", "tensor", "amax", "scale_after")]
        number = lambda text: float.fromhex(text) if text.startswith("0x") else float(text)
        rows = [line.split(",") for line in lines[2:]]
        self.rows = [(int(r[at[0]]), r[at[1]], number(r[at[2]]), number(r[at[3]])) for r in rows]
        self.steps = sorted({step for step, *_ in self.rows})

    def of(self, step):
        return [(tensor, amax, scale) for s, tensor, amax, scale in self.rows if s == step]


BULK = "te_delayed_bulk_max_h4_m1_e5m2"
SETTINGS = ["--set", "amax_history_len=4", "--set", "margin=1"]
PLACES = {"a": ("scaling_fwd", 0), "b": ("scaling_fwd", 1), "c": ("scaling_bwd", 0)}
NAMES = {"a": "1.GEMM1_INPUT", "b": "1.GEMM1_WEIGHT", "c": "1.GRAD_OUTPUT1"}


def model_of(length):
    return torch.nn.Sequential(torch.nn.Linear(2, 2), Linear(length))


def train(path, trace, length, *, changed=None, together=1, resume=None, **options):
    """Records the trace: of `together` micro-batches one step; changed: (step, tensor, scale) is what the run has instead."""
    model = model_of(length)
    rec = recorder.Recorder(path, model, fp8_scales="1", strict=True, **options)
    of = model[1]
    for step in trace.steps:
        if "scaling_fwd" not in of.fp8_meta:
            of.begin()
        for tensor, amax, scale in trace.of(step):
            key, column = PLACES[tensor]
            if changed is not None and changed[:2] == (step, tensor):
                scale = changed[2]
            of.fp8_meta[key].cast(column, amax)
            of.fp8_meta[key].update(column, scale)
        if step == resume:  # a job that goes on: what came before is in its checkpoint alone
            rec.close()
            os.remove(path)
            rec = recorder.Recorder(path, model, fp8_scales="1", strict=True, **options)
        elif (step + 1) % together == 0:
            for parameter in model.parameters():
                parameter.grad = torch.ones_like(parameter)
            rec.step(step, loss_scale=1)
    rec.close()


def replayed(path, *arguments):
    return json.loads(support.ulp("replay", path, *arguments, "--json"))["summary"]


class Scales(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "run.ulp")

    def check(self, summary, steps, tensor_steps):
        self.assertEqual([summary["live_steps"], summary["live_tensor_steps"]], [steps, tensor_steps])

    def test_a_run_is_its_own_replay(self):
        trace = Golden(BULK)
        train(self.path, trace, 4)
        summary = replayed(self.path, "--recipe", "te_delayed:e5m2", *SETTINGS)
        self.check(summary, len(trace.steps), len(trace.rows))
        self.assertEqual(summary["live_equal_steps"], summary["live_steps"])
        self.assertEqual(summary["live_equal_tensor_steps"], summary["live_tensor_steps"])
        self.assertIsNone(summary["first_difference_step"])
        by_scaler = replayed(self.path, "--scaler", "te", "--format", "float8_e5m2", *SETTINGS)
        self.assertEqual(by_scaler["live_equal_tensor_steps"], summary["live_tensor_steps"])

    def test_its_rows_are_the_trace(self):
        trace = Golden(BULK)
        train(self.path, trace, 4)
        lines = support.ulp("replay", self.path, "--recipe", "te_delayed:e5m2", *SETTINGS, "--hex", "--csv", "-").splitlines()
        columns = lines[0].split(",")
        self.assertEqual(columns[-1], "live_scale")
        number = lambda text: float.fromhex(text) if text.startswith("0x") else float(text)
        got = {(int(r[0]), r[1]): r for r in (line.split(",") for line in lines[1:])}
        self.assertEqual(len(got), len(trace.rows))
        for step, tensor, amax, scale in trace.rows:
            row = got[step, NAMES[tensor]]
            for column, want in (("amax", amax), ("scale_after", scale), ("live_scale", scale)):
                value = number(row[columns.index(column)])
                self.assertTrue(value == want or (value != value and want != want), (step, tensor, column))

    def test_another_recipe_differs_and_the_first_place_is_named(self):
        trace = Golden(BULK)
        step, tensor = trace.steps[60], "b"
        train(self.path, trace, 4, changed=(step, tensor, 3.0))
        summary = replayed(self.path, "--recipe", "te_delayed:e5m2", *SETTINGS)
        self.assertEqual(summary["live_equal_steps"], summary["live_steps"] - 1)
        self.assertEqual(summary["live_equal_tensor_steps"], summary["live_tensor_steps"] - 1)
        self.assertEqual(summary["first_difference_step"], step)
        self.assertEqual(summary["first_difference_tensor"], NAMES[tensor])
        self.assertEqual(summary["first_difference_live"], 3.0)
        other = replayed(self.path, "--recipe", "te_delayed:e4m3", *SETTINGS)
        self.assertLess(other["live_equal_steps"], 100)
        self.assertEqual(other["first_difference_step"], 0)

    def test_micro_batches(self):
        trace = Golden(BULK)
        train(self.path, trace, 4, together=2)
        summary = replayed(self.path, "--recipe", "te_delayed:e5m2", *SETTINGS)
        self.assertEqual(summary["live_steps"], len(trace.steps) // 2)
        self.assertEqual(summary["live_equal_tensor_steps"], summary["live_tensor_steps"])

    def test_a_job_that_goes_on(self):
        trace = Golden(BULK)
        train(self.path, trace, 4, resume=20)
        summary = replayed(self.path, "--recipe", "te_delayed:e5m2", *SETTINGS)
        self.assertLess(summary["live_tensor_steps"], len(trace.rows))
        self.assertGreater(summary["live_equal_tensor_steps"], 0.9 * summary["live_tensor_steps"])

    def test_what_is_recorded_is_sound(self):
        train(self.path, Golden(BULK), 4)
        support.check(self.path)

    def test_refusals(self):
        with self.assertRaisesRegex(recorder.RecorderError, "matches no module with fp8_meta"):
            recorder.Recorder(self.path, torch.nn.Linear(2, 2), fp8_scales=".")
        with self.assertRaisesRegex(recorder.RecorderError, "a scale depends on all steps"):
            recorder.Recorder(self.path, model_of(4), fp8_scales=".", every=2)
        self.assertFalse(os.path.exists(self.path))

    def test_a_history_of_one_amax_is_said_once(self):
        trace = Golden(BULK)
        trace.steps = trace.steps[:3]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            train(self.path, trace, 1)
        self.assertEqual(sum("history of one amax" in str(w.message) for w in caught), 1)


if __name__ == "__main__":
    unittest.main()
