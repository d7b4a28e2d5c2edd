"""ulpscope.emulate: a training with every tensor through `ulp convert`, bit for bit; and what it leaves as it is."""

import collections
import copy
import doctest
import io
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

import support

support.need("numpy", "torch")
support.need_compiled()

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import ulpscope  # noqa: E402
from ulpscope import emulation  # noqa: E402

LAYERS = {"conv": F.conv2d, "fc1": F.linear, "fc2": F.linear}


def network():
    torch.manual_seed(0)
    layers = [
        ("conv", nn.Conv2d(1, 3, 3)),
        ("relu1", nn.ReLU(inplace=True)),
        ("flat", nn.Flatten()),
        ("fc1", nn.Linear(48, 8)),
        ("relu2", nn.ReLU(inplace=True)),
        ("fc2", nn.Linear(8, 4)),
    ]
    return nn.Sequential(collections.OrderedDict(layers))


def batches(n, scale=1.0):
    torch.manual_seed(1)
    return [(torch.randn(16, 1, 6, 6) * scale, torch.randint(0, 4, (16,))) for _ in range(n)]


def bits(tensors):
    return {name: tensor.detach().view(torch.int32).clone() for name, tensor in tensors}


def gradients(model, x, recipe=None):
    """Of a model that is emulated from now on, where there is a recipe."""
    model.zero_grad()
    if recipe is not None:
        ulpscope.emulate(model, recipe)
    model(x).pow(2).sum().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


class Case(support.InFolder):
    def same(self, ones, others):
        self.assertEqual(list(ones), list(others))
        for name in ones:
            self.assertTrue(torch.equal(ones[name], others[name]), name)


class ByHand:
    """The training of `network`, written out: each tensor that a layer multiplies goes through `convert(tensor, kind, name)`."""

    def __init__(self, convert, lr, factor):
        self.convert, self.lr, self.factor = convert, lr, factor
        self.parameters = {name: p.detach().clone() for name, p in network().named_parameters()}

    def layer(self, name, x):
        """The output, and what gives the gradients of input, weight and bias."""
        weight, bias = self.parameters[f"{name}.weight"], self.parameters[f"{name}.bias"]
        operands = self.convert(x, "activation", name), self.convert(weight, "weight", f"{name}.weight"), bias.clone()
        operands = [operand.requires_grad_() for operand in operands]
        y = LAYERS[name](*operands)

        def back(gradient):
            self.seen[f"agrad/{name}"] = rounded = self.convert(gradient, "activation_grad", name)
            gx, gw, gb = torch.autograd.grad(y, operands, rounded)
            self.seen[f"{name}.weight"] = self.convert(gw, "weight_grad", f"{name}.weight")
            self.seen[f"{name}.bias"] = gb
            return gx

        return y.detach(), back

    def step(self, x, labels):
        self.seen = {}
        y, back_conv = self.layer("conv", x)
        h1 = y.clamp_min(0)
        y, back_fc1 = self.layer("fc1", h1.flatten(1))
        h2 = y.clamp_min(0)
        y, back_fc2 = self.layer("fc2", h2)
        y.requires_grad_()
        (g,) = torch.autograd.grad(F.cross_entropy(y, labels) * self.factor, y)
        g = back_fc2(g)
        g = back_fc1(torch.where(h2 > 0, g, torch.zeros(()))).view_as(h1)
        back_conv(torch.where(h1 > 0, g, torch.zeros(())))
        for name, parameter in self.parameters.items():
            parameter.add_(self.seen[name], alpha=-self.lr)


class BitForBit(Case):
    def convert(self, x, name, *options):
        """By the program."""
        np.savez(self.path("a.npz"), **{name: x.detach().numpy()})
        support.ulp("convert", self.path("a.npz"), "-o", self.path("b.npz"), "--values", *options)
        with np.load(self.path("b.npz")) as read:
            scale = float(options[options.index("--scale") + 1]) if "--scale" in options else 1
            return torch.from_numpy(read[name] / np.float32(scale))

    def check(self, recipe, options, steps=4, lr=0.125, factor=1.0, scale=1.0, seeds=False):
        """recipe, and the options of `ulp convert` that are the same, by kind. With seeds, step i has seed i."""

        def convert(x, kind, name):
            if kind not in options:
                return x.clone()
            rounded = self.convert(x, f"{kind}/{name}", *options[kind], *(["--seed", str(step)] if seeds else []))
            changed[kind] += int((rounded != x).sum())
            largest[kind] = max(largest[kind], float(rounded.abs().max()))
            return rounded

        changed, largest = collections.Counter(), collections.Counter()
        model, hand = network(), ByHand(convert, lr, factor)
        optimizer = torch.optim.SGD(model.parameters(), lr)
        for step, (x, labels) in enumerate(batches(steps, scale)):
            now = {kind: {**of, "seed": step} for kind, of in recipe.items()} if seeds else recipe
            if seeds or step == 0:
                emulated = ulpscope.emulate(model, now)
            optimizer.zero_grad()
            (F.cross_entropy(model(x), labels) * factor).backward()
            if seeds or step == steps - 1:
                emulated.remove()
            hand.step(x, labels)
            got = bits((name, parameter.grad) for name, parameter in model.named_parameters())
            self.same(got, bits((name, hand.seen[name]) for name in hand.parameters))
            optimizer.step()
            self.same(bits(model.named_parameters()), bits(hand.parameters.items()))
        self.assertEqual(set(changed), set(options))
        self.assertGreater(min(changed.values()), 100)
        return largest

    def test_cbfloat16(self):
        options = {kind: ["--to", "cbfloat16"] for kind in emulation.OPERANDS}
        self.check("cbfloat16", options)

    def test_float16_toward_zero_saturating(self):
        how = {"format": "float16", "rounding": "toward-zero", "saturate": True}
        options = {kind: ["--to", "float16", "--rounding", "rz", "--saturate"] for kind in emulation.OPERANDS}
        largest = self.check(how, options, lr=2.0**-26, factor=2.0**24, scale=50000.0)
        self.assertEqual((largest["activation"], largest["activation_grad"]), (65504, 65504))

    def test_stochastic(self):
        how = {"format": "float8_e5m2", "rounding": "stochastic", "bits": 8}
        options = {kind: ["--to", "float8_e5m2", "--rounding", "stochastic,bits=8"] for kind in emulation.KINDS}
        self.check({kind: how for kind in emulation.KINDS}, options, seeds=True)

    def test_by_kind_with_scales_and_flushing(self):
        recipe = {
            "activation": {"format": "float8_e4m3fn", "scale": 4, "saturate": True},
            "activation_grad": {"format": "float16", "ftz": "after"},
            "weight_grad": "bfloat16",
        }
        options = {
            "activation": ["--to", "float8_e4m3fn", "--scale", "4", "--saturate"],
            "activation_grad": ["--to", "float16", "--ftz", "after"],
            "weight_grad": ["--to", "bfloat16"],
        }
        self.check(recipe, options, factor=2.0**-4)

    def test_a_recorder_beside_it(self):
        """Records the gradients as the training by hand has them, made before emulate or after."""
        (x, labels), *_ = batches(1)

        def convert(x, kind, name):
            return self.convert(x, name, "--to", "cbfloat16") if kind in emulation.OPERANDS else x.clone()

        hand = ByHand(convert, 0.125, 1.0)
        hand.step(x, labels)
        with ulpscope.Recorder(self.path("hand.ulp"), sums=True, strict=True) as recorder:
            recorder.step(0, grads={**hand.seen}, loss_scale=1)
        expected = self.rows("hand.ulp")
        self.assertEqual(len(expected), 9)
        for before in (True, False):
            model, path = network(), self.path(f"{before}.ulp")
            recorder = ulpscope.Recorder(path, model, activations="conv|fc", sums=True, strict=True) if before else None
            with ulpscope.emulate(model, "cbfloat16"):
                recorder = recorder or ulpscope.Recorder(path, model, activations="conv|fc", sums=True, strict=True)
                loss = F.cross_entropy(model(x), labels)
                loss.backward()
                recorder.step(0, loss_scale=1)
            recorder.close()
            support.check(path)
            self.assertEqual(self.rows(f"{before}.ulp"), expected)

    def test_a_recorder_under_autocast(self):
        """Knows the roles of weights that are rounded to what they were, as those of weights that are not."""

        class Scaled(nn.Linear):
            def forward(self, x):
                return super().forward(x).float() * self.factor

        recorded = []
        for recipe in (None, {"": "float32", "weight_grad": "float32"}):
            torch.manual_seed(0)
            model = nn.Sequential(Scaled(5, 4), nn.Linear(4, 2))
            model[0].factor = nn.Parameter(torch.ones(1))
            path = self.path(f"{len(recorded)}.ulp")
            with ulpscope.Recorder(path, model, activations=".", strict=True) as recorder, ulpscope.emulate(model, recipe):
                for step in range(2):
                    model.zero_grad()
                    with torch.autocast("cpu", torch.bfloat16):
                        loss = model(torch.ones(5, 5).tril()).float().pow(2).sum()
                    loss.backward()
                    recorder.step(step, loss=loss, loss_scale=1)
            recorded.append(support.ulp("export", path, "--json-lines"))
        self.assertEqual(*recorded)
        roles = {row["tensor"]: row["role"] for row in map(json.loads, recorded[0].splitlines())}
        self.assertEqual([roles[name] for name in ("0.weight", "1.weight", "0.factor")], ["low", "low", "float32"])

    def rows(self, name):
        """{tensor: what is recorded of it}"""
        rows = {}
        for line in support.ulp("export", self.path(name), "--json-lines").splitlines():
            row = json.loads(line)
            if "tensor" in row:
                tensor = row.pop("tensor").replace("agrad/", "")
                more = ("shape", "parts_rounded", "parts_kept")  # is known of a model
                rows[tensor] = {key: row[key] for key in row if key not in more}
        return rows


class Model(Case):
    X = torch.linspace(-3, 3, 12 * 36).reshape(12, 1, 6, 6)

    def test_is_left_as_it_is(self):
        model = network()
        before = bits(model.state_dict().items())
        output, own = model(self.X).detach(), [id(p) for p in model.parameters()]
        attributes = [dict(vars(module)) for module in model.modules()]
        with ulpscope.emulate(model, "float8_e4m3fn") as emulated:
            self.assertFalse(torch.equal(model(self.X), output))
            self.same(bits(model.state_dict().items()), before)
            self.assertEqual([id(p) for p in model.parameters()], own)
            for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
                self.assertTrue(torch.equal(twin(self.X), output))
            saved = io.BytesIO()
            torch.save(model, saved)
        emulated.remove()  # once more
        self.assertTrue(torch.equal(model(self.X), output))
        self.assertEqual([dict(vars(module)) for module in model.modules()], attributes)
        for module in model.modules():
            self.assertFalse(module._forward_hooks or module._forward_pre_hooks)

    def test_an_error_within_a_layer(self):
        model = network()
        output = model(self.X)
        with ulpscope.emulate(model, "bfloat16"):
            rounded = model(self.X)
            with self.assertRaises(RuntimeError):
                model.fc1(torch.zeros(2, 5))
            self.assertTrue(torch.equal(model(self.X), rounded))
            with self.assertRaises(RuntimeError):
                model.fc1(torch.zeros(2, 5))
        self.assertTrue(torch.equal(model(self.X), output))
        self.assertNotIn("weight", vars(model.fc1))

    def test_without_gradients(self):
        model = network().eval()
        with ulpscope.emulate(model, "bfloat16"):
            one = model(self.X)
            with torch.no_grad():
                self.assertTrue(torch.equal(model(self.X), one))
            with torch.inference_mode():
                self.assertTrue(torch.equal(model(self.X), one))

    def test_a_backward_pass_after_it(self):
        model = network()
        expected = gradients(model, self.X, "float8_e5m2")
        model = network()
        with ulpscope.emulate(model, "float8_e5m2"):
            loss = model(self.X).pow(2).sum()
        loss.backward()
        self.same({name: p.grad for name, p in model.named_parameters()}, expected)

    def test_second_derivatives(self):
        layer, x = nn.Linear(3, 3), torch.randn(2, 3, requires_grad=True)
        with ulpscope.emulate(layer, "float16"):
            (g,) = torch.autograd.grad(layer(x).pow(3).sum(), x, create_graph=True)
            g.pow(2).sum().backward()
        self.assertTrue(torch.isfinite(x.grad).all() and x.grad.any())

    def test_sixteen_bit_tensors_stay_so(self):
        """Of formats that their type does not hold too; subnormals are those of their type."""
        types = []
        layer = nn.Linear(4, 4)
        layer.register_forward_hook(lambda m, x, y: types.append((x[0].dtype, y.dtype)))
        x = torch.tensor([[1.001, 2.0**-14, 300.0, -0.1]], dtype=torch.bfloat16, requires_grad=True)
        with ulpscope.emulate(layer, "float8_e4m3fn"), torch.autocast("cpu", torch.bfloat16):
            layer(x).float().sum().backward()
        self.assertEqual(types, [(torch.bfloat16, torch.bfloat16)])
        self.assertEqual((x.grad.dtype, layer.weight.grad.dtype), (torch.bfloat16, torch.float32))
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            for format in ("float16", "cbfloat16", "float8_e5m2"):
                with self.subTest(dtype=dtype, format=format):
                    x = (torch.randn(1000) * 2.0 ** torch.randint(-26, 10, (1000,))).to(dtype)
                    y = emulation._Treatment(format, daz=True)(x, 0)
                    wide = torch.empty(1000, dtype=torch.float32 if dtype != torch.float64 else dtype)
                    self.assertEqual(y.dtype, dtype)
                    self.assertTrue(torch.equal(y.to(wide.dtype), ulpscope.quantize(x, format, daz=True, out=wide)))

    def test_scales(self):
        x = torch.randn(1000)
        y = emulation._Treatment("float8_e4m3fn", scale=3)(x, 0)
        self.assertTrue(torch.equal(y, ulpscope.quantize(x, "float8_e4m3fn", scale=3) / 3))

    def test_weights_that_are_computed(self):
        model = nn.utils.weight_norm(nn.Linear(5, 3))
        x = torch.randn(2, 5)
        output = model(x).detach()
        with ulpscope.emulate(model, {"weight": "float8_e5m2"}):
            expected = F.linear(x, ulpscope.quantize(model.weight.detach(), "float8_e5m2"), model.bias)
            whole = model.weight
            y = model(x)
            self.assertTrue(torch.equal(y, expected))
            self.assertTrue(torch.equal(model.weight, whole))  # after the pass as well
            y.sum().backward()
        self.assertTrue(model.weight_g.grad.any())
        self.assertTrue(torch.equal(model(x), output))
        model = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
        with self.assertRaisesRegex(ValueError, "parametrization.*remove_parametrizations"):
            ulpscope.emulate(model, "float16")

    def test_kinds_of_layers(self):
        for layer, x in (
            (nn.Conv1d(2, 3, 2, padding=1, padding_mode="circular"), torch.randn(1, 2, 5)),
            (nn.Conv3d(2, 4, 2, groups=2), torch.randn(1, 2, 3, 3, 3)),
            (nn.ConvTranspose2d(2, 3, 2), torch.randn(1, 2, 3, 3)),
            (nn.LazyLinear(3), torch.randn(2, 5)),
        ):
            with ulpscope.emulate(layer, "float8_e5m2") as emulated:
                y = layer(x)
                self.assertEqual(list(emulated.layers), [""])
            twin = copy.deepcopy(layer)
            twin.weight.data = ulpscope.quantize(twin.weight.data, "float8_e5m2")
            self.assertTrue(torch.equal(twin(ulpscope.quantize(x, "float8_e5m2")), y))
            with torch.autocast("cpu", torch.bfloat16):  # which casts transposed convolutions in some versions only
                y = layer(x)
                with ulpscope.emulate(layer, "float32"):
                    self.assertEqual(layer(x).dtype, y.dtype)
                    self.assertTrue(torch.equal(layer(x), y))

    def test_others_are_named_in_a_warning(self):
        model = nn.ModuleDict({"attention": nn.MultiheadAttention(4, 2), "fc": nn.Linear(4, 4), "cell": nn.GRUCell(2, 2)})
        words = r"nothing is rounded within attention \(MultiheadAttention\), cell \(GRUCell\)$"
        with self.assertWarnsRegex(RuntimeWarning, words) as warned:
            emulated = ulpscope.emulate(model, "float16")
        self.assertEqual(warned.filename, __file__)
        self.assertEqual(list(emulated.layers), ["fc"])

    def test_an_input_by_keyword(self):
        layer = nn.Linear(2, 2)
        with ulpscope.emulate(layer, "float16"), self.assertRaisesRegex(TypeError, "pass it by position"):
            layer(input=torch.zeros(2))

    @unittest.skipUnless(hasattr(torch, "compiler") and hasattr(torch.compiler, "reset"), "this torch does not compile")
    def test_compiled(self):
        for compiled_before in (True, False):
            model = network()
            expected = gradients(model, self.X, "float8_e5m2")
            model = network()
            compiled = torch.compile(model, backend="aot_eager")
            plain = compiled(self.X).detach() if compiled_before else network()(self.X)
            emulated = ulpscope.emulate(compiled, "float8_e5m2")
            compiled(self.X).pow(2).sum().backward()
            self.same({name: p.grad for name, p in model.named_parameters()}, expected)
            emulated.remove()
            torch.testing.assert_close(compiled(self.X), plain, rtol=1e-6, atol=1e-6)


class InBlocks(Case):
    """Against ulpscope.quantize of numpy's arrays, which golden files pin, and torch's own products."""

    def along(self, x, treatment, axis, **how):
        if treatment is None:
            return x.detach()
        made = ulpscope.quantize(np.ascontiguousarray(x.detach().numpy()), treatment, axis=axis, **how)
        return torch.from_numpy(np.ascontiguousarray(made))

    def layer(self, tokens=40, inputs=70, outputs=50):
        torch.manual_seed(3)
        spread = torch.exp2(torch.randint(-12, 3, (tokens, 1)).float())
        return nn.Linear(inputs, outputs), torch.randn(tokens, inputs) * spread, torch.randn(tokens, outputs) * spread

    def test_no_tokens_in_blocks(self):
        layer = torch.nn.Linear(4, 3)
        x = torch.zeros(0, 4, requires_grad=True)
        with ulpscope.emulate(layer, "mxfp8"):
            layer(x).sum().backward()
        self.assertEqual((x.grad.shape, layer.weight.grad.abs().sum().item()), ((0, 4), 0))

    def test_each_product_in_blocks_along_its_sum(self):
        for names in (
            ("mxfp8", "mxfp8", "mxfp8_e5m2"),
            ("mxfp4", "mxfp4", "mxfp4"),
            ("nvfp4", "nvfp4", "nvfp4"),
            ("fp8_1x128,block=16", "fp8_1x128,block=16", "fp8_1x128,block=16"),
            ("fp8_row", "fp8_row", "fp8_row"),
            ("te_mxfp8_e4m3_cppref", None, "torchao_mxe2m1_rceil"),
        ):
            x_in, w_in, g_in = names
            layer, x, g = self.layer()
            x.requires_grad_()
            recipe = dict(zip(emulation.OPERANDS, names))
            with self.subTest(names=names), ulpscope.emulate(layer, recipe) as emulated:
                self.assertEqual(emulated.layers[""], {kind: name for kind, name in recipe.items() if name})
                y = layer(x)
                y.backward(g)
                self.assertTrue(torch.equal(y, F.linear(self.along(x, x_in, 1), self.along(layer.weight, w_in, 1), layer.bias)))
                self.assertTrue(torch.equal(x.grad, self.along(g, g_in, 1) @ self.along(layer.weight, w_in, 0)))
                self.assertTrue(torch.equal(layer.weight.grad, self.along(g, g_in, 0).t() @ self.along(x, x_in, 0)))
                self.assertTrue(torch.equal(layer.bias.grad, g.sum(0)))
                self.assertFalse(torch.equal(self.along(g, g_in, 0), self.along(g, g_in, 1)))  # or nothing was shown

    def test_tokens_of_several_axes_are_one_matrix(self):
        layer, x, g = self.layer()
        expected = {}
        for shape in ((40,), (5, 8), (2, 4, 5)):
            layer.zero_grad()
            leaf = x.reshape(*shape, 70).clone().requires_grad_()
            with ulpscope.emulate(layer, "nvfp4"):
                y = layer(leaf)
                y.backward(g.reshape(*shape, 50))
            got = {"y": y.detach().reshape(40, 50), "x": leaf.grad.reshape(40, 70), "w": layer.weight.grad.clone()}
            expected = expected or got
            self.same(got, expected)

    def test_squares_and_one_scale_are_the_same_both_ways(self):
        for name in ("fp8_128x128,block=16x16", "te_mxfp8_e4m3_32x32_pytest", "te_nvfp4_16x16", "fp8_tensor", "te_current_e5m2_f32"):
            layer, x, g = self.layer()
            x.requires_grad_()
            with self.subTest(name=name), ulpscope.emulate(layer, name):
                y = layer(x)
                y.backward(g)
                xq, wq, gq = (self.along(of, name, 1) for of in (x, layer.weight, g))
                self.assertTrue(torch.equal(self.along(x.t(), name, 1).t(), xq))
                self.assertTrue(torch.equal(y, F.linear(xq, wq, layer.bias)))
                self.assertTrue(torch.equal(x.grad, gq @ wq))
                self.assertTrue(torch.equal(layer.weight.grad, gq.t() @ xq))

    def test_the_gradient_of_the_weight(self):
        layer, x, g = self.layer()
        with ulpscope.emulate(layer, {"": "mxfp8", "weight_grad": "mxfp4"}):
            layer(x).backward(g)
        plain = self.along(g, "mxfp8", 0).t() @ self.along(x, "mxfp8", 0)
        self.assertTrue(torch.equal(layer.weight.grad, self.along(plain, "mxfp4", 1)))

    def test_random_bits(self):
        how = {"format": "mxfp4", "rounding": "sr", "bits": 8, "seed": 5}
        layer, x, g = self.layer()
        with ulpscope.emulate(layer, how):
            for step in range(2):
                layer.zero_grad()
                leaf = x.clone().requires_grad_()
                y = layer(leaf)
                y.backward(g)

        def along(x, name, axis):
            options = {key: of for key, of in how.items() if key != "format"}
            return self.along(x, "mxfp4", axis, stream=ulpscope.stream_of(name, 1), **options)

        self.assertTrue(
            torch.equal(y, F.linear(along(x, "activation/", 1), along(layer.weight, "weight/weight", 1), layer.bias))
        )
        self.assertTrue(torch.equal(leaf.grad, along(g, "activation_grad/", 1) @ along(layer.weight, "weight/weight^T", 0)))
        expected = along(g, "activation_grad/^T", 0).t() @ along(x, "activation/^T", 0)
        self.assertTrue(torch.equal(layer.weight.grad, expected))

    def test_in_a_network(self):
        """Accumulation, a tied weight, changes in place after the layer, checkpointing, no gradients, autocast, and its end."""

        class Network(nn.Module):
            def __init__(self, checkpointed):
                super().__init__()
                torch.manual_seed(0)
                self.one, self.two, self.head = nn.Linear(32, 32), nn.Linear(32, 32, bias=False), nn.Linear(32, 8)
                self.two.weight, self.checkpointed = self.one.weight, checkpointed

            def part(self, x):
                return F.relu(self.one(x), inplace=True)

            def forward(self, x):
                x = checkpoint(self.part, x, use_reentrant=False) if self.checkpointed else self.part(x)
                return self.head(F.relu(self.two(x), inplace=True))

        x = torch.linspace(-2, 2, 16 * 32).reshape(16, 32)
        how = {"format": "mxfp8", "rounding": "sr", "seed": 1}
        one, other = Network(False), Network(True)
        before = one(x).detach()
        ulpscope.emulate(other, how)
        with ulpscope.emulate(one, how):
            expected = gradients(one, x)
            self.same(gradients(other, x), expected)
            self.assertTrue(all(g.any() for g in expected.values()))
            for context in (torch.no_grad(), torch.inference_mode()):
                with context:
                    self.assertFalse(torch.equal(one(x), before))
            self.assertTrue(torch.equal(copy.deepcopy(one)(x), before))
            with torch.autocast("cpu", torch.bfloat16):
                y = one(x)
            self.assertEqual(y.dtype, torch.bfloat16)
            y.float().sum().backward()
        self.assertTrue(torch.equal(one(x), before))
        self.assertFalse(any(module._forward_hooks or "weight" in vars(module) for module in one.modules()))

    def test_a_recorder_beside_it(self):
        """Sees the gradient of the output as it comes, and the gradient of the weight that is made of it in blocks."""
        layer, x, g = self.layer()
        model = nn.Sequential(layer)
        with ulpscope.emulate(model, "mxfp4"):
            with ulpscope.Recorder(self.path("a.ulp"), model, activations="0", strict=True) as recorder:
                model(x).backward(g)
                recorder.step(0, loss_scale=1)
        rows = {}
        for line in support.ulp("export", self.path("a.ulp"), "--json-lines").splitlines():
            row = json.loads(line)
            if "tensor" in row:
                rows[row["tensor"]] = row["max_abs"]
        self.assertEqual(rows["0"], float(g.abs().max()))
        self.assertEqual(rows["0.weight"], float(layer.weight.grad.abs().max()))

    def test_a_current_scale(self):
        """The powers of two of TransformerEngine's current scaling."""
        torch.manual_seed(0)
        for format, row in (("float8_e4m3fn", "te_current_e4m3_pow2"), ("float8_e5m2", "te_current_e5m2_pow2")):
            treatment = emulation._Treatment(format, scale="current")
            for factor in (0, 1, 448, 3e-39, 1e-45, 2.0**-126, 1e38, *torch.rand(50).tolist()):
                x = torch.randn(100).clamp(-3, 3) * factor
                if factor == 448:
                    x[0], x[1:] = 448.0, x[1:].clamp(-448, 448)
                with self.subTest(format=format, factor=factor):
                    self.assertTrue(torch.equal(treatment(x, 0), torch.from_numpy(ulpscope.quantize(x.numpy(), row))))
        # Against exact powers of two: at most 2**127, which float32 has, is what help(ulpscope.emulate) promises.
        for format in ("float8_e4m3fn", "float8_e5m2", "float16", "cbfloat16", "bfloat16"):
            largest = ulpscope.finfo(format).max
            for amax in np.float32([1e38, 3, 448, 449, 2.0**-100, 2.0**-118, 448 * 2.0**-127, 447 * 2.0**-128, 2.0**-126, 1e-45]):
                exact = np.floor(np.log2(np.longdouble(largest) / np.longdouble(amax)))
                with self.subTest(format=format, amax=amax):
                    got = emulation._current_scale(torch.tensor([0.0, -float(amax)]), format)
                    self.assertEqual(got, 2.0 ** min(float(exact), 127.0))
        x = torch.randn(100)
        y = emulation._Treatment("float8_e4m3fn,max=240", scale="current")(x, 0)
        scale = 2.0 ** np.floor(np.log2(240 / float(x.abs().max())))
        self.assertTrue(torch.equal(y, ulpscope.quantize(x, "float8_e4m3fn,max=240", scale=scale) / scale))
        self.assertEqual(emulation._Treatment("float16", scale="current")(torch.zeros(0), 0).numel(), 0)
        model = network()  # convolutions, too
        with ulpscope.emulate(model, {"format": "float8_e4m3fn", "scale": "current"}) as emulated:
            self.assertEqual(emulated.layers["conv"]["weight"], "float8_e4m3fn scale=current")
            one = gradients(model, Model.X)
        model = network()
        with ulpscope.emulate(model, "te_current_e4m3_pow2"):
            self.same(gradients(model, Model.X), one)

    def test_errors(self):
        class Own(nn.Linear):
            def forward(self, x):
                return super().forward(x) + 1

        for model, words, recipe in (
            (network(), r"recipe: activation of conv: mxfp8 has .* conv is a Conv2d\. Leave it out with \{'\^conv\$': None\}", "mxfp8"),
            (nn.Sequential(Own(2, 2)), r"weight of 0: nvfp4 has .*0 is a Own with a forward of its own", {"weight": "nvfp4"}),
            (network(), r"weight_grad of conv: fp8_128x128", {"weight_grad": "fp8_128x128"}),
            (network(), r"recipe: format: te_nvfp4_1x16_rht_columnwise transforms", "te_nvfp4_1x16_rht_columnwise"),
            (network(), r"recipe: scale: is not for mxfp8", {"format": "mxfp8", "scale": "current"}),
            (network(), r"recipe: scale: 'currant' is neither", {"format": "float16", "scale": "currant"}),
            (network(), r"recipe: dialect: float16 is no format of blocks", {"format": "float16", "dialect": "te"}),
            (network(), r"recipe: .*dialect", {"format": "mxfp8", "dialect": "nobody"}),
        ):
            with self.subTest(words=words), self.assertRaisesRegex(ValueError, words):
                ulpscope.emulate(model, recipe)
            self.assertFalse(any(module._forward_pre_hooks for module in model.modules()))


class Random(Case):
    """Stochastic rounding: bits of (seed, tensor, step)."""

    HOW = {"format": "float8_e5m2", "rounding": "sr", "bits": 8, "seed": 7}

    def rounded(self, x, name, step):
        return ulpscope.quantize(x.detach(), "float8_e5m2", "sr", bits=8, seed=7, stream=ulpscope.stream_of(name, step))

    def test_steps(self):
        layer = nn.Linear(5, 3)
        x = torch.linspace(-1, 1, 20).reshape(4, 5)

        def at(step):
            return F.linear(self.rounded(x, "activation/", step), self.rounded(layer.weight, "weight/weight", step), layer.bias)

        with ulpscope.emulate(layer, self.HOW) as emulated:
            for step in range(3):
                self.assertTrue(torch.equal(layer(x), at(step)))
                with torch.no_grad():
                    self.assertTrue(torch.equal(layer(x), at(step)))  # an evaluation is no step
            for step, said in ((100, 100), (101, None), (7, 7)):
                emulated.step(said)
                self.assertTrue(torch.equal(layer(x), at(step)))

    def test_calls_of_a_layer_differ_and_tied_weights_do_not(self):
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)
                self.two.weight = self.one.weight

            def forward(self, x):
                return self.one(x), self.one(x), self.two(x)

        model, x, seen = Twice(), torch.linspace(-1, 1, 64).reshape(8, 8), []
        for layer in (model.one, model.two):
            layer.register_forward_hook(lambda layer, inputs, y: seen.append((inputs[0].detach(), layer.weight.detach())))
        with ulpscope.emulate(model, self.HOW):
            model.one._forward_hooks.move_to_end(next(iter(model.one._forward_hooks)))  # these see what the layer used
            model.two._forward_hooks.move_to_end(next(iter(model.two._forward_hooks)))
            model(x)[0].sum().backward()
        names = ("activation/one", "activation/one[1]", "activation/two")
        for (got, weight), name in zip(seen, names):
            self.assertTrue(torch.equal(got, self.rounded(x, name, 0)))
            self.assertTrue(torch.equal(weight, self.rounded(model.one.weight, "weight/one.weight", 0)))

    def test_gradients(self):
        layer, x, seen = nn.Linear(5, 3), torch.randn(4, 5), []
        with ulpscope.emulate(layer, {"activation_grad": self.HOW, "weight_grad": self.HOW}):
            for _ in range(2):
                layer.zero_grad()
                y = layer(x)
                torch.autograd.grad(y.pow(3).sum(), y, retain_graph=True)
                y.register_hook(seen.append)
                y.backward(3 * y.detach() ** 2)
        rounded = self.rounded(3 * y.detach() ** 2, "activation_grad/", 1)
        self.assertTrue(torch.equal(seen[1], rounded))
        self.assertTrue(torch.equal(layer.weight.grad, self.rounded(rounded.t() @ x, "weight_grad/weight", 1)))
        self.assertTrue(torch.equal(layer.bias.grad, rounded.sum(0)))

    def test_gradients_of_several_calls(self):
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(5, 3)

            def forward(self, x):
                return self.one(x), self.one(x)

        model, x, g, seen = Twice(), torch.randn(4, 5), torch.randn(4, 3), {}
        with ulpscope.emulate(model, {"activation_grad": self.HOW, "weight_grad": self.HOW}):
            outputs = model(x)
            for i, y in enumerate(outputs):
                y.register_hook(lambda gradient, i=i: seen.update({i: gradient}))
            torch.autograd.backward(outputs, [g, g])
        rounded = [self.rounded(g, f"activation_grad/one{call}", 0) for call in ("", "[1]")]
        for i in range(2):
            self.assertTrue(torch.equal(seen[i], rounded[i]))
        parts = [self.rounded(rounded[i].t() @ x, f"weight_grad/one.weight{call}", 0) for i, call in enumerate(("", "[1]"))]
        self.assertTrue(torch.equal(model.one.weight.grad, parts[0] + parts[1]))

    def test_checkpointing_repeats_the_bits(self):
        class Blocks(nn.Module):
            def __init__(self, how):
                super().__init__()
                torch.manual_seed(0)
                self.first, self.shared, self.last = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
                self.how = how

            def block(self, x):
                return torch.tanh(self.shared(x))

            def forward(self, x):
                x = self.first(x)
                for _ in range(3):
                    x = self.block(x) if self.how is None else checkpoint(self.block, x, use_reentrant=self.how)
                return self.last(x)

        x = torch.linspace(-1, 1, 64).reshape(8, 8)
        recipe = {kind: self.HOW for kind in emulation.KINDS}
        plain, *others = [Blocks(how) for how in (None, True, False)]
        for model in (plain, *others):
            ulpscope.emulate(model, recipe)
        for _ in range(3):  # steps
            expected = gradients(plain, x)
            for model in others:
                model.zero_grad()
                loss = model(x).pow(2).sum()
                with torch.no_grad():
                    model(x)  # an evaluation in between changes nothing
                loss.backward()
                self.same({name: p.grad for name, p in model.named_parameters()}, expected)


class Recipes(unittest.TestCase):
    def layers(self, recipe):
        with ulpscope.emulate(network(), recipe) as emulated:
            return emulated.layers

    def test_what_is_of_what(self):
        three = dict.fromkeys(emulation.OPERANDS, "float16")
        self.assertEqual(self.layers("float16"), {name: three for name in LAYERS})
        self.assertEqual(self.layers({"format": "float16"}), {name: three for name in LAYERS})
        self.assertEqual(self.layers((5, 10))["fc1"]["weight"], "e5m10")
        self.assertEqual(self.layers(torch.float16), self.layers("float16"))
        self.assertEqual(self.layers({"^fc": "float16"}), {"fc1": three, "fc2": three})
        self.assertEqual(self.layers(None), {})
        self.assertEqual(
            self.layers(
                {
                    "weight": "bf16",
                    "": "float16",
                    "fc2": None,
                    "activation_grad": {"fc2|conv": {"format": "e5m2", "rounding": "sr", "seed": 3}},
                }
            ),
            {
                "conv": {**three, "activation_grad": "e5m2 rounding=sr seed=3"},
                "fc1": three,
                "fc2": {"activation_grad": "e5m2 rounding=sr seed=3"},
            },
        )
        self.assertEqual(
            self.layers({"weight_grad": "bf16", "^fc1$": {"weight_grad": None, "weight": "float16"}}),
            {"conv": {"weight_grad": "bf16"}, "fc1": {"weight": "float16"}, "fc2": {"weight_grad": "bf16"}},
        )

    def test_errors(self):
        model = network()
        for error, words, recipe in (
            (ValueError, r"recipe: unknown format 'flot16'; near: float16", "flot16"),
            (ValueError, r"recipe: 'weight': unknown format", {"weight": "flot16"}),
            (ValueError, r"recipe: 'weights': is no kind of tensor \(activat.* no layer \(conv, fc1, fc2\)", {"weights": "bf16"}),
            (ValueError, r"recipe: 'weight': '\^relu': is no kind", {"weight": {"^relu": "float16"}}),
            (ValueError, r"recipe: '\(': is no regular expression", {"(": "float16"}),
            (ValueError, r"recipe: 'weight': 'stream' is not one of format, ", {"weight": {"format": "float16", "stream": 1}}),
            (ValueError, r"recipe: 'fc' is not one of .*around a treatment", {"format": "float16", "fc": None}),
            (ValueError, r"recipe: has no format", {"rounding": "sr"}),
            (ValueError, r"recipe: 'weight': 'activation': is a kind of tensor inside", {"weight": {"activation": "bf16"}}),
            (ValueError, r"recipe: is empty", {}),
            (ValueError, r"recipe: float32 does not hold every number of e11m20", "e11m20"),
            (ValueError, r"recipe: bits: only stochastic", {"format": "float16", "bits": 3}),
            (ValueError, r"recipe: scale: 0 is not", {"format": "float16", "scale": 0}),
            (TypeError, r"recipe: 3: is a int", {3: "float16"}),
            (TypeError, r"recipe: format: 5 is not a name", 5),
        ):
            with self.subTest(words=words), self.assertRaisesRegex(error, words):
                ulpscope.emulate(model, recipe)
        with self.assertRaisesRegex(TypeError, "model: is a function, not a torch.nn.Module"):
            ulpscope.emulate(network, "float16")
        with self.assertRaisesRegex(ValueError, "model: has no linear or convolution layer"):
            ulpscope.emulate(nn.ReLU(), "float16")
        for module in model.modules():
            self.assertFalse(module._forward_hooks or module._forward_pre_hooks)
        with ulpscope.emulate(model, "float16"), self.assertRaisesRegex(ValueError, "conv is emulated already"):
            ulpscope.emulate(model, "float16")

    def test_example_of_the_document(self):
        """The blocks of its section, one after the other."""
        with open(os.path.join(support.SOURCE, "docs", "python.md"), encoding="utf-8") as file:
            section = re.search(r"## Train as if\n(.*?)\n## ", file.read(), re.S)[1]
        code = "\n".join(line[4:] for line in section.splitlines() if line.startswith("    "))
        with tempfile.TemporaryDirectory() as folder:
            # torch 2.6 leaves a folder of its own to the end of the program.
            warnings_on = ["-W", "error", "-W", "ignore:Implicitly cleaning up:ResourceWarning"]
            command = [sys.executable, *warnings_on, "-c", f"{code}\nprint(loss.item() < 0.5 * y.var().item())"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "True\n", ""))
            support.check(os.path.join(folder, "as_cbfloat16.ulp"))

    def test_example(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = doctest.testmod(emulation, extraglobs={"ulpscope": ulpscope, "torch": torch})
        self.assertEqual((result.failed, result.attempted), (0, 3))


if __name__ == "__main__":
    unittest.main()
