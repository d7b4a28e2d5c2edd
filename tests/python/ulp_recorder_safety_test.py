"""Pins that nothing recorded is lost: kills at any moment, full disks, names that are taken, readers in between."""

import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

import support

support.need("numpy")

import numpy as np  # noqa: E402

recorder = support.load()

# Says each step once its call returned.
JOB = """
import os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from ulp_recorder import Recorder
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


class Kills(support.InFolder):
    def test_at_fifty_moments(self):
        """kill -9: every step that was reported is there, whole, and the program reads it."""
        draw = random.Random(1)
        for i in range(50):
            path = self.path(f"{i}.ulp")
            job = subprocess.Popen(
                [sys.executable, "-c", JOB, os.path.dirname(support.RECORDER), path], stdout=subprocess.PIPE
            )
            first = job.stdout.readline()
            time.sleep(draw.uniform(0, 0.2))
            job.send_signal(signal.SIGKILL)
            reported = (first + job.stdout.read()).split()
            job.wait()
            job.stdout.close()
            summary = support.ulp("info", path) if support.ULP else None  # with the log that was left beside it
            steps = steps_of(path)
            # The last report may have been lost with the process; half of one is none.
            self.assertGreaterEqual(len(steps), len(reported) - 1)
            self.assertEqual(steps, list(range(len(steps))))
            if summary is not None:
                self.assertIn(f"steps        {len(steps):,}: 0 to {len(steps) - 1}", summary)

    def test_killed_and_continued(self):
        path = self.path("a.ulp")
        job = subprocess.Popen(
            [sys.executable, "-c", JOB, os.path.dirname(support.RECORDER), path], stdout=subprocess.PIPE
        )
        for _ in range(100):
            job.stdout.readline()
        job.kill()
        job.wait()
        job.stdout.close()
        last = steps_of(path)[-1]
        with recorder.Recorder(path, append=True) as rec:
            rec.step(last + 1, grads={"wgrad/0": np.float32([1])})
        self.assertEqual(steps_of(path), list(range(last + 2)))
        self.assertEqual(os.listdir(self.folder), ["a.ulp"])


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
                f"{name}: (file is not a database|is no recording of version 1: give another name)",
                self.path(name),
                append=True,
            )

    def test_no_folder(self):
        self.check(
            "a.ulp: No such file or directory: is its folder there, and may it be written?", self.path("none/a.ulp")
        )
        self.assertEqual(os.listdir(self.folder), [])

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
        code = "import sys; sys.path.insert(0, sys.argv[1])\nimport numpy as np\nfrom ulp_recorder import Recorder\n"
        code += "rec = Recorder(sys.argv[2])\nfor i in range(64): rec.step(i, grads={'x': np.float32([1])})\n"
        subprocess.run([sys.executable, "-c", code, os.path.dirname(support.RECORDER), self.path("a.ulp")], check=True)
        self.assertEqual(os.listdir(self.folder), ["a.ulp"])
        self.assertEqual(len(support.content(self.path("a.ulp"))["level"]), 1)


if __name__ == "__main__":
    unittest.main()
