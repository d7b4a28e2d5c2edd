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

Each step is one transaction: after a kill the file holds every step whose call returned. The project's
docs/recording-format.md specifies the file: counts of values in cells that decide exactly what a 16-bit format loses.
"""

import math
import os
import re
import warnings
import weakref

from .._counting.compiled import counting as compiled_counting
from .._errors import RecorderError, printable
from .._file.recording import File, LOST
from .doubts import Doubts
from .gradients import Gradients
from .hooks import Hook, RootHook
from .names import plain
from .optimizers import optimizers_in
from .parts import Parts
from .passes import Calls
from .ranks import is_sharded, new_run_id, rank_and_world, recorded_elsewhere
from .roles import role_rules
from .updates import Updates

# What is around a model, and where it has it; torch.compile calls it likewise in the names of what it is around.
WRAPPERS = {"DistributedDataParallel": "module", "DataParallel": "module", "OptimizedModule": "_orig_mod"}


def is_compiled(model):
    """Whether nothing of its graph can be seen, and a hook would break it in two."""
    return getattr(model, "_compiled_call_impl", None) is not None


class Recorder(Gradients, Updates, Parts, Doubts):
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
    gradients    A regular expression, searched in names of parameters: only the gradients of these are recorded.
    weights      The same: these parameters are recorded too, as `weight/NAME`, before the optimizer's step.
    updates      The same: what the optimizer's step adds to these, as `update/NAME`: float32, after minus before. Keeps a
                 copy of them during that step. Needs optimizer.
    joint        The same: joint tables of these and their updates, which tell what is lost where weights are kept in 16 bits
                 without a float32 copy (ulp precision weights). Records them as weights too. Needs optimizer and numpy.
    states       The same, searched in KEY/NAME: tensors of the optimizer's state after its step, as `state/KEY/NAME`, as in
                 states="exp_avg_sq/". Needs optimizer.
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
    strict       Whether step() raises. Otherwise a step that cannot be recorded is skipped with a warning and training
                 goes on; after ten failures in a row recording stops.

    `Recorder.counting` is "compiled", or "python" where the compiled part of the package is missing or of another version: what is
    recorded is the same to the byte.

    Raises RecorderError for invalid arguments, before training. Recorded steps remain, whatever fails later.
    """

    counting = "python" if compiled_counting is None else "compiled"  # of values on the host

    def __init__(
        self,
        path,
        model=None,
        *,
        every=1,
        sums=False,
        activations=None,
        forward=None,
        gradients=None,
        weights=None,
        updates=None,
        joint=None,
        states=None,
        roles=None,
        append=False,
        shards=None,
        local=False,
        rank=None,
        world=None,
        run_id=None,
        scaler=None,
        optimizer=None,
        strict=False,
    ):
        self._file, self._hooks = None, []
        self._wrapped, self._scaler, self._optimizers = [], scaler, optimizers_in(optimizer)
        self._update, self._waiting = None, None  # an Update since the last step(); a step() that came before it
        self._stepping = False  # whether the scaler's step is running
        self._in_vain = 0  # calls of step() since an optimizer stepped
        self._order = None  # {id of parameter: its place, name and itself}
        self._ordered = None, []  # ids of parameters, and names and parameters as they were ordered last
        self._local = None  # {id of parameter: what was taken of it before it was reduced; None if it is not reduced}
        self._root_hook = None  # which sees the graph of a forward pass, until that is known
        if every < 1:
            raise RecorderError(f"every={every}: must be 1 or more")
        if run_id is not None and (len(run_id.encode()) > 1024 or not run_id.isprintable()):
            raise RecorderError("run_id: at most 1024 bytes, without control characters")
        compiled, self._replicas = False, model
        while type(model).__name__ in WRAPPERS:
            compiled = compiled or type(model).__name__ == "OptimizedModule"
            self._replicas = model if type(model).__name__ == "DistributedDataParallel" else self._replicas
            model = getattr(model, WRAPPERS[type(model).__name__])
        self._model, self._every, self._sums, self._strict = model, every, sums, strict
        self._calls, self._failures, self._closed = 0, 0, False
        self._structure, self._named = None, []  # of the model, and the names and parameters that it has
        self._recorded_of = None, []  # what _recorded was asked for last, and what it said
        self._alike, self._seen = None, None  # what mostly is as in the step before; what gradients are there, where that is not so
        self._infos, self._weight_grads_of = None, (None, [])  # what was found of the tensors of the step before
        self._watched, self._trouble = [], None  # what hooks saw since the last step, and what went wrong there
        self._pending = []  # what they counted on a device
        self._unfit, self._told = {}, set()  # tensors that cannot be recorded: why, since the last step; of whom that was said
        self._looks, self._suspected = 100, set()  # steps whose values are still looked at, and what was said of them
        self._scale_before, self._finite_before = None, False
        self._graph = None  # once a forward pass showed it
        self._passes, self._calls_before = {}, Calls()  # {id of parameter: Passes}; what came before backward passes
        self._shown_by = None  # what showed the uses: an "output" of the model, a "loss" after its backward pass, or a "scaled" one
        self._learnt_at = None  # of a loss: how many calls of step() there were; None again when another one agreed
        self._sure = False  # whether a loss showed all uses of parameters, also those outside of the model
        self._taken = False  # whether any gradients were
        self._mixed = False  # whether anything is in 16 bits
        its_rank, its_world = rank_and_world()
        rank, world = its_rank if rank is None else rank, its_world if world is None else world
        if not 0 <= rank < world:
            raise RecorderError(f"rank={rank}: must be from 0 to world - 1, and world is {world}")
        if shards is None:
            shards = world > 1 and model is not None and is_sharded(model)
        local = local and world > 1
        if local and shards:
            raise RecorderError("local: the parts of FSDP and DTensor are there only when they are reduced; leave it out")
        if rank > 0 and not shards and not local:
            return
        if shards or local:
            root, extension = os.path.splitext(os.fspath(path))
            path = f"{root}.rank{rank}{extension}"
        meta = {
            "run_id": run_id or new_run_id((shards or local) and world > 1),
            "rank": rank,
            "world": world,
            "reduction": "local" if local or world == 1 else "reduced",
            "layout": "shard" if shards else "replica",
        }
        self._elsewhere = frozenset() if not shards or model is None else recorded_elsewhere(model, rank, its_world)
        ranks = [rank] if shards or local else range(world)
        self._role_of = role_rules(roles, model)
        self._shards, self._alone = shards, not shards and not local  # whether this rank knows all gradients
        self._summed = 1 if local else world  # of so many ranks gradients are sums
        self._tells_more = rank == 0 or not local  # whether all but gradients, which are the same for all ranks, is recorded here
        self._wanted = {"gradients": gradients, "weights": weights, "updates": updates, "joint": joint, "states": states}
        self._wanted = {what: re.compile(regex) for what, regex in self._wanted.items() if regex}
        if model is None and (scaler is not None or self._optimizers or self._wanted):
            raise RecorderError(f"{', '.join(['scaler, optimizer', *self._wanted])}: need a model")
        for what, regex in self._wanted.items():
            if what in ("updates", "joint", "states") and not self._optimizers:
                raise RecorderError(f"{what}: needs optimizer=, which makes them")
            if what != "states" and not any(regex.search(plain(name)) for name, _ in model.named_parameters()):
                raise RecorderError(f"{what}: {regex.pattern!r} matches no parameter name")
        lacking = [n for n in ("get_scale", "unscale_", "step", "update") if scaler is not None and not hasattr(scaler, n)]
        if lacking:
            raise RecorderError(f"scaler: a {type(scaler).__name__} has no {lacking[0]}(): leave it out, and pass loss_scale")
        modules = {}
        for name, module in () if model is None else model.named_modules():
            modules.setdefault(plain(name), module)  # what is compiled keeps its graph whole: the hook is around it
        watched = []
        for regex, kind in ((activations, "activation_grad"), (forward, "activation")):
            found = [(name, module) for name, module in modules.items() if regex and re.search(regex, name)]
            if regex and not found:
                raise RecorderError(f"{os.fspath(path)}: {regex!r} matches no module name")
            watched += [(module, self._watch(name, kind)) for name, module in found]
        self._file = File(path, append, [(k, str(v)) for k, v in meta.items()], ",".join(map(str, ranks)))
        self._finish = weakref.finalize(self, self._file.close)  # at exit too
        self._hooks = [module.register_forward_hook(Hook(hook)) for module, hook in watched]
        self._see_updates()
        if local and type(self._replicas).__name__ == "DistributedDataParallel":
            self._see_reductions()
        if model is not None and not compiled and not is_compiled(model):
            self._root_hook = model.register_forward_hook(RootHook(self._see_forward))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Leaves a single file. Recorded steps are safe even without it."""
        for hook in self._hooks:
            hook.remove()
        for of, name, wrapped, before in self._wrapped:
            if vars(of).get(name) is wrapped:  # else somebody wrapped it again, and it only passes on
                if before is None:
                    del vars(of)[name]
                else:
                    vars(of)[name] = before
        self._hooks, self._wrapped = [], []
        for passes in self._passes.values():
            passes.hook.remove()
        self._passes = {}
        self._leave_root()
        self._record_waiting()
        self._watched, self._update, self._waiting = [], None, None
        if self._file is None:
            return
        if 0 < self._in_vain < 100 and self._calls == 0:
            self._tell_in_vain()
        file, self._file, self._closed = self._file, None, True
        is_lost = file.process == os.getpid() and not file.lock.holds(file.path)
        self._finish()
        if is_lost and self._strict:
            raise RecorderError(f"{file.shown}: {LOST}")
        if is_lost:
            warnings.warn(f"ulpscope: {file.shown}: {LOST}", RuntimeWarning, stacklevel=2)

    @property
    def _due(self):
        return self._file is not None and self._calls % self._every == 0

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
            text = f"step {step}: comes after close(): this and later steps are not recorded"
            if self._strict:
                raise RecorderError(text)
            self._closed = False  # said once
            warnings.warn(f"ulpscope: {text}", RuntimeWarning, stacklevel=2)
        update = None
        if self._sees_updates and microbatch == -1 and self._file is not None:
            self._record_waiting()
            update, self._update = self._update, None
            if update is None:  # more gradients are to be accumulated, or the optimizer's step follows
                self._look_behind(loss)
                loss = loss.detach() if hasattr(loss, "detach") else loss
                given = dict(loss=loss, loss_scale=loss_scale, factor=factor, grad_norm=grad_norm, lr=lr, found_inf=found_inf)
                self._waiting = step, dict(given, applied=applied, grads=grads, attempt=attempt)
                self._in_vain += 1
                if self._in_vain == 100:
                    self._tell_in_vain()
                return
            self._in_vain = 0
        due, watched, trouble, unfit = self._due, self._watched, self._trouble, self._unfit
        self._trouble, self._unfit = None, {}
        if update is not None and update.watched is not None:
            watched = update.watched
        else:
            self._watched = []
        if microbatch == -1:
            self._calls += 1
        if not due:
            self._forget_local(microbatch)
            self._end_of(() if self._sees_updates else self._passes)
            return
        unscaled, next_scale = (), None
        try:
            if update is not None:
                unscaled, trouble = update.unscaled, trouble or update.trouble
                unfit.update(update.unfit)
                if update.scale is not None:
                    next_scale = loss_scale if loss_scale not in (None, update.scale) else None
                    loss_scale = update.scale
                loss_scale = 1.0 if loss_scale is None else loss_scale
                lr = update.lr if lr is None else lr
                found_inf = update.found_inf() if found_inf is None else found_inf
                applied = update.applied() if applied is None else applied
                scaled = not unscaled
            elif self._sees_updates and microbatch >= 0 and self._scaler is not None:
                loss_scale = self._scaler.get_scale() if loss_scale is None else loss_scale
            if trouble is not None:
                raise trouble
            dropped = self._look_behind(loss)
            for of in dropped if update is not None else ():
                name = plain(self._order[of][1]) if of in self._order else None
                update.forget_parts(name)
            loss, loss_scale, grad_norm, lr = (
                None if x is None else float(x) for x in (loss, loss_scale, grad_norm, lr)
            )
            if microbatch < -1 or (attempt or 0) < 0:
                raise RecorderError(
                    f"attempt={attempt}, microbatch={microbatch}: counted from 0; -1 is all microbatches"
                )
            if not 0 < factor < math.inf:
                raise RecorderError(f"factor={factor}: must be above 0 and finite")
            if loss_scale is not None and not loss_scale > 0:
                raise RecorderError(
                    f"loss_scale={loss_scale}: must be above 0: pass what the loss was multiplied by, 1 where it was not"
                )
            values = update.gradients() if update is not None else self._gradients(unfit)
            if update is None and microbatch == -1:
                self._end_of(self._passes)
            self._forget_local(microbatch)
            if update is not None:
                watched = watched + update.more(applied)
            elif "weights" in self._wanted and microbatch == -1:
                watched = watched + self._more("weight", self._chosen("weights"), unfit)
            rows = self._rows(step, values, watched, grads or {}, loss_scale, scaled, unscaled, factor, unfit)
            rows = self._without_doubtful(rows, scaled, factor)
            suspicions = self._suspicions(rows, loss_scale, scaled, factor, microbatch, next_scale)
            if found_inf is None and loss_scale not in (None, 1) and self._alone:
                of = self._weight_grads(rows.infos)
                found_inf = not rows.tables.are_finite(of) if of else None
                if "gradients" in self._wanted and not found_inf:
                    found_inf = None  # the others may
            flags = (None if x is None else int(bool(x)) for x in (found_inf, applied))
            if int(step) != step:
                raise RecorderError(f"{self._file.shown}: step {step}: is not a whole number")
            if not -(2**63) <= int(step) < 2**63 - 1:
                raise RecorderError(f"{self._file.shown}: step {step}: is outside the range of step numbers")
            key = (int(step), attempt if attempt is None else int(attempt), int(microbatch))
            joint = update.joint if update is not None and applied is not False else {}
            self._file.write(key, (loss, grad_norm, lr, loss_scale, *flags), rows, joint)
            self._failures = 0
            if self._seen is not None:
                self._learn_alike(rows)
            if not self._passes:
                self._leave_root()  # roles are in the file
            self._tell_unfit(step, unfit)
            for text in suspicions:
                warnings.warn(printable(f"ulpscope: {self._file.shown}: step {step}: {text}"), RuntimeWarning, stacklevel=2)
        except Exception as error:
            self._alike = self._seen = None
            if self._strict:
                raise
            self._failures += 1
            text = str(error) if isinstance(error, RecorderError) else f"{type(error).__name__}: {error}"
            place = "" if text.startswith(self._file.shown) else f"{self._file.shown}: step {step}: "
            end = "; this is the tenth failure in a row: recording stops" if self._failures == 10 else ""
            warnings.warn(printable(f"ulpscope: {place}{text}{end}"), RuntimeWarning, stacklevel=2)
            if end:
                self.close()
                self._closed = False

    def _tell_unfit(self, step, unfit):
        new = [name for name in unfit if name not in self._told]
        if not new or len(self._told) > 1000:  # names that change all the time
            return
        self._told.update(new)
        reason = str(unfit[new[0]]).partition("; ")[0]
        others = "" if len(new) == 1 else f"; so is {new[1]!r}"
        others += f", and {len(new) - 2} more" if len(new) > 2 else ""
        text = f"{self._file.shown}: step {step}: {reason}: it is left out of this and all later steps{others}"
        warnings.warn(printable(f"ulpscope: {text}"), RuntimeWarning, stacklevel=3)

    # What an optimizer and a scaler do.
