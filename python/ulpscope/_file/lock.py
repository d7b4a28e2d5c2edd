"""Who writes a file, and on what kind of file system it is."""

import contextlib
import errno
import os
import re
import stat
import struct

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

from .._errors import RecorderError

# File systems of several machines: these do not share memory, which a write-ahead log needs. Those of which `ulp` knows.
NETWORK = re.compile(
    r"(nfs|cifs|smb|ncpfs|coda|afs|ceph|fuse|virtiofs|9p|ocfs|lustre|gpfs|beegfs|fhgfs|gfs|panfs|ibrix|vxfs|vmhgfs|vboxsf|"
    r"orangefs|pvfs|wekafs)"
)


def on_network(path):
    """Whether the file is on one of them, as far as the system says (Linux)."""
    path, longest, kind = os.path.realpath(path), "", ""
    with contextlib.suppress(OSError), open("/proc/self/mounts", errors="surrogateescape") as mounts:
        for line in mounts:
            folder, of = line.split()[1:3]
            folder = re.sub(r"\\([0-7]{3})", lambda blank: chr(int(blank[1], 8)), folder)
            if len(folder) >= len(longest) and os.path.commonpath([folder, path]) == folder:
                longest, kind = folder, of
    return NETWORK.match(kind) is not None


class Lock:
    """Tells other recorders that this one writes the file: a lock of the open file description, on a byte beyond all data.
    It goes with the process. SQLite's own would go when any descriptor of the file is closed."""

    _BYTE = 1 << 62
    _written = set()  # what this process writes: device and inode

    def __init__(self, path, append):
        self.descriptor, self.created, self.identity = None, False, None
        with contextlib.suppress(OSError):
            self._refuse_twice(os.stat(path))
        of = re.sub("-(wal|journal|shm)$", "", path)
        if of != path and os.path.exists(of):
            raise RecorderError(f"is the name of a part of {os.path.basename(of)}: give another name")
        flags = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
        try:  # one process gets a name, however many begin at once
            self.descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            self.created = True
        except FileExistsError:
            if not append:
                raise RecorderError(
                    "already exists: give another name, remove it, or add to it with append=True"
                ) from None
            self.descriptor = os.open(path, flags)
        try:
            state = os.fstat(self.descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise RecorderError("is not a regular file: give another name")
            mine = self.created or not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
            if state.st_size == 0 and (state.st_nlink > 1 or not mine):
                raise RecorderError("is an empty file of another user or with a second name: remove it, or give another name")
            self._set(True)
            self._refuse_twice(state)
        except BaseException:
            os.close(self.descriptor)
            raise
        self.identity = state.st_dev, state.st_ino
        self._written.add(self.identity)

    def _refuse_twice(self, state):
        if (state.st_dev, state.st_ino) in self._written:
            raise RecorderError("is being written by this process: close that recorder first, or give another name")

    def _set(self, locked):
        try:
            if hasattr(fcntl, "F_OFD_SETLK"):
                kind = fcntl.F_WRLCK if locked else fcntl.F_UNLCK
                fcntl.fcntl(self.descriptor, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, 0, self._BYTE, 1, 0))
            elif fcntl is not None:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if locked else fcntl.LOCK_UN)
        except OSError as error:  # others: there are no such locks here
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise RecorderError(
                    "is being written by another process: wait until it has ended, or give another name"
                ) from None

    def head(self):
        """The first bytes of the file."""
        return os.read(self.descriptor, 100) if os.lseek(self.descriptor, 0, os.SEEK_SET) == 0 else b""

    def holds(self, path):
        """Whether the path still is this file."""
        with contextlib.suppress(OSError):
            state = os.lstat(path)
            return (state.st_dev, state.st_ino) == self.identity
        return False

    def release(self):
        """After SQLite closed the file."""
        if self.descriptor is not None:
            self._written.discard(self.identity)
            self._set(False)  # forks have the descriptor too
            os.close(self.descriptor)
            self.descriptor = None
