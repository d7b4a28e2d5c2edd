"""Pins `ulp export`: CSV that ulp reads again with the same binades, JSON lines with all that the recording's blobs hold."""

import collections
import csv
import io
import json
import os
import struct
import subprocess
import unittest
import zlib

import sqlite3

from recording_digest import _payloads, _varint
from support import SOURCE, ULP, InFolder, save_safetensors, ulp

EXAMPLE = os.path.join(SOURCE, "examples", "digits.ulp")
DUMP = os.path.join(SOURCE, "examples", "digits.step00100.safetensors")


def objects(*arguments):
    return [json.loads(line) for line in ulp("export", *arguments, "--json-lines").splitlines()]


def binades(path):
    """{(step, tensor): {exponent: count}} by JSON lines."""
    rows = {}
    for row in objects(path):
        counts = rows[row["step"], row["tensor"]] = collections.Counter()
        for cell in row["cells"]:
            counts[cell["exponent"]] += cell["count"]
    return rows


class Export(InFolder):
    def recorded(self, *arguments):
        ulp("record", *arguments, "-o", self.path("run.ulp"))
        return self.path("run.ulp")

    def test_csv_is_read_again_with_equal_binades(self):
        ulp("record", EXAMPLE, "--steps", "0:100", "-o", self.path("part.ulp"))
        for path in (self.path("part.ulp"), self.recorded(DUMP, "--factor", "1")):
            ulp("export", path, "-o", self.path("h.csv"))
            self.assertEqual(binades(path), binades(self.path("h.csv")))
            with open(self.path("h.csv")) as file:
                info = subprocess.run([ULP, "info", "-"], stdin=file, capture_output=True, text=True, check=True)
            self.assertIn("histogram CSV", info.stdout)
            ulp("record", self.path("h.csv"), "-o", self.path("again.ulp"))
            self.assertEqual(binades(path), binades(self.path("again.ulp")))
            os.remove(self.path("again.ulp"))

    def test_factors_are_told(self):
        save_safetensors(self.path("step1.safetensors"), {"x": ("F32", [1], struct.pack("<f", 8))})
        for factor, note in (
            ("1", ""),
            ("8", "its values are 8 times the true gradients; give --factor 8 when reading it"),
        ):
            done = subprocess.run(
                [ULP, "export", self.path("step1.safetensors"), "--factor", factor], capture_output=True, text=True
            )
            self.assertIn(note, done.stderr)
            self.assertEqual(done.stderr == "", note == "")
        done = subprocess.run([ULP, "export", EXAMPLE, "--steps", "70:90"], capture_output=True, text=True)
        self.assertIn("its values are true gradients times different factors; --json-lines has them", done.stderr)

    def test_names_need_quotes(self):
        name = 'a,"b" c'
        save_safetensors(self.path("step1.safetensors"), {name: ("F32", [2], struct.pack("<2f", 1.5, -6))})
        ulp("export", self.path("step1.safetensors"), "-o", self.path("h.csv"))
        with open(self.path("h.csv"), newline="") as file:
            (row,) = csv.DictReader(file)
        self.assertEqual((row["tensor"], row["n"], row["e_min"], row["counts"]), (name, "2", "0", "1 0 1"))
        self.assertEqual((row["max_abs"], row["sum_abs"], row["sum_sq"], row["kind"]), ("6", "7.5", "38.25", "unknown"))
        self.assertEqual(objects(self.path("h.csv"))[0]["tensor"], name)

    def test_json_lines_say_what_the_blobs_hold(self):
        path = self.recorded(DUMP, "--factor", "1")
        db = sqlite3.connect(path)
        names = dict(db.execute("SELECT id, name FROM tensor"))
        summary, cells = db.execute("SELECT summary, cells FROM step").fetchone()
        db.close()
        rows = {row["tensor"]: row for row in objects(path)}
        self.assertEqual(len(rows), len(summary) // 104)
        for i, payload in enumerate(_payloads(zlib.decompress(cells[8:]))):
            tensor, *_ = struct.unpack_from("<I", summary, 104 * i)
            row = rows[names[tensor]]
            numel, zeros = struct.unpack_from("<2Q", summary, 104 * i + 8)
            reals = struct.unpack_from("<5d", summary, 104 * i + 56)
            self.assertEqual((row["numel"], row["zero"]), (numel, zeros))
            self.assertEqual(tuple(row[k] for k in ("max_abs", "min_abs", "factor", "sum_abs", "sum_sq")), reals)
            encoding, at = _varint(payload, 0)
            _, at = _varint(payload, at)
            numbers = []
            while at < len(payload):
                number, at = _varint(payload, at)
                numbers.append(number)
            count, key, expected = numbers[0], 0, []
            for delta, n in zip(numbers[1 : 2 * count : 2], numbers[2 : 2 * count + 1 : 2]):
                key += delta
                expected.append(("+-?"[key >> 17], (key >> 5 & 4095) - 2048, key & 31, n))
            self.assertEqual(encoding, 1)
            self.assertEqual([(c["sign"], c["exponent"], c["slot"], c["count"]) for c in row["cells"]], expected)
            sums = [str(n) for n in numbers[2 * count + 1 :]]
            self.assertEqual([s[key] for s in row["sums"] for key in ("significands", "squares")], sums)

    def test_errors_edges_codes_and_logs(self):
        values = struct.pack("<4H", 0x3C01, 0x7C00, 0x8000, 0xC000)
        save_safetensors(self.path("step1.safetensors"), {"w": ("F16", [4], values)})
        (row,) = objects(self.recorded(self.path("step1.safetensors"), "--with-errors", "--edge", "1"))
        self.assertEqual([(c["code"], c["count"]) for c in row["codes"]], [(0x3C01, 1), (0x7C00, 1), (0x8000, 1), (0xC000, 1)])
        self.assertEqual(row["edges"], [{"at": 1.0, "above": 2, "squares_above": str(((1 << 10) + 1 << 13) ** 2)}])
        self.assertEqual(len(row["errors"][0]["squares"]), 13)
        with open(self.path("log.csv"), "w") as file:
            file.write("step,maxabs\n1,nan\n2,0.5\n3,inf\n")
        logs = objects(self.path("log.csv"))
        self.assertEqual([row["log_max_abs"] for row in logs], ["nan", 0.5, "inf"])
        self.assertNotIn("tensor", logs[0])

    def test_selections(self):
        rows = objects(EXAMPLE, "--steps", "10:20", "--every", "5", "--tensor", "conv1")
        self.assertEqual({row["step"] for row in rows}, {10, 15})
        self.assertTrue(all("conv1" in row["tensor"] for row in rows))
        text = ulp("export", EXAMPLE, "--steps", "10:20")
        self.assertEqual({row["step"] for row in csv.DictReader(io.StringIO(text))}, {str(n) for n in range(10, 20)})

    def test_whole_or_absent(self):
        before = os.listdir(self.folder)
        ulp("export", EXAMPLE, "--steps", "5000", "-o", self.path("h.csv"), code=2)
        with open(self.path("log.csv"), "w") as file:
            file.write("step,maxabs\n1,nan\n")
        ulp("export", self.path("log.csv"), "-o", self.path("h.csv"), code=2)
        ulp("export", self.path("log.csv"), "-o", self.path("log.csv"), code=2)
        self.assertEqual(os.listdir(self.folder), [*before, "log.csv"])


if __name__ == "__main__":
    unittest.main()
