"""Doubts what was said of a step: what values show to be wrong."""

import math

from .._counting.lattice import off_float16
from .._counting.types import TYPES
from .clipping import limit_of
from .names import plain

LOOKS = 100  # steps whose values are looked at
SUMMED = 500  # tensors at most whose norm is: that takes some calls for each


class Doubts:
    """Each suspicion is returned once."""

    def __init__(self, scope, parameters, parts, every):
        self._scope, self._parameters, self._parts, self._every = scope, parameters, parts, every
        self._looks = LOOKS  # that are left
        self._suspected = set()
        self._norms = []  # of the first steps
        self._named = []  # parameters, as they are when gradients are taken
        self._scale_before, self._finite_before = None, False
        self._weight_grads_of = None, []

    def weight_grads(self, infos):
        """Where they are among the tensors of a step, which mostly are those of the step before."""
        if self._weight_grads_of[0] is not infos:
            self._weight_grads_of = infos, [i for i, info in enumerate(infos) if info.kind == "weight_grad"]
        return self._weight_grads_of[1]

    def see_names(self):
        """Before values are looked at, which may be in another thread."""
        graph = self._parts.graph
        if self._looks > 0 and graph is not None and "float16" in graph.casts.values():
            self._named = self._parameters.listed()

    def suspicions(self, rows, scale, scaled, factor, microbatch, next_scale=None):
        """Sentences. next_scale: a loss scale that step() was given and that the scaler did not have."""
        found = {}
        if next_scale is not None:
            found["next scale"] = (
                f"loss_scale={next_scale:g} was passed, and the scaler's was {scale:g}: that is recorded; leave loss_scale out"
            )
        at = self.weight_grads(rows.infos)
        if self._looks > 0 and at:
            self._looks -= 1
            self._parts.looks_for_digits = self._looks >= LOOKS - 2
            self._look_at_values(found, rows, at, scale, scaled, factor)
            if microbatch == -1 and not self._scope.shards and len(at) <= SUMMED:
                self._look_at_norm(found, rows, at)
        if microbatch == -1 and self._every == 1 and scale is not None:
            self._look_at_falls(found, rows.tables.are_finite(at), scale)
        new = [text for key, text in found.items() if key not in self._suspected]
        self._suspected.update(found)
        return new

    def _look_at_values(self, found, rows, at, scale, scaled, factor):
        if not self._scope.shards and rows.tables.are_zero(at):
            found["zeros"] = (
                "all gradients are zero: call step() after backward() and before zero_grad(); where that is so, the "
                "loss does not reach the parameters, or all gradients underflow"
            )
        largest = rows.tables.largest(at)
        # Else there may be uses in float32 outside of the model: these are not as small as what float16 loses.
        is_shown = self._parts.is_sure or self._parts.shown_by == "loss"
        through = self._through_float16(rows) if is_shown or (scale is not None and scale >= 1024) else {}
        least = min((t.least for t in through.values() if t.least > 0), default=math.inf)
        lost = 2.0**-24 * min(factor, 1.0) / self._scope.summed  # averages over ranks are smaller
        looked_at = through.items() if is_shown and self._looks >= LOOKS - 10 else ()
        cells = {name: off_float16(t, lost) for name, t in looked_at}
        off = next((name for name, (is_off, _) in cells.items() if is_off), None)
        if scale is not None and scale > 1 and scaled and (least < 0.99 * lost or off is not None):
            name, value = off, "has values that float16 does not"
            if least < 0.99 * lost:
                name = next(name for name, t in through.items() if t.least == least)
                value = f"has a value of {least:.3g}, below the smallest of float16"
            found["unscaled"] = (
                f"{name!r} was computed in float16 and {value}: it is not multiplied by the loss scale any more, or was clipped. "
                "Call step() before scaler.unscale_() and "
                "scaler.step(), or pass scaled=False and the loss scale of this step, taken before scaler.update()"
            )
        elif scale is not None and scale >= 4096 and scaled and self._looks == LOOKS - 1 and 0 < largest < scale * 2.0**-20:
            found["unscaled"] = (
                f"no gradient is above {largest:.3g}, and the loss scale is {scale:g}: the true ones would be below 1e-6. "
                "If they are not multiplied by the loss scale any more, call step() before scaler.unscale_() and "
                "scaler.step(), or pass scaled=False; if the loss was not multiplied by it, pass loss_scale=1"
            )
        elif scale is not None and 1 < scale < math.inf and not scaled and through:
            most = max(t.largest for t in through.values())
            by_chance = off is not None or sum(chance for _, chance in cells.values()) < 32
            # 64 parts of float16 add up to 2^22.
            if least == 2.0**-24 or most * scale > 2.0**22 or not by_chance:
                found["scaled"] = (
                    f"scaled=False was passed, but gradients that were computed in float16 (up to {most:.3g}, from "
                    f"{least:.3g}) are still multiplied by the loss scale: pass scaled=False only after scaler.unscale_()"
                )

    def _look_at_norm(self, found, rows, at):
        squares = rows.tables.squares(at)
        if squares < math.inf and rows.tables.are_finite(at):
            self._norms.append(math.sqrt(squares))
        if len(self._norms) not in (30, 60, LOOKS - 5):
            return
        limit = limit_of(self._norms)
        if limit is not None:
            found["clipped"] = (
                f"gradients were clipped before they were recorded: many norms are about {limit:.3g}, and none is larger. Call step() "
                "between backward() and clip_grad_norm_; what the optimizer is given tells neither which scale nor which norm to clip "
                "at is right"
            )

    def _look_at_falls(self, found, finite, scale):
        before = self._scale_before
        fell = before is not None and scale < before
        # After a step that overflowed too it may have fallen for that.
        if not finite and fell and self._finite_before:
            found["next scale"] = (
                f"the loss scale fell from {before:g} to {scale:g} in the step that overflows, and not after it: it is that of "
                "the next step. Call scaler.get_scale() before scaler.update()"
            )
        self._scale_before, self._finite_before = scale, finite

    def without_doubtful(self, rows, scaled, factor, is_mixed):
        """Without parts that values speak against, where no loss showed whether parameters are used outside of the model: numbers of
        float16 have a least, and what is summed up in float32 alone does not overflow where nothing else does."""
        parts = self._parts
        if parts.is_decided or not is_mixed:
            return rows
        each = list(zip(rows.infos, rows.type_numbers, rows.parts, rows.tables))
        of_low = [(info, n, table) for info, number, n, table in each if n & 255 and info.through in TYPES and number == 2]
        doubtful = set()
        if "float16" in parts.casts.values() and all(table.is_finite for *_, table in of_low):
            doubtful = {info.name for info, _, n, table in each if n and not n & 255 and not table.is_finite}
        for info, n, table in of_low if self._looks >= LOOKS - 10 else ():
            smallest = 2.0**-24 * min(factor, 1.0) / self._scope.summed
            if n < 256 and scaled and info.through == "float16" and off_float16(table, smallest)[0]:
                doubtful.add(info.name)
        if not doubtful:
            return rows
        for name, parameter in self._parameters:
            if plain(name) in doubtful:
                parts.drop(id(parameter))
        return rows._replace(parts=[0 if info.name in doubtful else n for info, n in zip(rows.infos, rows.parts)])

    def _through_float16(self, rows):
        """{name: table} of the parameters whose gradients all were numbers of float16, or are sums of such."""
        graph = self._parts.graph
        if graph is None or "float16" not in graph.casts.values():
            return {}
        tables = {info.name: table for info, table in zip(rows.infos, rows.tables)}
        names = [(plain(name), id(p)) for name, p in self._named]
        return {
            name: tables[name]
            for name, of in names
            if name in tables and graph.casts.get(of) == "float16" and of in graph.uses and of not in graph.unsure
            and not graph.uses[of][1]
        }  # fmt: skip
