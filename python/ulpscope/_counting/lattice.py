"""What cells tell of values that should be multiples of a power of two."""

import functools
import math

from .cells import BINADE, LOW, SLOTS, slot_of_fraction


@functools.lru_cache(None)
def cells_on_lattice():
    """By fraction bits from 0 to 10: which slots multiples have, and how much of the binade the others take."""
    slots = [{slot_of_fraction(n, bits) for n in range(1 << bits)} for bits in range(11)]
    widths = [0.0 if slot % 2 == 0 and slot < 24 else LOW[slot + 1] - low for slot, low in enumerate(LOW[:-1])]
    return [(of, sum(width for slot, width in enumerate(widths) if slot not in of)) for of in slots]


def off_float16(table, smallest):
    """Whether it has values that cannot be multiples of a power of two, the smallest number; how many such would be expected
    of values that are not rounded to them."""
    mantissa, exponent = math.frexp(smallest)
    if mantissa != 0.5 or table.least >= smallest * 2.0**11:
        return False, 0.0
    lattice, chance = cells_on_lattice(), 0.0
    for key, n in table.cells():
        slot, bits = key % SLOTS, key // SLOTS % BINADE - 2048 - (exponent - 1)
        if bits < len(lattice):
            if bits < 0 or slot not in lattice[bits][0]:
                return True, 0.0
            chance += n * lattice[bits][1] * (slot % 2)  # what is on an edge may be there for other reasons
    return False, chance
