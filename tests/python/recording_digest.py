"""The digest of a recording after docs/recording-format.md alone, "Digest": nothing of the project is used."""

import hashlib
import math
import sqlite3
import struct
import sys
import zlib


def _text(text):
    octets = text.encode()
    return struct.pack("<Q", len(octets)) + octets


def _real(value):
    if value is None or value != value or value == "nan":
        return struct.pack("<Q", 0x7FF8000000000000)
    return struct.pack("<d", value or 0.0)


def _largest(max_abs):
    if max_abs is None:
        return bytes(9)
    if isinstance(max_abs, str) and max_abs != "nan":
        return b"\2" + bytes(8) + _text(max_abs)
    return b"\1" + _real(max_abs)


def _varint(octets, at):
    """The number at that place, and the place behind it."""
    number = shift = 0
    while True:
        octet = octets[at]
        at += 1
        number |= (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80:
            return number, at


def _payloads(octets):
    at = 0
    while at < len(octets):
        begin = at
        _, at = _varint(octets, at)
        length, at = _varint(octets, at)
        at += length
        yield octets[begin:at]


def _record(record):
    fields = bytearray(record)
    fields[0:4] = bytes(4)
    for flag, offset in ((2, 80), (4, 88)):
        if not fields[5] & flag:
            fields[offset : offset + 8] = bytes(8)
    for offset in range(56, 96, 8):
        if math.isnan(struct.unpack_from("<d", fields, offset)[0]):
            fields[offset : offset + 8] = _real(None)
    return bytes(fields)


def digest(path):
    db = sqlite3.connect(path)
    tensors = {id: texts for id, *texts in db.execute("SELECT id, name, kind, role, through FROM tensor")}
    total = hashlib.sha256(b"ulpscope digest 1\n")
    for *key, loss, grad_norm, lr, scale, found_inf, applied, max_abs, summary, cells in db.execute(
        "SELECT step, attempt, microbatch, loss, grad_norm, lr, loss_scale, found_inf, applied, max_abs, summary, cells"
        " FROM step ORDER BY step, attempt, microbatch"
    ):
        total.update(struct.pack("<3q", *key))
        total.update(b"".join(map(_real, (loss, grad_norm, lr, scale))))
        total.update(bytes(2 if flag is None else flag for flag in (found_inf, applied)))
        total.update(_largest(max_abs))
        records = [summary[i : i + 104] for i in range(0, len(summary), 104)]
        rows = [
            (*tensors[struct.unpack_from("<I", record)[0]], _record(record), payload)
            for record, payload in zip(records, _payloads(zlib.decompress(cells[8:]) if cells else b""))
        ]
        total.update(struct.pack("<Q", len(rows)))
        for *texts, record, payload in sorted(rows, key=lambda row: row[0].encode()):
            total.update(b"".join(map(_text, texts)) + record + payload)
    db.close()
    return total.hexdigest()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(digest(name))
