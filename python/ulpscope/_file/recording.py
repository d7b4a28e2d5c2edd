"""A recording open for writing."""

import contextlib
import errno
import os
import sqlite3

from .. import __version__
from .._counting.tables import columns_of, written_of
from .._errors import RecorderError, printable
from .beside import look_beside, size_of
from .database import Database, PAGE_SIZE, count_rows
from .levels import Levels, total_order
from .lock import Lock, on_network
from .schema import APPLICATION, EXTRA, Info, SCHEMA, VERSION, check_identity, has_all_rows, insert_row, is_sound

CHECKED = 1 << 24  # longer recordings are not looked at wholly before they are appended to
try:
    from .._commit import COMMIT  # of a package that was built
except ImportError:
    COMMIT = ""
WRITER = f"ulpscope {__version__} ({COMMIT})" if COMMIT else f"ulpscope {__version__}"
LOST = "was moved, removed or replaced during recording: the file of that name has none of its steps"
_TOO_MANY = {
    errno.EMFILE: "too many files are open in this process: close some, or raise the limit (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine: close some",
}
_OF_FOLDERS = (errno.EACCES, errno.ENOENT, errno.ENOTDIR, errno.EPERM, errno.EROFS)


def _reason_of(error):
    """Why the file could not be opened or made."""
    if str(error).startswith("unable to open"):  # SQLite keeps the error's number to itself
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as of_any_file:
            error = of_any_file
    if not isinstance(error, OSError):
        return str(error)
    if error.errno in _TOO_MANY:
        return _TOO_MANY[error.errno]
    hint = ": does its folder exist, and is it writable?" if error.errno in _OF_FOLDERS else ""
    return f"{error.strerror}{hint}"


class Layout:
    """What tells how steps are written, which mostly are alike: the tensors, types and factors of one."""

    def __init__(self, infos, numbers, factors):
        self.of = infos, numbers, factors
        groups = {}  # by kind, role and factor: which
        for i, (info, factor) in enumerate(zip(infos, factors)):
            groups.setdefault((info.kind, info.role, factor), []).append(i)
        self.groups = {of: groups[of] for of in sorted(groups, key=total_order)}
        self.columns = None  # of their summaries; None until their ids in the file are known
        self.keys = None  # of tables that may be merged over steps: id, type, factor

    def know(self, ids):
        self.columns = columns_of(ids, *self.of[1:])
        self.keys = list(zip(ids, *self.of[1:]))


class File:
    """A recording open for writing."""

    def __init__(self, path, append, meta, ranks):
        self.shown = printable(os.fsdecode(path))
        # Never one of the names that SQLite takes for something else; and what lies beside a link is of what it names.
        self.path = os.path.realpath(path) if append and os.path.exists(path) else os.path.abspath(path)
        self.ranks = ranks
        self.process = os.getpid()
        self.tensors = {}  # by name: id, Info
        self.layout = None  # of the step before
        self.db = self.lock = None
        begun = False
        try:
            self.lock = Lock(self.path, append)
            head = self.lock.head()
            self._check_head(head)
            is_cut = look_beside(self.path, head)
            begun = self.lock.created
            # Backward hooks run in threads of their own; no two call at once. Readers on network file systems make it wait.
            options = {"timeout": 60, "isolation_level": None, "check_same_thread": False, "factory": Database}
            self.db = sqlite3.connect(self.path, **options)
            self.db.execute("PRAGMA trusted_schema=OFF")
            self.db.execute("PRAGMA wal_autocheckpoint=0")
            if self.db.has_tables():
                self._go_on(is_cut)
            else:
                self._create(meta)
            self._set_journal()
            self.db.checkpoint()
            with self.db.transaction():
                pass  # no log is empty then but that of a copy which lost it
            self._read_tensors()
            self.rows_before = count_rows(self.db)
        except BaseException as error:
            reason = _reason_of(error)  # while what it was open for still is
            if self.db is not None:
                with contextlib.suppress(sqlite3.Error):  # closing takes the log in: else the file would seem to lack it
                    self.db.keep_by("DELETE")
                self.db.close()
            if self.lock is not None:
                mine = self.lock.created and self.lock.holds(self.path)
                for suffix in ("", *(("-wal", "-shm", "-journal") if begun else ())) if mine else ():
                    with contextlib.suppress(OSError):
                        os.remove(self.path + suffix)
                self.lock.release()
            if not isinstance(error, (sqlite3.Error, OSError, RecorderError)):
                raise
            raise RecorderError(f"{self.shown}: {reason}") from None
        self.levels = Levels(self.db, ranks)

    @staticmethod
    def _check_head(head):
        """Before SQLite has a look: it would take in what lies beside a file that is not ours."""
        version, application = (int.from_bytes(head[at : at + 4], "big") for at in (60, 68))
        nothing = (version, application) == (0, 0) and head[40:44] == bytes(4)  # no table was ever made
        if head and not (head.startswith(b"SQLite format 3\0") and nothing):
            if application != APPLICATION or not 1 <= version <= VERSION:
                raise RecorderError(f"is not a recording of version {VERSION}: give another name")
            if version < VERSION:
                raise RecorderError(
                    f"is a recording of version {version}, without checksums, which is no longer written: copy it by "
                    "`ulp merge OLD -o NEW`, and append to the copy"
                )

    def _create(self, meta):
        """In one transaction, with a rollback journal: the file itself then says what it is."""
        self.db.keep_by("DELETE")
        self.db.execute(f"PRAGMA page_size={PAGE_SIZE}")
        with self.db.transaction():
            self.db.execute(f"PRAGMA application_id={APPLICATION}")
            self.db.execute(f"PRAGMA user_version={VERSION}")
            for statement in SCHEMA.split(";"):
                self.db.execute(statement)
            for pair in (*meta, ("writer", WRITER)):
                insert_row(self.db, "meta", pair)
            self.db.bind()

    def _read_tensors(self):
        rows = self.db.execute("SELECT id, name, kind, role, through, shape, numel FROM tensor")
        self.tensors = {info[0]: (id, Info(*info)) for id, *info in rows}

    def _go_on(self, is_cut):
        """Before a log is there: a copy without it is then known to lack it."""
        check_identity(self.db)
        with contextlib.closing(sqlite3.connect(self.path)) as looked:  # on self.db its log could not be taken in then
            keys = {key for (key,) in looked.execute("SELECT key FROM meta")}
            whole = {"run_id", "rank", "world", "reduction", "layout"} <= keys
            if not whole or not (is_sound if size_of(self.path) <= CHECKED else has_all_rows)(looked):
                raise RecorderError("is damaged (ulp check lists where): nothing is appended")
        self.db.checkpoint()
        head = self.lock.head()  # its journal is played back
        with self.db.transaction():
            closed = self.db.execute("SELECT 1 FROM meta WHERE key='closed'").fetchone()
            if head[19] == 2 and is_cut and not closed:  # else nobody could tell any more
                insert_row(self.db, "meta", ("incomplete", "1"))
            self.db.execute("DELETE FROM meta WHERE key='closed'")
            insert_row(self.db, "meta", ("writer", WRITER))

    def _set_journal(self):
        """A write-ahead log, or else a rollback journal: slower, as safe. Others may read while this one writes."""
        try:
            self.db.keep_by("TRUNCATE" if on_network(self.path) else "WAL")
        except sqlite3.OperationalError:  # no shared memory here
            self.db.keep_by("TRUNCATE")
        self.db.execute("PRAGMA synchronous=NORMAL")

    def expect_process(self):
        if os.getpid() != self.process:
            raise RecorderError(f"{self.shown}: only the process that opened the recording can write to it; this one is a fork")

    def write(self, key, scalars, rows, joint=(), scales=None):
        """One step in one transaction: its tables, and their totals by kind, role and factor. key: step, attempt (None:
        the first that was not there when the file was opened), microbatch. joint: contents of joint tables by names of
        weights, those that are among the rows. scales: those of an 8-bit run."""
        self.expect_process()
        if not self.lock.holds(self.path):
            raise RecorderError(f"{self.shown}: {LOST}")
        before = dict(self.tensors)
        infos, numbers, factors, parts, tables, made, blocks = rows
        if self.layout is None or self.layout.of != (infos, numbers, factors):
            self.layout = Layout(infos, numbers, factors)
        self.layout.of = infos, numbers, factors
        layout = self.layout
        try:
            if key[1] is None and self.rows_before == 0:
                key = (key[0], 0, key[2])
            elif key[1] is None:
                attempts = "SELECT coalesce(max(attempt), -1) + 1 FROM step WHERE step=? AND rowid<=?"
                key = (key[0], *self.db.execute(attempts, (key[0], self.rows_before)).fetchone(), key[2])
            with self.db.transaction():
                if layout.columns is None:
                    layout.know([self._id(info) for info in infos])
                groups, parts = layout.groups, parts if any(parts) else ()
                summary, cells, of_groups = written_of(tables, layout.columns, parts, groups, made)
                insert_row(self.db, "step", (*key, self.ranks, *scalars, None), (summary, cells))
                if joint or blocks:
                    ids = {info.name: id for info, (id, *_) in zip(infos, layout.keys)}
                    self._write_joint(key, joint, ids)
                    self._write_extra(key, {ids[name]: of.tables.content() for name, of in blocks.items()}, "blocks")
                if scales is not None:
                    self._write_extra(key, {-1: scales}, "fp8_scales")
                totals = {group: (total[0], len(at)) for (group, at), total in zip(groups.items(), of_groups)}
                for (kind, role, _), at, (_, summary, cells) in zip(groups, groups.values(), of_groups):
                    insert_row(self.db, "total", (*key, kind, role, len(at), summary), (cells,))
        except BaseException as error:
            self.tensors, self.layout = before, None
            with contextlib.suppress(sqlite3.Error):  # an interrupt may come when the step is in the file
                self._read_tensors()
            if not isinstance(error, (sqlite3.Error, RecorderError)):
                raise
            damaged = type(error) is sqlite3.DatabaseError  # then nothing is known of what is in the file
            reason = f"{error}: it is not recorded" + ("" if damaged else ", the steps before it are")
            if isinstance(error, sqlite3.IntegrityError):
                reason = "is in the recording already: each call needs a step, attempt or microbatch of its own"
            place = " ".join(
                f"{what} {n}"
                for what, n, usual in zip(("step", "attempt", "microbatch"), key, (None, 0, -1))
                if n not in (None, usual) or what == "step"
            )
            raise RecorderError(f"{self.shown}: {place}: {reason}") from None
        if key[2] == -1:
            tables.drop_codes()  # which take much memory
            with contextlib.suppress(sqlite3.Error, RecorderError):
                self.levels.add(key[0], layout.keys, tables, totals)

    def _write_joint(self, key, joint, ids):
        self._write_extra(key, {ids[f"weight/{name}"]: joint[name] for name in joint if f"weight/{name}" in ids}, "joint")

    def _write_extra(self, key, contents, name):
        """contents: by tensor; -1 for those of the step."""
        if contents and not self.db.execute("SELECT 1 FROM sqlite_master WHERE name='extra'").fetchone():
            self.db.execute(EXTRA.strip().rstrip(";"))
        for id, content in sorted(contents.items()):
            insert_row(self.db, "extra", (*key, id, name, content))

    def _id(self, info):
        """The tensor's number in the file, where it is added if it is new."""
        if info.name not in self.tensors:
            self.tensors[info.name] = len(self.tensors), info
            insert_row(self.db, "tensor", (self.tensors[info.name][0], *info))
        id, known = self.tensors[info.name]
        if known.numel not in (0, info.numel):  # its size varies
            known = known._replace(numel=0)
            self.tensors[info.name] = id, known
            insert_row(self.db, "tensor", (id, *known))
        return id

    def close(self):
        if self.db is None or os.getpid() != self.process:
            return
        # A full disk, or somebody who reads: the recording is whole with the log beside it.
        try:
            with contextlib.suppress(sqlite3.Error, RecorderError):
                self.levels.close()
            with contextlib.suppress(sqlite3.Error), self.db.transaction():
                insert_row(self.db, "meta", ("closed", "1"))
            with contextlib.suppress(sqlite3.Error):  # also where it could not be said: else it would seem to lack its log
                self.db.execute("PRAGMA busy_timeout=2000")
                self.db.keep_by("DELETE")
                self.db.execute("DELETE FROM meta WHERE key='binding'")  # nothing lies beside it
        finally:
            self.db.close()
            self.db = None
            self.lock.release()
