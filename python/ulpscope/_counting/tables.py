"""Tables merged, and as bytes: compiled where that is there, and equal where it is not."""

import math

from .._errors import RecorderError
from . import cells, payloads
from .compiled import counting

if counting is None:
    merge_tables = cells.merge_tables
    payloads_of = payloads.payloads_of
    Tables, Gathered = cells.Tables, cells.Gathered

    def columns_of(tensors, type_numbers, factors):
        """What summary records have besides tables and parts, for records_of."""
        return tensors, type_numbers, factors

    def records_of(tables, columns, parts=()):
        """The summary records, one after the other."""
        return payloads.summaries_of(tables, *columns, parts)

    def written_of(tables, columns, parts, groups, made=None):
        """What is written of a step: summaries and compressed payloads of its tables; of each group of them its table, and the same of
        it. groups: {(..., factor): places}."""
        of_groups = []
        for (*_, factor), at in groups.items():
            total = tables.merged(at)
            of_groups.append((total, summary_of(total, 0, 0, factor), payloads.compressed(payloads_of([total]))))
        return records_of(tables, columns, parts), payloads.compressed(payloads_of(tables)), of_groups

else:
    merge_tables = counting.merge
    payloads_of = counting.payloads
    records_of = counting.summaries
    Tables, Gathered = counting.Tables, counting.Gathered

    def columns_of(tensors, type_numbers, factors):
        return counting.Columns(tensors, type_numbers, [math.nan if factor is None else factor for factor in factors])

    def written_of(tables, columns, parts, groups, made=None):
        factors = [math.nan if factor is None else factor for *_, factor in groups]
        try:
            return counting.content(tables, columns, parts, list(groups.values()), factors, made)
        except RuntimeError as error:  # more than a recording holds
            raise RecorderError(str(error)) from None


def summaries_of(tables, tensors, type_numbers, factors, parts=()):
    """As payloads.summaries_of."""
    return records_of(tables, columns_of(tensors, type_numbers, factors), parts)


def summary_of(table, tensor, type_number, factor):
    return summaries_of([table], [tensor], [type_number], [factor])


def as_compiled(table):
    """What Python counted, as one of the tables that the others are."""
    if counting is None or isinstance(table, counting.Table):
        return table
    keys, counts = table.keys.tolist(), table.counts.tolist()
    codes = None if table.codes is None else tuple(of.tolist() for of in table.codes)
    return counting.Table(
        table.numel, table.zeros, table.infinities, table.nans, table.largest, table.least, keys, counts, table.sums, table.cut, codes
    )
