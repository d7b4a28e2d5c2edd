"""Pins that nothing recorded is lost: kills at any moment, full disks, names that are taken, readers in between,
forks; and that training goes on whatever happens to the recording."""

import contextlib
import math
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
from unittest import mock

import support

support.need("numpy")

import numpy as np  # noqa: E402

recorder = support.load()

# Says each step once its call returned.
JOB = """
import os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from ulpscope import Recorder
draw = np.random.default_rng(0).standard_normal((40, 3000)).astype(np.float32)
rec = Recorder(sys.argv[2])
step = 0
while True:
    rec.step(step, loss=step, grads={f"wgrad/{i}": draw[i] * np.float32(step + 1) for i in range(40)})
    os.write(1, b"%d\\n" % step)
    step += 1
"""


def steps_of(path):
    with sqlite3.connect(path) as db:
        intact = db.execute("PRAGMA integrity_check").fetchall()
        steps = [row[0] for row in db.execute("SELECT step FROM step ORDER BY step")]
        totals = [row[0] for row in db.execute("SELECT DISTINCT step FROM total ORDER BY step")]
    db.close()
    assert intact == [("ok",)] and steps == totals, (intact, steps, totals)
    return steps


def killed(job, path, seconds):
    """The steps of a job's recording that is killed so long after its first step, and the number of those it reported."""
    process = subprocess.Popen(
        [sys.executable, "-c", job, support.PACKAGES, path], stdout=subprocess.PIPE
    )
    first = process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    reported = (first + process.stdout.read()).split()
    process.wait()
    process.stdout.close()
    summary = support.ulp("info", path) if support.ULP else None  # with the log that was left beside it
    if support.ULP:
        support.check(path)
    steps = steps_of(path)
    assert steps == list(range(len(steps))), steps
    assert summary is None or f"steps        {len(steps):,}: 0 to {len(steps) - 1}\n" in summary, summary
    return steps, len(reported)


class Kills(support.InFolder):
    def test_at_fifty_moments(self):
        """kill -9: every step that was reported is there, whole, and the program reads it."""
        draw = random.Random(1)
        for i in range(50):
            steps, reported = killed(JOB, self.path(f"{i}.ulp"), draw.uniform(0, 0.2))
            self.assertGreaterEqual(len(steps), reported - 1)  # half of a report is none

    def test_killed_and_continued(self):
        """From a checkpoint: steps that are there are kept, the new ones are further attempts at them."""
        path = self.path("a.ulp")
        last = killed(JOB, path, 0.1)[0][-1]
        for attempt in (1, 2):
            with recorder.Recorder(path, append=True, strict=True) as rec:
                for step in range(last, last + 2):
                    for microbatch in (0, -1):
                        rec.step(step, microbatch=microbatch, grads={"wgrad/0": np.float32([1])})
                with self.assertRaisesRegex(recorder.RecorderError, f"step {last} attempt {attempt}: is in"):
                    rec.step(last, grads={"wgrad/0": np.float32([1])})
        with sqlite3.connect(path) as db:
            rows = db.execute(f"SELECT step, attempt, microbatch FROM step WHERE step>={last} ORDER BY rowid").fetchall()
        db.close()
        again = [(step, attempt, microbatch) for attempt in (1, 2) for step in (last, last + 1) for microbatch in (0, -1)]
        again = [(step, attempt - (step > last), microbatch) for step, attempt, microbatch in again]
        self.assertEqual(rows, [(last, 0, -1), *again])
        self.assertEqual(os.listdir(self.folder), ["a.ulp"])
        if support.ULP:
            support.ulp("info", path)

    def test_killed_while_it_begins(self):
        """Half a beginning is none, and what comes takes its place."""
        for statements in (["page_size=8192", "journal_mode=WAL"], []):
            path = self.path(f"{len(statements)}.ulp")
            with sqlite3.connect(path) as db:
                for statement in statements:
                    db.execute("PRAGMA " + statement)
            db.close()
            with recorder.Recorder(path, append=True) as rec:
                rec.step(0, grads={"x": np.float32([1])})
            self.assertEqual(steps_of(path), [0])
            if support.ULP:
                support.ulp("info", path)


def small_disk():
    """A file system of 600 kB, or None where none can be mounted."""
    folder = tempfile.mkdtemp()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", folder], capture_output=True)
    if mounted.returncode == 0:
        return folder
    os.rmdir(folder)
    return None


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.disk = small_disk()
        if self.disk is None:
            self.skipTest("mounting a small file system is not allowed here")
        self.addCleanup(lambda: (subprocess.run(["umount", self.disk], check=True), os.rmdir(self.disk)))

    def fill(self, rec):
        draw = np.random.default_rng(0)
        for step in range(100000):
            rec.step(step, grads={f"{step % 7}{i}": draw.standard_normal(2000).astype(np.float32) for i in range(5)})

    def test_error_and_intact(self):
        path = os.path.join(self.disk, "run.ulp")
        rec = recorder.Recorder(path, strict=True)
        self.addCleanup(rec.close)
        message = (
            f"^{re.escape(path)}: step ([0-9]+): database or disk is full: it is not recorded, the steps before it are$"
        )
        with self.assertRaisesRegex(recorder.RecorderError, message) as caught:
            self.fill(rec)
        failed = int(re.search("step ([0-9]+)", str(caught.exception)).group(1))
        self.assertGreater(failed, 3)
        if support.ULP:
            self.assertIn(f"0 to {failed - 1}", support.ulp("info", path))
        with self.assertRaises(recorder.RecorderError):
            rec.step(failed, grads={"x": np.random.default_rng(0).standard_normal(100000).astype(np.float32)})
        rec.close()
        self.assertEqual(steps_of(path), list(range(failed)))
        if support.ULP:
            self.assertIn(f"0 to {failed - 1}", support.ulp("info", path))

    def test_goes_on_when_there_is_room_again(self):
        path, filler = (os.path.join(self.disk, name) for name in ("run.ulp", "filler"))
        with open(filler, "wb") as file:
            file.write(bytes(300_000))
        rec = recorder.Recorder(path, strict=True)
        self.addCleanup(rec.close)
        with self.assertRaises(recorder.RecorderError):
            self.fill(rec)
        before = steps_of(path)
        os.remove(filler)
        rec.step(1000, grads={"new": np.float32([1])})
        rec.close()
        self.assertEqual(steps_of(path), before + [1000])
        self.assertEqual(os.listdir(self.disk), ["run.ulp"])

    def test_no_room_to_begin(self):
        with open(os.path.join(self.disk, "filler"), "wb") as file:
            with self.assertRaises(OSError):
                file.write(bytes(700_000))
                file.flush()
        with self.assertRaisesRegex(recorder.RecorderError, "run.ulp: "):
            recorder.Recorder(os.path.join(self.disk, "run.ulp"))
        self.assertEqual(os.listdir(self.disk), ["filler"])


# Trains on while its files may not grow beyond 300 kB.
LIMITED = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from ulpscope import Recorder
rec = Recorder(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
draw = np.random.default_rng(0)
for step in range(400):
    rec.step(step, grads={f"{i}": draw.standard_normal(2000).astype(np.float32) for i in range(5)})
print("trained")
"""


class FileSizeLimit(support.InFolder):
    def test_training_goes_on(self):
        path = self.path("run.ulp")
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, support.PACKAGES, path], capture_output=True, text=True
        )
        self.assertEqual((done.returncode, done.stdout), (0, "trained\n"))
        said = re.findall("RuntimeWarning: ulpscope: (.*)", done.stderr)
        self.assertEqual(len(said), 10)
        self.assertRegex(said[0], f"^{path}: step [0-9]+: .*: it is not recorded, the steps before it are$")
        self.assertRegex(said[9], "the steps before it are; this is the tenth failure in a row: recording stops$")
        first = int(re.search("step ([0-9]+)", said[0]).group(1))
        self.assertGreater(first, 3)
        self.assertEqual(steps_of(path), list(range(first)))
        if support.ULP:
            self.assertIn(f"0 to {first - 1}", support.ulp("info", path))


class TrainingGoesOn(support.InFolder):
    """What step() cannot record it leaves out, and says so."""

    def said(self, call):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        return [str(w.message) for w in caught]

    def test_options_that_are_on_or_off(self):
        for name in ("sums", "append", "shards", "local", "wait", "strict"):
            for value in (2, "False", [True]):
                with self.assertRaisesRegex(recorder.RecorderError, f"{name}: .* is not True or False"):
                    recorder.Recorder(self.path("a.ulp"), **{name: value})
        self.assertEqual(os.listdir(self.folder), [])

    def test_mistakes_and_errors(self):
        path = self.path("a.ulp")
        with recorder.Recorder(path) as rec:
            grads = {"x": np.float32([1])}
            self.assertEqual(self.said(lambda: rec.step(0, grads=grads)), [])
            start = f"ulpscope: {path}: step "
            for call, text in (
                (lambda: rec.step(0, grads=grads), "0: is in the recording already: each call needs a step, attempt or"),
                (lambda: rec.step(1, grads={"x": np.int32([1])}), "1: tensor 'x': int32 cannot be recorded"),
                (lambda: rec.step(2, loss="high", grads=grads), "2: loss='high': is not a number"),
                (lambda: rec.step(2**63 - 1, grads=grads), f"{2**63 - 1}: is outside the range of step numbers"),
                (lambda: rec.step("two", grads=grads), "two: ValueError: invalid literal for int()"),
            ):
                [said] = self.said(call)
                self.assertTrue(said.startswith(start + text), said)
            rec.step(3, grads=grads)
        self.assertEqual(steps_of(path), [0, 3])

    def test_a_tensor_that_cannot_be_recorded(self):
        """It is left out of every step and told of once; the others are recorded."""
        path, good = self.path("a.ulp"), {"x": np.float32([1])}
        with recorder.Recorder(path) as rec:
            for step, (name, array, text) in enumerate((
                ("i", np.int8([1]), "tensor 'i': int8 cannot be recorded"),
                ("n" * 1025, np.float32([1]), "longer than 1024 bytes, or not printable"),
                ("a\nb", np.float32([1]), r"the tensor name 'a\nb': longer than"),
                ("\ud800", np.float32([1]), r"the tensor name '\ud800': longer than"),
                (3, np.float32([1]), "the tensor name 3: is not a text"),
                ("ragged", [[1.0], [1.0, 2.0]], "tensor 'ragged': "),
            )):  # fmt: skip
                [said] = self.said(lambda: rec.step(2 * step, grads={name: array, **good}))
                self.assertTrue(said.startswith(f"ulpscope: {path}: step {2 * step}: "), said)
                self.assertIn(text, said)
                self.assertRegex(said, ": it is left out of this and all later steps$")
                self.assertTrue(said.isprintable())
                self.assertEqual(self.said(lambda: rec.step(2 * step + 1, grads={name: array, **good})), [])
            [said] = self.said(lambda: rec.step(20, grads={"j": np.int8([1]), "k": np.int8([1]), **good}))
            self.assertRegex(said, "'j': int8 cannot .*; so is 'k'$")
        content = support.content(path)
        self.assertEqual([row[1] for row in content["tensor"]], ["x"])
        self.assertEqual([row[0] for row in content["step"]], [*range(12), 20])

    def test_loss_scales_that_cannot_be(self):
        with recorder.Recorder(self.path("a.ulp")) as rec:
            for scale in (0, -2.0, float("nan"), -float("inf")):
                [said] = self.said(lambda: rec.step(0, loss_scale=scale, grads={"x": np.float32([1])}))
                self.assertIn(f"step 0: loss_scale={float(scale)}: must be above 0: pass what the loss was", said)
            rec.step(1, loss_scale=2, grads={"x": np.float32([1])})
        self.assertEqual(steps_of(self.path("a.ulp")), [1])

    def test_after_close(self):
        path = self.path("a.ulp")
        grads = {"x": np.float32([1])}
        for strict in (False, True):
            with recorder.Recorder(path, append=True, strict=strict) as rec:
                rec.step(int(strict), grads=grads)
            rec.close()
            if strict:
                self.assertRaisesRegex(recorder.RecorderError, "comes after close", rec.step, 5, grads=grads)
            else:
                [said] = self.said(lambda: [rec.step(5, grads=grads), rec.step(6, grads=grads)])
                self.assertEqual(said, "ulpscope: step 5: comes after close(): this and later steps are not recorded")
        self.assertEqual(steps_of(path), [0, 1])

    def test_lost_file(self):
        rec = recorder.Recorder(self.path("a.ulp"))
        rec.step(0, grads={"x": np.float32([1])})
        rec._file.db.close()
        said = self.said(lambda: [rec.step(i, grads={"x": np.float32([1])}) for i in range(1, 20)])
        self.assertEqual(len(said), 10)
        rec.close()
        self.assertEqual(steps_of(self.path("a.ulp")), [0])

    def test_files_that_are_removed_or_replaced(self):
        for what in (os.remove, lambda file: os.rename(file, file + ".old"), lambda file: shutil.copy(file, file + "2")):
            rec = recorder.Recorder(self.path("a.ulp"))
            rec.step(0, grads={"x": np.float32([1])})
            what(self.path("a.ulp"))
            if os.path.exists(self.path("a.ulp2")):
                os.replace(self.path("a.ulp2"), self.path("a.ulp"))
            for said in self.said(lambda: rec.step(1, grads={"x": np.float32([1])})), self.said(rec.close):
                self.assertEqual(len(said), 1)
                self.assertIn("was moved, removed or replaced", said[0])
            for name in os.listdir(self.folder):
                os.remove(self.path(name))
        with self.assertRaisesRegex(recorder.RecorderError, "removed"), recorder.Recorder(self.path("a.ulp"), strict=True):
            os.remove(self.path("a.ulp"))

    def test_names_are_printable(self):
        with self.assertRaises(recorder.RecorderError) as refused:
            recorder.Recorder(self.path("no\x1b[31m\u202e/x.ulp"))
        self.assertTrue(str(refused.exception).isprintable())

    def test_interrupts_pass(self):
        with recorder.Recorder(self.path("a.ulp")) as rec:
            with mock.patch.object(recorder, "tables_of", side_effect=KeyboardInterrupt):
                with self.assertRaises(KeyboardInterrupt):
                    rec.step(0, grads={"x": np.float32([1])})
            rec.step(0, grads={"x": np.float32([2])})
        self.assertEqual(steps_of(self.path("a.ulp")), [0])


class Forks(support.InFolder):
    def test_of_a_job(self):
        """A fork, as of a data loader, neither records nor closes; its end leaves the recording alone."""
        path = self.path("a.ulp")
        code = """
import os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from ulpscope import Recorder
rec = Recorder(sys.argv[2])
grads = {"x": np.float32([1, 2])}
for step in range(20):
    rec.step(step, grads=grads)
    child = os.fork()
    if child == 0:
        if step % 2:
            rec.step(1000, grads=grads)
            rec.close()
        sys.exit()
    assert os.waitpid(child, 0)[1] == 0
"""
        command = [sys.executable, "-c", code, support.PACKAGES, path]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("only the process that opened the recording can write to it"), 10)
        self.assertEqual(steps_of(path), list(range(20)))
        self.assertEqual(os.listdir(self.folder), ["a.ulp"])


class NetworkFileSystems(support.InFolder):
    def test_are_found(self):
        mounts = (
            "/dev/sda1 / ext4 rw 0 0\nproc /proc proc rw 0 0\nhost:/x /home nfs4 rw 0 0\ntmpfs /home/me/tmp tmpfs rw 0 0\n"
            "sshfs#h: /mnt/two\\040words fuse.sshfs rw 0 0\n10.0.0.1@tcp:/l /lustre lustre rw 0 0\n"
        )
        with mock.patch.object(recorder, "open", mock.mock_open(read_data=mounts), create=True):
            for path, found in (
                ("/home/me/run.ulp", True), ("/home/me/tmp/run.ulp", False), ("/homes/run.ulp", False), ("/run.ulp", False),
                ("/mnt/two words/run.ulp", True), ("/lustre/a/b.ulp", True),
            ):  # fmt: skip
                self.assertIs(recorder.on_network(path), found, path)
        with mock.patch.object(recorder, "open", side_effect=OSError, create=True):  # not Linux
            self.assertIs(recorder.on_network("/home/run.ulp"), False)

    def test_have_no_log(self):
        with mock.patch.object(recorder, "on_network", lambda path: True):
            rec = recorder.Recorder(self.path("a.ulp"))
            for step in range(3):
                rec.step(step, grads={"x": np.float32([1, 2])})
                self.assertEqual(sorted(os.listdir(self.folder)), ["a.ulp", "a.ulp-journal"])
                self.assertEqual(steps_of(self.path("a.ulp")), list(range(step + 1)))  # others read meanwhile
                if support.ULP:
                    support.ulp("info", self.path("a.ulp"))
            rec.close()
        self.assertEqual(os.listdir(self.folder), ["a.ulp"])

    def test_killed(self):
        job = JOB.replace("rec = Rec", "import ulpscope._file.recording\nulpscope._file.recording.on_network = lambda path: True\nrec = Rec")
        draw = random.Random(2)
        for i in range(5):
            path = self.path(f"{i}.ulp")
            steps, reported = killed(job, path, draw.uniform(0, 0.2))
            self.assertGreaterEqual(len(steps), reported - 1)


class Names(support.InFolder):
    def check(self, message, path, **options):
        with self.assertRaisesRegex(recorder.RecorderError, message):
            recorder.Recorder(path, **options)

    def test_taken(self):
        path = self.path("a.ulp")
        recorder.Recorder(path).close()
        with open(path, "rb") as file:
            before = file.read()
        self.check("a.ulp: already exists: give another name, remove it, or add to it with append=True", path)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_no_recording(self):
        for name, octets in (("text", b"hello" * 1000), ("empty.db", None)):
            with open(self.path(name), "wb") as file:
                file.write(octets or b"")
            if octets is None:
                with sqlite3.connect(self.path(name)) as db:
                    db.execute("CREATE TABLE t(x)")
                db.close()
            self.check(
                f"{name}: (file is not a database|is not a recording of version 2: give another name)",
                self.path(name),
                append=True,
            )

    def test_views_and_triggers(self):
        path = self.path("a.ulp")
        for statement in ("CREATE VIEW v AS SELECT 1", "CREATE TRIGGER t AFTER INSERT ON step BEGIN DELETE FROM meta; END"):
            recorder.Recorder(path).close()
            with sqlite3.connect(path) as db:
                db.execute(statement)
            db.close()
            self.check("a.ulp: is not a recording of version 2: give another name", path, append=True)
            os.remove(path)

    def test_two_at_once(self):
        """Of processes that take the same name one gets it."""
        code = "import sys; sys.path.insert(0, sys.argv[1])\nfrom ulpscope import Recorder\nimport numpy as np\n"
        code += "sys.stdin.readline()\nwith Recorder(sys.argv[2]) as rec: rec.step(0, grads={'x': np.float32([1])})\n"
        command = [sys.executable, "-c", code, support.PACKAGES, self.path("a.ulp")]
        jobs = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)
        ]
        time.sleep(1)
        for job in jobs:
            job.stdin.write("\n")
            job.stdin.flush()
        said = [job.communicate()[1] for job in jobs]
        self.assertEqual(sorted(job.returncode for job in jobs), [0, 1, 1, 1], said)
        self.assertEqual(sum("already exists" in text for text in said), 3, said)
        self.assertEqual(steps_of(self.path("a.ulp")), [0])

    def test_no_folder(self):
        self.check(
            "a.ulp: No such file or directory: does its folder exist, and is it writable?", self.path("none/a.ulp")
        )
        self.assertEqual(os.listdir(self.folder), [])

    def test_too_many_open_files(self):
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        opened = []
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 20, limits[1]))
            with contextlib.suppress(OSError):
                while True:
                    opened.append(open(os.devnull))
            for _ in range(2):  # the lock cannot be opened, then SQLite's file
                with self.assertRaisesRegex(recorder.RecorderError, "too many files are open in this process"):
                    recorder.Recorder(self.path("a.ulp"))
                opened.pop().close()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            for file in opened:
                file.close()

    def test_special_names(self):
        """SQLite has no special ones here."""
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        recorder.Recorder(":memory:").close()
        recorder.Recorder("file:x?mode=ro").close()
        self.assertEqual(sorted(os.listdir(".")), [":memory:", "file:x?mode=ro"])

    def test_a_step_twice(self):
        with recorder.Recorder(self.path("a.ulp"), strict=True) as rec:
            rec.step(7, grads={"x": np.float32([1])})
            with self.assertRaisesRegex(
                recorder.RecorderError, "a.ulp: step 7: is in the recording already: each call needs"
            ):
                rec.step(7, grads={"y": np.float32([1])})
            with self.assertRaisesRegex(recorder.RecorderError, "step 7 microbatch 2: is in"):
                for _ in range(2):
                    rec.step(7, microbatch=2, grads={"x": np.float32([1])})
            rec.step(7, attempt=1, grads={"z": np.float32([1])})
        content = support.content(self.path("a.ulp"))
        self.assertEqual([row[1] for row in content["tensor"]], ["x", "z"])  # nothing of the refused steps

    def test_read_while_written(self):
        rec = recorder.Recorder(self.path("a.ulp"))
        for step in range(3):
            rec.step(step, grads={"x": np.float32([1, 2])})
            self.assertEqual(steps_of(self.path("a.ulp")), list(range(step + 1)))
            self.assertIn(f"0 to {step}" if step else "0 to 0", support.ulp("info", self.path("a.ulp")))
        reader = sqlite3.connect(self.path("a.ulp"))
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM step").fetchall()
        rec.step(3, grads={"x": np.float32([1, 2])})
        rec.close()  # the log stays for who reads
        reader.close()
        self.assertEqual(steps_of(self.path("a.ulp")), [0, 1, 2, 3])

    def test_closed_at_exit(self):
        code = "import sys; sys.path.insert(0, sys.argv[1])\nimport numpy as np\nfrom ulpscope import Recorder\n"
        code += "rec = Recorder(sys.argv[2])\nfor i in range(64): rec.step(i, grads={'x': np.float32([1])})\n"
        subprocess.run([sys.executable, "-c", code, support.PACKAGES, self.path("a.ulp")], check=True)
        self.assertEqual(os.listdir(self.folder), ["a.ulp"])
        self.assertEqual(len(support.content(self.path("a.ulp"))["level"]), 1)


EXTRA = """CREATE TABLE extra(
  step INTEGER NOT NULL, attempt INTEGER NOT NULL, microbatch INTEGER NOT NULL, tensor INTEGER NOT NULL,
  name TEXT NOT NULL, content BLOB NOT NULL, crc BLOB NOT NULL,
  PRIMARY KEY(step, attempt, microbatch, tensor, name)) WITHOUT ROWID"""


class OtherPeoplesFiles(support.InFolder):
    """What lies beside a recording, or in it, does no harm to who appends."""

    def setUp(self):
        super().setUp()
        self.file = self.path("a.ulp")
        with recorder.Recorder(self.file) as rec:
            rec.step(0, grads={"x": np.float32([1, 2])})

    def refused(self, reason):
        before = {name: open(self.path(name), "rb").read() for name in os.listdir(self.folder)}
        with self.assertRaisesRegex(recorder.RecorderError, reason):
            recorder.Recorder(self.file, append=True)
        after = {name: open(self.path(name), "rb").read() for name in os.listdir(self.folder)}
        self.assertEqual(before, after)

    def hot_journal(self):
        """As a writer leaves it that is killed within a transaction."""
        code = (
            "import os, sqlite3, sys\n"
            "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
            "db.execute('PRAGMA cache_size=1')\n"
            "db.execute('BEGIN IMMEDIATE')\n"
            "for i in range(50): db.execute('INSERT INTO meta VALUES(?, hex(zeroblob(20000)), ?)', (str(i), b''))\n"
            "os.kill(os.getpid(), 9)\n"
        )
        subprocess.run([sys.executable, "-c", code, self.file])
        self.assertGreater(os.path.getsize(self.file + "-journal"), 0)

    def test_super_journals_delete_nothing(self):
        victim = self.path("thesis.tex")
        with open(victim, "w") as file:
            file.write("years of work")
        self.hot_journal()
        name = victim.encode()
        with open(self.file + "-journal", "ab") as journal:
            journal.write(struct.pack(">I", 0x40000000 // 8192 + 1) + name + struct.pack(">II", len(name), sum(name)))
            journal.write(bytes.fromhex("d9d505f920a163d7"))
        self.refused("a.ulp-journal tells SQLite to delete another file")
        # The attack is one.
        sqlite3.connect(self.file).execute("SELECT * FROM meta").fetchall()
        self.assertFalse(os.path.exists(victim))

    def test_a_journal_of_its_own_is_played_back(self):
        self.hot_journal()
        with recorder.Recorder(self.file, append=True) as rec:
            rec.step(1, grads={"x": np.float32([1, 2])})
        self.assertEqual(steps_of(self.file), [0, 1])
        self.assertEqual(os.listdir(self.folder), ["a.ulp"])

    def test_links_and_what_is_left_of_others(self):
        with open(self.path("victim"), "wb") as file:
            file.write(b"x")
        for suffix in ("-wal", "-journal", "-shm"):
            os.symlink(self.path("victim"), self.file + suffix)
            self.refused(f"a.ulp{suffix} is not a regular file")
            os.remove(self.file + suffix)
            os.link(self.file, self.file + suffix)
            self.refused(f"a.ulp{suffix} has a second name")
            os.remove(self.file + suffix)
            with open(self.path("new.ulp") + suffix, "w"):
                pass
            with self.assertRaisesRegex(recorder.RecorderError, f"new.ulp{suffix} exists without the recording"):
                recorder.Recorder(self.path("new.ulp"))
            self.assertFalse(os.path.exists(self.path("new.ulp")))
            os.remove(self.path("new.ulp") + suffix)

    def test_of_other_users(self):
        if not hasattr(os, "geteuid") or os.geteuid() != 0:
            self.skipTest("only the superuser gives files away")
        for suffix in ("-wal", "-journal", "-shm"):
            with open(self.file + suffix, "wb") as file:
                file.write(b"x" * 40)
            os.chown(self.file + suffix, 12345, 12345)
            self.refused(f"a.ulp{suffix} belongs to another user")
            os.remove(self.file + suffix)

    def test_schemas_that_are_not_ours(self):
        for statement in (
            "CREATE TABLE notes(x)",
            "CREATE INDEX e ON step(abs(step))",
            "ALTER TABLE step ADD COLUMN more INTEGER",
            "DROP TABLE level",
            "CREATE TRIGGER t AFTER INSERT ON step BEGIN DELETE FROM meta; END",
        ):
            with open(self.file, "rb") as file:
                whole = file.read()
            with sqlite3.connect(self.file) as db:
                db.execute(statement)
            db.close()
            self.refused("is not a recording of version 2")
            with open(self.file, "wb") as file:
                file.write(whole)

    def test_extra_may_be_there(self):
        for made in (True, False):
            path = self.path(f"{made}.ulp")
            recorder.Recorder(path).close()
            with sqlite3.connect(path) as db:
                tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
                self.assertEqual(tables, ["meta", "tensor", "step", "total", "level", "level_total"])
                if made:
                    db.execute(EXTRA)
            db.close()
            with recorder.Recorder(path, append=True) as rec:
                rec.step(0, grads={"x": np.float32([1])})
            support.check(path)

    def test_version_1_is_not_appended_to(self):
        shutil.copy(os.path.join(support.SOURCE, "tests/data/format1/recorder.ulp"), self.file)
        self.refused("version 1, without checksums.*ulp merge OLD -o NEW")
        if support.ULP:
            support.ulp("merge", self.file, "-o", self.path("b.ulp"))
            with recorder.Recorder(self.path("b.ulp"), append=True) as rec:
                rec.step(70, grads={"y": np.float32([1])})
            support.check(self.path("b.ulp"))

    def test_the_second_writer_is_refused_at_once(self):
        with recorder.Recorder(self.file, append=True) as rec:
            with self.assertRaisesRegex(recorder.RecorderError, "is being written by this process"):
                recorder.Recorder(self.file, append=True)
            code = "import sys; sys.path.insert(0, sys.argv[1])\nfrom ulpscope import Recorder\n"
            code += "Recorder(sys.argv[2], append=True)\n"
            command = [sys.executable, "-c", code, support.PACKAGES, self.file]
            begun = time.monotonic()
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertIn("is being written by another process", done.stderr)
            self.assertLess(time.monotonic() - begun, 30)
            if support.ULP:
                dump = os.path.join(support.SOURCE, "examples/digits.step00100.safetensors")
                support.ulp("record", dump, "--append", "-o", self.file, code=2)
            for step in range(1, 4):
                rec.step(step, grads={"x": np.float32([1, 2])})
        self.assertEqual(steps_of(self.file), [0, 1, 2, 3])
        self.assertEqual(os.listdir(self.folder), ["a.ulp"])

    def test_readers_do_not_stop_a_writer(self):
        if not support.ULP:
            self.skipTest("the program ulp is not there")
        grads = {f"layer.{i}": np.float32([1, 2]) for i in range(300)}
        with recorder.Recorder(self.file, append=True, strict=True) as rec:
            readers = []
            for step in range(1, 60):
                reader = [support.ULP, "info", self.file]
                readers.append(subprocess.Popen(reader, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
                rec.step(step, grads=grads)
            said = [reader.communicate()[1] for reader in readers if reader.wait() != 0]
        self.assertEqual(said, [])
        self.assertEqual(steps_of(self.file), list(range(60)))
        support.check(self.file)

    def test_checksums_are_those_of_the_document(self):
        os.remove(self.file)
        with recorder.Recorder(self.file) as rec:
            for step in range(70):
                rec.step(step, loss=-0.0 if step == 3 else math.nan, lr=3, found_inf=True, grads={"é": np.float32([step])})
        with sqlite3.connect(self.file) as db:
            for table in support.CHECKSUMS:
                rows = db.execute(f"SELECT * FROM {table}").fetchall()
                self.assertTrue(rows, table)
                for *row, crc in rows:
                    self.assertEqual(crc, support.checksums(table, [x + 0.0 if x == 0 and type(x) is float else x for x in row]))
        db.close()


NO_LOG = "import sys; sys.path.insert(0, sys.argv[1])\nimport ulpscope._file.recording\n"
NO_LOG += "ulpscope._file.recording.on_network = lambda path: True\n"
# Steps up to a number, and then a kill: after the last, `within` the next one, when part of it is in the file already,
# or in its `commit`, when the file becomes longer.
ENDING = """
import os, resource, signal, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from ulpscope import Recorder
draw = np.random.default_rng(0).standard_normal((40, 3000)).astype(np.float32)
begin, end, how = int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
def kill_beyond(size):
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
if how == "create":
    kill_beyond(3 * 8192)
rec = Recorder(sys.argv[2], append=True)
for step in range(begin, end):
    rec.step(step, grads={f"wgrad/{i}": draw[i] * np.float32(step + 1) for i in range(40)})
if how == "within":
    rec._file.db.execute("PRAGMA cache_size=1")
    file = sys.modules["ulpscope._file.recording"]
    insert = file.insert_row
    file.insert_row = lambda db, table, *parts: os.kill(os.getpid(), 9) if table == "total" else insert(db, table, *parts)
if how == "commit":
    kill_beyond(os.path.getsize(sys.argv[2]) + 8192)
if how != "after":
    rec.step(end, grads={f"wgrad/{i}": draw[i % 40] for i in range(400)})
os.kill(os.getpid(), 9)
"""


class WhatIsBesideIsItsOwn(support.InFolder):
    """A log or journal is taken in where it is of the recording as it is, and refused else: nothing is lost by it."""

    def killed(self, name, begin, end, how="after", log=True):
        job = ENDING if log else NO_LOG + ENDING
        command = [sys.executable, "-c", job, support.PACKAGES, self.path(name)]
        done = subprocess.run([*command, *map(str, (begin, end, how))], capture_output=True, text=True)
        signals = -signal.SIGKILL if how in ("after", "within") else -signal.SIGXFSZ
        self.assertEqual(done.returncode, signals, done.stderr)
        return self.path(name)

    def appended(self, name, step):
        """A step more, and the steps that are there then."""
        with recorder.Recorder(self.path(name), append=True) as rec:
            rec.step(step, grads={"x": np.float32([1])})
        support.check(self.path(name))
        return steps_of(self.path(name))

    def refused(self, name, reason):
        def files():
            return {name: open(self.path(name), "rb").read() for name in os.listdir(self.folder)}

        before = files()
        with self.assertRaisesRegex(recorder.RecorderError, name + reason):
            recorder.Recorder(self.path(name), append=True)
        self.assertEqual(before, files())

    def test_journals_of_kills(self):
        for how in ("within", "commit"):
            name = f"{how}.ulp"
            file = self.killed(name, 0, 20, how, log=False)
            self.assertGreater(os.path.getsize(file + "-journal"), 16_000)
            self.assertEqual(self.appended(name, 20), list(range(21)))
            self.killed(name, 21, 25, how, log=False)  # appended to, and killed again
            self.assertEqual(self.appended(name, 25), list(range(26)))
        self.assertEqual(sorted(os.listdir(self.folder)), ["commit.ulp", "within.ulp"])

    def test_journals_of_others(self):
        """With the same tensors and steps, as those of other ranks are."""
        for how in ("within", "commit"):
            a, b, c = (self.killed(how + name, 0, 20, how, log=False) for name in "abc")
            os.rename(a + "-journal", self.path("own"))
            os.rename(b + "-journal", a + "-journal")
            self.refused(how + "a", "-journal belongs to another recording or is outdated, and would remove steps: move it away")
            os.rename(self.path("own"), a + "-journal")
            self.assertEqual(self.appended(how + "a", 20), list(range(21)))
            os.rename(c + "-journal", a + "-journal")  # beside a recording that is whole
            self.refused(how + "a", "-journal belongs to another")

    def test_journals_of_before(self):
        for how in ("within", "commit"):
            file = self.killed(how, 0, 20, how, log=False)
            shutil.copy(file + "-journal", self.path("kept"))
            self.assertEqual(self.appended(how, 20), list(range(21)))
            os.rename(self.path("kept"), file + "-journal")
            self.refused(how, "-journal belongs to another")

    def test_journals_that_cannot_be_copied(self):
        self.killed("a.ulp", 0, 3, "within", log=False)
        with mock.patch.object(recorder.shutil, "copyfile", side_effect=OSError(28, "No space left on device")):
            self.refused("a.ulp", ": must be copied to look at its -journal, which fails: No space left on device: let")
        self.assertEqual(self.appended("a.ulp", 3), [0, 1, 2, 3])

    def test_journals_of_a_beginning(self):
        """What was killed while it was made is made anew; the journal of that takes no steps of another."""
        job = "import os, sys; sys.path.insert(0, sys.argv[1])\nfrom ulpscope import Recorder\nfrom ulpscope._file.database import Database\n"
        job += "Database.bind = lambda db: os.kill(os.getpid(), 9)\nRecorder(sys.argv[2], append=True)\n"
        empty = self.path("empty.ulp")
        subprocess.run([sys.executable, "-c", job, support.PACKAGES, empty])
        self.assertEqual([os.path.getsize(empty), os.path.getsize(empty + "-journal")], [0, 512])
        self.assertEqual(self.appended("empty.ulp", 7), [7])
        self.assertEqual(os.path.getsize(self.killed("b.ulp", 0, 0, "create")), 3 * 8192)
        with recorder.Recorder(self.path("a.ulp")) as rec:
            rec.step(0, grads={"x": np.float32([1])})
        self.killed("c.ulp", 0, 20, "commit", log=False)
        for name in ("a.ulp", "c.ulp"):
            shutil.copy(self.path("b.ulp-journal"), self.path(name + "-journal"))
            self.refused(name, "-journal belongs to another")
        self.assertEqual(self.appended("b.ulp", 7), [7])

    def test_logs_of_kills(self):
        file = self.killed("a.ulp", 0, 300)  # longer than what is copied of it
        self.assertGreater(os.path.getsize(file), 2_000_000)
        self.assertEqual(self.appended("a.ulp", 300), list(range(301)))
        self.killed("a.ulp", 301, 305)
        self.killed("a.ulp", 305, 310)
        self.assertEqual(self.appended("a.ulp", 310), list(range(311)))
        self.assertEqual(os.listdir(self.folder), ["a.ulp"])

    def test_logs_of_others(self):
        files = [self.killed(name, 0, 5) for name in ("a.ulp", "b.ulp")]
        os.rename(files[1] + "-wal", files[0] + "-wal")
        self.refused("a.ulp", "-wal is another recording's, or older or newer than this one: move it away, or copy")

    def test_logs_of_another_time(self):
        file = self.killed("a.ulp", 0, 5)
        for name in (file, file + "-wal"):
            shutil.copy(name, name + "2")
        self.killed("a.ulp", 5, 400)
        for kept in (file, file + "-wal"):  # a file that is older than its log; a log that is older than its file
            name = kept + "2"
            shutil.copy(kept, self.path("kept"))
            shutil.copy(name, kept)
            self.refused("a.ulp", "-wal is another")
            shutil.copy(self.path("kept"), kept)
        self.assertEqual(self.appended("a.ulp", 400), list(range(401)))

    def test_logs_of_shortly_before(self):
        """Of the same number: copied before the file was, which took the rest in meanwhile."""
        path = self.path("a.ulp")
        with recorder.Recorder(path) as rec:
            for step in range(20):
                rec.step(step, grads={"x": np.float32([1])})
                if step == 10:
                    shutil.copy(path + "-wal", self.path("b.ulp-wal"))
            rec._file.db.execute("PRAGMA wal_checkpoint(PASSIVE)")
            shutil.copy(path, self.path("b.ulp"))
        with self.assertRaisesRegex(recorder.RecorderError, "b.ulp-wal is another recording's, or older"):
            recorder.Recorder(self.path("b.ulp"), append=True)

    def test_damaged_logs(self):
        """Whatever byte is changed: all is appended to, or nothing, or only the last step is lost, and that is said."""
        file = self.killed("a.ulp", 0, 30)
        kept = {name: open(name, "rb").read() for name in (file, file + "-wal")}
        log = kept[file + "-wal"]
        found = []
        for at in (3, 9, 13, 17, 25, 40, 60, 300, len(log) // 2, len(log) - 9000, len(log) - 100):
            for name, octets in kept.items():
                with open(name, "wb") as copy:
                    copy.write(octets)
            with open(file + "-wal", "r+b") as copy:
                copy.seek(at)
                copy.write(bytes([log[at] ^ 1]))
            try:
                steps = self.appended("a.ulp", 30)
            except recorder.RecorderError as error:
                found.append("damaged" if "would be lost forever" in str(error) else "none")
                with open(file + "-wal", "rb") as left:
                    self.assertEqual(left.read(), log[:at] + bytes([log[at] ^ 1]) + log[at + 1 :])
            else:
                found.append(len(steps))
                self.assertEqual(steps, [*range(29), 30])
                self.assertEqual(self.marks(file), [("1",)])
        self.assertEqual(found, ["none"] * 5 + ["damaged"] * 4 + [30] * 2)
        for text in (b"notes on what this run was for, and on what came out\n", bytes(9000)):
            with open(file, "wb") as copy:
                copy.write(kept[file])
            with open(file + "-wal", "wb") as copy:
                copy.write(text)
            self.refused("a.ulp", "-wal is not a write-ahead log, or its beginning is damaged: move it away")

    def test_damaged_journals(self):
        file = self.killed("a.ulp", 0, 20, "within", log=False)
        with open(file, "rb") as copy, open(file + "-journal", "rb") as other:
            kept, journal = copy.read(), other.read()
        counts = {"appended": 0, "refused": 0}
        for at in range(600, len(journal), 1201):
            octets = journal[:at] + bytes([journal[at] ^ 0x40]) + journal[at + 1 :]
            for name, whole in ((file, kept), (file + "-journal", octets)):
                with open(name, "wb") as copy:
                    copy.write(whole)
            try:
                self.assertEqual(self.appended("a.ulp", 20), list(range(21)))
                self.assertTrue(recorder.is_sound(sqlite3.connect(file)))
                counts["appended"] += 1
            except recorder.RecorderError:
                with open(file, "rb") as copy, open(file + "-journal", "rb") as other:
                    self.assertTrue(copy.read() == kept and other.read() == octets)
                counts["refused"] += 1
        self.assertTrue(all(counts.values()), counts)

    def test_journals_that_fill_the_disk(self):
        file = self.killed("a.ulp", 0, 3, "within", log=False)
        os.truncate(file + "-journal", 2 * os.path.getsize(file) + 2**20 + 1)
        self.refused("a.ulp", "-journal is larger than its own can be: move it away")

    def test_logs_that_seem_long(self):
        file = self.killed("a.ulp", 0, 5)
        try:
            os.truncate(file + "-wal", 2**42)  # more than there is room for
        except OSError:
            self.skipTest("needs a file system for files with holes")
        self.assertEqual(self.appended("a.ulp", 5), list(range(6)))

    def test_cut_indices(self):
        """Of a log that a reader is connected to: SQLite would find none of its steps."""
        file = self.killed("a.ulp", 0, 5)
        with contextlib.closing(sqlite3.connect(file)) as reader:
            reader.execute("SELECT count(*) FROM step").fetchone()
            whole = open(file + "-shm", "rb").read()
            os.truncate(file + "-shm", 100)
            self.refused("a.ulp", "-shm was cut short, and would hide steps: remove it")
            with open(file + "-shm", "wb") as index:
                index.write(whole)
        self.assertEqual(self.appended("a.ulp", 5), list(range(6)))

    def test_second_names(self):
        os.link(self.killed("a.ulp", 0, 5), self.path("b.ulp"))
        with self.assertRaisesRegex(recorder.RecorderError, "has a second name, and its log may be beside that"):
            recorder.Recorder(self.path("b.ulp"), append=True)
        self.assertEqual(self.appended("a.ulp", 5), list(range(6)))
        with self.assertRaisesRegex(recorder.RecorderError, "is the name of a part of a.ulp"):
            recorder.Recorder(self.path("a.ulp-wal"))

    def test_views_in_damaged_schemas(self):
        """What can be read of a schema is not all of it: nothing in it is run."""
        file = self.path("a.ulp")
        with sqlite3.connect(file) as db:
            db.executescript(
                "PRAGMA page_size=8192; CREATE VIEW meta(key, value) AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT "
                "i+1 FROM n) SELECT 'binding', i FROM n;"
                f"PRAGMA application_id={recorder.APPLICATION}; PRAGMA user_version=2;"
            )
            for i in range(40):
                db.execute(f"CREATE TABLE t{i}({', '.join('c%d_%s' % (j, 'x' * 200) for j in range(9))})")
        db.close()
        octets = bytearray(open(file, "rb").read())
        last = max(at for at in range(0, len(octets), 8192) if octets[at : at + 1] == b"\x0d" and b"CREATE TABLE t39" in
                   octets[at : at + 8192])  # fmt: skip
        octets[last] = 0xEE
        octets[18:20] = b"\2\2"
        with open(file, "wb") as copy:
            copy.write(octets)
        shutil.copy(self.killed("b.ulp", 0, 3) + "-wal", file + "-wal")
        signal.alarm(20)
        self.addCleanup(signal.alarm, 0)
        with self.assertRaises(recorder.RecorderError):
            recorder.Recorder(file, append=True)

    def test_damaged_recordings_are_not_appended_to(self):
        file = self.path("a.ulp")
        with recorder.Recorder(file) as rec:
            for step in range(300):
                rec.step(step, grads={"x": np.float32([1])})
        kept = open(file, "rb").read()
        counts = {"appended": 0, "refused": 0}
        for page in range(1, len(kept) // 8192):
            for at, bits in ((4, 0x20), (12, 4)):
                octets = bytearray(kept)
                octets[page * 8192 + at] ^= bits
                with open(file, "wb") as copy:
                    copy.write(octets)
                try:
                    with recorder.Recorder(file, append=True) as rec:
                        rec.step(300, grads={"x": np.float32([1])})
                    support.check(file)
                    counts["appended"] += 1
                except recorder.RecorderError:
                    with open(file, "rb") as copy:
                        self.assertEqual(copy.read(), bytes(octets))
                    counts["refused"] += 1
        self.assertGreater(counts["refused"], 10, counts)

    def test_headers_that_lack_a_key(self):
        for key in ("run_id", "rank", "world", "reduction", "layout"):
            with recorder.Recorder(self.path(key)) as rec:
                rec.step(0, grads={"x": np.float32([1])})
            with contextlib.closing(sqlite3.connect(self.path(key))) as db, db:
                db.execute("DELETE FROM meta WHERE key=?", (key,))
            with self.assertRaisesRegex(recorder.RecorderError, "is damaged"):
                recorder.Recorder(self.path(key), append=True)

    def test_interrupted_when_it_is_done(self):
        """An interrupt that comes when SQLite returns from COMMIT: the step is in the file, and what follows knows that."""

        class Stopped(recorder.Database):
            stop = False

            def execute(self, sql, *arguments):
                result = super().execute(sql, *arguments)
                if sql == "COMMIT" and self.stop:
                    self.stop = False
                    raise KeyboardInterrupt
                return result

        path = self.path("a.ulp")
        with mock.patch.object(recorder, "Database", Stopped):
            rec = recorder.Recorder(path)
            db = rec._file.db
            for step in range(6):
                if step in (2, 4):
                    db.checkpoint()
                    db.stop = True
                    with self.assertRaises(KeyboardInterrupt):
                        rec.step(step, grads={"conv": np.float32([1])})
                else:
                    rec.step(step, grads={f"fc{step}": np.float32([1, 2])})
            for suffix in ("", "-wal"):
                shutil.copy(path + suffix, self.path("b.ulp") + suffix)
            rec.close()
        self.assertEqual(self.appended("b.ulp", 6), list(range(7)))
        with sqlite3.connect(path) as db:
            names = [name for (name,) in db.execute("SELECT name FROM tensor ORDER BY id")]
        db.close()
        self.assertEqual(names, ["fc0", "fc1", "conv", "fc3", "fc5"])
        self.assertEqual(steps_of(path), list(range(6)))

    def test_a_log_and_a_journal(self):
        file = self.killed("a.ulp", 0, 5)
        with open(file + "-journal", "wb") as journal:
            journal.write(bytes(600))
        self.refused("a.ulp", ".*-wal and .*-journal: a recording has only one of them: move the foreign one away")

    def binding(self, path):
        """Those of the file alone, and of the file with its log."""
        found = []
        for suffixes in ([""], ["", "-wal"]):
            for suffix in suffixes:
                if os.path.exists(path + suffix):
                    shutil.copy(path + suffix, self.path("copy") + suffix)
            with sqlite3.connect(self.path("copy")) as db:
                found.append(db.execute("SELECT value FROM meta WHERE key='binding'").fetchone()[0].split())
            db.close()
            os.remove(self.path("copy"))
        (id, alone), (same, whole) = found
        self.assertEqual(id, same)
        self.assertRegex(id, "^[0-9a-f]{32}$")
        return int(alone), int(whole)

    def test_the_number_grows(self):
        path = self.path("a.ulp")
        grads = {"x": np.float32([1])}
        with mock.patch.object(recorder, "on_network", lambda path: True), recorder.Recorder(path) as rec:
            before = self.binding(path)[0]
            for step in range(5):
                rec.step(step, grads=grads)
                self.assertEqual(self.binding(path)[0], before + step + 1)
        with sqlite3.connect(path) as db:
            self.assertEqual(db.execute("SELECT value FROM meta WHERE key='binding'").fetchall(), [])
        db.close()
        with mock.patch.object(recorder, "LOG_LENGTH", 40 * 8192), recorder.Recorder(path, append=True) as rec:
            seen = []
            for step in range(5, 60):
                rec.step(step, grads=grads)
                seen.append(self.binding(path))
            reader = sqlite3.connect(path, isolation_level=None)
            self.addCleanup(reader.close)
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM meta").fetchall()
            rec.step(60, grads=grads)
            held = self.binding(path)[1]
            for step in range(61, 90):  # the log cannot be taken in wholly
                rec.step(step, grads=grads)
                self.assertIn(self.binding(path), ((held - 1, held), (held, held + 1)))
            self.assertLessEqual(self.binding(path)[1], held + 1)
            reader.execute("COMMIT")
            for step in range(90, 120):
                rec.step(step, grads=grads)
                seen.append(self.binding(path))
            self.assertGreater(seen[-1][1], held + 1)
            self.assertLess(os.path.getsize(path + "-wal"), 400 * 8192)
        self.assertEqual({whole - alone for alone, whole in seen}, {1})
        self.assertEqual(seen[0], (0, 1))
        self.assertIn(len({whole for _, whole in seen}), range(8, 30))
        self.assertEqual(steps_of(path), list(range(120)))

    def test_recordings_without_the_key(self):
        path = self.path("a.ulp")
        recorder.Recorder(path).close()
        with sqlite3.connect(path) as db:
            db.execute("DELETE FROM meta WHERE key='binding'")
        db.close()
        with recorder.Recorder(path, append=True) as rec:
            rec.step(0, grads={"x": np.float32([1])})
            alone, whole = self.binding(path)
            self.assertEqual((alone, whole - alone), (0, 1))
            for suffix in ("", "-wal"):
                shutil.copy(path + suffix, self.path("b.ulp") + suffix)
        with recorder.Recorder(self.path("b.ulp"), append=True) as rec:
            rec.step(1, grads={"x": np.float32([1])})
        self.assertEqual(steps_of(self.path("b.ulp")), [0, 1])

    def marks(self, path):
        with sqlite3.connect(path) as db:
            marks = db.execute("SELECT value FROM meta WHERE key='incomplete'").fetchall()
        db.close()
        return marks

    def test_incomplete(self):
        """Said of what was appended to when its log was not there or cut short, and of nothing else."""
        for length in (None, 0, 20, 32, 40, 8500, -100, "whole"):
            name = f"{length}.ulp"
            log = self.killed(name, 0, 3) + "-wal"
            if length is None:
                os.remove(log)
            elif length != "whole":
                os.truncate(log, length if length >= 0 else os.path.getsize(log) + length)
            for step in (10, 11):
                self.appended(name, step)
                self.assertEqual(self.marks(self.path(name)), [] if length == "whole" else [("1",)], length)

    def test_killed_before_the_first_step(self):
        file = self.killed("a.ulp", 0, 0)
        self.assertEqual(self.appended("a.ulp", 0), [0])
        self.assertEqual(self.marks(file), [])

    def test_thirty_kills_each(self):
        """And an append after each: no step that was reported is lost, and none refused."""
        draw = random.Random(3)
        for log in (True, False):
            for i in range(30):
                path = self.path(f"{log}{i}.ulp")
                job = (JOB if log else NO_LOG + JOB).replace("argv[2])", "argv[2], append=True)")
                job = job.replace("draw[i] *", "draw[i, :100 + step * 97 % 2900] *")
                job = job.replace("step = 0", "step = int(sys.argv[3])\nos.write(1, b'begun\\n')")
                reported = []
                for again in range(2):
                    command = [sys.executable, "-c", job, support.PACKAGES, path, str(1000 * again)]
                    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    process.stdout.readline()
                    time.sleep(draw.uniform(0, 0.1))
                    process.send_signal(signal.SIGKILL)
                    lines, errors = process.communicate()
                    self.assertEqual(errors, b"")
                    reported += [int(line) for line in lines.split(b"\n")[:-1]]
                with recorder.Recorder(path, append=True) as rec:
                    rec.step(5000, grads={"x": np.float32([1])})
                self.assertLessEqual({*reported, 5000}, set(steps_of(path)))


if __name__ == "__main__":
    unittest.main()
