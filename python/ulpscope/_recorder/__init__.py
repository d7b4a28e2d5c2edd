"""What sees a training run, and hands its tensors to be counted and written."""

from .recorder import Recorder as Recorder
