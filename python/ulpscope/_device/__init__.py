"""Kernels for CUDA devices: PTX of this folder, which the driver compiles, in torch's context and on its streams."""
