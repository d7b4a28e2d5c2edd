"""Gradients that are alike from step to step: compiled code takes and counts them at once, and what is known of them is kept."""

from .._counting import kernels
from .._counting.tables import Tables
from .._counting.types import TYPES_BY_NUMBER
from .._counting.values import PlainValues, begin_by_torch, number_of_threads, plain_values, tables_of
from .graph import UNSEEN


class Alike:
    """What is known of the gradients of named parameters as long as they are of certain kinds: which there are, of what type
    and how many values. All are in the file, and lie on the host or on one device, one value after the other."""

    __slots__ = ("named", "kinds", "infos", "numbers", "names", "in_few_bits", "parts", "groups", "worker", "_factors", "_sizes")

    def __init__(self, named, kinds, infos, numbers, worker=None):
        """infos, numbers: of those that there are. worker: that makes tables of them where a device counts."""
        self.groups, self.worker = None, worker  # places of those that the file last had totals of, once it has
        self.named, self.kinds, self.infos, self.numbers = named, kinds, infos, numbers
        self.names = {info.name for info in infos}
        self.in_few_bits = tuple(TYPES_BY_NUMBER[number].bits <= 16 for number in numbers)
        self.parts = tuple(map(int, self.in_few_bits))  # where nothing is known of passes: 16 bits are one
        self._factors = None, ()
        self._sizes = None

    def sizes(self, taken):
        """(number of values, type) of each that there is, in what was taken of a step."""
        if self._sizes is None:
            self._sizes = kernels.kinds_of(taken)
        return self._sizes

    def factors(self, factor, of_unscaled=None, unscaled=()):
        """Of each gradient; of the names `unscaled` of_unscaled."""
        if unscaled and not self.names <= unscaled:
            return tuple(of_unscaled if info.name in unscaled else factor for info in self.infos)
        factor = of_unscaled if unscaled else factor
        if self._factors[0] != factor or not self._factors[1]:
            self._factors = factor, (factor,) * len(self.infos)
        return self._factors[1]


class Bunch:
    """Those of a step."""

    __slots__ = ("of", "taken", "parts", "made", "blocks", "_counter", "_tables", "_started")

    def __init__(self, of, taken, parts, counter=None):
        """counter: a BlockCounter, or None."""
        self.of, self.taken, self.parts, self._counter, self._tables, self._started = of, taken, parts, counter, None, None
        self.made = None  # what is written of them, where it was made while nothing waited
        self.blocks = ()  # Counted, of each

    @property
    def is_started(self):
        """Whether a device may still be counting."""
        return self._started is not None

    @property
    def tables(self):
        """Of what was counted, for which the host may have to wait."""
        if self._tables is None:
            self.arrive()
        return self._tables

    def arrive(self):
        """Waits for a device."""
        started = self._started
        if started is not None:  # a signal's handler may come here while this waits
            self._tables, self.made, self._started = started.tables(), started.arriving, None

    def count(self, with_sums):
        """Counts now, or lets the device begin, and keeps no values."""
        if self.taken is None:
            return
        if self._counter is not None:
            there = [tensor for tensor in self.taken.tensors if tensor is not None]
            self.blocks = self._counter.count_all([info.name for info in self.of.infos], there)
        if self.taken.device < 0:
            self._tables = self.taken.count(with_sums, number_of_threads())
        else:
            self._started = kernels.begin_taken(self.taken, self.of, with_sums)
            if self._started is None:  # torch's operations count
                values = [v for v in plain_values(self.taken) if v is not None]
                begin_by_torch(values, with_sums)
                self._tables = Tables(tables_of(values, with_sums))
        self.taken = None

    def forget_parts(self, name):
        """Of a gradient that is not in 16 bits, and so may be a sum."""
        parts = zip(self.of.infos, self.of.in_few_bits, self.parts)
        self.parts = tuple(0 if info.name == name and not is_low else n for info, is_low, n in parts)

    def one_by_one(self, with_sums):
        """The same as the recorder takes others."""
        self.count(with_sums)
        taken = []
        blocks = self.blocks or (None,) * len(self.of.infos)
        for info, number, parts, table, of_blocks in zip(self.of.infos, self.of.numbers, self.parts, self.tables, blocks):
            values = PlainValues(None, (None, table.numel, number))
            values.table, values.parts, values.blocks = table, parts, of_blocks
            taken.append((info.name, "weight_grad", (), 0, UNSEEN, values))
        return taken
