"""Models of opsets 18 to 21, in the form of the standard's backend tests, for ops that changed or came since opset 17.

    /usr/bin/python3 tests/runtime/onnx_opsets.py FOLDER

Writes a folder for each: model.onnx and test_data_set_0, whose outputs are computed with NumPy and PyTorch.
"""
import pathlib
import sys

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper
from torchvision.ops import deform_conv2d

FOLDER = pathlib.Path(sys.argv[1])
rng = np.random.default_rng(5)
count = 0


def case(op, opset, inputs, outputs, known=(), **attributes):
    """`known` are the places of inputs that are initialisers; an input that is None is absent."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    model(op, opset, [helper.make_node(op, names, [f"y{i}" for i in range(len(outputs))], **attributes)], inputs, outputs, known)


def model(name, opset, nodes, inputs, outputs, known=(), constants=()):
    """Nodes from `x0` and so on, and from `constants`, to `y0` and so on."""
    global count
    count += 1
    place = FOLDER / f"test_{name.lower()}_{opset}_{count}"
    (place / "test_data_set_0").mkdir(parents=True)
    names = [f"x{i}" for i in range(len(inputs))]
    info = lambda name, a: helper.make_tensor_value_info(name, onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[a.dtype], a.shape)
    given = [(n, x) for i, (n, x) in enumerate(zip(names, inputs)) if x is not None and i not in known]
    graph = helper.make_graph(nodes, "g", [info(n, x) for n, x in given], [info(f"y{i}", y) for i, y in enumerate(outputs)],
                              [numpy_helper.from_array(inputs[i], names[i]) for i in known] + list(constants))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), str(place / "model.onnx"))
    for kind, arrays in (("input", [x for _, x in given]), ("output", outputs)):
        for i, a in enumerate(arrays):
            (place / "test_data_set_0" / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape)).SerializeToString())


def f4(*shape):
    return rng.normal(size=shape).astype("f4")


def i8(*values):
    return np.array(values, "i8")


def through(function, *arrays):
    with torch.no_grad():
        return function(*(torch.from_numpy(a) for a in arrays)).numpy()


def bits():
    a, b = rng.integers(0, 255, (3, 4)).astype("u1"), rng.integers(0, 255, (4,)).astype("u1")
    case("BitwiseAnd", 18, [a, b], [a & b])
    case("BitwiseOr", 18, [a, b], [a | b])
    case("BitwiseXor", 21, [a, b], [a ^ b])
    case("BitwiseNot", 18, [a.astype("i4")], [~a.astype("i4")])


def reductions():
    x = f4(2, 3, 4)
    case("ReduceMean", 18, [x, i8(0, -1)], [x.mean((0, 2), keepdims=True)], known=(1,))
    case("ReduceMean", 18, [x], [x.mean(keepdims=True)])
    case("ReduceMax", 20, [x, i8()], [x.max(keepdims=True)], known=(1,))
    case("ReduceL1", 18, [x, i8()], [abs(x).sum(keepdims=True)])
    case("ReduceL2", 18, [x, i8(1)], [np.sqrt((x * x).sum(1))], keepdims=0)
    case("ReduceMin", 18, [x], [x], noop_with_empty_axes=1)
    case("ReduceSumSquare", 18, [x, i8(2)], [(x * x).sum(2, keepdims=True)], known=(1,), noop_with_empty_axes=1)
    case("ReduceProd", 13, [x], [x.prod(keepdims=True)], axes=[])
    for dtype, least, most in (("f4", -np.inf, np.inf), ("i4", -2**31, 2**31 - 1), ("u1", 0, 255), ("?", False, True)):
        none = np.zeros((2, 0, 4), dtype)
        case("ReduceMax", 20, [none, i8(1)], [np.full((2, 1, 4), least, dtype)], known=(1,))
        case("ReduceMin", 20, [none, i8(-2)], [np.full((2, 4), most, dtype)], known=(1,), keepdims=0)


def shapes():
    x = f4(7, 3)
    case("Split", 18, [x], [x[:3], x[3:6], x[6:]], num_outputs=3)
    case("Split", 18, [x, i8(2, 5)], [x[:2], x[2:]], known=(1,))
    case("Pad", 18, [x, i8(1, 2), np.float32(4), i8(1)], [np.pad(x, ((0, 0), (1, 2)), constant_values=4)], known=(1, 2, 3))
    case("Pad", 19, [x, i8(2, 1, 1, 2)], [np.pad(x, ((2, 1), (1, 2)), "wrap")], known=(1,), mode="wrap")
    case("CenterCropPad", 18, [f := f4(9, 6), i8(4, 9)], [np.pad(f[2:6], ((0, 0), (1, 2)))], known=(1,))
    case("CenterCropPad", 18, [f, i8(9)], [np.pad(f, ((0, 0), (1, 2)))], known=(1,), axes=[-1])
    case("Shape", 21, [x], [i8(3)], start=1)
    case("CastLike", 19, [x, np.zeros(1, "i4")], [x.astype("i4")], saturate=1)


def scattered():
    x, at, updates = f4(4, 3), rng.integers(0, 4, (6, 3)), f4(6, 3)
    for reduction, combine in (("max", np.maximum), ("min", np.minimum)):
        y = x.copy()
        for i in range(6):
            for j in range(3):
                y[at[i, j], j] = combine(y[at[i, j], j], updates[i, j])
        case("ScatterElements", 18, [x, at, updates], [y], reduction=reduction)
        y = x.copy()
        for i in range(6):
            y[at[i, 0]] = combine(y[at[i, 0]], updates[i])
        case("ScatterND", 18, [x, at[:, :1].copy(), updates], [y], reduction=reduction)


def normalised():
    x, each, groups = f4(2, 6, 3, 4), (f4(6), f4(6)), (f4(2), f4(2))
    case("GroupNormalization", 18, [x, *groups], [through(lambda x, s, b: F.group_norm(x, 2, s.repeat_interleave(3), b.repeat_interleave(3), 1e-4), x, *groups)],
         num_groups=2, epsilon=1e-4)
    case("GroupNormalization", 21, [x, *each], [through(lambda x, s, b: F.group_norm(x, 3, s, b), x, *each)], num_groups=3)
    x[0, 0] = 0
    case("LpNormalization", 18, [x], [np.divide(x, np.sqrt((x * x).sum(1, keepdims=True)))], axis=1)
    case("LpNormalization", 18, [x], [np.divide(x, abs(x).sum(-1, keepdims=True), out=np.zeros_like(x), where=abs(x).sum(-1, keepdims=True) != 0)], p=1)


def windows():
    x = f4(2, 3, 9, 8)
    for p in (1, 2, 3):
        case("LpPool", 18, [x], [through(lambda x: sum(abs(x[:, :, i:i + 7:2, j:j + 6:2]) ** p for i in range(3) for j in range(3)) ** (1 / p), x)],
             kernel_shape=[3, 3], strides=[2, 2], p=p)
        case("GlobalLpPool", 18, [x], [(abs(x) ** p).sum((2, 3), keepdims=True) ** np.float32(1 / p)], p=p)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    case("LpPool", 18, [x], [np.sqrt(sum(padded[:, :, 2 * i:2 * i + 7, 2 * j:2 * j + 6] ** 2 for i in range(3) for j in range(3)))],
         kernel_shape=[3, 3], dilations=[2, 2], pads=[1, 1, 1, 1])
    case("AveragePool", 19, [x], [sum(x[:, :, 2 * i:2 * i + 5, 3 * j:3 * j + 5] for i in range(3) for j in range(2)) / 6],
         kernel_shape=[3, 2], dilations=[2, 3])
    for pads in (0, 1):
        case("AveragePool", 19, [x], [through(lambda x: F.avg_pool2d(x, 4, 3, pads, ceil_mode=True), x)], kernel_shape=[4, 4], strides=[3, 3],
             pads=[pads] * 4, ceil_mode=1, count_include_pad=1)
    columns = f4(1, 5 * 6, 12)
    case("Col2Im", 18, [columns, i8(5, 5), i8(2, 3)], [through(lambda c: F.fold(c, (5, 5), (2, 3)), columns)], known=(1, 2))
    columns = f4(2, 2 * 9, 12)
    case("Col2Im", 18, [columns, i8(7, 6), i8(3, 3)],
         [through(lambda c: F.fold(c, (7, 6), (3, 3), (1, 1), (1, 1), (2, 2)), columns)], known=(1, 2), strides=[2, 2], pads=[1, 1, 1, 1])


def grids():
    theta = f4(2, 2, 3)
    for corners in (0, 1):
        case("AffineGrid", 20, [theta, i8(2, 3, 5, 4)], [through(lambda t: F.affine_grid(t, (2, 3, 5, 4), bool(corners)), theta)], known=(1,), align_corners=corners)
    solid = f4(2, 3, 4)
    case("AffineGrid", 20, [solid, i8(2, 1, 3, 4, 5)], [through(lambda t: F.affine_grid(t, (2, 1, 3, 4, 5), False), solid)], known=(1,))
    x, grid = f4(2, 3, 5, 6), rng.uniform(-1.2, 1.2, (2, 4, 4, 2)).astype("f4")
    for mode, theirs in (("linear", "bilinear"), ("cubic", "bicubic"), ("nearest", "nearest")):
        case("GridSample", 20, [x, grid], [through(lambda x, g: F.grid_sample(x, g, theirs, "zeros", False), x, grid)], mode=mode)
    case("GridSample", 20, [x, grid], [through(lambda x, g: F.grid_sample(x, g, "bilinear", "border", True), x, grid)], padding_mode="border", align_corners=1)
    x, grid = f4(2, 3, 4, 5, 6), rng.uniform(-1.4, 1.4, (2, 3, 2, 4, 3)).astype("f4")
    for mode, theirs in (("linear", "bilinear"), ("nearest", "nearest")):
        for padding in ("zeros", "border", "reflection"):
            for corners in (0, 1):
                case("GridSample", 20, [x, grid], [through(lambda x, g: F.grid_sample(x, g, theirs, padding, bool(corners)), x, grid)], mode=mode,
                     padding_mode=padding, align_corners=corners)


    x, w, b = f4(2, 6, 9, 8), f4(4, 3, 3, 2), f4(4)
    offset, mask = f4(2, 3 * 6 * 2, 5, 10), f4(2, 3 * 6, 5, 10)
    case("DeformConv", 19, [x, w, offset, b, mask], [through(lambda x, w, o, b, m: deform_conv2d(x, o, w, b, (2, 1), (1, 2), (1, 2), m), x, w, offset, b, mask)],
         strides=[2, 1], pads=[1, 2, 1, 2], dilations=[1, 2], group=2, offset_group=3)
    w, offset = f4(5, 6, 3, 3), f4(2, 18, 7, 6)
    case("DeformConv", 19, [x, w, offset], [through(lambda x, w, o: deform_conv2d(x, o, w), x, w, offset)], kernel_shape=[3, 3])


def resized():
    x = abs(f4(1, 2, 8, 6)) + 1  # sums of which none is near 0
    case("Resize", 18, [x, None, None, i8(4, 3)], [through(lambda x: F.interpolate(x, (4, 3), mode="bilinear", antialias=True), x)], known=(3,), mode="linear",
         antialias=1, axes=[2, 3], exclude_outside=1)
    case("Resize", 18, [x, None, None, i8(3, 5)], [through(lambda x: F.interpolate(x, (3, 5), mode="bicubic", antialias=True), x)], known=(3,), mode="cubic",
         antialias=1, axes=[-2, -1], cubic_coeff_a=-0.5, exclude_outside=1)
    case("Resize", 18, [x, None, np.array([2, 1.5], "f4")], [through(lambda x: F.interpolate(x, (16, 9), mode="bilinear", antialias=True), x)], known=(2,),
         mode="linear", antialias=1, axes=[2, 3])
    case("Resize", 19, [x, None, np.array([1.5, 2], "f4")], [through(lambda x: F.interpolate(x, (16, 9), mode="bilinear"), x)],
         known=(2,), mode="linear", axes=[3, 2])
    case("Resize", 18, [x, None, None, i8(4, 6)], [x[:, :, ::2, ::2]], known=(3,), mode="nearest", axes=[2, 3], keep_aspect_ratio_policy="not_larger",
         coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    case("Resize", 18, [x, None, None, i8(8, 12)], [x.repeat(2, 2).repeat(2, 3)], known=(3,), mode="nearest", axes=[2, 3],
         keep_aspect_ratio_policy="not_smaller", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    row = np.arange(1, 5, dtype="f4").reshape(1, 1, 1, 4)
    # 2.4 elements of the output reach over all 4: the places 0 and 1 lie around the middle, 1.5.
    case("Resize", 19, [row, None, np.array([1, 1, 1, 0.6], "f4")], [(1 + 2 * (1 - 2 / 2.4) + np.array([0.5, 1.5]) / np.float32(0.6) - 0.5).astype("f4").reshape(1, 1, 1, 2)],
         known=(2,), mode="linear", coordinate_transformation_mode="half_pixel_symmetric")


def signals():
    x = f4(2, 4, 6, 1)
    spectrum = lambda axis, n=None: (lambda z: np.stack([z.real, z.imag], -1).astype("f4"))(np.fft.fft(x[..., 0], n, axis))
    case("DFT", 20, [x], [spectrum(2)])
    case("DFT", 20, [x, None, i8(1).reshape(())], [spectrum(1)], known=(2,))
    case("DFT", 20, [x, i8(8).reshape(()), i8(-2).reshape(())], [spectrum(2, 8)], known=(1, 2))
    case("Gelu", 20, [x], [through(F.gelu, x)])
    case("Gelu", 20, [x], [through(lambda x: F.gelu(x, approximate="tanh"), x)], approximate="tanh")


def quantised():
    x = f4(3, 8)
    limited = lambda q, dtype: np.clip(q, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)
    case("QuantizeLinear", 19, [x, np.float32(0.01), np.uint8(100)], [limited(np.round(x / np.float32(0.01)) + 100, "u1")], saturate=1)
    for dtype in ("i2", "u2"):
        zero, fine = np.array(200, dtype), np.float32(3e-5)
        q = limited(np.round(x / fine) + 200, dtype)
        case("QuantizeLinear", 21, [x, fine, zero], [q])
        case("DequantizeLinear", 21, [q, fine, zero], [(q.astype("f4") - 200) * fine])
    case("QuantizeLinear", 21, [x, np.float32(0.01)], [limited(np.round(x / np.float32(0.01)), "i1")], output_dtype=onnx.TensorProto.INT8)
    for axis in (0, 1):
        size = (2, 4)[axis]
        blocks = (-(-x.shape[0] // size) if axis == 0 else 3, -(-x.shape[1] // size) if axis == 1 else 8)
        scale, zero = rng.uniform(0.01, 0.1, blocks).astype("f4"), rng.integers(-9, 9, blocks).astype("i1")
        each = lambda p: p.repeat(size, axis)[:3, :8]
        q = limited(np.round(x / each(scale)) + each(zero), "i1")
        case("QuantizeLinear", 21, [x, scale, zero], [q], axis=axis, block_size=size)
        case("QuantizeLinear", 21, [x, scale], [limited(np.round(x / each(scale)), "i2")], axis=axis, block_size=size, output_dtype=onnx.TensorProto.INT16)
        case("DequantizeLinear", 21, [q, scale, zero], [(q.astype("f4") - each(zero)) * each(scale)], axis=axis, block_size=size)
    a, b = rng.integers(0, 255, (2, 4)).astype("u1"), rng.integers(0, 255, (4, 3)).astype("u1")
    sums = (a.astype("i4") - 120) @ (b.astype("i4") - 130)
    scales = [np.float16(s) for s in (0.5, 0.25, 64)]
    case("QLinearMatMul", 21, [a, scales[0], np.uint8(120), b, scales[1], np.uint8(130), scales[2], np.uint8(110)],
         [limited(np.round(sums * (0.125 / 64)) + 110, "u1")])


def eight_bits():
    """float8 in the middle of a model: this package of onnx has no arrays of it. The types have the numbers 17 to 20."""
    x = np.array([0.3, -3.3, 0.0, 1000, 1e6, -np.inf, np.nan], "f4")
    large = {17: 448, 18: 240, 19: 57344, 20: 57344}
    infinite = {17: np.nan, 18: np.nan, 19: np.inf, 20: np.nan}
    for to, near in ((17, [0.3125, -3.25]), (18, [0.3125, -3.25]), (19, [0.3125, -3.5]), (20, [0.3125, -3.5])):
        for saturate in (1, 0):
            most = large[to] if saturate else infinite[to]
            y = np.array([*near, 0, 1024 if large[to] > 1024 else most, most, -most, np.nan], "f4")
            model("float8", 19, [helper.make_node("Cast", ["x0"], ["a"], to=to, saturate=saturate), helper.make_node("Identity", ["a"], ["b"]),
                                 helper.make_node("Cast", ["b"], ["y0"], to=onnx.TensorProto.FLOAT)], [x], [y])
        zero = [helper.make_node("Cast", ["x2"], ["zero"], to=to)]
        through_like = [helper.make_node("CastLike", ["x0", "zero"], ["a"]), helper.make_node("CastLike", ["a", "x1"], ["y0"])]
        model("float8", 19, zero + through_like, [x, x[:1], x[2:3]], [np.array([*near, 0, min(1024, large[to]), large[to], -large[to], np.nan], "f4")])
        scaled = [helper.make_node("QuantizeLinear", ["x0", "x1", "zero"], ["a"]), helper.make_node("DequantizeLinear", ["a", "x1", "zero"], ["y0"])]
        model("float8", 21, zero + scaled, [x * 2, np.float32(2), x[2]], [np.array([*near, 0, min(1024, large[to]), large[to], -large[to], np.nan], "f4") * 2])


def four_bits():
    """Two elements share a byte, the first in its low half. The types have the numbers 21 and 22."""
    x = f4(2, 3)
    for kind, first in ((21, 0), (22, -8)):
        w = rng.integers(first, first + 16, (3, 5))
        halves = np.append(w.reshape(-1) % 16, 0)
        tensor = onnx.TensorProto(name="w", data_type=kind, dims=w.shape, raw_data=(halves[::2] | halves[1::2] << 4).astype("u1").tobytes())
        scale = rng.uniform(0.1, 1, (2, 5)).astype("f4")
        wide = w.astype("f4") * scale.repeat(2, 0)[:3]
        model("packed", 21, [helper.make_node("DequantizeLinear", ["w", "x1"], ["wide"], axis=0, block_size=2), helper.make_node("MatMul", ["x0", "wide"], ["y0"])],
              [x, scale], [x @ wide], known=(1,), constants=[tensor])
        model("packed", 21, [helper.make_node("Identity", ["w"], ["same"]), helper.make_node("Cast", ["same"], ["y0"], to=onnx.TensorProto.FLOAT)], [],
              [w.astype("f4")], constants=[tensor])


def branches():
    """Extents that pass through an If must be known, as those that do not."""
    branch = lambda name, op, *inputs, **attributes: helper.make_graph(
        [helper.make_node(op, inputs, [name], **attributes)], name, [], [helper.make_tensor_value_info(name, onnx.TensorProto.INT64, None)])
    nodes = [helper.make_node("Size", ["x0"], ["n"]), helper.make_node("Constant", [], ["two"], value_int=2),
             helper.make_node("Equal", ["n", "two"], ["is_plane"]),
             helper.make_node("If", ["is_plane"], ["sizes"], then_branch=branch("plane", "Identity", "x0"),
                              else_branch=branch("square", "Concat", "x0", "x0", axis=0)),
             helper.make_node("ConstantOfShape", ["sizes"], ["y0"])]
    model("if", 19, nodes, [i8(3, 2)], [np.zeros((3, 2), "f4")])
    model("if", 19, nodes, [i8(4)], [np.zeros((4, 4), "f4")])


for make in (bits, reductions, shapes, scattered, normalised, windows, grids, resized, signals, quantised, eight_bits, four_bits, branches):
    make()
print(count)
