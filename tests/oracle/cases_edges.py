"""Unusual but legal operands and attributes of element-wise ops, reductions, shapes and indices: those that pin a convention.

The oracle of the definitions (tests/unit/reference) covers shapes, broadcasting and dtypes; what it cannot know is what PyTorch
means: values beyond the usual range and at poles (`_far`, `_ends`, `_large`, `_zero`), ties and halves (`round_half`, `max_ties`,
`median_even`), the sign and rounding of integer quotients and remainders, what wraps or is cut in casts, which operand a gradient
reaches (`detach_`, `where_`, `maximum_twice`), negative axes and kept ones, and how numbers become tensors.
"""
import numpy as np
import torch
import torch.nn.functional as F

from cases import BOTH, F32, away, bools, case, distinct, grid, ints, positive

ALL = ["float32", "float16", "float64"]
WIDE = ["float32", "float64"]


def elementwise_edges():
    for name, f in {"sin": torch.sin, "cos": torch.cos, "tanh": torch.tanh, "swish": F.silu, "erf": torch.erf,
                    "geluerf": F.gelu, "sigmoid": torch.sigmoid, "exp": torch.exp, "expm1": torch.expm1}.items():
        yield case(f"{name}_far", f"{name}(x)", f, "x", WIDE,
                   x=[-9.5, -3.25, -0.015625, 0.0, 0.015625, 3.25, 9.5])
    for name, f in {"log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "log1p": torch.log1p}.items():
        yield case(f"{name}_far", f"{name}(x)", f, "x", WIDE, x=[0.015625, 0.5, 1.0, 2.0, 1000.0, 65536.0])
    yield case("sin_large", "sin(x)", torch.sin, "x", WIDE, x=[-1000.0, -100.5, 31.25, 500.0, 10000.0])
    yield case("log_ends", "log(x)", torch.log, x=[0.0, -1.0, float(2**30)])
    yield case("sqrt_ends", "sqrt(x)", torch.sqrt, x=[0.0, -1.0, float(2**30)])
    yield case("abs_zero", "abs(x)", torch.abs, "x", BOTH, x=[0.0, -0.25, 3.0])
    yield case("abs_int", "abs(n)", torch.abs, n=[-3, 0, 5])
    yield case("negate_int", "-n", torch.neg, n=[-3, 0, 5])
    yield case("sign_zero", "sign(x)", torch.sign, "x", BOTH, x=[-2.0, 0.0, 0.25])
    yield case("sign_int", "sign(n)", torch.sign, n=[-3, 0, 5])
    yield case("relu_zero", "relu(x)", torch.relu, "x", BOTH, x=[-1.0, 0.0, 1.0])
    yield case("round_half", "round(x)", torch.round, "x", BOTH, x=[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5])
    yield case("floor_ceil", "floor(x) + ceil(x)", lambda x: x.floor() + x.ceil(), "x", BOTH, x=[-2.0, -1.5, 0.0, 1.25])
    yield case("clip_tight", "clip(x, 0.5, 0.5)", lambda x: x.clamp(0.5, 0.5), x=grid(6))
    yield case("clip_int", "clip(n, -1, 2)", lambda n: n.clamp(-1, 2), n=[-5, -1, 0, 2, 9])
    yield case("clip_integers", "clip(x, -1, 1)", lambda x: x.clamp(-1, 1), "x", BOTH, x=away(2, 1, 3))
    yield case("cast_negative", "cast(x, int8)", lambda x: x.to(torch.int8).int(), x=[-2.75, -0.5, 0.99, 100.5])
    yield case("cast_unsigned", "cast(cast(n, uint8), float32)", lambda n: n.to(torch.uint8).double(), n=[0, 7, 255])
    yield case("cast_wraps", "cast(cast(n, uint8), int32)", lambda n: n.to(torch.uint8).int(), n=[-1, 256, 300])
    yield case("cast_from_bool", "cast(m, float32) * x", lambda m, x: m.double() * x, "x", m=bools(6), x=grid(6))
    yield case("cast_wide", "cast(cast(x, float64) * 3.0, float32)", lambda x: x * 3, "x", x=grid(2, 3))
    yield case("cast_int64", "cast(cast(n, int64) * 3, int32)", lambda n: n * 3, n=ints(4))
    yield case("detach_path", "detach(x) * x + x", lambda x: x.detach() * x + x, "x", BOTH, x=grid(2, 2))
    yield case("detach_in_place", "detach_(x) * y", lambda x, y: x.detach() * y, "y", x=grid(3), y=grid(3))
    yield case("increment_mod_wrap", "increment_mod(n, 7, 5)", lambda n: (n + 7) % 5, n=ints(6, high=5))
    yield case("log2_vector", "log2(x)", torch.log2, "x", ["float32"], x=[0.25, 1.0, 8.0, 1024.0])
    yield case("chain", "tanh(exp(sin(x)) * 0.5) / (1.0 + x * x)",
               lambda x: torch.tanh(torch.exp(torch.sin(x)) * 0.5) / (1 + x * x), "x", ALL, x=grid(4, 1, 2))
    yield case("gelu_then_relu_", "relu_(gelu(x))", lambda x: torch.relu(F.gelu(x, approximate="tanh")), x=grid(5))
    yield case("isnan_half", "isnan(sqrt(x))", lambda x: torch.isnan(torch.sqrt(x)), "", BOTH, x=[-1.0, 0.0, 4.0])
    yield case("not_of_ints", "logical_not(n)", lambda n: n == 0, n=[-1, 0, 2])


def arithmetic_edges():
    for name, f in {"add": torch.add, "sub": torch.sub, "mul": torch.mul}.items():
        yield case(f"{name}_scalar_left", f"{name}(x, y)", f, "x y", BOTH, x=0.25, y=grid(2, 1, 3))
    yield case("div_by_zero", "x / y", torch.div, x=[1.0, -1.0, 0.0], y=[0.0, 0.0, 0.0])
    yield case("div_negative_int", "div(a, b)", lambda a, b: torch.div(a, b, rounding_mode="trunc"), a=[-7, 7, -8, 9],
               b=[2, -2, 3, -3])
    yield case("floor_div", "floor_div(a, b)", lambda a, b: torch.div(a, b, rounding_mode="floor"), a=[-7, 7, -8, 9],
               b=[2, -2, 3, -3])
    yield case("fmod_broadcast", "fmod(x, y)", torch.fmod, "x", BOTH, x=away(3, 1), y=[1.5, -0.75])
    yield case("pow_both_sides", "pow(x, y)", torch.pow, "x y", WIDE, x=positive(3, 1), y=grid(1, 2))
    yield case("pow_scalar_tensor", "pow(x, y)", torch.pow, "x y", x=positive(2, 3), y=1.5)
    yield case("pow_base_scalar", "pow(x, y)", torch.pow, "x y", x=1.5, y=grid(4))
    yield case("pow_negative_base", "pow(x, 3.0)", lambda x: x ** 3, "x", BOTH, x=[-2.0, -0.5, 0.0, 1.5])
    yield case("pow_negative_integer", "x ** -2.0", lambda x: x ** -2, "x", x=[-2.0, -0.5, 1.5])
    yield case("pow_int_dtype", "pow(a, 3)", lambda a: a ** 3, a=[-2, 0, 3])
    yield case("maximum_both_sides", "maximum(x, y)", torch.maximum, "x y", BOTH, x=distinct(3, 1), y=[0.03, -0.66])
    yield case("minimum_three", "minimum(x, y, z)", lambda x, y, z: torch.minimum(torch.minimum(x, y), z), "x y z",
               x=distinct(2, 1), y=[0.13, -0.71, 0.37], z=0.171875)
    yield case("maximum_twice", "maximum(x, x * 2)", lambda x: torch.maximum(x, x * 2), "x", x=away(5))
    yield case("equal_scalar", "equal(x, 0.5)", lambda x: x == 0.5, "", BOTH, x=[0.5, -0.5, 0.25])
    yield case("logical_floats", "logical_or(x, y)", torch.logical_or, x=[0.0, -0.5, 0.0], y=[0.0, 0.0, 2.0])
    yield case("bit_xor", "a ^ b", lambda a, b: a ^ b, a=[12, -1, 7], b=[10, 5, 8])
    yield case("shifts", "(a << b) + (c >> b)", lambda a, b, c: (a << b) + (c >> b), a=[1, 3, 5], b=[0, 2, 4],
               c=[16, -16, 255])
    yield case("where_three_ways", "where(m, x, y)", torch.where, "x y", BOTH, m=bools(2, 1, 1), x=grid(3, 1),
               y=grid(4))
    yield case("where_scalar_condition", "where(m, x, y)", torch.where, "x y", m=True, x=grid(2, 3), y=grid(3))
    yield case("where_floats", "where(z, x, y)", lambda z, x, y: torch.where(z != 0, x, y), "x y", z=[0.0, 2.0, -0.5],
               x=grid(3), y=grid(3))
    yield case("where_guard", "where(x > 0, log(where(x > 0, x, 1.0)), 0.0)",
               lambda x: torch.where(x > 0, torch.log(torch.where(x > 0, x, torch.ones(()).double())),
                                     torch.zeros(()).double()), "x", x=away(6))
    yield case("scaled_add_factors", "scaled_add(x, y, a = -0.5, b = 0.0)", lambda x, y: -0.5 * x, "x", BOTH,
               x=grid(2, 2), y=grid(2, 2))
    yield case("add_in_place_row", "add_(x * 1.0, y)", torch.add, x=grid(2, 3), y=grid(1, 3))
    yield case("shared_operand", "x * x - x / (x + 4.0)", lambda x: x * x - x / (x + 4), "x", ALL, x=grid(2, 3))
    yield case("python_numbers", "1 / (1 + x) - (x - 1) ** 2.0 * 3", lambda x: 1 / (1 + x) - (x - 1) ** 2 * 3, "x",
               BOTH, x=positive(4))


def reduce_edges():
    shape = (2, 3, 1, 4)
    pairs = {"sum": lambda x, d, k: x.sum(d, keepdim=k), "mean": lambda x, d, k: x.mean(d, keepdim=k),
             "l2": lambda x, d, k: (x * x).sum(d, keepdim=k).sqrt(),
             "logsumexp": lambda x, d, k: x.logsumexp(d, keepdim=k),
             "max": lambda x, d, k: x.amax(d, keepdim=k), "min": lambda x, d, k: x.amin(d, keepdim=k),
             "l1": lambda x, d, k: x.abs().sum(d, keepdim=k)}
    for name, f in pairs.items():
        make = distinct if name in ("max", "min") else positive if name == "l2" else grid
        yield case(f"{name}_mixed_axes", f"{name}(x, axis = [-1, 1])", lambda x, f=f: f(x, (1, 3), False), "x", BOTH,
                   x=make(*shape))
        yield case(f"{name}_keep_all", f"{name}(x, keepdims = true)", lambda x, f=f: f(x, (0, 1, 2, 3), True), "x",
                   x=make(*shape))
    yield case("prod_mixed_axes", "prod(x, axis = [0, -2], keepdims = true)",
               lambda x: x.prod(0, True).prod(-2, True), "x", x=positive(2, 3, 4))
    yield case("prod_negative", "prod(x, -1)", lambda x: x.prod(-1), "x", BOTH, x=away(2, 3))
    yield case("prod_int", "prod(n, 1)", lambda n: n.prod(1), n=ints(2, 3, low=-2))
    yield case("max_ties", "max(x, 1)", lambda x: x.max(1).values, x=[[1.0, 1.0, 0.0], [2.0, 2.0, 2.0]])
    yield case("median_even", "median(x, -1)", lambda x: x.median(-1).values, "x", BOTH, x=distinct(3, 6))
    yield case("median_keep", "median(x, axis = 0, keepdims = true)", lambda x: x.median(0, True).values, "x",
               x=distinct(5, 2))
    yield case("median_ties", "median(n, 1)", lambda n: n.median(1).values, n=[[2, 2, 1, 1], [3, 3, 3, 0]])
    yield case("median_nan", "median(x, 1)", lambda x: x.median(1).values, dtypes=BOTH,
               x=[[float("nan"), 0.0, -1.0], [3.0, 1.0, 2.0], [1.0, float("inf"), float("nan")], [-0.0, float("-inf"), float("inf")]])
    yield case("median_scalar", "median(x)", lambda x: x.median(), x=0.5)
    yield case("logsum_keep", "logsum(x, axis = -1, keepdims = true)", lambda x: x.sum(-1, True).log(), "x", BOTH,
               x=positive(2, 3))
    yield case("sumsquare_axis", "sumsquare(x, axis = [0, 2])", lambda x: (x * x).sum((0, 2)), "x", BOTH,
               x=grid(2, 3, 4))
    yield case("mean_scalar", "mean(x)", lambda x: x.mean(), "x", x=0.75)
    yield case("sum_empty_keep", "sum(x, 1, keepdims = true)", lambda x: x.sum(1, True), "x", x=np.zeros((2, 0, 3)))
    yield case("sum_bool_like", "sum(cast(m, int32))", lambda m: m.sum(), m=bools(9))
    yield case("sum_half_long", "sum(x, 1)", lambda x: x.sum(1), "x", BOTH, x=positive(2, 200))
    yield case("argmax_middle", "argmax(x, dim = 1)", lambda x: x.argmax(1), "", BOTH, x=distinct(2, 3, 4))
    yield case("argmin_negative", "argmin(x, dim = -2, keepdim = true)", lambda x: x.argmin(-2, True),
               x=distinct(2, 3, 4))
    yield case("argmax_int", "argmax(n)", lambda n: torch.tensor(2), n=[-5, 0, 3, 3])
    for axis in (0, 1, 2, -3):
        yield case(f"cumsum_axis_{axis}".replace("-", "last_"), f"cumsum(x, dim = {axis})",
                   lambda x, d=axis: x.cumsum(d), "x", ALL, x=grid(2, 3, 2))
    yield case("cumsum_one", "cumsum(x, 1)", lambda x: x.cumsum(1), "x", x=grid(3, 1))
    yield case("cumsum_exclusive", "cumsum(x, 1, exclusive = true)", lambda x: x.cumsum(1) - x, "x", BOTH, x=grid(2, 5))
    yield case("cumsum_reverse", "cumsum(x, -1, reverse = true)", lambda x: x.flip(1).cumsum(1).flip(1), "x", BOTH,
               x=grid(2, 5))
    yield case("cumsum_both", "cumsum(x, exclusive = true, reverse = true)",
               lambda x: x.flip(0).cumsum(0).flip(0) - x, "x", x=grid(4, 2))
    yield case("topk_all", "topk(x, 4, -1)[0]", lambda x: x.topk(4, -1).values, "x", BOTH, x=distinct(2, 4))
    yield case("topk_one", "topk(x, 1, 0, largest = false)[0]", lambda x: x.topk(1, 0, False).values, "x",
               x=distinct(4, 3))
    yield case("topk_middle", "topk(x, 2, axis = -2)[0]", lambda x: x.topk(2, -2).values, "x", x=distinct(2, 3, 2))
    yield case("topk_ties", "topk(n, 3, 0)[1]", lambda n: torch.tensor([1, 3, 4]), n=[1, 5, 0, 5, 5, 2])
    yield case("topk_int", "topk(n, 2, 0, largest = false)[0]", lambda n: n.topk(2, 0, False).values, n=[4, -2, 9, 3])
    yield case("sort_ties", "sort(n, 0)[1]", lambda n: n.sort(stable=True, dim=0).indices, n=[2, 1, 2, 1, 0])
    yield case("sort_ties_descending", "sort(n, 0, descending = true)[1]",
               lambda n: n.sort(stable=True, dim=0, descending=True).indices,
               n=[2, 1, 2, 1, 0])
    yield case("sort_first", "sort(x, axis = 0)[0]", lambda x: x.sort(0).values, "x", BOTH, x=distinct(4, 3))
    yield case("histogram_ends", "histogram(x, [0.0, 1.0, 2.0])", lambda x: torch.tensor([1, 2, 1, 2]),
               x=[-0.5, 0.0, 0.5, 1.0, 2.0, 7.0])
    yield case("lamb_square_half", "lamb_square(x)", lambda x: (x * x).sum(), "", BOTH, x=grid(5))
    yield case("variance", "mean((x - mean(x, -1, keepdims = true)) ** 2.0, -1)", lambda x: x.var(-1, False), "x",
               x=grid(3, 4))


def matmul_edges():
    for name, a, b in [("ones", (1, 1), (1, 1)), ("outer", (4, 1), (1, 3)), ("vector_of_one", (1,), (1,)),
                       ("batch_both", (2, 1, 2, 3), (1, 3, 3, 2)), ("vector_batches", (3,), (2, 2, 3, 4)),
                       ("batches_vector", (2, 2, 4, 3), (3,)), ("no_batches", (0, 2, 3), (3, 4)),
                       ("inner_one", (2, 3, 1), (2, 1, 4)), ("long_inner", (2, 70), (70, 3)),
                       ("odd", (17, 19), (19, 23))]:
        yield case(name, "x @ y", torch.matmul, "x y", WIDE if name == "odd" else ALL, x=grid(*a), y=grid(*b))
    yield case("chain", "(x @ y) @ x.T", lambda x, y: x @ y @ x.T, "x y", BOTH, x=grid(2, 3), y=grid(3, 3))
    yield case("transposed_operands", "transpose(x) @ transpose(y)", lambda x, y: x.T @ y.T, "x y", x=grid(3, 2),
               y=grid(4, 3))
    yield case("with_itself", "x @ x.T", lambda x: x @ x.T, "x", BOTH, x=grid(3, 2))
    yield case("attention", "softmax(q @ transpose(k, [0, 2, 1]) * 0.5, -1) @ v",
               lambda q, k, v: torch.softmax(q @ k.transpose(1, 2) * 0.5, -1) @ v, "q k v", ALL, q=grid(2, 3, 4),
               k=grid(2, 5, 4), v=grid(2, 5, 2))


def shape_edges():
    yield case("reshape_to_ones", "reshape(x, [1, -1, 1])", lambda x: x.reshape(1, -1, 1), "x", BOTH, x=grid(2, 3))
    yield case("reshape_empty", "reshape(x, [3, 0])", lambda x: x.reshape(3, 0), "x", x=np.zeros((0, 2)))
    yield case("flatten_scalar", "flatten(x)", lambda x: x.reshape(1), "x", x=0.5)
    yield case("squeeze_all", "squeeze(x)", lambda x: x.squeeze(), "x", x=grid(1, 1))
    yield case("squeeze_one", "squeeze(x, axes = [-3])", lambda x: x.squeeze(-3), "x", x=grid(2, 1, 3, 1))
    yield case("expand_dims_first", "expand_dims(x, 0)", lambda x: x[None], "x", x=grid(2))
    yield case("transpose_negative", "transpose(x, [-1, 0, 1])", lambda x: x.permute(2, 0, 1), "x", BOTH,
               x=grid(2, 3, 4))
    yield case("transpose_four", "transpose(x, [0, 2, 1, 3])", lambda x: x.transpose(1, 2), "x", BOTH,
               x=grid(2, 3, 4, 2))
    yield case("transpose_ones", "transpose(x, [3, 1, 0, 2])", lambda x: x.permute(3, 1, 0, 2), "x", x=grid(1, 3, 1, 2))
    yield case("transpose_vector", "transpose(x)", lambda x: x.clone(), "x", x=grid(3))
    yield case("concat_negative", "concat([x, y], axis = -2)", lambda x, y: torch.cat([x, y], -2), "x y", BOTH,
               x=grid(2, 1, 3), y=grid(2, 2, 3))
    yield case("concat_one", "concat([x], axis = 0)", lambda x: x.clone(), "x", x=grid(2, 2))
    yield case("concat_same", "concat([x, x], 0) * concat([y, x], 0)", lambda x, y: torch.cat([x, x]) *
               torch.cat([y, x]), "x y", x=grid(2, 2), y=grid(2, 2))
    yield case("split_zero", "split(x, [0, 3], axis = 0)", lambda x: list(x.split([0, 3])), "x", x=grid(3, 2))
    yield case("split_negative", "split(x, 2, axis = -1)", lambda x: list(x.chunk(2, -1)), "x", BOTH, x=grid(3, 2, 4))
    yield case("split_one", "split(x, 1)", lambda x: [x.clone()], "x", x=grid(3, 2))
    yield case("slice_negative", "slice(x, start = -3, stop = -1)", lambda x: x[-3:-1], "x", BOTH, x=grid(5, 2))
    yield case("slice_past_end", "slice(x, 1, 100)", lambda x: x[1:100], "x", x=grid(4, 2))
    yield case("slice_middle_axis", "slice(x, start = [0, 1], stop = [1, 3], axis = [-1, -2])",
               lambda x: x[:, 1:3, 0:1], "x", x=grid(2, 4, 3))
    yield case("slice_reverse", "slice(x, step = -1, axis = 1)", lambda x: x.flip(1), "x", x=grid(2, 4))
    yield case("index_mixed", "x[1, ..., -1]", lambda x: x[1, ..., -1], "x", BOTH, x=grid(2, 3, 4))
    yield case("index_steps", "x[::2, 1::2, ::-1]", lambda x: x[::2, 1::2].flip(2), "x", x=grid(3, 4, 2))
    yield case("index_two_new_axes", "x[none, 1, none]", lambda x: x[None, 1, None], "x", x=grid(3, 2))
    yield case("index_scalar_result", "x[1, 2]", lambda x: x[1, 2], "x", x=grid(3, 4))
    yield case("index_repeated", "x[n] * y", lambda x, n, y: x[n.long()] * y, "x y", BOTH, x=grid(3, 2),
               n=[0, 0, 0, 2], y=grid(4, 2))
    yield case("subsample_ones", "subsample(x, [1, 3, 1])", lambda x: x[:, ::3], "x", x=grid(2, 5, 2))
    yield case("diag_of_one", "diag(x)", lambda x: x.diag(), "x", x=grid(1, 1))
    yield case("diag_wide", "diag(x)", lambda x: x.diag(), "x", x=grid(2, 4))
    yield case("diag_tall", "diag(x)", lambda x: x.diag(), "x", x=grid(4, 2))
    yield case("broadcast_scalar", "broadcast_to(x, [2, 3])", lambda x: x.expand(2, 3), "x", BOTH, x=0.75)
    yield case("broadcast_middle", "broadcast_to(x, [2, 3, 4])", lambda x: x.expand(2, 3, 4), "x", x=grid(2, 1, 4))
    yield case("broadcast_to_nothing", "broadcast_to(x, [0, 3])", lambda x: x.expand(0, 3), "x", x=grid(1, 3))
    yield case("pad_one_side", "pad(x, [0, 2, 0, 0])", lambda x: F.pad(x, (2, 0)), "x", BOTH, x=grid(2, 3))
    yield case("pad_vector", "pad(x, [1, 3], 2.0)", lambda x: F.pad(x, (1, 3), value=2.0), "x", x=grid(4))
    yield case("flip_all", "flip(x)", lambda x: x.flip(0, 1), "x", BOTH, x=grid(2, 3))
    yield case("roll_back", "roll(x, -7, axis = -1)", lambda x: x.roll(-7, -1), "x", BOTH, x=grid(2, 5))
    yield case("tile_ones", "tile(x, [1, 3, 2])", lambda x: x.repeat(1, 3, 2), "x", x=grid(2, 1, 2))
    yield case("stack_last", "stack([x, y, x], axis = -1)", lambda x, y: torch.stack([x, y, x], -1), "x y", BOTH,
               x=grid(2, 3), y=grid(2, 3))
    yield case("stack_scalars", "stack([x, y])", lambda x, y: torch.stack([x, y]), "x y", x=0.5, y=-1.25)
    yield case("tril_below", "tril(x, -1)", lambda x: x.tril(-1), "x", BOTH, x=grid(2, 3, 3))
    yield case("triu_above", "triu(x, -2)", lambda x: x.triu(-2), "x", x=grid(4, 3))
    yield case("flatten_in_place", "flatten_(x) * 3", lambda x: x.reshape(-1) * 3, "x", x=grid(2, 2))


def index_edges():
    def gathered(name, options, f, x, n, dtypes=F32):
        return case("gather_" + name, f"gather(x, n{options})", f, "x", dtypes, x=x, n=n)

    yield gathered("negative_axis", ", axis = -2", lambda x, n: x[:, n.long()], grid(2, 4, 3), [3, 3, 0], BOTH)
    yield gathered("matrix_middle", ", axis = 1", lambda x, n: x[:, n.long()], grid(2, 3, 2), [[0, 2], [2, 2]])
    yield gathered("all_same", "", lambda x, n: x[n.long()], grid(3, 2), [1] * 7, BOTH)
    yield gathered("nothing", "", lambda x, n: x[n.long()], grid(3, 2), np.zeros((0,), int))
    yield gathered("vector_scalar", "", lambda x, n: x[n.long()], grid(5), 4)
    yield case("gather_all_out", "gather(x, n, zero_OOR = true)", lambda x, n: 0 * x[:2], "x", x=grid(3, 2),
               n=[3, 100])
    yield case("gather_of_ints", "gather(a, n)", lambda a, n: a[n.long()], a=ints(4, 2), n=[3, 0])
    yield case("tied_gather_matrix", "tied_gather(x, n, axis = 1)", lambda x, n: x[:, n.long()], "x", BOTH,
               x=grid(2, 4), n=[[3, 1], [1, 1]])
    yield case("grouped_axis", "groupedgather(x, n, axis = 1, group_size = 2)",
               lambda x, n: torch.stack([x[g][:, n[g].long()] for g in range(2)]), "x", x=grid(2, 2, 4),
               n=[[3, 1, 3], [0, 0, 2]])
    yield case("scatter_duplicates", "scatter(x, n, y)", lambda x, n, y: torch.stack([x[0], y[2], x[2]]), x=grid(3, 2),
               n=[[1, 1], [1, 1], [1, 1]], y=grid(3, 2))
    yield case("scatter_three_axes", "scatter(x, n, y, axis = 1)", lambda x, n, y: x.scatter(1, n.long(), y), "x y",
               BOTH, x=grid(2, 3, 2), n=[[[2, 0]], [[1, 1]]], y=grid(2, 1, 2))
    yield case("scatter_few", "scatter(x, n, y, axis = -1)", lambda x, n, y: x.scatter(-1, n.long(), y), "x y",
               x=grid(3, 4), n=[[3], [0]], y=grid(2, 1))
    yield case("scatter_sum_all_same", 'scatter_reduce(x, n, "sum", axis_size = 2)',
               lambda x, n: torch.zeros(2, 2).double().index_add(0, n.long(), x), "x", BOTH, x=grid(4, 2), n=[1] * 4)
    yield case("scatter_sum_negative_axis", 'scatter_reduce(x, n, "sum", axis = -1, axis_size = 4)',
               lambda x, n: torch.zeros(2, 4).double().index_add(1, n.long(), x), "x", x=grid(2, 3), n=[3, 3, 0])
    wide = lambda n: n.long()[:, None].expand(-1, 2)
    for reduction, name in {"max": "amax", "min": "amin"}.items():
        yield case(f"scatter_{reduction}_full", f'scatter_reduce(x, n, "{reduction}", axis_size = 2)',
                   lambda x, n, r=name: torch.zeros(2, 2).double().scatter_reduce(0, wide(n), x, r,
                                                                                 include_self=False),
                   "x", BOTH, x=distinct(4, 2), n=[1, 0, 1, 0])
    yield case("scatter_int", 'scatter_reduce(a, n, "sum", axis_size = 3)',
               lambda a, n: torch.zeros(3, dtype=a.dtype).index_add(0, n.long(), a), a=ints(5), n=[2, 0, 2, 2, 0])
    yield case("dynamic_slice_one", "dynamic_slice(x, n, [1], [1])", lambda x, n: x[:, 2:3], "x", BOTH, x=grid(3, 4),
               n=[2])
    yield case("dynamic_slice_three", "dynamic_slice(x, n, [2, 0], [1, 2])", lambda x, n: x[1:3, :, 3:4], "x",
               x=grid(3, 2, 4), n=[3, 1])
    yield case("dynamic_update_whole", "dynamic_update(x, n, y, [0], [3])", lambda x, n, y: y + 0 * x, "x y", BOTH,
               x=grid(3, 2), n=[0], y=grid(3, 2))
    yield case("onehot_values", "onehot(n, 4, y, axis = 0)",
               lambda n, y: (F.one_hot(n.long(), 4).double() * (y[1] - y[0]) + y[0]).movedim(-1, 0), "y", BOTH,
               n=[[1, 3], [0, 0]], y=[-0.5, 2.0])
    yield case("onehot_scalar", "onehot(n, 3, y)", lambda n, y: F.one_hot(n.long(), 3).double() * (y[1] - y[0]) + y[0],
               "y", n=2, y=[0.25, 1.0])
    yield case("onehot_outside", "onehot(n, 3, y)", lambda n, y: torch.stack([y[[0, 0, 0]], y[[0, 1, 0]]]), n=[3, 1],
               y=[0.0, 1.0])
    yield case("onehot_classes", "onehot(n, constant(3, int32), y, -1)",
               lambda n, y: F.one_hot(n.long(), 3).double() * (y[1] - y[0]) + y[0], "y", n=[2, 0], y=[0.0, 1.0])
    yield case("take_along_first", "take_along(x, n)", lambda x, n: x.gather(0, n.long()), "x", BOTH, x=grid(3, 2),
               n=[[2, 0], [2, 2], [1, 1], [0, 2]])


FAMILIES = {f.__name__: list(f()) for f in (elementwise_edges, arithmetic_edges, reduce_edges, matmul_edges,
                                            shape_edges, index_edges)}
