"""Pins what the recorder sees of a torch job: parameters, activations, roles, factors, ranks."""

import copy
import enum
import gc
import io
import json
import math
import os
import pickle
import struct
import subprocess
import sys
import unittest
import warnings
import weakref
from unittest import mock

import support

support.need("numpy", "torch")

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

recorder = support.load()
TORCH_2_1 = hasattr(torch.Tensor, "register_post_accumulate_grad_hook")


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Embedding(10, 8), nn.Flatten(), nn.Linear(32, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Linear(16, 4)
    )


class Unseen(nn.Module):
    """Of which a function written in Python hides the parameters."""

    class Times(torch.autograd.Function):
        @staticmethod
        def forward(context, x, weight):
            context.save_for_backward(x, weight)
            return x * weight

        @staticmethod
        def backward(context, gradient):
            x, weight = context.saved_tensors
            return gradient * weight, (gradient * x).sum(0)

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(32))

    def forward(self, x):
        return self.Times.apply(x, self.weight)


def backward(model, scale=1.0, autocast=False):
    model.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        loss = model(torch.randint(0, 10, (8, 4))).float().pow(2).mean() * scale
    loss.backward()
    return loss


class Torch(support.InFolder):
    def rows(self, path=None):
        """{step: {name: (type, numel, factor, largest)}} and the rows of the table of tensors by name."""
        content = support.content(path or self.path("a.ulp"))
        tensors = {row[0]: row for row in content["tensor"]}
        steps = {}
        for row in content["step"]:
            records = [struct.unpack("<IBBH6Q5dQ", row[-2][i : i + 104]) for i in range(0, len(row[-2]), 104)]
            steps[row[0] if row[2] == -1 else row[:3]] = {
                tensors[r[0]][1]: (r[1], r[4], None if r[12] != r[12] else r[12], r[10]) for r in records
            }
        return steps, {row[1]: row for row in tensors.values()}

    def record(self, model, steps=1, scale=None, autocast=False, **options):
        with recorder.Recorder(self.path("a.ulp"), model, **options) as rec:
            for step in range(steps):
                rec.step(step, loss=backward(model, scale or 1.0, autocast), loss_scale=scale)
        return self.rows()

    def test_parameters(self):
        model = network()
        steps, tensors = self.record(model, scale=4.0)
        self.assertEqual(list(steps[0]), [name for name, _ in model.named_parameters()])
        for name, p in model.named_parameters():
            kind, numel, factor, largest = steps[0][name]
            self.assertEqual((kind, numel, factor, largest), (2, p.numel(), 4.0, float(p.grad.abs().max())))
            self.assertEqual(tensors[name][2:6], ("weight_grad", "unknown", "", ",".join(map(str, p.shape))))
        self.assertEqual(support.content(self.path("a.ulp"))["step"][0][7], 4.0)

    def test_factor_of_microbatches(self):
        model = network()
        with recorder.Recorder(self.path("a.ulp"), model, activations="^2$") as rec:
            for step, options in enumerate((dict(loss_scale=8), dict(loss_scale=8, scaled=False), dict(scaled=False))):
                backward(model)
                rec.step(step, factor=0.25, **options)
        steps, _ = self.rows()
        found = [[steps[i][name][2] for name in ("2.weight", "2")] for i in range(3)]
        self.assertEqual(found, [[2.0, 2.0], [0.25, 2.0], [0.25, None]])

    def test_factors(self):
        """Hooks see scaled gradients where parameters' are unscaled already; without a scale nothing is known."""
        model = network()
        with recorder.Recorder(self.path("a.ulp"), model, activations="^2$", forward="^5$") as rec:
            for step, (scale, scaled) in enumerate(((8.0, True), (8.0, False), (None, True), (float("inf"), True))):
                backward(model)
                rec.step(step, loss_scale=scale, scaled=scaled)
        steps, _ = self.rows()
        found = [[steps[i][name][2] for name in ("2.weight", "2", "forward/5")] for i in range(4)]
        self.assertEqual(found, [[8.0, 8.0, 1.0], [1.0, 8.0, 1.0], [None, None, 1.0], [None, None, 1.0]])

    def test_activations(self):
        model = network()
        seen = {}
        for i in (2, 5):
            model[i].register_forward_hook(
                lambda m, x, y, i=i: (
                    seen.update({f"out{i}": y.detach(), f"in{i}": x[0].detach()}),
                    y.register_hook(lambda g: seen.update({i: g})),
                    None,
                )[2]
            )
        steps, tensors = self.record(model, activations="^2$", forward="^5$", inputs="^[25]$")
        self.assertEqual((steps[0]["2"][1], steps[0]["2"][3]), (8 * 16, float(seen[2].abs().max())))
        self.assertEqual((steps[0]["forward/5"][1], steps[0]["forward/5"][3]), (8 * 4, float(seen["out5"].abs().max())))
        self.assertNotIn("5", steps[0])
        self.assertEqual((tensors["2"][2], tensors["forward/5"][2]), ("activation_grad", "activation"))
        for i in (2, 5):
            self.assertEqual((steps[0][f"activation/{i}"][1:4:2]), (seen[f"in{i}"].numel(), float(seen[f"in{i}"].abs().max())))
            self.assertEqual(tensors[f"activation/{i}"][2], "activation")

    def test_activations_several_times_and_several_outputs(self):
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell, self.lstm = nn.Linear(6, 6), nn.LSTM(6, 3)

            def forward(self, x):
                return self.lstm(self.cell(self.cell(x)))

        model = Twice()
        with recorder.Recorder(self.path("a.ulp"), model, activations="cell|lstm") as rec:
            out, (h, c) = model(torch.randn(4, 2, 6))
            (out.sum() + c.sum()).backward()
            rec.step(0)
            with torch.no_grad():
                model(torch.randn(4, 2, 6))
            model(torch.randn(4, 2, 6))[0].sum().backward()
            rec.step(1)
        steps, _ = self.rows()
        self.assertEqual(
            {n: r[1] for n, r in steps[0].items() if "." not in n}, {"cell": 2 * 48, "lstm[0]": 24, "lstm[2]": 6}
        )
        self.assertEqual({n: r[1] for n, r in steps[1].items() if "." not in n}, {"cell": 2 * 48, "lstm[0]": 24})

    def test_hooks_leave_the_model_as_it_is(self):
        """Copies and pickles have no part in the recording; closing removes the hooks."""
        model = network()
        with recorder.Recorder(self.path("a.ulp"), model, activations=".") as rec:
            twin = copy.deepcopy(model)
            octets = pickle.dumps(model)
            self.assertNotIn(b"ulpscope\n", octets)  # nor do they need the recorder's file to be read
            self.assertNotIn(b"_Hook", octets)
            self.assertEqual(pickle.loads(octets)(torch.zeros(2, 4).long()).shape, (2, 4))
            torch.save(model, io.BytesIO())
            backward(twin)
            backward(model)
            rec.step(0)
        steps, _ = self.rows()
        self.assertEqual(steps[0]["2"][1], 8 * 16)
        self.assertFalse(any(module._forward_hooks for module in model.modules()))

    def test_frees_what_it_saw(self):
        """No graph, no activation is kept; a recorder that nobody has any more closes its file."""
        model = network()
        rec = recorder.Recorder(self.path("a.ulp"), model, activations=".", forward=".")
        x = torch.randint(0, 10, (8, 4))
        loss = model(x).pow(2).mean()
        loss.backward()
        rec.step(0, loss=loss)
        output = model(x)
        seen = [weakref.ref(t) for t in (loss, output)]
        del loss, output
        gc.collect()
        self.assertEqual([r() for r in seen], [None] * 2)
        rec = weakref.ref(rec)
        del model
        gc.collect()
        self.assertIsNone(rec())
        self.assertEqual(os.listdir(self.folder), ["a.ulp"])

    def test_shared_frozen_and_unused_parameters(self):
        model = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3), "c": nn.Linear(3, 3)})
        model["b"].weight = model["a"].weight
        model["a"].bias.requires_grad_(False)
        model["b"](model["a"](torch.randn(5, 3))).sum().backward()
        with recorder.Recorder(self.path("a.ulp"), model) as rec:
            rec.step(0)
        self.assertEqual(list(self.rows()[0][0]), ["a.weight", "b.bias"])

    def test_memory_on_another_device(self):
        """What hooks see comes to the host before it becomes much."""
        class Many(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.Linear(4, 4)

            def forward(self, x):
                for _ in range(300):
                    x = self.cell(x)
                return x

        model, alone = Many(), support.load(without=["numpy"])  # so that tensors stay torch's
        with alone.Recorder(self.path("a.ulp"), model, activations="cell", strict=True) as rec:
            with mock.patch.object(alone, "on_host", alone.is_numpy):
                model(torch.randn(2, 4)).sum().backward()
            waiting = [of[-1].vector is not None for of in rec._seen.watched]
            rec.step(0)
        self.assertEqual((len(waiting), sum(waiting)), (300, 300 - 256))
        self.assertEqual(self.rows()[0][0]["cell"][1], 300 * 8)

    def test_errors_in_hooks(self):
        """Backward goes on; step() tells."""
        model = network()
        with recorder.Recorder(self.path("a.ulp"), model, activations="^2$") as rec:
            with mock.patch.object(recorder, "host_tables_of", side_effect=MemoryError("no room")):
                backward(model)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                rec.step(0)
            backward(model)
            rec.step(1)
        self.assertIn("a.ulp: step 0: MemoryError: no room", str(caught[0].message))
        self.assertEqual(list(self.rows()[0]), [1])

    def test_names_that_are_taken(self):
        model = network()
        backward(model)
        with recorder.Recorder(self.path("a.ulp"), model, strict=True) as rec:
            with self.assertRaisesRegex(recorder.RecorderError, "step 0: '2.bias' is the name of several tensors"):
                rec.step(0, grads={"2.bias": torch.ones(3)})

    def test_found_inf(self):
        """What a scaler will find, where the loop does not say it and there is one."""
        model = network()
        with recorder.Recorder(self.path("a.ulp"), model) as rec:
            for step, (scale, said, value) in enumerate(
                ((4.0, None, 1), (4.0, None, math.inf), (4.0, None, math.nan), (4.0, False, math.nan), (1, None, math.nan), (None, None, 1))
            ):  # fmt: skip
                backward(model)
                model[5].bias.grad[0] = value
                rec.step(step, loss_scale=scale, found_inf=said)
        found = [row[8] for row in support.content(self.path("a.ulp"))["step"]]
        self.assertEqual(found, [0, 1, 1, 0, None, None])

    def test_every(self):
        model = network()
        steps, _ = self.record(model, steps=7, every=3, activations="2")
        self.assertEqual({step: "2" in rows for step, rows in steps.items()}, {0: True, 3: True, 6: True})

    def test_microbatches(self):
        """They belong to the step that the accumulated gradient ends."""
        model = network()
        with recorder.Recorder(self.path("a.ulp"), model, every=2, activations="^2$") as rec:
            for step in range(4):
                for microbatch in (0, 1):
                    backward(model)
                    rec.step(step, microbatch=microbatch)
                backward(model)
                rec.step(step)
        steps, _ = self.rows()
        self.assertEqual(sorted(map(str, steps)), sorted(map(str, [(0, 0, 0), (0, 0, 1), 0, (2, 0, 0), (2, 0, 1), 2])))
        self.assertTrue(all(rows["2"][1] == 8 * 16 for rows in steps.values()))

    def test_roles_of_autocast(self):
        """What torch casts, and what it keeps: seen in the graph, and in the values that 16 bits can hold."""
        model = network()
        steps, tensors = self.record(model, autocast=True, activations="^[25]$")
        for name, p in model.named_parameters():
            low = not bool((p.grad.view(torch.int32) & 0xFFFF).any())  # its values are those of bfloat16
            role, through = ("low", "bfloat16") if low else ("float32", "")
            self.assertEqual(tensors[name][3:5], (role, through), name)
            self.assertEqual(low, name.startswith(("2.", "5.")), name)
        self.assertEqual([tensors[i][3:5] for i in "25"], [("low", "bfloat16")] * 2)
        self.assertEqual(steps[0]["2"][0], 4)

    def test_roles_from_the_loss(self):
        """Where the module itself is never called."""
        model = network()
        with recorder.Recorder(self.path("a.ulp"), model) as rec:
            with torch.autocast("cpu", torch.bfloat16):
                loss = model[5](model[4](model[3](model[2](torch.randn(8, 32))))).float().sum()
            loss.backward()
            rec.step(0, loss=loss)
        tensors = self.rows()[1]
        self.assertEqual([tensors[n][3] for n in ("2.weight", "4.weight", "5.bias")], ["low", "float32", "low"])

    def test_roles_that_are_said(self):
        _, tensors = self.record(network(), autocast=True, roles={"^0": "low", "bias": "unknown", r"^2\.": "float32"})
        roles = [tensors[n][3] for n in ("0.weight", "2.weight", "2.bias", "5.weight")]
        self.assertEqual(roles, ["low", "float32", "unknown", "low"])

    def test_roles_as_autocast_would_have_them(self):
        """Said of a run in float32 what it is under autocast."""
        model = network()
        tensors = self.record(model, roles="autocast", activations="^[25]$", forward="^2$")[1]
        os.rename(self.path("a.ulp"), self.path("b.ulp"))
        under = self.record(model, autocast=True, activations="^[25]$", forward="^2$")[1]
        self.assertEqual({n: t[3] for n, t in tensors.items()}, {n: t[3] for n, t in under.items()})

    def test_roles_of_shared_parameters(self):
        """A parameter that any of its modules casts is low, whatever name it is recorded under."""

        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens, self.norm, self.head = nn.Embedding(9, 4), nn.LayerNorm(4), nn.Linear(4, 9, bias=False)
                self.head.weight = self.tokens.weight

            def forward(self, x):
                return self.head(self.norm(self.tokens(x)))

        for options, autocast in (({"roles": "autocast"}, False), ({}, True)):
            model = Tied()
            with recorder.Recorder(self.path(f"{autocast}.ulp"), model, **options) as rec:
                with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                    model(torch.arange(9)).float().pow(2).sum().backward()
                rec.step(0)
                rec.step(1, grads={"head.weight": torch.ones(2), "head": torch.ones(2)})
            tensors = self.rows(self.path(f"{autocast}.ulp"))[1]
            roles = [tensors[n][3] for n in ("tokens.weight", "norm.weight", "norm.bias")]
            self.assertEqual(roles, ["low", "float32", "float32"])
            if options:
                self.assertEqual([tensors[n][3] for n in ("head.weight", "head")], ["low", "low"])

    def test_roles_that_are_not_seen(self):
        """In checkpointed parts and functions written in Python there is no graph to look at: nothing is claimed."""

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.inner, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.LayerNorm(4)

            def forward(self, x):
                return self.last(checkpoint(self.inner, self.first(x), use_reentrant=True).float())

        model = Model()
        with recorder.Recorder(self.path("a.ulp"), model, forward="inner") as rec:
            with torch.autocast("cpu", torch.bfloat16):
                loss = model(torch.randn(3, 4)).float().sum()
            loss.backward()
            rec.step(0, loss=loss)
        steps, tensors = self.rows()
        self.assertEqual([tensors[f"{n}.weight"][3] for n in ("first", "inner", "last")], ["low", "unknown", "float32"])
        self.assertEqual(steps[0]["forward/inner"][1], 12)  # counted when it was computed with its graph

    def test_half_models(self):
        model = nn.Linear(4, 3).bfloat16()
        model(torch.randn(5, 4).bfloat16()).sum().backward()
        with recorder.Recorder(self.path("a.ulp"), model) as rec:
            rec.step(0, loss_scale=1)
        steps, tensors = self.rows()
        self.assertEqual((steps[0]["weight"][0], tensors["weight"][3:5]), (4, ("low", "bfloat16")))

    def test_compiled_models(self):
        """Names are those of the model that was compiled, and nothing is hooked whose graph cannot be seen."""

        class OptimizedModule(nn.Module):  # as torch.compile makes it
            def __init__(self, of):
                super().__init__()
                self._orig_mod = of

            def forward(self, *arguments):
                return self._orig_mod(*arguments)

        ways = [OptimizedModule]
        if hasattr(torch, "compile"):
            ways.append(lambda of: torch.compile(of, backend="eager", fullgraph=True))
        for i, compiled in enumerate(ways):
            model = compiled(network())
            with recorder.Recorder(self.path(f"{i}whole.ulp"), model, roles="autocast") as rec:
                self.assertFalse(any(module._forward_hooks for module in model.modules()))
                backward(model)
                rec.step(0)
            steps, tensors = self.rows(self.path(f"{i}whole.ulp"))
            self.assertEqual(list(steps[0]), [name for name, _ in network().named_parameters()])
            self.assertEqual((tensors["2.weight"][3], tensors["4.weight"][3]), ("low", "float32"))
            model = network()
            model[2] = compiled(model[2])
            with recorder.Recorder(self.path(f"{i}part.ulp"), model, activations="^2$") as rec:
                backward(model)
                rec.step(0)
            steps, _ = self.rows(self.path(f"{i}part.ulp"))
            self.assertEqual(list(steps[0]), [name for name, _ in network().named_parameters()] + ["2"])

    @unittest.skipUnless(hasattr(torch, "compile") and hasattr(torch, "compiler"), "torch 2.1 or newer compiles")
    def test_compiled_functions(self):
        """One that calls the model is compiled whole, and twice at most: once more when the hook is gone."""
        counters = torch._dynamo.utils.counters
        for given in (True, False):
            torch._dynamo.reset()
            counters.clear()
            model = network()
            loss_of = torch.compile(lambda x: model(x).pow(2).mean(), backend="eager")  # noqa: B023
            with recorder.Recorder(self.path(f"{given}.ulp"), model, strict=True) as rec:
                for step in range(4):
                    loss = loss_of(torch.randint(0, 10, (8, 4)))
                    loss.backward()
                    rec.step(step, loss=loss if given else float(loss))
                    self.assertEqual(len(model._forward_hooks), 0)
            self.assertEqual(dict(counters["graph_break"]), {})
            self.assertLessEqual(counters["stats"]["unique_graphs"], 2)

    def test_the_root_is_left_alone_where_nothing_is_counted(self):
        """Forward passes are counted to tell of how many parts gradients are sums."""
        for model, hooks in ((network(), 1), (Unseen(), 0)):
            with recorder.Recorder(self.path(f"{hooks}.ulp"), model) as rec:
                self.assertEqual(len(model._forward_hooks), 1)
                for _ in range(2):
                    model(torch.randint(0, 10, (8, 4)) if hooks else torch.randn(8, 32)).pow(2).mean().backward()
                rec.step(0)
                self.assertEqual(len(model._forward_hooks), hooks)
            self.assertEqual(len(model._forward_hooks), 0)

    def test_mistakes(self):
        model = network()
        cases = [
            (
                lambda: recorder.Recorder(self.path("a.ulp"), model, activations="nosuch"),
                "'nosuch' matches no module name",
            ),
            (
                lambda: recorder.Recorder(self.path("b.ulp"), model, roles={".": "high"}),
                "'high' is not one of unknown, low, float32",
            ),
            (lambda: recorder.Recorder(self.path("c.ulp"), model, every=0), "every=0: must be 1 or more"),
            (
                lambda: recorder.Recorder(self.path("d.ulp"), model, strict=True).step(4),
                r"d.ulp: step 4: no gradients: call step\(\) after",
            ),
            (
                lambda: recorder.Recorder(self.path("e.ulp"), strict=True).step(0, grads={"x": torch.ones(2).int()}),
                "'x': int32 cannot be recorded",
            ),
            (
                lambda: recorder.Recorder(self.path("h.ulp"), strict=True).step(0, loss="abc", grads={"x": torch.ones(2)}),
                "loss='abc': is not a number",
            ),
            (
                lambda: recorder.Recorder(self.path("i.ulp"), strict=True).step(0, lr=[1, 2], grads={"x": torch.ones(2)}),
                r"lr=\[1, 2\]: is not a number",
            ),
            (
                lambda: recorder.Recorder(self.path("f.ulp"), strict=True).step(0, grads={"a\nb": torch.ones(2)}),
                "not printable",
            ),
            (
                lambda: recorder.Recorder(self.path("g.ulp"), roles="autocast"),
                'roles="autocast" needs a model',
            ),
        ]
        for call, message in cases:
            with self.assertRaisesRegex(recorder.RecorderError, message):
                call()
        # Nothing is left of what was wrong from the beginning.
        self.assertEqual(sorted(os.listdir(self.folder))[0][:1], "d")


def parts_in(row):
    """Of how many parts the gradients of a row of `step` are sums."""
    return [struct.unpack("<H", row[-2][i + 6 : i + 8])[0] for i in range(0, len(row[-2]), 104)]


cast_of = recorder.cast_of


def half_cast(*of):
    """As autocast would have it in float16, which not every torch has for the CPU."""
    return None if cast_of(*of) is None else "float16"


class Parts(support.InFolder):
    """Of how many parts a gradient is a sum: in the low byte those that were rounded to `through` before they were added,
    in the high one the others; 0 where that is not known."""

    class Model(nn.Module):
        def __init__(self, tied=False, twice=False, inner=None):
            super().__init__()
            torch.manual_seed(0)
            self.tokens, self.norm, self.head = nn.Embedding(9, 4), nn.LayerNorm(4), nn.Linear(4, 9)
            self.middle, self.twice, self.inner = nn.Linear(4, 4), twice, inner or (lambda module, x: module(x))
            if tied:
                self.head.weight = self.tokens.weight

        def forward(self, x):
            x = self.inner(self.middle, self.tokens(x))
            return self.head(self.norm((self.middle(x) if self.twice else x).float()))

    ALONE = {"tokens.weight": 0x100, "norm.weight": 0x100, "head.weight": 1, "head.bias": 1, "middle.weight": 1}

    def loss(self, model, **autocast):
        with torch.autocast("cpu", torch.bfloat16, **autocast):
            return model(torch.arange(9)).float().pow(2).mean()

    def parts(self, model, train, steps=3, **options):
        """{name: parts} of each recorded step of train(step, model, recorder, optimizer)."""
        path = self.path(f"{len(os.listdir(self.folder))}.ulp")
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)
        with recorder.Recorder(path, model, strict=True, **options) as rec:
            for step in range(steps):
                train(step, model, rec, optimizer)
        support.check(path)
        content = support.content(path)
        names = {row[0]: row[1] for row in content["tensor"]}
        found = []
        for row in content["step"]:
            ids = [struct.unpack("<I", row[-2][i : i + 4])[0] for i in range(0, len(row[-2]), 104)]
            found.append({names[id]: parts for id, parts in zip(ids, parts_in(row))})
        self.assertEqual({of for row in content["total"] for of in parts_in(row)}, {0})
        return found

    def plainly(self, step, model, rec, optimizer, passes=1, none=True, **autocast):
        for _ in range(passes):
            self.loss(model, **autocast).backward()
        rec.step(step)
        for p in model.parameters():
            p.grad = p.grad.mul_(0.5)  # unscaled
        optimizer.step()
        optimizer.zero_grad(set_to_none=none)

    def assertParts(self, found, right):
        for of in found:
            self.assertEqual({name: of.get(name) for name in right}, right)

    def test_uses_and_passes(self):
        for options, right in (
            ({}, self.ALONE),
            ({"passes": 4}, {name: 4 * n for name, n in self.ALONE.items()}),
            ({"none": False}, self.ALONE),
            ({"passes": 3, "none": False}, {name: 3 * n for name, n in self.ALONE.items()}),
            ({"passes": 300}, {name: 255 * n for name, n in self.ALONE.items()}),
            ({"enabled": False}, {**self.ALONE, "head.weight": 0x100, "head.bias": 0x100, "middle.weight": 0x100}),
        ):
            train = lambda *of, options=options: self.plainly(*of, **options)  # noqa: E731
            self.assertParts(self.parts(self.Model(), train, steps=2 if "passes" in options else 3), right)

    def test_shared_and_repeated(self):
        """autocast keeps what it casts: several uses of it are added up in 16 bits."""
        self.assertParts(self.parts(self.Model(tied=True), self.plainly), {"tokens.weight": 0x101, "norm.bias": 0x100})
        self.assertParts(self.parts(self.Model(twice=True), self.plainly), {"middle.weight": 1, "head.weight": 1})
        train = lambda *of: self.plainly(*of, cache_enabled=False)  # noqa: E731
        self.assertParts(self.parts(self.Model(twice=True), train), {"middle.weight": 2, "head.weight": 1})
        train = lambda *of: self.plainly(*of, enabled=False)  # noqa: E731
        self.assertParts(self.parts(self.Model(twice=True), train), {"middle.weight": 0x200, "head.weight": 0x100})

    def test_one_backward_pass_of_several_forward_passes(self):
        """What a forward pass shows is not all of it then."""
        def train(step, model, rec, optimizer):
            (self.loss(model) + self.loss(model)).backward()
            rec.step(step)
            optimizer.zero_grad()

        self.assertParts(self.parts(self.Model(), train), dict.fromkeys(self.ALONE, 0))

    def test_several_backward_passes_of_a_forward_pass(self):
        def train(step, model, rec, optimizer):
            loss = self.loss(model)
            loss.backward(retain_graph=True)
            loss.backward()
            rec.step(step)
            optimizer.zero_grad()

        self.assertParts(self.parts(self.Model(), train), {name: 2 * n for name, n in self.ALONE.items()})

    def test_checkpointing(self):
        """A backward pass within another is no pass of its own, and what it does is not seen."""
        for reentrant in (False, True):
            inner = lambda module, x, reentrant=reentrant: checkpoint(module, x, use_reentrant=reentrant)  # noqa: E731
            right = {**self.ALONE, "middle.weight": 0} if reentrant else self.ALONE
            self.assertParts(self.parts(self.Model(inner=inner), self.plainly), right)
            right = {"middle.weight": 0 if reentrant else 1, "head.weight": 1}  # of it one use is seen, and two are there
            self.assertParts(self.parts(self.Model(inner=inner, twice=True), self.plainly), right)

    def test_what_is_moved_before_it_is_cast(self):
        """Its parts were rounded, whatever the node says that they come through."""
        inner = lambda module, x: nn.functional.linear(x, module.weight.t(), module.bias * 1)  # noqa: E731
        right = {**self.ALONE, "middle.weight": 0, "middle.bias": 0x100}
        self.assertParts(self.parts(self.Model(inner=inner), self.plainly), right)

    def test_half_models(self):
        def train(step, model, rec, optimizer):
            model(torch.randn(5, 4).bfloat16()).sum().backward()
            rec.step(step, grads={"given": torch.ones(3)})

        self.assertParts(self.parts(nn.Linear(4, 3).bfloat16(), train), {"weight": 1, "given": 0})

    def test_errors(self):
        """A forward and a backward pass go on, whatever the recorder cannot do there."""
        model = self.Model()
        with recorder.Recorder(self.path("a.ulp"), model) as rec, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with mock.patch.object(recorder, "graph_behind", side_effect=AttributeError("no such node")):
                self.loss(model).backward()
            rec.step(0)
            rec.step(1)
        self.assertEqual([str(w.message).partition(".ulp: ")[2] for w in caught], ["step 0: AttributeError: no such node"])
        parameter = nn.Parameter(torch.ones(4))
        passes = recorder.Passes(parameter, [0, 1], recorder.Calls())
        see = passes.see
        del parameter
        see(torch.ones(4))
        self.assertTrue(math.isnan(passes.since_zero))

    def test_what_happens_between(self):
        """Gradients that are changed between backward passes are known again when a recorded step or None came between."""
        def train(step, model, rec, optimizer):
            self.loss(model).backward()
            if step == 1:
                optimizer.zero_grad(set_to_none=False)
                self.loss(model).backward()
            rec.step(step)
            optimizer.zero_grad(set_to_none=step % 2 == 0)

        first, second, third, fourth = self.parts(self.Model(), train, steps=4)
        self.assertParts([first, third, fourth], self.ALONE)
        self.assertParts([second], dict.fromkeys(self.ALONE, 0))

    def test_a_step_that_does_not_end_the_sum(self):
        def train(step, model, rec, optimizer):
            for microbatch in (0, 1):
                self.loss(model).backward()
                rec.step(step, microbatch=microbatch)
            rec.step(step)
            optimizer.zero_grad()

        found = self.parts(self.Model(), train)
        for of, passes in zip(found, 3 * (1, 2, 2)):
            self.assertParts([of], {name: passes * n for name, n in self.ALONE.items()})

    def test_from_the_loss(self):
        """Where the module itself is never called: passes are counted once its graph is known."""
        def train(step, model, rec, optimizer):
            with torch.autocast("cpu", torch.bfloat16):
                loss = model.forward(torch.arange(9)).float().pow(2).mean()
            loss.backward()
            rec.step(step, loss=loss)
            optimizer.zero_grad(set_to_none=False)

        first, *others = self.parts(self.Model(), train)
        self.assertParts([first], dict.fromkeys(self.ALONE, 0))
        # Before torch 2.1 autocast alone tells what a node casts to.
        self.assertParts(others, {name: of if of > 1 or TORCH_2_1 else 0 for name, of in self.ALONE.items()})

    def test_every(self):
        found = self.parts(self.Model(), lambda *of: self.plainly(*of, none=False), every=3, steps=7)
        self.assertEqual(len(found), 3)
        self.assertParts(found, self.ALONE)

    def test_with_the_optimizer(self):
        for none in (True, False):
            model, scaler = self.Model(tied=True), scaler_of(8.0)
            optimizer = torch.optim.SGD(model.parameters(), 1e-3)

            def train(step, model, rec, _):
                for i in range(2):
                    scaler.scale(self.loss(model)).backward()  # noqa: B023
                scaler.step(optimizer)  # noqa: B023
                scaler.update()  # noqa: B023
                optimizer.zero_grad(set_to_none=none)  # noqa: B023
                rec.step(step)

            found = self.parts(model, train, scaler=scaler, optimizer=optimizer)
            self.assertParts(found, {"tokens.weight": 0x202, "head.bias": 2, "norm.weight": 0x200})
            self.assertFalse(any(p._backward_hooks for p in model.parameters()))

    def test_gradients_that_are_set_to_zero_unseen(self):
        """.data does not tell that anything was changed: more passes seem to be added to what was recorded."""
        def train(step, model, rec, optimizer):
            self.loss(model).backward()
            rec.step(step)
            for p in model.parameters():
                if step < 2:
                    p.grad.data.zero_()
                else:
                    p.grad = None

        first, second, third, fourth = self.parts(self.Model(), train, steps=4)
        self.assertParts([first, fourth], self.ALONE)
        self.assertParts([second, third], dict.fromkeys(self.ALONE, 0))

    def test_a_loss_of_several_passes(self):
        """Its graph has the uses of all of them."""
        def train(step, model, rec, optimizer, alone=False):
            total = 0
            for _ in range(1 if alone else 4):
                loss = self.loss(model.forward)
                loss.backward()
                total = total + loss
            rec.step(step, loss=total)
            optimizer.zero_grad()

        self.assertParts(self.parts(self.Model(), train), dict.fromkeys(self.ALONE, 0))
        known = {name: of if of > 1 or TORCH_2_1 else 0 for name, of in self.ALONE.items()}
        self.assertParts(self.parts(self.Model(), lambda *of: train(*of, True))[1:], known)

    def test_adversaries(self):
        """A model that is never called, of which a loss has two passes."""
        model = nn.ModuleDict({"d": nn.Linear(8, 1), "g": nn.Linear(4, 8)})
        optimizers = [torch.optim.SGD(model[name].parameters(), 0.01) for name in "dg"]

        def train(step, _, rec, __):
            model["d"].zero_grad(set_to_none=True)
            real = model["d"](torch.randn(4, 8)).mean()
            real.backward()
            made = model["g"](torch.randn(4, 4))
            false = model["d"](made.detach()).pow(2).mean()
            false.backward()
            optimizers[0].step()
            model["g"].zero_grad(set_to_none=True)
            model["d"](made).mean().backward()
            optimizers[1].step()
            rec.step(step, loss=real + false)

        self.assertParts(self.parts(model, train, optimizer=optimizers), dict.fromkeys(("d.weight", "g.weight"), 0))

    def test_uses_outside_of_the_model(self):
        """A penalty, or a head that shares its weight: what is scaled shows them, or else the loss; without these, values may."""
        penalty = lambda model, loss: loss + 1e-2 * sum(p.pow(2).sum() for p in model.parameters())  # noqa: E731
        all_uses = {"tokens.weight": 0x200, "norm.weight": 0x200, "head.weight": 0x101, "middle.weight": 0x101}
        none = dict.fromkeys(all_uses, 0)
        if not TORCH_2_1:  # autocast alone tells what a node casts to
            all_uses.update({"head.weight": 0, "middle.weight": 0})

        def plain(step, model, rec, optimizer, given=True, before=False):
            loss = penalty(model, self.loss(model))
            loss.backward()
            if before:
                optimizer.step()
            rec.step(step, loss=loss if given else float(loss))
            optimizer.zero_grad()

        self.assertParts(self.parts(self.Model(), plain), none)
        model = self.Model()
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)
        train = lambda step, model, rec, _: plain(step, model, rec, optimizer, before=True)  # noqa: E731
        self.assertParts(self.parts(model, train, optimizer=optimizer), none)
        # What is rounded to 16 bits shows by its values that something was added.
        train = lambda *of: plain(*of, given=False)  # noqa: E731
        self.assertParts(self.parts(self.Model(), train), {"head.weight": 0, "middle.weight": 0})

        model, scaler = self.Model(), scaler_of(8.0)
        its = torch.optim.SGD(model.parameters(), 1e-3)

        def scaled(step, model, rec, optimizer):
            scaler.scale(penalty(model, self.loss(model))).backward()
            scaler.step(its)
            scaler.update()
            its.zero_grad(set_to_none=True)
            rec.step(step)

        self.assertParts(self.parts(model, scaled, scaler=scaler, optimizer=its), all_uses)

    def test_heads_outside_of_the_model(self):
        class Body(nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens = nn.Embedding(9, 4)

            def forward(self, x):
                return self.tokens(x)

        for scaled in (True, False):
            model, scaler = Body(), scaler_of(8.0)
            optimizer = torch.optim.SGD(model.parameters(), 1e-3)

            def train(step, model, rec, _):
                with torch.autocast("cpu", torch.bfloat16):
                    loss = nn.functional.linear(model(torch.arange(9)), model.tokens.weight).float().pow(2).mean()
                scaler.scale(loss).backward()  # noqa: B023
                if not scaled:  # noqa: B023
                    rec.step(step, loss=loss)
                scaler.step(optimizer)  # noqa: B023
                scaler.update()  # noqa: B023
                optimizer.zero_grad(set_to_none=True)  # noqa: B023
                if scaled:  # noqa: B023
                    rec.step(step)

            options = dict(scaler=scaler, optimizer=optimizer) if scaled else {}
            found = self.parts(model, train, **options)
            self.assertParts(found, {"tokens.weight": 0x101 if scaled and TORCH_2_1 else 0})

    def test_infinities_of_16_bits(self):
        """What is in float32 alone does not overflow where nothing else does: something else is in it."""
        def train(step, model, rec, optimizer):
            with torch.autocast("cpu", torch.bfloat16), mock.patch.object(recorder, "autocast_type", lambda device: "float16"):
                loss = model(torch.arange(9)).float().pow(2).mean()
            loss.backward()
            if step == 1:
                model.tokens.weight.grad[0, 0] = math.inf
            rec.step(step)
            optimizer.zero_grad()

        with mock.patch.object(recorder, "cast_of", half_cast):
            first, *others = self.parts(self.Model(), train)
        self.assertParts([first], {"tokens.weight": 0x100, "norm.weight": 0x100})
        self.assertParts(others, {"tokens.weight": 0, "norm.weight": 0x100})

    def test_what_is_moved_where_no_parameter_is_cast(self):
        class Moved(nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens = nn.Embedding(9, 4)

            def forward(self, x):
                return self.tokens(x).tanh() @ self.tokens.weight.t()

        self.assertParts(self.parts(Moved(), self.plainly), {"tokens.weight": 0})
        train = lambda *of: self.plainly(*of, enabled=False)  # noqa: E731
        self.assertParts(self.parts(Moved(), train), {"tokens.weight": 0x200})

    def test_backward_passes_of_a_part(self):
        """Of a graph that several uses are in, a pass may come through one of them."""
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.shared, self.first, self.second = (nn.Linear(4, 4) for _ in range(3))

            def forward(self, x):
                return self.first(self.shared(x)), self.second(self.shared(x.sin()))

        def train(step, model, rec, optimizer):
            first, second = model(torch.randn(8, 4))
            first.pow(2).mean().backward(retain_graph=True)
            second.pow(2).mean().backward()
            rec.step(step)
            optimizer.zero_grad()

        right = {"shared.weight": 0, "first.weight": 0x100, "second.weight": 0x100}
        self.assertParts(self.parts(Two(), train), right)

    def test_several_backward_passes_of_several_forward_passes(self):
        def train(step, model, rec, optimizer):
            loss = self.loss(model) + self.loss(model)
            loss.backward(retain_graph=True)
            loss.backward()
            rec.step(step)
            optimizer.zero_grad()

        self.assertParts(self.parts(self.Model(), train), dict.fromkeys(self.ALONE, 0))

    def test_more_forward_passes_later(self):
        for scaled in (False, True):
            model, scaler = self.Model(), scaler_of(8.0)
            its = torch.optim.SGD(model.parameters(), 1e-3)

            def train(step, model, rec, _):
                loss = self.loss(model)
                if step == 1:
                    loss = loss + self.loss(model)
                (scaler.scale(loss) if scaled else loss).backward()  # noqa: B023
                if scaled:  # noqa: B023
                    scaler.step(its)  # noqa: B023
                    scaler.update()  # noqa: B023
                rec.step(step)
                its.zero_grad(set_to_none=True)  # noqa: B023

            found = self.parts(model, train, **(dict(scaler=scaler, optimizer=its) if scaled else {}))
            self.assertParts([found[0], found[2]], self.ALONE)
            self.assertParts([found[1]], dict.fromkeys(self.ALONE, 0))

    def test_gradients_of_torch_autograd(self):
        """Those that are not added to any."""
        def train(step, model, rec, optimizer, none):
            loss = self.loss(model)
            torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
            loss.backward(retain_graph=True)
            torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
            torch.autograd.grad(loss, list(model.parameters()))
            rec.step(step)
            optimizer.zero_grad(set_to_none=none)

        found = self.parts(self.Model(), lambda *of: train(*of, True))
        self.assertParts(found, self.ALONE)
        found = self.parts(self.Model(), lambda *of: train(*of, False))
        self.assertParts(found, self.ALONE)

    def test_resumed(self):
        """The graph is looked at again."""
        model = self.Model()
        for step in range(2):
            with recorder.Recorder(self.path("a.ulp"), model, append=True, strict=True) as rec:
                model.zero_grad(set_to_none=True)
                self.loss(model).backward()
                rec.step(step)
        for row in support.content(self.path("a.ulp"))["step"]:
            self.assertNotIn(0, parts_in(row))


class Scaler:
    """What the recorder sees of torch.amp.GradScaler, for torch that has none for the CPU."""

    Stage = enum.Enum("Stage", "READY UNSCALED STEPPED")

    def __init__(self, init_scale, growth_interval=1000):
        self.now, self.left, self.interval, self._per_optimizer_states = init_scale, growth_interval, growth_interval, {}

    def get_scale(self):
        return self.now

    def scale(self, loss):
        return loss * self.now

    def unscale_(self, optimizer):
        of = self._per_optimizer_states.setdefault(id(optimizer), {"stage": self.Stage.READY})
        assert of["stage"] is self.Stage.READY
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        found = not all(bool(g.isfinite().all()) for g in grads)
        of.update(stage=self.Stage.UNSCALED, found_inf_per_device={"cpu": torch.tensor(float(found))})
        for g in grads:
            g.div_(self.now)

    def step(self, optimizer):
        if self._per_optimizer_states.get(id(optimizer), {}).get("stage") is not self.Stage.UNSCALED:
            self.unscale_(optimizer)
        if not self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]["cpu"]:
            optimizer.step()
        self._per_optimizer_states[id(optimizer)]["stage"] = self.Stage.STEPPED

    def update(self):
        found = any(of["found_inf_per_device"]["cpu"] for of in self._per_optimizer_states.values())
        self.left = self.interval if found or self.left == 1 else self.left - 1
        self.now *= 0.5 if found else 2.0 if self.left == self.interval else 1.0
        self._per_optimizer_states = {}


class Unreadable(dict):
    def values(self):
        raise ValueError("not to be read")


def scaler_of(init_scale, growth_interval=1000):
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cpu", init_scale=init_scale, growth_interval=growth_interval)
    return Scaler(init_scale, growth_interval)


class Updates(support.InFolder):
    """With the scaler and the optimizer the recorder takes what it needs when they do something."""

    rows = Torch.rows

    def scalars(self, path=None):
        """step: lr, loss scale, found_inf, applied."""
        return {row[0]: row[6:10] for row in support.content(path or self.path("a.ulp"))["step"]}

    def train(self, path, where, one_line=True, accumulate=1, clip=False, scaled=True, every_pass=False):
        """The same network in the same way, recorded in one line or three: after "backward", "step" or "update"."""
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), 0.25)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        scaler = scaler_of(1024.0, 3) if scaled else None
        options = dict(scaler=scaler, optimizer=optimizer) if one_line else {}
        with recorder.Recorder(path, model, run_id="r", activations="^2$", strict=True, **options) as rec:
            for step in range(7):
                def line(place, last=True):
                    if place == where and one_line and (last or every_pass):
                        rec.step(step, loss=loss)  # noqa: B023
                    elif place == "backward" and not one_line and last:
                        scale, found = scaler.get_scale() if scaled else 1, step == 4 if scaled else None  # noqa: B023
                        lr = optimizer.param_groups[0]["lr"]
                        rec.step(step, loss=loss, loss_scale=scale, lr=lr, found_inf=found, applied=not found)  # noqa: B023

                for i in range(accumulate):
                    loss = model(torch.arange(32).view(8, 4) % (step + 3)).pow(2).mean()
                    (scaler.scale(loss) if scaled else loss).backward()
                    if step == 4 and scaled:
                        model[5].bias.grad[1] = math.inf
                    line("backward", i == accumulate - 1)
                if clip:
                    scaler.unscale_(optimizer)
                    nn.utils.clip_grad_norm_(model.parameters(), 0.01)
                if scaled:
                    scaler.step(optimizer)
                    line("step")
                    scaler.update()
                else:
                    optimizer.step()
                    line("step")
                line("update")
                scheduler.step()
                optimizer.zero_grad()
                line("zero_grad")
        return support.content(path)

    def test_one_line_is_as_good_as_three(self):
        for options in ({}, {"accumulate": 3}, {"clip": True}, {"scaled": False}, {"accumulate": 2, "every_pass": True}):
            right = self.train(self.path("right.ulp"), "backward", one_line=False, **options)
            for where in ("backward", "step", "update", "zero_grad"):
                found = self.train(self.path("found.ulp"), where, **options)
                for table in right:
                    self.assertEqual(found[table], right[table], (options, where, table))
                os.remove(self.path("found.ulp"))
            os.remove(self.path("right.ulp"))

    def test_scalars(self):
        self.train(self.path("a.ulp"), "update")
        found = self.scalars()
        self.assertEqual([of[0] for of in found.values()], [0.25, 0.25, 0.125, 0.125, 0.0625, 0.0625, 0.03125])
        self.assertEqual([of[1] for of in found.values()], [1024.0] * 3 + [2048.0] * 2 + [1024.0] * 2)
        self.assertEqual([of[2:] for of in found.values()], [(0, 1)] * 4 + [(1, 0)] + [(0, 1)] * 2)

    def test_several_optimizers(self):
        """As adversarial networks have them: each has its own gradients, which another's backward pass adds to."""
        torch.manual_seed(0)
        model = nn.ModuleDict({"d": nn.Linear(3, 3), "g": nn.Linear(3, 3)})
        optimizers = [torch.optim.SGD(model[n].parameters(), lr) for n, lr in (("d", 0.5), ("g", 0.25))]
        scaler = scaler_of(8.0)
        seen = {}
        with recorder.Recorder(self.path("a.ulp"), model, scaler=scaler, optimizer=optimizers, strict=True) as rec:
            for step in range(3):
                for name, optimizer in zip("dg", optimizers):
                    model.zero_grad()
                    scaler.scale(model["d"](model["g"](torch.randn(4, 3))).pow(2).sum()).backward()
                    if (step, name) == (1, "d"):
                        model["d"].bias.grad[0] = math.nan
                    seen[step, name] = float(model[name].weight.grad.abs().max())
                    scaler.step(optimizer)
                scaler.update()
                rec.step(step)
        steps, _ = self.rows()
        for step, name in seen:
            self.assertEqual(steps[step][name + ".weight"][2:], (8.0 / (1 + step // 2), seen[step, name]))
        self.assertEqual(list(self.scalars().values()), [(0.5, 8.0, 0, 1), (0.5, 8.0, 1, None), (0.5, 4.0, 0, 1)])

    def test_optimizers_within_backward(self):
        """Gradients are gone when it ends."""
        model = network()
        optimizers = {p: torch.optim.SGD([p], 0.5) for p in model.parameters()}
        seen = {}

        def hook(p, name):
            def ended(*_):
                seen[name] = float(p.grad.abs().max())
                optimizers[p].step()
                p.grad = None

            return ended

        kept = []
        for name, p in model.named_parameters():
            kept.append(p.expand_as(p).grad_fn.next_functions[0][0])  # where it is accumulated
            kept[-1].register_hook(hook(p, name))
        with recorder.Recorder(self.path("a.ulp"), model, optimizer=optimizers, strict=True) as rec:
            for step in range(2):
                loss = model(torch.randint(0, 10, (8, 4))).pow(2).mean()
                loss.backward()
                rec.step(step, loss=loss)
        steps, _ = self.rows()
        self.assertEqual({name: row[3] for name, row in steps[1].items()}, seen)
        self.assertEqual(list(self.scalars().values()), [(0.5, 1.0, None, 1)] * 2)

    def test_leaves_scaler_and_optimizer_as_they_are(self):
        """Copies and pickles have no part in the recording, schedulers of either order work; closing gives all back."""
        model = network()
        optimizer, scaler = torch.optim.SGD(model.parameters(), 0.25), scaler_of(8.0)
        before = torch.optim.lr_scheduler.StepLR(optimizer, 2)
        rec = recorder.Recorder(self.path("a.ulp"), model, scaler=scaler, optimizer=optimizer)
        for of in (scaler, optimizer):
            pickle.loads(pickle.dumps(of))
        twins = copy.deepcopy((model, optimizer, scaler))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            after = torch.optim.lr_scheduler.StepLR(optimizer, 2)
            for its_model, its_optimizer, its_scaler in (twins, (model, optimizer, scaler)):
                its_scaler.scale(its_model(torch.zeros(2, 4).long()).sum()).backward()
                its_scaler.step(its_optimizer)
                its_scaler.update()
            before.step(), after.step()
        rec.step(0)
        self.assertIsNone(rec._updates._update)
        rec.close()
        rec.close()
        self.assertFalse({"step", "update", "unscale_"} & vars(scaler).keys())
        self.assertFalse(any(p._backward_hooks for p in model.parameters()))
        scaler.scale(model(torch.zeros(2, 4).long()).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        self.assertEqual(list(self.scalars()), [0])

    def test_what_is_around_an_optimizer(self):
        """As accelerate has it: the scaler is given what is within, and its gradients are taken once."""

        class Around(torch.optim.Optimizer):
            def __init__(self, optimizer, scaler):
                self.optimizer, self.scaler = optimizer, scaler

            param_groups = property(lambda self: self.optimizer.param_groups)

            def step(self):
                self.scaler.step(self.optimizer)
                self.scaler.update()

        class Hidden(Around):
            def __init__(self, optimizer, scaler):
                self.of, self.scaler = optimizer, scaler

            param_groups = property(lambda self: self.of.param_groups)

            def step(self):
                self.scaler.step(self.of)
                self.scaler.update()

        for kind in (Around, Hidden):
            for given_within in (False, True):
                model, scaler = nn.Linear(4, 1, bias=False), scaler_of(1024.0)
                within = torch.optim.SGD(model.parameters(), 0.25)
                optimizer = kind(within, scaler)
                path = self.path(f"{len(os.listdir(self.folder))}.ulp")
                given = within if given_within else optimizer
                with recorder.Recorder(path, model, scaler=scaler, optimizer=given, strict=True) as rec:
                    for step in range(3):
                        scaler.scale(model(torch.ones(1, 4)).sum()).backward()
                        if step == 2:
                            model.weight.grad[0, 0] = math.inf
                        scaler.unscale_(within)
                        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                        optimizer.step()
                        rec.step(step)
                        model.zero_grad()
                steps, _ = self.rows(path)
                self.assertEqual([steps[step]["weight"][2:] for step in range(3)], [(1024.0, 1024.0)] * 3)
                if kind is Around:
                    self.assertEqual(list(self.scalars(path).values()), [(0.25, 1024.0, 0, 1)] * 2 + [(0.25, 1024.0, 1, 0)])

    def test_closures(self):
        """What the last one computes is what the optimizer's step takes."""
        for make in (lambda p: torch.optim.SGD(p, 0.5), lambda p: torch.optim.LBFGS(p, 0.1, max_iter=3)):
            for named in (False, True):
                for none in (False, True):
                    model = nn.Linear(4, 1, bias=False)
                    optimizer = make(model.parameters())
                    seen = []
                    path = self.path(f"{len(os.listdir(self.folder))}.ulp")
                    with recorder.Recorder(path, model, optimizer=optimizer, updates=".", every=2, strict=True) as rec:
                        for step in range(5):
                            def closure():
                                optimizer.zero_grad(set_to_none=none)  # noqa: B023
                                loss = model(torch.full((1, 4), step + 0.5)).sigmoid().sum()  # noqa: B023
                                loss.backward()
                                return loss

                            before = model.weight.detach().clone()
                            loss = optimizer.step(closure=closure) if named else optimizer.step(closure)
                            change = (model.weight.detach() - before).abs().max()
                            seen.append((float(model.weight.grad.abs().max()), float(change)))
                            rec.step(step, loss=loss)
                    steps, _ = self.rows(path)
                    found = {step: (row["weight"][3], row["update/weight"][3]) for step, row in steps.items()}
                    self.assertEqual(found, {step: seen[step] for step in (0, 2, 4)})
                    parts = [parts_in(row) for row in support.content(path)["step"]]
                    self.assertEqual(parts, [[0x100, 0]] * 3)

    def test_scalers_of_another_kind(self):
        """What they have found cannot be read: step() tells, and training goes on."""
        model = network()
        optimizer, scaler = torch.optim.SGD(model.parameters(), 0.25), Scaler(8.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with recorder.Recorder(self.path("a.ulp"), model, scaler=scaler, optimizer=optimizer) as rec:
                for step in range(2):
                    scaler.scale(model(torch.zeros(2, 4).long()).pow(2).sum()).backward()
                    scaler.unscale_(optimizer)
                    if step == 0:
                        found = scaler._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
                        scaler._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = Unreadable(found)
                    scaler.step(optimizer)
                    scaler.update()
                    rec.step(step)
        said = [str(w.message).partition(".ulp: ")[2] for w in caught if w.category is RuntimeWarning]
        self.assertEqual(said, ["step 0: ValueError: not to be read"])
        self.assertEqual(list(self.scalars()), [1])

    def test_what_is_said_besides(self):
        """What step() is given counts, but for a loss scale that the scaler knows better."""
        model = network()
        optimizer, scaler = torch.optim.SGD(model.parameters(), 0.25), scaler_of(8.0, 1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with recorder.Recorder(self.path("a.ulp"), model, scaler=scaler, optimizer=optimizer) as rec:
                for step in range(2):
                    scaler.scale(model(torch.zeros(2, 4).long()).pow(2).sum()).backward()
                    scaler.step(optimizer)
                    scaler.update()
                    rec.step(step, loss=3, lr=7, applied=False, loss_scale=scaler.get_scale())
        self.assertEqual(list(self.scalars().values()), [(7.0, 8.0, 0, 0), (7.0, 16.0, 0, 0)])
        [said] = [str(w.message) for w in caught if w.category is RuntimeWarning]
        self.assertRegex(said, "step 0: loss_scale=16 was passed, and the scaler's was 8: that is recorded; leave loss_scale out")

    def test_clipped_before(self):
        """An optimizer alone gives what it gets: clipped to a norm, that is told once."""
        for clip, said in ((0.5, ["step 29: gradients were clipped before they were recorded: many norms are about 0.5"]), (None, [])):
            torch.manual_seed(3)
            model = torch.nn.Linear(20, 5)
            optimizer = torch.optim.SGD(model.parameters(), 0.01)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with recorder.Recorder(self.path(f"{clip}.ulp"), model, optimizer=optimizer, sums=True) as rec:
                    for step in range(70):
                        optimizer.zero_grad()
                        (model(torch.randn(8, 20)) - 3).pow(2).mean().backward()
                        if clip:
                            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
                        optimizer.step()
                        rec.step(step)
            found = [str(w.message).partition(".ulp: ")[2] for w in caught if w.category is RuntimeWarning]
            self.assertEqual([text[: len(said[0])] if said else text for text in found], said)

    def test_mistakes(self):
        model = network()
        other = torch.optim.SGD(network().parameters(), 0.25)
        for options, text in (
            (dict(optimizer=3), "optimizer: int is neither an optimizer of torch"), (dict(optimizer=[3]), "neither an optimizer"),
            (dict(scaler=3), "a int has no get_scale"), (dict(scaler=scaler_of(2.0), model=None), "need a model"),
        ):  # fmt: skip
            with self.assertRaisesRegex((recorder.RecorderError, TypeError), text):
                recorder.Recorder(self.path("no.ulp"), **{"model": model, **options})
        self.assertEqual(os.listdir(self.folder), [])
        for calls in (3, 120):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with recorder.Recorder(self.path(f"{calls}.ulp"), model, optimizer=other) as rec:
                    for step in range(calls):
                        backward(model)
                        rec.step(step)
            [said] = [str(w.message) for w in caught]
            self.assertIn(f"{min(calls, 100)} calls of step() saw no optimizer's step: nothing of them is recorded", said)


class Besides(support.InFolder):
    """What is recorded besides gradients: not multiplied by the loss scale, and of the moment that its name says."""

    rows = Torch.rows

    def test_gradients_of_some(self):
        model = network()
        with recorder.Recorder(self.path("a.ulp"), model, gradients=r"^2\.|5.bias", strict=True) as rec:
            for step in range(2):
                backward(model)
                if step == 1:
                    model[5].bias.grad[0] = math.inf
                rec.step(step, loss_scale=2)
        steps, _ = self.rows()
        self.assertEqual(list(steps[0]), ["2.weight", "2.bias", "5.bias"])
        found = [row[8] for row in support.content(self.path("a.ulp"))["step"]]
        self.assertEqual(found, [None, 1])  # the others may be infinite

    def test_weights(self):
        model = network()
        with recorder.Recorder(self.path("a.ulp"), model, weights="weight", strict=True) as rec:
            backward(model)
            rec.step(0, loss_scale=8, microbatch=0)
            rec.step(0, loss_scale=8)
        steps, tensors = self.rows()
        self.assertEqual([n for n in steps[0] if "/" in n], [f"weight/{n}" for n, _ in model.named_parameters() if "weight" in n])
        self.assertFalse([n for n in steps[0, 0, 0] if "/" in n])
        largest = float(model[2].weight.detach().abs().max())
        self.assertEqual(steps[0]["weight/2.weight"], (2, 16 * 32, 1.0, largest))
        self.assertEqual(tensors["weight/2.weight"][2:6], ("weight", "unknown", "", "16,32"))

    def test_updates_and_states(self):
        """Of a step that is skipped there is no update."""
        for make, keys in (
            (lambda p: torch.optim.Adam(p, 0.25), ("exp_avg", "exp_avg_sq")),
            (lambda p: torch.optim.SGD(p, 0.25, momentum=0.5), ("momentum_buffer",)),
        ):
            for scaled in (True, False):
                model = network()
                optimizer = make(model.parameters())
                scaler = scaler_of(1024.0) if scaled else None
                path = self.path(f"{len(os.listdir(self.folder))}.ulp")
                options = dict(scaler=scaler, optimizer=optimizer, strict=True, weights="^2", updates="^2|5.bias", states="^[em].*2.weight")
                seen = []
                with recorder.Recorder(path, model, **options) as rec:
                    for step in range(3):
                        before = [model[2].weight.detach().clone()]
                        loss = model(torch.arange(32).view(8, 4) % (step + 3)).pow(2).mean()
                        (scaler.scale(loss) if scaled else loss).backward()
                        if step == 1 and scaled:
                            model[5].bias.grad[1] = math.inf
                        if step == 2 and scaled:
                            scaler.unscale_(optimizer)
                        if scaled:
                            scaler.step(optimizer)
                            scaler.update()
                        else:
                            optimizer.step()
                        optimizer.zero_grad()
                        rec.step(step, loss=loss)
                        of = [before[0], model[2].weight.detach() - before[0]]
                        seen.append([float(t.abs().max()) for t in of + [optimizer.state[model[2].weight][k] for k in keys]])
                support.check(path)
                steps, tensors = self.rows(path)
                states = [f"state/{key}/2.weight" for key in keys]
                names = ["weight/2.weight", "update/2.weight", *states]
                for step in range(3):
                    right = [(2, 16 * 32, 1.0, x) for x in seen[step]]
                    if step == 1 and scaled:
                        self.assertFalse([n for n in steps[1] if n.startswith("update/")])
                        self.assertNotIn(states[0], steps[1])
                        continue
                    self.assertEqual([steps[step][n] for n in names], right, (keys, scaled, step))
                    others = [n for n in steps[step] if "/" in n and n not in names]
                    self.assertEqual(others, ["weight/2.bias", "update/2.bias", "update/5.bias"])
                self.assertEqual([tensors[n][2] for n in names], ["weight", "update"] + ["unknown"] * len(keys))
                self.assertEqual({tensors[n][5] for n in names}, {"16,32"})

    def test_updates_of_half_weights(self):
        """In float32, where the difference has more digits."""
        model = nn.Linear(4, 3).bfloat16()
        optimizer = torch.optim.SGD(model.parameters(), 0.25)
        with recorder.Recorder(self.path("a.ulp"), model, optimizer=optimizer, updates=".", weights=".", strict=True) as rec:
            model(torch.randn(5, 4).bfloat16()).sum().backward()
            before = model.weight.detach().float()
            optimizer.step()
            rec.step(0)
        steps, tensors = self.rows()
        largest = float((model.weight.detach().float() - before).abs().max())
        self.assertEqual(steps[0]["update/weight"], (2, 12, 1.0, largest))
        self.assertEqual((steps[0]["weight/weight"][0], tensors["weight/weight"][3:5]), (4, ("low", "bfloat16")))

    def test_mistakes(self):
        model = network()
        for options, text in (
            (dict(gradients="no"), "gradients: 'no' matches no parameter name"), (dict(weights="no"), "weights: 'no' matches"),
            (dict(updates="2"), "updates: needs optimizer="), (dict(states="2"), "states: needs optimizer="),
            (dict(weights="2", model=None), "weights: need a model"),
            (dict(inputs="("), r"inputs: '\(' is no regular expression: missing \)"),
            (dict(activations="*"), r"activations: '\*' is no regular expression"),
            (dict(weights="["), r"weights: '\[' is no regular expression"),
            (dict(roles={"(": "low"}), r"roles: '\(' is no regular expression"),
            (dict(fp8_scales="("), r"fp8_scales: '\(' is no regular expression"),
            (dict(inputs=["fc"]), r"inputs: \['fc'\] is a list; give one regular expression as a str"),
            (dict(forward=True), "forward: True is a bool; give one"), (dict(gradients=["2"]), "gradients: .* is a list"),
        ):  # fmt: skip
            with self.assertRaisesRegex(recorder.RecorderError, text):
                recorder.Recorder(self.path("no.ulp"), **{"model": model, **options})
        self.assertEqual(os.listdir(self.folder), [])


class Misuse(support.InFolder):
    """What the values show is told in the first step, once, and what is right is left alone."""

    class Half(nn.Module):
        """Its gradient goes through float16, as autocast would have it."""

        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.weight, self.bias = nn.Parameter(torch.randn(400)), nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return (self.weight.half().float() * x).sum(1) + self.bias

    def said(self, how, steps=2, scales=(65536.0,), every=1, **options):
        """The warnings of steps of which each is made so by how(gradients, scale)."""
        model = self.Half()
        path = self.path(f"{len(os.listdir(self.folder))}.ulp")
        with warnings.catch_warnings(record=True) as caught, recorder.Recorder(path, model, every=every) as rec:
            warnings.simplefilter("always")
            with mock.patch.object(recorder, "autocast_type", lambda device: "float16"):
                for step in range(steps):
                    scale = scales[step % len(scales)]
                    model.zero_grad()
                    x = torch.randn(3, 400) * torch.logspace(0, -6, 400)
                    loss = model(x).pow(2).mean() * 1e-2
                    (loss * scale).backward()
                    for p in model.parameters():
                        how(p.grad, scale)
                    rec.step(step, loss=loss, loss_scale=scale, **options)
        return [str(w.message).partition(".ulp: ")[2] for w in caught]

    def test_what_is_right(self):
        self.assertEqual(self.said(lambda g, s: None), [])
        self.assertEqual(self.said(lambda g, s: None, scales=(8.0,)), [])
        self.assertEqual(self.said(lambda g, s: g.div_(s), scaled=False), [])
        self.assertEqual(self.said(lambda g, s: g.div_(4), factor=0.25), [])
        overflow = [lambda g, s: None, lambda g, s: g.fill_(math.inf) if s > 60000 else g]
        self.assertEqual(self.said(overflow[1], steps=6, scales=(8.0, 65536.0, 32768.0)), [])

    def test_unscaled_gradients(self):
        for options in ({}, {"scales": (16384.0,)}):
            [said] = self.said(lambda g, s: g.div_(s), **options)
            self.assertRegex(said, "^step 0: 'weight' was computed in float16 and has a value of .*below the smallest of")
            self.assertIn("pass scaled=False and the loss scale of this step, taken before scaler.update()", said)

    def test_values_that_float16_does_not_have(self):
        """Unscaled gradients that are neither too small nor too few: below 2^-14 float16 has fewer bits."""
        how = lambda g, s: g.copy_((torch.rand_like(g) + 0.5).half().float() * 2.0**-17)  # noqa: E731
        [said] = self.said(how, scales=(2048.0,))
        self.assertRegex(said, "^step 0: 'weight' was computed in float16 and has values that float16 does not: it is not multi")
        self.assertEqual(self.said(how, scales=(2048.0,), scaled=False), [])
        self.assertEqual(self.said(lambda g, s: g.copy_(how(g, s).half()), scales=(2048.0,)), [])

    def test_values_that_float16_has_by_no_chance(self):
        how = lambda g, s: g.copy_(((torch.rand_like(g) + 0.5) * 2.0**-20).half())  # noqa: E731
        [said] = self.said(how, scales=(8.0,), scaled=False)
        self.assertRegex(said, r"^step 0: scaled=False was passed, but gradients .*only after scaler.unscale_\(\)$")
        self.assertEqual(self.said(how, scales=(8.0,)), [])

    def test_a_scale_that_values_do_not_carry(self):
        [said] = self.said(lambda g, s: g.copy_(torch.full_like(g, 2.0**-20)))
        self.assertRegex(said, "^step 0: no gradient is above 9.54e-07, and the loss scale is 65536: the true ones")

    def test_scaled_gradients(self):
        for how in (lambda g, s: g.fill_(2.0**-24), lambda g, s: g.fill_(100.0)):
            [said] = self.said(how, scaled=False)
            self.assertRegex(said, r"^step 0: scaled=False was passed, but gradients .*only after scaler.unscale_\(\)$")

    def test_zeros(self):
        [said] = self.said(lambda g, s: g.zero_())
        self.assertRegex(said, r"^step 0: all gradients are zero: call step\(\) after backward\(\) and before zero_grad")

    def test_the_scale_of_the_next_step(self):
        """It falls in the step that overflows; right would be the step after it."""
        how = lambda g, s: g.fill_(math.inf) if s == 16384.0 else g  # noqa: E731
        [said] = self.said(how, steps=3, scales=(32768.0, 32768.0, 16384.0))
        self.assertRegex(said, "^step 2: the loss scale fell from 32768 to 16384 in the step that overflows, and not after")
        self.assertEqual(self.said(how, steps=3, scales=(32768.0, 32768.0, 16384.0), every=2), [])

    def test_a_scale_that_does_not_fall_further(self):
        """Where several steps overflow, one after the other, it may stay at the least that it may be."""
        for scales, overflows in (((32768.0, 16384.0, 8192.0, 4096.0), (0, 1, 2)), ((2.0, 2.0, 1.0, 1.0), (1, 2))):
            steps = iter(range(100))
            how = lambda g, s: g.fill_(math.inf) if next(steps) // 2 in overflows else g  # noqa: B023, E731
            self.assertEqual(self.said(how, steps=4, scales=scales), [])


@unittest.skipUnless(hasattr(torch.amp, "GradScaler"), "torch has no scaler for the CPU")
class MisuseInTraining(support.InFolder):
    """A network that is trained in float16 for some steps, and recorded as it should not be."""

    def said(self, wrong, steps=3, init_scale=65536.0, growth_interval=2000, given=True, penalty=0.0):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 8))
        optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cpu", init_scale, growth_interval=growth_interval)
        path = self.path(f"{len(os.listdir(self.folder))}.ulp")
        with warnings.catch_warnings(record=True) as caught, recorder.Recorder(path, model) as rec:
            warnings.simplefilter("always")
            for step in range(steps):
                optimizer.zero_grad()
                with torch.autocast("cpu", torch.float16):
                    loss = nn.functional.cross_entropy(model(torch.randn(64, 16)).float(), torch.arange(64) % 8)
                if penalty > 0:
                    loss = loss + penalty * sum(p.pow(2).sum() for p in model.parameters())
                scaler.scale(loss).backward()
                of = {"loss_scale": scaler.get_scale() * (2.0**20 if wrong == "scale" else 1), "loss": loss if given else float(loss)}
                if wrong in ("nothing", "scale", "scaled"):
                    rec.step(step, **of, scaled=wrong != "scaled")
                scaler.unscale_(optimizer)
                if wrong in ("unscaled", "nothing after"):
                    rec.step(step, **of, scaled=wrong == "unscaled")
                scaler.step(optimizer)
                scaler.update()
                if wrong == "next":
                    rec.step(step, loss_scale=scaler.get_scale(), scaled=False)
                if wrong == "zeros":
                    optimizer.zero_grad(set_to_none=False)
                    rec.step(step, **of)
        return [str(w.message).partition(".ulp: ")[2] for w in caught if w.category is RuntimeWarning]

    def test_each_is_told_once(self):
        for wrong, text in (
            ("unscaled", "step 0: .*not multiplied by the loss scale any more"), ("scaled", "step 0: scaled=False was passed, but"),
            ("zeros", "step 0: all gradients are zero"), ("scale", "step 0: no gradient is above .* if the loss was not multiplied"),
        ):  # fmt: skip
            for given in (True, False):
                [said] = self.said(wrong, given=given)
                self.assertRegex(said, text if given or wrong != "unscaled" else "step 0: no gradient is above|" + text)

    def test_the_scale_of_the_next_step(self):
        """As soon as the steps show it: where one overflows after another that does not."""
        [said] = self.said("next", 60, 2.0**16, growth_interval=2)
        self.assertRegex(said, "the loss scale fell from .* in the step that overflows, and not after it")

    def test_what_is_right(self):
        for wrong in ("nothing", "nothing after"):
            for scale in (8.0, 65536.0, 2.0**40):
                self.assertEqual(self.said(wrong, 30, scale), [])

    def test_penalties(self):
        """They bring values to gradients that float16 does not have."""
        for given in (True, False):
            for wrong in ("nothing", "nothing after"):
                self.assertEqual(self.said(wrong, 5, 2.0, given=given, penalty=1e-6), [])


RANK = """
import os, sys
sys.path.insert(0, sys.argv[1])
import torch
from torch import nn
import torch.distributed as dist
from ulpscope import Recorder

dist.init_process_group("gloo", init_method="file://" + sys.argv[2] + "/meet", rank=int(sys.argv[3]), world_size=2)
torch.manual_seed(0)
model = nn.Linear(4, 3)
if sys.argv[4] in ("replica", "hook", "built-in", "within", "local", "accumulate"):
    model = nn.parallel.DistributedDataParallel(model)
if sys.argv[4] == "built-in":
    model._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)
if sys.argv[4] in ("hook", "within"):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
torch.manual_seed(dist.get_rank())
options = {"shard": dict(shards=True)}.get(sys.argv[4], dict(local=sys.argv[4] in ("local", "accumulate", "apart")))
seen = []
with Recorder(sys.argv[2] + "/run.ulp", model.module if sys.argv[4] == "within" else model, strict=True, **options) as rec:
    for step in range(2):
        model.zero_grad()
        x = torch.randn(5, 4)
        if sys.argv[4] == "accumulate":
            with model.no_sync():
                model(x).pow(2).sum().backward()
        else:
            model(x).pow(2).sum().backward()
        if sys.argv[4] == "accumulate":
            model(x).pow(2).sum().backward()
        rec.step(step, loss_scale=1)
        alone = getattr(model, "module", model)
        loss = (2 if sys.argv[4] == "accumulate" else 1) * nn.functional.linear(x, alone.weight, alone.bias).pow(2).sum()
        seen.append([float(g.abs().max()) for g in torch.autograd.grad(loss, list(alone.parameters()))])
print(seen)
dist.barrier()
dist.destroy_process_group()  # a thread of gloo that still runs at exit ends the process by a signal
"""


@unittest.skipUnless(
    torch.distributed.is_available() and torch.distributed.is_gloo_available(), "no torch.distributed with gloo"
)
class Ranks(support.InFolder):
    def run_two(self, layout):
        arguments = [sys.executable, "-W", "ignore", "-c", RANK, support.PACKAGES, self.folder]
        ranks = [subprocess.Popen([*arguments, str(rank), layout], stdout=subprocess.PIPE) for rank in (0, 1)]
        self.printed = [rank.communicate(timeout=120)[0].decode() for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0])
        return sorted(name for name in os.listdir(self.folder) if ".ulp" in name)

    def test_replicas(self):
        """All ranks have the same gradients: the first records them."""
        self.assertEqual(self.run_two("replica"), ["run.ulp"])
        content = support.content(self.path("run.ulp"))
        meta = dict(content["meta"])
        self.assertEqual([meta[k] for k in ("rank", "world", "reduction", "layout")], ["0", "2", "reduced", "replica"])
        self.assertEqual([row[3] for row in content["step"]], ["0,1"] * 2)
        self.assertEqual([row[1] for row in content["tensor"]], ["weight", "bias"])
        part_of_each_rank = 0x200 if TORCH_2_1 else 0
        self.assertEqual([parts_in(row) for row in content["step"]], [[part_of_each_rank] * 2] * 2)

    def test_replicas_that_reduce_in_their_own_way(self):
        """Or in one that is not seen, or not at all."""
        for layout in ("hook", "built-in", "within", "alone"):
            self.run_two(layout)
            self.assertEqual([parts_in(row) for row in support.content(self.path("run.ulp"))["step"]], [[0, 0]] * 2, layout)
            for name in os.listdir(self.folder):
                os.remove(self.path(name))

    @unittest.skipUnless(TORCH_2_1, "needs torch 2.1 or newer")
    def test_local_gradients(self):
        """Each rank has its own, as they are before they are reduced, and a file of one run."""
        for layout, parts in (("local", 0x100), ("accumulate", 0x200), ("apart", 0x100)):
            self.assertEqual(self.run_two(layout), ["run.rank0.ulp", "run.rank1.ulp"])
            for rank in (0, 1):
                content = support.content(self.path(f"run.rank{rank}.ulp"))
                meta = dict(content["meta"])
                self.assertEqual([meta[k] for k in ("rank", "world", "reduction", "layout")], [str(rank), "2", "local", "replica"])
                records = [[struct.unpack("<IBBH6Q5dQ", row[-2][i : i + 104]) for i in (0, 104)] for row in content["step"]]
                for of, seen in zip(records, json.loads(self.printed[rank])):
                    for record, largest in zip(of, seen):
                        self.assertAlmostEqual(record[10] / largest, 1, 5)
                        self.assertEqual(record[3], parts)
            support.ulp("merge", self.path("run.rank0.ulp"), self.path("run.rank1.ulp"), "-o", self.path("run.ulp"))
            support.check(self.path("run.ulp"))
            merged = support.content(self.path("run.ulp"))
            self.assertEqual([row[3] for row in merged["step"]], ["0,1"] * 2)
            self.assertEqual(struct.unpack("<Q", merged["step"][0][-2][8:16]), (2 * 12,))
            for name in os.listdir(self.folder):
                os.remove(self.path(name))

    def test_shards(self):
        """Each rank has a part: a file for each, of one run."""
        self.assertEqual(self.run_two("shard"), ["run.rank0.ulp", "run.rank1.ulp"])
        contents = [support.content(self.path(f"run.rank{rank}.ulp")) for rank in (0, 1)]
        metas = [dict(content["meta"]) for content in contents]
        self.assertEqual(metas[0]["run_id"], metas[1]["run_id"])
        self.assertEqual([m["rank"] + m["world"] + m["layout"] for m in metas], ["02shard", "12shard"])
        self.assertEqual([content["step"][0][3] for content in contents], ["0", "1"])
        self.assertEqual([row[6] for row in contents[0]["tensor"]], [0, 0])
        self.assertNotEqual(contents[0]["step"][0][-1], contents[1]["step"][0][-1])


MESH = """
import os, sys, warnings
sys.path.insert(0, sys.argv[1])
import torch
from torch import nn
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, init_device_mesh
from ulpscope import Recorder

world = int(sys.argv[4])
dist.init_process_group("gloo", init_method="file://" + sys.argv[2] + "/meet", rank=int(sys.argv[3]), world_size=world)
torch.manual_seed(0)
model = nn.ParameterDict()
whole = {}
R = Replicate()
if world == 2:
    mesh = tensor_parallel = init_device_mesh("cpu", (2,))
    ways = {"rows": [Shard(0)], "columns": [Shard(1)], "copies": [R]}
else:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
    tensor_parallel = mesh["tensor"]
    ways = {"rows": [Shard(0), R], "columns": [R, Shard(1)], "both": [Shard(0), Shard(1)], "same": [Shard(0)] * 2, "copies": [R, R]}
    ways.update({"part_rows": [Shard(0)], "part_copies": [R]})
for name, placements in {**ways, "plain": None}.items():
    value, whole[name] = torch.randn(5, 3), torch.randn(5, 3)
    of = tensor_parallel if name.startswith("part_") else mesh
    share = lambda tensor: tensor.clone() if placements is None else distribute_tensor(tensor, of, placements)
    model[name] = nn.Parameter(share(value))
    model[name].grad = share(whole[name])
if sys.argv[5] == "summands":
    model["copies"].grad = DTensor.from_local(whole["copies"], mesh, [Partial()] * mesh.ndim)
    del whole["copies"]
weights = {"weight/" + name: getattr(p, "full_tensor", lambda p=p: p)().detach() for name, p in model.items()}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with Recorder(sys.argv[2] + "/run.ulp", model, run_id="r", weights=".") as rec:
        for step in range(2):
            rec.step(step, loss_scale=8)
if sys.argv[5] == "summands":
    print([str(w.message) for w in caught if w.category is RuntimeWarning])
if dist.get_rank() == 0:
    torch.save((whole, weights), sys.argv[2] + "/whole.pt")
dist.barrier()
dist.destroy_process_group()  # a thread of gloo that still runs at exit ends the process by a signal
"""


@unittest.skipUnless(
    torch.distributed.is_available() and torch.distributed.is_gloo_available() and support.has("torch.distributed.tensor"),
    "no torch.distributed.tensor with gloo",
)
class Meshes(support.InFolder):
    """DTensors: each element is recorded by one rank, wherever copies of it are."""

    def run_ranks(self, world, how="sums"):
        arguments = [sys.executable, "-W", "ignore", "-c", MESH, support.PACKAGES, self.folder]
        of_ranks = [[*arguments, str(rank), str(world), how] for rank in range(world)]
        ranks = [subprocess.Popen(of, stdout=subprocess.PIPE) for of in of_ranks]
        self.printed = [rank.communicate(timeout=240)[0].decode() for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0] * world)
        self.merged = self.path("merged.ulp")
        support.ulp("merge", *(self.path(f"run.rank{rank}.ulp") for rank in range(world)), "-o", self.merged)
        support.check(self.merged)

    def assertWhole(self, world):
        """Merged, it is what one process makes of the whole tensors."""
        whole, weights = torch.load(self.path("whole.pt"), weights_only=True)
        content = support.content(self.merged)
        self.assertEqual([row[3] for row in content["step"]], [",".join(map(str, range(world)))] * 2)
        names = {row[0]: row[1] for row in content["tensor"]}
        records = [struct.unpack("<IBBH6Q5dQ", content["step"][0][-2][i : i + 104]) for i in range(0, len(content["step"][0][-2]), 104)]
        found = {names[r[0]]: (r[4], r[10], r[11], r[12]) for r in records}
        of = lambda t, factor: (t.numel(), float(t.abs().max()), float(t.abs().min()), factor)  # noqa: E731
        right = {name: of(t, 8.0) for name, t in whole.items()}
        self.assertEqual(found, {**right, **{name: of(t, 1.0) for name, t in weights.items()}})

    def test_one_mesh(self):
        self.run_ranks(2)
        self.assertWhole(2)

    def test_two_dimensions_and_submeshes(self):
        self.run_ranks(4)
        self.assertWhole(4)

    def test_summands(self):
        """To add them up would take all ranks, of which one may have stopped to record: they are left out."""
        self.run_ranks(2, "summands")
        self.assertWhole(2)
        for printed in self.printed:
            self.assertIn("'copies': its parts are still to be added up over ranks: set p.grad = p.grad.redistribute(", printed)


if __name__ == "__main__":
    unittest.main()
