"""Of how many parts each gradient is the sum, and which of them were rounded before they were added."""

from .._counting.compiled import counting
from .._counting.host import loaded_torch
from .._counting.types import TYPES
from .graph import Graph, graph_behind
from .hooks import RootHook
from .passes import FORWARD, Calls, Passes, SCALED


class Parts:
    """Learns from the graphs behind outputs and losses, and counts backward passes."""

    def __init__(self, scope, parameters, schedule, seen):
        self._scope, self._parameters, self._schedule, self._seen = scope, parameters, schedule, seen
        self.graph = None  # once a forward pass showed it
        self.shown_by = None  # what showed the uses: an "output" of the model, a "loss" after its backward pass, or a "scaled" one
        self.is_sure = False  # whether a loss showed all uses of parameters, also those outside of the model
        self.passes = {}  # {id of parameter: Passes}
        self.looks_for_digits = True  # whether values may still disprove what an output showed
        self._calls_before = Calls()  # what came before backward passes
        self._learnt_at = None  # of a loss: how many calls of step() there were
        self._is_taken = False  # whether any gradients were
        self._root_hook = None  # which sees the graph of a forward pass, until that is known

    @property
    def casts(self):
        return {} if self.graph is None else self.graph.casts

    def watch_forward(self):
        self._root_hook = self._scope.model.register_forward_hook(RootHook(self._see_forward))

    def leave_root(self):
        if self._root_hook is not None:
            self._root_hook.remove()
            self._root_hook = None

    def close(self):
        for passes in self.passes.values():
            passes.hook.remove()
        self.passes = {}
        self.leave_root()

    def _see_forward(self, module, inputs, output):
        if not loaded_torch().is_grad_enabled():
            return
        self._calls_before.see(FORWARD)
        try:
            if self.graph is None:
                self._learn(graph_behind(output), "output")
        except Exception as error:  # training goes on, and step() raises it
            self.graph, self._seen.trouble = Graph({}, {}, set(), False), error

    def before_scale(self, outputs=None, *arguments, **named):
        """What is scaled is what a backward pass comes from: its graph has all uses. Until gradients are taken, all are looked at:
        what shows other uses is not certain."""
        if not loaded_torch().is_grad_enabled():
            return
        self._calls_before.see(SCALED)
        try:
            if not self._is_taken:
                graph = graph_behind(outputs)
                if graph is not None and self.graph is None:
                    self._learn(graph, "scaled")
                elif graph is not None:
                    self._relearn(graph)
        except Exception as error:  # training goes on, and step() raises it
            self._seen.trouble = error

    def look_behind(self, loss):
        """A loss with its graph may span several backward passes: where it is all there is to learn from, uses count if one pass
        came to a parameter in each step. It also shows uses outside of the model. Returns the ids of parameters of
        which the parts are not known any more."""
        if getattr(loss, "grad_fn", None) is None or self.is_sure:
            return set()
        known = set(self.passes)
        if self.graph is None:
            self._learn(graph_behind(loss), "loss")
            self.is_sure = self.graph is not None and self._scope.shards
            self._learnt_at = self._schedule.calls
            self.leave_root()
        elif self.shown_by == "output" or self._schedule.calls != self._learnt_at:
            self.is_sure, graph = True, graph_behind(loss)
            for of, uses in self.graph.uses.items():
                passes = self.passes.get(of)
                if passes is not None and self.shown_by == "loss":
                    passes.is_known = passes.ever == self._schedule.calls - self._learnt_at
                if graph.uses.get(of) != uses or (passes is not None and not passes.is_known):
                    self.drop(of)
        return known - self.passes.keys()

    def _learn(self, graph, shown_by):
        """What the graph says, for the whole run; passes of the parameters that it knows are counted from now on."""
        self.graph, self.shown_by = graph, shown_by
        if graph is None or self._scope.shards:
            return
        self.is_sure = shown_by == "scaled"
        self._calls_before.right = {"output": FORWARD, "loss": None, "scaled": self._calls_before.now}[shown_by]
        for _, parameter in self._parameters:
            self._count_passes(parameter)

    def _count_passes(self, parameter):
        of = id(parameter)
        if of in self.graph.uses and of not in self.graph.unsure:
            self.passes[of] = Passes(parameter, self.graph.uses[of], self._calls_before, self.graph.is_open)
            self.passes[of].is_known = self.shown_by != "loss"

    def _relearn(self, graph):
        """The graph of a scaled loss, where another was there before."""
        if self._scope.shards:
            return
        before, first = self.graph, self.shown_by == "output"
        differ = {of for of, uses in graph.uses.items() if before.uses.get(of) != uses}
        if first:
            self.shown_by, self.is_sure, self._calls_before.right = "scaled", True, self._calls_before.now
            casts = {of: cast for of, cast in graph.casts.items() if cast or of not in before.casts}
            unsure = (before.unsure - differ) | (graph.unsure & differ)
            self.graph = Graph({**before.casts, **casts}, {**before.uses, **graph.uses}, unsure, before.is_open and graph.is_open)
            for of in differ & self.passes.keys():
                self.passes.pop(of).hook.remove()
            for _, parameter in self._parameters if differ else ():
                if id(parameter) in differ:
                    self._count_passes(parameter)
        else:
            for of in differ:
                self.drop(of)

    def drop(self, of):
        """A parameter of whose gradients the parts are not known."""
        self.graph.unsure.add(of)
        if of in self.passes:
            self.passes.pop(of).hook.remove()

    @property
    def is_decided(self):
        """Whether values have no say in it any more."""
        return self.is_sure or self.shown_by != "output" or not self.passes or "float16" not in self.casts.values()

    def settle(self):
        self._is_taken = True
        if self.passes and self._has_own_reduction:
            for of in list(self.passes):
                self.drop(of)
        if not self.passes and self.graph is not None:
            self.leave_root()

    @property
    def _has_own_reduction(self):
        """Whether gradients are, or may be, reduced over ranks in a way of the job's own, or not at all. Torch 1 does not
        tell, and nothing does where only what is in DistributedDataParallel was given."""
        of = self._scope.replicas
        if self._scope.summed == 1:
            return False
        if type(of).__name__ != "DistributedDataParallel" or not hasattr(of, "_comm_hooks"):
            return True
        told = of._get_ddp_logging_data().get("comm_hook")  # the built-in ones are not in the list
        its = of.process_group.size() == self._scope.summed and getattr(of, "mixed_precision", None) is None
        return bool(of._comm_hooks or told) or not its

    def parts_of(self, parameter, gradient):
        """Those that the gradient is a sum of, as a summary has them."""
        passes = self.passes.get(id(parameter))
        if passes is None:
            return 0
        passes.take(gradient)
        if not passes.is_known or not passes.since_zero > 0 or (self.shown_by == "loss" and passes.since_zero > 1):
            return 0
        low, others = (min(255, uses * passes.since_zero * self._scope.summed) for uses in passes.uses)
        if (low, others) == (1, 0) and not self.is_sure and self.looks_for_digits and self._has_digits(id(parameter), gradient):
            self.drop(id(parameter))
            return 0
        return others << 8 | low

    def parts_of_all(self, named, gradients, in_few_bits):
        """Of the gradients of pairs of name and parameter, None among them; for those that there are, one value for each."""
        if counting is not None and (self.is_sure or not self.looks_for_digits):
            counted = [self.passes.get(id(parameter)) for _, parameter in named]
            return counting.parts_of(counted, gradients, in_few_bits, self.shown_by == "loss", self._scope.summed)
        those = [(parameter, gradient) for (_, parameter), gradient in zip(named, gradients) if gradient is not None]
        return [1 if is_low else self.parts_of(*of) for is_low, of in zip(in_few_bits, those)]

    def count_added(self, parameter):
        """Counts a pass that came to a parameter, before its own hook does."""
        if id(parameter) in self.passes:
            self.passes[id(parameter)].added(parameter)

    def _has_digits(self, of, gradient):
        """Whether a gradient in float32 has values that no number of 16 bits has, to which it would have been rounded."""
        torch, through = loaded_torch(), self.graph.casts[of]
        if gradient.dtype != torch.float32 or gradient.layout != torch.strided or through not in TYPES:
            return False
        some = gradient.detach().reshape(-1)[:4096].contiguous().view(torch.int32)
        return bool((some & ((1 << (23 - TYPES[through].fraction)) - 1)).any())

    def end_of(self, parameters):
        """Of a step, by ids."""
        for of in parameters:
            if of in self.passes:
                self.passes[of].end()
