"""Steps merged in blocks, for readers of long runs."""

from .._counting.payloads import compressed
from .._counting.tables import Gathered, Tables, payloads_of, summaries_of, summary_of
from .schema import KINDS, ROLES, insert_row


class Merged:
    """Tables of many steps, each with a key, merged by key."""

    def __init__(self):
        self.columns, self.gathered = {}, Gathered()  # by key
        self.last = None, ()  # keys, which mostly are those of the step before, and their columns

    def __len__(self):
        return len(self.columns)

    def add(self, keys, tables):
        if self.last[0] is not keys:
            self.last = keys, [self.columns.setdefault(key, len(self.columns)) for key in keys]
        self.gathered.add(tables, self.last[1])

    def take(self):
        """{key: table}"""
        return dict(zip(self.columns, self.gathered.merged()))


class Level:
    """Merges the tables of the steps of one block."""

    def __init__(self, width, block, whole):
        self.width, self.block = width, block
        self.whole = whole  # whether every step of the block that is in the file passes by here
        self.steps, self.merged = [], 0
        self._clear()

    def _clear(self):
        self.tensors, self.totals = Merged(), Merged()  # by (id, type, factor) and (kind, role, factor)
        self.ids, self.numbers = set(), {}  # of tensors; how many each total is of

    def add(self, steps, keys, tables, totals):
        """tables: of tensors, each with a key. totals: as take() gives them."""
        whole, self.whole = self.whole, False  # an error or an interrupt may come in between: then nothing is stored
        self.merged += len(tables)
        before = len(self.tensors)
        self.tensors.add(keys, tables)
        if len(self.tensors) > before:
            self.ids.update(id for id, _, _ in keys)
        self.totals.add(list(totals), Tables([table for table, _ in totals.values()]))
        for key, (_, number) in totals.items():
            self.numbers[key] = self.numbers.get(key, 0) + number
        self.steps += steps
        self.whole = whole
        if len(self.tensors) > 8 * len(self.ids):  # factors that change all the time
            self.whole = False
            self._clear()

    def take(self):
        """{key: table} and {key: (table, number of tensors)}"""
        return self.tensors.take(), {key: (table, self.numbers[key]) for key, table in self.totals.take().items()}


class Levels:
    """Blocks of steps merged, for readers of long runs. Readers merge themselves what is missing here, or is not of
    just the steps that are there: a kill or an error here costs them time, and the recording nothing."""

    def __init__(self, db, ranks):
        self.db, self.ranks = db, ranks
        self.narrow = self.wide = None

    def add(self, step, keys, tables, totals):
        """A step that is in the file."""
        if self.narrow is None or self.narrow.block != step // 64:
            self._leave()
            if self.wide is None or self.wide.block != step // 4096:
                self._store(self.wide)
                self.wide = self._enter(4096, step)
            self.narrow = self._enter(64, step)
        self.narrow.add([step], keys, tables, totals)

    def close(self):
        self._leave()
        self._store(self.wide)

    def _enter(self, width, step):
        first = step // width * width
        rows = "SELECT count(*) FROM step WHERE step BETWEEN ? AND ? AND microbatch=-1"
        return Level(width, step // width, self.db.execute(rows, (first, first + width - 1)).fetchone() == (1,))

    def _leave(self):
        if self.narrow is not None:
            tensors, totals = self._store(self.narrow)
            self.wide.whole = self.wide.whole and self.narrow.whole
            self.wide.add(self.narrow.steps, list(tensors), Tables(tensors.values()), totals)
            self.narrow = None

    def _store(self, level):
        """Writes the block, unless it merges so few tables that reading them is as fast; its merged tables."""
        if level is None:
            return None
        tensors, totals = level.take()
        if level.whole and level.merged >= 16 * len(tensors) > 0:
            ordered = sorted(tensors.items(), key=lambda item: (*item[0][:2], factor_order(item[0][2])))
            tables = [table for _, table in ordered]
            summary = summaries_of(tables, *zip(*(key for key, _ in ordered)))
            cells = compressed(payloads_of(tables))
            key = (level.width, level.block, self.ranks)
            with self.db.transaction():
                steps = (len(level.steps), min(level.steps), max(level.steps))
                insert_row(self.db, "level", (*key, *steps), (summary, cells))
                self.db.execute("DELETE FROM level_total WHERE width=? AND block=? AND ranks=?", key)
                for total in total_rows(totals):
                    insert_row(self.db, "level_total", key + total)
        return tensors, totals


def factor_order(factor):
    """Unknown factors come first."""
    return (factor is not None, factor or 0.0)


def total_order(of):
    """Of kind, role and factor."""
    return KINDS.index(of[0]), ROLES.index(of[1]), factor_order(of[2])


def total_rows(totals):
    for (kind, role, factor), (table, tensors) in sorted(totals.items(), key=lambda item: total_order(item[0])):
        yield kind, role, tensors, summary_of(table, 0, 0, factor), compressed(payloads_of([table]))
