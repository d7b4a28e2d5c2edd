"""Pins that the folders of dumps that TransformerEngine's DumpTensors and Megatron-LM's --save-wgrads-interval and its like
write are read as runs: the same tensors in .npz files of the same names have the same digest.

write_transformer_engine() and write_megatron() wrote the files in tests/data/framework_dumps."""

import os
import sys
import types
import unittest

import support

support.need("numpy", "torch")

import numpy as np  # noqa: E402
import torch  # noqa: E402

KINDS = {"activation": "activation", "output": "activation", "gradient": "agrad", "dgrad": "agrad",
         "weight": "weight", "wgrad": "wgrad"}


def values(shape, seed, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    spread = torch.randn(shape, generator=generator, dtype=torch.float64)
    return (spread * 2.0 ** torch.randint(-20, 8, shape, generator=generator)).to(dtype)


class Quantized:
    """Pickles as a Float8Tensor does: a call of a function of TransformerEngine's with tensors in it."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __reduce_ex__(self, protocol):
        codes = torch.arange(self.tensor.numel(), dtype=torch.uint8).reshape(self.tensor.shape)
        return _make_float8_tensor_in_reduce_ex, (codes, DType(7), torch.ones(1), torch.float32, codes.shape, None)


def _make_float8_tensor_in_reduce_ex(*arguments):
    raise RuntimeError("was executed")


class DType:
    def __init__(self, number):
        self.number = number

    def __reduce__(self):
        return DType, (self.number,)


class PackedSeqParams:
    def __init__(self):
        self.cu_seqlens_q = torch.arange(4, dtype=torch.int32)
        self.max_seqlen_q = 4


def pretend_modules():
    """Names that pickle can write. Reading must not need them, nor call them."""
    for of, name in ((_make_float8_tensor_in_reduce_ex, "transformer_engine.pytorch.tensor.float8_tensor"),
                     (DType, "transformer_engine_torch"), (PackedSeqParams, "megatron.core.packed_seq_params")):
        parts = name.split(".")
        for i in range(len(parts)):
            sys.modules.setdefault(".".join(parts[: i + 1]), types.ModuleType(parts[i]))
        of.__module__ = name
        setattr(sys.modules[name], of.__name__, of)


def save(saved, *path):
    path = os.path.join(*path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.save(saved, path)


def write_transformer_engine(folder, ranks, steps, names, shape=(3, 4)):
    """{rank: {step: {name: tensor}}} of what is written. Rank 1 has one row less of the activations."""
    found = {}
    for rank in range(ranks):
        for step in steps:
            for i, name in enumerate(names):
                rows = shape[0] - (rank if name.endswith("_activation") else 0)
                tensor = values((rows, *shape[1:]), 1000 * rank + 10 * step + i, torch.bfloat16 if i == 0 else torch.float32)
                saved = {"high_precision": tensor}
                if i % 2 == 0:
                    saved["quantized"] = Quantized(tensor)
                save(tensor if name.endswith("_output") else saved, folder, "tensor_dumps", f"rank_{rank}",
                     f"iter_{step:06d}", f"{name}.pt")
                found.setdefault(rank, {}).setdefault(step, {})[name] = tensor
            save({"quantized": Quantized(tensor)}, folder, "tensor_dumps", f"rank_{rank}", f"iter_{step:06d}", "proj_weight.pt")
    return found


def write_megatron(folder, shards, steps):
    """{step: {name: tensor}} of what is written, under the names that recordings have."""
    found = {}
    module = "decoder.layers.0.mlp.linear_fc1"
    for step in steps:
        for i, shard in enumerate(shards):
            seed = 100 * step + 10 * i
            by_label = {
                "wgrads": {f"{module}.weight": values((4, 3), seed), f"{module}.bias": values((4,), seed + 1)},
                "dgrads": {f"{module}/output0": values((2, 4), seed + 2, torch.bfloat16), f"{module}/input0": values((2, 3), seed + 3)},
                "activations": {f"{module}/input0": values((2, 3), seed + 4), f"{module}/output0": values((2, 4), seed + 5)},
            }
            others = {"embedding.word_embeddings/input0": torch.arange(6), f"{module}/input1": [1, 2],
                      f"{module}/packed_seq_params": PackedSeqParams(), f"{module}/runtime_gather_output": None}
            for label, tensors in by_label.items():
                chunk = {**tensors, **others} if label == "activations" else tensors
                save({"model_chunk0": chunk}, folder, label, f"iter_{step:07d}", f"mp_rank_{shard}.pth")
                prefix = {"wgrads": "wgrad", "dgrads": "agrad", "activations": "activation"}[label]
                for name, tensor in tensors.items():
                    found.setdefault(step, {})[f"{prefix}/mp_rank_{shard}/model_chunk0.{name}"] = tensor
    return found


def save_npz(path, tensors):
    """bfloat16 as numpy keeps it of ml_dtypes: two bytes without a name."""
    np.savez(path, **{name: t.view(torch.int16).numpy().view("V2") if t.dtype == torch.bfloat16 else t.numpy()
                      for name, t in tensors.items()})


def kind_options(names):
    """Of .npz files with TransformerEngine's names."""
    ends = sorted({name.rsplit("_", 1)[1] for name in names})
    return [word for end in ends for word in ("--kind", f"_{end}$={KINDS[end]}")]


class FrameworkDumps(support.InFolder):
    def setUp(self):
        super().setUp()
        pretend_modules()

    def record(self, inputs, *options):
        recording = self.path(f"{len(os.listdir(self.path('')))}.ulp")
        support.ulp("record", *[self.path(i) for i in inputs], "-o", recording, *options)
        return recording

    def digest(self, recording):
        return support.ulp("info", recording, "--digest")

    def test_transformer_engine(self):
        names = ["decoder_1_attn_qkv_" + end for end in KINDS]
        found = write_transformer_engine(self.path(""), 2, (1, 20), names)
        ranks = []
        for rank, steps in found.items():
            for step, tensors in steps.items():
                save_npz(self.path(f"rank{rank}_step{step}.npz"), tensors)
            ranks.append(self.record([f"rank{rank}_step{step}.npz" for step in steps], *kind_options(names), "--run-id", "a",
                                     "--rank", str(rank), "--world", "2", "--layout", "shard", "--reduction", "local"))
        merged = self.path("merged.ulp")
        support.ulp("merge", *ranks, "-o", merged)
        whole = self.record(["tensor_dumps"])
        self.assertEqual(self.digest(whole), self.digest(merged))
        self.assertEqual(self.digest(self.record(["."])), self.digest(merged))
        for rank in found:
            self.assertEqual(self.digest(self.record([f"tensor_dumps/rank_{rank}"])), self.digest(ranks[rank]))

    def test_megatron(self):
        found = write_megatron(self.path(""), ("00_000", "00_001", "01_000"), (10, 20))
        for step, tensors in found.items():
            save_npz(self.path(f"step{step}.npz"), tensors)
        expected = self.digest(self.record([f"step{step}.npz" for step in found]))
        self.assertEqual(self.digest(self.record(["."])), expected)
        self.assertEqual(self.digest(self.record(["wgrads", "dgrads", "activations"])), expected)


if __name__ == "__main__":
    unittest.main()
