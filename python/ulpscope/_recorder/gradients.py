"""The part of Recorder that takes tensors: gradients, and what hooks see."""

import functools
import itertools
import math

from .._counting.compiled import counting
from .._counting.host import loaded_torch, np
from .._counting.tables import Tables, merge_tables
from .._counting.values import SmallValues, TINY, Values, WAITING, bring_to_host, plain_values, tables_of, take_gradients
from .._errors import RecorderError
from .._file.schema import Info, Rows
from .alike import Alike, Bunch
from .graph import UNSEEN, tensors_in
from .names import check_name, plain
from .ranks import is_replica, is_summand


class Gradients:
    def _take(self, name, kind, shape, total, cast, array, unfit):
        """The values of one tensor; None where it cannot be recorded, and the others can."""
        try:
            if not isinstance(name, str) or name not in self._file.tensors:
                check_name(name)
            if is_summand(array):
                raise RecorderError(
                    f"tensor {name!r}: its parts are still to be added up over ranks: set p.grad = "
                    "p.grad.redistribute(placements=p.placements) on all of them before"
                )
            values = Values(name, array)
            return name, kind, values.shape if shape is None else shape, total, cast, values
        except (RecorderError, TypeError, ValueError) as error:
            if self._strict:
                raise
            if not isinstance(error, RecorderError):
                error = RecorderError(f"tensor {name!r}: {type(error).__name__}: {error}")
            unfit[name] = error
            return None

    def _gradients(self, unfit, of=None, is_local=False):
        """Those of the model's parameters, or of some: a Bunch where they are Alike, else a list. is_local: before they are
        reduced."""
        values = []
        torch, known = loaded_torch(), self._file.tensors
        casts, may_be_small = {} if self._graph is None else self._graph.casts, np is not None and counting is None and not self._sums
        if not is_local:
            self._settle_passes()
        named, at_once, self._seen = self._recorded(of), itertools.repeat(None), None
        if counting is not None and named:
            taken = take_gradients()(named)
            if taken.are_plain and self._local is None:
                kinds = taken.kinds
                if self._alike is not None and self._alike.named is named and self._alike.kinds == kinds:
                    return Bunch(self._alike, taken, self._parts_of_all(named, taken))
                self._seen = named, kinds
            at_once = plain_values(taken)
        for (name, parameter), taken_as_is in zip(named, at_once):
            gradient = parameter.grad
            if gradient is None:
                continue
            if self._local is not None and not is_local:
                if id(parameter) not in self._local:  # no backward pass came to it here
                    continue
                taken = self._local[id(parameter)]
                if taken is not None:
                    if taken[-1].type.bits > 16:
                        taken[-1].parts = self._parts(parameter, gradient)
                    values.append(taken)
                    continue
            if taken_as_is is not None and name in known:
                if taken_as_is.type.bits <= 16:
                    taken_as_is.parts = 1
                elif self._passes:
                    taken_as_is.parts = self._parts(parameter, gradient)
                values.append((name, "weight_grad", (), 0, casts.get(id(parameter), UNSEEN), taken_as_is))
                continue
            if may_be_small and type(gradient) is torch.Tensor and gradient.dtype is torch.float32 and name in known:
                n = gradient.numel()
                if 0 < n < TINY and gradient.is_cpu and gradient.layout is torch.strided and not gradient.is_neg():
                    small = SmallValues(gradient, n, self._parts(parameter, gradient))
                    values.append((name, "weight_grad", (), 0, casts.get(id(parameter), UNSEEN), small))
                    continue
            if not is_replica(gradient) or is_summand(gradient):
                cast = casts.get(id(parameter), UNSEEN)
                total = parameter.numel() if hasattr(parameter, "to_local") else 0
                taken = self._take(name, "weight_grad", parameter.shape, total, cast, gradient, unfit)
                if taken is not None:
                    taken[-1].parts = 1 if taken[-1].type.bits <= 16 else self._parts(parameter, gradient)
                    values.append(taken)
        return values

    def _recorded(self, of=None):
        """Pairs of plain name and parameter of which gradients are recorded here, of the model's or of some: while these are the
        same, the same list."""
        if of is None:
            of = self._named_parameters() if counting is not None else list(self._parameters())
        if self._recorded_of[0] is not of:
            only, named = self._wanted.get("gradients"), ((plain(name) if "_orig_mod" in name else name, p) for name, p in of)
            some = [(n, p) for n, p in named if n not in self._elsewhere and (only is None or only.search(n))]
            self._recorded_of = of, some
        return self._recorded_of[1]

    def _named_parameters(self):
        """As _parameters: the same list while the model has the same."""
        if self._model is None or not self._names_as_usual():
            return list(self._parameters())
        structure, self._structure = self._structure or counting.Structure(), None  # None where this is interrupted
        try:
            if structure.has_changed(self._model):
                self._named = list(self._parameters())
        except TypeError:  # modules of torch.jit have no dictionaries
            return list(self._parameters())
        self._structure = structure
        return self._named

    def _parts_of_all(self, named, taken):
        """Of those that have a gradient."""
        numbers = self._alike.numbers
        if not self._passes:
            return self._alike.parts
        those = [(parameter, gradient) for (_, parameter), gradient in zip(named, taken.tensors) if gradient is not None]
        return tuple(1 if number > 2 else self._parts(*of) for number, of in zip(numbers, those))

    def _learn_alike(self, rows):
        """What is known of gradients that were taken one by one, now that they are in the file."""
        (named, kinds), self._seen = self._seen, None
        of = {info.name: (info, number) for info, number in zip(rows.infos, rows.type_numbers)}
        its = [of.get(name) for (name, _), number in zip(named, kinds) if number != 0]
        if its and None not in its:
            self._alike = Alike(named, kinds, *zip(*its))

    def _chosen(self, what, of=None):
        """The parameters that are wanted, of all or of some, by name."""
        regex = self._wanted.get(what)
        named = () if regex is None else self._parameters() if of is None else of
        return {plain(name): parameter for name, parameter in named if regex.search(plain(name))}

    def _wants(self, what, name):
        regex = self._wanted.get(what)
        return regex is not None and regex.search(name) is not None

    def _more(self, kind, tensors, unfit):
        """What is recorded besides gradients, counted now."""
        taken = []
        for name, tensor in tensors.items() if self._tells_more else ():
            of = name.partition("/")[2] if kind == "unknown" else name
            if of not in self._elsewhere and not is_replica(tensor):
                prefix = kind if kind != "unknown" else "state"
                total = tensor.numel() if hasattr(tensor, "to_local") else 0
                taken.append(self._take(f"{prefix}/{name}", kind, tensor.shape, total, None, tensor, unfit))
        taken = [of for of in taken if of is not None]
        tables_of([of[-1] for of in taken], self._sums)
        return taken

    def _parameters(self):
        """As the model names them, without what that costs."""
        if self._model is None:
            return
        if not self._names_as_usual():
            yield from self._model.named_parameters()
            return
        seen, modules, waiting = set(), set(), [("", self._model)]
        while waiting:
            prefix, module = waiting.pop()
            if module is None or module in modules:
                continue
            modules.add(module)
            for name, parameter in module._parameters.items():
                if parameter is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield prefix + name, parameter
            if module._modules:
                waiting += [(f"{prefix}{name}.", child) for name, child in reversed(module._modules.items())]

    def _names_as_usual(self):
        usual, own = loaded_torch().nn.Module, type(self._model)
        return own.named_parameters is usual.named_parameters and own.named_modules is usual.named_modules

    def _rows(self, step, values, watched, grads, loss_scale, scaled, unscaled, factor, unfit):
        """What is recorded of a step: its Rows. unscaled: those that are not multiplied by the loss scale."""
        of_loss = loss_scale * factor if loss_scale is not None and 0 < loss_scale * factor < math.inf else None
        factors = {"weight_grad": of_loss if scaled else factor, "activation_grad": of_loss}  # all else: 1
        bunch, values = (values, []) if isinstance(values, Bunch) else (None, values)
        for name, array in grads.items():
            kind = "activation_grad" if str(name).startswith(("agrad/", "agrad__")) else "weight_grad"
            values.append(self._take(name, kind, None, 0, None, array, unfit))
        values = [of for of in values if of is not None]
        if unfit and not values and not watched and bunch is None:
            raise next(iter(unfit.values()))
        if not values and self._alone and bunch is None:
            raise RecorderError(
                f"{self._file.shown}: step {step}: no gradients: call step() after backward, before zero_grad"
            )
        values += watched
        if bunch is not None:
            bunch.count(self._sums)
        tables = tables_of([of for *_, of in values], self._sums)
        known = self._file.tensors
        if not self._mixed and not all(taken[0] in known for taken in values):
            self._mixed = any(of.type.bits <= 16 for *_, of in values)
            self._mixed = self._mixed or self._graph is not None and any(cast is not None for cast in self._graph.casts.values())
        at, rows = {}, []
        for (name, kind, shape, total, cast, of), table in zip(values, tables):
            if bunch is not None and name in bunch.of.names:
                raise RecorderError(f"{self._file.shown}: step {step}: {name!r} is the name of several tensors")
            if name in at:
                i = at[name]
                info, number, by, parts = rows[i]
                if kind == "weight_grad" or kind != info.kind:
                    raise RecorderError(f"{self._file.shown}: step {step}: {name!r} is the name of several tensors")
                # A module that was called several times.
                tables[i] = merge_tables([tables[i], table])
                info = info if self._shards else info._replace(numel=tables[i].numel)
                rows[i] = info, number if number == of.type.number else 0, by, parts
                continue
            at[name] = i = len(rows)
            tables[i] = table  # those of before are as many or more
            info = known[name][1] if name in known else self._info(name, kind, shape, cast, of)
            by = factors.get(info.kind, 1.0)
            if unscaled and info.kind == "weight_grad":
                by = factor if name in unscaled else of_loss
            numel = total if self._shards else of.numel
            if info.numel != numel:
                info = info._replace(numel=numel)
            rows.append((info, of.type.number, by, of.parts))
        rest = Rows(*(zip(*rows) if rows else [()] * 4), Tables(tables[: len(rows)]))
        return rest if bunch is None else self._joined(bunch, rest, factors["weight_grad"], of_loss, factor, unscaled)

    def _joined(self, bunch, rest, by, of_loss, factor, unscaled):
        """The rows of a bunch, and the rest behind them."""
        alike, tables = bunch.of, bunch.tables
        by = alike.factors(of_loss if unscaled else by, factor, unscaled)
        if not rest.infos:
            return Rows(alike.infos, alike.numbers, by, bunch.parts, tables)
        tables.extend(rest.tables)
        infos = alike.infos + rest.infos
        if infos == self._infos:
            infos = self._infos
        self._infos = infos
        return Rows(infos, alike.numbers + rest.type_numbers, by + rest.factors, bunch.parts + rest.parts, tables)

    def _info(self, name, kind, shape, cast, of):
        is_low = of.type.bits <= 16 or cast not in (None, UNSEEN)
        through = of.type.name if of.type.bits <= 16 else cast if is_low else ""
        role = self._role_of(name)
        if role is None:
            role = "low" if is_low else "float32" if self._mixed and cast is None else "unknown"
        return Info(name, kind, role, through, ",".join(map(str, shape)), 0)

    def _see_reductions(self):
        if not hasattr(loaded_torch().Tensor, "register_post_accumulate_grad_hook"):
            raise RecorderError("local: DistributedDataParallel needs torch 2.1 or newer; leave it out")
        self._local = {}
        for name, parameter in self._parameters():
            if parameter.requires_grad:
                hook = functools.partial(self._before_reduction, name)
                self._hooks.append(parameter.register_post_accumulate_grad_hook(hook))

    def _before_reduction(self, name, parameter):
        if not self._due:
            return
        self._local[id(parameter)] = None
        if id(parameter) in self._passes:
            self._passes[id(parameter)]._added(parameter)
        if not self._replicas.require_backward_grad_sync:
            return
        try:
            for taken in self._gradients(self._unfit, [(name, parameter)], True):
                if type(taken[-1]) is SmallValues:
                    taken[-1].array = taken[-1].array.clone()
                else:
                    taken[-1].count(self._sums)
                self._local[id(parameter)] = taken
                self._bound(taken[-1])
        except Exception as error:  # step() tells it: training goes on
            self._trouble = error

    def _forget_local(self, microbatch):
        if self._local and microbatch == -1:
            self._local.clear()

    def _bound(self, values):
        """Lets no more vectors wait on a device than step() would."""
        if values.vector is not None:
            self._pending.append(values)
        if len(self._pending) == WAITING:
            pending, self._pending = self._pending, []
            bring_to_host([v for v in pending if v.vector is not None], self._sums)

    def _watch(self, name, kind):
        def see(label, tensor):
            try:
                taken = self._take(label, kind, (), 0, None, tensor, self._unfit)
                if taken is not None:
                    taken[-1].count(self._sums)
                    self._watched.append(taken)
                    self._bound(taken[-1])
            except Exception as error:  # step() tells it: training goes on
                self._trouble = error

        def hook(module, inputs, output):
            if not self._due or not loaded_torch().is_grad_enabled():
                return
            tensors = tensors_in(output)
            for i, tensor in enumerate(tensors):
                label = name if len(tensors) == 1 else f"{name}[{i}]"
                if kind == "activation":
                    see("forward/" + label, tensor)
                elif tensor.requires_grad:
                    tensor.register_hook(lambda gradient, label=label: see(label, gradient))

        return hook
