"""Sees what optimizers and a scaler do."""

import functools
import types
import warnings

from .._counting.joint import joint_content
from .._counting.values import begin
from .._errors import RecorderError
from .alike import Bunch
from .held import AnyOf, held
from .hooks import Hook
from .names import plain
from .optimizers import Update, difference, ids_in, innermost, is_closure


class Updates:
    """Wraps the methods of a scaler, or None, and optimizers, so that gradients are taken before they are unscaled, and what is
    recorded besides before and after each optimizer's step."""

    def __init__(self, scope, scaler, optimizers, *, file, parts, gradients, taker, schedule, seen, record, later):
        """record: called with what `wait` was given once the optimizer's step followed. later: numbers on a device need not be known
        before the step is written."""
        self._scope, self._scaler, self._optimizers, self._file = scope, scaler, optimizers, file
        self._parts, self._gradients, self._taker, self._schedule, self._seen = parts, gradients, taker, schedule, seen
        self._record, self._later = record, later
        self._wrapped, self._hooks = [], []
        self._update, self._waiting = None, None  # an Update since the last step(); a step() that came before it
        self._stepping = False  # whether the scaler's step is running
        self._in_vain = 0  # calls of step() since an optimizer stepped
        self._order = None  # {id of parameter: its place, name and itself}
        self._ordered = None, []  # ids of parameters, and names and parameters as they were ordered last

    def watch(self):
        for optimizer in self._optimizers:
            self._wrap(optimizer, "step", functools.partial(self._before_step, optimizer), self._after_optimizer_step)
        if self._scaler is not None:
            if hasattr(self._scaler, "scale"):
                self._wrap(self._scaler, "scale", self._parts.before_scale)
            self._wrap(self._scaler, "unscale_", self._before_step)
            self._wrap(self._scaler, "step", self._before_scaler_step, self._after_scaler_step)
            self._wrap(self._scaler, "update", self._before_update, self._after_update)
        trained = [p for p in self._scope.model.parameters() if p.requires_grad]
        for parameter in trained[:: max(1, len(trained) // 8)]:  # one of them is in every backward pass
            self._hooks.append(parameter.register_hook(Hook(self._see_backward)))

    def stop_watching(self):
        for hook in self._hooks:
            hook.remove()
        for of, name, wrapped, before in self._wrapped:
            if vars(of).get(name) is wrapped:  # else somebody wrapped it again, and it only passes on
                if before is None:
                    del vars(of)[name]
                else:
                    vars(of)[name] = before
        self._hooks, self._wrapped = [], []

    def take(self):
        """The Update that a step() after the optimizer's step records; None before it."""
        self.record_waiting()
        update, self._update = self._update, None
        if update is not None:
            self._in_vain = 0
        return update

    def wait(self, step, given):
        """For the optimizer's step, which follows; or else more gradients are to be accumulated."""
        self._waiting = step, given
        self._in_vain += 1
        if self._in_vain == 100:
            self._warn_in_vain(stacklevel=6)

    def record_waiting(self):
        """What a step() asked for before the optimizer's step."""
        if self._update is not None and self._update.of is not None:
            (step, given), self._update.of = self._update.of, None
            self._record(step, given)

    def close(self):
        """Nothing more is recorded."""
        self._update, self._waiting = None, None
        if 0 < self._in_vain < 100 and self._schedule.calls == 0:
            self._warn_in_vain(stacklevel=4)

    def _warn_in_vain(self, stacklevel):
        text = f"{self._file.shown}: {self._in_vain} calls of step() saw no optimizer's step: nothing of them is recorded. "
        text += "Give Recorder the optimizer and the scaler that the loop uses, or neither"
        self._in_vain = 100
        if self._scope.strict:
            raise RecorderError(text)
        warnings.warn(f"ulpscope: {text}", RuntimeWarning, stacklevel=stacklevel)

    def current_scale(self):
        """What the scaler says now; None without one."""
        if self._scaler is None:
            return None
        is_torchs = self._later and type(self._scaler).__module__.startswith("torch.") and self._scaler.is_enabled()
        scale = getattr(self._scaler, "_get_scale_async", lambda: None)() if is_torchs else None
        return float(self._scaler.get_scale()) if scale is None else held(scale, True)

    def forget_parts(self, update, parameters):
        """Of gradients, by ids of their parameters, that are sums of other numbers of parts than was thought."""
        for of in parameters:
            update.forget_parts(plain(self._order[of][1]) if of in self._order else None)

    def _wrap(self, of, name, before, after=None):
        """In the object alone: copies and pickles of it have their class's method."""
        call = getattr(of, name)

        def wrapped(this, *arguments, **named):
            if this is not of:
                return getattr(type(this), name)(this, *arguments, **named)
            if self._schedule.is_open:
                before(*arguments, **named)
                if name == "step":
                    arguments, named = self._with_closures(of, arguments, named)
            try:
                result = call(*arguments, **named)
            finally:
                self._stepping = self._stepping and of is not self._scaler
            if self._schedule.is_open and after is not None:
                after(of, *arguments, **named)
            return result

        functools.update_wrapper(wrapped, call)
        del wrapped.__wrapped__
        if hasattr(call, "__func__"):
            wrapped.__wrapped__ = call.__func__  # inspect.signature finds the original through it
        method = types.MethodType(wrapped, of)
        self._wrapped.append((of, name, method, vars(of).get(name)))
        setattr(of, name, method)

    def _with_closures(self, of, arguments, named):
        """What an optimizer's step is given; functions that compute gradients for it take them, and the last ones count."""
        optimizer = (*arguments, named.get("optimizer"))[0] if of is self._scaler else of

        def seen(closure):
            def computed(*its, **also):
                result = closure(*its, **also)
                if self._schedule.is_open and self._update is not None:
                    self._take_gradients(optimizer)
                return result

            return computed if is_closure(closure) else closure

        return [seen(each) for each in arguments], {name: seen(each) for name, each in named.items()}

    def _see_backward(self, gradient):
        self._waiting = None

    def _before_step(self, optimizer, *arguments, **named):
        """Takes its gradients, unless it was done since its last step: of each parameter, as another object may be around the
        optimizer."""
        update, computes = self._update, any(map(is_closure, (*arguments, *named.values())))
        its = ids_in(optimizer)
        if update is not None:
            update.known_as[id(optimizer)] = id(innermost(optimizer))
            its -= update.open
            if not its:
                return
        if update is not None and update.of is not None and id(innermost(optimizer)) in update.stepped:
            self.record_waiting()
        if self._update is None:
            self._update = Update()
            self._update.of, self._waiting = self._waiting, None
            if self._update.of is not None and not computes:
                self._update.watched = self._seen.take_watched()
        update = self._update
        update.open |= its
        update.known_as[id(optimizer)] = id(innermost(optimizer))
        update.stepped[id(innermost(optimizer))] = [False, None]
        try:
            first = self._optimizers[0] if self._optimizers else optimizer
            if update.lr is None or innermost(optimizer) is innermost(first):
                update.lr = float(optimizer.param_groups[0]["lr"])
            if self._scaler is not None:
                update.scale = self.current_scale()
            if not self._schedule.is_due:
                self._parts.end_of(its)
                return
            of = self._in_order(its)
            if not computes:
                self._take_gradients(optimizer, of)
            weights = {**self._scope.chosen("weights", of), **self._scope.chosen("joint", of)}
            update.weights.update(self._by_name(self._taker.take_more("weight", weights, update.unfit)))
            if self._scope.tells_more:
                before = {**self._scope.chosen("updates", of), **self._scope.chosen("joint", of)}
                update.before.update((name, (p, p.detach().clone())) for name, p in before.items())
        except Exception as error:  # training goes on, and step() raises it
            update.trouble = error

    def _in_order(self, its):
        """Names and parameters by ids, those of the model."""
        if self._order is None or not its <= self._order.keys():
            named, self._ordered = enumerate(self._scope.model.named_parameters()), (None, [])
            self._order = {id(parameter): (at, name, parameter) for at, (name, parameter) in named}
        if self._ordered[0] != its:
            self._ordered = its, [(name, p) for _, name, p in sorted(self._order[i] for i in its if i in self._order)]
        return self._ordered[1]

    def _take_gradients(self, optimizer, of=None):
        update = self._update
        try:
            if self._schedule.is_due:
                values = self._gradients.take(update.unfit, self._in_order(ids_in(optimizer)) if of is None else of)
                if not isinstance(values, Bunch):
                    begin([taken[-1] for taken in values], self._scope.sums)
                names = update.take(values, self._scope.sums)
                if self._scaler is not None and self._is_unscaled(optimizer):
                    update.unscaled.update(names)
            its = ids_in(optimizer) if of is None else {id(parameter) for _, parameter in of}
            self._parts.end_of(its)
            if self._gradients.local is not None:
                self._gradients.local.forget(its)
        except Exception as error:  # training goes on, and step() raises it
            update.trouble = error

    def _is_unscaled(self, optimizer):
        states = getattr(self._scaler, "_per_optimizer_states", {})
        stages = [states[id(each)].get("stage") for each in (optimizer, innermost(optimizer)) if id(each) in states]
        return any(getattr(stage, "name", "READY") != "READY" for stage in stages)

    def _look_for_infinities(self):
        """What the scaler found, before it forgets."""
        update = self._update
        if update is None:
            return
        try:
            states = getattr(self._scaler, "_per_optimizer_states", {})
            for known_as, key in update.known_as.items():
                found = states.get(known_as, {}).get("found_inf_per_device")
                if found and key in update.stepped:
                    update.stepped[key][1] = AnyOf([held(each.detach(), self._later) for each in found.values()])
        except Exception as error:  # training goes on, and step() raises it
            update.trouble = error

    def _after_step(self, optimizer, stepped=True):
        if self._update is not None:
            of = self._update.stepped.setdefault(id(innermost(optimizer)), [False, None])
            of[0] = of[0] or stepped
            if not self._stepping:
                self._update.open -= ids_in(optimizer)
            if self._scaler is None and self._update.stepped.keys() >= {id(innermost(each)) for each in self._optimizers}:
                self.record_waiting()

    def _after_optimizer_step(self, optimizer, *arguments, **named):
        """One that was really taken."""
        update = self._update
        try:
            if update is not None and self._schedule.is_due:
                its = {id(p): p for group in optimizer.param_groups for p in group["params"]}
                changed = {name: of for name, of in update.before.items() if id(of[0]) in its}
                update.before = {name: of for name, of in update.before.items() if name not in changed}
                changes = {name: difference(p.detach(), before) for name, (p, before) in changed.items()}
                wanted = {name: change for name, change in changes.items() if self._scope.wants("updates", name)}
                update.changes.update(self._by_name(self._taker.take_more("update", wanted, update.unfit)))
                update.joint.update(
                    (name, joint_content(changed[name][1].contiguous(), change.contiguous()))
                    for name, change in changes.items()
                    if self._scope.wants("joint", name)
                )
                states = self._states(optimizer, its) if "states" in self._scope.wanted else {}
                update.states.update(self._by_name(self._taker.take_more("unknown", states, update.unfit)))
        except Exception as error:  # training goes on, and step() raises it
            update.trouble = error
        self._after_step(optimizer)

    def _states(self, optimizer, its):
        """{KEY/NAME: tensor} of those that are wanted."""
        return {
            f"{key}/{plain(name)}": tensor
            for _, name, parameter in sorted(self._order[i] for i in its if i in self._order)
            for key, tensor in optimizer.state.get(parameter, {}).items()
            if key != "step" and hasattr(tensor, "is_floating_point") and tensor.is_floating_point()
            and self._scope.wanted["states"].search(f"{key}/{plain(name)}")
        }  # fmt: skip

    @staticmethod
    def _by_name(taken):
        return ((of[0], of) for of in taken)

    def _before_scaler_step(self, optimizer, *arguments, **named):
        self._before_step(optimizer, *arguments, **named)
        self._stepping = True

    def _after_scaler_step(self, scaler, optimizer, *arguments, **named):
        # One that is watched has told whether it stepped; of others a scaler that skips them says so by what it found.
        self._after_step(optimizer, stepped=all(each is not optimizer for each in self._optimizers))
        self._look_for_infinities()

    def _before_update(self, *arguments, **named):
        self._look_for_infinities()

    def _after_update(self, scaler, *arguments, **named):
        if self._update is not None:
            self._update.open.clear()
            self.record_waiting()
