"""Watches a training job, and has its tensors counted and written."""

from .recorder import Recorder as Recorder
