"""What lies beside a recording: whether its log or journal is its own, and whole."""

import contextlib
import os
import pathlib
import shutil
import sqlite3
import stat
import struct
import tempfile
import time

from .._errors import RecorderError
from .database import Database, binding_of, count_rows, follows, looked_up
from .schema import has_known_schema, is_sound


def look_beside(path, head):
    """Refuses what lies beside a recording and SQLite would take for parts of it, where it cannot be. head: of the file.
    Returns whether its log lacks its end."""
    for suffix in ("-wal", "-journal", "-shm"):
        try:
            state = os.lstat(path + suffix)
        except FileNotFoundError:
            continue
        user = os.geteuid() if hasattr(os, "geteuid") else 0
        owners = {os.stat(path).st_uid, *((0, user) if user else ())}  # SQLite gives it to the owner, if the superuser asks
        reason = (
            "is not a regular file" if not stat.S_ISREG(state.st_mode)
            else "belongs to another user than the recording" if state.st_uid not in owners
            else "has a second name" if state.st_nlink > 1
            else None if suffix == "-journal" and not head and is_of_beginning(path + suffix)
            else "exists without the recording that it was part of" if not head
            else "is the log of another recording" if suffix == "-wal" and state.st_size > 0 and head[19] != 2
            else "tells SQLite to delete another file" if suffix == "-journal" and names_super_journal(path + suffix)
            else None
        )  # fmt: skip
        if reason:
            raise RecorderError(f"{os.path.basename(path + suffix)} {reason}: remove it, or give another name")
    name, log, journal = os.path.basename(path), size_of(path + "-wal"), size_of(path + "-journal")
    if log and not is_index_whole(path + "-shm"):
        raise RecorderError(f"{name}-shm was cut short, and would hide steps: remove it when no program uses the recording")
    if log and journal:
        raise RecorderError(f"{name}-wal and {name}-journal: a recording has only one of them: move the foreign one away")
    if journal and head and journal > 2 * size_of(path) + 2**20:
        raise RecorderError(f"{name}-journal is larger than its own can be: move it away")
    if journal and head and not belongs_to(path, "-journal"):
        raise RecorderError(f"{name}-journal belongs to another recording or is outdated, and would remove steps: move it away")
    if head[19:20] == b"\2" and not os.path.exists(path + "-wal") and os.stat(path).st_nlink > 1:
        raise RecorderError("has a second name, and its log may be beside that: append by that name, or copy it")
    if log <= 32:
        return True
    if not belongs_to(path, "-wal"):
        raise RecorderError(
            f"{name}-wal is another recording's, or older or newer than this one: move it away, or copy both anew"
        )
    return is_log_cut(path)


def size_of(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def is_index_whole(path):
    """Whether the index of a log, if there is one, is as SQLite makes it: begun, or of pieces of 32768 bytes, within a moment."""
    for _ in range(100):
        if (size := size_of(path)) == 3 or size % 32768 == 0:
            return True
        time.sleep(0.01)
    return False


def belongs_to(path, suffix):
    """Whether the log or journal beside a recording is of it as it is now: SQLite takes in any."""
    uri = pathlib.Path(path).as_uri() + "?mode=ro&immutable=1"  # the file alone
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as alone, private_copy(path, suffix) as whole:
        alone.execute("PRAGMA trusted_schema=OFF")
        alone.execute("PRAGMA writable_schema=ON")  # reads what is there of a file that is shorter than it says
        try:
            if not has_known_schema(alone):
                binding = rows = None
            else:
                binding, rows = looked_up(binding_of, alone), looked_up(count_rows, alone)
                if binding is None and suffix == "-wal":
                    raise RecorderError(
                        f"{os.path.basename(path)} is damaged where it names its write-ahead log: copy it by `ulp merge`, "
                        "and append to the copy"
                    )
            if not whole.has_tables():  # killed while it was made
                return not rows and (binding is None or binding[0][1] < 1)
            if not has_known_schema(whole):
                return False
            its, most = binding_of(whole), looked_up(count_rows, whole)
            if suffix == "-wal":  # goes on from the file
                return follows(binding, its) and (None in (rows, most) or rows <= most)
            own = follows(its, binding) and (rows is None or rows <= most + 1)  # takes it back by a step
        except sqlite3.DatabaseError:
            return False
        if own and not looked_up(is_sound, whole):
            raise RecorderError(
                f"{os.path.basename(path)}-journal would leave it damaged: keep both; what can be read of them is copied "
                "by `ulp merge`, and appended to"
            )
        return own


def is_log_cut(path):
    """Whether a log lacks its end. One is refused where transactions lie behind what SQLite reads of it: up to the first
    page that is not as it was written (https://www.sqlite.org/fileformat.html, 4.1 to 4.3)."""
    name = os.path.basename(path) + "-wal"
    with private_copy(path, "-wal") as whole, open(path + "-wal", "rb") as log:
        seen = whole.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]  # pages
        head = log.read(32)
        magic, _, page = struct.unpack(">3I", head[:12])
        sums = [0, 0]
        for i, word in enumerate(struct.unpack("<>"[magic & 1] + "6I", head[:24])):
            sums[i % 2] = (sums[0] + word + sums[1]) % 2**32
        is_page = 512 <= page <= 65536 and page & (page - 1) == 0
        is_log = magic & ~1 == 0x377F0682 and is_page and struct.unpack(">2I", head[24:]) == tuple(sums)
        if seen <= 0 and not is_log:
            raise RecorderError(f"{name} is not a write-ahead log, or its beginning is damaged: move it away")
        pages, rest = divmod(size_of(path + "-wal") - 32, 24 + page)
        seen = max(seen, 0)
        last, unseen = seen - 1, []
        for at, ends_transaction, _ in own_pages(log):
            last = at
            if at >= seen and ends_transaction:
                unseen.append(at)
        if unseen and unseen[0] < last:
            raise RecorderError(
                f"{name} is damaged, and all steps behind the damage would be lost forever: copy the recording by "
                "`ulp merge`, which keeps the steps before, and append to the copy"
            )
        return bool(unseen) or (rest not in (0, 24) and pages - last <= 16)


def own_pages(log):
    """The whole pages of a log that are not of a log before, which lie behind its own: number, whether a transaction ends, and
    where in the log the page does."""
    log.seek(0)
    head = log.read(32)
    (page,) = struct.unpack(">I", head[8:12])
    at = last = -1
    while 512 <= page <= 65536 and at - last <= 16:
        at += 1
        end = 32 + (at + 1) * (24 + page)
        log.seek(end - page - 24)
        frame = log.read(16)
        if end > os.fstat(log.fileno()).st_size:
            break
        if frame[8:] == head[16:24]:
            last = at
            yield at, frame[4:8] != bytes(4), end


def copy_front(path, copy, front, size):
    """Of a file of some size the first bytes."""
    with open(path, "rb") as file, open(copy, "wb") as to:
        while front > 0 and (piece := file.read(min(front, 1 << 20))):
            front -= to.write(piece)
        to.truncate(size)


@contextlib.contextmanager
def private_copy(path, suffix):
    """A private copy of a recording with what lies beside it, for SQLite to do in it what it does."""
    try:
        with tempfile.TemporaryDirectory(prefix="ulp-") as folder:
            copy = os.path.join(folder, "copy.ulp")
            if suffix == "-journal":
                shutil.copyfile(path + suffix, copy + suffix)
                shutil.copyfile(path, copy)
            else:  # all of `meta` is in front, and the rest of both may be long
                copy_front(path, copy, 1 << 20, size_of(path))
                with open(path + suffix, "rb") as log:
                    end = max((end for *_, end in own_pages(log)), default=32)
                copy_front(path + suffix, copy + suffix, end, end)
            with contextlib.closing(sqlite3.connect(copy, isolation_level=None, factory=Database)) as db:
                db.execute("PRAGMA trusted_schema=OFF")
                db.execute("PRAGMA synchronous=OFF")
                yield db
    except OSError as error:
        raise RecorderError(
            f"must be copied to look at its {suffix}, which fails: {error.strerror}: let TMPDIR name a folder with room"
        ) from None


def names_super_journal(path):
    """Whether a journal ends as SQLite ends those of several databases, which name a file that it then deletes."""
    with open(path, "rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - 8, 0))
        return file.read() == bytes.fromhex("d9d505f920a163d7")


def is_of_beginning(journal):
    """Whether it takes a file back to none: it holds nothing."""
    with open(journal, "rb") as file:
        return file.read(20)[16:] == bytes(4)
