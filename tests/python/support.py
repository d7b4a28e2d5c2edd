"""What the tests of the Python parts share."""

import contextlib
import functools
import importlib.util
import itertools
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import types
import unittest
import zlib
from unittest import mock

SOURCE = os.path.abspath(os.environ.get("ULP_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "../..")))
PACKAGES = os.path.abspath(os.environ.get("ULP_PACKAGES", os.path.join(SOURCE, "python")))  # where ulpscope is
ULP = os.environ.get("ULP_PROGRAM", shutil.which("ulp") or "")


def has(module):
    return importlib.util.find_spec(module) is not None


def skip_file(missing, why):
    """Skips the whole test file; ctest looks for these words. Not where scripts/test has installed or built what is missing."""
    if set(missing) & set(os.environ.get("ULP_INSTALLED", "").split()):
        raise RuntimeError(f"{why}, though scripts/test provides it: is ULP_PYTHON set to another Python?")
    raise unittest.SkipTest(f"SKIPPED: {why}")


def need(*modules):
    """Skips the whole test file where one is missing."""
    missing = [module for module in modules if not has(module)]
    if missing:
        skip_file(missing, f"{' and '.join(missing)} not installed for {sys.executable}")


class Parts(types.ModuleType):
    """All names of the modules of a package, as if they were one module: what is set is set wherever it is used."""

    def __init__(self, name, modules):
        super().__init__(name)
        self.__dict__["parts_of"] = modules
        for module in modules:
            self.__dict__.update((key, value) for key, value in vars(module).items() if not key.startswith("__"))

    def __setattr__(self, name, value):
        known = [module for module in self.parts_of if name in vars(module)]
        for module in known or self.parts_of:
            setattr(module, name, value)
        self.__dict__[name] = value

    def __delattr__(self, name):
        for module in self.parts_of:
            delattr(module, name)
        del self.__dict__[name]


def load(without=(), part="_recorder"):
    """A copy of the package of its own, as if the modules `without` were not installed: all that `part` of it imports. It
    counts by the compiled module where the package has that."""
    name = f"ulpscope_{next(_copies)}"
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(PACKAGES, "ulpscope", "__init__.py"), submodule_search_locations=[os.path.join(PACKAGES, "ulpscope")]
    )
    sys.modules[name] = importlib.util.module_from_spec(spec)
    # No extension is loaded twice.
    sys.modules[name + "._core"] = None if "ulpscope._core" in without else core()
    # What is imported meanwhile would go with the patch, and come twice: a numpy of two halves.
    with mock.patch.dict(sys.modules, {of: None for of in without}) if without else contextlib.nullcontext():
        spec.loader.exec_module(sys.modules[name])
        importlib.import_module(f"{name}.{part}")
        copy = {key: module for key, module in sys.modules.items() if key.startswith(name + ".") and module is not None}
    sys.modules.update(copy)
    return Parts(name, [module for key, module in copy.items() if not key.endswith("._core")])


_copies = itertools.count()


@functools.lru_cache(None)
def core():
    """The compiled module of the package; None where it has none."""
    sys.path.insert(0, PACKAGES)
    try:
        return importlib.import_module("ulpscope._core")
    except ImportError:
        return None
    finally:
        sys.path.remove(PACKAGES)


def ulp(*arguments, code=0):
    """What the program prints."""
    if not ULP:
        raise unittest.SkipTest("the program ulp is not there: ULP_PROGRAM names it")
    done = subprocess.run([ULP, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != code:
        raise AssertionError(
            f"ulp {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def check(path):
    """Fails where `ulp check` finds something."""
    return ulp("check", path)


def content(path):
    """The rows of each table, blobs inflated: what two recordings of the same are equal in."""
    tables = {}
    with sqlite3.connect(path) as db:
        for name in ("meta", "tensor", "step", "total", "level", "level_total"):
            rows = db.execute(f"SELECT * FROM {name}").fetchall()
            if name in ("step", "total", "level", "level_total"):
                rows = [(*row[:-2], inflated(row[-2]), row[-1]) for row in rows]
            # Without checksums, which are of compressed blobs, and what each recording has of its own.
            tables[name] = [row[:-1] for row in rows if row[0] not in ("binding", "writer")]
    db.close()
    return tables


# Where the checksums of a table's rows stand: after so many columns.
CHECKSUMS = {"meta": (2,), "tensor": (7,), "step": (11, 13), "total": (7, 8), "level": (6, 8), "level_total": (8,)}


def checksums(table, row):
    """Those of a row as docs/recording-format.md has them."""

    def stored(value):
        if value is None:
            return struct.pack("<B", 0)
        if isinstance(value, int):
            return struct.pack("<Bq", 1, value)
        if isinstance(value, float):
            return struct.pack("<Bd", 2, value)
        text = isinstance(value, str)
        octets = value.encode() if text else value
        return struct.pack("<BQ", 3 if text else 4, len(octets)) + octets

    prefixes = (table.encode() + b"".join(map(stored, row[:end])) for end in CHECKSUMS[table])
    return b"".join(struct.pack("<I", zlib.crc32(octets)) for octets in prefixes)


def mend_checksums(path):
    """After rows were altered."""
    with sqlite3.connect(path) as db:
        for table in CHECKSUMS:
            key = "key" if table == "meta" else "rowid"
            for at, *row in db.execute(f"SELECT {key}, * FROM {table}").fetchall():
                db.execute(f"UPDATE {table} SET crc=? WHERE {key}=?", (checksums(table, row), at))
    db.close()


def inflated(blob):
    if not blob:
        return b""
    data = zlib.decompress(blob[8:])
    assert len(data) == struct.unpack("<Q", blob[:8])[0]
    return data


def save_safetensors(path, tensors):
    """tensors: {name: (dtype, shape, bytes)}"""
    header, data = {}, b""
    for name, (dtype, shape, octets) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(octets)]}
        data += octets
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class InFolder(unittest.TestCase):
    """Each test has an empty folder, self.path(name) in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)


def need_compiled(*modules):
    """Skips the whole test file where one of these compiled modules of the package cannot be imported."""
    for module in modules:
        try:
            importlib.import_module(f"ulpscope.{module}")
        except ImportError as missing:
            skip_file(["ulpscope"], f"ulpscope.{module} cannot be imported: {missing}")


class Printed:
    """What a command prints with --json: its rows without schema and notes, these, and the summary where there is one."""

    def __init__(self, text):
        document = json.loads(text)
        if isinstance(document, dict):
            self.summary, self.notes, self.schema = document["summary"], document["notes"], document["schema"]
            self.rows = document[next(key for key in document if key not in ("schema", "summary", "notes"))]
        else:
            self.summary = None
            self.notes = document[0].get("notes", []) if document else []
            self.schema = document[0]["schema"] if document else ""
            self.rows = [{k: v for k, v in row.items() if k not in ("schema", "notes")} for row in document]
            self.rows = [row for row in self.rows if row]


def json_of(*arguments):
    return Printed(ulp(*arguments, "--json"))
