"""Variants of ONNX's nodes, each with what the standard says of its outputs, computed with NumPy."""
from fractions import Fraction
from math import ceil, floor

import numpy as np

from tests.support import onnx_file as of

VARIANTS = {}
INTS = ["i4", "i8", "u4", "u8"]
FLOATS = ["f4", "f8"]


def variant(f):
    VARIANTS[f.__name__] = f
    return f


def case(op, opset, inputs, outputs, known=(), exact=False, **attributes):
    """`known`: places of inputs that are initialisers. `exact`: no evaluator computes the outputs anew."""
    return {"op": op, "opset": opset, "inputs": [x if x is None else np.asarray(x) for x in inputs], "outputs": outputs, "known": known,
            "exact": exact, "attributes": attributes}


def shape_of(r, rank, low=1, high=4):
    return [r.randint(low, high) for _ in range(rank)]


def numbers(g, dtype, shape, low=-5, high=6):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return g.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "f":
        return g.normal(size=shape).astype(dtype)
    return g.integers(max(low, 0) if dtype.kind == "u" else low, high, shape).astype(dtype)


def i8(values):
    return np.array(values, "i8")


# ---- reductions

def whole(exact, dtype):
    """Fractions are cut off where the dtype has none."""
    return np.asarray(exact).astype(dtype) if np.dtype(dtype).kind == "f" else np.trunc(np.asarray(exact, "f8")).astype(dtype)


def mean(x, a, k):
    if x.dtype.kind == "f":
        return x.mean(axis=a, keepdims=k, dtype="f8").astype(x.dtype)
    total = x.astype(object).sum(axis=a, keepdims=k)
    count = x.size // max(np.asarray(total).size, 1)
    return np.vectorize(lambda v: int(abs(v) // count * (1 if v >= 0 else -1)), otypes=[x.dtype])(total)


REDUCTIONS = {
    "ReduceSum": lambda x, a, k: x.sum(axis=a, keepdims=k, dtype=x.dtype),
    "ReduceProd": lambda x, a, k: x.prod(axis=a, keepdims=k, dtype=x.dtype),
    "ReduceMax": lambda x, a, k: x.max(axis=a, keepdims=k),
    "ReduceMin": lambda x, a, k: x.min(axis=a, keepdims=k),
    "ReduceMean": mean,
    "ReduceL1": lambda x, a, k: abs(x).sum(axis=a, keepdims=k, dtype=x.dtype),
    "ReduceSumSquare": lambda x, a, k: (x * x).sum(axis=a, keepdims=k, dtype=x.dtype),
    "ReduceL2": lambda x, a, k: whole(np.sqrt((x.astype("f8") ** 2).sum(axis=a, keepdims=k)), x.dtype),
    "ReduceLogSum": lambda x, a, k: whole(np.log(x.astype("f8").sum(axis=a, keepdims=k)), x.dtype),
    "ReduceLogSumExp": lambda x, a, k: whole(np.log(np.exp(x.astype("f8")).sum(axis=a, keepdims=k)), x.dtype),
}


@variant
def reduction(r, g):
    op = r.choice(sorted(REDUCTIONS))
    dtype = r.choice(INTS + FLOATS + (["i1", "u1"] if op in ("ReduceMax", "ReduceMin") else []))
    x = numbers(g, dtype, shape_of(r, r.randint(1, 3)))
    if op == "ReduceLogSum":
        x = abs(x) + np.array(1, x.dtype)
    if op == "ReduceLogSumExp" and x.dtype.kind != "f":
        x = x + np.array(6, x.dtype)
    opset = r.choice([13, 18]) if op != "ReduceSum" else 13
    axes = r.sample(range(x.ndim), r.randint(0, x.ndim))
    keep = r.choice([0, 1])
    signed = [a - x.ndim if r.random() < 0.5 else a for a in axes]
    y = REDUCTIONS[op](x, tuple(axes) or None, bool(keep))
    if op == "ReduceLogSumExp" and x.dtype.kind != "f" and x.size == y.size:
        y = x.reshape(np.shape(y))  # of one element the sum is the element, which NumPy's logarithm rounds
    attributes = {"keepdims": keep}
    by_input = opset >= 18 or op == "ReduceSum"
    if by_input and not axes and r.random() < 0.5:
        attributes["noop_with_empty_axes"] = 1
        y = x
    inputs = [x] + ([i8(signed)] if by_input and (axes or r.random() < 0.5) else [])
    if not by_input and axes:
        attributes["axes"] = signed
    return case(op, opset, inputs, [y], known=(1,) if len(inputs) > 1 else (), exact=x.dtype.kind != "f", **attributes)


# ---- Resize, nearest

def nearest(at, mode):
    if mode == "floor":
        return floor(at)
    if mode == "ceil":
        return ceil(at)
    below = floor(at)
    return below + (at - below >= Fraction(1, 2) if mode == "round_prefer_ceil" else at - below > Fraction(1, 2))


def place(i, n, m, scale, kind, first, last):
    """The place of element i among m, in an axis with n elements, as a fraction."""
    if kind == "half_pixel":
        return (i + Fraction(1, 2)) / scale - Fraction(1, 2)
    if kind == "pytorch_half_pixel":
        return (i + Fraction(1, 2)) / scale - Fraction(1, 2) if m > 1 else Fraction(0)
    if kind == "half_pixel_symmetric":
        return Fraction(n, 2) * (1 - m / (n * scale)) + (i + Fraction(1, 2)) / scale - Fraction(1, 2)
    if kind == "tf_half_pixel_for_nn":
        return (i + Fraction(1, 2)) / scale
    if kind == "align_corners":
        return Fraction(i * (n - 1), m - 1) if m > 1 else Fraction(0)
    if kind == "tf_crop_and_resize":
        return first * (n - 1) + i * (last - first) * (n - 1) / (m - 1) if m > 1 else (first + last) * (n - 1) / 2
    return i / scale


@variant
def resize_nearest(r, g):
    opset = r.choice([11, 13, 18, 19])
    kinds = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
    kinds += ["tf_half_pixel_for_nn"] if opset == 11 else ["half_pixel_symmetric"] if opset == 19 else []
    kind, mode = r.choice(kinds), r.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    rank = r.randint(1, 2)
    x = numbers(g, "f4", [r.choice([r.randint(1, 12), 100, 50, 49, 64]) if rank == 1 else r.randint(1, 12) for _ in range(rank)])
    wanted = [r.choice([r.randint(1, 14), 7, n, 2 * n]) for n in x.shape]
    by_scales = r.random() < 0.4
    scales = [np.float32(m / n) for m, n in zip(wanted, x.shape)]
    if by_scales and r.random() < 0.5:
        scales = [np.float32(r.choice([0.5, 0.75, 1.5, 2, 2.5, 3])) for _ in scales]
        wanted = [max(1, floor(np.float32(n) * s)) for n, s in zip(x.shape, scales)]
        if any(floor(np.float32(n) * s) < 1 for n, s in zip(x.shape, scales)):
            by_scales = False
    elif by_scales:
        wanted = [floor(np.float32(n) * s) for n, s in zip(x.shape, scales)]
    bounds = [(Fraction(r.choice([0, 1, 2]), 8), Fraction(r.choice([6, 7, 8]), 8)) for _ in wanted]
    y, outside = x, np.zeros(wanted, bool)
    for axis, (n, m) in enumerate(zip(x.shape, wanted)):
        scale = Fraction(m, n) if not by_scales or np.float32(m / n) == scales[axis] else Fraction(float(scales[axis]))
        at = [place(i, n, m, scale, kind, *bounds[axis]) for i in range(m)]
        gone = np.array([v < 0 or v > n - 1 for v in at])
        outside |= gone.reshape([m if i == axis else 1 for i in range(rank)])
        y = np.take(y, [min(max(nearest(v, mode), 0), n - 1) for v in at], axis=axis)
    attributes = {"mode": "nearest", "nearest_mode": mode, "coordinate_transformation_mode": kind}
    roi = np.array([float(b[e]) for e in (0, 1) for b in bounds], "f4") if kind == "tf_crop_and_resize" else None
    if roi is not None:
        y = np.where(outside, np.float32(9), y)
        attributes["extrapolation_value"] = 9.0
    inputs = [x, roi, np.array(scales, "f4")] if by_scales else [x, roi, None, i8(wanted)]
    return case("Resize", opset, inputs, [y], known=tuple(i for i in (1, 2, 3) if i < len(inputs) and inputs[i] is not None), exact=True,
                **attributes)


# ---- loops

@variant
def loop(r, g):
    """Carries v, and stacks what an iteration makes of v, of its number, and of x from outside."""
    trips = r.choice([None, 0, 0, 1, 2, 3])
    go = r.choice([None, True, True, False])
    limit = None if trips is not None and r.random() < 0.6 else r.randint(0, 3)
    if trips is None and limit is None and go is not False:
        limit = 2
    shape = shape_of(r, r.randint(0, 2), 1, 3)
    x = numbers(g, "f4", shape)
    stacks = r.sample(["sum", "number", "half"], r.randint(0, 3))
    nodes = [of.node("Add", ["v", "v0"], ["sum"]), of.node("Cast", ["i"], ["number"], to=1), of.node("Mul", ["v", "v"], ["half"])]
    nodes.append(of.node("Identity", ["c"], ["on"]) if limit is None else of.node("Less", ["i", "limit"], ["on"]))
    f4, full = lambda n, s: of.value_info(n, "f4", s), list(shape)
    body = of.graph(nodes, [of.value_info("i", "i8", []), of.value_info("c", "?", []), f4("v", full)],
                    [of.value_info("on", "?", []), f4("sum", full)] + [f4(s, [] if s == "number" else full) for s in stacks],
                    [] if limit is None else [("limit", i8(limit))])
    v, stacked, i, on = x, {s: [] for s in stacks}, 0, go is not False
    while on and (trips is None or i < trips):
        made = {"sum": v + x, "number": np.float32(i), "half": v * v}
        for s in stacks:
            stacked[s].append(made[s])
        on, v, i = limit is None or i < limit, made["sum"], i + 1
    outputs = [v] + [np.array(stacked[s], "f4").reshape([len(stacked[s])] + ([] if s == "number" else full)) for s in stacks]
    inputs = [None if trips is None else i8(trips), None if go is None else np.array(go), x]
    one = case("Loop", 17, inputs, outputs, known=tuple(i for i in (0, 1) if inputs[i] is not None), exact=True, body=body)
    one["names"] = ["m", "go", "v0"]
    return one


@variant
def scan(r, g):
    n, width, carried = r.randint(0, 3), r.randint(1, 3), numbers(g, "f4", [2])
    axis, back, out_back = r.choice([0, 1]), r.choice([0, 1]), r.choice([0, 1])
    x = numbers(g, "f4", [n, 2] if axis == 0 else [2, n])
    body = of.graph([of.node("Add", ["s", "e"], ["t"]), of.node("Mul", ["t", "e"], ["u"])],
                    [of.value_info("s", "f4", [2]), of.value_info("e", "f4", [2])], [of.value_info("t", "f4", [2]), of.value_info("u", "f4", [2])])
    rows, state, made = list(np.moveaxis(x, axis, 0)), carried, []
    for e in reversed(rows) if back else rows:
        state = state + e
        made.append(state * e)
    made = made[::-1] if out_back else made
    out_axis = r.choice([0, 1, -1])
    stacked = np.moveaxis(np.array(made, "f4").reshape(n, 2), 0, out_axis)
    return case("Scan", 16, [carried, x], [state, stacked], num_scan_inputs=1, scan_input_axes=[axis], scan_input_directions=[back],
                scan_output_axes=[out_axis], scan_output_directions=[out_back], body=body)


# ---- elements

def safe(x):
    return np.where(x == 0, np.array(1, x.dtype), x)


BINARY = {
    "Add": (INTS + FLOATS, lambda a, b: a + b), "Sub": (INTS + FLOATS, lambda a, b: a - b), "Mul": (INTS + FLOATS, lambda a, b: a * b),
    "Div": (INTS + FLOATS, lambda a, b: a / b if a.dtype.kind == "f" else
            (np.asarray(abs(a), a.dtype) // np.asarray(abs(b), b.dtype) * (np.sign(a) * np.sign(b)).astype(a.dtype)).astype(a.dtype)),
    "Equal": (INTS + FLOATS + ["?"], lambda a, b: a == b), "Less": (INTS + FLOATS, lambda a, b: a < b),
    "Greater": (INTS + FLOATS, lambda a, b: a > b), "LessOrEqual": (INTS + FLOATS, lambda a, b: a <= b),
    "GreaterOrEqual": (INTS + FLOATS, lambda a, b: a >= b), "And": (["?"], lambda a, b: a & b), "Or": (["?"], lambda a, b: a | b),
    "Xor": (["?"], lambda a, b: a ^ b), "Max": (INTS + FLOATS + ["i1", "u1", "i2"], np.maximum), "Min": (INTS + FLOATS + ["i1", "u2"], np.minimum),
    "PRelu": (INTS + FLOATS, lambda a, b: np.where(a < 0, a * b, a)),
}


@variant
def binary(r, g):
    op = r.choice(sorted(BINARY))
    dtypes, f = BINARY[op]
    dtype, shape = r.choice(dtypes), shape_of(r, r.randint(0, 3))
    other = [1 if r.random() < 0.3 else d for d in shape][r.randint(0, len(shape)):]
    a, b = numbers(g, dtype, shape), numbers(g, dtype, other)
    if op == "Div":
        b = safe(b)
    if op != "PRelu" and r.random() < 0.3:
        a, b = b, safe(a) if op == "Div" else a
    return case(op, 16, [a, b], [np.asarray(f(a, b))], known=r.choice([(), (1,)]))


@variant
def modulo(r, g):
    dtype = r.choice(INTS + FLOATS + ["i1", "u2"])
    a, b = numbers(g, dtype, [2, 3]), safe(numbers(g, dtype, [3]))
    is_float = a.dtype.kind == "f"
    fmod = 1 if is_float else r.choice([0, 1])
    return case("Mod", 13, [a, b], [np.fmod(a, b) if fmod else np.mod(a, b)], fmod=fmod)


@variant
def power(r, g):
    base, exponent = r.choice(["i4", "i8", "f4", "f8"]), r.choice(["i4", "i8", "u4", "f4", "f8"])
    a, b = abs(numbers(g, base, [2, 3])) + np.array(1, base), numbers(g, exponent, [3], 0, 4)
    if np.dtype(base).kind != "f":
        b = abs(np.round(b)).astype(exponent)
    return case("Pow", 15, [a, b], [np.power(a.astype("f8"), b.astype("f8")).astype(base)])


@variant
def unary(r, g):
    f, dtypes, opset = r.choice([(np.abs, INTS + FLOATS + ["i1"], 13), (np.negative, ["i4", "i8", "i1"] + FLOATS, 13), (np.sign, INTS + FLOATS, 13),
                                 (np.ceil, FLOATS, 13), (np.floor, FLOATS, 13), (np.rint, FLOATS, 13), (lambda x: np.maximum(x, 0).astype(x.dtype), ["i4", "i8", "i1"], 14)])
    op = {np.abs: "Abs", np.negative: "Neg", np.sign: "Sign", np.ceil: "Ceil", np.floor: "Floor", np.rint: "Round"}.get(f, "Relu")
    x = numbers(g, r.choice(dtypes), shape_of(r, r.randint(0, 3)))
    return case(op, opset, [x], [np.asarray(f(x * np.array(1, x.dtype)))])


@variant
def clip(r, g):
    dtype = r.choice(INTS + FLOATS + ["i1", "u1", "i2"])
    x = numbers(g, dtype, [2, 3])
    low = r.choice([None, np.array(1, dtype)])
    high = r.choice([None, np.array(3, dtype)])
    y = x if low is None else np.maximum(x, low)
    y = y if high is None else np.minimum(y, high)
    inputs = [x, low, high] if high is not None else [x, low] if low is not None else [x]
    return case("Clip", 13, inputs, [y], known=r.choice([(), tuple(i for i in range(1, len(inputs)) if inputs[i] is not None)]))


@variant
def shift(r, g):
    dtype, way = r.choice(["u1", "u2", "u4", "u8"]), r.choice(["LEFT", "RIGHT"])
    a, b = numbers(g, dtype, [2, 3], 0, 200), numbers(g, dtype, [3], 0, 8)
    return case("BitShift", 11, [a, b], [a << b if way == "LEFT" else a >> b], direction=way)


@variant
def cast(r, g):
    numpy = ["i1", "u1", "i2", "u2", "i4", "i8", "u4", "u8", "f4", "f8", "f2", "b1"]
    x, to = numbers(g, r.choice(numpy), [2, 3], 0), r.choice(numpy)
    if x.dtype.kind == "f" and np.dtype(to).kind == "u":
        x = abs(x)
    return case("Cast", 13, [x], [x.astype(to)], to=of.element(to))


# ---- places

@variant
def gather(r, g):
    x = numbers(g, r.choice(["f4", "i8", "?"]), shape_of(r, r.randint(1, 3)))
    axis = r.randrange(-x.ndim, x.ndim)
    at = g.integers(-x.shape[axis], x.shape[axis], shape_of(r, r.randint(0, 2))).astype(r.choice(["i4", "i8"]))
    return case("Gather", 13, [x, at], [np.take(x, at, axis=axis)], known=r.choice([(), (1,)]), axis=axis)


@variant
def gather_elements(r, g):
    x = numbers(g, "f4", shape_of(r, 2))
    axis = r.randrange(-2, 2)
    shape = list(x.shape)
    shape[axis] = r.randint(1, 4)
    at = g.integers(-x.shape[axis], x.shape[axis], shape)
    return case("GatherElements", 13, [x, at], [np.take_along_axis(x, at, axis)], axis=axis)


@variant
def scatter_elements(r, g):
    x = numbers(g, r.choice(["f4", "i4"]), shape_of(r, 2, 2))
    axis, how = r.randrange(-2, 2), r.choice(["none", "add", "mul", "max", "min"])
    places = [r.sample(range(x.shape[axis]), 2) for _ in range(x.shape[1 - axis % 2])]
    at = i8(places).T if axis % 2 == 0 else i8(places)
    at = np.where(g.integers(0, 2, at.shape) == 1, at - x.shape[axis], at)
    updates, y = numbers(g, x.dtype, at.shape), x.copy()
    f = {"none": lambda a, b: b, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[how]
    np.put_along_axis(y, at, f(np.take_along_axis(y, at, axis), updates), axis)
    return case("ScatterElements", 18 if how in ("max", "min") else 16, [x, at, updates], [y], axis=axis, reduction=how)


@variant
def extreme_place(r, g):
    op, last, keep = r.choice(["ArgMax", "ArgMin"]), r.choice([0, 1]), r.choice([0, 1])
    x = numbers(g, r.choice(["i4", "f4", "u1"]), shape_of(r, r.randint(1, 3)), 0, 3)
    axis = r.randrange(-x.ndim, x.ndim)
    f = np.argmax if op == "ArgMax" else np.argmin
    y = x.shape[axis] - 1 - f(np.flip(x, axis), axis) if last else f(x, axis)
    return case(op, 13, [x], [i8(np.expand_dims(y, axis) if keep else y)], axis=axis, keepdims=keep, select_last_index=last)


@variant
def top_k(r, g):
    x = numbers(g, r.choice(["f4", "i4", "i8"]), shape_of(r, r.randint(1, 3), 2, 5))
    axis, largest = r.randrange(-x.ndim, x.ndim), r.choice([0, 1])
    k = r.randint(1, x.shape[axis])
    keys = -x.astype("f8") if largest else x.astype("f8")
    at = np.take(np.argsort(keys, axis=axis, kind="stable"), range(k), axis=axis)
    return case("TopK", 11, [x, i8([k])], [np.take_along_axis(x, at, axis), i8(at)], known=(1,), axis=axis, largest=largest)


@variant
def sums_so_far(r, g):
    x = numbers(g, r.choice(["f4", "i4", "i8", "f8"]), shape_of(r, r.randint(1, 3)))
    axis, exclusive, reverse = r.randrange(-x.ndim, x.ndim), r.choice([0, 1]), r.choice([0, 1])
    y = np.flip(x, axis) if reverse else x
    sums = np.cumsum(y, axis=axis, dtype=x.dtype) - (y if exclusive else 0 * y)
    return case("CumSum", 14, [x, np.array(axis, r.choice(["i4", "i8"]))], [np.flip(sums, axis) if reverse else sums], known=(1,),
                exclusive=exclusive, reverse=reverse)


@variant
def one_hot(r, g):
    depth, at = r.randint(1, 4), None
    at = g.integers(-depth, depth, shape_of(r, r.randint(1, 2))).astype(r.choice(["i4", "i8"]))
    axis, values = r.randint(-1, at.ndim), numbers(g, r.choice(["f4", "i4"]), [2])
    y = np.where(np.arange(depth) == (at % depth)[..., None], values[1], values[0]).astype(values.dtype)
    return case("OneHot", 11, [at, i8(depth), values], [np.moveaxis(y, -1, axis)], known=(1,), axis=axis)


# ---- shapes

@variant
def slices(r, g):
    x = numbers(g, "f4", shape_of(r, r.randint(1, 3), 1, 6))
    axes = r.sample(range(x.ndim), r.randint(1, x.ndim))
    starts, ends, steps, cut = [], [], [], {}
    for a in axes:
        n, step = x.shape[a], r.choice([1, 1, 2, 3, -1, -2])
        start, end = r.choice([0, 1, -1, n, -n, 99, -99]), r.choice([n, -1, 0, 2, 2**63 - 1, -2**63, -99])
        starts, ends, steps = starts + [start], ends + [end], steps + [step]
        # The standard clamps a start to the elements, where NumPy takes one before the first as none.
        cut[a] = list(range(*slice(max(start, -n), end, step).indices(n)))
    y = x
    for a in axes:
        y = np.take(y, i8(cut[a]), axis=a)
    signed = [a - x.ndim if r.random() < 0.5 else a for a in axes]
    return case("Slice", 13, [x, i8(starts), i8(ends), i8(signed), i8(steps)], [y], known=(1, 2, 3, 4), exact=True)


@variant
def pad(r, g):
    x = numbers(g, r.choice(["f4", "i4", "i8"]), shape_of(r, r.randint(1, 3), 2, 5))
    mode = r.choice(["constant", "edge", "reflect"])
    widths = [(r.randint(0, 1), r.randint(0, 1)) if mode == "reflect" else (r.randint(0, 3), r.randint(0, 3)) for _ in x.shape]
    value = numbers(g, x.dtype, []) if mode == "constant" and r.random() < 0.7 else None
    y = np.pad(x, widths, constant_values=0 if value is None else value) if mode == "constant" else np.pad(x, widths, mode)
    pads = i8([w[0] for w in widths] + [w[1] for w in widths])
    return case("Pad", 13, [x, pads] + ([value] if value is not None else []), [y], known=(1, 2) if value is not None else (1,), mode=mode)


@variant
def split(r, g):
    parts = [r.randint(0, 3) for _ in range(r.randint(1, 3))]
    parts[0] += 1
    x = numbers(g, "f4", [sum(parts), 2] if r.random() < 0.5 else [2, sum(parts)])
    axis = 0 if x.shape[0] == sum(parts) else 1
    return case("Split", 13, [x, i8(parts)], np.split(x, np.cumsum(parts)[:-1], axis), known=(1,), axis=axis - r.choice([0, 2]))


@variant
def reshape(r, g):
    x = numbers(g, "f4", r.choice([[2, 3, 4], [6], [1, 6], [2, 6]]))
    wanted = r.choice([[-1], [0, -1], [x.size], [1, -1, 1], [x.size // 2, -1]])
    extents = [x.shape[i] if d == 0 else d for i, d in enumerate(wanted)]
    return case("Reshape", 14, [x, i8(wanted)], [x.reshape(extents)], known=(1,))


@variant
def squeezing(r, g):
    x = numbers(g, "f4", r.choice([[1, 3, 1], [2, 1], [1, 1]]))
    ones = [a for a, d in enumerate(x.shape) if d == 1]
    if r.random() < 0.5:
        axes = r.sample(ones, r.randint(1, len(ones)))
        return case("Squeeze", 13, [x, i8([a - x.ndim if r.random() < 0.5 else a for a in axes])], [np.squeeze(x, tuple(axes))], known=(1,))
    rank = x.ndim + 2
    axes = r.sample(range(rank), 2)
    return case("Unsqueeze", 13, [x, i8([a - rank if r.random() < 0.5 else a for a in axes])], [np.expand_dims(x, tuple(axes))], known=(1,))


@variant
def repetition(r, g):
    x = numbers(g, r.choice(["f4", "i4", "?"]), shape_of(r, 2))
    if r.random() < 0.5:
        times = [r.randint(0, 3), r.randint(1, 2)]
        return case("Tile", 13, [x, i8(times)], [np.tile(x, times)], known=(1,))
    x = x[:1]
    wanted = r.choice([[3, 1], [2, x.shape[0], x.shape[1]], [x.shape[1]], [1]])
    return case("Expand", 13, [x, i8(wanted)], [x * np.ones(wanted, x.dtype) if x.dtype != bool else x & np.ones(wanted, bool)], known=(1,))


@variant
def triangle(r, g):
    x, upper, k = numbers(g, r.choice(["f4", "i8"]), [*([2] * r.randint(0, 1)), *shape_of(r, 2)]), r.choice([0, 1]), r.randint(-4, 4)
    return case("Trilu", 14, [x, i8(k)], [np.triu(x, k) if upper else np.tril(x, k)], known=(1,), upper=upper)


@variant
def extents(r, g):
    x = numbers(g, "f4", shape_of(r, r.randint(0, 4)))
    start, end = r.randint(-5, 5), r.choice([None, r.randint(-5, 5)])
    n = x.ndim
    bound = lambda v: min(max(v + n if v < 0 else v, 0), n)
    y = i8(x.shape[bound(start):n if end is None else bound(end)])
    return case("Shape", 15, [x], [y], start=start, **({} if end is None else {"end": end}))


# ---- softmax and its kin

@variant
def softmax(r, g):
    op, opset = r.choice(["Softmax", "LogSoftmax", "Hardmax"]), r.choice([11, 13])
    x = numbers(g, r.choice(FLOATS), shape_of(r, r.randint(1, 3)))
    axis = r.randrange(-x.ndim if opset >= 13 else 0, x.ndim)
    flat = x if opset >= 13 else x.reshape(int(np.prod(x.shape[:axis])), -1)
    at = axis if opset >= 13 else 1
    e = np.exp(flat - flat.max(axis=at, keepdims=True))
    y = e / e.sum(axis=at, keepdims=True)
    if op == "LogSoftmax":
        y = np.log(y)
    if op == "Hardmax":
        y = (np.moveaxis(np.eye(flat.shape[at])[np.argmax(flat, at)], -1, at)).astype(x.dtype)
    return case(op, opset, [x], [y.reshape(x.shape).astype(x.dtype)], axis=axis)


@variant
def product(r, g):
    dtype = r.choice(["f4", "f8", "i4", "u4", "i8"])
    m, k, n, a, b = r.randint(1, 4), r.randint(1, 4), r.randint(1, 4), r.choice([0, 1]), r.choice([0, 1])
    x, w = numbers(g, dtype, [k, m] if a else [m, k]), numbers(g, dtype, [n, k] if b else [k, n])
    c = r.choice([None, numbers(g, dtype, r.choice([[n], [1, n], [m, 1], [m, n], []]))])
    alpha, beta = r.choice([1.0, 2.0, 3.0]), r.choice([1.0, 2.0])
    y = np.array(alpha, dtype) * ((x.T if a else x) @ (w.T if b else w)) + (0 if c is None else np.array(beta, dtype) * c)
    return case("Gemm", 13, [x, w] + ([c] if c is not None else []), [y.astype(dtype)], transA=a, transB=b, alpha=alpha, beta=beta)
