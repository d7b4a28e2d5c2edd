"""Policies of loss scaling and of FP8 scales: the catalogue, and scalers to step by hand."""

from __future__ import annotations

import math
import numbers
from typing import Any, Dict, List, Mapping, Optional

from . import _runs
from ._formats import format_name
from ._run_tables import Table

__all__ = ["Fp8Scaler", "Scaler", "ScalerError", "scaler", "scalers"]


class ScalerError(RuntimeError):
    """An error that the framework itself raises at this step, in its words: a scale at its floor, too many skipped steps."""


def scalers(name: Optional[str] = None) -> Table:
    """The policies, a row each: `ulp scalers`; of one of them a row for each parameter.

    `scope` is "run" for loss scalers, "tensor" for policies that scale each tensor.
    """
    if name is None:
        return Table(_runs.scaler_catalog(), schema="ulp.scalers/1")
    return Table(_runs.scaler_parameters(name), schema="ulp.scaler/1")


def scaler(name: str, *, start: Optional[Mapping[str, float]] = None, **parameters: Any) -> Scaler:
    """The policy of that name or alias in its start state, a `Scaler`.

    `parameters` are the framework's own, see `scalers(name)`; `window` is the growth interval of any. `start` is the
    state before the first step: {"scale": 1024}. Raises ValueError for a value that the framework would refuse,
    TypeError for a parameter that it does not have. Policies that scale each tensor give an `Fp8Scaler`.
    """
    return Scaler(name, start, parameters)


class Scaler:
    """A loss scaler as its framework has it, quirks included, step by step: `scaler`.

    Parameters are keywords, Scaler("pytorch", growth_interval=3), or a dictionary where their names are no keywords.

    A step: multiply the loss by `scale`, look for infinities and NaN among the gradients, `update` with what was
    found. Not to be stepped by several threads at once. Of the name of a policy that scales each tensor it is an
    `Fp8Scaler`.
    """

    def __new__(cls, name: str = "", *args: Any, **keywords: Any) -> Any:
        is_of_tensors = cls is Scaler and isinstance(name, str) and _runs.asks_for_fp8("", name)
        return object.__new__(Fp8Scaler if is_of_tensors else cls)

    def __init__(
        self,
        name: str,
        start: Optional[Mapping[str, float]] = None,
        parameters: Optional[Mapping[str, Any]] = None,
        **keywords: Any,
    ) -> None:
        first = dict(start or {})
        _check_state({name: value for name, value in first.items() if not isinstance(value, str)})  # texts as in --start
        self._of = _runs.Scaler(name, first, {**(parameters or {}), **keywords})
        if self.scale < 0:
            raise ValueError(f"start: scale cannot be {self.scale}")

    @property
    def name(self) -> str:
        """In the catalogue."""
        return self._of.name()

    @property
    def scale(self) -> float:
        """The loss scale of the step about to run."""
        return self._of.scale()

    @property
    def parameters(self) -> Dict[str, Any]:
        """All of them with their values, under the framework's names."""
        return self._of.parameters()

    @property
    def state(self) -> Dict[str, float]:
        """The scale and the counters, under the framework's names; assign a dictionary to change some of them.

        Raises ValueError, and changes nothing, for a name that it does not have and a value that cannot be.
        """
        return self._of.state()

    @state.setter
    def state(self, values: Mapping[str, float]) -> None:
        _check_state(values)
        changed = self._of.copy()
        for name, value in values.items():
            changed.set_state(name, float(value))
            held = changed.state()[name]
            if not math.isclose(held, value, rel_tol=1e-6):  # a scale in float32 is rounded
                raise ValueError(f"state: {name} cannot be {value!r}; it would become {held:g}")
        self._of = changed

    @property
    def edge(self) -> float:
        """The magnitude of scaled gradients that it counts by, NaN where it does not: see `update`."""
        return self._of.edge()

    def update(
        self,
        found_inf: Any,
        *,
        unscaled_norm: Optional[float] = None,
        max_abs: Optional[float] = None,
        above_edge: Optional[float] = None,
        up_to_edge: Optional[float] = None,
    ) -> bool:
        """Ends a step; returns whether the framework skips it.

        `found_inf`: whether an element of the scaled gradients is infinite or NaN. Some policies ask for more: the L2
        norm and the largest magnitude of the unscaled gradients, or how many scaled gradients are above `edge` and how
        many are not. Raises ScalerError where the framework raises: the state is then the framework's after its
        exception, and further updates mean nothing. Raises ValueError where the policy is not told what it needs.
        """
        if found_inf is None or isinstance(found_inf, (str, bytes, list, tuple, dict)):
            raise TypeError(f"found_inf: {found_inf!r} is not True or False; run() takes many")
        known = [float("nan") if x is None else float(x) for x in (unscaled_norm, max_abs, above_edge, up_to_edge)]
        skipped, error, lacks_input = self._of.update(bool(found_inf), *known)
        if error:
            raise ValueError(f"{self.name}: {error}") if lacks_input else ScalerError(error)
        return skipped

    def run(self, found_inf: Any) -> Table:
        """`update` for each of many steps, in one go: an array of found_inf (N,).

        A `Table` with a row for each step: found_inf, scale_used, scale_next, skipped. Where the framework raises, it
        ends with that step and its `summary` has the error under "error", else None.
        """
        import numpy

        if found_inf is None:
            raise TypeError("found_inf: None is not an array")
        found = numpy.asarray(found_inf).astype(bool).ravel()
        first = self.scale
        scales, skipped, error = self._of.run(found.astype(numpy.uint8))
        used = numpy.concatenate([[first], scales[:-1]])[: len(scales)]
        return Table(
            {
                "found_inf": found[: len(scales)],
                "scale_used": used,
                "scale_next": scales,
                "skipped": skipped.astype(bool),
            },
            schema="ulp.scaler_run/1",
            summary={"error": error or None},
        )

    def copy(self) -> Scaler:
        """Another in the same state."""
        made = object.__new__(type(self))
        made._of = self._of.copy()
        return made

    def __reduce__(self) -> Any:
        parameters = {name: "none" if value is None else value for name, value in self.parameters.items()}
        return _scaler_in_state, (type(self), self.name, parameters, self.state)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Scaler:
        return self.copy()

    def __repr__(self) -> str:
        return f"<Scaler {self.name}: {', '.join(f'{name}={value:g}' for name, value in self.state.items())}>"


class Fp8Scaler(Scaler):
    """A policy that scales a tensor by its largest magnitudes, as its framework has it: one for each tensor.

    Fp8Scaler("te_delayed_bulk", format="float8_e5m2", amax_history_len=16); `format` is what values are rounded to,
    float8_e4m3fn by default. A step: `update` with the tensor's largest magnitude (amax) gives what its values are
    multiplied by, or divided by where `divides`. Numbers are float32; infinity and NaN are amaxes like others.
    """

    def __init__(
        self,
        name: str,
        start: Optional[Mapping[str, float]] = None,
        parameters: Optional[Mapping[str, Any]] = None,
        *,
        format: Any = "float8_e4m3fn",
        **keywords: Any,
    ) -> None:
        if start:
            raise TypeError("start: policies of tensors start from the parameter initial_scale")
        if not isinstance(name, str):
            raise TypeError(f"name: {name!r} is not the name of a policy")
        given = {**(parameters or {}), **keywords}
        self._format = format_name(given.pop("format", format))
        self._of = _runs.Fp8Scaler(name, self._format, given)

    @property
    def scale(self) -> float:
        """What it has decided so far; 0 where it decides in the step, by that step's amax."""
        return self._of.scale()

    @property
    def divides(self) -> bool:
        """Whether values are divided by its scale, not multiplied."""
        return self._of.divides()

    @property
    def largest(self) -> float:
        """What amax is scaled to: the largest number of the format unless a parameter says otherwise."""
        return self._of.largest()

    @property
    def state(self) -> Dict[str, float]:
        """The scale; it cannot be assigned."""
        return {"scale": self.scale}

    @property
    def edge(self) -> float:
        """NaN: it does not count by one."""
        return math.nan

    def update(self, amax: Any) -> float:  # type: ignore[override]
        """Ends a step of the tensor; returns the scale that this step's values are cast with."""
        if isinstance(amax, (str, bytes, list, tuple, dict)) or amax is None or getattr(amax, "size", 1) != 1:
            raise TypeError(f"amax: {amax!r} is not one number; run() takes many")
        return float(self.run([float(amax)])["scale_used"][0])

    def run(self, amaxes: Any) -> Table:  # type: ignore[override]
        """`update` for each of many steps: an array (N,), rounded to float32.

        A `Table` with a row for each step: amax, scale_before, scale_used, scale_after, and held, whether an amax that
        is not finite kept it from deciding anew. Raises ValueError for amaxes below 0.
        """
        import numpy

        if numpy.asarray(amaxes).dtype.kind not in "fiub":
            raise TypeError(f"amaxes: {amaxes!r} are not real numbers")
        with numpy.errstate(over="ignore"):
            given = numpy.atleast_1d(numpy.asarray(amaxes, dtype=numpy.float32))
        if given.ndim > 1:
            raise ValueError(f"amaxes: of shape {given.shape}, where the steps of one tensor are a row; others have their own")
        if (given < 0).any():
            raise ValueError(f"amaxes: {given[given < 0][0]} is below 0, which no largest magnitude is")
        before, used, after, held = self._of.run(given)
        return Table(
            {
                "amax": given,
                "scale_before": before,
                "scale_used": used,
                "scale_after": after,
                "held": held.astype(bool),
            },
            schema="ulp.fp8_scaler_run/1",
        )

    def copy(self) -> Fp8Scaler:
        """Another in the same state, its history too."""
        made: Fp8Scaler = super().copy()  # type: ignore[assignment]
        made._format = self._format
        return made

    __copy__ = copy

    def __reduce__(self) -> Any:
        parameters = {name: "none" if value is None else value for name, value in self.parameters.items()}
        return _fp8_scaler_in_state, (type(self), self.name, self._format, parameters, self._of.state())

    def __repr__(self) -> str:
        return f"<Fp8Scaler {self.name} to {self._format}: scale={self.scale:g}>"


def _check_state(values: Any) -> None:
    if not isinstance(values, Mapping):
        raise TypeError(f"state: {values!r} is not a dictionary of names and numbers")
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"state: {name} is {value!r}, which is not a number")
        if value != value or (name == "scale" and value < 0):
            raise ValueError(f"state: {name} cannot be {'NaN' if value != value else value}")


def _scaler_in_state(of: type, name: str, parameters: Dict[str, Any], state: Dict[str, float]) -> Scaler:
    """What a pickle of it calls."""
    made = of(name, None, parameters)
    made.state = state
    return made


def _fp8_scaler_in_state(of: type, name: str, format: str, parameters: Dict[str, Any], state: List[float]) -> Fp8Scaler:
    """Likewise, with its history."""
    made: Fp8Scaler = of(name, None, parameters, format=format)
    made._of.set_state(state)
    return made
