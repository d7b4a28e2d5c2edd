"""Whether gradients were clipped to a norm before they were recorded."""

import math


def limit_of(norms):
    """The limit at which many of the norms are, none above it and hardly any just below, where those of any other run would be;
    None where there is none, or fewer than 20. As analysis/model/causes/recorded_clipped.cpp, which has the same numbers."""
    norms = sorted(n for n in norms if 0 < n < math.inf)
    if len(norms) < 20:
        return None
    limit = norms[len(norms) - 1 - len(norms) // 20]

    def within(low, high):
        return [n for n in norms if low * limit <= n < high * limit]

    # Norms that hardly differ pile up by themselves: some must lie far below, or most be the same but for rounding.
    if norms[len(norms) // 10] > 0.8 * limit and 2 * len(within(1 - 1e-4, 1 + 1e-4)) < len(norms):
        return None
    # Norms that are estimated from cells are off by some percent, so more of them must speak.
    for near, share in ((0.01, 0.1), (0.05, 0.3)):
        at = within(1 - near, 1 + near)
        is_limit = len(at) >= max(5, share * len(norms)) and not within(1 + near, math.inf)
        # Products that are rounded one by one do not give the same norm to the last bit, as a run that stands still does.
        if is_limit and 4 * len(within(1 - 3 * near, 1 - near)) <= len(at) <= 2 * len(set(at)):
            return limit
    return None
