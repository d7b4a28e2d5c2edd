"""Recorded runs, and the questions that `ulp` answers about them.

Everything here takes what the command line takes, under the same names with underscores for hyphens (`clip_norm=1`
is `--clip-norm 1`), and gives what `--json` gives, as a `Table`: a dictionary of numpy columns that
`pandas.DataFrame` accepts directly. It needs numpy and the compiled module `ulpscope._runs`.

Long work releases the interpreter's lock, so that other threads run meanwhile; Ctrl-C ends it with `KeyboardInterrupt`. Bad
input raises `ValueError` with the message of the command line, a missing file `FileNotFoundError`, an unknown keyword
`TypeError`.
"""

from __future__ import annotations

import errno
import os
from typing import Any, Dict, Iterable, List, Optional, Union

from . import _runs
from ._formats import format_name
from ._run_tables import Binades, Picture, Table

__all__ = [
    "Recording",
    "Run",
    "Scenario",
    "advise",
    "open",
    "outcomes",
    "precision",
    "replay",
    "sweep",
    "views",
]


_DEPTHS = ("head", "steps", "rows", "cells")  # how far runs are read, each with what is before it

Path = Union[str, bytes, "os.PathLike[Any]"]
# What a question is asked about.
Input = Union[Path, Iterable[Path], "Run"]


class Run:
    """A run that was opened: a recording, dumps, event files, a histogram CSV, a step log, a table, or a training log.

    `inputs` is a path or several, `options` those of `ulp info`: `tensor`, `kind`, `role`, `steps`, `every` and
    `attempts` select; `steps_from`, `scalars`, `columns`, `factor`, `allow_empty` and `limit` say what the inputs do
    not. Lists may be given where the command line repeats an option. The same options hold for the questions asked
    of it.

    Opening reads no steps. What an attribute needs is read when it is first asked for, and kept: of a recording `tensors`
    at once, `steps` without tensors, some seconds for a million; then `rows`, then `cells`, which are many. steps="100:200"
    reads these alone. Of other inputs `steps` reads all but cells. A file that is damaged further on raises then.

    Unlike for the questions, all attempts of a repeated step are kept unless `attempts` says "last" or "first".
    """

    def __init__(self, inputs: Union[Path, Iterable[Path]], **options: Any) -> None:
        self.inputs: List[str] = _inputs(inputs)
        self.options: Dict[str, Any] = {name: _given(value) for name, value in options.items()}
        self._read: Dict[str, Any] = {}
        self._contents("head")

    def __repr__(self) -> str:
        shown = self.inputs[0] if len(self.inputs) == 1 else f"{self.inputs[0]} and {len(self.inputs) - 1} more"
        steps = self.steps.height if "steps" in self._read else self._read["step_count"]
        held = f", {steps} steps, {self.tensors.height} tensors" if steps else ""
        return f"<{type(self).__name__} {shown}: {self.description}{held}>"

    def _contents(self, depth: str) -> Dict[str, Any]:
        """What was read, at least as far as depth."""
        if not self._read or _DEPTHS.index(self._read["read"]) < _DEPTHS.index(depth):
            self._read = _runs.run_read(_paths(self.inputs), _keywords(self.options), depth)
        return self._read

    @property
    def kind(self) -> str:
        """What it is: "recording", "dump", "histogram_csv", "event_files", "step_log" or "training_log"."""
        return self._read["kind"]

    @property
    def description(self) -> str:
        """The same in words, as `ulp info` prints it: "safetensors dump"."""
        return self._read["description"]

    @property
    def header(self) -> Dict[str, Any]:
        """Of a recording where it comes from: run_id, rank, world, reduction, layout; else empty."""
        return self._read["header"]

    @property
    def notes(self) -> List[str]:
        """What a user should know about it, a line each."""
        return self._contents("steps")["notes"]

    @property
    def tensors(self) -> Table:
        """A `Table` with a row for each tensor: tensor (its name), index, kind, role, through, numel, shape.

        `through` is the format that values had been rounded to before they were recorded, None where none is known;
        `numel` is in total over all shards; `shape` is a tuple, empty where it is not known.
        """
        depth = "head" if self.kind == "recording" else "steps"  # the tensors of others are known when they were read
        return Table(self._contents(depth)["tensors"], notes=self._read["notes"])

    @property
    def steps(self) -> Table:
        """A `Table` with a row for each step: what was logged of it.

        step, attempt (above 0 where the step was repeated), microbatch (-1: the accumulated gradient), loss,
        grad_norm, lr, scale (the loss scale), found_inf, applied, ranks (how many the row holds). Of logs without
        tensors max_abs is the largest unscaled gradient, max_abs_low <= it < max_abs_high where the log only bounds
        it. NaN, or None among flags, where nothing was logged.
        """
        return Table(self._contents("steps")["steps"], notes=self.notes)

    @property
    def rows(self) -> Table:
        """A `Table` with a row for each tensor in each step.

        step, attempt, microbatch; tensor (its name) and its index; type of the values; factor (recorded value = factor
        times true gradient; NaN where it is not known). Counts: numel, zero (known to be), maybe_zero (of sources
        that do not tell), positive_inf, negative_inf, inf (these, and those of unknown sign), nan. Of the finite
        values, as recorded: max_abs and min_abs (the smallest nonzero magnitude; 0 where all are zero, NaN where the
        source does not tell), l1 (the sum of magnitudes) and square_sum, of which `sums` says whether they are
        "exact", "reported" by the source, or "estimated" from the counts.
        """
        return Table(self._contents("rows")["rows"], notes=self.notes)

    @property
    def cells(self) -> Table:
        """A `Table` of all counts: row (its position in `rows`), sign (1, -1, 0 where it is not known), exponent, slot,
        count.

        The value 2**exponent * (1 + f) is in slot 0 to 25 by f, as docs/recording-format.md lists them; -1: anywhere
        in its binade. Zeros, infinities and NaN are in no cell.
        """
        return Table(self._contents("cells")["cells"], notes=self.notes)

    @property
    def buckets(self) -> Table:
        """A `Table` of what TensorBoard counted between its edges: row (its position in `rows`), low, high, count."""
        return Table(self._contents("cells")["buckets"], notes=self.notes)

    def binades(self, tensor: Optional[str] = None) -> Binades:
        """Counts by binade: how many values as recorded have 2**k <= |value| < 2**(k + 1).

        Of all rows, or of one tensor by its name. Returns a `Binades` with

        - `exponents`: int64 (E,), ascending, from the least to the greatest that occurs
        - `counts`: int64 (R, E); zeros, infinities, NaN and what is in buckets is in none
        - `rows`: the R rows, a `Table` like `Run.rows`
        """
        import numpy

        cells, rows = self.cells, self.rows
        chosen = numpy.arange(rows.height)
        if tensor is not None:
            if tensor not in self.tensors["tensor"]:
                raise ValueError(f"no tensor '{tensor}' in {self.inputs[0]}; run.tensors lists them")
            chosen = numpy.flatnonzero(rows["tensor"] == tensor)
        place = numpy.full(rows.height, -1)
        place[chosen] = numpy.arange(len(chosen))
        at = place[cells["row"]]
        kept = at >= 0
        exponents, counts = cells["exponent"][kept].astype(numpy.int64), cells["count"][kept]
        least = int(exponents.min()) if len(exponents) else 0
        width = int(exponents.max()) - least + 1 if len(exponents) else 0
        table = numpy.zeros((len(chosen), width), numpy.int64)
        numpy.add.at(table, (at[kept], exponents - least), counts)
        return Binades(numpy.arange(least, least + width), table, rows.take(chosen))

    def outcomes(self, format: Any, **options: Any) -> Table:
        """As `ulpscope.outcomes` of it."""
        return outcomes(self, format, **options)

    def replay(self, scaler: Optional[str] = None, format: Any = None, **settings: Any) -> Table:
        """As `ulpscope.replay` of it."""
        return replay(self, scaler, format, **settings)

    def sweep(self, scaler: Any = None, format: Any = None, **settings: Any) -> Table:
        """As `ulpscope.sweep` of it."""
        return sweep(self, scaler, format, **settings)

    def advise(self, **options: Any) -> Table:
        """As `ulpscope.advise` of it."""
        return advise(self, **options)

    def precision(self, question: str, format: Any = None, **options: Any) -> Table:
        """As `ulpscope.precision` of it."""
        return precision(self, question, format, **options)

    def plot(self, view: str = "window", **settings: Any) -> Picture:
        """A picture of it, as `ulp report` and the viewer draw it: a `Picture`, which notebooks show.

        `view` is one of `ulpscope.views()`:

        - "window": gradients by magnitude and step, with the limits of the format, which move with the loss scale
        - "scale": the loss scale, replayed, beside the largest one at which the step does not overflow
        - "layers": underflow by tensor and step, of the 30 tensors that lose most
        - "clipping": the norm of the gradients, with the bound of `clip_norm`
        - "logged": what the run logged: loss, learning rate, norm, loss scale

        `settings` are those of `replay`; without them float16 under PyTorch's GradScaler. Raises ValueError where the
        run has nothing to draw in it: a single step has no curves, a log no gradients. What only the viewer draws is
        exported by it: `ulpscope RUN --view VIEW --export FILE`.
        """
        return Picture(*_ask(_runs.run_plot, self, settings, str(view)))


class Recording(Run):
    """A recording, one `.ulp` file; anything else raises ValueError. See `Run` for what is in it."""

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(path, **options)
        if self.kind != "recording":
            raise ValueError(f"{self.inputs[0]}: is a {self.description}, not a recording; ulpscope.open reads it")


def open(inputs: Union[Path, Iterable[Path]], **options: Any) -> Run:
    """Opens anything that `ulp` reads, a path or a list of paths: `Run(inputs, **options)`.

    The kind of a file is recognised by its content. Several dumps are the steps of one run.
    """
    return Run(inputs, **options)


def outcomes(input: Input, format: Any, **options: Any) -> Table:
    """How many values underflow, become subnormal or overflow: `ulp outcomes`.

    `input` is a path, several, or a `Run`; `format` one or several. Options: `scale` (one or several loss scales on
    the true gradient), `by` ("tensor", "kind", "step", "group", several of them: rows are separate by these and summed
    over the rest), `as_recorded`, `sort`, `top`, `rounding`, `seed`, `saturate`, `ftz`, `daz`, `group`, and those of
    `Run`. A `Table` with the columns of `ulp outcomes --json` (docs/output.md).
    """
    columns, notes = _ask(_runs.run_outcomes, input, {"format": format, **options})
    return Table(columns, schema="ulp.outcomes/1", notes=notes)


def replay(input: Input, scaler: Optional[str] = None, format: Any = None, **settings: Any) -> Table:
    """A run's loss-scale trajectory under another scaler and format: `ulp replay`.

    `input` is a path, several, or a `Run`; `scaler` a name or alias of `scalers()`; `format` the format whose overflow
    it sees. Parameters of the scaler are keywords under the framework's names, or in `set={...}`, its state before the
    first step in `start={...}`. Further: `config` (a framework's configuration in place of scaler, parameters and
    format), `framework` (whose it is, where its keys do not say it), `rounding`, `seed`, `saturate`, `ftz`, `daz`, `check`, `clip_norm`, `clip_value`, `order`, `group`, and
    those of `Run`.

    A `Table` with a row for each step, the columns of `ulp replay --json`, and its `summary`. `per_tensor=True` adds
    `per_tensor`, a `Table` with a row for each step and counted tensor. Where the scaler raised, the table ends and
    `summary["error"]` says what it raised. Gradients stay those that were recorded: `summary["first_diverged_step"]` is
    the step from which on that is open loop.

    `recipe` ("te_delayed:hybrid"), or a policy that scales each tensor as `scaler`, replays FP8 scales: a row for each
    step and tensor, and in `per_tensor` one for each tensor, the worst first. `input` may be a table of amaxes, too.
    """
    settings = {"scaler": scaler, "format": format, **settings}
    if settings.get("recipe") and scaler:
        raise ValueError("recipe: a recipe has its own policy; remove one of recipe and scaler")
    if _runs.asks_for_fp8(str(settings.get("recipe") or ""), str(scaler or "")):
        columns, notes, summary, tensors = _ask(_runs.run_replay_fp8, input, settings)
        table = Table(columns, schema="ulp.replay-fp8/1", notes=notes, summary=summary)
        table.per_tensor = Table(tensors, notes=notes)
        return table
    columns, notes, summary, tensors = _ask(_runs.run_replay, input, settings)
    table = Table(columns, schema="ulp.replay/1", notes=notes, summary=summary)
    if tensors is not None:
        table.per_tensor = Table(tensors, notes=notes)
    return table


def sweep(input: Input, scaler: Any = None, format: Any = None, **settings: Any) -> Table:
    """Many scalers, parameters, formats and roundings over one run, ranked: `ulp sweep`.

    As `replay`, with lists: `sweep(run, ["pytorch", "megatron"], ["float16", "cbfloat16"], growth_interval=[50, 200])`
    tries every combination, each scaler with the parameters that it has. `magnitude_cost` is what losing a step's
    whole magnitude costs, in skipped steps. A `Table` with a row for each combination, the best first; with
    `hindsight=True` its `hindsight` is a `Table` with the best scale of each step in each format and rounding.

    `recipe`, one or several (["te_delayed", "te_current:e4m3"]), or policies that scale each tensor as `scaler`, compare
    FP8 scales, as in `replay`: `sweep(run, recipe=["te_delayed", "te_current"], amax_history_len=[1, 16, 1024])`.
    """
    settings = {"scaler": scaler, "format": format, **settings}
    scalers = [scaler] if isinstance(scaler, str) else list(scaler or ())
    names = [name for given in scalers for name in str(given).split(",")]
    if settings.get("recipe") or any(_runs.asks_for_fp8("", name) for name in names):
        columns, notes = _ask(_runs.run_sweep_fp8, input, settings)
        return Table(columns, schema="ulp.sweep-fp8/1", notes=notes)
    columns, notes, best = _ask(_runs.run_sweep, input, settings)
    table = Table(columns, schema="ulp.sweep/1", notes=notes)
    if best is not None:
        table.hindsight = Table(best, notes=notes)
    return table


def advise(input: Input, **options: Any) -> Table:
    """What to change in a run, in plain words: `ulp advise`.

    Options: `format`, `epsilon` (the share of the magnitude of gradients that underflow may take), `check`, `config`,
    `framework`, `rounding` and its switches, `group`, and those of `Run`. A `Table` with a row for each finding, the summary first:
    topic, question, conclusion, evidence, limits, and numbers, a dictionary.
    """
    columns, notes = _ask(_runs.run_advise, input, options)
    return Table(columns, schema="ulp.advise/1", notes=notes)


def precision(input: Input, question: str, format: Any = None, **options: Any) -> Table:
    """What low precision does beyond loss scaling: `ulp precision QUESTION`.

    `input` is a path, several, a folder of dumps, or a `Run`; `format` one or several, else the command's own. The
    questions and their options, beside those of `Run`:

    - "weights": the updates that weights without a master copy lose. `by` ("tensor", "step", "group", several), `lr`,
      `curvature`, `config`, `framework`, `sort`, `top`, `rounding` and its switches, `group`
    - "accumulate": what accumulating micro-batches loses. `chunk` (one or several), `microbatches`, `config`,
      `framework`, `rounding` and its switches
    - "random-bits": how many random bits stochastic rounding needs. `lr`, `lose` (the share of the mass of updates that
      may be lost), `by_tensor`
    - "optimizer8": what optimizer states and weights in few bits do. `dialect` (one or several recipes; their formats
      are in them, `format` is not taken), `lr`, `beta2`, `block_size`, `set` (a dictionary), `w0`, `parts` (a dictionary
      of sizes), `elements`, `by_tensor`, `mark`, `quantizers`, `seed`

    A `Table` with the columns of the command's `--json` (docs/output.md); its conclusions are among the `notes`.
    """
    if format is not None:
        options["format"] = format
    columns, notes = _ask(_runs.run_precision, input, options, str(question))
    schema = "quantizers" if question == "optimizer8" and options.get("quantizers") else question
    return Table(columns, schema=f"ulp.precision.{schema}/1", notes=notes)


def views() -> List[str]:
    """The pictures that `Run.plot` draws."""
    return _runs.run_views()


class Scenario:
    """The settings of a replay, to be used with several runs.

    Takes the settings of `replay`, which are checked when a run is replayed.
    """

    def __init__(self, scaler: Optional[str] = None, format: Any = None, **settings: Any) -> None:
        self.settings: Dict[str, Any] = {"scaler": scaler, "format": format, **settings}
        self.settings = {name: value for name, value in self.settings.items() if value is not None}

    def __repr__(self) -> str:
        return f"Scenario({', '.join(f'{name}={value!r}' for name, value in self.settings.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.settings == other.settings

    def replay(self, input: Input, **options: Any) -> Table:
        """As `replay` of the input; `options` are those of `Run`, and may replace settings."""
        return replay(input, **{**self.settings, **options})

    def command(self, input: Input, **options: Any) -> str:
        """The `ulp replay` line that does the same."""
        return _ask(_runs.run_command, input, {**self.settings, **options})


def _ask(answer: Any, input: Input, options: Dict[str, Any], *more: Any) -> Any:
    """answer(paths, *more, options) with the options that a run was opened with."""
    if isinstance(input, Run):
        options = {**input.options, **options}
        input = input.inputs
    return answer(_paths(_inputs(input)), *more, _keywords(options))


def _keywords(options: Dict[str, Any]) -> Dict[str, Any]:
    """As the compiled part takes them. Raises FileNotFoundError where one is a file that does not exist."""
    given = {name: _given(value) for name, value in options.items()}
    for name in ("config", "scalars", "w0"):
        if given.get(name):
            _check_exists(given[name])
            given[name] = os.fsencode(given[name])
    if "format" in given:
        given["format"] = _format_names(given["format"])
    return given


def _given(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _inputs(inputs: Union[Path, Iterable[Path]]) -> List[str]:
    """Paths as a list of str. Raises FileNotFoundError where one does not exist."""
    if isinstance(inputs, (str, bytes, os.PathLike)):
        inputs = [inputs]
    paths = [os.fsdecode(path) for path in inputs]
    if not paths:
        raise ValueError("no input is given: name a recording, dumps, event files or a log")
    for path in paths:
        _check_exists(path)
    return paths


def _check_exists(path: Path) -> None:
    if os.fsdecode(path) == "-":
        raise ValueError("-: standard input is not read from Python; name a file")
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fsdecode(path))


def _paths(inputs: List[str]) -> List[bytes]:
    return [os.fsencode(path) for path in inputs]


def _format_names(format: Any) -> Any:
    """The name of a format, or a list of those of several."""
    if format is None:
        return None
    is_pair = isinstance(format, tuple) and len(format) == 2 and all(isinstance(bits, int) for bits in format)
    if isinstance(format, (list, tuple)) and not is_pair:
        return [format_name(one) for one in format]
    return format_name(format)
