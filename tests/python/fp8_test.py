"""Pins FP8 policies and replays from Python to golden traces and to the command's own numbers."""

import copy
import json
import math
import pickle
import tempfile
import unittest
from pathlib import Path

from support import SOURCE, need, need_compiled, ulp

need("numpy")
need_compiled("_runs")

import numpy

import ulpscope

GOLDEN = Path(SOURCE) / "tests/data/golden_fp8"


def number(text):
    return float.fromhex(text) if text.startswith("0x") else float(text)


def policy_of(path):
    names = [n for n, scope in zip(*(ulpscope.scalers()[k] for k in ("scaler", "scope"))) if scope == "tensor"]
    return next(n for n in names if path.name.startswith(n))


class Traces(unittest.TestCase):
    def test_every_golden_trace(self):
        files = sorted(GOLDEN.glob("*.csv"))
        self.assertEqual(len(files), 11)
        for path in files:
            lines = path.read_text().splitlines()
            header = dict(w.split("=", 1) for w in lines[0].split() if "=" in w)
            columns = lines[1].split(",")
            rows = [line.split(",") for line in lines[2:]]
            parameters = {
                k: number(v) if v[0].isdigit() else v
                for k, v in header.items()
                if k not in ("source", "rule", "format", "scale", "value_for_inf")
            }
            form = "float8_e5m2" if header.get("format") == "e5m2" else "float8_e4m3fn"
            start = ulpscope.Scaler(policy_of(path), parameters=parameters, format=form)
            self.assertIsInstance(start, ulpscope.Fp8Scaler)
            for tensor in ("a", "b", "c"):
                of_tensor = [r for r in rows if r[1] == tensor]
                got = start.copy().run([number(r[2]) for r in of_tensor])
                for name in ("scale_before", "scale_used", "scale_after"):
                    if name not in columns:
                        continue
                    want = numpy.array([number(r[columns.index(name)]) for r in of_tensor])
                    numpy.testing.assert_array_equal(got[name], want, f"{path.name} {tensor} {name}")


class Steps(unittest.TestCase):
    def test_one_at_a_time(self):
        scaler = ulpscope.Scaler("te", amax_history_len=2)
        self.assertEqual(scaler.update(2.0), 1)
        self.assertEqual(scaler.scale, 224)
        self.assertEqual(scaler.update(1.0), 224)
        self.assertEqual(scaler.largest, 448)
        self.assertEqual(scaler.parameters["amax_history_len"], 2)
        other = copy.copy(scaler)
        other.update(0.5)
        self.assertEqual((scaler.scale, other.scale), (224, 448))
        self.assertIn("te_delayed_bulk to float8_e4m3fn", repr(scaler))

    def test_pickles_go_on_as_the_policy_does(self):
        amaxes = [2, 0, math.inf, 1, math.nan, 1e-3, 8, 0.5, 3, 1, 1, 0.25, 4, math.inf, 2, 1]
        names = [n for n, scope in zip(*(ulpscope.scalers()[k] for k in ("scaler", "scope"))) if scope == "tensor"]
        self.assertGreater(len(names), 10)
        for name in names:
            length = {"msamp": "window_size"}.get(name, "amax_history_len")
            known = ulpscope.Scaler(name).parameters
            scaler = ulpscope.Scaler(name, format="float8_e5m2", parameters={length: 3} if length in known else {})
            for i, amax in enumerate(amaxes):
                loaded = pickle.loads(pickle.dumps(scaler))
                self.assertIs(type(loaded), ulpscope.Fp8Scaler)
                self.assertEqual(repr(loaded), repr(scaler))
                self.assertEqual(loaded.parameters, scaler.parameters)
                want, got = scaler.copy().run(amaxes[i:]), loaded.run(amaxes[i:])
                for column in ("scale_before", "scale_used", "scale_after", "held"):
                    numpy.testing.assert_array_equal(got[column], want[column], f"{name} {column}")
                scaler.update(amax)

    def test_a_state_of_another_policy_is_refused(self):
        make, (of, name, form, parameters, state) = ulpscope.Scaler("te").__reduce__()
        for wrong in ([], state[:-1], [*state, 1.0], [1.0, 2.0, 0.0, 1e9], [1.0, -1.0, 0.0, 0.0], [1.0, 0.5, 0.0, 0.0]):
            with self.assertRaisesRegex(ValueError, "the state is none of this policy"):
                make(of, name, form, parameters, wrong)

    def test_names_stay_with_their_class(self):
        self.assertIs(type(ulpscope.Scaler("pytorch")), ulpscope.Scaler)
        self.assertIs(type(ulpscope.scaler("flax_delayed")), ulpscope.Fp8Scaler)
        self.assertTrue(ulpscope.scaler("flax_delayed").divides)

    def test_bad_input(self):
        with self.assertRaisesRegex(ValueError, "amax_history_len must be at least 1"):
            ulpscope.Scaler("te", amax_history_len=0)
        with self.assertRaises(TypeError):
            ulpscope.Scaler("te", history=4)
        with self.assertRaisesRegex(ValueError, "below 0"):
            ulpscope.Scaler("te").run([1.0, -1.0])
        with self.assertRaisesRegex(ValueError, "of shape \\(1, 2\\)"):
            ulpscope.Scaler("te").run([[1.0, 2.0]])
        with self.assertRaises(TypeError):
            ulpscope.Scaler("te", start={"scale": 1})
        for name in ("nope", "pytorch", ""):
            with self.assertRaises(ValueError):
                ulpscope.Fp8Scaler(name)
        for amax in (None, [1, 2], "1", 1j, numpy.ones(2)):
            with self.assertRaises(TypeError):
                ulpscope.Fp8Scaler("te").update(amax)
        with self.assertRaisesRegex(ValueError, "remove one of recipe and scaler"):
            ulpscope.replay(str(Path(SOURCE) / "examples/digits.ulp"), "te", recipe="te_delayed")

    def test_infinity_is_held(self):
        table = ulpscope.Scaler("te", amax_history_len=2).run([1, math.inf, 1, 1])
        self.assertEqual(list(table["held"]), [False, True, True, False])


class Replays(unittest.TestCase):
    RUN = str(Path(SOURCE) / "examples/digits.ulp")

    def test_recipe(self):
        table = ulpscope.replay(self.RUN, recipe="te_delayed:hybrid", amax_history_len=16)
        self.assertEqual(table.summary["recipe"], "te_delayed:hybrid")
        self.assertEqual(table.summary["parameters"]["amax_history_len"], 16)
        self.assertEqual(len(table["step"]), table.summary["tensor_steps"])
        self.assertEqual(int(table["saturates"].sum()), table.summary["saturating_tensor_steps"])
        self.assertEqual(set(table.per_tensor["tensor"]), set(table["tensor"]))

    def test_sweeps_are_those_of_the_program(self):
        got = ulpscope.sweep(self.RUN, recipe=["te_delayed", "te_current"], amax_history_len=[1, 16])
        want = json.loads(
            ulp("sweep", self.RUN, "--recipe", "te_delayed,te_current", "--set", "amax_history_len=1,16", "--json")
        )
        self.assertEqual(len(got), 3)
        for name in ("recipe", "saturating_steps", "stale_steps", "underflow_high", "not_finite_underflow_low", "pareto"):
            self.assertEqual(list(got[name]), [row[name] for row in want], name)
        by_policy = ulpscope.sweep(self.RUN, "te,torchao", "float8_e5m2")
        self.assertEqual(sorted(by_policy["scaler"]), ["te", "torchao"])
        with self.assertRaisesRegex(TypeError, "no option 'epsilon'"):
            ulpscope.sweep(self.RUN, recipe="te_delayed", epsilon=1)
        with self.assertRaisesRegex(ValueError, "asked for twice"):
            ulpscope.sweep(self.RUN, recipe=["te_delayed", "te_delayed"])

    def test_amaxes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "amax.csv"
            path.write_text("step,tensor,amax\n0,w,2\n1,w,0x1p+0\n2,w,inf\n")
            table = ulpscope.replay(path, "te", "float8_e4m3fn", amax_history_len=1)
        self.assertEqual(list(table["scale_used"]), [1, 224, 448])
        self.assertEqual(list(table["scale_after"]), [224, 448, 448])
        self.assertNotIn("numel", table)


if __name__ == "__main__":
    unittest.main()
