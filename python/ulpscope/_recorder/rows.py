"""Makes the rows of a step: what is written of each tensor."""

import math

from .._counting.tables import Tables, merge_tables
from .._counting.values import tables_of
from .._errors import RecorderError
from .._file.schema import Info, Rows
from .alike import Bunch
from .graph import UNSEEN


class Factors:
    """What recorded values of a step are multiples of: recorded value = factor * true gradient."""

    __slots__ = ("of_loss", "own", "by_kind", "unscaled")

    def __init__(self, loss_scale, scaled, unscaled, factor):
        """unscaled: names of gradients that are not multiplied by the loss scale. factor: of all."""
        product = None if loss_scale is None else loss_scale * factor
        self.of_loss = product if product is not None and 0 < product < math.inf else None
        self.own, self.unscaled = factor, unscaled
        self.by_kind = {"weight_grad": self.of_loss if scaled else factor, "activation_grad": self.of_loss}  # all else: 1

    def of(self, name, kind):
        if self.unscaled and kind == "weight_grad":
            return self.own if name in self.unscaled else self.of_loss
        return self.by_kind.get(kind, 1.0)

    def of_all(self, alike):
        """Of gradients that are Alike."""
        return alike.factors(self.of_loss if self.unscaled else self.by_kind["weight_grad"], self.own, self.unscaled)


class RowMaker:
    def __init__(self, scope, file, parts):
        self._scope, self._file, self._parts = scope, file, parts
        self.is_mixed = False  # whether anything is in 16 bits
        self._infos = None  # those of the step before

    def rows(self, step, values, named, watched, factors, unfit):
        """values: gradients as Gradients takes them; named: what step() was given by name; watched: other tensors."""
        bunch, values = (values, []) if isinstance(values, Bunch) else (None, values)
        values = [*values, *named]
        if unfit and not values and not watched and bunch is None:
            raise next(iter(unfit.values()))
        if not values and self._scope.is_alone and bunch is None:
            raise RecorderError(f"{self._place(step)}: no gradients: call step() after backward, before zero_grad")
        values += watched
        rest = self._rows_of(step, values, factors, () if bunch is None else bunch.of.names)
        return rest if bunch is None else self._joined(bunch, rest, factors)

    def _place(self, step):
        return f"{self._file.shown}: step {step}"

    def _rows_of(self, step, values, factors, names):
        """Of tensors that were taken one by one; names: those of others."""
        tables, known, shards = tables_of([of for *_, of in values], self._scope.sums), self._file.tensors, self._scope.shards
        self._see_types(values)
        at, rows, factor_of = {}, [], factors.by_kind.get if not factors.unscaled else None
        blocks = {}
        for (name, kind, shape, total, cast, of), table in zip(values, tables):
            if name in names or (name in at and (kind == "weight_grad" or kind != rows[at[name]][0].kind)):
                raise RecorderError(f"{self._place(step)}: {name!r} is the name of several tensors")
            if name in at:  # a module that was called several times
                i = at[name]
                info, number, by, parts = rows[i]
                tables[i] = merge_tables([tables[i], table])
                info = info if shards else info._replace(numel=tables[i].numel)
                rows[i] = info, number if number == of.type.number else 0, by, parts
                before = blocks.pop(name, None)
                if before is not None and of.blocks is not None:
                    blocks[name] = before.merged(of.blocks)
                continue
            at[name] = i = len(rows)
            if of.blocks is not None:
                blocks[name] = of.blocks
            tables[i] = table  # those of before are as many or more
            info = known[name][1] if name in known else self._info(name, kind, shape, cast, of)
            numel = total if shards else of.numel
            if info.numel != numel:
                info = info._replace(numel=numel)
            rows.append((info, of.type.number, factor_of(info.kind, 1.0) if factor_of else factors.of(name, info.kind), of.parts))
        return Rows(*(zip(*rows) if rows else [()] * 4), Tables(tables[: len(rows)]), blocks=blocks)

    def _see_types(self, values):
        known = self._file.tensors
        if not self.is_mixed and not all(taken[0] in known for taken in values):
            in_few_bits = any(of.type.bits <= 16 for *_, of in values)
            self.is_mixed = in_few_bits or any(cast is not None for cast in self._parts.casts.values())

    def _joined(self, bunch, rest, factors):
        """The rows of a bunch, and the rest behind them."""
        alike, tables, by = bunch.of, bunch.tables, factors.of_all(bunch.of)
        blocks = {info.name: of for info, of in zip(alike.infos, bunch.blocks) if of is not None}
        if not rest.infos:
            return Rows(alike.infos, alike.numbers, by, bunch.parts, tables, bunch.made, blocks)
        tables.extend(rest.tables)
        infos = alike.infos + rest.infos
        if infos == self._infos:
            infos = self._infos
        self._infos = infos
        numbers, by, parts = alike.numbers + rest.type_numbers, by + rest.factors, bunch.parts + rest.parts
        return Rows(infos, numbers, by, parts, tables, blocks={**blocks, **rest.blocks})

    def _info(self, name, kind, shape, cast, of):
        is_low = of.type.bits <= 16 or cast not in (None, UNSEEN)
        through = of.type.name if of.type.bits <= 16 else cast if is_low else ""
        role = self._scope.role_of(name)
        if role is None:
            role = "low" if is_low else "float32" if self.is_mixed and cast is None else "unknown"
        return Info(name, kind, role, through, ",".join(map(str, shape)), 0)
