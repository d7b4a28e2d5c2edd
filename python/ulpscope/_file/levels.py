"""Steps merged in blocks, for readers of long runs."""

from .._counting.payloads import compressed
from .._counting.tables import merge_tables, payloads_of, summaries_of, summary_of
from .schema import KINDS, ROLES, insert_row


class Level:
    """Merges the tables of the steps of one block.

    Tables wait until some have gathered: merging many costs little more than merging two.
    """

    def __init__(self, width, block, whole):
        self.width, self.block = width, block
        self.whole = whole  # whether every step of the block that is in the file passes by here
        self.steps, self.merged = [], 0
        self._clear()

    def _clear(self):
        self.tensors, self.totals = {}, {}  # by (id, type, factor) and (kind, role, factor): tables that wait
        self.ids, self.numbers = set(), {}  # of tensors; how many each total is of

    def add(self, steps, tensors, totals):
        """tensors, totals: as take() gives them."""
        self.steps += steps
        self.merged += len(tensors)
        if not tensors.keys() <= self.tensors.keys():
            self.ids.update(id for id, _, _ in tensors)
        self._gather(self.tensors, tensors.items())
        self._gather(self.totals, ((key, table) for key, (table, _) in totals.items()))
        for key, (_, number) in totals.items():
            self.numbers[key] = self.numbers.get(key, 0) + number
        if len(self.tensors) > 8 * len(self.ids):  # factors that change all the time
            self.whole = False
            self._clear()

    @staticmethod
    def _gather(into, tables):
        for key, table in tables:
            waiting = into.get(key)
            if waiting is None:
                into[key] = [table]
                continue
            if len(waiting) >= 16 and (len(waiting) >= 64 or len(table) > 16):
                waiting[:] = [merge_tables(waiting)]
            waiting.append(table)

    def take(self):
        """{key: table} and {key: (table, number of tensors)}"""
        tensors, totals = ({key: merge_tables(waiting) for key, waiting in of.items()} for of in (self.tensors, self.totals))
        return tensors, {key: (table, self.numbers[key]) for key, table in totals.items()}


class Levels:
    """Blocks of steps merged, for readers of long runs. Readers merge themselves what is missing here, or is not of
    just the steps that are there: a kill or an error here costs them time, and the recording nothing."""

    def __init__(self, db, ranks):
        self.db, self.ranks = db, ranks
        self.narrow = self.wide = None

    def add(self, step, tensors, totals):
        """A step that is in the file."""
        if self.narrow is None or self.narrow.block != step // 64:
            self._leave()
            if self.wide is None or self.wide.block != step // 4096:
                self._store(self.wide)
                self.wide = self._enter(4096, step)
            self.narrow = self._enter(64, step)
        self.narrow.add([step], tensors, totals)

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
            self.wide.add(self.narrow.steps, tensors, totals)
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


def total_rows(totals):
    for (kind, role, factor), (table, tensors) in sorted(
        totals.items(), key=lambda item: (KINDS.index(item[0][0]), ROLES.index(item[0][1]), factor_order(item[0][2]))
    ):
        yield kind, role, tensors, summary_of(table, 0, 0, factor), compressed(payloads_of([table]))
