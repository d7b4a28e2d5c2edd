"""Pins ulpscope.optim to runs of the libraries' own code, to torch's own conversions, and what it refuses."""

import copy
import glob
import os
import unittest

from support import SOURCE, need, need_compiled

need("numpy")
need_compiled("_core")

import numpy as np

import ulpscope
from ulpscope import optim

try:
    import torch
except ImportError:
    torch = None

GOLDEN = os.path.join(SOURCE, "tests", "data", "golden_optim")


def dialect_of(stem):
    known = {name for row in optim.dialects() for name in (row["dialect"], *row["aliases"])}
    suffix = ".avx2" if stem.endswith(".avx2") else ""
    parts = stem[: len(stem) - len(suffix)].split("_")
    return next(name for n in range(len(parts), 0, -1) for name in ["_".join(parts[:n]) + suffix] if name in known)


class Runs(unittest.TestCase):
    def test_recorded_runs_come_out_bit_by_bit(self):
        runs = 0
        for folder in (GOLDEN, os.path.join(GOLDEN, "ao"), os.path.join(GOLDEN, "torch113")):
            with np.load(os.path.join(folder, "inputs.npz")) as file:
                inputs = dict(file)
            for path in sorted(glob.glob(os.path.join(folder, "*.npz"))):
                stem = os.path.basename(path)[:-4]
                if stem == "inputs":
                    continue
                with np.load(path) as file:
                    run = dict(file)
                low = "fp16" if "_fp16" in stem else "bf16"
                made = optim.simulate(
                    run.get("grads", inputs["grads"]),
                    inputs["w0"],
                    dialect_of(stem),
                    weights="fp32" if run["w"].dtype == np.float32 else low,
                    steps=run["steps"],
                    bits=inputs.get("sr_bits"),
                    **{k: float(v) for k, v in run.items() if v.ndim == 0 and k != "elements"},
                )
                for name, expected in run.items():
                    if expected.ndim == 0 or name == "grads":
                        continue
                    with self.subTest(stem, array=name):
                        self.assertEqual(made[name].dtype, expected.dtype)
                        self.assertEqual(made[name].tobytes(), expected.tobytes())
                runs += 1
        self.assertEqual(runs, 48)

    def test_any_array_of_the_weights_is_changed_in_place(self):
        g = np.random.default_rng(1).standard_normal((6, 4)).astype("f4")
        start = ulpscope.quantize(np.random.default_rng(2).standard_normal((6, 4)).astype("f4"), "fp16")
        expected = start.copy()
        optim.optimizer("torch_adamw", weights="fp16", lr=0.1).step(expected, g)
        strided = np.zeros((12, 4), "f4")
        strided[::2] = start
        others = [start.astype("f2"), np.asfortranarray(start), start.astype("f8")]
        if torch is not None:
            others += [torch.tensor(start), torch.tensor(start).half(), torch.tensor(start).t().contiguous().t()]
        for w in [strided[::2], *others]:
            optim.optimizer("torch_adamw", weights="fp16", lr=0.1).step(w, g)
            np.testing.assert_array_equal(np.asarray(w, dtype="f4"), expected)
        self.assertFalse(strided[1::2].any())

    def test_copies_go_on_alone_and_parameters_change(self):
        o = optim.optimizer("bnb_cpu_default_adam8bit", lr=0.5)
        w = np.ones(300, "f4")
        o.step(w, w * 0.1)
        other = copy.deepcopy(o)
        other.set(lr=0.0)
        v = w.copy()
        other.step(v, w * 0.1)
        np.testing.assert_array_equal(v, w)
        self.assertEqual((o.steps, other.steps, o.parameters["lr"], other.parameters["lr"]), (1, 2, 0.5, 0.0))
        self.assertEqual(sorted(o.state), ["m_absmax", "m_codes", "v_absmax", "v_codes"])
        self.assertEqual(o.state["m_absmax"].shape, (2,))

    def test_rounding_of_weights(self):
        w = np.ones(64, "f4")
        optim.optimizer("ao_adamw", weights="bf16", weight_rounding="stochastic", seed=3, lr=1e-3).step(w, w)
        self.assertEqual(set(w), {np.float32(1), np.float32(1 - 2**-8)})
        o = optim.optimizer("ao_adamw", weights="bf16", weight_rounding="kahan", lr=1e-3)
        o.step(np.ones(4, "f4"), np.ones(4, "f4"))
        self.assertIn("kahan", o.state)


    def test_what_cannot_be_written_is_refused_before_the_step(self):
        o = optim.optimizer("torch_adam", lr=0.1)
        w, g = np.ones(3, "f4"), np.ones(3, "f4")
        o.step(w, g)
        moments = o.state["m"]
        locked = np.ones(3, "f4")
        locked.flags.writeable = False
        shared = np.lib.stride_tricks.as_strided(np.ones(1, "f4"), (3,), (0,))
        bad = [("read-only", locked), ("read-only", np.broadcast_to(np.float32(1), (3,))), ("one place", shared)]
        if torch is not None:
            bad.append(("one place", torch.ones(1).expand(3)))
            with torch.inference_mode():
                bad.append(("inference", torch.ones(3)))
        for words, array in bad:
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                o.step(array, g)
            self.assertEqual(o.steps, 1)
            np.testing.assert_array_equal(o.state["m"], moments)
        again = w.copy()
        other = o.copy()
        o.step(w, g)
        other.step(again, g)
        np.testing.assert_array_equal(w, again)

    def test_parameters_are_set_together_or_not_at_all(self):
        o = optim.optimizer("torch_adam", lr=0.1)
        o.step(np.ones(3, "f4"), np.ones(3, "f4"))
        for bad in ({"bogus": 1}, {"beta1": 1.0}, {"amsgrad": True}):
            with self.assertRaises(ValueError):
                o.set(lr=0.5, **bad)
            self.assertEqual((o.parameters["lr"], o.copy().parameters["lr"]), (0.1, 0.1))
        o.set(lr=0.5, beta1=0.5)
        self.assertEqual((o.parameters["lr"], o.parameters["beta1"]), (0.5, 0.5))

    def test_types_of_weights_hold_the_format(self):
        for dtype, weights in (("f2", "fp32"), ("f2", "bf16")):
            with self.assertRaisesRegex(ValueError, "float16, which does not hold all numbers"):
                optim.optimizer("torch_adam", weights=weights).step(np.ones(2, dtype), np.ones(2, "f4"))
        if torch is not None:
            with self.assertRaisesRegex(ValueError, "bfloat16, which does not hold"):
                optim.optimizer("torch_adam", weights="fp16").step(torch.ones(2).bfloat16(), torch.ones(2))
        with self.assertRaisesRegex(ValueError, "float32 does not hold"):
            optim.optimizer("torch_adam").step(np.array([1.1, 2.2]), np.ones(2))
        # Above the middle of two bfloat16 numbers, and on it once float32 has rounded.
        gradient = np.array([[1 + 2**-8 + 2**-30]])
        made = optim.simulate(gradient, np.zeros(1), "torch_sgd", weights="bf16", lr=1.0)
        self.assertEqual(made["w"].tolist(), [[0xBF81]])
        w = np.zeros(1, "f4")
        optim.optimizer("torch_sgd", weights="bf16", lr=1.0).step(w, gradient[0])
        self.assertEqual(w.tolist(), [-1.0078125])

    def test_counts_are_integers_as_in_the_file(self):
        made = optim.simulate(np.ones((4, 3)), np.ones(3), "xla_zero1_master_fp32acc", weights="bf16")
        with np.load(os.path.join(GOLDEN, "xla_zero1_master_fp32acc.npz")) as file:
            for name in file.files:
                if file[name].ndim == 0 and name in made:
                    self.assertEqual((name, made[name].dtype), (name, file[name].dtype))
        blocks = optim.simulate(np.ones((4, 3)), np.ones(3), "bnb_cpu_default_adam8bit")["block_size"]
        self.assertEqual((int(blocks), blocks.dtype), (256, np.int64))


class Quantizers(unittest.TestCase):
    def test_a_number_alone_and_codes_beyond_the_map(self):
        codes, absmax = optim.quantize_blockwise(np.float32(0.5))
        self.assertEqual((codes.shape, absmax.shape), ((), (1,)))
        self.assertEqual(optim.dequantize_blockwise(codes, absmax).shape, ())
        with self.assertRaisesRegex(ValueError, "200 is beyond the map of 16"):
            optim.dequantize_blockwise(np.uint8([15, 200]), np.ones(1, "f4"), map=optim.map_4bit())
        all_codes = np.arange(16, dtype=np.uint8)
        back = optim.dequantize_blockwise(all_codes, np.ones(1, "f4"), map=optim.map_4bit())
        np.testing.assert_array_equal(back, optim.map_4bit())
        optim.dequantize_blockwise(np.uint8([200]), np.ones(1, "f4"), "ao_fp8", map=optim.map_4bit())

    def test_there_and_back(self):
        x = np.random.default_rng(3).standard_normal((5, 7)).astype("f4")
        for name, *_, whole in optim.quantizers():
            codes, absmax = optim.quantize_blockwise(x, name, block_size=35 if whole else 16)
            self.assertEqual((codes.shape, codes.dtype, absmax.dtype), ((5, 7), np.uint8, np.float32))
            back = optim.dequantize_blockwise(codes, absmax, name, block_size=35 if whole else 16)
            self.assertLess(np.abs(back - x).max(), 0.05 * np.abs(x).max())

    def test_fp8_is_the_conversion_that_exact_codes_have(self):
        x = np.random.default_rng(4).standard_normal(512).astype("f4")
        codes, scale = optim.quantize_blockwise(x, "ao_fp8")
        np.testing.assert_array_equal(codes, ulpscope.encode(x / np.repeat(scale, 256), "float8_e4m3fn"))

    def test_nearest_is_the_count_of_midpoints_below(self):
        x = np.random.default_rng(5).standard_normal(2048).astype("f4")
        table = optim.dynamic_map()
        codes, absmax = optim.quantize_blockwise(x, block_size=2048)
        middles = (table[1:] + table[:-1]) * np.float32(0.5)
        np.testing.assert_array_equal(codes, np.searchsorted(middles, x * (np.float32(1) / absmax[0]), side="left"))


class Refused(unittest.TestCase):
    def refuse(self, words, function, *arguments, error=ValueError, **named):
        with self.assertRaisesRegex(error, words):
            function(*arguments, **named)

    def test_parameters_and_names(self):
        self.refuse("near: torch_adam", optim.optimizer, "torch_adm")
        self.refuse("near: lr", optim.optimizer, "torch_adam", lrr=1)
        self.refuse("finite", optim.optimizer, "torch_adam", lr=float("nan"))
        self.refuse("unknown format", optim.optimizer, "torch_adam", weights="float33")
        self.refuse("float32 holds", optim.optimizer, "torch_adam", weights="e11m20")
        self.refuse("weight_rounding", optim.optimizer, "torch_adam", weight_rounding="up")
        self.refuse("how states are kept", optim.optimizer("torch_adam").set, amsgrad=True)
        self.refuse("quantizer", optim.quantize_blockwise, np.zeros(3, "f4"), "nearest")
        self.refuse("whole blocks", optim.quantize_blockwise, np.zeros(3, "f4"), "ao")
        self.refuse("256 entries", optim.quantize_blockwise, np.zeros(3, "f4"), map=np.zeros(3, "f4"))
        self.refuse("block_size", optim.quantize_blockwise, np.zeros(3, "f4"), block_size=0)
        self.refuse("arithmetic", optim.dynamic_map, arithmetic="fast")
        self.refuse("seed: -1", optim.optimizer, "torch_adam", seed=-1)
        self.refuse("dialect: is a NoneType", optim.optimizer, None, error=TypeError)
        self.refuse("tensor: is a int", optim.optimizer, "torch_adam", tensor=3, error=TypeError)
        self.refuse("lr: is a list", optim.optimizer, "torch_adam", lr=[1], error=TypeError)
        self.refuse("lr: is a list", optim.optimizer("torch_adam").set, lr=[1], error=TypeError)
        self.refuse("lr: is beyond", optim.optimizer, "torch_adam", lr=10**400)
        self.refuse("total_bits: 8.5", optim.dynamic_map, total_bits=8.5, error=TypeError)
        self.refuse("quantizer: is a int", optim.quantize_blockwise, np.zeros(3, "f4"), 3, error=TypeError)
        self.refuse("seed: 0.5 is not an integer", optim.optimizer, "torch_adam", seed=0.5, error=TypeError)
        self.refuse("block_size: 2.5", optim.quantize_blockwise, np.zeros(3, "f4"), block_size=2.5, error=TypeError)
        self.refuse("entry 1 is not", optim.quantize_blockwise, np.zeros(3, "f4"), map=np.arange(256.0)[::-1])

    def test_arrays(self):
        o = optim.optimizer("torch_adam")
        self.refuse("changed in place", o.step, [1.0], [1.0], error=TypeError)
        self.refuse("not floating-point", o.step, np.zeros(3, int), np.zeros(3))
        self.refuse("takes 3 gradients", o.step, np.zeros(3, "f4"), np.zeros(4, "f4"))
        self.refuse("takes 3 random", o.step, np.zeros(3, "f4"), np.zeros(3, "f4"), np.zeros(2, "u2"))
        self.refuse("0 to 65535", o.step, np.zeros(3, "f4"), np.zeros(3, "f4"), [0, 1, 70000])
        o.step(np.zeros(3, "f4"), np.zeros(3, "f4"))
        self.refuse("takes 3 weights", o.step, np.zeros(4, "f4"), np.zeros(4, "f4"))
        self.refuse("2: \\(steps, elements\\)", optim.simulate, np.zeros(3, "f4"), np.zeros(3, "f4"), "torch_adam")
        for steps, words, error in (
            ([3], "3 is not from 1 to 2", ValueError),
            ([1.5], "1.5", TypeError),
            (2, "steps: 2 is not a list of steps, such as", TypeError),
        ):
            self.refuse(words, optim.simulate, np.zeros((2, 3)), np.zeros(3), "torch_adam", steps=steps, error=error)
        self.refuse("names none", optim.simulate, np.zeros((2, 3)), np.zeros(3), "torch_adam", steps=[])
        self.refuse("grads has no steps", optim.simulate, np.zeros((0, 3)), np.zeros(3), "torch_adam")
        few = {"dialect": "xla_zero1_master_fp32acc", "micro_batches": 3}
        self.refuse("2 gradients, and a step", optim.simulate, np.zeros((2, 3)), np.zeros(3), **few)
        self.refuse("not uint8", optim.dequantize_blockwise, np.zeros(3), np.zeros(1))


if __name__ == "__main__":
    unittest.main()
