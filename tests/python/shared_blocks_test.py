"""Every block that the originals' own code made (../shared/golden/fp8/blocks): encode, quantize and decode, bit by bit."""

import glob
import os
import unittest

from support import SOURCE, need, skip_file

need("numpy", "ulpscope")

import numpy as np

import ulpscope

ROWS = {row["name"]: row for row in ulpscope.block_formats()}
FILES = {os.path.basename(f)[:-4]: f for f in glob.glob(os.path.join(SOURCE, "../shared/golden/fp8/blocks/*.npz"))}
if not FILES:
    skip_file([], "../shared/golden/fp8/blocks is not there")


def same(ours, theirs):
    if theirs.dtype == np.float32:
        return ((ours.view(np.uint32) == theirs.view(np.uint32)) | (np.isnan(ours) & np.isnan(theirs))).all()
    return (ours == theirs).all()


class SharedBlocks(unittest.TestCase):
    def parts(self, name, arrays):
        """Slices of rows that are one tensor."""
        rows = len(arrays["x"])
        if "tensor" in arrays and name != "te_nvfp4_rowscaled":
            tensor = arrays["tensor"]
            starts = [r for r in range(rows) if r == 0 or tensor[r] != tensor[r - 1]]
        elif ROWS[name]["block"][0] == 0:
            starts = list(range(rows))
        else:
            starts = [0]
        return [slice(a, b) for a, b in zip(starts, [*starts[1:], rows])]

    def test_all_files(self):
        compared = 0
        for name in sorted(FILES.keys() & ROWS.keys()):
            with np.load(FILES[name]) as file:
                arrays = dict(file)
            height = ROWS[name]["block"][0]
            for part in self.parts(name, arrays):
                x, codes, numbers = (arrays[key][part] for key in ("x", "codes", "dequantized"))
                of_all = height > 1 and "nvfp4" not in name  # NVFP4's are kept for each row
                scale = arrays["scale"] if of_all else arrays["scale"][part]
                made = ulpscope.encode(x, name)
                if "rht" in name:
                    codes, numbers = codes.reshape(made.codes.shape), numbers.reshape(made.codes.shape)
                is_number = ~np.isnan(numbers)
                self.assertTrue(np.array_equal(made.codes[is_number], codes[is_number]), name)
                if ROWS[name]["scale"] == "float8_e4m3fn":  # both its NaN are one
                    made = made._replace(scale=np.where(made.scale & 127 == 127, 127, made.scale).astype(np.uint8))
                    scale = np.where(scale & 127 == 127, 127, scale).astype(np.uint8)
                self.assertTrue(same(made.scale.reshape(scale.shape), scale), name)
                self.assertTrue(same(ulpscope.quantize(x, name), numbers), name)
                if "rht" not in name:
                    decoded = ulpscope.decode(codes, name, scale=scale, global_amax=made.global_amax)
                    self.assertTrue(np.array_equal(decoded, numbers, equal_nan=True), name)
            compared += 1
        self.assertEqual(compared, 92)


if __name__ == "__main__":
    unittest.main()
