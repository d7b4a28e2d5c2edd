"""What a float32 training foretells of the same training in few bits: a character transformer of torch, trained as if.

    python3 tests/bench/emulated_training.py [--steps 200] [--seeds 5] [recipes | plan | alone]

recipes  Six recipes. The operands of all linear layers in float32, kept at some steps, tell which share of its energy each tensor
         would lose (`ulp outcomes`); the training under the recipe tells what it loses. And the loss of the training itself.
plan     The plan of `ulp plan --lose 1e-3` trained, beside random plans and one with its last layers in 16 bits, of equal bits.
alone    One tensor at a time in MXFP4: whether those that lose more raise the loss of the training more.

ULP_PROGRAM is the program, by default build/release/cli/ulp, and ULP_PACKAGES the folder that has the package. The text is the
project's licence.
"""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
ULP = os.environ.get("ULP_PROGRAM", os.path.join(SOURCE, "build", "release", "cli", "ulp"))
sys.path.insert(0, os.environ.get("ULP_PACKAGES", os.path.join(SOURCE, "build", "release", "python")))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import ulpscope  # noqa: E402
from ulpscope import emulation  # noqa: E402

JUDGED = 50  # the last steps, whose mean loss is that of the training
NAMES = {"activation": "activation/{}", "weight": "weight/{}.weight", "activation_grad": "agrad/{}"}
KINDS = ("--kind", "^activation/=activation", "--kind", "^weight/=weight", "--kind", "^agrad/=activation_grad")
RECIPES = {
    "float16, gradients times 2^-14": {"": "float16", "activation_grad": {"format": "float16", "scale": 2.0**-14}},
    "E5M2, no scale": "float8_e5m2",
    "FP8, current scaling": {"": "te_current_e4m3_f32", "activation_grad": "te_current_e5m2_f32"},
    "MXFP8": "mxfp8",
    "NVFP4": "nvfp4",
    "MXFP4": "mxfp4",
}
# What noise is too much: gradients below the square root of three of it (TransformerEngine#1701, arXiv 2505.19115).
TOO_MUCH = 1 / 3
FAILS = 0.1  # of what float32 learns, lost


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        split = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -math.inf)
        x = x + self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Characters(nn.Module):
    def __init__(self, vocabulary, width=64, length=32, blocks=2):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(blocks))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Measured:
    """A treatment, and the share of its energy that a tensor loses by it, summed over steps."""

    def __init__(self, treatment, columns):
        self.treatment, self.columns, self.shares = treatment, columns, []

    def __getattr__(self, name):
        return getattr(self.treatment, name)

    def __call__(self, x, stream, *type_):
        y = self.treatment(x, stream, *type_)
        if x.shape[-1] == self.columns:  # and not across
            before, after = x.detach().double(), y.detach().double()
            self.shares.append(float((before - after).pow(2).sum() / before.pow(2).sum()))
        return y


class Training:
    """One training; `shares` are what tensors lost in it, `kept` where its operands were saved."""

    def __init__(self, seed, steps, recipe=None, dumps=None, every=10):
        with open(os.path.join(SOURCE, "LICENSE"), encoding="utf-8") as file:
            text = file.read()
        letters = sorted(set(text))
        text = torch.tensor([letters.index(c) for c in text])
        torch.manual_seed(seed)
        self.model = Characters(len(letters))
        self.layers = {name: m for name, m in self.model.named_modules() if isinstance(m, nn.Linear)}
        self.dumps, self.operands, self.losses = dumps, {}, []
        optimizer = torch.optim.Adam(self.model.parameters(), 3e-3)
        emulated = ulpscope.emulate(self.model, recipe) if recipe is not None else None
        measured = self.measure(emulated) if emulated else {}
        batches = torch.Generator().manual_seed(seed)
        hooks = [m.register_forward_hook(self.keep(name)) for name, m in self.layers.items()] if dumps else []
        for step in range(steps):
            self.keeps = step % every == 0
            at = torch.randint(0, len(text) - 33, (8,), generator=batches)
            batch = torch.stack([text[i : i + 33] for i in at])
            optimizer.zero_grad()
            loss = F.cross_entropy(self.model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
            loss.backward()
            if dumps and self.keeps:
                np.savez(os.path.join(dumps, f"step{step:05d}.npz"), **self.operands)
            optimizer.step()
            self.losses.append(float(loss))
        if emulated:
            emulated.remove()
        for hook in hooks:
            hook.remove()
        self.loss = statistics.mean(self.losses[-JUDGED:])
        self.shares = {name: statistics.mean(of.shares[::every]) for name, of in measured.items()}

    def measure(self, emulated):
        measured = {}
        for layer in emulated._layers:
            for kind, treatment in layer.of.items():
                columns = layer.module.out_features if kind == "activation_grad" else layer.module.in_features
                measured[NAMES[kind].format(layer.name)] = layer.of[kind] = Measured(treatment, columns)
        return measured

    def keep(self, name):
        def hook(module, inputs, output):
            if self.keeps:
                matrix = inputs[0].detach().flatten(0, -2)
                self.operands[f"activation/{name}"], self.operands[f"weight/{name}.weight"] = matrix, module.weight.detach().clone()
                output.register_hook(lambda g: self.operands.update({f"agrad/{name}": g.flatten(0, -2).clone()}))

        return hook


def ulp(*arguments):
    return subprocess.run([ULP, *arguments, "--quiet"], check=True, capture_output=True, text=True).stdout


class Recorded:
    """The operands of a float32 training, as dumps and as a recording of them."""

    def __init__(self, seed, steps, folder):
        self.folder = os.path.join(folder, f"seed{seed}")
        os.mkdir(self.folder)
        self.training = Training(seed, steps, dumps=self.folder)
        self.dumps = sorted(os.path.join(self.folder, name) for name in os.listdir(self.folder))
        self.run = os.path.join(folder, f"seed{seed}.ulp")
        ulp("record", *self.dumps, *KINDS, "--with-errors", "--blocks", "32,128,128x128", "-o", self.run)
        self.known = {}

    def shares(self, recipe):
        """What each tensor would lose, on average over the steps."""
        with ulpscope.emulate(self.training.model, recipe) as emulated:
            treatments = [(kind, of) for layer in emulated._layers[:1] for kind, of in layer.of.items()]
        return {name: share for kind, of in treatments for name, share in self.lost(kind, of).items()}

    def lost(self, kind, treatment):
        is_blocks = isinstance(treatment, emulation._InBlocks)
        scale = 1 if is_blocks else treatment._scale
        key = kind, treatment._format, scale
        if key not in self.known:
            more = ["--with-errors"] if is_blocks else ["--scale", repr(scale)]
            inputs = self.dumps if is_blocks else [self.run]
            told = json.loads(
                ulp("outcomes", *inputs, "--format", treatment._format, *more, *KINDS, "--kind", kind, "--by", "tensor,step", "--json")
            )
            by_tensor = {}
            for row in told:
                share = row["relative_squared_error"] if is_blocks else 10 ** (-row["sqnr_db"] / 10)
                by_tensor.setdefault(row["tensor"], []).append(1.0 if share is None else share)
            self.known[key] = {name: statistics.mean(shares) for name, shares in by_tensor.items()}
        return self.known[key]


def rank_correlation(a, b):
    """Spearman's."""
    ranks = [np.argsort(np.argsort([of[name] for name in sorted(a)])) for of in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])


def mean_and_sd(values):
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else math.nan


def verdict(above, spread, learnt):
    """Of the loss above float32's."""
    if not above <= FAILS * learnt:
        return "fails"
    return "worse" if above > spread else "not told apart"


def print_now(line):
    print(line, flush=True)


def recipes(recorded, steps, out=print_now):
    """A row for each recipe, and what is said of it by both."""
    losses = [r.training.loss for r in recorded]
    mean, spread = mean_and_sd(losses)
    learnt = statistics.mean(r.training.losses[0] for r in recorded) - mean
    out(f"float32: loss {mean:.4f}, {spread:.4f} from seed to seed, {learnt:.2f} learnt\n")
    out("| recipe | share lost, worst tensor | replay | loss above float32 | trained | rank correlation of tensors |")
    out("|---|---|---|---|---|---|")
    rows = {}
    for name, recipe in RECIPES.items():
        above, correlations, worst = [], [], []
        for seed, r in enumerate(recorded):
            told, trained = r.shares(recipe), Training(seed, steps, recipe)
            above.append(trained.loss - r.training.loss)
            correlations.append(rank_correlation(told, trained.shares))
            worst.append(max(told.values()))
        replay = "fails" if statistics.median(worst) > TOO_MUCH else "holds"
        lost, sd = mean_and_sd(above)
        rows[name] = {"worst": statistics.median(worst), "above": lost, "replay": replay, "trained": verdict(lost, spread, learnt)}
        rows[name]["correlations"] = correlations
        out(
            f"| {name} | {rows[name]['worst']:.2g} | {replay} | {lost:.4f} ± {sd:.4f} | {rows[name]['trained']} "
            f"| {statistics.median(correlations):.3f}, {min(correlations):.3f} at least |"
        )
    order = rank_correlation({n: r["worst"] for n, r in rows.items()}, {n: r["above"] for n, r in rows.items()})
    out(f"\nRank correlation of the recipes, by worst tensor and by loss: {order:.2f}")
    return rows


def alone(recorded, steps, out=print_now):
    """Each tensor in MXFP4 and all others in float32."""
    above = {}
    told = {}
    for seed, r in enumerate(recorded):
        for name in r.training.layers:
            for kind in emulation.OPERANDS:
                tensor = NAMES[kind].format(name)
                recipe = {f"^{name}$": {kind: "mxfp4"}}
                above.setdefault(tensor, []).append(Training(seed, steps, recipe).loss - r.training.loss)
                told.setdefault(tensor, []).append(r.shares({"": "mxfp4"})[tensor])
    above = {name: statistics.mean(of) for name, of in above.items()}
    told = {name: statistics.mean(of) for name, of in told.items()}
    out("| tensor | share lost | loss above float32 |\n|---|---|---|")
    for name in sorted(told, key=told.get, reverse=True):
        out(f"| {name} | {told[name]:.4f} | {above[name]:+.4f} |")
    out(f"\nRank correlation {rank_correlation(told, above):.2f}; within a kind")
    for kind, form in NAMES.items():
        some = [name for name in told if name.startswith(form.split("/")[0])]
        out(f"  {kind}: {rank_correlation({n: told[n] for n in some}, {n: above[n] for n in some}):.2f}")


# What a plan may choose among, as emulate takes it and with its bits: elements, and elements and bits of a scale.
CHOICES = {
    "nvfp4": ("te_nvfp4_1x16", 4, 16, 8),
    "mxfp4": ("torchao_mxe2m1_rceil", 4, 32, 8),
    "mxfp6_e2m3": ("torchao_mxe2m3_rceil", 6, 32, 8),
    "fp8_e4m3": ({"format": "float8_e4m3fn", "scale": "current"}, 8, 0, 0),
    "fp8_e5m2": ({"format": "float8_e5m2", "scale": "current"}, 8, 0, 0),
    "mxfp8_e4m3": ("te_mxfp8_e4m3_cppref", 8, 32, 8),
    "bfloat16": ("bfloat16", 16, 0, 0),
}


def bits(choice, numel):
    _, width, block, scale = CHOICES[choice]
    return numel * (width + (scale / block if block else 0))


def recipe_of(chosen):
    recipe = {}
    for tensor, choice in chosen.items():
        kind = next(kind for kind, form in NAMES.items() if tensor.startswith(form.split("/")[0]))
        layer = tensor.partition("/")[2].removesuffix(".weight")
        recipe.setdefault(f"^{layer}$", {})[kind] = CHOICES[choice][0]
    return recipe


def random_plan(numel, budget, chance):
    """Of treatments that were drawn, and drawn anew where that brings their bits nearer to the budget, until within 1 %."""
    chosen = {name: chance.choice(list(CHOICES)) for name in numel}

    def off(of):
        return abs(sum(bits(of[name], n) for name, n in numel.items()) - budget)

    while off(chosen) > 0.01 * budget:
        other = {**chosen, chance.choice(list(numel)): chance.choice(list(CHOICES))}
        if off(other) < off(chosen) or chance.random() < 0.05:
            chosen = other
    return chosen


def last_in_16_bits(numel, layers, budget):
    """The last 15 % of the layers in bfloat16, those before in FP8 as far as the bits go, the first in four bits."""
    kept = set(list(layers)[-math.ceil(0.15 * len(layers)) :])
    of_layer = {name: name.partition("/")[2].removesuffix(".weight") for name in numel}
    chosen = {name: "bfloat16" if of_layer[name] in kept else "mxfp4" for name in numel}
    for name in sorted(numel, key=lambda name: -list(layers).index(of_layer[name])):
        if chosen[name] == "mxfp4":
            more = {**chosen, name: "mxfp8_e4m3"}
            if sum(bits(more[n], size) for n, size in numel.items()) <= budget:
                chosen = more
    return chosen


def planned(recorded, lose, *more):
    """What `ulp plan` says: in full, or with a framework's words asked for, those."""
    return json.loads(ulp("plan", recorded.run, "--hardware", "blackwell", "--lose", lose, *(more or ["--json"])))


def plan(recorded, steps, draws=3, lose="1e-3", out=print_now):
    mean, spread = mean_and_sd([r.training.loss for r in recorded])
    out(f"float32: loss {mean:.4f}, {spread:.4f} from seed to seed\n")
    out("| seed | bits an element | plan, loss above float32 | random plans | last 15 % in bfloat16 |\n|---|---|---|---|---|")
    better, aboves, chance = 0, [], random.Random(0)
    for seed, r in enumerate(recorded):
        recipe, told = planned(r, lose, "--for", "emulate"), planned(r, lose)
        numel = {row["tensor"]: row["numel"] for row in told["tensors"]}
        budget = told["summary"]["bits"]
        above = Training(seed, steps, recipe).loss - r.training.loss
        others = [
            Training(seed, steps, recipe_of(random_plan(numel, budget, chance))).loss - r.training.loss for _ in range(draws)
        ]
        last = Training(seed, steps, recipe_of(last_in_16_bits(numel, r.training.layers, budget))).loss - r.training.loss
        aboves.append(above)
        better += above < statistics.mean(others)
        shown = ", ".join(f"{x:+.4f}" for x in others)
        out(f"| {seed} | {budget / sum(numel.values()):.2f} | {above:+.4f} | {shown} | {last:+.4f} |")
    lost = statistics.mean(aboves)
    out(f"\nThe plan is {lost:+.4f} above float32, {'within' if abs(lost) <= spread else 'beyond'} its spread, and better than the")
    out(f"mean of the random plans in {better} of {len(recorded)} seeds.")
    return {"above": aboves, "spread": spread, "better": better}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("recipes", "plan", "alone"), nargs="?", default="recipes")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        recorded = [Recorded(seed, options.steps, folder) for seed in range(options.seeds)]
        {"recipes": recipes, "plan": plan, "alone": alone}[options.what](recorded, options.steps)


if __name__ == "__main__":
    main()
