"""Pins that files of torch.save are read as torch and numpy see their values: recorded through a .pt and through a
safetensors file of what numpy says its tensors are, a step has one digest."""

import collections
import random
import unittest

import support

support.need("numpy", "torch")

import numpy as np  # noqa: E402
import torch  # noqa: E402

NAMES = {torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.bfloat16: "BF16"}


def octets(tensor):
    """Little-endian, in C order, by numpy."""
    flat = tensor.detach().contiguous().clone()
    return (flat.view(torch.int16) if flat.dtype == torch.bfloat16 else flat).numpy().tobytes()


def values(shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    spread = torch.randn(shape, generator=generator, dtype=torch.float64)
    return (spread * 2.0 ** torch.randint(-30, 12, shape, generator=generator)).to(dtype)


class PtFiles(support.InFolder):
    def check(self, saved, tensors, **how):
        """`tensors` are those that are found in the file."""
        torch.save(saved, self.path("a.pt"), **how)
        self.check_file(tensors)

    def check_file(self, tensors):
        found = {name: (NAMES[t.dtype], tuple(t.shape), octets(t)) for name, t in tensors.items()}
        support.save_safetensors(self.path("a.safetensors"), found)
        digests = []
        for source in ("a.pt", "a.safetensors"):
            recording = self.path(f"{source}.{len(digests)}.{random.random()}.ulp")
            support.ulp("record", self.path(source), "-o", recording)
            digests.append(support.ulp("info", recording, "--digest"))
        self.assertEqual(*digests)

    def test_types_and_special_values(self):
        tensors = {str(dtype)[6:]: values((7, 5), dtype) for dtype in NAMES}
        for t in tensors.values():
            t.view(-1)[:5] = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan")])
        self.check({**tensors, "long": torch.arange(3), "bool": torch.ones(2) > 0, "text": "x", "none": None}, tensors)

    def test_views(self):
        base = values((12, 10, 8))
        tensors = {
            "transposed": base.transpose(0, 2),
            "permuted": base.permute(1, 2, 0),
            "every_other": base[::2, 1::3, ::5],
            "column": base[:, 3, 4],
            "expanded": base[:1, :, 2].expand(9, 10),
            "expanded_within": base[:, :1, :].expand(12, 6, 8),
            "unfolded": base.view(-1).unfold(0, 16, 3),
            "diagonal": torch.diagonal(base, dim1=0, dim2=1),
            "scalar": base[1, 2, 3],
            "empty": base[:0],
            "offset": base.view(-1)[501:],
            "half": values((40, 40), torch.float16, 1).t()[3:9],
            "bfloat16": values((40, 40), torch.bfloat16, 2)[:, ::7],
        }
        self.check(tensors, tensors)

    def test_large_strided_views_are_read_in_pieces(self):
        base = values((1500, 900))
        tensors = {"columns": base[:, 100:103], "last": base[:, 899:], "rows": base[::400], "block": base[7:1400, 3:800]}
        self.check(tensors, tensors)

    def test_a_model_and_its_optimizer(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.BatchNorm1d(5), torch.nn.LSTM(5, 4))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, amsgrad=True, betas=(0.9, 0.99))
        schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 5])
        for _ in range(3):
            optimizer.zero_grad()
            model(values((8, 6)))[0].square().sum().backward()
            optimizer.step()
            schedule.step()
        checkpoint = {
            "epoch": 3,
            "big": 2**70,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "schedule": {key: value for key, value in schedule.state_dict().items() if not key.startswith("_")},
            "gradients": [p.grad for p in model.parameters()],
            "parameters": tuple(model.parameters()),
        }
        found = {f"model.{n}": t for n, t in model.state_dict().items() if t.dtype in NAMES}
        for i, state in optimizer.state_dict()["state"].items():
            found.update({f"optimizer.state.{i}.{n}": t for n, t in state.items()})
        for i, p in enumerate(model.parameters()):
            found[f"gradients.{i}"] = p.grad
            found[f"parameters.{i}"] = p
        self.check(checkpoint, found)

    def test_containers(self):
        a, b, c = (values((3,), seed=i) for i in range(3))
        saved = collections.OrderedDict(x=[a, (b, {"y": c, 7: a})], shape=a.shape, names={"p", "q"}, frozen=frozenset([1]))
        saved["count"] = collections.Counter("aab")
        self.check(saved, {"x.0": a, "x.1.0": b, "x.1.1.y": c, "x.1.1.7": a})
        self.check([a, b], {"0": a, "1": b})
        self.check(a, {"a": a})

    def test_tensors_with_attributes(self):
        parameter = torch.nn.Parameter(values((4, 2)))
        parameter.tensor_model_parallel = True
        self.check({"p": parameter}, {"p": parameter})

    def test_many_small_tensors(self):
        tensors = {f"layer.{i}.weight": values((2, 3), seed=i) for i in range(700)}
        self.check(tensors, tensors)

    def test_what_is_no_tensor_is_refused(self):
        for wrong in (np.float64(2), torch.device("cpu"), torch.nn.Linear(2, 2), torch.eye(2).to_sparse(), print):
            torch.save({"a": torch.ones(2), "b": wrong}, self.path("a.pt"))
            support.ulp("record", self.path("a.pt"), "-o", self.path("a.ulp"), code=2)
        torch.save({"a": torch.ones(2)}, self.path("a.pt"), _use_new_zipfile_serialization=False)
        support.ulp("record", self.path("a.pt"), "-o", self.path("a.ulp"), code=2)
        torch.save({"a": torch.ones(2)}, self.path("a.pt"), pickle_protocol=4)
        support.ulp("record", self.path("a.pt"), "-o", self.path("a.ulp"), code=2)


if __name__ == "__main__":
    unittest.main()
