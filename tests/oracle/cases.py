"""Cases of element-wise ops, arithmetic, reductions, shapes and indices: pxl and PyTorch side by side.

One case or two an op: they pin its formula and gradient, which no test of ours knows from elsewhere. Shapes, dtypes and attributes
are for the oracle of the definitions (tests/unit/reference).
"""
import math

import numpy as np
import torch

F32, BOTH = ["float32"], ["float32", "float16"]


def case(name, pxl, torch, grads="", dtypes=F32, **inputs):
    return {"name": name, "pxl": pxl, "torch": torch, "grads": grads.split(), "dtypes": dtypes, "inputs": inputs}


def grid(*shape, low=-128, high=128):
    """Multiples of 1/64, -2 to 2 unless told."""
    return lambda rng: rng.integers(low, high + 1, shape) / 64


def positive(*shape):
    return grid(*shape, low=16, high=160)


def distinct(*shape):
    """No two elements are equal."""
    return lambda rng: (rng.permutation(int(np.prod(shape))).reshape(shape) - 0.5 * np.prod(shape)) / 16 + 1 / 64


def ints(*shape, low=0, high=4):
    return lambda rng: rng.integers(low, high, shape)


def away(*shape):
    """Away from integers and from 0, where steps and corners lie."""
    return lambda rng: rng.integers(-3, 3, shape) + rng.integers(8, 57, shape) / 64


def bools(*shape):
    return lambda rng: rng.integers(0, 2, shape).astype(bool)


def elementwise():
    def unary(name, f, make=None, dtypes=BOTH, pxl=None):
        return case(name, pxl or f"{name}(x)", lambda x: f(x), "x", dtypes, x=(make or grid)(3, 5))

    yield unary("abs", torch.abs, away)
    yield unary("ceil", torch.ceil, away)
    yield unary("floor", torch.floor, away)
    yield unary("round", torch.round, away)
    yield unary("sign", torch.sign, away)
    yield unary("cos", torch.cos)
    yield unary("sin", torch.sin)
    yield unary("exp", torch.exp)
    yield unary("expm1", torch.expm1)
    yield unary("log", torch.log, positive)
    yield unary("log1p", torch.log1p, positive)
    yield unary("log2", torch.log2, positive, F32)
    yield unary("sqrt", torch.sqrt, positive)
    yield unary("rsqrt", torch.rsqrt, positive)
    yield unary("square", torch.square)
    yield unary("reciprocal", torch.reciprocal, positive)
    yield unary("tanh", torch.tanh)
    yield unary("sigmoid", torch.sigmoid)
    yield unary("erf", torch.erf)
    yield unary("softplus", torch.nn.functional.softplus)
    yield unary("relu", torch.relu, away)
    yield unary("gelu", lambda x: torch.nn.functional.gelu(x, approximate="tanh"))
    yield unary("geluerf", torch.nn.functional.gelu)
    yield unary("swish", torch.nn.functional.silu)
    yield unary("negate", torch.neg)
    yield unary("minus", torch.neg, pxl="-x")
    yield unary("identity", lambda x: x.clone())
    yield unary("rename", lambda x: x.clone(), pxl='rename(x, "other")')
    yield case("exp_wide", "exp(x)", torch.exp, "x", x=[-87.0, -20.0, 0.0, 20.0, 80.0])
    yield case("tanh_wide", "tanh(x)", torch.tanh, "x", x=[-30.0, -5.0, 0.0, 0.015625, 5.0, 30.0])
    yield case("gelu_wide", "gelu(x)", lambda x: torch.nn.functional.gelu(x, approximate="tanh"), "x",
               x=[-12.0, -4.0, 0.0, 4.0, 12.0])
    yield case("softplus_wide", "softplus(x)", lambda x: torch.log1p(torch.exp(-x.abs())) + torch.relu(x), "x",
               x=[-60.0, -4.0, 0.5, 4.0, 60.0])
    yield case("clip", "clip(x, -1.0, 0.75)", lambda x: x.clamp(-1.0, 0.75), "x", BOTH, x=away(4, 3))
    yield case("clip_low", "clip(x, min = -1)", lambda x: x.clamp(min=-1.0), "x", x=away(4, 3))
    yield case("clip_high", "clip(x, max = 1)", lambda x: x.clamp(max=1.0), "x", x=away(4, 3))
    yield case("cast_int", "cast(x, int32)", lambda x: x.int(), x=away(7))
    yield case("cast_bool", "cast(x, bool)", lambda x: x.bool(), x=[0.0, -0.5, 3.0])
    yield case("cast_through_half", "cast(cast(x, float16), float32)", lambda x: x.half().double(), "x", x=grid(6))
    yield case("detach", "x * detach(x)", lambda x: x * x.detach(), "x", x=grid(5))
    yield case("increment_mod", "increment_mod(n, 3, 5)", lambda n: (n + 3) % 5, n=ints(6, high=5))
    yield case("increment_mod_float", "increment_mod(x, 0.5, 2.0)", lambda x: torch.fmod(x + 0.5, 2.0), x=positive(6))
    yield case("isnan", "isnan(log(x))", lambda x: torch.isnan(torch.log(x)), x=[-1.0, 0.0, 1.0])
    yield case("isinf", "isinf(log(x))", lambda x: torch.isinf(torch.log(x)), x=[-1.0, 0.0, 1.0])
    yield case("isfinite", "isfinite(log(x))", lambda x: torch.isfinite(torch.log(x)), x=[-1.0, 0.0, 1.0])
    yield case("logical_not", "logical_not(n)", lambda n: torch.logical_not(n), n=ints(6, high=2))
    yield case("not_bool", "~m", lambda m: ~m, m=bools(5))
    yield case("scalar", "sin(x)", torch.sin, "x", BOTH, x=0.75)
    yield case("empty", "exp(x)", torch.exp, "x", BOTH, x=np.zeros((0, 3)))


def arithmetic():
    def binary(name, f, x, y, pxl=None, grads="x y", dtypes=BOTH):
        return case(name, pxl or f"{name.split('-')[0]}(x, y)", lambda x, y: f(x, y), grads, dtypes, x=x, y=y)

    yield binary("add", torch.add, grid(2, 3), grid(2, 3))
    yield binary("add-row", torch.add, grid(2, 3), grid(3))
    yield binary("add-column", torch.add, grid(2, 1), grid(1, 3))
    yield binary("add-scalar", torch.add, grid(2, 3), 0.5)
    yield binary("add-left", torch.add, grid(3), grid(4, 2, 3))
    yield binary("add-empty", torch.add, np.zeros((0, 3)), grid(3))
    yield binary("sub", torch.sub, grid(4, 1, 3), grid(2, 1))
    yield binary("mul", torch.mul, grid(2, 3), grid(2, 3))
    yield binary("mul-both", torch.mul, grid(2, 1, 3), grid(4, 1))
    yield binary("mul-scalars", torch.mul, 1.5, -0.25)
    yield binary("div", torch.div, grid(2, 3), positive(3))
    yield binary("div-column", torch.div, grid(1, 3), positive(2, 1))
    yield binary("fmod", torch.fmod, away(6), [1.5, 0.75, -1.5, 2.0, -0.75, 0.625], grads="x")
    yield binary("pow", torch.pow, positive(2, 3), grid(3))
    yield binary("pow-negative-exponent", torch.pow, positive(4), [-1.0, -0.5, -2.0, 0.0])
    yield case("pow_square", "x ** 2.0", lambda x: x ** 2, "x", BOTH, x=grid(5))
    yield case("pow_int", "pow(x, 3)", lambda x: x ** 3, "x", BOTH, x=grid(5))
    yield case("pow_half", "pow(x, 0.5)", lambda x: x ** 0.5, "x", x=positive(5))
    yield case("pow_zero_base", "pow(x, 2)", lambda x: x ** 2, "x", x=[0.0, -1.0, 2.0])
    yield case("pow_by_one", "pow(x, 1)", lambda x: x ** 1, "x", x=[0.0, -1.0, 2.0])
    yield case("pow_by_zero", "pow(x, 0)", lambda x: x ** 0, "x", x=[0.0, -1.0, 2.0])
    yield case("pow_tensor_zero_base", "pow(x, y)", torch.pow, "x", x=[0.0, 0.0, 2.0], y=[1.0, 2.0, 0.0])
    yield case("number_left", "2 - 3 / x + 1", lambda x: 2 - 3 / x + 1, "x", BOTH, x=positive(5))
    yield case("number_right", "(x + 1) * 0.5 - 2", lambda x: (x + 1) * 0.5 - 2, "x", BOTH, x=grid(5))
    yield case("square_by_itself", "x * x + x", lambda x: x * x + x, "x", x=grid(5))
    yield case("int_div", "div(a, b)", lambda a, b: torch.div(a, b, rounding_mode="trunc"), a=[7, 8, 9, 0],
               b=[2, 3, 9, 4])
    yield case("int_fmod", "fmod(a, b)", torch.fmod, a=[7, -7, 9, -9], b=[3, 3, -4, -4])
    yield case("int_mul", "a * b + 3", lambda a, b: a * b + 3, a=ints(2, 3), b=ints(3))
    yield binary("maximum", torch.maximum, distinct(2, 3), lambda rng: distinct(2, 3)(rng) + 1 / 32)
    yield case("maximum_three", "maximum(x, y, z)", lambda x, y, z: torch.maximum(torch.maximum(x, y), z), "x y z",
               x=distinct(2, 3), y=[0.13, -0.71, 0.37], z=0.171875)
    yield case("maximum_one", "maximum(x)", lambda x: x.clone(), "x", x=grid(3))
    yield case("minimum_list", "minimum([x, y])", torch.minimum, "x y", x=distinct(2, 3), y=[0.13, -0.71, 0.37])
    for name, f in {"equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le,
                    "greater": torch.gt, "greater_equal": torch.ge}.items():
        yield case(name, f"{name}(a, b)", f, a=ints(2, 5), b=ints(5))
    yield case("compare_float", "x > y", torch.gt, x=grid(2, 3), y=grid(3))
    yield case("logical_and", "logical_and(a, b)", torch.logical_and, a=ints(2, 5, high=2), b=ints(5, high=2))
    yield case("logical_or", "a | b", torch.logical_or, a=bools(2, 5), b=bools(5))
    yield case("where", "where(m, x, y)", torch.where, "x y", BOTH, m=bools(2, 3), x=grid(2, 3), y=grid(2, 3))
    yield case("where_broadcast", "where(m, x, y)", torch.where, "x y", m=bools(2, 1), x=grid(3), y=0.5)
    yield case("where_int_condition", "where(m, x, y)", lambda m, x, y: torch.where(m != 0, x, y), "x y",
               m=ints(4, high=3), x=grid(4), y=grid(4))
    yield case("where_number", "where(x > 0, x, 0.25)", lambda x: torch.where(x > 0, x, torch.tensor(0.25).double()),
               "x", x=away(6))
    yield case("scaled_add", "scaled_add(x, y, 0.5, -2)", lambda x, y: 0.5 * x - 2 * y, "x y", BOTH, x=grid(3),
               y=grid(3))
    yield case("scaled_add_tensor", "scaled_add(x, y, b = s)", lambda x, y, s: x + s * y, "x y s", x=grid(3),
               y=grid(3), s=0.5)
    yield case("add_in_place", "add_(identity(x), y)", torch.add, x=grid(2, 3), y=grid(3))
    yield case("exp_in_place", "exp_(identity(x))", torch.exp, x=grid(4))
    yield case("gelu_in_place", "gelu_(identity(x))",
               lambda x: torch.nn.functional.gelu(x, approximate="tanh"), x=grid(4))
    yield case("relu_in_place", "relu_(identity(x))", torch.relu, x=grid(4))
    yield case("swish_in_place", "swish_(identity(x))", torch.nn.functional.silu, x=grid(4))
    yield case("geluerf_in_place", "geluerf_(identity(x))", torch.nn.functional.gelu, x=grid(4))
    yield case("scaled_add_in_place", "scaled_add_(identity(x), y, b = -0.5)", lambda x, y: x - 0.5 * y, x=grid(4),
               y=grid(4))


def reduce():
    def over(name, f, make=grid, dtypes=BOTH):
        yield case(name, f"{name}(x)", lambda x: f(x.reshape(-1), 0, False), "x", dtypes, x=make(3, 4))
        yield case(name + "_axis", f"{name}(x, 1)", lambda x: f(x, 1, False), "x", F32, x=make(2, 3, 4))
        yield case(name + "_keep", f"{name}(x, axis = -2, keepdims = true)", lambda x: f(x, -2, True), "x", F32,
                   x=make(2, 3, 4))
        yield case(name + "_axes", f"{name}(x, [0, -1])",
                   lambda x: f(x.permute(1, 0, 2).reshape(x.shape[1], -1), 1, False), "x", F32, x=make(2, 3, 4))

    yield from over("sum", lambda x, d, k: x.sum(d, keepdim=k))
    yield from over("mean", lambda x, d, k: x.mean(d, keepdim=k))
    yield from over("max", lambda x, d, k: x.amax(d, keepdim=k), distinct)
    yield from over("min", lambda x, d, k: x.amin(d, keepdim=k), distinct)
    yield from over("prod", lambda x, d, k: x.prod(d, keepdim=k), positive, F32)
    yield from over("l1", lambda x, d, k: x.abs().sum(d, keepdim=k), away)
    yield from over("l2", lambda x, d, k: (x * x).sum(d, keepdim=k).sqrt())
    yield from over("sumsquare", lambda x, d, k: (x * x).sum(d, keepdim=k))
    yield from over("logsum", lambda x, d, k: x.sum(d, keepdim=k).log(), positive)
    yield from over("logsumexp", lambda x, d, k: x.logsumexp(d, keepdim=k))
    yield from over("median", lambda x, d, k: x.median(d, keepdim=k).values, distinct, F32)
    yield case("sum_int", "sum(n, 0)", lambda n: n.sum(0), n=ints(3, 4))
    yield case("sum_scalar", "sum(x)", lambda x: x.sum(), "x", x=0.5)
    yield case("sum_no_axes", "sum(x, [])", lambda x: x.clone(), "x", x=grid(2, 3))
    yield case("sum_nothing", "sum(x, 0)", lambda x: x.sum(0), "x", x=np.zeros((0, 3)))
    yield case("prod_nothing", "prod(x, 0)", lambda x: x.prod(0), x=np.zeros((0, 3)))
    yield case("mean_half_large", "mean(x)", lambda x: x.mean(), "x", BOTH, x=positive(30, 30))
    yield case("logsumexp_wide", "logsumexp(x, -1)", lambda x: x.logsumexp(-1), "x",
               x=[[90.0, 89.0, -50.0], [-100.0, -101.0, -102.0]])
    yield case("prod_zeros", "prod(x, 1)", lambda x: x.prod(1), "x",
               x=[[2.0, 3.0, 4.0], [0.0, 3.0, 4.0], [0.0, 0.0, 4.0]])
    yield case("l2_zero", "l2(x)", lambda x: x.norm(), "x", x=[0.0, 0.0])
    for name, f in {"argmax": torch.argmax, "argmin": torch.argmin}.items():
        yield case(name, f"{name}(x)", lambda x, f=f: f(x, 0), x=distinct(3, 4))
        yield case(name + "_dim", f"{name}(x, dim = -1, keepdim = true)", lambda x, f=f: f(x, -1, True),
                   x=distinct(2, 3, 4))
    yield case("argmax_ties", "argmax(n, 1)", lambda n: torch.tensor([1, 0]), n=[[1, 5, 5], [2, 2, 2]])
    for dim in (0, 1, -1):
        yield case(f"cumsum_{dim}".replace("-", "last_"), f"cumsum(x, {dim})", lambda x, d=dim: x.cumsum(d), "x", BOTH,
                   x=grid(3, 4))
    yield case("cumsum_int", "cumsum(n)", lambda n: n.cumsum(0), n=ints(5))
    for largest in (True, False):
        text = str(largest).lower()
        yield case(f"topk_{text}", f"topk(x, 2, axis = 1, largest = {text}, sorted = true)[0]",
                   lambda x, l=largest: x.topk(2, 1, l).values, "x", BOTH, x=distinct(3, 5))
        yield case(f"topk_indices_{text}", f"topk(x, 3, 0, {text}, true)[1]",
                   lambda x, l=largest: x.topk(3, 0, l).indices, x=distinct(5, 2))
        yield case(f"sort_{text}", f"sort(x, 1, descending = {text})[0]",
                   lambda x, l=largest: x.sort(1, l).values, "x", x=distinct(3, 5))
    yield case("sort_indices", "sort(x)[1]", lambda x: x.sort(-1).indices, x=distinct(3, 5))
    yield case("argsort", "argsort(x, 0, true)", lambda x: x.argsort(0, True), x=distinct(4, 3))
    yield case("histogram", "histogram(x, [-0.5, 0.0, 1.0])",
               lambda x: torch.bincount(torch.bucketize(x.reshape(-1), torch.tensor([-0.5, 0.0, 1.0]).double(),
                                                        right=True), minlength=4), x=grid(5, 5))
    yield case("histogram_absolute", "histogram(x, [0.5, 1.0], true)",
               lambda x: torch.bincount(torch.bucketize(x.abs().reshape(-1), torch.tensor([0.5, 1.0]).double(),
                                                        right=True), minlength=3), x=grid(5, 5))
    yield case("lamb_square", "lamb_square(x)", lambda x: (x * x).sum(), x=grid(4, 4))


def matmul():
    for name, a, b in [("matrices", (2, 3), (3, 4)), ("vector_matrix", (3,), (3, 4)), ("matrix_vector", (2, 3), (3,)),
                       ("vectors", (3,), (3,)), ("batch", (2, 3, 4), (2, 4, 5)), ("shared_right", (2, 3, 4), (4, 5)),
                       ("shared_left", (3, 4), (2, 4, 5)), ("broadcast", (2, 1, 3, 4), (5, 4, 2)),
                       ("batch_vector", (2, 3, 4), (4,)), ("vector_batch", (3,), (2, 3, 4)), ("row", (1, 8), (8, 1)),
                       ("no_terms", (2, 0), (0, 3)), ("no_rows", (0, 3), (3, 2)), ("tall", (40, 20), (20, 3))]:
        size = max(1, math.prod(a)) * max(1, math.prod(b))
        yield case(name, "x @ y", torch.matmul, "x y", BOTH if size < 400 else F32, x=grid(*a), y=grid(*b))
    yield case("int", "matmul(a, b)", torch.matmul, a=ints(2, 3), b=ints(3, 2))
    yield case("output_type", "matmul(x, y, output_type = float32)", torch.matmul, "", ["float16"], x=grid(2, 3),
               y=grid(3, 2))
    yield case("ignored_options", 'matmul(x, y, 0.6, partials_type = "float")', torch.matmul, "x y", x=grid(2, 3),
               y=grid(3, 2))


def shape():
    yield case("reshape", "reshape(x, [4, -1])", lambda x: x.reshape(4, -1), "x", BOTH, x=grid(2, 6))
    yield case("reshape_method", "x.reshape(3, 4)", lambda x: x.reshape(3, 4), "x", x=grid(2, 6))
    yield case("reshape_scalar", "reshape(x, [])", lambda x: x.reshape(()), "x", x=grid(1, 1))
    yield case("reshape_view", "reshape_(x, [3, 4]) * 2", lambda x: x.reshape(3, 4) * 2, "x", x=grid(2, 6))
    yield case("flatten", "flatten(x)", lambda x: x.reshape(-1), "x", x=grid(2, 3, 2))
    yield case("squeeze", "squeeze(x)", lambda x: x.squeeze(), "x", x=grid(1, 3, 1, 2))
    yield case("squeeze_axes", "squeeze(x, [0, -2])", lambda x: x.squeeze(0).squeeze(1), "x", x=grid(1, 3, 1, 1))
    yield case("transpose", "transpose(x)", lambda x: x.permute(2, 1, 0), "x", BOTH, x=grid(2, 3, 4))
    yield case("transpose_permutation", "transpose(x, [1, 0, -1])", lambda x: x.permute(1, 0, 2), "x", x=grid(2, 3, 4))
    yield case("transpose_cycle", "x.transpose([2, 0, 1])", lambda x: x.permute(2, 0, 1), "x", x=grid(2, 3, 4))
    yield case("transposed", "x.T", lambda x: x.T, "x", x=grid(2, 3))
    yield case("transpose_view", "transpose_(x)", lambda x: x.T, "x", x=grid(2, 3))
    yield case("concat", "concat([x, y], 1)", lambda x, y: torch.cat([x, y], 1), "x y", BOTH, x=grid(2, 3),
               y=grid(2, 1))
    yield case("concat_last", "concat([x, y, x], axis = -1)", lambda x, y: torch.cat([x, y, x], -1), "x y",
               x=grid(2, 3), y=grid(2, 2))
    yield case("concat_view", "concat_([x, y])", lambda x, y: torch.cat([x, y]), "x y", x=grid(2, 3), y=grid(1, 3))
    yield case("concat_empty", "concat([x, y])", lambda x, y: torch.cat([x, y]), "x y", x=np.zeros((0, 3)),
               y=grid(1, 3))
    yield case("split", "split(x, 3, axis = 1)", lambda x: list(x.split(2, 1)), "x", BOTH, x=grid(2, 6))
    yield case("split_sizes", "split(x, [1, 3, 2], -1)", lambda x: list(x.split([1, 3, 2], -1)), "x", x=grid(2, 6))
    yield case("split_part", "split(x, [1, 3])[1]", lambda x: x[1:], "x", x=grid(4, 2))
    yield case("slice", "slice(x, 1, 3)", lambda x: x[1:3], "x", BOTH, x=grid(4, 4, 2))
    yield case("slice_lists", "slice(x, [1, 2], [3, 4])", lambda x: x[1:3, 2:4], "x", x=grid(4, 4, 2))
    yield case("slice_axes", "slice(x, [1, 2], [3, 4], axis = [2, 1])", lambda x: x[:, 2:4, 1:3], "x", x=grid(4, 4, 4))
    yield case("slice_back", "slice(x, [1, 3], [3, 1], [1, -1])", lambda x: x[1:3].flip(1)[:, :2], "x", x=grid(4, 4, 2))
    yield case("slice_step", "slice(x, step = 2, axis = -1)", lambda x: x[..., ::2], "x", x=grid(2, 5))
    yield case("slice_back_from", "slice(x, start = -2, step = -1)", lambda x: x[:-1].flip(0), "x", x=grid(4, 2))
    yield case("slice_view", "slice_(x, 1)", lambda x: x[1:], "x", x=grid(4, 2))
    yield case("index", "x[1:3, ::2]", lambda x: x[1:3, ::2], "x", x=grid(4, 5))
    yield case("index_int", "x[-1, :, 0]", lambda x: x[-1, :, 0], "x", x=grid(3, 2, 4))
    yield case("index_back", "x[9:4:-2]", lambda x: x[[9, 7, 5]], "x", x=grid(10, 2))
    yield case("index_ellipsis", "x[..., 1]", lambda x: x[..., 1], "x", x=grid(3, 2, 4))
    yield case("index_new_axis", "x[none, :, 1:]", lambda x: x[None, :, 1:], "x", x=grid(3, 4))
    yield case("index_array", "x[n]", lambda x, n: x[n.long()], "x", x=grid(4, 2), n=[[1, 0], [3, 3]])
    yield case("index_mask", "x[m]", lambda x, m: torch.where(m, x, torch.zeros((), dtype=x.dtype)), "x", x=grid(5),
               m=bools(5))
    yield case("subsample", "subsample(x, [2, 3])", lambda x: x[::2, ::3], "x", x=grid(5, 7))
    yield case("diag", "diag(x)", lambda x: x.diag(), "x", x=grid(4, 4))
    yield case("broadcast_to", "broadcast_to(x, [2, 3, 4])", lambda x: x.expand(2, 3, 4), "x", x=grid(3, 1))
    yield case("pad", "pad(x, [1, 0, 2, 1], value = 0.5)",
               lambda x: torch.nn.functional.pad(x, (0, 1, 1, 2), value=0.5), "x", x=grid(2, 3))
    yield case("flip", "flip(x, [0, -1])", lambda x: x.flip(0, -1), "x", x=grid(2, 3))
    yield case("roll", "roll(x, 2, axis = 1)", lambda x: x.roll(2, 1), "x", x=grid(2, 5))
    yield case("tile", "tile(x, [2, 3])", lambda x: x.repeat(2, 3), "x", x=grid(2, 2))
    yield case("stack", "stack([x, y], axis = 1)", lambda x, y: torch.stack([x, y], 1), "x y", x=grid(2, 3),
               y=grid(2, 3))
    yield case("expand_dims", "expand_dims(x, -1)", lambda x: x.unsqueeze(-1), "x", x=grid(2, 3))
    yield case("tril", "tril(x)", torch.tril, "x", x=grid(3, 4))
    yield case("triu", "triu(x, 1)", lambda x: x.triu(1), "x", x=grid(2, 3, 4))
    yield case("init", "init([2, 3], DTYPE) + x", lambda x: torch.zeros(2, 3).double() + x, "x", BOTH, x=grid(3))


def index():
    yield case("gather", "gather(x, n)", lambda x, n: x[n.long()], "x", BOTH, x=grid(4, 4), n=[3, 1, 2])
    yield case("gather_axis", "gather(x, n, axis = 1)", lambda x, n: x[:, n.long()], "x", x=grid(3, 4, 2),
               n=[[3, 1], [1, 1]])
    yield case("gather_last", "gather(x, n, -1)", lambda x, n: x[..., n.long()], "x", x=grid(3, 4), n=[3, 0, 0])
    yield case("gather_scalar", "gather(x, n)", lambda x, n: x[n.long()], "x", x=grid(3, 4), n=2)
    yield case("gather_out_of_range", "gather(x, n, zero_OOR = true)",
               lambda x, n: torch.stack([x[1], x[0] * 0, x[0] * 0]), "x", x=grid(3, 2), n=[1, 3, -1])
    yield case("tied_gather", "tied_gather(x, n)", lambda x, n: x[n.long()], "x", x=grid(4, 4), n=[3, 1, 3])
    yield case("groupedgather", "groupedgather(x, n, group_size = 2)",
               lambda x, n: torch.stack([x[g][n[g].long()] for g in range(2)]), "x", x=grid(2, 4, 3),
               n=[[3, 1], [0, 0]])
    yield case("scatter", "scatter(x, n, y)", lambda x, n, y: x.scatter(0, n.long(), y), "x y", BOTH, x=grid(3, 3),
               n=[[1, 0, 2], [0, 2, 1]], y=grid(2, 3))
    yield case("scatter_axis", "scatter(x, n, y, -1)", lambda x, n, y: x.scatter(1, n.long(), y), "x y", x=grid(3, 4),
               n=[[1, 0], [3, 2], [0, 1]], y=grid(3, 2))
    base = dict(x=grid(3, 2), n=[3, 0, 3])
    yield case("scatter_sum", 'scatter_reduce(x, n, "sum", axis_size = 5)',
               lambda x, n: torch.zeros(5, 2).double().index_add(0, n.long(), x), "x", BOTH, **base)
    yield case("scatter_sum_initial", 'scatter_reduce(x, n, "sum", initial_values = y)',
               lambda x, n, y: y.index_add(0, n.long(), x), "x y", y=grid(5, 2), **base)
    spread = lambda n, x: n.long()[:, None].expand(3, 2)
    for reduction, torch_name in {"max": "amax", "min": "amin"}.items():
        yield case(f"scatter_{reduction}", f'scatter_reduce(x, n, "{reduction}", initial_values = y)',
                   lambda x, n, y, r=torch_name: y.scatter_reduce(0, spread(n, x), x, r), "x y", x=distinct(3, 2),
                   n=[3, 0, 3], y=[[0.03, 0.05]] * 5)
    yield case("scatter_none", 'scatter_reduce(x, n, "none", axis_size = 4)',
               lambda x, n: torch.zeros(4, 2).double().index_copy(0, n.long(), x), "x", x=grid(3, 2), n=[3, 0, 1])
    yield case("scatter_none_initial", 'scatter_reduce(x, n, "none", initial_values = y)',
               lambda x, n, y: y.index_copy(0, n.long(), x), "x y", x=grid(3, 2), n=[3, 0, 1], y=grid(4, 2))
    yield case("scatter_axis_one", 'scatter_reduce(x, n, "sum", axis = 1, axis_size = 3)',
               lambda x, n: torch.zeros(2, 3).double().scatter_add(1, n.long(), x), "x", x=grid(2, 4),
               n=[[0, 2, 2, 1], [1, 1, 1, 0]])
    yield case("dynamic_slice", "dynamic_slice(x, n, [0, 1], [2, 3], true)", lambda x, n: x[1:3, 2:5], "x", BOTH,
               x=grid(4, 6), n=[1, 2])
    yield case("dynamic_slice_last", "dynamic_slice(x, n, axes = [-1], sizes = [2])", lambda x, n: x[:, 3:5], "x",
               x=grid(4, 6), n=[3])
    def update(x, n, y):
        return torch.cat([x[:1], torch.cat([x[1:3, :2], y, x[1:3, 5:]], 1), x[3:]])
    yield case("dynamic_update", "dynamic_update(x, n, y, [0, 1], [2, 3], true)", update, "x y", BOTH, x=grid(4, 6),
               n=[1, 2], y=grid(2, 3))
    yield case("dynamic_update_in_place", "dynamic_update_(identity(x), n, y, [0, 1], [2, 3], true)", update,
               x=grid(4, 6), n=[1, 2], y=grid(2, 3))
    def onehot(n, y, axis):
        hot = torch.nn.functional.one_hot(n.long(), 6).double()
        return (hot * y[1] + (1 - hot) * y[0]).movedim(-1, axis)
    yield case("onehot", "onehot(n, 6, y, axis = 1)", lambda n, y: onehot(n, y, 1), "y", BOTH, n=[[1, 5]], y=grid(2))
    yield case("onehot_last", "onehot(n, 6, y, -1)", lambda n, y: onehot(n, y, -1), "y", n=[[1, 5], [0, 2]], y=grid(2))
    yield case("take_along", "take_along(x, n, 1)", lambda x, n: x.gather(1, n.long()), "x", x=grid(3, 4),
               n=[[1, 0], [3, 3], [0, 1]])


FAMILIES = {f.__name__: list(f()) for f in (elementwise, arithmetic, reduce, matmul, shape, index)}
