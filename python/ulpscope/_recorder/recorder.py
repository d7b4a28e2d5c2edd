"""Records the gradients of a training run as exact histograms, for ulpscope (`ulp info`, `ulp replay`, `ulpscope`).

    from ulpscope import Recorder
    rec = Recorder("run.ulp", model, scaler=scaler, optimizer=optimizer)
    for i, batch in enumerate(batches):
        ...
        scaler.scale(loss).backward()
        scaler.step(optimizer); scaler.update(); optimizer.zero_grad()
        rec.step(i, loss=loss)
    rec.close()

Or without the scaler, after backward and before unscale_ and clipping:

        rec.step(i, loss=loss, loss_scale=scaler.get_scale())

Each step is one transaction: after a kill the file holds every step whose call returned; where gradients are on a CUDA device,
every one but the last of these. The project's docs/recording-format.md specifies the file: counts of values in cells that
decide exactly what a 16-bit format loses.
"""

import atexit
import contextlib
import functools
import os
import sys
import warnings
import weakref

from .._counting import kernels
from .._counting.blocks import BlockCounter, extents_of
from .._counting.compiled import counting as compiled_counting
from .._counting.values import begin
from .._errors import RecorderError, printable
from .._flags import flag
from .._file.recording import File, LOST
from .alike import Bunch
from .doubts import Doubts
from .given import Given
from .gradients import Gradients
from .hooks import Hook
from .local import Local
from .model import modules_to_watch, unwrapped
from .names import expression
from .optimizers import check_scaler, optimizers_in
from .parameters import Parameters
from .parts import Parts
from .ranks import Place, recorded_elsewhere
from .roles import role_rules
from .rows import Factors, RowMaker
from .scales import Scales
from .schedule import Schedule
from .scope import Scope, compiled_expressions
from .seen import Seen, Watch
from .taking import Taker
from .updates import Updates
from .writer import Step, uninterrupted, Writer

FAILURES = 10  # in a row, after which recording stops


_open = weakref.WeakSet()  # Recorders whose file is


@atexit.register
def _close_all():
    for recorder in list(_open):
        with contextlib.suppress(Exception):  # others are left, too
            recorder._leave()


@functools.lru_cache(None)
def _close_at_exit(process):
    """Of one that multiprocessing began, which ends without atexit."""
    of = sys.modules.get("multiprocessing")
    if of is not None and of.parent_process() is not None:
        of.util.Finalize(None, _close_all, exitpriority=100)


class Recorder:
    """Records a training run step by step.

    path         The recording. It must not exist unless append is true. With shards, each rank writes its own file:
                 run.ulp becomes run.rank3.ulp.
    model        A torch module; the gradients of its parameters are recorded. None if gradients are passed to step().
    every        Records every n-th call of step(), starting with the first.
    sums         Also keeps exact sums: exact norms and lost mass instead of estimates. Nearly free where
                 counting is compiled, else several times the work.
    activations  A regular expression, searched in module names: the gradients of their outputs are recorded.
    forward      The same, for the outputs themselves: their maxima show what overflows before any gradient does.
                 Anything that checkpointing computes twice may be counted twice.
    inputs       The same, for what these modules read, as `activation/NAME`: with weights and activations, all that their products
                 multiply, as `ulp plan` and `ulp outcomes` ask of a layer in 8 bits.
    gradients    A regular expression, searched in names of parameters: only the gradients of these are recorded.
    weights      The same: these parameters are recorded too, as `weight/NAME`, before the optimizer's step.
    updates      The same: what the optimizer's step adds to these, as `update/NAME`: float32, after minus before. Keeps a
                 copy of them during that step. Needs optimizer.
    joint        The same: joint tables of these and their updates, which tell what is lost where weights are kept in 16 bits
                 without a float32 copy (ulp precision weights). Records them as weights too. Needs optimizer and numpy.
    states       The same, searched in KEY/NAME: tensors of the optimizer's state after its step, as `state/KEY/NAME`, as in
                 states="exp_avg_sq/". Needs optimizer.
    blocks, axis  Block tables of all that is recorded, as `ulp record --blocks ... --axis ...` makes them, for `ulp outcomes --format
                 mxfp8`: blocks="32,16,128x128" or a list are blocks of so many elements along an axis, or of rows x columns;
                 axis is "last", "other" or "both". Of float64 and complex tensors there are none.
    fp8_scales   A regular expression, searched in names of modules: the scales of TransformerEngine's delayed scaling, as these
                 modules have them after the step, and the amaxes that came. `ulp replay` compares them with what a recipe
                 gives. fp8_scales="." takes all. Waits for the device. Needs every=1.
    roles        How mixed precision keeps tensors: {regular expression: "low" or "float32"}; the first match in the name
                 counts. By default, the first recorded forward pass decides: "low" are 16-bit tensors and parameters
                 that autocast casts, "float32" those of such a run that are used uncast. Compiled or checkpointed parts
                 cannot be inspected. For a float32 run, roles="autocast" marks as "low" what autocast would cast.
    append       Continues an existing recording. Its steps are kept; repeated steps become further attempts.
    shards       Each rank has parts of the tensors and writes its own file. None: decided by the model (FSDP, DTensor).
                 Otherwise all ranks have the same gradients; rank 0 records them and the others do nothing.
    local        Each rank records its own gradients, before they are reduced, and writes its own file: with
                 DistributedDataParallel as they are then, without it as they are when step() is called.
    rank, world  Needed only if torch.distributed does not know them.
    run_id       Equal for all ranks of one run; by default random, and shared through torch.distributed.
    scaler, optimizer  A GradScaler, and one optimizer or several of the model: step() then comes after the optimizer's step
                 (and the scaler's update), as one line that needs nothing but its number and the loss. The gradients are
                 taken before they are unscaled; scale, found_inf, applied and learning rate are known. Without a scaler
                 they are those that the optimizer gets, and the loss scale is 1.
    wait         Whether a step is in the file when its step() returned, also where gradients are on a CUDA device. Otherwise such a
                 step is in the file when the next step() returned, or flush() or close(): nothing waits for the device.
    strict       Whether step() raises. Otherwise a step that cannot be recorded is skipped with a warning and training
                 goes on; after ten failures in a row recording stops.

    `Recorder.counting` says what counts values on the host: "compiled", or "python" where the compiled part of the package is missing
    or of another version. That of a Recorder says what counts on a CUDA device, too: "compiled, kernels" or, where the driver does
    not take them, "compiled, torch". What is recorded is the same to the byte.

    Raises RecorderError for invalid arguments, before training. Recorded steps remain, whatever fails later.
    """

    counting = "python" if compiled_counting is None else "compiled"  # of values on the host
    see_rows = None  # called with the number and the rows of each step on its way to the file

    def __init__(
        self,
        path,
        model=None,
        *,
        every=1,
        sums=False,
        activations=None,
        forward=None,
        inputs=None,
        gradients=None,
        weights=None,
        updates=None,
        joint=None,
        states=None,
        blocks=None,
        axis="last",
        fp8_scales=None,
        roles=None,
        append=False,
        shards=None,
        local=False,
        rank=None,
        world=None,
        run_id=None,
        scaler=None,
        optimizer=None,
        wait=False,
        strict=False,
    ):
        try:
            sums, append, local = flag(sums, "sums"), flag(append, "append"), flag(local, "local")
            wait, strict = flag(wait, "wait"), flag(strict, "strict")
            shards = None if shards is None else flag(shards, "shards")
        except TypeError as problem:
            raise RecorderError(str(problem)) from None
        self._file, self._updates, self._hooks = None, None, []
        self._closed, self._failures = False, 0
        self._writer, self._wait = Writer(), wait
        self._told = set()  # tensors of which it was said that they cannot be recorded
        optimizers = optimizers_in(optimizer)
        self._schedule = Schedule(every)
        if run_id is not None and (len(run_id.encode()) > 1024 or not run_id.isprintable()):
            raise RecorderError("run_id: at most 1024 bytes, without control characters")
        if model is not None and not hasattr(model, "named_modules"):
            raise RecorderError(f"model: {type(model).__name__} is no module of torch")
        model, replicas, has_graph = unwrapped(model)
        place = Place.of(model, rank, world, shards, local)
        if not place.records:
            return
        path = place.path(path)
        meta = place.meta(run_id)
        expressions = {"gradients": gradients, "weights": weights, "updates": updates, "joint": joint, "states": states}
        self._scope = Scope(
            model=model,
            replicas=replicas,
            shards=place.shards,
            is_alone=not place.has_own_file,
            summed=1 if place.local else place.world,
            tells_more=place.rank == 0 or not place.local,
            elsewhere=recorded_elsewhere(model, place.rank, place.job_world) if place.shards and model is not None else frozenset(),
            role_of=role_rules(roles, model),
            wanted=compiled_expressions(model, bool(optimizers), scaler is not None, expressions),
            sums=sums,
            blocks=None if blocks is None else BlockCounter(extents_of(blocks, axis)),
            strict=strict,
        )
        check_scaler(scaler)
        if kernels.has_devices():
            self.counting += ", kernels" if kernels.are_there() else ", torch"
        asked = (("gradient", activations, "activations"), ("output", forward, "forward"), ("input", inputs, "inputs"))
        of_modules = {what: expression(regex, argument) for what, regex, argument in asked if regex}
        watched = modules_to_watch(model, path, of_modules)
        fp8_scales = fp8_scales and expression(fp8_scales, "fp8_scales")
        if fp8_scales and every != 1:
            raise RecorderError(f"fp8_scales, every={every}: a scale depends on all steps; record every one")
        self._scales = Scales(model, fp8_scales, os.fspath(path)) if fp8_scales and self._scope.tells_more else None
        self._file = File(path, append, meta, place.ranks)
        _open.add(self)
        _close_at_exit(os.getpid())
        self._compose(scaler, optimizers)
        self._watch(watched, place.local, has_graph)

    def _compose(self, scaler, optimizers):
        """The objects that a step goes through."""
        scope, file, schedule = self._scope, self._file, self._schedule
        self._parameters = parameters = Parameters(scope.model)
        self._seen = seen = Seen(scope.sums)
        self._taker = taker = Taker(scope, file)
        self._parts = parts = Parts(scope, parameters, schedule, seen)
        self._gradients = gradients = Gradients(scope, file, parameters, parts, taker)
        self._rows = RowMaker(scope, file, parts)
        self._doubts = Doubts(scope, parameters, parts, schedule.every)
        if scaler is not None or optimizers:
            self._updates = Updates(
                scope,
                scaler,
                optimizers,
                file=file,
                parts=parts,
                gradients=gradients,
                taker=taker,
                schedule=schedule,
                seen=seen,
                record=self._record,
                later=not self._wait,
            )

    def _watch(self, watched, local, has_graph):
        """Places hooks."""
        scope, schedule, seen = self._scope, self._schedule, self._seen
        for name, module, what in watched:
            watch = Watch(name, what, schedule, self._taker, seen, scope.sums)
            self._hooks.append(module.register_forward_hook(Hook(watch.see)))
        if self._updates is not None:
            self._updates.watch()
        if local and type(scope.replicas).__name__ == "DistributedDataParallel":
            self._gradients.local = Local(scope, self._parameters, self._parts, self._gradients, schedule, seen)
            self._hooks += self._gradients.local.hooks
        if has_graph:
            self._parts.watch_forward()

    def __del__(self):
        """Of one that was dropped without close()."""
        if getattr(self, "_file", None) is not None:
            self._leave()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Leaves a single file. Recorded steps are safe even without it."""
        if self._file is None:
            return
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        if self._updates is not None:
            self._updates.stop_watching()
        self._parts.close()
        if self._updates is not None:
            self._updates.record_waiting()
        self._seen.watched = []
        error = None
        try:
            self._settle(4, is_last=True)
        except Exception as failure:  # what can be closed is closed before it is raised
            error = failure
        if self._file is None:  # that step was the last failure
            return
        if self._updates is not None:
            self._updates.close()
        file, self._file, self._closed, self._schedule.is_open = self._file, None, True, False
        is_lost = file.process == os.getpid() and not file.lock.holds(file.path)
        _open.discard(self)
        file.close()
        if error is not None:
            raise error
        if is_lost and self._scope.strict:
            raise RecorderError(f"{file.shown}: {LOST}")
        if is_lost:
            warnings.warn(f"ulpscope: {file.shown}: {LOST}", RuntimeWarning, stacklevel=2)

    def step(
        self,
        step,
        *,
        loss=None,
        loss_scale=None,
        scaled=True,
        factor=1.0,
        grad_norm=None,
        lr=None,
        found_inf=None,
        applied=None,
        grads=None,
        attempt=None,
        microbatch=-1,
    ):
        """Records the current gradients: call it after backward, before they are clipped. Of a Recorder that was given a
        scaler or an optimizer: those of the optimizer's last step; call it after that.

        step         The number of the update; each is recorded once.
        loss, grad_norm, lr, applied  As the loop knows them: numbers or one-element tensors, stored unchanged.
        loss_scale   What the loss was multiplied by; 1 for a run without scaling. Without it the gradients' true size
                     is unknown.
        scaled       Whether the parameters' gradients are still multiplied by it, as before scaler.unscale_. Gradients
                     of activations always are.
        factor       An additional factor of the gradients: 0.25 for one of four microbatches whose loss was divided.
        found_inf    Whether the scaler found an overflow. By default, with a loss scale other than 1: whether a weight
                     gradient here is infinite or NaN, which is what scalers look for; not with shards.
        grads        {name: array or tensor}, recorded in addition to the model's parameters: weight gradients, unless
                     the name begins with agrad/. Anything that numpy can convert, or that has __dlpack__.
        attempt, microbatch  The index if an update is tried again, or if each microbatch's gradient is recorded;
                     microbatch -1 is the accumulated gradient, which ends the step.
        """
        if self._closed:
            self._say_closed(step)
        if self._file is None:
            return
        given = Given(loss, loss_scale, scaled, factor, grad_norm, lr, found_inf, applied, grads, attempt, microbatch)
        self._record(step, given)

    def _say_closed(self, step):
        text = f"step {step}: comes after close(): this and later steps are not recorded"
        if self._scope.strict:
            raise RecorderError(text)
        self._closed = False  # said once
        warnings.warn(f"ulpscope: {text}", RuntimeWarning, stacklevel=3)

    def _record(self, step, given):
        self._settle(5)
        with uninterrupted():
            is_begun = self._file is not None and self._begin(step, given)  # else the step before was the last failure
        if is_begun and self._writer.is_done:
            self._settle(5)

    def _begin(self, step, given):
        """Takes what is seen of a step. Whether it is on its way to the file, or there."""
        update, ends_step = None, given.microbatch == -1
        if self._updates is not None and ends_step:
            update = self._updates.take()
            if self._file is None:  # one that waited was the last failure
                return False
            if update is None:
                self._parts.look_behind(given.loss)
                self._updates.wait(step, given.waiting())
                return False
        is_due = self._schedule.is_due
        trouble, unfit = self._seen.take_problems()
        watched = self._seen.take_watched() if update is None or update.watched is None else update.watched
        if ends_step:
            self._schedule.calls += 1
        if not is_due:
            self._forget_local(ends_step)
            self._parts.end_of(() if self._updates is not None else self._parts.passes)
            return False
        try:
            self._writer.begin(self._taken(step, given, update, watched, trouble, unfit))
        except Exception as error:
            self._gradients.forget()
            if self._scope.strict:
                raise
            self._say_failure(step, error, 5)
            return False
        return True

    def _taken(self, step, given, update, watched, trouble, unfit):
        """What is seen of a step now, on its way to the file."""
        self._file.expect_process()
        unscaled = ()
        if update is not None:
            unscaled, trouble = update.unscaled, trouble or update.trouble
            unfit.update(update.unfit)
        elif self._updates is not None and given.microbatch >= 0 and given.loss_scale is None:
            given.loss_scale = self._updates.current_scale()
        if trouble is not None:
            raise trouble
        dropped = self._parts.look_behind(given.loss)
        if update is not None:
            self._updates.forget_parts(update, dropped)
        given.key(step, self._file.shown)
        given.check_arguments()
        values, watched = self._values(given, update, watched, unfit)
        if isinstance(values, Bunch):
            values.count(self._scope.sums)
        named = []
        for name, array in (given.grads or {}).items():
            kind = "activation_grad" if str(name).startswith(("agrad/", "agrad__")) else "weight_grad"
            named.append(self._taker.take(name, kind, None, 0, None, array, unfit))
        named = [of for of in named if of is not None]
        all_taken = [*([] if isinstance(values, Bunch) else values), *named, *watched, *(update.more(True) if update is not None else ())]
        begin([of for *_, of in all_taken], self._scope.sums)
        under_way = {of.started[0] for *_, of in all_taken if of.started is not None}
        is_under_way = bool(under_way) or isinstance(values, Bunch) and values.is_started
        known = self._file.tensors
        can_wait = is_under_way and not self._wait and self._parts.is_decided
        can_wait = can_wait and not [1 for name, *_, of in all_taken if name not in known or of.vector is not None]
        given.hold(can_wait)
        self._doubts.see_names()
        scales = self._scales.take() if self._scales is not None and given.microbatch == -1 else None
        write = functools.partial(self._write, step, given, update, unscaled, values, named, watched, scales, unfit)
        blocks = {of.blocks for *_, of in all_taken} | set(values.blocks if isinstance(values, Bunch) else ())
        blocks = {of for of in blocks if of is not None and of.counts}  # that devices count
        arrive = functools.partial(self._arrive, given, values, under_way, blocks)
        if blocks and not can_wait:
            self._scope.blocks.arrive(blocks)
        return Step(step, arrive, write, unfit, self._gradients.take_seen(), bool(can_wait))

    def _arrive(self, given, values, under_way, blocks):
        """Waits for what devices have of a step."""
        given.settle()
        if isinstance(values, Bunch):
            values.arrive()
        for started in under_way:
            started.tables()
        if blocks:
            self._scope.blocks.arrive(blocks)

    def _write(self, step, given, update, unscaled, values, named, watched, scales, unfit):
        """Records what was taken of a step. Returns its rows, and what it makes suspicious."""
        given.settle()
        other_scale = given.complete(update) if update is not None else None
        given.check()
        if update is not None:
            watched = [*watched, *update.more(given.applied)]
        factors = Factors(given.loss_scale, given.scaled, unscaled, given.factor)
        rows = self._rows.rows(step, values, named, watched, factors, unfit)
        rows = self._doubts.without_doubtful(rows, given.scaled, given.factor, self._rows.is_mixed)
        suspicions = self._doubts.suspicions(rows, given.loss_scale, given.scaled, given.factor, given.microbatch, other_scale)
        if given.found_inf is None:
            given.found_inf = self._found_inf(rows, given.loss_scale)
        if self.see_rows is not None:
            self.see_rows(step, rows)
        joint = update.joint if update is not None and given.applied is not False else {}
        self._file.write(given.key(step, self._file.shown), given.scalars(), rows, joint, scales)
        if scales is not None:
            self._scales.keep()
        return rows, suspicions

    def _settle(self, stacklevel, is_last=False):
        """Waits until the step before is in the file, and says what became of it. stacklevel: of the user's call, seen from what
        this calls."""
        done = self._writer.end(is_last)
        if done is None:
            return
        if done.error is not None:
            self._gradients.forget()
            if self._scope.strict:
                raise done.error
            self._say_failure(done.step, done.error, stacklevel)
            return
        rows, suspicions = done.result
        self._failures = 0
        self._gradients.learn(rows, done.seen)
        if not self._parts.passes:
            self._parts.leave_root()  # roles are in the file
        self._say_unfit(done.step, done.unfit, stacklevel)
        self._say_without_blocks(stacklevel)
        for text in suspicions:
            text = printable(f"ulpscope: {self._file.shown}: step {done.step}: {text}")
            warnings.warn(text, RuntimeWarning, stacklevel=stacklevel - 1)

    def _leave(self):
        """Where nobody can be told by an error any more."""
        file = self._file
        try:
            self._settle(3, is_last=True)
        except Exception as error:
            warnings.warn(printable(f"ulpscope: {file.shown}: {error}"), RuntimeWarning, stacklevel=2)
        finally:
            _open.discard(self)
            file.close()

    def flush(self):
        """Waits until every step of which step() returned is in the file."""
        self._settle(4)

    def _values(self, given, update, watched, unfit):
        """Gradients, and what else is recorded whatever becomes of the step."""
        if update is not None:
            self._forget_local(True)
            return update.gradients(), watched
        ends_step = given.microbatch == -1
        values = self._gradients.take(unfit)
        if ends_step:
            self._parts.end_of(self._parts.passes)
        self._forget_local(ends_step)
        if "weights" in self._scope.wanted and ends_step:
            weights = self._scope.chosen("weights", self._parameters)
            watched = watched + self._taker.take_more("weight", weights, unfit)
        return values, watched

    def _found_inf(self, rows, loss_scale):
        """Whether gradients show an overflow, as a scaler looks for it; None where that is not known."""
        if loss_scale in (None, 1) or not self._scope.is_alone:
            return None
        of = self._doubts.weight_grads(rows.infos)
        found = not rows.tables.are_finite(of) if of else None
        return None if "gradients" in self._scope.wanted and not found else found  # the others may have one

    def _forget_local(self, ends_step):
        if ends_step and self._gradients.local is not None:
            self._gradients.local.taken.clear()

    def _say_failure(self, step, error, stacklevel):
        self._failures += 1
        text = str(error) if isinstance(error, RecorderError) else f"{type(error).__name__}: {error}"
        place = "" if text.startswith(self._file.shown) else f"{self._file.shown}: step {step}: "
        is_last = self._failures == FAILURES
        end = "; this is the tenth failure in a row: recording stops" if is_last else ""
        warnings.warn(printable(f"ulpscope: {place}{text}{end}"), RuntimeWarning, stacklevel=stacklevel)
        if is_last:
            self.close()
            self._closed = False

    def _say_without_blocks(self, stacklevel):
        left_out = {} if self._scope.blocks is None else self._scope.blocks.newly_left_out()
        if left_out:
            name, why = next(iter(left_out.items()))
            others = "" if len(left_out) == 1 else f", and of {len(left_out) - 1} more"
            text = printable(f"ulpscope: {self._file.shown}: no blocks are counted of {name!r}, which {why}{others}")
            warnings.warn(text, RuntimeWarning, stacklevel=stacklevel)

    def _say_unfit(self, step, unfit, stacklevel):
        new = [name for name in unfit if name not in self._told]
        if not new or len(self._told) > 1000:  # names that change all the time
            return
        self._told.update(new)
        reason = str(unfit[new[0]]).partition("; ")[0]
        others = "" if len(new) == 1 else f"; so is {new[1]!r}"
        others += f", and {len(new) - 2} more" if len(new) > 2 else ""
        text = f"{self._file.shown}: step {step}: {reason}: it is left out of this and all later steps{others}"
        warnings.warn(printable(f"ulpscope: {text}"), RuntimeWarning, stacklevel=stacklevel)
