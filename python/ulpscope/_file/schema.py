"""The tables of a recording, and the checksums of their rows: docs/recording-format.md."""

import re
import sqlite3
import struct
import zlib
from collections import namedtuple

from .._errors import RecorderError

SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL, crc BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE tensor(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, role TEXT NOT NULL, through TEXT NOT NULL,
  shape TEXT NOT NULL, numel INTEGER NOT NULL, crc BLOB NOT NULL);
CREATE TABLE step(
  step INTEGER NOT NULL, attempt INTEGER NOT NULL, microbatch INTEGER NOT NULL, ranks TEXT NOT NULL,
  loss REAL, grad_norm REAL, lr REAL, loss_scale REAL, found_inf INTEGER, applied INTEGER, max_abs REAL,
  summary BLOB NOT NULL, cells BLOB NOT NULL, crc BLOB NOT NULL, PRIMARY KEY(step, attempt, microbatch));
CREATE TABLE total(
  step INTEGER NOT NULL, attempt INTEGER NOT NULL, microbatch INTEGER NOT NULL,
  kind TEXT NOT NULL, role TEXT NOT NULL, tensors INTEGER NOT NULL, summary BLOB NOT NULL, cells BLOB NOT NULL,
  crc BLOB NOT NULL);
CREATE TABLE level(
  width INTEGER NOT NULL, block INTEGER NOT NULL, ranks TEXT NOT NULL,
  steps INTEGER NOT NULL, first_step INTEGER NOT NULL, last_step INTEGER NOT NULL,
  summary BLOB NOT NULL, cells BLOB NOT NULL, crc BLOB NOT NULL, PRIMARY KEY(width, block, ranks));
CREATE TABLE level_total(
  width INTEGER NOT NULL, block INTEGER NOT NULL, ranks TEXT NOT NULL,
  kind TEXT NOT NULL, role TEXT NOT NULL, tensors INTEGER NOT NULL, summary BLOB NOT NULL, cells BLOB NOT NULL,
  crc BLOB NOT NULL);
CREATE INDEX step_scalars ON step(
  step, attempt, microbatch, ranks, loss, grad_norm, lr, loss_scale, found_inf, applied, max_abs, crc);
CREATE INDEX total_summary ON total(step, attempt, microbatch, kind, role, tensors, summary, crc);
CREATE INDEX level_total_key ON level_total(width, block, ranks);
"""
EXTRA = """
CREATE TABLE extra(
  step INTEGER NOT NULL, attempt INTEGER NOT NULL, microbatch INTEGER NOT NULL, tensor INTEGER NOT NULL,
  name TEXT NOT NULL, content BLOB NOT NULL, crc BLOB NOT NULL,
  PRIMARY KEY(step, attempt, microbatch, tensor, name)) WITHOUT ROWID;
"""  # made by who writes to it first
VERSION = 2
APPLICATION = 0x756C7072  # "ulpr"
KINDS = ("unknown", "weight_grad", "activation_grad", "weight", "update", "activation")
ROLES = ("unknown", "low", "float32")


def as_stored(value):
    """A value of a row as its checksum sees it: as SQLite stores it."""
    if value is None or value != value:
        return b"\0"
    if isinstance(value, int):
        return struct.pack("<bq", 1, value)
    if isinstance(value, float):
        return struct.pack("<bd", 2, value + 0.0)  # no zero has a sign
    octets = value.encode() if isinstance(value, str) else value
    return struct.pack("<bQ", 3 if isinstance(value, str) else 4, len(octets)) + octets


def insert_row(db, table, *parts):
    """Puts a row into a table, in place of one with its key: its values, and the CRC-32 at the end of each part."""
    crc, checksums = zlib.crc32(table.encode()), b""
    for part in parts:
        octets = b"".join(map(as_stored, part))
        crc = zlib.crc32(octets, crc)
        checksums += struct.pack("<I", crc)
        db.written += len(octets)
    row = [value for part in parts for value in part] + [checksums]
    how = "INSERT" if table in ("step", "total", "level_total") else "INSERT OR REPLACE"
    db.execute(f"{how} INTO {table} VALUES({','.join('?' * len(row))})", row)


# What is known of a tensor, as the table `tensor` has it.
Info = namedtuple("Info", "name kind role through shape numel")
# The tensors of a step, one list for each column. factors: recorded value = factor * true gradient; None where it is not known.
# parts: those that a gradient is a sum of, 255 at most: how many were rounded to `through` before they were added, and 256 * how
# many were not.
# made: of tables that a device counted, what is written of them, or None. blocks: {name: Counted}, of those that have block tables.
Rows = namedtuple("Rows", "infos type_numbers factors parts tables made blocks", defaults=(None, {}))


def is_sound(db):
    """Whether its pages and all checksums are right."""
    return db.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",) and all(
        has_checksum(table, row)
        for table in re.findall(r"CREATE TABLE (\w+)", SCHEMA)
        for row in db.execute(f"SELECT * FROM {table}")
    )


def has_all_rows(db):
    """Whether the indices by which steps and totals are found have as many rows as their tables. No row is ever removed."""
    return all(
        db.execute(
            f"SELECT (SELECT count(*) FROM {of} WHERE step BETWEEN -9223372036854775807 - 1 AND 9223372036854775807) = "
            f"(SELECT coalesce(max(rowid), 0) FROM {of.split()[0]})"
        ).fetchone()[0]
        for of in ("step INDEXED BY sqlite_autoindex_step_1", "step INDEXED BY step_scalars", "total INDEXED BY total_summary")
        if db.execute("SELECT 1 FROM sqlite_master WHERE name=?", of.split()[3:]).fetchone()
    )


def has_checksum(table, row):
    *values, stated = row
    crc, of_values = zlib.crc32(table.encode()), []
    for value in values:
        crc = zlib.crc32(as_stored(value), crc)
        of_values.append(crc)
    if not isinstance(stated, bytes) or len(stated) % 4 != 0:
        return False
    parts = [part for (part,) in struct.iter_unpack("<I", stated)]
    return parts[-1:] == [crc] and set(parts) <= set(of_values)


def has_known_schema(db):
    """Whether all of its schema can be read and is ours: else nothing else of it is read, which could be a stranger's view."""
    try:
        check_identity(db)
    except (sqlite3.DatabaseError, RecorderError):
        return False
    return True


def without_blanks(sql):
    return re.sub(r"[ \t\r\n]", "", sql)


def check_identity(db):
    """Nothing is taken but our own statements: others run what a stranger wrote."""
    identity = [db.execute("PRAGMA " + name).fetchone()[0] for name in ("application_id", "user_version")]
    known = {without_blanks(sql) for sql in (SCHEMA + EXTRA).split(";")} - {""}
    made = db.execute("SELECT type, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    own = {without_blanks(sql) for _, sql in made}
    tables = {without_blanks(sql) for sql in SCHEMA.split(";") if "CREATE TABLE" in sql}  # indices may be missing
    as_stated = all(without_blanks(sql).startswith("CREATE" + type.upper()) for type, sql in made)
    if identity != [APPLICATION, VERSION] or not tables <= own <= known or not as_stated:
        raise RecorderError(f"is not a recording of version {VERSION}: give another name")
