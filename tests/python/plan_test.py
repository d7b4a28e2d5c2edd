"""Pins what `ulp plan` says to numpy's energies of every element, to an exhaustive search, and its files to parsers of their languages."""

import ast
import functools
import itertools
import json
import os
import struct
import subprocess
import unittest

from support import SOURCE, ULP, InFolder, need, save_safetensors, ulp

need("numpy")
if not ULP:
    raise unittest.SkipTest("SKIPPED: the program ulp is not there: ULP_PROGRAM names it")

import numpy as np

DUMP = os.path.join(SOURCE, "examples", "digits.step00100.safetensors")
RECORDING = os.path.join(SOURCE, "examples", "digits.ulp")
SHARED = os.path.join(SOURCE, "..", "shared", "data")
SHARED_DUMPS = [
    os.path.join(SHARED, run, name)
    for run, name in (
        ("cnn_digits", "cnn_digits.step01000.safetensors"),
        ("chartf_good", "chartf_good.step00700.safetensors"),
        ("lstm", "lstm.step00100.safetensors"),
    )
]
# What hopper, cs and trainium have, in the order in which they are preferred: fraction bits, least exponent, largest number.
FORMATS = {
    "e4m3": (3, -6, 448.0),
    "e4m3_240": (3, -6, 240.0),
    "e5m2": (2, -14, 57344.0),
    "bfloat16": (7, -126, 3.3895313892515355e38),
    "cbfloat16": (9, -30, 4290772992.0),
    "float16": (10, -14, 65504.0),
    "tf32": (10, -126, 3.4011621342146535e38),
}


def arrays_in(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    return {
        name: np.frombuffer(data[slice(*of["data_offsets"])], "<f4").reshape(of["shape"]).astype(np.float64)
        for name, of in header.items()
        if name != "__metadata__"
    }


def rounded(x, name):
    """To nearest, ties to even; beyond the largest number infinite."""
    fraction, least, largest = FORMATS[name]
    exponent = np.maximum(np.frexp(x)[1] - 1, least)
    unit = np.ldexp(1.0, exponent - fraction)
    y = np.rint(x / unit) * unit
    return np.where(np.abs(y) > largest, np.inf, y)


def power_for(amax, name):
    """The greatest power of two by which amax is at most the largest number; 1 for zeros."""
    largest = np.float32(FORMATS[name][2])
    with np.errstate(divide="ignore"):
        quotient = largest / amax.astype(np.float32)
    return np.where(amax > 0, np.ldexp(1.0, np.frexp(np.where(amax > 0, quotient, 1))[1] - 1), 1.0)


def in_blocks(x, name, rows, columns):
    matrix = x.reshape(-1, x.shape[-1])
    rows, columns = rows or matrix.shape[0], columns or matrix.shape[1]
    down, across = -(-matrix.shape[0] // rows), -(-matrix.shape[1] // columns)
    whole = np.zeros((down * rows, across * columns))
    whole[: matrix.shape[0], : matrix.shape[1]] = matrix
    blocks = whole.reshape(down, rows, across, columns)
    scale = power_for(np.abs(blocks).max(axis=(1, 3), keepdims=True), name)
    y = (rounded(blocks * scale, name) / scale).reshape(whole.shape)
    return y[: matrix.shape[0], : matrix.shape[1]].reshape(x.shape)


# Of a tensor and a loss scale: what it becomes.
TREATMENTS = {
    "fp8_e4m3": lambda x, scale: in_blocks(x, "e4m3", 0, 0),
    "fp8_e4m3_240": lambda x, scale: in_blocks(x, "e4m3_240", 0, 0),
    "fp8_e5m2": lambda x, scale: in_blocks(x, "e5m2", 0, 0),
    "fp8_e4m3_128x128": lambda x, scale: in_blocks(x, "e4m3", 128, 128),
    "fp8_e4m3_row": lambda x, scale: in_blocks(x, "e4m3", 1, 0),
    "fp8_e4m3_1x128": lambda x, scale: in_blocks(x, "e4m3", 1, 128),
    "mxfp8_e4m3": lambda x, scale: in_blocks(x, "e4m3", 1, 32),
    "mxfp8_e5m2": lambda x, scale: in_blocks(x, "e5m2", 1, 32),
    "bfloat16": lambda x, scale: rounded(x, "bfloat16"),
    "cbfloat16": lambda x, scale: rounded(x * scale, "cbfloat16") / scale,
    "float16": lambda x, scale: rounded(x * scale, "float16") / scale,
    "tf32": lambda x, scale: rounded(x, "tf32"),
    "float32": lambda x, scale: x,
}
HOPPER = "fp8_e4m3 fp8_e5m2 fp8_e4m3_128x128 fp8_e4m3_row fp8_e4m3_1x128 bfloat16 float16 tf32 float32".split()
TRAINIUM = "fp8_e4m3_240 fp8_e5m2 bfloat16 float16 tf32 float32".split()
CS = "bfloat16 cbfloat16 float16 float32".split()


def share(x, treatment, log2=0):
    y = TREATMENTS[treatment](x, 2.0**log2)
    energy = np.sum(x * x)
    return np.sum((x - y) ** 2) / energy if energy > 0 else 0.0


def bits(x, treatment):
    blocks = {"fp8_e4m3_128x128": (128, 128), "fp8_e4m3_row": (1, None), "fp8_e4m3_1x128": (1, 128)}
    if treatment in ("bfloat16", "float16", "cbfloat16"):
        return 16 * x.size
    if treatment in ("tf32", "float32"):
        return 32 * x.size
    if treatment in blocks:
        rows, columns = blocks[treatment]
        down, across = -(-(x.size // x.shape[-1]) // rows), 1 if columns is None else -(-x.shape[-1] // columns)
        return 8 * x.size + 32 * down * across
    return 8 * x.size + 32


def is_narrow(treatment):
    return treatment.startswith("fp8")


def exhaustive(arrays, share_of, treatments, lose):
    """The fewest bits, and the treatments in the setting that comes first."""
    best = None
    scaled = ("float16", "cbfloat16")
    halves = [t for t in treatments if t in ("bfloat16", "cbfloat16", "float16")]
    for half in halves:
        for log2 in range(45, -10, -1) if half != "bfloat16" else (0,):
            chosen = {}
            for name, x in arrays.items():
                of = [
                    (bits(x, t), i, t)
                    for i, t in enumerate(treatments)
                    if (t == half or t not in halves)
                    and not (is_narrow(t) and x.ndim == 1)
                    and share_of(name, t, log2 if t in scaled else 0) <= lose
                ]
                chosen[name] = min(of)
            total = sum(of[0] for of in chosen.values())
            if best is None or total < best[0]:
                best = total, half, {name: of[2] for name, of in chosen.items()}
    return best


def plan(*arguments):
    return json.loads(ulp("plan", *arguments, "--json"))


class Energies(unittest.TestCase):
    def check(self, path):
        arrays = arrays_in(path)
        share_of = functools.cache(lambda name, treatment, log2: share(arrays[name], treatment, log2))
        seen = set()
        for hardware, lose in itertools.product(("hopper", "blackwell", "cs", "trainium"), ("0.01", "1e-3", "1e-6", "1e-7")):
            told = plan(path, "--hardware", hardware, "--lose", lose)
            log2 = told["summary"]["loss_scale_log2"] or 0
            for row in told["tensors"]:
                for treatment, low, high in (
                    (row["treatment"], row["lost_share_low"], row["lost_share_high"]),
                    (row["near_miss"], row["near_miss_lost_share_low"], row["near_miss_lost_share_high"]),
                ):
                    if treatment not in TREATMENTS or low is None or high is None:
                        continue
                    seen.add(treatment)
                    exact = share_of(row["tensor"], treatment, log2)
                    with self.subTest(tensor=row["tensor"], treatment=treatment, lose=lose):
                        self.assertLessEqual(low, exact * (1 + 1e-9))
                        self.assertLessEqual(exact, high * (1 + 1e-9))
                        self.assertEqual(low, high)
        return seen

    def test_of_a_dump_are_those_of_every_element(self):
        seen = self.check(DUMP)
        self.assertTrue({"fp8_e4m3", "bfloat16", "float16", "tf32"} <= seen or len(seen) >= 5, seen)

    def test_of_real_gradients_too(self):
        paths = [path for path in SHARED_DUMPS if os.path.exists(path)]
        if not paths:
            self.skipTest("../shared/data is not there")
        for path in paths:
            with self.subTest(path=path):
                self.assertGreaterEqual(len(self.check(path)), 4)


class Choice(unittest.TestCase):
    def check(self, path):
        arrays = arrays_in(path)
        share_of = functools.cache(lambda name, treatment, log2: share(arrays[name], treatment, log2))
        for hardware, treatments in (("hopper", HOPPER), ("trainium", TRAINIUM), ("cs", CS)):
            for lose in (1e-2, 7e-4, 1e-6, 1e-7, 3e-9):
                with self.subTest(hardware=hardware, lose=lose):
                    told = plan(path, "--hardware", hardware, "--lose", str(lose))
                    total, half, chosen = exhaustive(arrays, share_of, treatments, lose)
                    self.assertEqual(told["summary"]["bits"], total)
                    self.assertEqual({row["tensor"]: row["treatment"] for row in told["tensors"]}, chosen)

    def test_is_that_of_an_exhaustive_search(self):
        self.check(DUMP)

    def test_is_that_of_real_gradients_too(self):
        if not os.path.exists(SHARED_DUMPS[0]):
            self.skipTest("../shared/data is not there")
        self.check(SHARED_DUMPS[0])

    def test_a_budget_gives_the_cheapest_plan_of_its_share(self):
        by_budget = plan(DUMP, "--hardware", "blackwell", "--budget", "7/element")["summary"]
        self.assertLessEqual(by_budget["bits"], by_budget["budget"])
        by_share = plan(DUMP, "--hardware", "blackwell", "--lose", repr(by_budget["lost_share"]))["summary"]
        self.assertEqual(by_share["bits"], by_budget["bits"])
        less = plan(DUMP, "--hardware", "blackwell", "--lose", repr(by_budget["lost_share"] * (1 - 1e-9)))["summary"]
        self.assertGreater(less["bits"], by_budget["budget"])


class Blocks(InFolder):
    def test_a_recording_of_blocks_and_errors_gives_the_plan_of_its_dump(self):
        path = self.path("run.ulp")
        ulp("record", DUMP, "--blocks", "32,128,128x128", "--with-errors", "-o", path)
        for hardware in ("hopper", "trainium", "cs"):
            told, exact = plan(path, "--hardware", hardware), plan(DUMP, "--hardware", hardware)
            self.assertEqual([row["treatment"] for row in told["tensors"]], [row["treatment"] for row in exact["tensors"]])
            for row, of_dump in zip(told["tensors"], exact["tensors"]):
                self.assertLessEqual(row["lost_share_low"], of_dump["lost_share_low"] * (1 + 1e-9))
                self.assertGreaterEqual(row["lost_share_high"], of_dump["lost_share_high"] * (1 - 1e-9))
                self.assertLessEqual(row["lost_share_high"], of_dump["lost_share_high"] * 1.01)


def save(path, arrays):
    save_safetensors(path, {name: ("F32", x.shape, x.astype("<f4").tobytes()) for name, x in arrays.items()})


def layers_dump(path, seed=3):
    """Three layers whose operands are all there: one in 8 bits, one whose weight is not, one whose input was not recorded."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for number in range(4):
        name = f"layers.{number}.fc"
        for kind, shape in (("activation", (16, 64)), ("weight", (64, 64)), ("agrad", (16, 64)), ("wgrad", (64, 64))):
            x = rng.standard_normal(shape).astype(np.float32)
            if number == 0 and kind == "weight":  # all at the middle between two numbers of FP8
                x = np.where(x > 0, np.float32(1.0625), np.float32(1.9375)).astype(np.float32)
            if number != 3 or kind != "activation":
                arrays[f"{kind}/{name}" + (".weight" if kind in ("weight", "wgrad") else "")] = x
    save(path, arrays)
    return arrays


LAYERS = ("--kind", "activation/=activation", "--kind", "weight/=weight", "--lose", "1.2e-3")


class Files(InFolder):
    def setUp(self):
        super().setUp()
        self.dump = self.path("layers.safetensors")
        layers_dump(self.dump)

    def file_for(self, framework, *arguments, hardware="hopper"):
        return ulp("plan", *(arguments or (self.dump, *LAYERS)), "--hardware", hardware, "--for", framework)

    def values_of(self, text):
        """What assignments of Python say, without running them."""
        tree = ast.parse(text)
        return {
            node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }

    def test_python_and_its_lists(self):
        for hardware in ("hopper", "blackwell"):
            te = self.values_of(self.file_for("te", hardware=hardware))
            self.assertIsInstance(te["recipe"], ast.Call)
            self.assertEqual(ast.literal_eval(te["high_precision_layers"]), ["layers.0.fc", "layers.3.fc"])
            ao = self.values_of(self.file_for("torchao", hardware=hardware))
            self.assertIsInstance(ao["config"], ast.Call)
            self.assertEqual(ast.literal_eval(ao["filter_fqns"]), ["layers.0.fc", "layers.3.fc"])
        nothing = self.values_of(self.file_for("te", RECORDING))
        self.assertIsNone(ast.literal_eval(nothing["recipe"]))
        self.assertEqual(ast.literal_eval(nothing["high_precision_layers"]), ["conv1", "conv2", "fc"])

    def test_toml(self):
        try:
            import tomllib
        except ImportError:
            self.skipTest("tomllib is not there")
        told = tomllib.loads(self.file_for("torchtitan"))
        self.assertEqual(told["model"]["converters"], ["quantize.linear.float8"])
        self.assertEqual(told["quantize"]["linear"]["float8"]["filter_fqns"], ["layers.0.fc", "layers.3.fc"])
        self.assertEqual(tomllib.loads(self.file_for("torchtitan", RECORDING))["training"]["mixed_precision_param"], "bfloat16")

    def test_yaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("yaml is not there")
        told = yaml.safe_load(self.file_for("cerebras", RECORDING, "--lose", "1e-6", hardware="cs"))
        precision = told["trainer"]["init"]["precision"]
        self.assertEqual(precision["fp16_type"], "cbfloat16")
        self.assertEqual(precision["precision_opt_level"], 1)
        self.assertGreater(precision["initial_loss_scale"], 1)

    def test_megatron_says_what_its_options_can(self):
        lines = [line for line in self.file_for("megatron").splitlines() if not line.startswith("#")]
        self.assertEqual(lines[0], "--bf16")
        self.assertRegex(lines[1], "^--fp8-format e4m3 --fp8-recipe (tensorwise|blockwise)$")
        self.assertEqual(
            lines[2], "--first-last-layers-bf16 --num-layers-at-start-in-bf16 1 --num-layers-at-end-in-bf16 1"
        )
        self.assertEqual(len(lines), 3)
        between = self.path("between.safetensors")
        arrays = layers_dump(between)
        renamed = {name.replace("layers.0", "layers.7").replace("layers.3", "layers.8"): x for name, x in arrays.items()}
        more = {name.replace("layers.1", "layers.9"): x for name, x in arrays.items() if "layers.1" in name}
        save(between, {**renamed, **more})
        lines = self.file_for("megatron", between, *LAYERS).splitlines()
        self.assertEqual([line for line in lines if not line.startswith("#")], ["--bf16"])
        self.assertIn("which no option says", "\n".join(lines))

    def test_json_is_a_recipe_that_emulate_takes(self):
        recipe = json.loads(self.file_for("emulate", RECORDING, "--lose", "1e-6"))
        self.assertEqual(set(recipe), {"^conv1$", "^conv2$", "^fc$"})
        try:
            import torch

            import ulpscope
        except ImportError:
            self.skipTest("torch, or the compiled package, is not there")

        class Digits(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv1 = torch.nn.Conv2d(1, 16, 3)
                self.conv2 = torch.nn.Conv2d(16, 32, 3)
                self.fc = torch.nn.Linear(128, 10)

        emulated = ulpscope.emulate(Digits(), recipe)
        self.assertEqual(set(emulated.layers), {"conv1", "conv2", "fc"})
        self.assertEqual(set(emulated.layers["fc"]), {"weight_grad", "activation_grad"})
        self.assertIn("float16", emulated.layers["fc"]["weight_grad"])
        emulated.remove()

    def test_all_of_a_plan_is_emulated(self):
        """What emulate rounds each tensor to loses the share that the plan tells, and trains."""
        try:
            import torch

            import ulpscope
        except ImportError:
            self.skipTest("torch, or the compiled package, is not there")
        arrays, kinds = arrays_in(self.dump), {"agrad": "activation_grad", "wgrad": "weight_grad"}
        seen = set()
        for hardware, lose in itertools.product(("hopper", "blackwell", "trainium"), ("1e-3", "1.2e-3", "1e-2", "2e-2")):
            asked = (self.dump, *LAYERS[:-1], lose, "--hardware", hardware)
            layers = (torch.nn.ModuleDict({"fc": torch.nn.Linear(64, 64)}) for _ in range(4))
            model = torch.nn.ModuleDict({"layers": torch.nn.ModuleList(layers)})
            with ulpscope.emulate(model, json.loads(ulp("plan", *asked, "--for", "emulate"))) as emulated:
                of = {layer.name: layer.of for layer in emulated._layers}
                for row in plan(*asked)["tensors"]:
                    kind, _, name = row["tensor"].removesuffix(".weight").partition("/")
                    treatment = of.get(name, {}).get(kinds.get(kind, kind), lambda x, stream: x)
                    x = arrays[row["tensor"]]
                    y = treatment(torch.from_numpy(x.astype(np.float32)), 0).numpy().astype(np.float64)
                    lost = np.sum((x - y) ** 2) / np.sum(x**2)
                    with self.subTest(tensor=row["tensor"], treatment=row["treatment"]):
                        self.assertAlmostEqual(lost, row["lost_share_high"], delta=1e-9 * lost)
                    seen.add(row["treatment"])
                for layer in model["layers"]:
                    layer["fc"](torch.randn(16, 64)).pow(2).sum().backward()
                    self.assertTrue(torch.isfinite(layer["fc"].weight.grad).all())
        self.assertGreaterEqual(len(seen), 6, seen)

    def test_what_is_no_layer_is_left_out_for_emulate(self):
        """Of a ReLU no weight is recorded, and an embedding is known by its name; a note names both."""
        path = self.path("relu.safetensors")
        random = np.random.default_rng(0).standard_normal
        shapes = {
            "wgrad/fc.weight": (16, 16), "agrad/fc": (8, 16), "activation/fc": (8, 16), "agrad/relu": (8, 16),
            "activation/relu": (8, 16), "wgrad/model.wte.weight": (32, 16), "agrad/model.wte": (8, 16),
        }  # fmt: skip
        save(path, {name: random(shape).astype(np.float32) for name, shape in shapes.items()})
        asked = (path, "--kind", "activation/=activation", "--lose", "1e-2", "--hardware", "hopper", "--for", "emulate")
        self.assertEqual(set(json.loads(ulp("plan", *asked))), {"^fc$"})
        notes = subprocess.run([ULP, "plan", *asked], capture_output=True, text=True).stderr
        self.assertIn("model.wte, relu: left out, as no weight was recorded of such a module", notes)
        save(path, {"agrad/relu": random((8, 16)).astype(np.float32)})
        self.assertEqual(set(json.loads(ulp("plan", *asked[:1], *asked[3:]))), {"^relu$"})
        notes = subprocess.run([ULP, "plan", *asked[:1], *asked[3:]], capture_output=True, text=True).stderr
        self.assertIn("no weight was recorded, nor its gradient: ulpscope.emulate refuses modules that are no linear", notes)

    def test_convolutions_are_in_no_blocks(self):
        path = self.path("conv.safetensors")
        save(path, {"wgrad/conv.weight": np.random.default_rng(0).standard_normal((8, 4, 3, 3)).astype(np.float32)})
        asked = path, "--hardware", "blackwell", "--lose", "0.05"
        self.assertEqual([row["treatment"] for row in plan(*asked)["tensors"]], ["mxfp4"])
        self.assertEqual(json.loads(ulp("plan", *asked, "--for", "emulate")), {})


if __name__ == "__main__":
    unittest.main()
