"""The program of docs/trust.md that compares recordings with trainings under recipes and plans, on a few steps."""

import os
import random
import sys
import unittest

import support

support.need("numpy", "torch")
support.need_compiled()
sys.path.insert(0, os.path.join(support.SOURCE, "tests", "bench"))

import emulated_training as bench  # noqa: E402
import torch  # noqa: E402


class Program(support.InFolder):
    def setUp(self):
        super().setUp()
        bench.ULP = support.ULP
        threads = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, threads)
        torch.set_num_threads(1)

    def test_the_first_step_is_foretold_exactly(self):
        """There weights, and what the first layer reads, are those of the training in float32."""
        recorded = bench.Recorded(0, 1, self.folder)
        for name, recipe in bench.RECIPES.items():
            told, trained = recorded.shares(recipe), bench.Training(0, 1, recipe).shares
            self.assertEqual(set(told), set(trained))
            self.assertEqual(len(told), 27)
            for tensor in told:
                if tensor.startswith("weight/") or tensor == "activation/blocks.0.qkv":
                    with self.subTest(recipe=name, tensor=tensor):
                        self.assertAlmostEqual(told[tensor], trained[tensor], delta=1e-6 * trained[tensor])

    def test_tensors_are_ranked_and_a_recipe_that_fails_is_named(self):
        said = []
        rows = bench.recipes([bench.Recorded(seed, 12, self.folder) for seed in range(2)], 12, out=said.append)
        self.assertEqual(list(rows), list(bench.RECIPES))
        self.assertEqual([name for name, row in rows.items() if row["replay"] == "fails"], ["float16, gradients times 2^-14"])
        self.assertLess(rows["MXFP8"]["worst"], rows["MXFP4"]["worst"])
        for name, row in rows.items():
            self.assertGreater(min(row["correlations"]), 0.5, name)
        self.assertEqual(sum(line.startswith("| MXFP8 |") for line in said), 1)

    def test_a_plan_and_others_of_equal_bits(self):
        recorded = bench.Recorded(0, 12, self.folder)
        said = []
        made = bench.plan([recorded], 12, draws=1, out=said.append)
        self.assertEqual(len(made["above"]), 1)
        told = bench.planned(recorded, "1e-3")
        numel = {row["tensor"]: row["numel"] for row in told["tensors"]}
        self.assertEqual(len(numel), 27)
        chosen = {row["tensor"]: row["treatment"] for row in told["tensors"]}
        here = sum(bench.bits(chosen[name], numel[name]) for name in numel if chosen[name] in bench.CHOICES)
        wide = sum(32 * numel[name] for name in numel if chosen[name] not in bench.CHOICES)
        self.assertAlmostEqual(here + wide, told["summary"]["bits"], delta=0.01 * told["summary"]["bits"])
        budget = told["summary"]["bits"]
        for of in (
            bench.random_plan(numel, budget, random.Random(1)),
            bench.last_in_16_bits(numel, recorded.training.layers, budget),
        ):
            self.assertEqual(set(of), set(numel))
            self.assertAlmostEqual(sum(bench.bits(of[name], numel[name]) for name in numel), budget, delta=0.06 * budget)


if __name__ == "__main__":
    unittest.main()
