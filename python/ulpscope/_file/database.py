"""A recording as SQLite has it."""

import contextlib
import re
import secrets
import sqlite3

from .schema import insert_row

PAGE_SIZE = 8192
LOG_LENGTH = 1000 * PAGE_SIZE  # about so long it becomes before it is taken in, as SQLite has it


class Database(sqlite3.Connection):
    """A recording as SQLite has it. `binding` tells whose a log or journal beside it is, and of when: its number is
    raised in each journal, and in each log that begins anew."""

    has_log = True  # as far as is known; else it keeps a rollback journal
    taken_in = False  # whether the file itself is known to hold all that was written
    written = 0  # about as many bytes since it did

    @contextlib.contextmanager
    def transaction(self):
        if self.written > LOG_LENGTH:
            self.checkpoint()
        self.execute("BEGIN IMMEDIATE")
        bound = None
        try:
            if self.taken_in:
                bound = self.bind()  # first, so that every journal has it
            yield
            self.execute("COMMIT")
        except BaseException:
            if self.in_transaction:
                self.execute("ROLLBACK")
            elif bound and looked_up(number_of, self) == bound:  # interrupted when it was done
                self.taken_in = not self.has_log
            raise
        self.taken_in = not self.has_log
        self.written += 6 * PAGE_SIZE  # of tables and indices

    def keep_by(self, journal):
        self.has_log = self.execute("PRAGMA journal_mode=" + journal).fetchone() == ("wal",)

    def checkpoint(self):
        """Takes the log into the file, as far as readers allow. Not by SQLite itself: who binds must know when."""
        self.taken_in = False
        with contextlib.suppress(sqlite3.Error):
            busy, log, taken = self.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self.taken_in = not busy and log == taken
        if self.taken_in:
            self.written = 0

    def bind(self):
        (id, number), *_ = binding_of(self)
        insert_row(self, "meta", ("binding", f"{id or secrets.token_hex(16)} {number + 1}"))
        return number + 1

    def has_tables(self):
        return self.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,)


def binding_of(db):
    """Whose a log or journal is and of when, as the file has it, -1 without the key: ID and number; whether the recording
    is closed, which removes the key; its name."""
    keys = "'binding', 'closed', 'run_id', 'rank'"
    meta = dict(db.execute(f"SELECT key, value FROM meta WHERE key IN ({keys})"))
    found = re.fullmatch("([0-9a-f]{32}) ([0-9]{1,18})", str(meta.pop("binding", "")))
    return (found[1], int(found[2])) if found else (None, -1), meta.pop("closed", None) is not None, meta


def number_of(db):
    return binding_of(db)[0][1]


def follows(before, after):
    """Whether no more than one log or journal lies between two states of a recording, as far as that is known."""
    if None in (before, after):
        return True
    (id, number), was_closed, name = before
    (its, next), is_closed, its_name = after
    removed = was_closed and is_closed and its is None
    return name == its_name and (removed or id in (None, its) and next - number in (0, 1))


def count_rows(db):
    return db.execute("SELECT coalesce(max(rowid), 0) FROM step").fetchone()[0]


def looked_up(what, db):
    """None where a kill tore what a journal mends, or where a copy ends."""
    with contextlib.suppress(sqlite3.DatabaseError):
        return what(db)
