"""The package is typed: stubs say what the compiled modules have, and type checkers see through a user's file."""

import ast
import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
import unittest

import support

support.need("numpy")
support.need_compiled()

import numpy

import ulpscope
from ulpscope import _core, _runs

PACKAGE = os.path.dirname(ulpscope.__file__)


class Stubs(unittest.TestCase):
    def test_the_compiled_modules_are_what_their_stubs_say(self):
        for module, untyped in ((_core, {"counting"}), (_runs, set())):
            self.check(module, untyped)

    def check(self, module, untyped):
        with open(os.path.join(PACKAGE, f"{module.__name__.rpartition('.')[2]}.pyi")) as file:
            tree = ast.parse(file.read())
        said = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        self.assertEqual({n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)} - {"__version__"}, untyped)
        there = {name for name in dir(module) if not name.startswith("_")}
        self.assertEqual(set(said) | untyped, there)
        for name, node in said.items():
            function = getattr(module, name)
            if isinstance(node, ast.ClassDef):
                members = {n.name for n in node.body if isinstance(n, ast.FunctionDef)} - {"__init__"}
                self.assertEqual({m for m in dir(function) if not m.startswith("_")}, members, name)
                continue
            signature = re.match(rf"{name}\((.*)\) -> ", function.__doc__)
            taken = len(re.findall(r"(?:^|, )\w+: ", re.sub(r"\[.*?\]|<.*?>", "", signature[1])))
            self.assertEqual(taken, len(node.args.args), f"{name}{signature[0]}")


class Public(support.InFolder):
    NAMES = [name for name in ulpscope.__all__ if inspect.isroutine(getattr(ulpscope, name, None))]

    def test_functions_have_annotations_and_say_what_they_do(self):
        self.assertGreater(len(self.NAMES), 10)
        functions = [getattr(ulpscope, name) for name in self.NAMES]
        functions += [getattr(ulpscope.compat, name) for name in ulpscope.compat.__all__ if name != "RoundMode"]
        for function in functions:
            self.assertTrue(function.__doc__, function)
            of = function.__init__ if inspect.isclass(function) else function
            for parameter in inspect.signature(of).parameters.values():
                if parameter.name != "self":
                    self.assertIsNot(parameter.annotation, parameter.empty, f"{function.__name__} {parameter}")

    def test_unknown_names_are_no_attributes(self):
        self.assertFalse(hasattr(ulpscope, "quantise"))
        self.assertLessEqual({"quantize", "compat", "__version__"}, set(dir(ulpscope)))

    def test_examples_of_docstrings(self):
        for name in ("_arrays", "_blocks", "_formats", "compat", "optim"):
            module = importlib.import_module(f"ulpscope.{name}")
            names = {"ulpscope": ulpscope, "numpy": numpy}
            result = doctest.testmod(module, extraglobs=names)
            self.assertEqual(result.failed, 0)
            self.assertTrue(result.attempted > 0 or name in ("_blocks", "compat"))

    def test_examples_of_the_documents(self):
        for page, least in (("python.md", 20), ("blocks.md", 3)):
            result = doctest.testfile(os.path.join(support.SOURCE, "docs", page), module_relative=False)
            self.assertEqual(result.failed, 0)
            self.assertGreater(result.attempted, least)

    def test_mypy(self):
        if not support.has("mypy"):
            self.skipTest("mypy is not installed")
        with open(self.path("user.py"), "w") as file:
            file.write(
                "import numpy as np\nimport ulpscope\n"
                "from ulpscope.compat import Chop, float_quantize\n"
                "x = np.zeros(3, np.float32)\n"
                "y = ulpscope.quantize(x, 'fp16', 'sr', bits=8, seed=1)\n"
                "n: int = ulpscope.outcomes(x, (5, 10))['underflow']\n"
                "z: float = ulpscope.dot(x, y, 'fp16') + ulpscope.finfo('fp16').max\n"
                "reveal_type(y)\n"
                "ulpscope.quantize(x, 'fp16', bitts=8)\n"
            )
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--ignore-missing-imports", "user.py"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.path.dirname(PACKAGE)},
        )
        self.assertIn('Unexpected keyword argument "bitts"', done.stdout, done.stderr)
        self.assertIn("Found 1 error", done.stdout)
        self.assertNotRegex(done.stdout, 'Revealed type is "Any"')


if __name__ == "__main__":
    unittest.main()
