"""All results of an H100's matrix units that are recorded, repeated bit by bit: ../shared/golden/tensor_cores."""

import glob
import os
import unittest

from support import SOURCE, need, skip_file

need("numpy", "ulpscope")

import numpy as np

import ulpscope

FILES = sorted(glob.glob(os.path.join(SOURCE, "../shared/golden/tensor_cores/h100_wgmma_*.npz")))
if not FILES:
    skip_file([], "../shared/golden/tensor_cores is not there")


def numbers(codes, name):
    if name == "tf32":
        return codes.view(np.float32)
    return ulpscope.decode(codes.view(codes.dtype.str.replace("i", "u")), name)


class SharedUnits(unittest.TestCase):
    def test_all_results(self):
        results = 0
        for path in FILES:
            name = os.path.basename(path)[len("h100_wgmma_") :].rsplit("_", 2)[0]
            data = np.load(path)
            a, b = numbers(data["a"], name), numbers(data["b"], name)
            levels = {"promote": 0} if name.startswith("float8") else {}  # Triton added c outside
            made = np.float32(
                [
                    ulpscope.dot(x, y, format=name, unit="H100", c=float(c), **levels)
                    for x, y, c in zip(a, b, data["c"])
                ]
            )
            made[np.isnan(made)] = np.uint32(0x7FFFFFFF).view(np.float32)
            differing = int((made.view(np.uint32) != data["d"].view(np.uint32)).sum())
            with self.subTest(path):
                self.assertEqual(differing, 0)
            results += len(made)
        self.assertGreater(results, 7000)


if __name__ == "__main__":
    unittest.main()
