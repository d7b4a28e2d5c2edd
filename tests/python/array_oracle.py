"""Rounding by definition, for the tests of arrays: the sorted numbers of a format, and which of two is next."""

import functools
from fractions import Fraction

import numpy


# name: (exponent bits, fraction bits, bias, codes from the top down that are no finite numbers, has infinity)
FORMATS = {
    "float16": (5, 10, 15, 1 << 10, True),
    "bfloat16": (8, 7, 127, 1 << 7, True),
    "cbfloat16": (6, 9, 31, 1 << 9, True),
    "float8_e4m3fn": (4, 3, 7, 1, False),
}
ROUNDINGS = ["nearest-even", "nearest-away", "toward-zero", "toward-positive", "toward-negative", "to-odd"]


def positive_numbers(name):
    """All finite numbers from 0 up, in the order of their codes, as doubles: exact."""
    exponent_bits, fraction_bits, bias, reserved, _ = FORMATS[name]
    codes = numpy.arange((1 << (exponent_bits + fraction_bits)) - reserved)
    field, fraction = codes >> fraction_bits, codes & ((1 << fraction_bits) - 1)
    significand = numpy.where(field == 0, fraction, fraction | (1 << fraction_bits))
    return numpy.ldexp(significand.astype(float), numpy.maximum(field, 1) - bias - fraction_bits)


def hard_cases(name, type_):
    """All numbers of a format and the midpoints between them, with their neighbours in a type; and special ones."""
    numbers = positive_numbers(name)
    beyond = 2 * numbers[-1] - numbers[-2]  # the next number if exponents went on
    points = numpy.append(numbers, beyond)
    points = numpy.append(points, (points[1:] + points[:-1]) / 2)
    largest = float(numpy.finfo(type_).max)
    points = points[points <= largest].astype(type_)
    infinity = type_("inf")
    points = numpy.concatenate([points, numpy.nextafter(points, infinity), numpy.nextafter(points, -infinity)])
    special = numpy.array([numpy.nan, infinity, largest, numpy.finfo(type_).smallest_subnormal], type_)
    points = numpy.concatenate([numpy.abs(points), special])
    return numpy.concatenate([points, -points])


def rounded(name, x, rounding):
    """Doubles rounded to the numbers of a format; of NaN the sign alone counts."""
    numbers = positive_numbers(name)
    magnitude, negative = numpy.abs(x), numpy.signbit(x)
    below = numpy.searchsorted(numbers, magnitude, side="right") - 1
    beyond = 2 * numbers[-1] - numbers[-2]
    up = numpy.append(numbers[1:], beyond)[below]
    down = numbers[below]
    half, odd = (down + up) / 2, below % 2 == 1
    lost = magnitude != down
    goes_up = {
        "nearest-even": (magnitude > half) | ((magnitude == half) & odd),
        "nearest-away": magnitude >= half,
        "toward-zero": lost & False,
        "toward-positive": lost & ~negative,
        "toward-negative": lost & negative,
        "to-odd": lost & ~odd,
    }[rounding]
    result = numpy.where(goes_up, up, down)
    has_infinity = FORMATS[name][4]
    overflow = result >= beyond
    if rounding == "to-odd":  # what is odd beyond the largest number does not matter
        overflow[:] = False
        result[magnitude >= beyond] = numbers[-1]
        result = numpy.minimum(result, numbers[-1])
    result = numpy.where(overflow | numpy.isinf(x), numpy.inf if has_infinity else numpy.nan, result)
    result = numpy.where(numpy.isnan(x), numpy.nan, result)
    return numpy.copysign(result, x)


@functools.lru_cache(None)
def positive_fractions(name):
    return [Fraction(v) for v in positive_numbers(name)]


def rounded_fraction(name, x, rounding, zero_is_negative=False):
    """An exact result rounded; overflow is left to others (None)."""
    numbers = positive_fractions(name)
    negative = x < 0 or (x == 0 and zero_is_negative)
    magnitude = abs(x)
    if magnitude >= numbers[-1]:
        return None if magnitude > numbers[-1] else float(x)
    low, high = 0, len(numbers) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if numbers[middle] <= magnitude else (low, middle)
    half, odd = (numbers[low] + numbers[low + 1]) / 2, low % 2 == 1
    lost = magnitude != numbers[low]
    goes_up = {
        "nearest-even": magnitude > half or (magnitude == half and odd),
        "nearest-away": magnitude >= half,
        "toward-zero": False,
        "toward-positive": lost and not negative,
        "toward-negative": lost and negative,
        "to-odd": lost and not odd,
    }[rounding]
    result = float(numbers[low + 1] if goes_up else numbers[low])
    return -result if negative else result
