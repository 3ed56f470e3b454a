"""Numbers of the twins in Python, as det.pxl makes them, and the lines that they print."""
import numpy
import torch


def det(shape, k=0, scale=1.0):
    n = int(numpy.prod(shape))
    return torch.tensor((numpy.sin(numpy.arange(n) * 1.3 + k) * scale).astype("float32").reshape(shape))


def check(name, values):
    print("CHECK", name, *[f"{v:.7g}" for v in numpy.asarray(values, dtype="float64").reshape(-1)], "tol=1e-4")
