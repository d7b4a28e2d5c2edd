"""What the questions about runs return."""

from __future__ import annotations

import os
import shutil
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Union

from ._shown_tables import as_html, as_text


class Table(Dict[str, Any]):
    """Columns under their names, each a numpy array, all equally long: `pandas.DataFrame(table)` is its frame.

    Columns of integers are int64 and of reals float64; infinities are infinities. What `--json` has as null is NaN
    among numbers and None among texts and flags: a column of integers with gaps is float64, or object with None where
    an integer is beyond 2**53; a column with nothing in it is float64, all NaN. Texts are object arrays of str. A value
    that the input leaves open has NAME_low and NAME_high beside NAME, which is then missing.

    `len` is how many rows; printed, it shows the first and last of them, in notebooks as a table.

    schema     the name of the columns' meaning, as in JSON: "ulp.replay/1"
    notes      what a user should know of input and result, a line each
    summary    of a replay: what stands above its steps, as a dictionary
    per_tensor, hindsight    further tables, where they were asked for
    """

    def __init__(
        self,
        columns: Mapping[str, Any] = {},
        *,
        schema: str = "",
        notes: Iterable[str] = (),
        summary: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__(columns)
        self.schema = schema
        self.notes = list(notes)
        self.summary = summary
        self.per_tensor: Optional[Table] = None
        self.hindsight: Optional[Table] = None

    @property
    def height(self) -> int:
        """How many rows: `len`."""
        return len(next(iter(self.values()), ()))

    def __len__(self) -> int:
        return self.height

    def __bool__(self) -> bool:
        """Whether there are rows."""
        return self.height > 0

    def __repr__(self) -> str:
        title = f"<Table{self.schema and ' ' + self.schema}: {self.height} rows of {len(self.keys())} columns>"
        return "\n".join([title, *as_text(self, shutil.get_terminal_size().columns)])

    def _repr_html_(self) -> str:
        return as_html(self)

    def take(self, rows: Any) -> Table:
        """The same columns at these positions, or where a mask is true: an array, a list or a slice.

        Raises TypeError for a single position, IndexError for one that is not there and for a mask of another length.
        """
        if rows is None or isinstance(rows, (str, bytes)) or not (isinstance(rows, slice) or hasattr(rows, "__len__")):
            one = f"; [{rows}] is one row, and records()[{rows}] its values" if isinstance(rows, int) else ""
            raise TypeError(f"take: {rows!r} is neither positions nor a mask{one}")
        if not isinstance(rows, slice):
            import numpy

            rows = numpy.asarray(rows if len(rows) else [], None if len(rows) else int)
        return Table(
            {name: column[rows] for name, column in self.items()},
            schema=self.schema,
            notes=self.notes,
            summary=self.summary,
        )

    def copy(self) -> Table:
        """Another of the same columns, with notes, summary and further tables."""
        made = Table(self, schema=self.schema, notes=self.notes, summary=self.summary)
        made.per_tensor, made.hindsight = self.per_tensor, self.hindsight
        return made

    __copy__ = copy

    def records(self) -> List[Dict[str, Any]]:
        """The rows as dictionaries of Python's own values: what the array of `--json` holds, None for null."""
        lists = {name: [None if x != x else x for x in column.tolist()] for name, column in self.items()}
        return [dict(zip(lists, row)) for row in zip(*lists.values())]


class Binades(NamedTuple):
    """Counts by binade: exponents (E,), counts (R, E), and the R rows that they are of."""

    exponents: Any
    counts: Any
    rows: Table


class Picture:
    """An SVG picture: `svg` is its text; notebooks show it; `save` writes it. `notes` are what a user should know."""

    def __init__(self, svg: str, notes: Iterable[str] = ()) -> None:
        self.svg = svg
        self.notes = list(notes)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture: {len(self.svg)} bytes of SVG>"

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the picture as a file, in UTF-8."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)
