"""Pins what gradients may be: 8-bit, complex, sparse, transposed, views, parts of larger tensors, other libraries'."""

import struct
import types
import unittest
from unittest import mock

import support

support.need("numpy", "torch")

import numpy as np  # noqa: E402
import torch  # noqa: E402

torch.ones(1).numpy()  # torch looks for numpy once
recorder = support.load()
without_numpy = support.load(without=["numpy"])

# value * 2^bias of codes 0 to 127 as OCP OFP8 and ONNX give them: exponent bits, fraction bits, bias, first NaN or infinity
FLOAT8 = {
    "float8_e4m3fn": (4, 3, 7, 0x7F),
    "float8_e5m2": (5, 2, 15, 0x7C),
    "float8_e4m3fnuz": (4, 3, 8, 0x80),
    "float8_e5m2fnuz": (5, 2, 16, 0x80),
}
SAFETENSORS = {
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ"
}  # fmt: skip


def table(array, with_sums=True, module=recorder):
    return module.tables_of([module.Values("x", array)], with_sums)[0]


def parts(t):
    """All that a table says, but codes."""
    cells = dict(t.cells())
    return t.numel, t.zeros, tuple(t.infinities), t.nans, t.largest, t.least, cells, t.sums


class Float8(support.InFolder):
    def coded(self, codes, name, module, with_sums=True):
        """As _Values makes them of a tensor of that type, which torch 1.13 does not have."""
        values = module.Values("x", torch.tensor([1.0]))
        values.type, values.numel = module.TYPES[name], len(codes)
        values.array = codes.view("i1") if module.np else torch.from_numpy(codes.view("i1"))
        return module.tables_of([values], with_sums)[0]

    def test_every_code(self):
        for name, (_, fraction, bias, special) in FLOAT8.items():
            values = []
            for code in range(256):
                exponent, low = (code & 127) >> fraction, code & ((1 << fraction) - 1)
                value = (low / 2**fraction + (exponent > 0)) * 2.0 ** (max(exponent, 1) - bias)
                if code & 127 >= special or special == 0x80 == code:
                    value = np.inf if name == "float8_e5m2" and code & 127 == special else np.nan
                values.append(-value if code > 127 else value)
            codes = np.arange(256, dtype=np.uint8).repeat(3)
            right = table(np.float32(values).repeat(3))
            for module in (recorder, without_numpy):
                self.assertEqual(parts(self.coded(codes, name, module)), parts(right), name)
                with_sums = self.coded(codes, name, module, False)
                self.assertEqual(list(map(int, with_sums.codes[0])), list(range(256)))

    def test_as_recorded_from_dumps(self):
        for name in FLOAT8:
            codes = np.random.default_rng(1).integers(0, 256, 500).astype(np.uint8)
            path = self.path(f"{name}.step0.safetensors")
            support.save_safetensors(path, {"wgrad/x": (SAFETENSORS[name], (500,), codes.tobytes())})
            support.ulp("record", path, "-o", self.path(name + ".ulp"))
            row = support.content(self.path(name + ".ulp"))["step"][0]
            ours = self.coded(codes, name, recorder)
            self.assertEqual(recorder.payloads_of([ours]), row[-1])
            self.assertEqual(recorder.summary_of(ours, 0, recorder.TYPES[name].number, None), row[-2])


class Torch(unittest.TestCase):
    def same(self, gradient, values):
        """The gradient is recorded as these values are."""
        for module in (recorder, without_numpy):
            self.assertEqual(parts(table(gradient, module=module)), parts(table(values, module=module)))

    def test_complex(self):
        z = torch.randn(50, 3, dtype=torch.complex64)
        z[0, 0] = complex(0.0, float("inf"))
        both = torch.cat([z.real.flatten(), z.imag.flatten()])
        self.same(z, both)
        self.same(z.conj(), torch.cat([z.real.flatten(), -z.imag.flatten()]))
        self.same(z.conj().imag, -z.imag.contiguous())  # a view that only is marked as negative
        self.assertEqual(parts(table(z.numpy())), parts(table(both)))

    def test_sparse(self):
        table_of = torch.nn.Embedding(1000, 7, sparse=True)
        table_of(torch.tensor([3, 5, 3, 999])).pow(2).sum().backward()
        gradient = table_of.weight.grad
        self.assertTrue(gradient.is_sparse and not gradient.is_coalesced())
        self.same(gradient, gradient.to_dense())
        self.same(gradient.double(), gradient.to_dense().double())
        self.same(gradient.to_dense().to_sparse_csr(), gradient.to_dense())
        half = torch.sparse_coo_tensor(torch.tensor([[1, 4]]), torch.tensor([0.0, 2.0]).half(), (9,))
        self.same(half, torch.tensor([0.0] * 8 + [2.0]).half())
        huge = torch.sparse_coo_tensor(torch.tensor([[7], [8]]), torch.tensor([2.0]), (1 << 19, 1 << 19))
        self.assertEqual((table(huge).numel, table(huge).zeros), (1 << 38, (1 << 38) - 1))  # takes no memory

    def test_views(self):
        x = torch.randn(6, 5, 4)
        for view in (x.permute(2, 0, 1), x[:, ::2, 1:], x[0, 0, 0].expand(7), x[:0], x[3, 2, 1], x.transpose(0, 1)[1]):
            self.same(view, view.clone(memory_format=torch.contiguous_format).flatten())
        image = torch.randn(2, 3, 5, 5).contiguous(memory_format=torch.channels_last)
        self.assertEqual(recorder.Values("x", image).array.ctypes.data, image.data_ptr())  # no copy

    def test_parts_of_larger_tensors(self):
        """With a stand-in for DTensor: what another rank has too is recorded there."""
        kind = lambda replicate: types.SimpleNamespace(is_replicate=lambda: replicate)  # noqa: E731
        for placements, place, is_copy in (
            ((True, False), (0, 3), False), ((True, False), (1, 3), True), ((False, False), (1, 1), False), ((True,), None, False)
        ):  # fmt: skip
            mesh = types.SimpleNamespace(get_coordinate=lambda place=place: place)
            tensor = types.SimpleNamespace(device_mesh=mesh, placements=[kind(p) for p in placements])
            self.assertIs(recorder.is_replica(tensor), is_copy)
        self.assertFalse(recorder.is_replica(torch.ones(3)))

    def test_no_floats(self):
        for array in (torch.ones(3).int(), np.ones(3, bool), ["a"], None):
            with self.assertRaisesRegex(recorder.RecorderError, "^tensor 'x': [a-z0-9]+ cannot be recorded; float64, "):
                recorder.Values("x", array)
        with self.assertRaisesRegex(without_numpy.RecorderError, "'x': without numpy only torch tensors can be recorded"):
            without_numpy.Values("x", [1.0])


class OtherLibraries(unittest.TestCase):
    """As jax, TensorFlow and CuPy give them."""

    values = np.float32([1.5, -2, 0, 3e-40])

    def test_array_protocol(self):
        class Array:
            def __array__(self, dtype=None):
                return OtherLibraries.values

        self.assertEqual(parts(table(Array())), parts(table(self.values)))

    def test_dlpack(self):
        class Array:
            def __init__(self, of):
                self.of = of

            def __dlpack__(self, **options):
                return self.of.__dlpack__()

            def __dlpack_device__(self):
                return self.of.__dlpack_device__()

        tensor = torch.from_numpy(self.values.copy())
        self.assertEqual(parts(table(Array(tensor))), parts(table(self.values)))
        self.assertEqual(parts(table(Array(tensor), module=without_numpy)), parts(table(self.values)))
        with mock.patch.object(recorder, "loaded_torch", lambda: None):
            self.assertEqual(parts(table(Array(self.values.copy()))), parts(table(self.values)))

    def test_bfloat16_of_ml_dtypes(self):
        """Its dtype is called bfloat16; the values are bits to numpy."""

        class Bits(np.ndarray):
            dtype = types.SimpleNamespace(name="bfloat16", kind="V", isnative=True)

        bits = (self.values.view(np.uint32) >> 16).astype(np.uint16)
        with mock.patch.object(recorder.np, "ravel", lambda array, order: array.view(Bits)):
            values = recorder.Values("x", bits)
        self.assertEqual((values.type.name, values.array.tobytes()), ("bfloat16", bits.tobytes()))

    @unittest.skipUnless(support.has("ml_dtypes"), "ml_dtypes is not installed")
    def test_bfloat16_of_installed_ml_dtypes(self):
        from ml_dtypes import bfloat16

        bits = (self.values.view(np.uint32) >> 16).astype(np.uint16)
        values = recorder.Values("x", bits.view(bfloat16))
        self.assertEqual((values.type.name, values.array.dtype), ("bfloat16", np.int16))
        np.testing.assert_array_equal(values.array.view(np.uint16), bits)

    def test_lists_and_numbers(self):
        self.assertEqual(parts(table([1.0, -2.0])), parts(table(np.float64([1, -2]))))
        self.assertEqual(table(2.5).numel, 1)


class Summary(unittest.TestCase):
    def test_is_104_bytes(self):
        record = recorder.summary_of(table(np.float32([3])), 7, 2, None)
        self.assertEqual((len(record), struct.unpack("<I", record[:4])), (104, (7,)))


if __name__ == "__main__":
    unittest.main()
