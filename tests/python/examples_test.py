"""Pins the examples in Python: they run, record what they say, and need nothing that is not there."""

import ast
import glob
import os
import subprocess
import sys
import types
import unittest
from unittest import mock

import support

EXAMPLES = os.path.join(support.SOURCE, "examples")
PACKAGE = glob.glob(os.path.join(support.PACKAGES, "ulpscope", "*.py"))
# What a job that records imports, and the parts for frameworks, which import these.
RECORDER = [path for path in PACKAGE if os.path.basename(path)[0] == "_"]
PYTHON = [
    *PACKAGE,
    os.path.join(support.SOURCE, "tests", "bench", "recorder_bench.py"),
    *glob.glob(f"{EXAMPLES}/*.py"),
]


class Files(unittest.TestCase):
    def test_are_python_3_9(self):
        for path in PYTHON:
            with open(path) as file:
                ast.parse(file.read(), path, feature_version=(3, 9))

    def test_the_recorder_needs_numpy_or_torch_only(self):
        imported = set()
        for path in RECORDER:
            with open(path) as file:
                nodes = list(ast.walk(ast.parse(file.read())))
            imported |= {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
            imported |= {node.module.split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
        self.assertEqual(imported - set(sys.stdlib_module_names), {"numpy"})  # torch is only found where the job has it

    def python(self, code, *without):
        code = f"import sys; sys.modules.update({', '.join(f'{of}=None' for of in without)})\nsys.path[:0] = sys.argv[1:]\n{code}"
        return subprocess.run([sys.executable, "-c", code, support.PACKAGES], capture_output=True, text=True)

    def test_neither_is_there(self):
        done = self.python("from ulpscope import Recorder", "numpy", "torch")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            done.stderr.splitlines()[-1],
            "ImportError: ulpscope.Recorder needs numpy or torch, and neither can be imported",
        )

    def test_the_package_alone_needs_neither(self):
        done = self.python("import ulpscope; print(ulpscope.__version__, 'ulpscope._recorder' in sys.modules)", "numpy", "torch")
        self.assertEqual((done.stderr, done.stdout.split()[1]), ("", "False"))


@unittest.skipUnless(support.has("torch") and support.has("sklearn"), "torch or scikit-learn is not installed")
class Digits(support.InFolder):
    def train(self, name, *options):
        script = os.path.join(EXAMPLES, "train_digits.py")
        command = [sys.executable, "-W", "ignore", script, self.path(name), *options]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def test_trains_and_records(self):
        self.assertIn("100 steps", self.train("a.ulp", "--steps", "100"))
        self.train("b.ulp", "--steps", "100")
        ours, again = (support.content(self.path(name)) for name in ("a.ulp", "b.ulp"))
        self.assertEqual(ours, again)  # deterministic
        self.assertEqual(
            [row[1] for row in ours["tensor"] if row[2] == "activation_grad"], ["fc", "conv2", "conv1"]
        )
        self.assertEqual(sum(row[6] for row in ours["tensor"] if row[2] == "weight_grad"), 6138)
        self.assertLess(ours["step"][-1][4], 0.1 * ours["step"][0][4])  # it learns
        scales = [(row[7], row[8], row[9]) for row in ours["step"]]
        self.assertEqual(scales[0], (65536.0, 0, 1))
        for (scale, found_inf, _), (following, _, _) in zip(scales, scales[1:]):
            self.assertIn(following, (0.5 * scale,) if found_inf else (scale, 2 * scale))
        self.assertTrue(any(found_inf for _, found_inf, _ in scales))

    def test_replays_as_it_was_trained(self):
        """The scaler of the script is PyTorch's: a replay of what it recorded skips the same steps at the same scales."""
        self.train("a.ulp", "--steps", "100")
        options = ["--scaler", "pytorch", "--set", "growth_interval=20", "--format", "fp16", "--csv", "-"]
        header, *rows = support.ulp("replay", self.path("a.ulp"), *options).splitlines()
        columns = header.split(",")
        rows = [dict(zip(columns, row.split(","))) for row in rows]
        steps = support.content(self.path("a.ulp"))["step"]
        self.assertEqual([float(row["scale_used"]) for row in rows], [row[7] for row in steps])
        self.assertEqual([row["skipped"] in ("1", "true") for row in rows], [row[8] == 1 for row in steps])


class Step:
    """A model and what its framework does with it in one step: forward, backward of the scaled loss."""

    def __init__(self):
        import torch

        torch.manual_seed(0)
        self.torch, self.model = torch, torch.nn.Linear(5, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.25)
        self.x = torch.randn(7, 5)
        self.scaler = types.SimpleNamespace(get_scale=lambda: 8.0)

    def backward(self, before=lambda loss: None):
        self.optimizer.zero_grad()
        loss = self.model(self.x).pow(2).mean()
        before(loss * 8)
        (loss * 8).backward()
        return loss

    def change(self, by):
        for parameter in self.model.parameters():
            parameter.grad *= by


@unittest.skipUnless(support.has("torch"), "torch is not installed")
class Callbacks(support.InFolder):
    """With stand-ins for the frameworks, which call in the order that these do."""

    def load(self, name, **stubs):
        modules = {key.replace("_", ".", 1): types.ModuleType(key) for key in stubs}
        for key, classes in stubs.items():
            vars(modules[key.replace("_", ".", 1)]).update(classes)
        support.load()  # imports numpy, which must stay when the stand-ins go
        with mock.patch.dict(sys.modules, modules):
            return support.load(part=name)

    def largest(self, row):
        import struct

        return [struct.unpack("<d", row[-2][i + 56 : i + 64])[0] for i in range(0, len(row[-2]), 104)]

    def factors(self, row):
        import struct

        return {struct.unpack("<d", row[-2][i + 72 : i + 80])[0] for i in range(0, len(row[-2]), 104)}

    def check(self, step, factor, losses):
        rows = support.content(self.path("a.ulp"))["step"]
        self.assertEqual([row[0] for row in rows], list(range(len(losses))))
        self.assertEqual([row[4] for row in rows], losses)
        self.assertEqual([row[7] for row in rows], [8.0] * len(losses))
        step.backward()  # weights do not change: the gradient is that of each step
        step.change(factor / 8)
        for row in rows:
            self.assertEqual(self.largest(row), [float(p.grad.abs().max()) for p in step.model.parameters()])
            self.assertEqual(self.factors(row), {float(factor)})

    def lightning(self, step, before_hook):
        callback = self.load(
            "lightning", lightning={}, lightning_pytorch={"Callback": object}
        ).RecorderCallback(self.path("a.ulp"))
        trainer = types.SimpleNamespace(precision_plugin=types.SimpleNamespace(scaler=step.scaler), global_step=0)
        callback.on_train_start(trainer, step.model)
        losses = []
        for trainer.global_step in range(3):
            losses.append(float(step.backward(lambda loss: callback.on_before_backward(trainer, step.model, loss))))
            before_hook()
            callback.on_before_optimizer_step(trainer, step.model, step.optimizer)
        callback.on_train_end(trainer, step.model)
        return losses

    def test_lightning(self):
        step = Step()
        self.check(step, 1, self.lightning(step, lambda: step.change(1 / 8)))  # unscaled

    def test_lightning_with_an_optimizer_that_unscales(self):
        """Such as a fused Adam, of which Lightning leaves the unscaling to its step."""
        step = Step()
        step.optimizer._step_supports_amp_scaling = True
        self.check(step, 8, self.lightning(step, lambda: None))

    def test_lightning_where_a_batch_is_skipped(self):
        """Then its precision plugin (plugins/precision/amp.py, optimizer_step) calls the hook without a backward pass."""
        step, module = Step(), self.load("lightning", lightning={}, lightning_pytorch={"Callback": object})
        callback = module.RecorderCallback(self.path("a.ulp"), strict=True)
        trainer = types.SimpleNamespace(precision_plugin=types.SimpleNamespace(scaler=None), global_step=0)
        callback.on_train_start(trainer, step.model)
        callback.on_before_optimizer_step(trainer, step.model, step.optimizer)
        loss = step.backward(lambda scaled: callback.on_before_backward(trainer, step.model, scaled / 8))
        callback.on_before_optimizer_step(trainer, step.model, step.optimizer, 0)  # as Lightning 1 does
        trainer.global_step = 1  # a second optimizer steps after the same backward pass
        callback.on_before_optimizer_step(trainer, step.model, step.optimizer)
        callback.on_train_end(trainer, step.model)
        rows = support.content(self.path("a.ulp"))["step"]
        self.assertEqual([(row[0], row[4]) for row in rows], [(0, float(loss)), (1, None)])

    def test_the_hooks_are_those_of_the_frameworks(self):
        """Names and arguments as their base classes have them (lightning/pytorch/callbacks/callback.py,
        transformers/trainer_callback.py): what is misspelt would never be called."""
        import inspect

        lightning = self.load("lightning", lightning={}, lightning_pytorch={"Callback": object}).RecorderCallback
        transformers = self.load("transformers", transformers={"TrainerCallback": object}).RecorderCallback
        known = {
            lightning: {
                "on_train_start": ["trainer", "pl_module"],
                "on_before_backward": ["trainer", "pl_module", "loss"],
                "on_before_optimizer_step": ["trainer", "pl_module", "optimizer"],
                "on_train_end": ["trainer", "pl_module"],
            },
            transformers: {"on_train_begin": ["args", "state", "control"], "on_train_end": ["args", "state", "control"]},
        }
        for callback, hooks in known.items():
            self.assertEqual({name for name in vars(callback) if name.startswith("on_")}, hooks.keys())
            for name, arguments in hooks.items():
                parameters = inspect.signature(getattr(callback, name)).parameters
                self.assertEqual(list(parameters)[1 : 1 + len(arguments)], arguments)
                if callback is transformers:  # model, tokenizer and others come by name, more in each version
                    self.assertIs(list(parameters.values())[-1].kind, inspect.Parameter.VAR_KEYWORD)

    def test_lightning_of_old_unscales_for_every_optimizer(self):
        step = Step()
        step.optimizer._step_supports_amp_scaling = True
        stage = types.SimpleNamespace(name="UNSCALED")
        step.scaler._per_optimizer_states = {id(step.optimizer): {"stage": stage}}
        self.check(step, 1, self.lightning(step, lambda: step.change(1 / 8)))

    def test_huggingface(self):
        module = self.load("transformers", transformers={"TrainerCallback": object})
        step, state = Step(), types.SimpleNamespace(global_step=0)

        class Trainer:
            accelerator = types.SimpleNamespace(scaler=step.scaler, sync_gradients=True)

            def training_step(self, model, inputs):
                return step.backward().detach()

        trainer = Trainer()
        callback = module.RecorderCallback(self.path("a.ulp"), trainer)
        callback.on_train_begin(None, state, None, model=step.model)
        losses = []
        for state.global_step in range(3):
            trainer.accelerator.sync_gradients = False
            trainer.training_step(step.model, None)
            trainer.accelerator.sync_gradients = True
            losses.append(float(trainer.training_step(step.model, None)))
            step.change(0.01)  # clipped
        callback.on_train_end(None, state, None)
        self.assertNotIn("training_step", vars(trainer))
        self.check(step, 8, losses)


if __name__ == "__main__":
    unittest.main()
