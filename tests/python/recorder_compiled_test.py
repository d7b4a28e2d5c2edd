"""Pins that the compiled counting and that in Python make the same bytes of the same values, whatever these are."""

import ctypes
import itertools
import unittest
import zlib
from unittest import mock

import support

support.need("numpy", "torch")
if support.core() is None:
    support.skip_file(["ulpscope"], "ulpscope._core is not there; ULP_PACKAGES names where it is")

import numpy as np  # noqa: E402
import torch  # noqa: E402

torch.ones(1).numpy()  # torch looks for numpy once
compiled = support.load()
by_numpy = support.load(without=["ulpscope._core"])
by_torch = support.load(without=["ulpscope._core", "numpy"])
draw = np.random.default_rng(1)
WIDTHS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16}
WIDTHS.update({name: 8 for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")})


def bits_of(name):
    """Lists of bits: edges of binades and slots, all exponents, subnormal values, NaN, infinities; few and many; none."""
    width, dtype = WIDTHS[name], compiled.TYPES[name]
    unsigned = np.dtype(f"u{width // 8}")
    every = draw.integers(0, 2**width, 70_000, unsigned, endpoint=False) if width < 64 else draw.integers(0, 2**64, 70_000, unsigned)
    fractions = [(1 << dtype.fraction) - (1 << i) + d for i in range(dtype.fraction + 1) for d in (-1, 0, 1)]
    edges = [
        (row << dtype.fraction) + fraction
        for row in (0, 1, 2, 3, (dtype.rows >> 1) - 2, (dtype.rows >> 1) - 1)
        for fraction in (*fractions, 13 << max(0, dtype.fraction - 4))
        if 0 <= fraction <= dtype.low
    ]
    signs = np.array([*edges, *(edge + dtype.most + 1 for edge in edges)], unsigned)
    one = np.array([dtype.bias << dtype.fraction], unsigned)
    like_gradients = (draw.standard_normal(20_000) * 2.0 ** draw.integers(-30, 3, 20_000)).astype(np.float32)
    lists = [every[:n] for n in (0, 1, 2, 63, 255, 256, 257, 4095, 4096, 9000, 70_000)]
    lists += [signs, signs.repeat(3), one, one.repeat(300), 0 * one, 0 * one.repeat(1000), every & unsigned.type(dtype.low)]
    if width >= 32:
        lists.append(like_gradients.astype(f"f{width // 8}").view(unsigned))
    return [(name, of.astype(unsigned)) for of in lists]


def tables(module, lists, with_sums):
    values = []
    for name, bits in lists:
        one = module.Values("x", torch.tensor([1.0]))
        array = bits.view(f"i{bits.itemsize}")
        one.type, one.numel, one.array = module.TYPES[name], len(bits), array if module.np else torch.from_numpy(array.copy())
        values.append(one)
    return module.tables_of(values, with_sums)


def octets(module, tables, numbers):
    n = len(tables)
    factors = [None if i % 3 == 0 else 2.0 ** (i % 7) for i in range(n)]
    parts = [i * 257 % 65536 for i in range(n)]
    return module.summaries_of(tables, range(n), numbers, factors, parts), module.payloads_of(tables)


class SameBytes(unittest.TestCase):
    def test_of_every_type(self):
        self.assertEqual([m.Recorder.counting for m in (compiled, by_numpy, by_torch)], ["compiled", "python", "python"])
        for name, with_sums in itertools.product(WIDTHS, (False, True)):
            lists = bits_of(name)
            for lists in (lists, [of for of in lists if len(of[1]) < 300]):
                numbers = [compiled.TYPES[name].number] * len(lists)
                ours = tables(compiled, lists, with_sums)
                self.assertIsInstance(ours[0], support.core().counting.Table)
                for other in (by_numpy, by_torch):
                    theirs = tables(other, lists, with_sums)
                    for i, (a, b) in enumerate(zip(ours, theirs)):
                        place = f"{name}, {with_sums}, {i}, {len(lists[i][1])}"
                        self.assertEqual(octets(compiled, [a], numbers[:1]), octets(other, [b], numbers[:1]), place)
                        self.assertEqual((a.is_finite, len(a), list(a.cells())), (b.is_finite, len(b), list(b.cells())), place)
                    self.assertEqual(octets(compiled, ours, numbers), octets(other, theirs, numbers), name)
                    merged = compiled.merge_tables(ours), other.merge_tables(theirs)
                    self.assertEqual(*(octets(m, [of], [0]) for m, of in zip((compiled, other), merged)), name)
                    made = [compiled.as_compiled(of) for of in theirs]  # as what another device counted
                    self.assertEqual(octets(compiled, made, numbers), octets(compiled, ours, numbers), name)

    def test_of_many_values(self):
        """In several pieces and threads: sums beyond 64 bits, counts that several pieces have."""
        bits = draw.integers(0, 2**32, 1 << 16, np.uint32).repeat(150)
        bits[bits & 0x7F800000 == 0x7F800000] = 0x7F7FFFFF
        for name, of in (("float32", bits), ("bfloat16", (bits >> 16).astype(np.uint16)), ("float64", bits.view(np.uint64))):
            before = torch.get_num_threads()
            ours = []
            for threads in (1, 3):
                torch.set_num_threads(threads)
                ours.append(octets(compiled, tables(compiled, [(name, of), (name, of[:10])], True), [1, 1]))
            torch.set_num_threads(before)
            self.assertEqual(*ours, name)
            self.assertEqual(ours[0], octets(by_numpy, tables(by_numpy, [(name, of), (name, of[:10])], True), [1, 1]), name)

    def test_of_arrays_that_are_not_contiguous_or_aligned(self):
        values = draw.standard_normal(1001).astype(np.float32)
        unaligned = np.frombuffer(b"x" + values.tobytes(), np.float32, offset=1)
        grid = values[:1000].reshape(10, 100)
        for array in (values[::2], values[::-1], unaligned, grid.T, grid[:, ::3], np.broadcast_to(values[:7], (5, 7)), values[0]):
            ours, theirs = (m.tables_of([m.Values("x", array)], True) for m in (compiled, by_numpy))
            self.assertEqual(octets(compiled, ours, [2]), octets(by_numpy, theirs, [2]))


class SameJointTables(unittest.TestCase):
    def content(self, module, *both):
        """Of a weight and an update, each a name of a type and bits."""
        values = []
        for name, bits in both:
            one = module.Values("x", np.float32([1]))
            one.type, one.numel, one.array = module.TYPES[name], len(bits), bits.view(f"i{bits.itemsize}")
            values.append(one)
        content = module.content_of(*values)
        return content[:8], zlib.decompress(content[8:])

    def test_of_every_pair_of_types(self):
        compared = 0
        for of_weights, of_updates in itertools.product(WIDTHS, repeat=2):
            for (_, w), (_, d) in zip(bits_of(of_weights), reversed(bits_of(of_updates))):
                n = min(len(w), len(d), 20_000)
                both = (of_weights, w[:n]), (of_updates, draw.permutation(d)[:n])
                expected = self.content(by_numpy, *both)
                self.assertEqual(self.content(compiled, *both), expected, (of_weights, of_updates, n))
                compared += n
        self.assertGreater(compared, 1_000_000)

    def test_where_the_job_takes_subnormal_numbers_for_zero(self):
        both = [("float32", draw.integers(0, 2**31, 3000, np.uint32) >> np.uint32(draw.integers(4, 9))) for _ in "wd"]
        expected = self.content(by_numpy, *both)
        torch.set_flush_denormal(True)
        try:
            self.assertEqual(self.content(compiled, *both), expected)
        finally:
            torch.set_flush_denormal(False)

    def test_unaligned_and_of_other_sizes(self):
        w, d = draw.standard_normal((2, 1001)).astype(np.float32)
        unaligned = np.frombuffer(b"x" + w.tobytes(), np.float32, offset=1)
        self.assertEqual(compiled.joint_content(unaligned, d), compiled.joint_content(w, d))
        for module in (compiled, by_numpy):
            with self.assertRaisesRegex(module.RecorderError, "different sizes"):
                module.joint_content(w, d[1:])
        self.assertEqual(compiled.joint_content(torch.from_numpy(w), torch.from_numpy(d)), compiled.joint_content(w, d))


class SameRecordings(support.InFolder):
    def record(self, module, name, with_sums):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Embedding(50, 64), torch.nn.Linear(64, 300), torch.nn.ReLU(), torch.nn.Linear(300, 50))
        model[3].weight.requires_grad_(with_sums)
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        options = dict(activations="2", forward="3", weights="1", updates="1", states="exp_avg/", sums=with_sums)
        with module.Recorder(self.path(name), model, optimizer=optimizer, run_id="r", strict=True, **options) as rec:
            for step in range(70):
                optimizer.zero_grad()
                loss = model(torch.randint(0, 50, (8,))).pow(2).mean()
                loss.backward()
                half = model[1].weight.grad.bfloat16()
                optimizer.step()
                sparse = torch.eye(9).to_sparse()
                rec.step(step, loss=loss, grads={"half": half, "sparse": sparse, "none": torch.ones(0).half(), "inf": np.inf * np.ones(3)})
        return support.content(self.path(name))

    def test_rows_and_blocks(self):
        for with_sums in (False, True):
            ours = self.record(compiled, f"a{with_sums}.ulp", with_sums)
            theirs = self.record(by_numpy, f"b{with_sums}.ulp", with_sums)
            self.assertEqual(ours.keys(), theirs.keys())
            for table in ours:
                self.assertEqual(ours[table], theirs[table], table)
            self.assertGreater(len(ours["level"]), 0)
            digests = {support.ulp("info", "--digest", self.path(f"{of}{with_sums}.ulp")) for of in "ab"}
            self.assertEqual(len(digests), 1)
            support.check(self.path(f"a{with_sums}.ulp"))


    def changing(self, module, name, given, with_sums):
        """Of every six steps three are as usual, and in three something is otherwise."""
        random = np.random.default_rng(2)

        def values(*shape):
            return torch.from_numpy(random.standard_normal(shape).astype(np.float32))

        class Nothing(torch.optim.Optimizer):
            def step(self):
                pass

        model = torch.nn.ModuleList([torch.nn.Linear(5, 4), torch.nn.Linear(4, 3, bias=False)])
        half = torch.nn.Parameter(torch.zeros(6).half())
        optimizer = Nothing([*model.parameters(), half], {"lr": 1.0})
        first, bias, second = model[0].weight, model[0].bias, model[1].weight
        of_other_size, doubles = values(7, 2), values(5, 4).double()
        changes = [
            lambda: setattr(first, "grad", None),
            lambda: setattr(second, "grad", values(4, 3).t()),  # not in a row
            lambda: bias.grad.copy_(torch.tensor([1.0, float("inf"), 0.0, -0.0])),
            lambda: setattr(first.grad, "data", of_other_size),  # at which torch does not look
            lambda: setattr(first.grad, "data", doubles),
            lambda: setattr(second, "grad", values(3, 4).to_sparse()),
            lambda: model[0].register_parameter("more", half),
            lambda: setattr(model[1], "weight", torch.nn.Parameter(second.detach().clone())),
            lambda: model.append(torch.nn.Linear(2, 2)),
            lambda: model.__delitem__(1),
        ]
        how = dict(optimizer=optimizer) if given else {}
        with module.Recorder(self.path(name), model, run_id="r", sums=with_sums, strict=True, **how) as rec:
            for step in range(6 * len(changes)):
                for parameter in dict.fromkeys([first, bias, second, half, *model.parameters()]):
                    parameter.grad = values(*parameter.shape).to(parameter.dtype)
                if step % 6 >= 3:
                    changes[step // 6]()
                also = {"other": np.float32([step])} if step % 5 == 0 else {}
                optimizer.step()
                rec.step(step, loss_scale=None if given else 2.0 ** (step // 8), grads=also)
            alike = rec._gradients.alike
        return support.content(self.path(name)), alike

    def test_gradients_that_change(self):
        for given, with_sums in itertools.product((False, True), (False, True)):
            (ours, alike), (theirs, nothing) = (
                self.changing(module, f"{given}{with_sums}{module is compiled}.ulp", given, with_sums) for module in (compiled, by_numpy)
            )
            self.assertIsNone(nothing)
            self.assertIsNotNone(alike)  # the other way was taken, too
            for table in ours:
                self.assertEqual(ours[table], theirs[table], (table, given, with_sums))

    def test_modules_of_torch_jit(self):
        """Whose parameters are in no dictionary."""
        contents = []
        for module in (compiled, by_numpy):
            model = torch.nn.Sequential(torch.jit.script(torch.nn.Linear(3, 2)), torch.nn.ReLU())
            with module.Recorder(self.path(f"{module is compiled}.ulp"), model, run_id="r", strict=True) as rec:
                for step in range(4):
                    for parameter in model.parameters():
                        parameter.grad = torch.full_like(parameter, step + 1.0)
                    rec.step(step, loss_scale=1)
            contents.append(support.content(self.path(f"{module is compiled}.ulp")))
        self.assertEqual(*contents)
        self.assertEqual(len(contents[0]["tensor"]), 2)

    def test_parameters_that_are_replaced_are_freed(self):
        """What is kept of the step before keeps no parameter longer than that."""
        import gc
        import weakref

        model = torch.nn.Linear(3, 3)
        with compiled.Recorder(self.path("a.ulp"), model, strict=True) as rec:
            for step in range(6):
                if step == 3:
                    before, model.weight = weakref.ref(model.weight), torch.nn.Parameter(torch.ones(3, 3))
                for parameter in model.parameters():
                    parameter.grad = torch.ones_like(parameter)
                rec.step(step, loss_scale=1)
            gc.collect()
            self.assertIsNone(before())


class DLTensor(ctypes.Structure):
    """Of dlpack.h."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


VIEW = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))


class Exchange(ctypes.Structure):
    """DLPackExchangeAPI of dlpack.h, from version 1.3 on."""

    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p), ("others", ctypes.c_void_p * 3),
        ("view", VIEW), ("stream", ctypes.c_void_p),
    ]  # fmt: skip


class Seen(unittest.TestCase):
    """Where the values of gradients are: by what Python sees, and by DLPack's exchange, as torch has it from 2.10 on."""

    CODES = {torch.float64: (2, 64), torch.float32: (2, 32), torch.float16: (2, 16), torch.bfloat16: (4, 16)}
    NAME = ctypes.create_string_buffer(b"dlpack_exchange_api")

    def setUp(self):
        image = torch.ones(2, 3, 5, 7).contiguous(memory_format=torch.channels_last)
        self.dense = [
            torch.ones(6, 5), torch.ones(6, 5).t(), image, image[:, :, :, :1].contiguous(memory_format=torch.channels_last),
            torch.ones(3, 4).half(), torch.ones(3).bfloat16(), torch.ones(4).double(), torch.tensor(1.0), torch.ones(0, 3),
            torch.ones(10)[4:], torch.ones(5, 1, 2).permute(1, 2, 0), torch.ones(1, 4)[:, ::4],
        ]  # fmt: skip
        self.others = [
            torch.ones(6, 5)[:, ::2], torch.ones(1).expand(4), torch.ones(4, 4)[:, :3], torch.ones(2, 2).to_sparse(),
            torch.ones(3, dtype=torch.int32), torch.ones(2, dtype=torch.complex64), torch.nn.Parameter(torch.ones(2)),
            torch.ones(3, dtype=torch.complex64).conj().imag, torch.ones(4, 4).as_strided((2, 2), (1, 1)),
        ]  # fmt: skip

    def places(self, tensors):
        of = support.core().counting.Gradients(torch.Tensor, torch.strided, {t: compiled.TYPES[str(t)[6:]].number for t in self.CODES})

        class Holder:
            def __init__(self, grad):
                self.grad = grad

        return of([("x", Holder(tensor)) for tensor in (None, *tensors)]).places()[1:]

    def check(self):
        expected = [(t.data_ptr(), t.numel(), compiled.TYPES[str(t.dtype)[6:]].number) for t in self.dense]
        self.assertEqual(self.places(self.dense), expected)
        self.assertEqual(self.places(self.others), [None] * len(self.others))

    def test_by_python(self):
        with mock.patch.object(torch.Tensor, "__dlpack_c_exchange_api__", None, create=True):
            self.check()

    @unittest.skipUnless(hasattr(torch.Tensor, "__dlpack_c_exchange_api__"), "this torch has no exchange")
    def test_by_torch(self):
        self.check()

    def exchange(self, major, minor, kept):
        def view(tensor, to):
            kept.append(tensor)
            if tensor.dtype not in self.CODES or tensor.layout is not torch.strided:
                return -1
            dims = ctypes.c_int64 * max(1, tensor.dim())
            kept.extend((dims(*tensor.shape), dims(*tensor.stride())))
            of = to.contents
            of.data, of.device_type, of.ndim, of.lanes, of.byte_offset = tensor.data_ptr(), 1, tensor.dim(), 1, 0
            of.code, of.bits = self.CODES[tensor.dtype]
            of.shape, of.strides = kept[-2:]
            return 0

        made = Exchange(major, minor, None, (ctypes.c_void_p * 3)(), VIEW(view), None)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        kept.append(made)
        return new(ctypes.addressof(made), ctypes.addressof(self.NAME), None)

    def test_by_exchange(self):
        for major, minor, is_used in (1, 3, True), (1, 9, True), (1, 2, False), (2, 0, False):
            kept = []
            capsule = self.exchange(major, minor, kept)
            with mock.patch.object(torch.Tensor, "__dlpack_c_exchange_api__", capsule, create=True):
                self.check()
            self.assertEqual(len(kept) > 1, is_used, (major, minor))


class Versions(unittest.TestCase):
    def test_another_version_is_not_used(self):
        core = support.core()
        before = core.__version__
        try:
            core.__version__ = "0.0.1"
            self.assertEqual(support.load().Recorder.counting, "python")
        finally:
            core.__version__ = before

    def test_bad_types(self):
        for number in (0, 9, -1):
            with self.assertRaisesRegex(ValueError, f"type {number}"):
                support.core().counting.count([(0, 0, number)], False)


if __name__ == "__main__":
    unittest.main()
