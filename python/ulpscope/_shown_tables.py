"""Tables for people to look at: the first rows and the last."""

from __future__ import annotations

import html
from typing import Any, List, Mapping, Tuple

_MOST, _FIRST, _LAST = 20, 10, 5  # rows


def _text(value: Any) -> str:
    if value is None or value != value:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _shown(column: Any) -> Tuple[List[str], bool]:
    """The texts of a column, and whether they are numbers. Between the first and the last is "..."."""
    if len(column) <= _MOST:
        values, gap = list(column), []
    else:
        values, gap = [*column[:_FIRST], *column[-_LAST:]], ["..."]
    values = [value.item() if hasattr(value, "item") else value for value in values]
    texts = [_text(value) for value in values]
    if gap:
        texts[_FIRST:_FIRST] = gap
    return texts, any(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def as_text(table: Mapping[str, Any], width: int) -> List[str]:
    """Lines of at most `width` characters, except where one column is wider; columns that have no room are named."""
    lines: List[str] = []
    left = list(table)
    while left:
        texts, is_number = _shown(table[left[0]])
        cells = [left[0], *texts]
        longest = max(map(len, cells))
        cells = [cell.rjust(longest) if is_number else cell.ljust(longest) for cell in cells]
        if lines and len(lines[0]) + 2 + longest > width:
            break
        lines = [f"{line}  {cell}" for line, cell in zip(lines, cells)] if lines else cells
        left.pop(0)
    if left:
        lines.append(f"and {len(left)} more columns: {', '.join(left)}")
    return [line.rstrip() for line in lines]


def as_html(table: Mapping[str, Any]) -> str:
    columns = {name: _shown(table[name]) for name in table}
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    rows = ""
    for row in zip(*(texts for texts, _ in columns.values())):
        cells = (
            f'<td style="text-align: {"right" if is_number else "left"}">{html.escape(cell)}</td>'
            for cell, (_, is_number) in zip(row, columns.values())
        )
        rows += f"<tr>{''.join(cells)}</tr>"
    height = len(next(iter(table.values()), ()))
    caption = f"<p>{height} rows</p>" if height > _MOST else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{caption}"
