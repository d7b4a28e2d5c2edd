"""Tensors as tables of cells: on the host, on another device, and compiled."""
