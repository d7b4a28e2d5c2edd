"""Hooks that models are copied and pickled without."""

import functools
import sys

from .._counting.host import loaded_torch


class Hooks(list):
    def remove(self):
        for hook in self:
            hook.remove()


class Hook:
    """A forward hook that copies and pickles of its module do without."""

    def __init__(self, call):
        self.call = call

    def __call__(self, *arguments):
        self.call(*arguments)

    def __reduce__(self):
        return functools.partial, (sys.audit, "ulpscope.copy")  # takes any arguments, and does nothing


class RootHook(Hook):
    """One that does nothing where a graph is compiled: a break of it would stay when the hook is gone."""

    def __init__(self, call):
        super().__init__(call)
        self.is_compiling = getattr(getattr(loaded_torch(), "compiler", None), "is_compiling", lambda: False)  # from torch 2.1 on

    def __call__(self, *arguments):
        if not self.is_compiling():
            self.call(*arguments)
