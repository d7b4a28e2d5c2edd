"""Pins the scalers of the package, stepped one by one, to traces of the frameworks' own code, and what they refuse."""

import contextlib
import copy
import csv
import math
import os
import pickle
import unittest

from support import SOURCE, json_of, need, need_compiled

need("numpy")
need_compiled("_runs")

import numpy as np

import ulpscope

GOLDEN = os.path.join(SOURCE, "tests", "data", "golden")
SHARED = os.path.join(SOURCE, "..", "shared", "golden")
CASES = ("always100", "bursts_small", "p01", "loop_walk")

# Scaler, configuration (of the files), parameters, the folder where it is not the scaler's.
CONFIGURATIONS = [
    ("apex_amp", "default", {}, None),
    ("apex_fp16_utils", "default", {}, None),
    ("cerebras_dls", "float16_default", {"fp16_type": "float16"}, None),
    ("cerebras_dls", "cbfloat16_default", {"fp16_type": "cbfloat16"}, None),
    ("colossalai_mixin", "mixin_default", {}, "colossalai_dynamic"),
    ("deepspeed_dynamic", "class_default", {}, None),
    ("deepspeed", "json_default", {}, "deepspeed_dynamic"),
    ("deepspeed_fused", "default", {}, "deepspeed_fused_nonzero"),
    ("fairscale_dynamic", "default", {}, None),
    ("fairseq_dynamic", "class_default", {}, None),
    ("fairseq_cli", "cli_default_1gpu", {}, "fairseq_dynamic"),
    ("jmp_dynamic", "default", {}, None),
    ("keras3_lso", "default", {}, None),
    ("megatron_dynamic", "default", {}, None),
    ("metaseq_dynamic", "default", {}, None),
    ("mindspore_manager", "default", {}, None),
    ("paddle_dygraph", "gradscaler_default", {}, None),
    ("paddle_static", "default", {}, None),
    ("pytorch_gradscaler", "default", {}, None),
    ("tf_contrib_exponential", "default_2000", {}, None),
    ("tf_keras_dynamic", "default", {}, None),
]

EXHAUSTIVE = [
    ("pytorch_gradscaler", "pytorch_gradscaler", {"init_scale": 1024, "growth_interval": 3}),
    ("nemo_gradscaler", "nemo_gradscaler", {"init_scale": 1024, "growth_interval": 3, "hysteresis": 2}),
    ("tf_keras_dynamic", "tf_keras_dynamic", {"initial_loss_scale": 4, "growth_steps": 3}),
    ("deepspeed_dynamic_raise", "deepspeed_dynamic", {"init_scale": 4, "scale_window": 3}),
    ("deepspeed_fused_nonzero", "deepspeed_fused_nonzero", {"cur_scale": 1024, "scale_window": 3}),
    ("megatron_dynamic_h2", "megatron_dynamic", {"initial_scale": 1024, "growth_interval": 3}),
    ("fairseq_tol0.5", "fairseq_dynamic", {"init_scale": 1024, "scale_window": 3, "tolerance": 0.5}),
    ("metaseq", "metaseq_dynamic", {"init_scale": 4, "scale_window": 4}),
    (
        "cerebras_dls_tol0.3",
        "cerebras_dls",
        {"init_scale": 1024, "steps_per_increase": 3, "max_loss_scale": 16384, "overflow_tolerance": 0.3},
    ),
]


def rows(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))[1:]


def inputs(folder, case):
    with open(os.path.join(folder, "inputs", case + ".csv"), newline="") as file:
        lines = list(csv.reader(file))
    return lines[0][1] == "maxabs", [float(line[1]) for line in lines[1:]]


def first_difference(scaler, is_closed, values, events):
    """The first step that differs from the trace, None where there is none; and how many steps were taken."""
    changes = {int(step): (float(scale), bool(error)) for step, _, scale, *error in events}
    expected = scaler.scale
    for step, value in enumerate(values):
        found = not scaler.scale * value < 65520 if is_closed else bool(value)
        raised = False
        try:
            skipped = scaler.update(found)
        except ulpscope.ScalerError:
            raised, skipped = True, found
        expected, raises = changes.get(step, (expected, False))
        if (scaler.scale, raised, skipped) != (expected, raises, found):
            return step, step + 1
        if raised:
            return None, step + 1
    return None, len(values)


class Traces(unittest.TestCase):
    def test_every_step_of_the_frameworks_own_traces(self):
        traces = taken = 0
        for name, configuration, parameters, folder in CONFIGURATIONS:
            for case in CASES:
                path = os.path.join(GOLDEN, folder or name, f"{case}__{configuration}.events")
                if not os.path.exists(path):
                    continue
                with self.subTest(scaler=name, case=case):
                    step, steps = first_difference(
                        ulpscope.scaler(name, **parameters), *inputs(GOLDEN, case), rows(path)
                    )
                    self.assertIsNone(step)
                    traces += 1
                    taken += steps
        self.assertGreaterEqual(traces, 4 * len(CONFIGURATIONS) - 4)
        self.assertGreater(taken, 300_000)

    def test_a_changed_parameter_leaves_the_trace(self):
        events = rows(os.path.join(GOLDEN, "pytorch_gradscaler", "loop_walk__default.events"))
        changed = ulpscope.scaler("pytorch_gradscaler", growth_interval=2001)
        self.assertEqual(first_difference(changed, *inputs(GOLDEN, "loop_walk"), events)[0], 2070)

    def test_all_patterns_of_ten_steps(self):
        for file, name, parameters in EXHAUSTIVE:
            start = ulpscope.scaler(name, **parameters)
            for pattern, scales, skips in rows(os.path.join(GOLDEN, "exhaustive10", file + ".csv")):
                stepped, seen, skipped = start.copy(), [], ""
                try:
                    for found in pattern:
                        skipped += "01"[stepped.update(found == "1")]
                        seen.append(stepped.scale)
                except ulpscope.ScalerError:
                    seen.append("E")
                wanted = ["E" if s.startswith("E:") else float(s) for s in scales.split(";")]
                self.assertEqual((seen, skipped), (wanted, skips[: len(skipped)]), (file, pattern))

    def test_the_shared_traces(self):
        if not os.path.isdir(SHARED):
            self.skipTest("no shared/golden beside the project")
        traces = 0
        for name, configuration, parameters, folder in CONFIGURATIONS:
            own = os.path.join(SHARED, folder or name)
            for file in sorted(os.listdir(own)):
                case, _, rest = file.partition("__")
                if rest != configuration + ".events" or not os.path.exists(
                    os.path.join(SHARED, "inputs", case + ".csv")
                ):
                    continue
                with self.subTest(scaler=name, case=case):
                    events = rows(os.path.join(own, file))
                    step, _ = first_difference(ulpscope.scaler(name, **parameters), *inputs(SHARED, case), events)
                    self.assertIsNone(step)
                    traces += 1
        self.assertGreaterEqual(traces, 84)


class Stepping(unittest.TestCase):
    def test_run_is_update_for_each_step(self):
        found = np.random.default_rng(1).random(5000) < 0.1
        for name in ("pytorch_gradscaler", "megatron_dynamic", "deepspeed_dynamic", "fairseq_dynamic", "metaseq_dynamic"):
            one, many = ulpscope.scaler(name), ulpscope.scaler(name)
            error, used, scales, skips = None, [], [], []
            for f in found:
                used.append(one.scale)
                try:
                    skips.append(one.update(f))
                except ulpscope.ScalerError as raised:
                    error = str(raised)
                    skips.append(True)
                scales.append(one.scale)
                if error:
                    break
            table = many.run(found)
            self.assertEqual(table["scale_used"].tolist(), used)
            self.assertEqual(table["scale_next"].tolist()[: len(scales) - 1], scales[:-1])
            self.assertEqual(table["found_inf"].tolist(), found[: len(scales)].tolist())
            self.assertEqual(table["skipped"].tolist()[: len(scales) - 1], skips[:-1])
            self.assertEqual(table.summary["error"], error)

    def test_the_error_is_the_frameworks_own(self):
        scaler = ulpscope.scaler("deepspeed_dynamic", init_scale=1)
        with self.assertRaisesRegex(ulpscope.ScalerError, "already at its minimum"):
            for _ in range(10):
                scaler.update(True)

    def test_state_and_copies(self):
        scaler = ulpscope.scaler("megatron", initial_scale=1024)
        self.assertEqual((scaler.name, scaler.scale), ("megatron_dynamic", 1024))
        self.assertEqual(scaler.parameters["initial_scale"], 1024)
        for made in (scaler.copy(), copy.copy(scaler), copy.deepcopy(scaler)):
            made.update(True)
            made.update(True)
            self.assertEqual((made.scale, scaler.scale), (512, 1024))
        other = ulpscope.scaler("pytorch", start={"scale": 8})
        self.assertEqual(other.scale, 8)
        other.state = {"scale": 16}
        self.assertEqual((other.scale, other.state["scale"]), (16, 16))
        self.assertIn("scale=16", repr(other))
        self.assertEqual(ulpscope.scaler("pytorch", window=7).parameters["growth_interval"], 7)

    def test_pickles_go_on_as_the_scaler_does(self):
        """Of every loss scaler, from a state in the middle of a run, with parameters that are not the default."""
        found = np.random.default_rng(3).random(400) < 0.1
        all_policies = ulpscope.scalers()
        for name in all_policies["scaler"][all_policies["scope"] == "run"]:
            for parameters in ({}, {"growth_factor": 1.5, "backoff_factor": 0.1 + 0.2} if name == "pytorch_gradscaler" else {}):
                scaler = ulpscope.scaler(name, **parameters)
                if scaler.edge == scaler.edge or name == "manual":
                    continue
                try:
                    scaler.update(False)
                except ValueError:  # asks for more than found_inf
                    continue
                for one in found[:150]:
                    with contextlib.suppress(ulpscope.ScalerError):
                        scaler.update(one)
                made = pickle.loads(pickle.dumps(scaler))
                self.assertEqual((made.name, made.parameters, made.state), (scaler.name, scaler.parameters, scaler.state))
                for ours, theirs in zip(*(of.run(found[150:]).values() for of in (made, scaler))):
                    self.assertEqual(ours.tolist(), theirs.tolist(), name)

    def test_states_that_cannot_be(self):
        scaler = ulpscope.scaler("pytorch")
        before = scaler.state
        for state, error, text in (
            ({"scale": -1}, ValueError, "scale cannot be -1"),
            ({"scale": math.nan}, ValueError, "scale cannot be NaN"),
            ({"scale": 8, "_growth_tracker": 1.5}, ValueError, "'_growth_tracker' takes an integer, not '1.5'"),
            ({"scale": 8, "scales": 1}, ValueError, "no state 'scales'"),
            ({"scale": "8"}, TypeError, "scale is '8', which is not a number"),
            ({"scale": None}, TypeError, "scale is None"),
            ({"scale": True}, TypeError, "scale is True"),
            (8, TypeError, "8 is not a dictionary"),
        ):
            with self.assertRaisesRegex(error, text):
                scaler.state = state
            self.assertEqual(scaler.state, before)
        for start in ({"scale": -1}, {"scale": "-1"}, {"scale": "x"}, {"scale": True}):
            with self.assertRaisesRegex((TypeError, ValueError), "scale|--start"):
                ulpscope.scaler("pytorch", start=start)
        scaler.state = {"scale": 0.1}  # which it holds in float32
        self.assertEqual(scaler.scale, float(np.float32(0.1)))
        scaler.state = {"scale": np.float32(4), "_growth_tracker": np.int64(3)}
        self.assertEqual(scaler.state, {"scale": 4, "_growth_tracker": 3})

    def test_policies_that_ask_for_more_say_so(self):
        asked = 0
        for name in ulpscope.scalers()["scaler"]:
            scaler = ulpscope.scaler(name)
            try:
                scaler.update(False)
            except ValueError as error:
                self.assertIn(name, str(error))
                asked += 1
        self.assertGreaterEqual(asked, 1)

    def test_parameters_are_keywords_or_a_dictionary(self):
        for made in (
            ulpscope.Scaler("pytorch", growth_interval=3),
            ulpscope.Scaler("pytorch", None, {"growth_interval": 3}),
            ulpscope.scaler("pytorch", growth_interval=3),
        ):
            self.assertEqual(made.parameters["growth_interval"], 3)
        with self.assertRaisesRegex(TypeError, "no option 'growth'"):
            ulpscope.Scaler("pytorch", growth=3)

    def test_refusals(self):
        for made, error, text in (
            (lambda: ulpscope.scaler("pytorh"), ValueError, "pytorch"),
            (lambda: ulpscope.scaler("pytorch", growth=1), TypeError, "growth"),
            (lambda: ulpscope.scaler("pytorch", backoff_factor=2), ValueError, "backoff_factor must be below 1"),
            (lambda: ulpscope.scaler("pytorch", growth_interval=[1, 2]), ValueError, "several values"),
            (lambda: ulpscope.scaler("pytorch", growth_interval={}), (TypeError, ValueError), "growth_interval"),
            (lambda: ulpscope.scaler("pytorch", start={"nothing": 1}), TypeError, "nothing"),
            (lambda: ulpscope.scaler("pytorch", start={"scale": "x"}), ValueError, "x"),
            (lambda: ulpscope.scaler(3), TypeError, ""),
            (lambda: ulpscope.scaler("pytorch").update(True, max_abs="x"), ValueError, ""),
            (lambda: ulpscope.scaler("pytorch").update([False]), TypeError, "run"),
            (lambda: ulpscope.scaler("pytorch").update(None), TypeError, "not True or False"),
            (lambda: setattr(ulpscope.scaler("pytorch"), "state", {"scale": float("nan")}), ValueError, "NaN"),
        ):
            with self.assertRaisesRegex(error, text):
                made()


class Catalogue(unittest.TestCase):
    def test_it_is_that_of_the_program(self):
        table, printed = ulpscope.scalers(), json_of("scalers")
        self.assertEqual(table.records(), printed.rows)
        self.assertEqual(len(table["scaler"]), table.height)
        self.assertGreaterEqual(table.height, 40)
        for name in table["scaler"]:
            self.assertEqual(ulpscope.scalers(name).records(), json_of("scalers", name).rows)
            defaults = {p: value for p, value in ulpscope.scaler(name).parameters.items()}
            self.assertEqual(list(defaults), ulpscope.scalers(name)["parameter"].tolist())


if __name__ == "__main__":
    unittest.main()
