"""Shared by the twins in PyTorch, as det.pxl is by the programs: fixed numbers, and the lines that a test compares."""
import numpy
import torch


def det(shape, k=0, scale=1.0):
    n = int(numpy.prod(shape))
    return torch.tensor((numpy.sin(numpy.arange(n) * 1.3 + k) * scale).astype("float32").reshape(shape))


def fill(net, scale):
    """Gives the parameters of a net fixed numbers, in the order of their names. pxl stores weights as [in, out]."""
    for i, (_, p) in enumerate(sorted(net.named_parameters())):
        p.data = det(list(p.shape)[::-1], i, scale).permute(*reversed(range(p.dim()))).contiguous()
    return net


def check(name, values, tolerance="1e-4"):
    print("CHECK", name, *[f"{v:.7g}" for v in numpy.asarray(values, dtype="float64").reshape(-1)], f"tol={tolerance}")
