"""Unusual but legal attributes of convolutions, pools, normalisation, losses, resampling and updates."""
import math

import numpy as np
import torch
import torch.nn.functional as F

from cases import BOTH, F32, case, distinct, grid, ints, positive

WIDE = ["float32", "float64"]


def convolution_edges():
    def conv(name, x, w, options="", torch_options=None, pad=None, dtypes=F32, f=F.conv2d):
        def value(x, w):
            return f(F.pad(x, pad) if pad else x, w, **(torch_options or {}))
        return case(name, f"conv(x, w{options})", value, "x w", dtypes, x=grid(*x), w=grid(*w))

    yield conv("one_pixel", (1, 1, 1, 1), (1, 1, 1, 1), dtypes=BOTH)
    yield conv("kernel_is_image", (2, 3, 4, 4), (2, 3, 4, 4), dtypes=BOTH)
    yield conv("stride_past_kernel", (1, 2, 7, 8), (3, 2, 2, 2), ", stride = [3, 4]", {"stride": (3, 4)})
    yield conv("stride_leaves_rest", (2, 2, 8, 9), (2, 2, 3, 3), ", stride = [3, 2]", {"stride": (3, 2)})
    yield conv("padding_past_kernel", (1, 1, 2, 2), (1, 1, 2, 2), ", padding = [3, 3, 3, 3]", {"padding": 3})
    yield conv("padding_begin_only", (1, 2, 4, 5), (2, 2, 3, 3), ", padding = [2, 1, 0, 0]", pad=(1, 0, 2, 0))
    yield conv("padding_end_stride", (2, 2, 5, 6), (3, 2, 3, 2), ", padding = [0, 1, 2, 3], stride = [2, 3]",
               {"stride": (2, 3)}, pad=(1, 3, 0, 2), dtypes=WIDE)
    yield conv("dilation_uneven", (1, 2, 9, 8), (2, 2, 3, 3), ", dilation = [3, 2]", {"dilation": (3, 2)}, dtypes=BOTH)
    yield conv("dilation_stride", (2, 1, 9, 9), (2, 1, 2, 3), ", dilation = [4, 2], stride = [2, 3]",
               {"dilation": (4, 2), "stride": (2, 3)})
    yield conv("groups_all", (2, 3, 4, 4), (3, 1, 3, 3), ", groups = 3", {"groups": 3}, dtypes=BOTH)
    yield conv("groups_multiply", (1, 2, 5, 4), (6, 1, 2, 2), ", groups = 2, stride = [2, 1]",
               {"groups": 2, "stride": (2, 1)})
    yield conv("groups_dilated", (1, 4, 6, 6), (2, 2, 2, 2), ", groups = 2, dilation = [2, 3], padding = [1, 0, 1, 0]",
               {"groups": 2, "dilation": (2, 3), "padding": (1, 0)})
    yield conv("wide_channels", (1, 11, 3, 3), (17, 11, 2, 2), dtypes=WIDE)
    yield conv("row_kernel", (2, 2, 1, 9), (2, 2, 1, 4), ", padding = [0, 2, 0, 1]", pad=(2, 1, 0, 0))
    yield conv("column_kernel", (2, 2, 9, 1), (2, 2, 4, 1), ", stride = [2, 1]", {"stride": (2, 1)})
    yield conv("same_lower_stride", (1, 2, 5, 6), (2, 2, 3, 3), ', pad_type = "same_lower", stride = [2, 2]',
               {"stride": 2}, pad=(1, 0, 1, 1))
    yield conv("one_axis_groups", (2, 4, 8), (4, 2, 3), ", groups = 2, dilation = [2], padding = [2, 1]",
               {"groups": 2, "dilation": 2}, pad=(2, 1), f=F.conv1d, dtypes=BOTH)
    yield conv("three_axes_groups", (1, 2, 3, 4, 3), (2, 1, 2, 2, 2), ", groups = 2, padding = [1, 0, 1, 0, 1, 0]",
               {"groups": 2}, pad=(1, 0, 0, 1, 1, 0), f=F.conv3d)
    yield conv("image", (2, 2, 8, 8), (6, 2, 5, 5), ", padding = [2, 2, 2, 2]", {"padding": 2})

    def back(name, x, w, options="", torch_options=None, dtypes=F32, f=F.conv_transpose2d, cut=lambda y: y):
        return case("transpose_" + name, f"conv_transpose(x, w{options})",
                    lambda x, w: cut(f(x, w, **(torch_options or {}))), "x w", dtypes, x=grid(*x), w=grid(*w))
    yield back("one_pixel", (1, 1, 1, 1), (1, 1, 1, 1), dtypes=BOTH)
    yield back("from_one", (2, 3, 1, 1), (3, 2, 4, 4), dtypes=BOTH)
    yield back("stride_past_kernel", (1, 2, 3, 3), (2, 2, 2, 2), ", stride = [3, 4]", {"stride": (3, 4)})
    yield back("uneven_padding", (1, 2, 4, 3), (2, 3, 3, 3), ", stride = [2, 2], padding = [1, 0, 0, 2]",
               {"stride": 2}, cut=lambda y: y[:, :, 1:, :-2])
    yield back("depthwise", (1, 3, 3, 4), (3, 1, 3, 2), ", groups = 3, stride = [2, 1]", {"groups": 3,
                                                                                         "stride": (2, 1)}, BOTH)
    yield back("groups_everything", (2, 4, 3, 3), (4, 2, 2, 3),
               ", stride = [3, 2], padding = [1, 1, 1, 1], dilation = [2, 1], groups = 2, output_padding = [2, 1]",
               {"stride": (3, 2), "padding": 1, "dilation": (2, 1), "groups": 2, "output_padding": (2, 1)}, WIDE)
    yield back("one_axis_padding", (2, 3, 5), (3, 2, 4), ", stride = [2], padding = [1, 1], output_padding = [1]",
               {"stride": 2, "padding": 1, "output_padding": 1}, f=F.conv_transpose1d)
    yield back("three_axes_dilated", (1, 2, 2, 2, 3), (2, 1, 2, 2, 2), ", dilation = [2, 1, 2]",
               {"dilation": (2, 1, 2)}, f=F.conv_transpose3d)
    yield case("conv_then_back", "conv_transpose(conv(x, w, [2, 2]), w, [2, 2])",
               lambda x, w: F.conv_transpose2d(F.conv2d(x, w, stride=2), w, stride=2), "x w", x=grid(1, 2, 7, 5),
               w=grid(3, 2, 3, 3))


def pooling_edges():
    def maximum(name, x, options, torch_options, dtypes=F32, f=F.max_pool2d):
        return case("max_" + name, f"max_pool(x, {options})", lambda x: f(x, **torch_options), "x", dtypes,
                    x=distinct(*x))

    def average(name, x, options, torch_options, dtypes=F32, f=F.avg_pool2d):
        return case("average_" + name, f"average_pool(x, {options})", lambda x: f(x, **torch_options), "x", dtypes,
                    x=grid(*x))
    out = {"count_include_pad": False}
    for make in (maximum, average):
        more = out if make is average else {}
        yield make("window_of_one", (1, 2, 3, 3), "[1, 1], [2, 2]", {"kernel_size": 1, "stride": 2}, BOTH)
        yield make("stride_past_window", (2, 1, 7, 8), "[2, 2], [3, 4]", {"kernel_size": 2, "stride": (3, 4)})
        yield make("padding_uneven_axes", (1, 2, 5, 6), "[3, 4], [1, 2], [1, 2, 1, 2]",
                   {"kernel_size": (3, 4), "stride": (1, 2), "padding": (1, 2), **more}, BOTH)
        yield make("ceil_uneven", (1, 2, 7, 6), "[2, 3], [3, 2], ceil_mode = true",
                   {"kernel_size": (2, 3), "stride": (3, 2), "ceil_mode": True, **more})
        yield make("many_channels", (3, 9, 4, 4), "[2, 2], [2, 2]", {"kernel_size": 2, "stride": 2}, BOTH)
        yield make("overlapping", (2, 2, 6, 6), "[3, 3], [2, 2]", {"kernel_size": 3, "stride": 2}, WIDE)
    yield maximum("dilation_padding", (1, 2, 7, 7), "[2, 3], [2, 1], [1, 1, 1, 1], dilation = [2, 2]",
                  {"kernel_size": (2, 3), "stride": (2, 1), "padding": 1, "dilation": 2})
    yield maximum("dilation_ceil", (1, 1, 9, 8), "2, 3, dilation = 3, ceil_mode = true",
                  {"kernel_size": 2, "stride": 3, "dilation": 3, "ceil_mode": True})
    yield maximum("one_axis_padding", (2, 2, 6), "[4], [3], [2, 2]", {"kernel_size": 4, "stride": 3, "padding": 2},
                  f=F.max_pool1d)
    yield maximum("three_axes_padding", (1, 1, 3, 4, 4), "[2, 3, 2], [1, 2, 2], [1, 1, 0, 1, 1, 0]",
                  {"kernel_size": (2, 3, 2), "stride": (1, 2, 2), "padding": (1, 1, 0)}, f=F.max_pool3d)
    for name, size, options, torch_options in [
            ("plain", (1, 2, 5, 5), "[3, 3], [2, 2], [1, 1, 1, 1]", {"kernel_size": 3, "stride": 2, "padding": 1}),
            ("uneven", (2, 1, 5, 6), "[2, 4], [1, 3], [1, 2, 1, 2]",
             {"kernel_size": (2, 4), "stride": (1, 3), "padding": (1, 2)}),
            ("ceil", (1, 2, 6, 5), "[3, 2], [2, 2], [1, 1, 1, 1], ceil_mode = true",
             {"kernel_size": (3, 2), "stride": 2, "padding": 1, "ceil_mode": True})]:
        yield average("with_padding_" + name, size, options + ", count_include_pad = true",
                      {**torch_options, "count_include_pad": True}, BOTH if name == "plain" else F32)
    yield average("three_axes_padding", (1, 1, 3, 4, 4), "[2, 3, 2], [1, 2, 2], [1, 1, 0, 1, 1, 0]",
                  {"kernel_size": (2, 3, 2), "stride": (1, 2, 2), "padding": (1, 1, 0), **out}, f=F.avg_pool3d)
    yield case("global_average_one_axis", "global_average_pool(x)", lambda x: x.mean(2, keepdim=True), "x", BOTH,
               x=grid(2, 3, 5))
    yield case("global_max_three_axes", "global_max_pool(x)", lambda x: x.amax((2, 3, 4), keepdim=True), "x",
               x=distinct(1, 2, 2, 3, 2))
    yield case("pool_of_conv", "max_pool(relu(conv(x, w)), [2, 2], [2, 2])",
               lambda x, w: F.max_pool2d(torch.relu(F.conv2d(x, w)), 2), "x w", x=grid(1, 2, 6, 6), w=grid(3, 2, 3, 3))


def normalise_edges():
    for name, shape, axis in [("scalar_row", (1, 1), -1), ("negative", (2, 3, 4), -2), ("four", (2, 2, 3, 2), 1),
                              ("vector", (7,), 0), ("many_rows", (40, 3), -1)]:
        yield case(f"softmax_{name}", f"softmax(x, {axis})", lambda x, a=axis: x.softmax(a), "x",
                   BOTH + ["float64"], x=grid(*shape))
        yield case(f"log_softmax_{name}", f"log_softmax(x, {axis})", lambda x, a=axis: x.log_softmax(a), "x", WIDE,
                   x=grid(*shape))
    yield case("softmax_equal", "softmax(x, 1)", lambda x: x.softmax(1), "x", x=[[5.0] * 3, [-7.0] * 3])
    yield case("softmax_nothing", "softmax(x, -1)", lambda x: x.softmax(-1), "x", x=np.zeros((0, 4)))
    yield case("layer_norm_vector", "layer_norm(x, w, b)", lambda x, w, b: F.layer_norm(x, (6,), w, b), "x w b",
               x=grid(6), w=grid(6), b=grid(6))
    yield case("layer_norm_three", "layer_norm(x, w, b, eps = 1e-3)",
               lambda x, w, b: F.layer_norm(x, (5,), w, b, 1e-3), "x w b", BOTH + ["float64"], x=grid(2, 3, 5),
               w=grid(5), b=grid(5))
    yield case("layer_norm_of_one", "layer_norm(x, w, b)", lambda x, w, b: F.layer_norm(x, (1,), w, b), "x w b",
               x=grid(3, 1), w=grid(1), b=grid(1))
    yield case("layer_norm_offset", "layer_norm(x + 100.0, w, b)",
               lambda x, w, b: F.layer_norm(x, (16,), w, b), x=grid(2, 16), w=grid(16), b=grid(16))
    for name, shape, groups in [("each_channel", (2, 3, 4), 3), ("one_axis", (2, 4, 5), 2),
                                ("three_axes", (1, 4, 2, 2, 2), 2), ("single", (1, 2, 1, 3), 1)]:
        yield case(f"group_norm_{name}", f"group_norm(x, w, b, {groups})",
                   lambda x, w, b, g=groups: F.group_norm(x, g, w, b), "x w b", WIDE, x=grid(*shape), w=grid(shape[1]),
                   b=grid(shape[1]))
    for name, shape in [("rows", (5, 3)), ("one_axis", (2, 3, 4)), ("three_axes", (1, 2, 2, 3, 2))]:
        c = shape[1]
        yield case(f"batch_norm_{name}", "batch_norm_inference(x, w, b, m, v, epsilon = 0.01)",
                   lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b, eps=0.01), "x w b", BOTH, x=grid(*shape),
                   w=grid(c), b=grid(c), m=grid(c), v=positive(c))
    stats = "x w b m v"
    yield case("batch_norm_statistics", "batch_norm_inference(x, w, b, m, v)",
               lambda x, w, b, m, v: (x - m[:, None]) / (v[:, None] + 1e-5).sqrt() * w[:, None] + b[:, None], stats,
               x=grid(2, 3, 4), w=grid(3), b=grid(3), m=grid(3), v=positive(3))

    def trained(x, w, b, m, v, momentum=0.1, eps=1e-5):
        axes = [0, *range(2, x.dim())]
        count = x.numel() // x.shape[1]
        mean, var = x.mean(axes), x.var(axes, unbiased=False)
        y = F.batch_norm(x, None, None, w, b, True, eps=eps)
        return [y, m + (mean - m) * momentum, v + (var * count / (count - 1) - v) * momentum]
    yield case("batch_norm_training", "batch_norm(x, w, b, m, v, momentum = 0.9)[0]",
               lambda x, w, b, m, v: trained(x, w, b, m, v)[0], "x w b", BOTH + ["float64"], x=grid(4, 3, 2, 2),
               w=grid(3), b=grid(3), m=grid(3), v=positive(3))
    yield case("batch_norm_running", "batch_norm(x, w, b, m, v, epsilon = 0.001, momentum = 0.75)",
               lambda x, w, b, m, v: trained(x, w, b, m, v, 0.25, 1e-3), "", BOTH, x=grid(6, 3), w=grid(3), b=grid(3),
               m=grid(3), v=positive(3))
    yield case("batch_norm_training_rows", "batch_norm(x, w, b, m, v)[0]",
               lambda x, w, b, m, v: trained(x, w, b, m, v)[0], "x w b", x=grid(7, 2), w=grid(2), b=grid(2), m=grid(2),
               v=positive(2))


def loss_edges():
    probs = lambda *shape: lambda rng: (lambda e: e / e.sum(-1, keepdims=True))(positive(*shape)(rng))
    yield case("nll_one_sample", "nll_loss(p, l)", lambda p, l: -p[0, 2].log(), "p", BOTH, p=probs(1, 4), l=[2])
    yield case("nll_all_ignored", "nll_loss(p, l, ignore_index = 1)", lambda p, l: p.sum() * 0, "p", p=probs(3, 3),
               l=[1, 1, 1])
    yield case("nll_log_prob_sum", 'nll_loss(x, l, reduction = "sum", log_prob = true)',
               lambda x, l: F.nll_loss(x, l.long(), reduction="sum"), "x", BOTH, x=grid(3, 4), l=[3, 0, 3])
    yield case("nll_log_prob_ignore", "nll_loss(x, l, 3, log_prob = true)",
               lambda x, l: F.nll_loss(x, l.long(), ignore_index=3), "x", x=grid(3, 4), l=[3, 0, 3])
    yield case("nll_three_axes_none", 'nll_loss(p, l, reduction = "none")',
               lambda p, l: -p.log().gather(2, l.long()[..., None])[..., 0], "p", p=probs(2, 3, 4), l=ints(2, 3))
    yield case("nll_negative_ignore", "nll_loss(p, l, ignore_index = -1)",
               lambda p, l: F.nll_loss(p.log(), l.long(), ignore_index=-1), "p", p=probs(4, 3), l=[-1, 2, 0, -1])
    yield case("cross_entropy_three_axes", "cross_entropy(x, l)",
               lambda x, l: F.cross_entropy(x.reshape(-1, 4), l.long().reshape(-1)), "x", BOTH, x=grid(2, 3, 4),
               l=ints(2, 3))
    yield case("cross_entropy_ignore_sum", 'cross_entropy(x, l, 0, "sum")',
               lambda x, l: F.cross_entropy(x, l.long(), ignore_index=0, reduction="sum"), "x", x=grid(4, 3),
               l=[0, 2, 0, 1])
    yield case("cross_entropy_by_parts", "nll_loss(log_softmax(x, -1), l, log_prob = true)",
               lambda x, l: F.cross_entropy(x, l.long()), "x", BOTH, x=grid(4, 6), l=ints(4))

    def both(p, l, scale, ignore=None, reduction="mean"):
        hot = F.one_hot(l.clamp(min=0).long(), p.shape[-1]).double()
        kept = torch.ones_like(l, dtype=torch.float64) if ignore is None else (l != ignore).double()
        count = kept.sum() if reduction == "mean" else 1.0
        losses = -(p * hot).sum(-1).log() * kept
        loss = losses if reduction == "none" else losses.sum() / count
        return [loss, (p - hot) * kept[..., None] * scale / count]
    for name, options, f in [
            ("plain", "", lambda p, l: both(p, l, 1)),
            ("scaled", ", 16.0", lambda p, l: both(p, l, 16)),
            ("ignore", ", ignore_index = 2", lambda p, l: both(p, l, 1, 2)),
            ("sum", ', loss_grad = 0.5, reduction = "sum"', lambda p, l: both(p, l, 0.5, reduction="sum")),
            ("none", ', reduction = "none", ignore_index = 0', lambda p, l: both(p, l, 1, 0, "none"))]:
        yield case("softmax_grad_" + name, f"nll_loss_with_softmax_grad(p, l{options})", f, "", BOTH, p=probs(4, 3),
                   l=[2, 0, 1, 2])


def resample_edges():
    def image(name, scale, options, f, x=(1, 2, 4, 6), dtypes=F32):
        return case(name, f"interpolate(x, {scale}{options})", f, "x", dtypes, x=grid(*x))

    up = lambda **o: lambda x: F.interpolate(x, **o)
    yield image("nearest_thirds", "[1, 1, 3, 3]", ', nearest_mode = "floor", coordinate_transformation_mode = '
                '"asymmetric"', up(scale_factor=3, mode="nearest"), dtypes=BOTH)
    yield image("nearest_shrink", "[1, 1, 0.5, 0.5]", ', nearest_mode = "floor", coordinate_transformation_mode = '
                '"asymmetric"', up(scale_factor=0.5, mode="nearest"))
    yield image("nearest_exact_uneven", "[1, 1, 1.25, 2.5]", ', nearest_mode = "round_prefer_ceil"',
                up(scale_factor=(1.25, 2.5), mode="nearest-exact"))
    yield case("nearest_one_axis", 'interpolate(x, [1, 1, 1.5], nearest_mode = "floor", '
               'coordinate_transformation_mode = "asymmetric")', up(scale_factor=1.5, mode="nearest"), "x",
               x=grid(2, 2, 4))
    yield case("nearest_ceil", 'interpolate(x, [1, 1, 2], nearest_mode = "ceil", '
               'coordinate_transformation_mode = "asymmetric")', lambda x: x[..., [0, 1, 1, 2, 2, 2]], "x",
               x=grid(1, 2, 3))
    yield case("nearest_three_axes", 'interpolate(x, [1, 1, 2, 2, 1.5], nearest_mode = "floor", '
               'coordinate_transformation_mode = "asymmetric")', up(scale_factor=(2, 2, 1.5), mode="nearest"), "x",
               x=grid(1, 1, 2, 2, 4))
    yield image("linear_uneven", "[1, 1, 1.75, 2.5]", ', "linear"',
                up(scale_factor=(1.75, 2.5), mode="bilinear", align_corners=False), dtypes=BOTH + ["float64"])
    yield image("linear_from_one", "[1, 1, 3, 4]", ', "linear"',
                up(scale_factor=(3, 4), mode="bilinear", align_corners=False), x=(1, 2, 1, 1))
    yield image("linear_to_one", "[1, 1, 0.25, 0.17]", ', "linear"',
                lambda x: F.interpolate(x, scale_factor=(0.25, 0.17), mode="bilinear", align_corners=False))
    yield image("corners_to_one", "[1, 1, 0.25, 1]", ', "linear", coordinate_transformation_mode = "align_corners"',
                lambda x: x[:, :, :1])
    yield image("corners_shrink", "[1, 1, 0.5, 0.5]", ', "linear", coordinate_transformation_mode = "align_corners"',
                up(scale_factor=0.5, mode="bilinear", align_corners=True), x=(1, 2, 6, 8))
    yield image("cubic_uneven", "[1, 1, 1.5, 2.25]", ', "cubic"',
                up(scale_factor=(1.5, 2.25), mode="bicubic", align_corners=False))
    yield image("cubic_shrink", "[1, 1, 0.5, 0.75]", ', "cubic"',
                up(scale_factor=(0.5, 0.75), mode="bicubic", align_corners=False))
    yield image("cubic_corners_uneven", "[1, 1, 2.5, 1.5]",
                ', "cubic", coordinate_transformation_mode = "align_corners"',
                up(scale_factor=(2.5, 1.5), mode="bicubic", align_corners=True))
    yield image("channels_too", "[2, 2, 1, 1]", ', nearest_mode = "floor", coordinate_transformation_mode = '
                '"asymmetric"', lambda x: x.repeat_interleave(2, 0).repeat_interleave(2, 1), x=(1, 2, 2, 2))
    yield case("roi_of_one_pixel", "roi_align(x, r, n, [1, 1], 1.0, 1)", lambda x, r, n: x[:, :, 1:2, 2:3], "x",
               x=grid(1, 2, 4, 4), r=[[1.5, 0.5, 2.5, 1.5]], n=[0])


def updates_edges():
    two = dict(t=grid(2, 3), x=grid(2, 3))
    yield case("accumulate_broadcast_factor", "accumulate_(identity(t), x, -1.5)", lambda t, x: t - 1.5 * x,
               dtypes=BOTH, **two)
    yield case("accumulate_square_tensor", "accumulate_square_(identity(t), x, k)", lambda t, x, k: t + k * x * x,
               k=0.25, **two)
    yield case("accumulate_mean_tensor", "accumulate_mean_(identity(t), x, s)", lambda t, x, s: (4 * t + x) / 5, s=4.0,
               dtypes=BOTH, **two)
    yield case("moving_average_tensor", "accumulate_moving_average_(identity(t), x, k)",
               lambda t, x, k: k * t + (1 - k) * x, k=0.75, dtypes=BOTH, **two)
    yield case("moving_square_tensor", "accumulate_moving_average_square_(identity(t), x, k)",
               lambda t, x, k: k * t + (1 - k) * x * x, k=0.5, **two)
    yield case("scale_tensor", "accumulator_scale_(identity(t), k)", lambda t, k: t * k, t=grid(3), k=-0.5)
    yield case("mixed_precision", "accumulate_(identity(t), cast(x, float16), 0.5)", lambda t, x: t + 0.5 * x, **two)
    yield case("sparse_negative_axis", "sparse_accumulate_(identity(t), x, n, axis = -1)",
               lambda t, x, n: t.index_add(1, n.long(), x), t=grid(2, 4), x=grid(2, 3), n=[3, 3, 0], dtypes=BOTH)
    moments = dict(m=grid(2, 3), v=positive(2, 3))
    yield case("adam_everything",
               "adam_updater(m, v, w, identity(s), 0.5, 0.9, 0.99, 0.125)",
               lambda m, v, w, s: m / (1 - 0.9 ** 2) / ((v / (1 - 0.99 ** 2)).sqrt() + 0.125) + 0.5 * w, w=grid(2, 3),
               s=1.0, **moments)
    yield case("adam_tensors", "adam_updater(m, v, time_step = identity(s), beta1 = p, beta2 = q, epsilon = e)",
               lambda m, v, s, p, q, e: m / (1 - p ** 3) / ((v / (1 - q ** 3)).sqrt() + e), s=2.0, p=0.5, q=0.75,
               e=0.0625, **moments)
    yield case("adamax_decay", "adamax_updater(m, v, w, identity(s), weight_decay = 0.25, beta1 = 0.5)",
               lambda m, v, w, s: m / (1 - 0.5 ** 2) / (v + 1e-7) + 0.25 * w, w=grid(2, 3), s=1.0, **moments)
    yield case("lamb_bias", "lamb_updater(m, v, time_step = identity(s), beta1 = 0.9, beta2 = 0.5)",
               lambda m, v, s: m / (1 - 0.9) / ((v / 0.5).sqrt() + 1e-7), s=0.0, **moments)
    yield case("var_update_rate", "adam_var_update(identity(t), x, a, b, r)",
               lambda t, x, a, b, r: t - 0.5 * math.sqrt(2.25) / math.sqrt(4.0) * x, a=2.25, b=4.0, r=0.5, dtypes=BOTH,
               **two)
    yield case("scaled_add_rate", "scaled_add_(identity(t), x, b = -k)", lambda t, x, k: t - k * x, k=0.5, dtypes=BOTH,
               **two)


FAMILIES = {f.__name__: list(f()) for f in (convolution_edges, pooling_edges, normalise_edges, loss_edges,
                                            resample_edges, updates_edges)}
