"""Pins the recorder where gradients are on a CUDA device, with kernels that are run on the host: tables and bytes are those of the
host, whatever the blocks and their order; nothing waits, and a step is in the file when the next step() returned.
tests/device/measure_counting.py does the first on a device."""

import gc
import importlib
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
import zlib
from unittest import mock

import support

support.need("numpy", "torch")

import numpy as np  # noqa: E402
import torch  # noqa: E402

import emulated_device  # noqa: E402

if not os.path.exists(emulated_device.LIBRARY):
    support.skip_file(["ulpscope"], "the emulated device (ULP_EMULATED_COUNTING) is not built")

recorder = support.load(part="_recorder.recorder")
for part in ("_device.counting", "_counting.kernels", "_counting.on_host"):
    importlib.import_module(f"{recorder.__name__}.{part}")
part_of = {part: sys.modules[f"{recorder.__name__}.{part}"] for part in ("_device.counting", "_counting.kernels", "_counting.on_host")}
counting = part_of["_device.counting"]
types = sys.modules[recorder.__name__ + "._counting.types"].TYPES
tables = sys.modules[recorder.__name__ + "._counting.tables"]


def some_bits(rng, dtype, n):
    """As integers: any bits; or what gradients are like; or zeros and subnormals among them."""
    bits = rng.integers(0, 256, n * dtype.bits // 8, dtype=np.uint8).view(f"i{dtype.bits // 8}").copy()
    kind = rng.integers(3)
    if kind == 1 and dtype.bits >= 32:
        values = rng.standard_normal(n) * 2.0 ** rng.integers(-40, 3)
        bits = values.astype(f"f{dtype.bits // 8}").view(bits.dtype)
    if kind == 2:
        bits[rng.random(n) < 0.7] = 0
        if dtype.bits >= 32:
            bits[rng.random(n) < 0.2] &= dtype.low
    return bits


def content(of, numbers):
    """Payloads and summaries: all that is written of tables."""
    return tables.payloads_of(of), tables.summaries_of(of, list(range(len(of))), numbers, [1.0] * len(of))


class Tables(unittest.TestCase):
    def check(self, arrays, with_sums, **named):
        places = [(a.__array_interface__["data"][0], len(a), dtype.number) for a, dtype in arrays]
        with emulated_device.device(recorder, torch, **named) as emulated:
            counted = counting.start(places, with_sums, 0).tables()
            for memory in counting.tables_on.values():
                self.assertEqual(int(memory.sum()), 0, "a table was not left empty")
        expected = [tables.as_compiled(t) for t in part_of["_counting.on_host"].tables_of_bits(arrays, with_sums)]
        numbers = [dtype.number for _, dtype in arrays]
        self.assertEqual(content(counted, numbers), content(expected, numbers))
        return emulated

    def test_any_tensors_in_any_blocks(self):
        rng = np.random.default_rng(7)
        saved = counting.OVERHEAD, counting.TABLES, counting.ROOM
        try:
            for trial in range(40):
                counting.OVERHEAD = int(rng.choice([64, 1 << 10, 1 << 13]))
                counting.TABLES = int(rng.choice([1 << 18, 32 << 20]))
                counting.ROOM = int(rng.choice([0, 1 << 12, 24 << 20]))
                arrays = []
                for _ in range(rng.integers(1, 9)):
                    dtype = list(types.values())[rng.integers(len(types))]
                    n = int(rng.choice([0, 1, 2, 3, 7, 100, 1023, 4096, 5000, 70000 if dtype.bits <= 16 else 9000]))
                    begin = int(rng.integers(4))  # aligned in any way
                    arrays.append((some_bits(rng, dtype, n + begin)[begin:], dtype))
                limit, slots = int(rng.choice([64, 99, 227])) << 10, int(rng.choice([1, 2, 5, 40]))
                with self.subTest(trial=trial, limit=limit, slots=slots, types=[d.name for _, d in arrays]):
                    self.check(arrays, bool(trial % 2), shared=limit, slots=slots, order=trial)
        finally:
            counting.OVERHEAD, counting.TABLES, counting.ROOM = saved

    def test_counters_that_overflow_16_bits(self):
        for code in (0, 1, 0x3C00, 0x8000, 0xFFFF):
            for n in (32767, 32768, 32769, 65535, 65536, 200001):
                same = np.full(n, code, np.uint16).view(np.int16)
                self.check([(same, types["float16"])], False, slots=2)

    def test_sums_of_a_whole_piece(self):
        """As large as they can become."""
        most = np.full(1 << 21, 0x7F7FFFFF, np.int32)
        self.check([(most, types["float32"])], True, slots=1)

    def test_launches_do_not_grow_with_tensors(self):
        arrays = [(np.full(100, i, np.int32), types["float32"]) for i in range(500)]
        emulated = self.check(arrays, False, slots=300)
        self.assertEqual([name for name, _ in emulated.launches], ["count_float32", "carry"])

    def test_memory_of_a_thousand_tensors(self):
        kinds = tuple((1 << 24, types[name].number) for name in ("float32", "bfloat16", "float32", "float64") for _ in range(250))
        with emulated_device.device(recorder, torch, slots=396):
            plan = counting.Plan(kinds, True, 0, counting.ROOM)
        self.assertLessEqual(plan.table_bytes + 8 * plan.device_words, 64 << 20)


@unittest.skipUnless(support.core() is not None and os.path.exists("/proc/self/statm"), "needs compiled counting, and Linux's /proc")
class Memory(unittest.TestCase):
    def test_what_arrived_is_not_kept(self):
        """Of a step some 260 kB, which nothing in Python holds."""
        values = np.random.default_rng(1).standard_normal(1 << 16).astype(np.float32)
        kinds, addresses = ((1 << 16, types["float32"].number),) * 4, np.array([values.ctypes.data] * 4, np.int64)

        def pages():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1])

        with emulated_device.device(recorder, torch):
            worker = support.core().counting.Worker()
            for i in range(120):
                counting.Started(kinds, addresses, False, 0, worker, [[0, 1, 2, 3]]).tables()
                if i == 20:
                    before = pages()
            self.assertLess((pages() - before) * os.sysconf("SC_PAGE_SIZE"), 8 << 20)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


def train(rec, model, steps, before=None):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    torch.manual_seed(5)
    for i in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = (model(torch.randn(8, 16)) ** 2).sum()
        loss.backward()
        if before is not None:
            before(i)
        rec.step(i, loss=loss, loss_scale=1.0)
        for p in model.parameters():  # they may change as soon as step() returned
            if p.grad is not None:
                p.grad.fill_(7.0)


def rows_of(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return db.execute("SELECT step, loss, loss_scale, found_inf, summary, cells FROM step ORDER BY step").fetchall()


def blocks_of(path):
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT step, tensor, content FROM extra WHERE name='blocks' ORDER BY step, tensor").fetchall()
    return [(step, tensor, zlib.decompress(content[8:])) for step, tensor, content in rows]


class Recorded(unittest.TestCase):
    """Has a model, and a name for its recording."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "run.ulp")
        torch.manual_seed(3)
        self.model = Model()
        self.state = {name: value.clone() for name, value in self.model.state_dict().items()}


class Recording(Recorded):
    def expected(self, steps, **named):
        self.model.load_state_dict(self.state)
        path = self.path + ".host"
        with recorder.Recorder(path, self.model, **named) as rec:
            train(rec, self.model, steps)
        return rows_of(path)

    def test_bytes_are_those_of_the_host(self):
        for i, sums in enumerate((False, True)):
            with self.subTest(sums=sums):
                path = f"{self.path}{i}"
                self.model.load_state_dict(self.state)
                with emulated_device.device(recorder, torch) as emulated, recorder.Recorder(path, self.model, sums=sums) as rec:
                    train(rec, self.model, 12)
                self.assertGreater(len(emulated.launches), 12)
                self.assertEqual(rows_of(path), self.expected(12, sums=sums))
                os.remove(self.path + ".host")

    def test_blocks_are_those_of_the_host(self):
        """Also where more wait on the device than may."""
        blocks = sys.modules[recorder.__name__ + "._counting.blocks"]
        options = {"blocks": "8,3x5", "axis": "both", "activations": "layers.1", "strict": True}
        self.expected(6, **options)
        expected = blocks_of(self.path + ".host")
        self.assertEqual(len(expected), 6 * 9)
        for most, path in ((blocks.WAITING, self.path), (0, self.path + ".waits")):
            self.model.load_state_dict(self.state)
            with mock.patch.object(blocks, "WAITING", most), emulated_device.device(recorder, torch):
                with recorder.Recorder(path, self.model, **options) as rec:
                    train(rec, self.model, 6, lambda i: self.assertEqual(len(rec._scope.blocks._waiting) > 0, most > 0))
            self.assertEqual(blocks_of(path), expected)

    def test_nothing_waits_and_the_next_step_finds_it_in_the_file(self):
        with emulated_device.device(recorder, torch) as emulated, recorder.Recorder(self.path, self.model) as rec:
            seen = []

            def before(i):
                if i == 6:
                    seen.append(len(rows_of(self.path)))
                    emulated.hold_back()
                if i == 7:
                    seen.append(len(rows_of(self.path)))
                    emulated.release()
                    seen.append(None)

            train(rec, self.model, 8, before)
            in_file = len(rows_of(self.path))
            self.assertIn(seen[0], (5, 6))
            self.assertEqual(seen[1:], [6, None])  # step() returned, and did not wait
            self.assertIn(in_file, (7, 8))
            rec.flush()
            self.assertEqual(len(rows_of(self.path)), 8)
        self.assertEqual(rows_of(self.path), self.expected(8))

    def test_steps_that_are_not_due_keep_the_promise(self):
        with emulated_device.device(recorder, torch), recorder.Recorder(self.path, self.model, every=2) as rec:
            train(rec, self.model, 8, lambda i: self.assertGreaterEqual(len(rows_of(self.path)), i // 2))

    def test_nothing_waits_without_a_loss(self):
        """Nor where a parameter has no gradient: what is taken is as in the step before."""
        self.model.layers[1].weight.requires_grad_(False)
        with emulated_device.device(recorder, torch) as emulated, recorder.Recorder(self.path, self.model) as rec:
            train(rec, self.model, 4)
            if recorder.Recorder.counting == "compiled":
                self.assertIsNotNone(rec._gradients.alike)
            emulated.hold_back()
            rec.step(4, loss_scale=1.0)  # would wait for ever
            emulated.release()
        self.assertEqual(len(rows_of(self.path)), 5)

    def test_numbers_are_as_they_were(self):
        """Whatever becomes of what they are read from."""
        with emulated_device.device(recorder, torch) as emulated, recorder.Recorder(self.path, self.model) as rec:
            train(rec, self.model, 3)
            for i, loss in enumerate((torch.tensor(1.0), np.array(1.0)), 3):
                emulated.hold_back()
                rec.step(i, loss_scale=1.0, loss=loss)
                loss.fill(99.0) if isinstance(loss, np.ndarray) else loss.fill_(99.0)
                emulated.release()
        self.assertEqual([row[1] for row in rows_of(self.path)][3:], [1.0, 1.0])
        held = sys.modules[recorder.__name__ + "._recorder.held"].held
        on_host = torch.tensor(4.0)
        of_host = held(on_host, True)
        on_host.fill_(8.0)
        self.assertEqual(of_host, 4.0)

    def test_a_recorder_that_is_dropped(self):
        before = threading.active_count()
        with emulated_device.device(recorder, torch) as emulated:
            rec = recorder.Recorder(self.path, self.model)
            train(rec, self.model, 3)
            emulated.hold_back()
            rec.step(3, loss_scale=1.0)
            threading.Timer(0.05, emulated.release).start()
            del rec
            for _ in range(1000):
                gc.collect()
                with sqlite3.connect(self.path) as db:
                    if db.execute("SELECT 1 FROM meta WHERE key='closed'").fetchone() and threading.active_count() == before:
                        break
                time.sleep(0.01)
            self.assertEqual(threading.active_count(), before)
        self.assertEqual(len(rows_of(self.path)), 4)

    def test_a_fork_waits_for_nothing(self):
        with emulated_device.device(recorder, torch) as emulated, recorder.Recorder(self.path, self.model) as rec:
            train(rec, self.model, 3)
            emulated.hold_back()
            rec.step(3, loss_scale=1.0)
            child = os.fork()
            if child == 0:
                rec.flush()
                os._exit(7)
            self.assertEqual(os.waitpid(child, 0)[1] >> 8, 7)
            emulated.release()
        self.assertEqual(len(rows_of(self.path)), 4)

    def test_without_threads(self):
        with emulated_device.device(recorder, torch), recorder.Recorder(self.path, self.model) as rec:
            with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
                train(rec, self.model, 4)
        self.assertEqual(len(rows_of(self.path)), 4)

    def test_strict_closes_what_failed(self):
        with emulated_device.device(recorder, torch):
            rec = recorder.Recorder(self.path, self.model, strict=True)
            train(rec, self.model, 3)
            rec.flush()
            rec._file.write = mock.Mock(side_effect=OSError("no space left"))
            rec.step(3, loss_scale=1.0)
            with self.assertRaisesRegex(OSError, "no space left"):
                rec.close()
        self.assertFalse(os.path.exists(self.path + "-wal"))

    def test_wait(self):
        with emulated_device.device(recorder, torch), recorder.Recorder(self.path, self.model, wait=True) as rec:
            train(rec, self.model, 6, lambda i: self.assertEqual(len(rows_of(self.path)), i))
            self.assertEqual(len(rows_of(self.path)), 6)

    def test_an_error_of_the_thread_is_said_by_the_next_step(self):
        with emulated_device.device(recorder, torch), recorder.Recorder(self.path, self.model) as rec:
            write, failing = rec._file.write, []

            def sometimes(*arguments):
                if arguments[0][0] in failing:
                    raise OSError("no space left")
                write(*arguments)

            rec._file.write = sometimes
            failing.append(4)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                train(rec, self.model, 7)
            texts = [str(w.message) for w in said if "ulpscope" in str(w.message)]
            self.assertEqual(len(texts), 1, texts)
            self.assertRegex(texts[0], "step 4: OSError: no space left")
        self.assertEqual([row[0] for row in rows_of(self.path)], [0, 1, 2, 3, 5, 6])

    def test_an_error_of_the_device_is_said_by_the_next_step(self):
        """Not raised by it."""
        with emulated_device.device(recorder, torch), recorder.Recorder(self.path, self.model) as rec:
            train(rec, self.model, 3)
            rec.step(3, loss_scale=1.0)
            with mock.patch.object(rec._writer._step, "arrive", side_effect=RuntimeError("the device reports error 700")):
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    rec.step(4, loss_scale=1.0)
            self.assertRegex(" ".join(str(w.message) for w in said), "step 3: RuntimeError: the device reports error 700")
        self.assertEqual([row[0] for row in rows_of(self.path)], [0, 1, 2, 4])

    def test_strict_raises_it(self):
        with emulated_device.device(recorder, torch):
            rec = recorder.Recorder(self.path, self.model, strict=True)
            train(rec, self.model, 3)
            rec.flush()
            rec._file.write = mock.Mock(side_effect=OSError("no space left"))
            rec.step(3, loss_scale=1.0)
            with self.assertRaisesRegex(OSError, "no space left"):
                rec.flush()
            rec.close()

    def test_little_memory(self):
        """Results go to the host one by one, and then torch's operations count: the bytes are the same."""
        for i, left in enumerate((1 << 12, 0)):
            path = f"{self.path}{i}"
            self.model.load_state_dict(self.state)
            with emulated_device.device(recorder, torch) as emulated, recorder.Recorder(path, self.model) as rec:
                train(rec, self.model, 8, lambda step: setattr(emulated, "memory_left", left if step > 3 else None))
            self.assertEqual(emulated.refusals, 4 if left else 8)
            self.assertEqual(len(emulated.launches), 2 * (8 if left else 4))
            self.assertEqual(rows_of(path), self.expected(8))
            os.remove(self.path + ".host")

    def test_no_memory_for_tables(self):
        """Costs the host none at each step."""
        with emulated_device.device(recorder, torch), mock.patch.object(counting, "pool", counting.Pool()) as pool:
            with mock.patch.object(counting, "tables_for", side_effect=counting.driver.OutOfMemory("tables")):
                with mock.patch.object(pool, "take", wraps=pool.take) as take:
                    values = np.ones(1 << 20, np.float32)
                    with self.assertRaises(counting.driver.OutOfMemory):
                        counting.start([(values.ctypes.data, len(values), types["float32"].number)], False, 0)
            take.assert_not_called()

    def test_a_driver_that_refuses(self):
        with emulated_device.device(recorder, torch) as emulated, recorder.Recorder(self.path, self.model) as rec:
            emulated.refuses = True
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                train(rec, self.model, 5)
            texts = [str(w.message) for w in said if "kernels" in str(w.message)]
            self.assertEqual(len(texts), 1, texts)
            self.assertIn("CUDA_ERROR_NO_BINARY_FOR_GPU", texts[0])
        self.assertEqual(rows_of(self.path), self.expected(5))

    def test_a_graph_that_is_captured_is_refused(self):
        with emulated_device.device(recorder, torch) as emulated, recorder.Recorder(self.path, self.model, blocks=8) as rec:
            train(rec, self.model, 3)
            emulated.capturing = True
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                rec.step(3, loss_scale=1.0)
            emulated.capturing = False
            self.assertRegex(" ".join(str(w.message) for w in said), "step 3: .*CUDA graph is being captured")
            rec.step(4, loss_scale=1.0)
        self.assertEqual([row[0] for row in rows_of(self.path)], [0, 1, 2, 4])

    def test_allocator_is_told(self):
        """Of every tensor that a kernel reads, as it may be freed as soon as step() returned."""
        told = []
        with emulated_device.device(recorder, torch) as emulated, recorder.Recorder(self.path, self.model) as rec:
            torch.Tensor.record_stream = lambda tensor, stream: told.append(tensor.data_ptr())
            train(rec, self.model, 4, lambda i: (told.clear(), emulated.used.clear()))
        self.assertEqual(len(set(told + emulated.used)), 8)


# Trains without end, and says of each step that its step() returned.
TRAINING = """
import sys
sys.path.insert(0, {tests!r})
import recorder_device_test as test
with test.emulated_device.device(test.recorder, test.torch):
    rec = test.recorder.Recorder({path!r}, test.Model())
    test.train(rec, rec._scope.model, 10**9, lambda i: print(i, flush=True))
"""


class Kill(unittest.TestCase):
    def test_no_more_than_the_last_step_is_lost(self):
        rng = np.random.default_rng(11)
        for number in range(int(os.environ.get("ULP_KILLS", 3))):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "run.ulp")
                code = TRAINING.format(tests=os.path.dirname(os.path.abspath(__file__)), path=path)
                job = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE)
                steps = int(rng.integers(3, 60))
                while int(job.stdout.readline()) < steps:  # so many are behind it
                    pass
                time.sleep(float(rng.random()) * 0.01)
                job.kill()
                rest = job.stdout.read().split()
                job.wait()
                job.stdout.close()
                begun = int(rest[-1]) if rest else steps  # its step() may have returned, that of the one before has
                in_file = [row[0] for row in rows_of(path)]
                self.assertEqual(in_file, list(range(len(in_file))))
                self.assertGreaterEqual(len(in_file), begun - 1, f"kill {number}: steps before {begun} were behind it")
                if support.ULP:
                    checked = subprocess.run([support.ULP, "check", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                    self.assertEqual(checked.returncode, 0, checked.stdout)


if __name__ == "__main__":
    unittest.main()
