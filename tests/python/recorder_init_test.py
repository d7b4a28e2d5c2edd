"""Pins ulpscope.init: what it records is what Recorder's own step() records, and what it says when the program ends."""

import copy
import os
import subprocess
import sys
import unittest
import warnings

import support

support.need("numpy", "torch")

import torch
from recorder_training_test import network, scaler_of

recorder = support.load(part="_unattended")
Recorder = recorder.Recorder

PROGRAM = """
import os, sys
sys.path[:0] = [{packages!r}, {tests!r}]
import torch, ulpscope
torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
{init}
for i in range({steps}):
    optimizer.zero_grad()
    loss = model(torch.ones(3, 4)).sum()
    loss.backward()
    if i == 2:
        model.weight.grad[0, 0] = float("nan")
    optimizer.step()
    {within}
"""


def steps_of(path):
    return [row[:12] for row in support.content(path)["step"]]


class Recorded(support.InFolder):
    def train(self, model, optimizer, scaler, accumulate=1, each=lambda step, loss: None):
        torch.manual_seed(1)
        for step in range(6):
            total = 0
            for _ in range(accumulate):
                loss = model(torch.randint(10, (8, 4))).square().mean() / accumulate
                if step == 3:
                    loss = loss * 1e37
                (scaler.scale(loss) if scaler is not None else loss).backward()
                total = total + loss.detach()
            if scaler is not None:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            each(step, total)
            optimizer.zero_grad()

    def test_is_what_the_loop_would_have_recorded(self):
        for scaled, accumulate in ((True, 1), (True, 3), (False, 1), (False, 2)):
            with self.subTest(scaled=scaled, accumulate=accumulate):
                paths = [self.path(f"{how}{scaled}{accumulate}.ulp") for how in ("init", "loop")]
                for path in paths:
                    model = network()
                    optimizer = torch.optim.SGD(model.parameters(), 0.25)
                    scaler = scaler_of(1024.0, 3) if scaled else None
                    if path == paths[0]:
                        rec = recorder.init(model, optimizer, scaler, path, strict=True, run_id="r")
                        self.train(model, optimizer, scaler, accumulate)
                    else:
                        rec = Recorder(path, model, optimizer=optimizer, scaler=scaler, strict=True, run_id="r")
                        self.train(model, optimizer, scaler, accumulate, lambda i, loss: rec.step(i, loss=loss if scaled else None))
                    rec.close()
                    if path == paths[0]:
                        left = {*vars(optimizer), *(vars(scaler) if scaled else ())}
                        self.assertEqual(left & {"step", "update", "scale"}, set())
                        self.train(model, optimizer, scaler, accumulate)  # is no longer recorded
                self.assertEqual(len(steps_of(paths[0])), 6)
                self.assertEqual(steps_of(paths[0]), steps_of(paths[1]))

    def test_several_optimizers_are_one_step(self):
        model = network()
        halves = [torch.optim.SGD(list(model.parameters())[k::2], 0.1) for k in (0, 1)]
        rec = recorder.init(model, halves, path=self.path("a.ulp"), strict=True, first_step=7, every=2)
        for _ in range(5):
            model(torch.randint(10, (8, 4))).sum().backward()
            for half in halves:
                half.step()
                half.zero_grad()
        rec.close()
        self.assertEqual([row[0] for row in steps_of(self.path("a.ulp"))], [7, 9, 11])

    def test_copies_of_the_optimizer_record_nothing(self):
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        rec = recorder.init(model, optimizer, path=self.path("a.ulp"), strict=True)
        model(torch.randint(10, (8, 4))).sum().backward()
        copy.deepcopy(optimizer).step()
        optimizer.step()
        rec.close()
        self.assertEqual(len(steps_of(self.path("a.ulp"))), 1)

    def test_a_scaler_that_says_nothing_of_what_it_skips(self):
        class Scaler:
            def get_scale(self):
                return 8.0

            def unscale_(self, optimizer):
                pass

            def update(self):
                pass

            def step(self, optimizer):
                if all(p.grad.isfinite().all() for group in optimizer.param_groups for p in group["params"]):
                    optimizer.step()

        model = network()
        optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), Scaler()
        rec = recorder.init(model, optimizer, scaler, self.path("a.ulp"), strict=True)
        for step in range(4):
            optimizer.zero_grad()
            model(torch.randint(10, (8, 4))).sum().mul(8).backward()
            if step == 1:
                model[2].weight.grad[0, 0] = float("inf")
            scaler.step(optimizer)
            scaler.update()
        rec.close()
        self.assertEqual([row[8:10] for row in steps_of(self.path("a.ulp"))], [(0, 1), (1, 0), (0, 1), (0, 1)])

    def test_a_scheduler_made_before_does_not_mind(self):
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        rec = recorder.init(model, optimizer, path=self.path("a.ulp"), strict=True, blocks=32)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(3):
                model(torch.randint(10, (8, 4))).sum().backward()
                optimizer.step()
                scheduler.step()
        rec.close()
        self.assertEqual([row[6] for row in steps_of(self.path("a.ulp"))], [0.1, 0.05, 0.025])

    def test_arguments_in_another_order(self):
        error = recorder.RecorderError
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for arguments, said in (
            ((optimizer, model), "optimizer: Sequential is neither an optimizer"),
            ((model.parameters(), optimizer), "model: generator is no module of torch"),
            ((model, 5), "optimizer: int is neither"),
        ):
            with self.assertRaisesRegex(error, said):
                recorder.init(*arguments, path=self.path("a.ulp"))
        self.assertFalse(os.path.exists(self.path("a.ulp")))

    def test_without_an_optimizer(self):
        error = recorder.RecorderError
        with self.assertRaisesRegex(error, "optimizer: without one nobody knows when a step is done"):
            recorder.init(network(), None, path=self.path("a.ulp"))
        self.assertFalse(os.path.exists(self.path("a.ulp")))


class Told(support.InFolder):
    def run_program(self, init="ulpscope.init(model, optimizer)", steps=5, within="pass", code=0):
        tests = os.path.dirname(os.path.abspath(__file__))
        program = PROGRAM.format(packages=support.PACKAGES, tests=tests, init=init, steps=steps, within=within)
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_at_the_end(self):
        self.assertEqual(
            self.run_program(),
            "ulpscope: run.ulp: 5 steps recorded: 1 with infinite or NaN gradients, the first at step 2. "
            "What happened: ulp advise run.ulp\n",
        )
        self.assertIn("run-2.ulp: 1 step recorded", self.run_program(steps=1))
        self.assertIn("run-3.ulp: no step was recorded: the optimizer", self.run_program(steps=0))
        self.assertIn("ulp advise 'a run.ulp'", self.run_program("ulpscope.init(model, optimizer, path='a run.ulp')"))

    def test_after_an_error(self):
        said = self.run_program(within="assert i < 3", code=1)
        self.assertIn("AssertionError", said)
        told = "ulpscope: run.ulp: 4 steps recorded: 1 with infinite or NaN gradients, the first at step 2. What happened: ulp advise run.ulp\n"
        self.assertTrue(said.endswith(told), said)

    def test_children_say_nothing(self):
        said = self.run_program(within="if i == 1 and os.fork() == 0: sys.exit()")
        self.assertEqual(said.count("ulpscope:"), 1)

    def test_overflows(self):
        scaler = "from recorder_training_test import scaler_of; scaler = scaler_of(2.0); ulpscope.init(model, optimizer, scaler)"
        said = self.run_program(scaler, within="scaler.scale(loss); scaler.step(optimizer); scaler.update()")
        self.assertRegex(said, r"^ulpscope: run.ulp: 5 steps recorded: \d overflowed, the first at step \d\. What happened: ulp advise run.ulp\n$")


if __name__ == "__main__":
    unittest.main()
