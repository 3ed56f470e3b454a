"""Cases of runtime/ops/elementwise/activation.cpp: activation functions, inverse and hyperbolic functions, det, grid_sample."""
import torch
import torch.nn.functional as F

from cases import BOTH, away, case, grid, positive


def inside(*shape):
    """Between -1 and 1, away from 0."""
    return lambda rng: (rng.integers(0, 2, shape) * 2 - 1) * rng.integers(4, 57, shape) / 64


def activation():
    def unary(name, f, make=grid, dtypes=BOTH, pxl=None):
        return case(name, pxl or f"{name}(x)", lambda x: f(x), "x", dtypes, x=make(3, 5))

    yield unary("acos", torch.acos, inside)
    yield unary("asin", torch.asin, inside)
    yield unary("atan", torch.atan)
    yield unary("acosh", lambda x: torch.acosh(x + 1), positive, pxl="acosh(x + 1)")
    yield unary("asinh", torch.asinh)
    yield unary("atanh", torch.atanh, inside)
    yield unary("cosh", torch.cosh)
    yield unary("sinh", torch.sinh)
    yield unary("tan", torch.tan, inside)
    yield unary("leaky_relu", F.leaky_relu, away)
    yield unary("leaky_relu_steep", lambda x: F.leaky_relu(x, 0.25), away, pxl="leaky_relu(x, alpha = 0.25)")
    yield unary("elu", F.elu, away)
    yield unary("elu_half", lambda x: F.elu(x, 0.5), away, pxl="elu(x, alpha = 0.5)")
    yield unary("selu", F.selu, away)
    yield unary("celu", F.celu, away)
    yield unary("celu_two", lambda x: F.celu(x, 2.0), away, pxl="celu(x, alpha = 2.0)")
    yield unary("hard_sigmoid", lambda x: (0.25 * x + 0.5).clamp(0, 1), away, pxl="hard_sigmoid(x, alpha = 0.25)")
    yield unary("hard_swish", F.hardswish, away)
    yield unary("shrink_hard", F.hardshrink, away, pxl="shrink(x)")
    yield unary("shrink_soft", F.softshrink, away, pxl="shrink(x, bias = 0.5)")
    yield unary("softsign", F.softsign, away)
    yield unary("thresholded_relu", lambda x: F.threshold(x, 1.0, 0.0), away)
    yield case("prelu", "prelu(x, a)", lambda x, a: torch.where(x < 0, x * a, x), "x a", BOTH, x=away(4, 3), a=grid(3))
    yield case("prelu_one", "prelu(x, a)", lambda x, a: torch.where(x < 0, x * a, x), "x a", BOTH, x=away(2, 3), a=grid(1))
    yield case("det", "det(x)", torch.linalg.det, x=grid(2, 4, 4))
    yield case("det_one", "det(x)", torch.linalg.det, x=grid(1, 1))
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                yield case(f"grid_sample_{mode}_{padding}_{align}",
                           f'grid_sample(x, g, mode = "{mode}", padding_mode = "{padding}", align_corners = {str(align).lower()})',
                           lambda x, g, m=mode, p=padding, a=align: F.grid_sample(x, g, m, p, a), "x g",
                           x=grid(2, 3, 4, 5), g=lambda rng: rng.integers(-96, 97, (2, 3, 4, 2)) / 64 + 1 / 256)


def onnx_ops():
    """Ops that ONNX has by these names."""
    yield case("lrn", "lrn(x, 5, alpha = 0.5, beta = 0.75, bias = 2.0)", lambda x: F.local_response_norm(x, 5, 0.5, 0.75, 2.0),
               x=grid(2, 7, 3, 2))
    yield case("lrn_whole", "lrn(x, 9, alpha = 0.1, beta = 0.5, bias = 1.0)", lambda x: F.local_response_norm(x, 9, 0.1, 0.5, 1.0),
               x=grid(2, 3, 4))
    yield case("gather_nd", "gather_nd(x, array([[[0, 1], [2, -1]], [[0, 1], [1, 0]]]))",
               lambda x: x[torch.tensor([[0, 2], [0, 1]]), torch.tensor([[1, 3], [1, 0]])], x=grid(3, 4, 2))
    yield case("scatter_nd", "scatter_nd(x, array([[0, 1], [2, -1]]), u)",
               lambda x, u: x.index_put((torch.tensor([0, 2]), torch.tensor([1, 3])), u), x=grid(3, 4, 2), u=grid(2, 2))
    yield case("scatter_nd_add", 'scatter_nd(x, array([[1], [0], [1]]), u, "add")',
               lambda x, u: x.index_put((torch.tensor([1, 0, 1]),), u, accumulate=True), x=grid(3, 4), u=grid(3, 4))
    codes = [[3, 120, 255, 0], [100, 99, 101, 7]]
    yield case("dequantize_linear", f"dequantize_linear(array({codes}, uint8), s, array(100, uint8))",
               lambda s: (torch.tensor(codes, dtype=torch.float64) - 100) * s, s=positive())
    yield case("dequantize_linear_axis", f"dequantize_linear(array({codes}, uint8), s, array([100, 3], uint8), axis = 0)",
               lambda s: (torch.tensor(codes, dtype=torch.float64) - torch.tensor([[100], [3]])) * s[:, None], s=positive(2))


FAMILIES = {"activation": list(activation()), "onnx": list(onnx_ops())}
