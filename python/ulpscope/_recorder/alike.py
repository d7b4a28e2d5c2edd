"""Gradients that are alike from step to step: compiled code takes and counts them at once, and what is known of them is kept."""

from .._counting.types import TYPES_BY_NUMBER
from .._counting.values import PlainValues, number_of_threads
from .graph import UNSEEN


class Alike:
    """What is known of the gradients of named parameters as long as they are of certain kinds: which there are, of what type
    and how many values. All are in the file, and lie on the host one value after the other."""

    __slots__ = ("named", "kinds", "infos", "numbers", "names", "in_few_bits", "parts", "_factors")

    def __init__(self, named, kinds, infos, numbers):
        """infos, numbers: of those that there are."""
        self.named, self.kinds, self.infos, self.numbers = named, kinds, infos, numbers
        self.names = {info.name for info in infos}
        self.in_few_bits = tuple(TYPES_BY_NUMBER[number].bits <= 16 for number in numbers)
        self.parts = tuple(map(int, self.in_few_bits))  # where nothing is known of passes: 16 bits are one
        self._factors = None, ()

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

    __slots__ = ("of", "taken", "parts", "tables")

    def __init__(self, of, taken, parts):
        self.of, self.taken, self.parts, self.tables = of, taken, parts, None

    def count(self, with_sums):
        """Counts now, and keeps no values."""
        if self.tables is None:
            self.tables, self.taken = self.taken.count(with_sums, number_of_threads()), None

    def forget_parts(self, name):
        """Of a gradient that is not in 16 bits, and so may be a sum."""
        parts = zip(self.of.infos, self.of.in_few_bits, self.parts)
        self.parts = tuple(0 if info.name == name and not is_low else n for info, is_low, n in parts)

    def one_by_one(self, with_sums):
        """The same as the recorder takes others."""
        self.count(with_sums)
        taken = []
        for info, number, parts, table in zip(self.of.infos, self.of.numbers, self.parts, self.tables):
            values = PlainValues(None, (None, table.numel, number))
            values.table, values.parts = table, parts
            taken.append((info.name, "weight_grad", (), 0, UNSEEN, values))
        return taken
