"""Pins the digest: `ulp info --digest` is what hashlib gives over the bytes that docs/recording-format.md names, and it does
not depend on the order of what was recorded, on who recorded it, or on how."""

import os
import sqlite3
import struct
import unittest
import zlib

from recording_digest import digest
from support import SOURCE, InFolder, mend_checksums, save_safetensors, ulp

EXAMPLE = os.path.join(SOURCE, "examples", "digits.ulp")


def printed(*inputs):
    return ulp("info", "--digest", *inputs).strip()


class Digest(InFolder):
    def recorded(self, name, *arguments):
        ulp("record", *arguments, "-o", self.path(name))
        return self.path(name)

    def dumps(self):
        for step in range(3):
            floats = struct.pack("<4f", 1.5, -0.25 * step, 2.0**-149, float("nan"))
            halves = struct.pack("<4H", 0x3C01, 0x7C00, step, 0x8000)
            tensors = {"wgrad/b": ("F32", [2, 2], floats), "wgrad/a": ("F16", [4], halves)}
            save_safetensors(self.path(f"step{step}.safetensors"), tensors)
        return [self.path(f"step{step}.safetensors") for step in range(3)]

    def altered(self, name, sql):
        with open(EXAMPLE, "rb") as file, open(self.path(name), "wb") as copy:
            copy.write(file.read())
        db = sqlite3.connect(self.path(name))
        db.execute(sql)
        db.commit()
        db.close()
        mend_checksums(self.path(name))
        return self.path(name)

    def test_the_example(self):
        self.assertEqual(printed(EXAMPLE), digest(EXAMPLE))

    def test_dumps_with_sums_errors_edges_and_codes(self):
        for options in ((), ("--no-sums",), ("--with-errors",), ("--edge", "0.1,1"), ("--factor", "8")):
            with self.subTest(options=options):
                path = self.recorded("-".join(options).replace(",", "_") + ".ulp", *self.dumps(), *options)
                self.assertEqual(printed(path), digest(path))

    def test_binades_and_reported_sums(self):
        with open(self.path("h.csv"), "w") as file:
            file.write("step,tensor,n,zero,nan,inf,max_abs,e_min,counts,sum_abs\n")
            file.write("1,w,8,1,1,1,3.5,-1,2 0 3,9.25\n1,v,1,1,0,0,0,0,,0\n")
        path = self.recorded("h.ulp", self.path("h.csv"))
        self.assertEqual(printed(path), digest(path))
        self.assertEqual(printed(path), printed(self.path("h.csv")))

    def test_a_step_log_with_nan(self):
        with open(self.path("log.csv"), "w") as file:
            file.write("step,maxabs,found_inf\n1,nan,1\n2,0,0\n3,inf,\n")
        path = self.recorded("log.ulp", self.path("log.csv"))
        self.assertEqual(printed(path), digest(path))

    def test_order_and_split_do_not_matter(self):
        dumps = self.dumps()
        whole = self.recorded("whole.ulp", *dumps)
        self.recorded("parts.ulp", dumps[2])
        self.recorded("parts.ulp", dumps[0], "--append", "--steps-from", r"step(\d+)")
        self.recorded("parts.ulp", dumps[1], "--append")
        self.assertEqual(printed(whole), printed(self.path("parts.ulp")))
        self.assertEqual(printed(whole), printed(*reversed(dumps)))

    def test_what_it_covers(self):
        first = digest(EXAMPLE)
        for what in ("loss=loss+1", "loss_scale=1024", "found_inf=1", "applied=coalesce(1-applied,0)", "max_abs=3", "max_abs='nan'"):
            path = self.altered("a.ulp", f"UPDATE step SET {what} WHERE step=7")
            self.assertNotEqual(printed(path), first, what)
            self.assertEqual(printed(path), digest(path), what)
        path = self.recorded("role.ulp", EXAMPLE, "--role", "conv2=float32")
        self.assertNotEqual(printed(path), first)
        self.assertEqual(printed(path), digest(path))

    def test_what_it_does_not_cover(self):
        first = digest(EXAMPLE)
        for sql in (
            "UPDATE meta SET value='other' WHERE key='run_id'",
            "UPDATE step SET ranks='0,1'",
            "UPDATE tensor SET shape='', numel=0",
        ):
            path = self.altered("a.ulp", sql)
            self.assertEqual(printed(path), first, sql)
            self.assertEqual(digest(path), first, sql)
        path = self.altered("a.ulp", "UPDATE meta SET value='another' WHERE key='run_id'")
        db = sqlite3.connect(path)
        for step, cells in db.execute("SELECT step, cells FROM step").fetchall():
            cells = cells[:8] + zlib.compress(zlib.decompress(cells[8:]), 9)
            db.execute("UPDATE step SET cells=? WHERE step=?", (cells, step))
        db.commit()
        db.close()
        mend_checksums(path)
        self.assertEqual(printed(path), first)


if __name__ == "__main__":
    unittest.main()
