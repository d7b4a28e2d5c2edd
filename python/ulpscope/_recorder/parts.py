"""The part of Recorder that tells of how many parts a gradient is a sum, and which were rounded before they were added."""

from .._counting.host import loaded_torch
from .._counting.types import TYPES
from .graph import Graph, graph_behind
from .passes import FORWARD, Passes, SCALED


class Parts:
    def _see_forward(self, module, inputs, output):
        if not loaded_torch().is_grad_enabled():
            return
        self._calls_before.see(FORWARD)
        try:
            if self._graph is None:
                self._learn(graph_behind(output), "output")
        except Exception as error:  # step() tells it: training goes on
            self._graph, self._trouble = Graph({}, {}, set(), False), error

    def _before_scale(self, outputs=None, *arguments, **named):
        """What is scaled is what a backward pass comes from: its graph has all uses. Until gradients are taken, all are looked at:
        what shows other uses is not certain."""
        if not loaded_torch().is_grad_enabled():
            return
        self._calls_before.see(SCALED)
        try:
            if not self._taken:
                graph = graph_behind(outputs)
                if graph is not None and self._graph is None:
                    self._learn(graph, "scaled")
                elif graph is not None:
                    self._relearn(graph)
        except Exception as error:  # step() tells it: training goes on
            self._trouble = error

    def _look_behind(self, loss):
        """A loss with its graph may span several backward passes: where it is all there is to learn from, uses count if one pass
        came to a parameter in each step. It also shows uses outside of the model. Returns the ids of parameters of
        which the parts are not known any more."""
        if getattr(loss, "grad_fn", None) is None or self._sure:
            return set()
        known = set(self._passes)
        if self._graph is None:
            self._learn(graph_behind(loss), "loss")
            self._sure = self._graph is not None and self._shards
            self._learnt_at = self._calls
            self._leave_root()
        elif self._shown_by == "output" or self._calls != self._learnt_at:
            self._sure, graph = True, graph_behind(loss)
            for of, uses in self._graph.uses.items():
                passes = self._passes.get(of)
                if passes is not None and self._shown_by == "loss":
                    passes.is_known = passes.ever == self._calls - self._learnt_at
                if graph.uses.get(of) != uses or (passes is not None and not passes.is_known):
                    self._drop(of)
        return known - self._passes.keys()

    def _learn(self, graph, shown_by):
        """What the graph says, for the whole run; passes of the parameters that it knows are counted from now on."""
        self._graph, self._shown_by = graph, shown_by
        if graph is None or self._shards:
            return
        self._sure = shown_by == "scaled"
        self._calls_before.right = {"output": FORWARD, "loss": None, "scaled": self._calls_before.now}[shown_by]
        for _, parameter in self._parameters():
            self._count_passes(parameter)

    def _count_passes(self, parameter):
        of = id(parameter)
        if of in self._graph.uses and of not in self._graph.unsure:
            self._passes[of] = Passes(parameter, self._graph.uses[of], self._calls_before, self._graph.is_open)
            self._passes[of].is_known = self._shown_by != "loss"

    def _relearn(self, graph):
        """The graph of a scaled loss, where another was there before."""
        if self._shards:
            return
        before, first = self._graph, self._shown_by == "output"
        differ = {of for of, uses in graph.uses.items() if before.uses.get(of) != uses}
        if first:
            self._shown_by, self._sure, self._calls_before.right = "scaled", True, self._calls_before.now
            casts = {of: cast for of, cast in graph.casts.items() if cast or of not in before.casts}
            unsure = (before.unsure - differ) | (graph.unsure & differ)
            self._graph = Graph({**before.casts, **casts}, {**before.uses, **graph.uses}, unsure, before.is_open and graph.is_open)
            for of in differ & self._passes.keys():
                self._passes.pop(of).hook.remove()
            for _, parameter in self._parameters() if differ else ():
                if id(parameter) in differ:
                    self._count_passes(parameter)
        else:
            for of in differ:
                self._drop(of)

    def _drop(self, of):
        """A parameter of whose gradients the parts are not known."""
        self._graph.unsure.add(of)
        if of in self._passes:
            self._passes.pop(of).hook.remove()

    def _settle_passes(self):
        self._taken = True
        if self._passes and self._has_own_reduction:
            for of in list(self._passes):
                self._drop(of)
        if not self._passes and self._graph is not None:
            self._leave_root()

    @property
    def _has_own_reduction(self):
        """Whether gradients are, or may be, reduced over ranks in a way of the job's own, or not at all. Torch 1 does not
        tell, and nothing does where only what is in DistributedDataParallel was given."""
        of = self._replicas
        if self._summed == 1:
            return False
        if type(of).__name__ != "DistributedDataParallel" or not hasattr(of, "_comm_hooks"):
            return True
        told = of._get_ddp_logging_data().get("comm_hook")  # the built-in ones are not in the list
        its = of.process_group.size() == self._summed and getattr(of, "mixed_precision", None) is None
        return bool(of._comm_hooks or told) or not its

    def _parts(self, parameter, gradient):
        """Those that the gradient is a sum of, as a summary has them."""
        passes = self._passes.get(id(parameter))
        if passes is None:
            return 0
        passes.take(gradient)
        if not passes.is_known or not passes.since_zero > 0 or (self._shown_by == "loss" and passes.since_zero > 1):
            return 0
        low, others = (min(255, uses * passes.since_zero * self._summed) for uses in passes.uses)
        if (low, others) == (1, 0) and not self._sure and self._looks >= 98 and self._has_digits(id(parameter), gradient):
            self._drop(id(parameter))
            return 0
        return others << 8 | low

    def _has_digits(self, of, gradient):
        """Whether a gradient in float32 has values that no number of 16 bits has, to which it would have been rounded."""
        torch, through = loaded_torch(), self._graph.casts[of]
        if gradient.dtype != torch.float32 or gradient.layout != torch.strided or through not in TYPES:
            return False
        some = gradient.detach().reshape(-1)[:4096].contiguous().view(torch.int32)
        return bool((some & ((1 << (23 - TYPES[through].fraction)) - 1)).any())

    def _end_of(self, parameters):
        """Of a step, by ids."""
        for of in parameters:
            if of in self._passes:
                self._passes[of].is_taken = self._passes[of].is_ended = True

    def _leave_root(self):
        if self._root_hook is not None:
            self._root_hook.remove()
            self._root_hook = None
