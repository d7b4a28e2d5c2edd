"""The two compiled modules: _core links nothing that reads files, and the package works for arrays without _runs."""

import re
import shutil
import subprocess
import sys
import unittest

import support

support.need("numpy")
support.need_compiled("_core", "_runs")

from ulpscope import _core, _runs

# Libraries that only files need, as names of shared objects and, linked statically, as symbols.
LIBRARIES = re.compile("sqlite|re2|yaml|protobuf|crypto|ssl")
SYMBOLS = re.compile(r"\bsqlite3_|\bre2::|\bYAML::|\bgoogle::protobuf|\bEVP_|\bulp::io::(database|recording_)")


def printed(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@unittest.skipUnless(shutil.which("readelf") and shutil.which("nm"), "binutils are not installed")
class Linked(unittest.TestCase):
    def libraries(self, module):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", printed("readelf", "--dynamic", module.__file__))
        self.assertTrue(any("libc.so" in name for name in needed))
        return {found[0] for found in map(LIBRARIES.search, needed) if found}

    def symbols(self, module):
        """Defined and undefined ones, of the module's own and of what it imports."""
        names = printed("nm", "--demangle", module.__file__) + printed("nm", "--demangle", "--dynamic", module.__file__)
        self.assertIn("PyInit", names)
        return {found[0] for found in SYMBOLS.finditer(names)}

    def test_arrays_need_no_library_for_files(self):
        self.assertEqual(self.libraries(_core), set())
        self.assertEqual(self.symbols(_core), set())

    def test_runs_need_some(self):
        """So that the expressions above find what they look for."""
        self.assertLessEqual({"sqlite", "re2", "yaml", "crypto"}, self.libraries(_runs))
        self.assertNotEqual(self.symbols(_runs), set())


class ArraysAlone(unittest.TestCase):
    """As built without ULP_BUILD_CLI."""

    def run_without_runs(self, code):
        code = f"import sys; sys.modules['ulpscope._runs'] = None\nimport numpy, ulpscope\n{code}"
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    def test_arrays_work(self):
        done = self.run_without_runs(
            "x = numpy.float32([0.1, 1e-9])\n"
            "print(ulpscope.quantize(x, 'float16').tolist(), ulpscope.outcomes(x, 'float16')['underflow'], len(ulpscope.optim.dialects()) > 0)"
        )
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout, "[0.0999755859375, 0.0] 1 True\n")

    def test_runs_say_what_to_install(self):
        for code, name in (
            ("ulpscope.replay", "replay"),
            ("ulpscope.scaler", "scaler"),
            ("ulpscope.follow", "follow"),
            ("ulpscope.outcomes('run.ulp', 'float16')", "outcomes"),
        ):
            done = self.run_without_runs(code)
            said = done.stderr.splitlines()[-1]
            self.assertRegex(said, rf"^ImportError: ulpscope\.{name} needs ulpscope\._runs, .*without ULP_BUILD_CLI=OFF", code)


if __name__ == "__main__":
    unittest.main()
