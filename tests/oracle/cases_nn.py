"""Cases of convolutions, pools, normalisation, losses, resampling and updates of variables."""
import math

import torch
import torch.nn.functional as F

from cases import BOTH, F32, away, bools, case, distinct, grid, ints, positive  # noqa: F401


def convolution():
    def conv2(name, options, torch_options, x=(2, 4, 6, 5), w=(3, 4, 3, 3), dtypes=F32, pad=None):
        def f(x, w):
            if pad:
                x = F.pad(x, pad)
            return F.conv2d(x, w, **torch_options)
        return case(name, f"conv(x, w{options})", f, "x w", dtypes, x=grid(*x), w=grid(*w))

    yield conv2("plain", "", {}, dtypes=BOTH)
    yield conv2("padding", ", padding = [1, 1, 1, 1]", {"padding": 1})
    yield conv2("padding_uneven", ", (1, 1), (1, 0, 2, 1)", {}, pad=(0, 1, 1, 2))
    yield conv2("stride", ", [2, 2]", {"stride": 2})
    yield conv2("stride_uneven", ", stride = [2, 1], padding = [0, 1, 0, 1]", {"stride": (2, 1), "padding": (0, 1)})
    yield conv2("dilation", ", dilation = [2, 2], padding = [2, 2, 2, 2]", {"dilation": 2, "padding": 2})
    yield conv2("groups", ", groups = 2", {"groups": 2}, w=(6, 2, 3, 3), dtypes=BOTH)
    yield conv2("depthwise", ", groups = 4, padding = [1, 1, 1, 1]", {"groups": 4, "padding": 1}, w=(8, 1, 3, 3))
    yield conv2("one_by_one", "", {}, w=(5, 4, 1, 1))
    yield conv2("one_by_one_stride", ", stride = [2, 2]", {"stride": 2}, w=(5, 4, 1, 1))
    yield conv2("rectangle", "", {}, w=(2, 4, 5, 2))
    yield conv2("whole_image", "", {}, w=(2, 4, 6, 5))
    yield conv2("single_channel", ", padding = [1, 1, 1, 1]", {"padding": 1}, x=(1, 1, 8, 8), w=(4, 1, 3, 3))
    yield conv2("large_batch", "", {}, x=(9, 1, 4, 4), w=(2, 1, 3, 3))
    yield conv2("same_upper", ', pad_type = "same_upper"', {}, w=(2, 4, 2, 2), pad=(0, 1, 0, 1))
    yield conv2("same_lower", ', pad_type = "same_lower"', {}, w=(2, 4, 2, 2), pad=(1, 0, 1, 0))
    yield conv2("same_stride", ', stride = [2, 2], pad_type = "same_upper"', {"stride": 2}, w=(2, 4, 3, 3),
                pad=(1, 1, 0, 1))
    yield conv2("valid", ', pad_type = "valid", stride = 2', {"stride": 2})
    yield conv2("everything", ", stride = [2, 3], padding = [2, 1, 2, 1], dilation = [1, 2], groups = 2",
                {"stride": (2, 3), "padding": (2, 1), "dilation": (1, 2), "groups": 2}, w=(4, 2, 3, 2))
    yield conv2("no_samples", "", {}, x=(0, 4, 6, 5))
    yield case("one_axis", "conv(x, w, [2], [1, 1])", lambda x, w: F.conv1d(x, w, stride=2, padding=1), "x w",
               x=grid(2, 3, 9), w=grid(4, 3, 3))
    yield case("three_axes", "conv(x, w, [1, 2, 1], [1, 0, 1, 1, 0, 1], [1, 1, 2])",
               lambda x, w: F.conv3d(x, w, stride=(1, 2, 1), padding=(1, 0, 1), dilation=(1, 1, 2)), "x w",
               x=grid(1, 2, 4, 5, 5), w=grid(3, 2, 3, 2, 2))
    yield case("bias", "conv(x, w) + b", lambda x, w, b: F.conv2d(x, w) + b, "x w b", x=grid(2, 2, 4, 4),
               w=grid(3, 2, 3, 3), b=grid(1, 3, 1, 1))
    def biased(name, f, x, w, channels, options="", torch_options=None, back=False):
        op = "conv_transpose" if back else "conv"
        return case(f"biased_{name}", f"{op}(x, w{options}, bias = b)",
                    lambda x, w, b: f(x, w, b, **(torch_options or {})), "x w b", BOTH, x=grid(*x), w=grid(*w),
                    b=grid(channels))
    yield biased("plain", F.conv2d, (2, 2, 4, 4), (3, 2, 3, 3), 3)
    yield biased("groups", F.conv2d, (2, 4, 6, 5), (6, 2, 3, 3), 6, ", groups = 2", {"groups": 2})
    yield biased("depthwise", F.conv2d, (2, 4, 6, 5), (8, 1, 3, 3), 8, ", groups = 4, padding = [1, 1, 1, 1]",
                 {"groups": 4, "padding": 1})
    yield biased("one_by_one", F.conv2d, (2, 4, 6, 5), (5, 4, 1, 1), 5)
    yield biased("one_axis", F.conv1d, (2, 3, 7), (4, 3, 2), 4, ", stride = [2]", {"stride": 2})
    yield biased("three_axes", F.conv3d, (1, 2, 3, 4, 3), (2, 2, 2, 2, 2), 2)
    yield biased("transpose", F.conv_transpose2d, (2, 3, 3, 4), (3, 4, 3, 2), 4, ", stride = [2, 2]", {"stride": 2},
                 back=True)
    yield biased("transpose_groups", F.conv_transpose2d, (2, 4, 3, 3), (4, 3, 2, 2), 6, ", groups = 2", {"groups": 2},
                 back=True)
    yield case("transpose", "conv_transpose(x, w)", F.conv_transpose2d, "x w", BOTH, x=grid(2, 3, 3, 4),
               w=grid(3, 2, 3, 3))
    yield case("transpose_stride", "conv_transpose(x, w, [2, 2], [1, 1, 1, 1])",
               lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1), "x w", x=grid(2, 3, 3, 4),
               w=grid(3, 2, 3, 3))
    yield case("transpose_output_padding",
               "conv_transpose(x, w, stride = [2, 3], padding = [1, 0, 1, 0], output_padding = [1, 2])",
               lambda x, w: F.conv_transpose2d(x, w, stride=(2, 3), padding=(1, 0), output_padding=(1, 2)), "x w",
               x=grid(1, 2, 3, 3), w=grid(2, 2, 3, 2))
    yield case("transpose_dilated_padding", "conv_transpose(x, w, dilation = [2, 2], output_padding = [1, 1])",
               lambda x, w: F.conv_transpose2d(x, w, dilation=2, output_padding=1), "x w", x=grid(1, 2, 3, 3),
               w=grid(2, 2, 2, 2))
    yield case("transpose_groups", "conv_transpose(x, w, groups = 2, dilation = [2, 1])",
               lambda x, w: F.conv_transpose2d(x, w, groups=2, dilation=(2, 1)), "x w", x=grid(2, 4, 3, 3),
               w=grid(4, 3, 2, 2))
    yield case("transpose_output_shape", "conv_transpose(x, w, stride = [2, 2], output_shape = [6, 6])",
               lambda x, w: F.conv_transpose2d(x, w, stride=2)[:, :, 1:, 1:], "x w", x=grid(1, 2, 3, 3),
               w=grid(2, 2, 3, 3))
    yield case("transpose_one_axis", "conv_transpose(x, w, 3)", lambda x, w: F.conv_transpose1d(x, w, stride=3), "x w",
               x=grid(2, 3, 4), w=grid(3, 2, 2))
    yield case("transpose_three_axes", "conv_transpose(x, w, [1, 2, 2])",
               lambda x, w: F.conv_transpose3d(x, w, stride=(1, 2, 2)), "x w", x=grid(1, 2, 2, 3, 2),
               w=grid(2, 2, 2, 2, 2))


def pooling():
    def maximum(name, options, torch_options, x=(2, 3, 6, 7), dtypes=F32, f=F.max_pool2d):
        return case(name, f"max_pool(x, {options})", lambda x: f(x, **torch_options), "x", dtypes, x=distinct(*x))

    def average(name, options, torch_options, x=(2, 3, 6, 7), dtypes=F32, f=F.avg_pool2d):
        return case("average_" + name, f"average_pool(x, {options})",
                    lambda x: f(x, count_include_pad=False, **torch_options), "x", dtypes, x=grid(*x))

    for make in (maximum, average):
        yield make("default_stride", "[2, 2]", {"kernel_size": 2, "stride": 1}, dtypes=BOTH)
        yield make("stride", "[2, 2], [2, 2]", {"kernel_size": 2}, dtypes=BOTH)
        yield make("uneven", "[3, 2], stride = [1, 2]", {"kernel_size": (3, 2), "stride": (1, 2)})
        yield make("padding", "(3, 3), (2, 2), (1, 1, 1, 1)", {"kernel_size": 3, "stride": 2, "padding": 1})
        yield make("ceil", "3, stride = 2, ceil_mode = true", {"kernel_size": 3, "stride": 2, "ceil_mode": True},
                   x=(1, 2, 6, 8))
        yield make("ceil_padding", "[2, 3], stride = [3, 2], padding = [1, 1, 1, 1], ceil_mode = true",
                   {"kernel_size": (2, 3), "stride": (3, 2), "padding": 1, "ceil_mode": True}, x=(1, 2, 7, 8))
        yield make("ceil_last_in_padding", "2, stride = 2, padding = [1, 1, 1, 1], ceil_mode = true",
                   {"kernel_size": 2, "stride": 2, "padding": 1, "ceil_mode": True}, x=(1, 1, 5, 4))
        yield make("whole", "[6, 7]", {"kernel_size": (6, 7)})
    yield maximum("dilation", "[2, 3], dilation = [2, 1]", {"kernel_size": (2, 3), "stride": 1, "dilation": (2, 1)})
    yield maximum("same", '[2, 2], auto_pad = "same_upper"', {"kernel_size": 2, "stride": 1}, x=(1, 2, 4, 4),
                  f=lambda x, **o: F.max_pool2d(F.pad(x, (0, 1, 0, 1), value=-1e9), **o))
    yield maximum("valid", '[2, 2], [2, 2], auto_pad = "valid"', {"kernel_size": 2}, x=(1, 2, 5, 5))
    yield maximum("one_axis", "3, 2", {"kernel_size": 3, "stride": 2}, x=(2, 3, 8), f=F.max_pool1d)
    yield maximum("three_axes", "[2, 1, 2], [2, 2, 1]", {"kernel_size": (2, 1, 2), "stride": (2, 2, 1)},
                  x=(1, 2, 4, 4, 3), f=F.max_pool3d)
    yield average("one_axis", "3, 2", {"kernel_size": 3, "stride": 2}, x=(2, 3, 8),
                  f=lambda x, **o: F.avg_pool1d(x, **o))
    yield average("three_axes", "[2, 1, 2], [2, 2, 1]", {"kernel_size": (2, 1, 2), "stride": (2, 2, 1)},
                  x=(1, 2, 4, 4, 3), f=F.avg_pool3d)
    yield case("max_negative", "max_pool(x, 2, padding = 1)", lambda x: F.max_pool2d(x, 2, 1, 1), "x",
               x=lambda rng: distinct(1, 1, 3, 3)(rng) - 9)
    yield case("max_ties", "max_pool(x, 2, 2)", lambda x: F.max_pool2d(x, 2), "x",
               x=[[[[1.0, 1.0, 2.0, 2.0], [1.0, 0.5, 2.0, 2.0]]]])
    yield case("global_max", "global_max_pool(x)", lambda x: x.amax((2, 3), keepdim=True), "x", x=distinct(2, 2, 3, 3))
    yield case("global_average", "global_average_pool(x)", lambda x: x.mean((2, 3), keepdim=True), "x",
               x=grid(2, 2, 3, 3))


def normalise():
    for axis in (-1, 0, 1):
        name = f"axis_{axis}".replace("-", "last_")
        yield case("softmax_" + name, f"softmax(x, {axis})", lambda x, a=axis: x.softmax(a), "x", BOTH, x=grid(2, 5, 3))
        yield case("log_softmax_" + name, f"log_softmax(x, axis = {axis})", lambda x, a=axis: x.log_softmax(a), "x",
                   BOTH, x=grid(2, 5, 3))
    yield case("softmax_wide", "softmax(x, -1)", lambda x: x.softmax(-1), "x", x=[[1000.0, 999.0, 0.0], [-1e4, 0.0, 1.0]])
    yield case("softmax_long", "softmax(x, axis = 1)", lambda x: x.softmax(1), "x", x=grid(3, 100))
    yield case("layer_norm", "layer_norm(x, w, b)", lambda x, w, b: F.layer_norm(x, (8,), w, b), "x w b", BOTH,
               x=grid(4, 8), w=grid(8), b=grid(8))
    yield case("layer_norm_eps", "layer_norm(x, w, b, eps = 0.25)", lambda x, w, b: F.layer_norm(x, (5,), w, b, 0.25),
               "x w b", x=grid(2, 3, 5), w=grid(5), b=grid(5))
    for groups in (1, 2, 4):
        yield case(f"group_norm_{groups}", f"group_norm(x, w, b, {groups})",
                   lambda x, w, b, g=groups: F.group_norm(x, g, w, b), "x w b", BOTH if groups == 2 else F32,
                   x=grid(2, 4, 3, 3), w=grid(4), b=grid(4))
    yield case("group_norm_rows", "group_norm(x, w, b, num_groups = 3, eps = 0.001)",
               lambda x, w, b: F.group_norm(x, 3, w, b, 1e-3), "x w b", x=grid(4, 6), w=grid(6), b=grid(6))
    yield case("batch_norm_inference", "batch_norm_inference(x, w, b, m, v)",
               lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b), "x w b", BOTH, x=grid(2, 3, 2, 2), w=grid(3),
               b=grid(3), m=grid(3), v=positive(3))
    yield case("batch_norm_epsilon", "batch_norm_inference(x, w, b, m, v, 0.5)",
               lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b, eps=0.5), x=grid(4, 3), w=grid(3), b=grid(3),
               m=grid(3), v=positive(3))


def attention():
    def attend(q, k, v, count=None, causal=False, scale=None):
        """Consecutive heads of queries share a head of keys."""
        if q.dim() > 2 and q.shape[-3] != k.shape[-3]:
            k, v = (x.repeat_interleave(q.shape[-3] // k.shape[-3], dim=-3) for x in (k, v))
        count = k.shape[-2] if count is None else int(count)
        end = torch.full((q.shape[-2], 1), count) if not causal else torch.arange(q.shape[-2])[:, None] + count - q.shape[-2] + 1
        scores = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
        scores = scores.masked_fill(torch.arange(k.shape[-2]) >= end, -math.inf)
        return torch.softmax(scores, -1) @ v

    def op(name, options, f, q=(2, 3, 4), k=(2, 5, 4), v=(2, 5, 3), dtypes=BOTH):
        return case(name, f"dot_product_attention(q, k, v{options})", f, "q k v", dtypes, q=grid(*q), k=grid(*k), v=grid(*v))

    yield op("attention", "", lambda q, k, v: attend(q, k, v))
    yield op("attention_matrices", "", lambda q, k, v: attend(q, k, v), (3, 4), (5, 4), (5, 3))
    yield op("attention_causal", ", is_causal = true", lambda q, k, v: attend(q, k, v, causal=True))
    yield op("attention_scaled", ", scale = 0.25", lambda q, k, v: attend(q, k, v, scale=0.25))
    yield op("attention_counted", ", array([4], int32)", lambda q, k, v: attend(q, k, v, 4))
    yield op("attention_decoding", ", array([4], int32), is_causal = true", lambda q, k, v: attend(q, k, v, 4, True))
    yield op("attention_shared", ", is_causal = true", lambda q, k, v: attend(q, k, v, causal=True), (2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 3))
    yield op("attention_blocks", ", array([133], int32), is_causal = true", lambda q, k, v: attend(q, k, v, 133, True),
             (2, 66, 4), (1, 140, 4), (1, 140, 2), F32)


def loss():
    probs = lambda *shape: lambda rng: (lambda e: e / e.sum(-1, keepdims=True))(positive(*shape)(rng))
    labels = lambda *shape: ints(*shape, low=0, high=5)
    for reduction in ("mean", "sum", "none"):
        yield case(f"nll_{reduction}", f'nll_loss(p, l, reduction = "{reduction}")',
                   lambda p, l, r=reduction: F.nll_loss(p.log(), l.long(), reduction=r), "p", BOTH, p=probs(4, 5),
                   l=labels(4))
        yield case(f"nll_ignore_{reduction}", f'nll_loss(p, l, 2, "{reduction}")',
                   lambda p, l, r=reduction: F.nll_loss(p.log(), l.long(), ignore_index=2, reduction=r), "p",
                   p=probs(5, 5), l=[1, 2, 0, 2, 4])
        yield case(f"cross_entropy_{reduction}", f'cross_entropy(x, l, reduction = "{reduction}")',
                   lambda x, l, r=reduction: F.cross_entropy(x, l.long(), reduction=r), "x", BOTH, x=grid(4, 5),
                   l=labels(4))
    yield case("nll_log_prob", "nll_loss(x, l, log_prob = true)", lambda x, l: F.nll_loss(x, l.long()), "x",
               x=grid(4, 5), l=labels(4))
    yield case("nll_three_axes", "nll_loss(p, l)", lambda p, l: F.nll_loss(p.log().reshape(-1, 5), l.long().reshape(-1)),
               "p", p=probs(2, 3, 5), l=labels(2, 3))
    yield case("cross_entropy_ignore", "cross_entropy(x, l, 3)",
               lambda x, l: F.cross_entropy(x, l.long(), ignore_index=3), "x", x=grid(5, 5), l=[1, 3, 0, 3, 4])

    def with_grad(x, l, scale, ignore=-100, reduction="mean"):
        x = x.detach().requires_grad_()
        value = F.cross_entropy(x, l.long(), ignore_index=ignore, reduction=reduction)
        return [value, torch.autograd.grad(value.sum() * scale, x)[0]]
    yield case("with_grad", "cross_entropy_with_grad(x, l)", lambda x, l: with_grad(x, l, 1), dtypes=BOTH, x=grid(4, 5),
               l=labels(4))
    yield case("with_grad_scaled", "cross_entropy_with_grad(x, l, 64)", lambda x, l: with_grad(x, l, 64),
               x=grid(8, 100), l=ints(8, high=100))
    yield case("with_grad_ignore", "cross_entropy_with_grad(x, l, ignore_index = 1)",
               lambda x, l: with_grad(x, l, 1, 1), x=grid(4, 5), l=[1, 0, 1, 4])
    yield case("with_grad_sum", 'cross_entropy_with_grad(x, l, reduction = "sum")',
               lambda x, l: with_grad(x, l, 1, reduction="sum"), x=grid(4, 5), l=labels(4))
    yield case("with_grad_none", 'cross_entropy_with_grad(x, l, loss_scaling = 2.0, reduction = "none")',
               lambda x, l: with_grad(x, l, 2, reduction="none"), x=grid(4, 5), l=labels(4))


def resample():
    def image(name, options, f, scale="[1, 1, 2, 1.5]", x=(1, 2, 4, 6), dtypes=F32):
        return case(name, f"interpolate(x, {scale}{options})", f, "x", dtypes, x=grid(*x))

    half = lambda mode, **o: lambda x: F.interpolate(x, scale_factor=(2, 1.5), mode=mode, **o)
    yield image("nearest_floor", ', nearest_mode = "floor", coordinate_transformation_mode = "asymmetric"',
                half("nearest"), dtypes=BOTH)
    yield image("nearest_exact", ', "nearest", "round_prefer_ceil"', half("nearest-exact"))
    yield image("nearest_default", "", half("nearest-exact"), scale="[1, 1, 2, 3]",
                x=(1, 2, 3, 2)) | {"torch": lambda x: F.interpolate(x, scale_factor=(2, 3), mode="nearest-exact")}
    yield image("linear", ', "linear"', half("bilinear", align_corners=False), dtypes=BOTH)
    yield image("linear_pytorch", ', "linear", coordinate_transformation_mode = "pytorch_half_pixel"',
                half("bilinear", align_corners=False))
    yield image("linear_corners", ', mode = "linear", coordinate_transformation_mode = "align_corners"',
                half("bilinear", align_corners=True))
    yield image("linear_crop", ', mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"',
                half("bilinear", align_corners=True))
    yield image("cubic", ', mode = "cubic"', half("bicubic", align_corners=False), dtypes=BOTH)
    yield image("cubic_corners", ', mode = "cubic", coordinate_transformation_mode = "align_corners"',
                half("bicubic", align_corners=True))
    yield image("linear_smaller", ', "linear"',
                lambda x: F.interpolate(x, scale_factor=(0.5, 0.75), mode="bilinear", align_corners=False),
                scale="[1, 1, 0.5, 0.75]")
    yield case("linear_one_axis", 'interpolate(x, [1, 1, 2.5], "linear")',
               lambda x: F.interpolate(x, scale_factor=2.5, mode="linear", align_corners=False), "x", x=grid(2, 3, 5))
    yield case("linear_three_axes", 'interpolate(x, [1, 1, 2, 1, 2], "linear")',
               lambda x: F.interpolate(x, scale_factor=(2, 1, 2), mode="trilinear", align_corners=False), "x",
               x=grid(1, 2, 3, 2, 3))
    yield case("asymmetric_linear", 'interpolate(x, [1, 1, 2], "linear", coordinate_transformation_mode = "asymmetric")',
               lambda x: torch.stack([x, torch.cat([(x[..., 1:] + x[..., :-1]) / 2, x[..., -1:]], -1)],
                                     -1).reshape(1, 2, 8), "x", x=grid(1, 2, 4))
    yield case("unchanged", "interpolate(x)", lambda x: x.clone(), "x", x=grid(1, 2, 3, 4))

    def roi_align(x, rois, images, size, scale, sampling):
        """The average over a grid of samples, each bilinear, written out."""
        height, width = x.shape[2:]

        def sample(image, y, xx):
            if y < -1 or y > height or xx < -1 or xx > width:
                return image[:, 0, 0] * 0
            y, xx = max(y, 0.0), max(xx, 0.0)
            y0, x0 = min(int(y), height - 1), min(int(xx), width - 1)
            y, xx = min(y, height - 1.0), min(xx, width - 1.0)
            y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
            ly, lx = y - y0, xx - x0
            return ((1 - ly) * (1 - lx) * image[:, y0, x0] + (1 - ly) * lx * image[:, y0, x1] +
                    ly * (1 - lx) * image[:, y1, x0] + ly * lx * image[:, y1, x1])
        out = []
        for (x1, y1, x2, y2), n in zip((rois * scale).tolist(), images.tolist()):
            h, w = max(y2 - y1, 1.0) / size[0], max(x2 - x1, 1.0) / size[1]
            rows, columns = (sampling or math.ceil(h)), (sampling or math.ceil(w))
            cells = [[sum(sample(x[n], y1 + (i + (a + 0.5) / rows) * h, x1 + (j + (b + 0.5) / columns) * w)
                          for a in range(rows) for b in range(columns)) / (rows * columns)
                      for j in range(size[1])] for i in range(size[0])]
            out.append(torch.stack([torch.stack(row, -1) for row in cells], -2))
        return torch.stack(out)
    for name, size, scale, sampling in [("plain", (2, 2), 1.0, 2), ("scaled", (2, 3), 0.5, 1), ("adaptive", (2, 2), 1.0, 0)]:
        yield case(f"roi_align_{name}", f"roi_align(x, r, n, {list(size)}, {scale}, {sampling})",
                   lambda x, r, n, s=size, c=scale, q=sampling: roi_align(x, r, n, s, c, q), "x",
                   BOTH if name == "plain" else F32, x=grid(2, 2, 6, 7),
                   r=[[0.5, 1.0, 4.25, 5.0], [2.0, 0.25, 9.5, 7.75], [-3.0, -2.5, 2.0, 3.0], [1.0, 1.0, 1.25, 1.25]],
                   n=[0, 1, 1, 0])


def updates():
    two = dict(t=grid(2, 3), x=grid(2, 3))
    yield case("accumulate", "accumulate_(identity(t), x)", lambda t, x: t + x, dtypes=BOTH, **two)
    yield case("accumulate_factor", "accumulate_(identity(t), x, 0.25)", lambda t, x: t + 0.25 * x, **two)
    yield case("accumulate_tensor", "accumulate_(identity(t), x, k)", lambda t, x, k: t + k * x, k=0.75, **two)
    yield case("accumulate_square", "accumulate_square_(identity(t), x)", lambda t, x: t + x * x, **two)
    yield case("accumulate_square_factor", "accumulate_square_(identity(t), x, f = 0.5)", lambda t, x: t + 0.5 * x * x,
               **two)
    yield case("accumulate_mean", "accumulate_mean_(identity(t), x, 3.0)", lambda t, x: t * 3 / 4 + x / 4, **two)
    yield case("accumulate_mean_first", "accumulate_mean_(identity(t), x, s)", lambda t, x, s: x.clone(), s=0.0, **two)
    yield case("moving_average", "accumulate_moving_average_(identity(t), x, 0.9)", lambda t, x: 0.9 * t + 0.1 * x,
               dtypes=BOTH, **two)
    yield case("moving_average_square", "accumulate_moving_average_square_(identity(t), x, 0.99)",
               lambda t, x: 0.99 * t + 0.01 * x * x, **two)
    yield case("scale", "accumulator_scale_(identity(t), 0.5)", lambda t: 0.5 * t, t=grid(3))
    yield case("zero", "accumulator_zero_(identity(t))", lambda t: 0 * t, t=grid(3))
    yield case("copy", "copy_var_update_(identity(t), x)", lambda t, x: x.clone(), **two)
    yield case("sparse", "sparse_accumulate_(identity(t), x, n)", lambda t, x, n: t.index_add(0, n.long(), x),
               t=grid(4, 3), x=grid(3, 3), n=[1, 3, 1])
    yield case("sparse_factor", "sparse_accumulate_(identity(t), x, n, axis = 1, f = 0.5)",
               lambda t, x, n: t.index_add(1, n.long(), 0.5 * x), t=grid(2, 4), x=grid(2, 2), n=[1, 0])
    moments = dict(m=grid(2, 3), v=positive(2, 3))
    yield case("adam", "adam_updater(m, v)", lambda m, v: m / (v.sqrt() + 1e-7), **moments)
    yield case("adam_bias", "adam_updater(m, v, time_step = identity(s), beta1 = 0.9, beta2 = 0.99, epsilon = 0.001)",
               lambda m, v, s: m / (1 - 0.9 ** 3) / ((v / (1 - 0.99 ** 3)).sqrt() + 1e-3), s=2.0, **moments)
    yield case("adam_decay", "adam_updater(m, v, w, weight_decay = 0.1)",
               lambda m, v, w: m / (v.sqrt() + 1e-7) + 0.1 * w, w=grid(2, 3), **moments)
    yield case("lamb", "lamb_updater(m, v, w, weight_decay = 0.1)", lambda m, v, w: m / (v.sqrt() + 1e-7) + 0.1 * w,
               w=grid(2, 3), **moments)
    yield case("adamax", "adamax_updater(m, v, time_step = identity(s), beta1 = 0.9)",
               lambda m, v, s: m / (1 - 0.9 ** 1) / (v + 1e-7), s=0.0, **moments)
    yield case("var_update", "adam_var_update(identity(t), x, a, b, 0.1)",
               lambda t, x, a, b: t - 0.1 * math.sqrt(4.0) / math.sqrt(0.25) * x, a=4.0, b=0.25, **two)
    yield case("var_update_limit", "adam_var_update(identity(t), x, a, b, learning_rate = 0.1, max_weight_norm = 1.0)",
               lambda t, x, a, b: t - 0.1 * 1.0 / math.sqrt(0.25) * x, a=4.0, b=0.25, **two)
    yield case("var_update_zero", "adam_var_update(identity(t), x, a, b)", lambda t, x, a, b: t - x, a=0.0, b=0.25,
               **two)


def addons():
    def rotary(x, s, c):
        turned = x[..., :4]
        even, odd = turned[..., 0::2], turned[..., 1::2]
        s, c = s[None, :, None, :], c[None, :, None, :]
        pairs = torch.stack([even * c - odd * s, odd * c + even * s], -1).reshape(turned.shape)
        return torch.cat([pairs, x[..., 4:]], -1)
    yield case("rotary", "rotary_pos_embed(x, s, c, 4)", rotary, "x", BOTH, x=grid(2, 3, 2, 6), s=grid(3, 2),
               c=grid(3, 2))
    yield case("rotary_whole", "rotary_pos_embed(x, s, c, 4)", rotary, "x", x=grid(1, 2, 2, 4), s=grid(2, 2),
               c=grid(2, 2))
    yield case("grad_reduce_square_add", "grad_reduce_square_add(x, 4.0)", lambda x: ((x / 4) ** 2).sum(), dtypes=BOTH,
               x=grid(3, 4))
    def decompressed(t, s, b, dtype, groups):
        values = torch.stack([(t.long() >> shift) & 15 for shift in range(0, dtype, 4)], -1).double()
        return (values.reshape(2, groups, -1) * s[..., None] + b[..., None]).reshape(2, -1)
    for dtype, groups in [("uint8", 3), ("uint16", 2), ("uint32", 1)]:
        bits = int(dtype[4:])
        yield case(f"group_quantize_{dtype}", f"group_quantize_decompress(cast(t, {dtype}), s, b)",
                   lambda t, s, b, n=bits, g=groups: decompressed(t, s, b, n, g), "s b", BOTH,
                   t=ints(2, 3, high=1 << min(bits, 31)) if groups != 2 else ints(2, 4, high=1 << 16),
                   s=grid(2, groups), b=grid(2, groups))
    yield case("group_quantize_first", "group_quantize_decompress(cast(t, uint8), s, b, dim = 0)",
               lambda t, s, b: torch.stack([(t.long() >> k) & 15 for k in (0, 4)], 1).reshape(4, 3).double()
               * s.repeat_interleave(2, 0) + b.repeat_interleave(2, 0), "s b", t=ints(2, 3, high=256), s=grid(2, 3),
               b=grid(2, 3))
    yield case("linear_layout", "linear_layout(x)", lambda x: x.clone(), "x", x=grid(3))


FAMILIES = {f.__name__: list(f()) for f in (convolution, pooling, normalise, attention, loss, resample, updates, addons)}
