"""What the tests of the Python parts share."""

import contextlib
import importlib.util
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from unittest import mock

SOURCE = os.path.abspath(os.environ.get("ULP_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "../..")))
RECORDER = os.path.join(SOURCE, "python", "ulp_recorder.py")
ULP = os.environ.get("ULP_PROGRAM", shutil.which("ulp") or "")


def has(module):
    return importlib.util.find_spec(module) is not None


def need(*modules):
    """Skips the whole test file where one is missing; ctest looks for these words."""
    missing = [module for module in modules if not has(module)]
    if missing:
        raise unittest.SkipTest(f"SKIPPED: {', '.join(missing)} not installed for {sys.executable}")


def load(path=RECORDER, without=()):
    """A module of its own from a file, as if the modules `without` were not installed."""
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[: -len(".py")], path)
    module = importlib.util.module_from_spec(spec)
    # What is imported meanwhile would go with the patch, and come twice: a numpy of two halves.
    with mock.patch.dict(sys.modules, {name: None for name in without}) if without else contextlib.nullcontext():
        spec.loader.exec_module(module)
    return module


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
            tables[name] = [row[:-1] for row in rows if row[0] != "binding"]
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


def need_compiled():
    """Skips the whole test file where the compiled part of the package cannot be imported."""
    try:
        importlib.import_module("ulpscope._core")
    except ImportError as missing:
        raise unittest.SkipTest(f"SKIPPED: ulpscope._core cannot be imported: {missing}")


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
