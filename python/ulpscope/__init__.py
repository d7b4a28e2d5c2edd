"""What 16 bits do to the gradients of a training run, exactly."""

__version__ = "0.1.0"
