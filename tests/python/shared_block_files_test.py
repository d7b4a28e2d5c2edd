"""Every block that the originals' own code made (../shared/golden/fp8/blocks): `ulp convert FILE OUT --to NAME`, bit by bit."""

import glob
import os
import subprocess
import tempfile
import unittest

from support import SOURCE, ULP, need, skip_file

need("numpy")

import numpy as np

FILES = sorted(glob.glob(os.path.join(SOURCE, "../shared/golden/fp8/blocks/*.npz")))
if not FILES:
    skip_file([], "../shared/golden/fp8/blocks is not there")
# Numbers without scales.
OTHERS = ("cast_", "gfloat_scalar_", "microxcaling_elemwise_", "te_rht16")


class SharedBlockFiles(unittest.TestCase):
    def test_all_files(self):
        compared = 0
        for path in FILES:
            name = os.path.basename(path)[: -len(".npz")]
            if name.startswith(OTHERS):
                continue
            with tempfile.TemporaryDirectory() as folder:
                out = os.path.join(folder, "out.npz")
                subprocess.run([ULP, "convert", path, out, "--to", name], check=True, capture_output=True)
                with np.load(path) as given, np.load(out) as made:
                    self.compare(name, given, made)
            compared += 1
        self.assertEqual(compared, 92)

    def compare(self, name, given, made):
        is_number = ~np.isnan(given["dequantized"])
        for key in ("scale", "codes", "dequantized", "transformed"):
            if key not in given:
                continue
            theirs, ours = given[key], made[key]
            self.assertEqual((ours.shape, ours.dtype), (theirs.shape, theirs.dtype), (name, key))
            if key == "codes":
                theirs, ours = theirs[is_number], ours[is_number]
            if key == "scale" and "nvfp4" in name:  # both NaN of E4M3 are one
                theirs, ours = (np.where(codes & 127 == 127, 127, codes) for codes in (theirs, ours))
            if theirs.dtype == np.float32:
                equal = (theirs.view(np.uint32) == ours.view(np.uint32)) | (np.isnan(theirs) & np.isnan(ours))
            else:
                equal = theirs == ours
            self.assertEqual(np.count_nonzero(~equal), 0, (name, key))


if __name__ == "__main__":
    unittest.main()
