"""Pins that the kernels which the package has as data are those of the sources beside them."""

import importlib.util
import os
import re
import unittest

import support

FOLDER = os.path.join(support.SOURCE, "python", "device")


def compiler():
    spec = importlib.util.spec_from_file_location("compile_kernels", os.path.join(FOLDER, "compile.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Kernels(unittest.TestCase):
    def test_each_is_made_of_its_sources(self):
        of = compiler()
        self.assertEqual(of.kernels(), ["convert", "count", "quantize"])
        for kernel in of.kernels():
            with open(of.ptx_of(kernel), encoding="ascii") as file:
                first = file.readline()
            self.assertEqual(
                first, f"// sources: {of.digest_of(kernel)}\n", f"{kernel}.ptx is of other sources: run python/device/compile.py"
            )

    def test_a_change_of_any_header_is_seen(self):
        of = compiler()
        names = {os.path.basename(path) for kernel in of.kernels() for path in of.sources_of(os.path.join(FOLDER, kernel + ".cu"))}
        self.assertLessEqual({name for name in os.listdir(FOLDER) if name.endswith(".hpp")} - {"plans.hpp"}, names)
        self.assertIn("codec.hpp", names)

    def test_old_drivers_take_them(self):
        of = compiler()
        for kernel in of.kernels():
            with open(of.ptx_of(kernel), encoding="ascii") as file:
                text = file.read()
            self.assertEqual(re.findall(r"^\.version (.*)$", text, re.M), ["6.4"])
            self.assertEqual(re.findall(r"^\.target (.*)$", text, re.M), ["sm_75"])
            self.assertNotIn("fma.", text)


if __name__ == "__main__":
    unittest.main()
