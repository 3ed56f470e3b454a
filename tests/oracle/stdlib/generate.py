#!/usr/bin/env python3
"""What PyTorch gives for the standard library's layers, losses, optimisers and metrics, as programs of arrays.

Writes tests/lang/stdlib/helpers/{layers,recurrent,losses,optimisers,metrics}.pxl, which the tests beside them import. The tests need no
PyTorch; run this (python3-torch, python3-numpy) after adding a case. Weights of dense layers are transposed: ours are [in, out].
"""
import pathlib

import numpy
import torch
from torch import nn
from torch.nn import functional as F

OUT = pathlib.Path(__file__).resolve().parents[2] / "lang/stdlib/helpers"


def literal(value, indent=0):
    """A value as pxl source."""
    if isinstance(value, torch.Tensor):
        value = value.detach().numpy()
    if isinstance(value, numpy.ndarray):
        def nested(a):
            if a.ndim:
                return "[" + ", ".join(nested(x) for x in a) + "]"
            if a.dtype.kind == "b":
                return str(bool(a)).lower()
            return str(int(a)) if a.dtype.kind in "iu" else str(numpy.float32(a))
        dtype = "bool" if value.dtype.kind == "b" else "int32" if value.dtype.kind in "iu" else "float32"
        return f"array({nested(value)}, {dtype})"
    if isinstance(value, dict):
        pad = " " * (indent + 2)
        return "{" + ",".join(f"\n{pad}{literal(k)}: {literal(v, indent + 2)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(v, indent + 2) for v in value) + "]"
    if isinstance(value, str):
        return f'"{value}"'
    return repr(value)


def write(name, cases):
    text = f"# Written by tests/oracle/stdlib/generate.py with PyTorch {torch.__version__}.\n"
    for key, case in cases.items():
        text += f"{key} = {literal(case)}\n"
    (OUT / f"{name}.pxl").write_text(text)


def randomise(module):
    """Weights that are neither 0 nor 1, so that none is forgotten unseen."""
    for p in module.parameters():
        nn.init.normal_(p, 0, 0.5)
    for name, b in module.named_buffers():
        if b.is_floating_point():
            nn.init.uniform_(b, 0.5, 1.5)
    return module


def transposed(name):
    return name.endswith("weight") and ("linear" in name or "proj" in name)


def case(module, inputs, names=None, call=None, dense=transposed):
    """A run of a module: its inputs, weights, the output, and the gradients for a random gradient of the output."""
    leaves = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    y = (call or module)(*leaves)
    dy = torch.randn_like(y)
    y.backward(dy)
    turn = lambda n, t: t.t() if dense(n) and t.dim() == 2 else t
    rename = names or (lambda n: n)
    weights = {rename(n): turn(n, p) for n, p in module.named_parameters()}
    weights.update({rename(n): b for n, b in module.named_buffers() if b.is_floating_point()})
    grads = {rename(n): turn(n, p.grad) for n, p in module.named_parameters() if p.grad is not None}
    grads.update({f"input{i}": x.grad for i, x in enumerate(leaves) if x.is_floating_point()})
    return {"inputs": inputs, "weights": weights, "dy": dy, "output": y, "grads": grads}


def rotary(x, interleaved):
    """R(position) x by complex numbers."""
    t, d = x.shape[-2:]
    angles = torch.outer(torch.arange(t, dtype=torch.float64), 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d))
    turn = torch.polar(torch.ones_like(angles), angles).to(torch.complex64)
    if interleaved:
        return torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], d // 2, 2)) * turn).reshape(x.shape)
    a, b = x.chunk(2, -1)
    y = torch.complex(a, b) * turn
    return torch.cat([y.real, y.imag], -1)


def layers():
    torch.manual_seed(1)
    cases = {}
    cases["linear"] = case(randomise(nn.Linear(3, 4)), [torch.randn(2, 3)], dense=lambda n: n == "weight")
    cases["linear_no_bias"] = case(randomise(nn.Linear(3, 2, bias=False)), [torch.randn(2, 2, 3)], dense=lambda n: True)
    conv = dict(dense=lambda n: False)
    cases["conv1d"] = case(randomise(nn.Conv1d(2, 2, 3, stride=2, padding=1)), [torch.randn(2, 2, 6)], **conv)
    cases["conv1d_plain"] = case(randomise(nn.Conv1d(2, 4, 2, dilation=2, groups=2, bias=False)), [torch.randn(1, 2, 5)], **conv)
    cases["conv2d"] = case(randomise(nn.Conv2d(2, 2, 3, padding=1)), [torch.randn(1, 2, 3, 4)], **conv)
    cases["conv2d_all"] = case(randomise(nn.Conv2d(2, 2, (2, 3), stride=(1, 2), padding=(1, 2), dilation=(2, 1), groups=2)),
                               [torch.randn(1, 2, 4, 4)], **conv)
    cases["max_pool"] = case(nn.MaxPool2d(2), [torch.randn(1, 2, 4, 5)])
    cases["max_pool_all"] = case(nn.MaxPool2d(3, stride=(2, 1), padding=1), [torch.randn(1, 1, 4, 4)])
    cases["average_pool"] = case(nn.AvgPool2d(2), [torch.randn(1, 2, 4, 4)])
    cases["average_pool_all"] = case(nn.AvgPool2d(3, stride=(2, 1), padding=1, count_include_pad=False), [torch.randn(1, 1, 4, 4)])
    cases["embedding"] = case(randomise(nn.Embedding(5, 3)), [torch.tensor([[1, 4], [1, 0]])])
    cases["layer_norm"] = case(randomise(nn.LayerNorm(5)), [torch.randn(2, 3, 5)])
    cases["group_norm"] = case(randomise(nn.GroupNorm(2, 4)), [torch.randn(2, 4, 3)])
    cases["batch_norm"] = case(randomise(nn.BatchNorm1d(3)).eval(), [torch.randn(2, 3, 2)])
    cases["rotary_halves"] = case(nn.Module(), [torch.randn(2, 3, 4)], call=lambda x: rotary(x, False))
    cases["rotary_pairs"] = case(nn.Module(), [torch.randn(2, 3, 4)], call=lambda x: rotary(x, True))

    attention = lambda **more: randomise(nn.MultiheadAttention(4, 2, batch_first=True, **more))
    m = attention()
    cases["attention"] = case(m, [torch.randn(2, 3, 4)], call=lambda x: m(x, x, x)[0])
    c = attention()
    causal = torch.triu(torch.full((3, 3), float("-inf")), 1)
    cases["attention_causal"] = case(c, [torch.randn(1, 3, 4)], call=lambda x: c(x, x, x, attn_mask=causal)[0])
    b = attention(bias=False)
    cases["attention_no_bias"] = case(b, [torch.randn(3, 4)], call=lambda x: b(x, x, x)[0])
    x = attention()
    cases["attention_cross"] = case(x, [torch.randn(2, 3, 4), torch.randn(2, 2, 4)], call=lambda q, k: x(q, k, k)[0])
    v = attention()
    cases["attention_key_value"] = case(v, [torch.randn(3, 4), torch.randn(2, 4), torch.randn(2, 4)],
                                        call=lambda q, k, w: v(q, k, w)[0])
    masked = attention()
    may_look = torch.tensor([[True, False, True], [True, True, False], [False, True, True]])
    # PyTorch's bool masks are true where attention may not look.
    cases["attention_masked"] = case(masked, [torch.randn(1, 3, 4), may_look], names=lambda n: f"attention.{n}",
                                     call=lambda x, mask: masked(x, x, x, attn_mask=~mask)[0])
    added = attention()
    bias = torch.randn(3, 3)
    cases["attention_added"] = case(added, [torch.randn(1, 3, 4), bias], names=lambda n: f"attention.{n}",
                                    call=lambda x, mask: added(x, x, x, attn_mask=mask)[0])

    def layer(kind, **more):
        return randomise(kind(4, 2, dim_feedforward=3, dropout=0.0, batch_first=True, **more))
    for name, norm_first in (("", False), ("_norm_first", True)):
        cases[f"encoder{name}"] = case(layer(nn.TransformerEncoderLayer, norm_first=norm_first), [torch.randn(2, 3, 4)])
        cases[f"decoder{name}"] = case(layer(nn.TransformerDecoderLayer, norm_first=norm_first),
                                       [torch.randn(2, 3, 4), torch.randn(2, 2, 4)])
    tanh_gelu = lambda x: F.gelu(x, approximate="tanh")
    e = layer(nn.TransformerEncoderLayer, activation=tanh_gelu)
    cases["encoder_gelu_causal"] = case(e, [torch.randn(1, 3, 4)], call=lambda x: e(x, src_mask=causal))
    d = layer(nn.TransformerDecoderLayer)
    cases["decoder_causal"] = case(d, [torch.randn(1, 3, 4), torch.randn(1, 2, 4)], call=lambda x, m: d(x, m, tgt_mask=causal))
    cases["conv_transpose"] = case(randomise(nn.ConvTranspose2d(2, 3, 2)), [torch.randn(1, 2, 2, 3)], **conv)
    cases["conv_transpose_all"] = case(
        randomise(nn.ConvTranspose2d(2, 2, (2, 3), stride=(3, 2), padding=(1, 0), output_padding=(1, 0), groups=2, bias=False, dilation=(1, 2))),
        [torch.randn(1, 2, 2, 2)], **conv)
    cases["max_pool_1d"] = case(nn.MaxPool1d(2), [torch.randn(2, 2, 5)])
    cases["max_pool_1d_all"] = case(nn.MaxPool1d(3, stride=2, padding=1), [torch.randn(1, 2, 6)])
    cases["average_pool_1d"] = case(nn.AvgPool1d(2), [torch.randn(2, 2, 5)])
    cases["average_pool_1d_all"] = case(nn.AvgPool1d(3, stride=2, padding=1, count_include_pad=False), [torch.randn(1, 2, 6)])
    cases["conv3d"] = case(randomise(nn.Conv3d(2, 2, 2, stride=(1, 2, 1), padding=(1, 0, 1))), [torch.randn(1, 2, 2, 3, 3)], **conv)
    cases["conv_transpose_1d"] = case(randomise(nn.ConvTranspose1d(2, 3, 3, stride=2, output_padding=1)), [torch.randn(1, 2, 3)], **conv)
    cases["conv_transpose_3d"] = case(randomise(nn.ConvTranspose3d(2, 2, 2, stride=(1, 2, 1), groups=2)), [torch.randn(1, 2, 2, 2, 2)], **conv)
    cases["max_pool_3d"] = case(nn.MaxPool3d(2, stride=(1, 2, 1), padding=(1, 0, 1)), [torch.randn(1, 1, 2, 4, 3)])
    cases["average_pool_3d"] = case(nn.AvgPool3d(2), [torch.randn(1, 2, 2, 4, 3)])
    write("layers", cases)


def recurrent():
    torch.manual_seed(5)
    cases = {}

    def add(name, module, states=0, batch_first=False):
        """All outputs side by side, since a case has one: y, then the last states."""
        m = randomise(module)
        x = torch.randn(*((2, 3, 2) if batch_first else (3, 2, 2)))
        given = [torch.randn(m.num_layers * (2 if m.bidirectional else 1), 2, m.hidden_size) for _ in range(states)]

        def call(x, *states):
            y, last = m(x, *([states[0] if len(states) == 1 else states] if states else []))
            return torch.cat([t.reshape(-1) for t in (y, *(last if isinstance(last, tuple) else [last]))])
        cases[name] = case(m, [x, *given], names=lambda n: f"layer.{n}", call=call, dense=lambda n: n.startswith("weight"))
    for name, kind, states in (("rnn", nn.RNN, 1), ("gru", nn.GRU, 1), ("lstm", nn.LSTM, 2)):
        add(name, kind(2, 3))
        add(f"{name}_states", kind(2, 3, bias=False), states)
        add(f"{name}_all", kind(2, 2, num_layers=2, bidirectional=True, batch_first=True), states, batch_first=True)
    add("rnn_relu", nn.RNN(2, 3, nonlinearity="relu"))
    write("recurrent", cases)


def losses():
    torch.manual_seed(2)
    scores, labels = torch.randn(4, 3) * 2, torch.tensor([2, 0, 1, 1])
    x, y = torch.randn(3, 2) * 2, torch.randn(3, 2)
    unit = torch.rand(3, 2)
    p, q = torch.randn(3, 4).log_softmax(-1), torch.randn(3, 4).softmax(-1)
    q[0] = torch.tensor([0.0, 0.5, 0.5, 0.0])
    cases = {"scores": scores, "labels": labels, "x": x, "y": y, "unit": unit, "log_p": p, "q": q}

    def add(name, f, given, target, reductions=("mean", "sum", "none")):
        for reduction in reductions:
            leaf = given.clone().requires_grad_()
            loss = f(leaf, target, reduction=reduction)
            loss.backward(torch.ones_like(loss))
            cases[f"{name}_{reduction}"] = {"loss": loss, "grad": leaf.grad}
    add("cross_entropy", F.cross_entropy, scores, labels)
    add("cross_entropy_smooth", lambda *a, **k: F.cross_entropy(*a, label_smoothing=0.1, **k), scores, labels)
    add("cross_entropy_ignore", lambda *a, **k: F.cross_entropy(*a, ignore_index=1, **k), scores, labels)
    add("cross_entropy_both", lambda *a, **k: F.cross_entropy(*a, ignore_index=1, label_smoothing=0.3, **k), scores, labels)
    add("nll", F.nll_loss, p, torch.tensor([3, 0, 1]))
    add("nll_ignore", lambda *a, **k: F.nll_loss(*a, ignore_index=0, **k), p, torch.tensor([3, 0, 1]))
    add("mse", F.mse_loss, x, y)
    add("l1", F.l1_loss, x, y)
    add("huber", lambda *a, **k: F.huber_loss(*a, delta=0.7, **k), x, y)
    add("smooth_l1", lambda *a, **k: F.smooth_l1_loss(*a, beta=0.5, **k), x, y)
    add("bce", F.binary_cross_entropy_with_logits, x, unit)
    add("bce_weighted", lambda *a, **k: F.binary_cross_entropy_with_logits(*a, pos_weight=torch.tensor([2.0, 0.5]), **k), x, unit)
    every = ("mean", "sum", "none", "batchmean")
    add("kl", F.kl_div, p, q, every)
    cases["log_q"] = torch.randn(3, 4).log_softmax(-1)
    add("kl_log", lambda *a, **k: F.kl_div(*a, log_target=True, **k), p, cases["log_q"], every)
    cases["near"], cases["far"] = torch.randn(3, 2), torch.randn(3, 2)
    cases["near"][0] = 0
    add("cosine", lambda a, b, reduction: F.cosine_similarity(a, b, dim=1), x, cases["near"], ("none",))
    add("triplet", lambda a, b, **k: F.triplet_margin_loss(a, b, cases["far"], **k), x, cases["near"])
    add("gaussian", lambda v, b, **k: F.gaussian_nll_loss(x, b, v, full=True, eps=0.25, **k), unit, y)
    steps, labels = torch.randn(5, 4, 3), torch.tensor([[1, 2, 2], [2, 1, 0], [1, 1, 1], [0, 0, 0]])
    cases["steps"], cases["sequences"] = steps, labels
    add("ctc", lambda a, b, **k: F.ctc_loss(a.log_softmax(2), b, torch.tensor([5, 4, 4, 3]), torch.tensor([3, 2, 3, 0]),
                                            zero_infinity=True, **k), steps, labels)
    write("losses", cases)


def lamb(w, gradients, lr, beta1, beta2, eps, decay):
    """The paper's algorithm 2, in float64; the ratio is 1 where a norm is 0."""
    w, m, v, path = w.double(), torch.zeros_like(w).double(), torch.zeros_like(w).double(), []
    for t, g in enumerate(gradients, 1):
        g = g.double()
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        r = (m / (1 - beta1 ** t)) / ((v / (1 - beta2 ** t)).sqrt() + eps) + decay * w
        ratio = w.norm() / r.norm() if w.norm() > 0 and r.norm() > 0 else 1.0
        w = w - lr * ratio * r
        path.append(w)
    return torch.stack(path)


def optimisers():
    torch.manual_seed(4)
    w, gradients = torch.randn(3), [torch.randn(3) for _ in range(5)]
    cases = {"weight": w, "gradients": torch.stack(gradients)}

    def add(name, make):
        p = w.clone().requires_grad_()
        optimiser, path = make([p]), []
        for g in gradients:
            p.grad = g.clone()
            optimiser.step()
            path.append(p.detach().clone())
        cases[name] = torch.stack(path)
    o = torch.optim
    add("sgd", lambda p: o.SGD(p, lr=0.1))
    add("sgd_decay", lambda p: o.SGD(p, lr=0.1, weight_decay=0.2))
    add("sgd_momentum", lambda p: o.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1))
    add("sgd_nesterov", lambda p: o.SGD(p, lr=0.1, momentum=0.9, nesterov=True))
    add("adam", lambda p: o.Adam(p, lr=0.1))
    add("adam_decay", lambda p: o.Adam(p, lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.2))
    add("adamw", lambda p: o.AdamW(p, lr=0.1))
    add("adamw_decay", lambda p: o.AdamW(p, lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.5))
    add("adamax", lambda p: o.Adamax(p, lr=0.1))
    add("adamax_decay", lambda p: o.Adamax(p, lr=0.1, betas=(0.8, 0.9), eps=1e-2, weight_decay=0.2))
    add("rmsprop", lambda p: o.RMSprop(p, lr=0.1))
    add("rmsprop_all", lambda p: o.RMSprop(p, lr=0.1, alpha=0.8, eps=1e-3, weight_decay=0.1, momentum=0.7, centered=True))
    add("adagrad", lambda p: o.Adagrad(p, lr=0.1))
    add("adagrad_all", lambda p: o.Adagrad(p, lr=0.1, lr_decay=0.3, weight_decay=0.2, initial_accumulator_value=0.5, eps=1e-3))
    # PyTorch 1.13 has the next step's product of momentum wrong, but in its form for several tensors.
    add("nadam", lambda p: o.NAdam(p, lr=0.1, foreach=True))
    add("nadam_decay", lambda p: o.NAdam(p, lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.2, momentum_decay=0.1, foreach=True))
    add("radam", lambda p: o.RAdam(p, lr=0.1))
    add("radam_decay", lambda p: o.RAdam(p, lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.2))
    add("adadelta", lambda p: o.Adadelta(p, lr=0.1))
    add("adadelta_decay", lambda p: o.Adadelta(p, lr=0.1, rho=0.8, eps=1e-3, weight_decay=0.2))
    add("rprop", lambda p: o.Rprop(p, lr=0.1))
    add("rprop_bounds", lambda p: o.Rprop(p, lr=0.1, etas=(0.25, 1.5), step_sizes=(0.05, 0.12)))
    cases["lamb"] = lamb(w, gradients, 0.1, 0.9, 0.999, 1e-6, 0.01)
    cases["lamb_from_zero"] = lamb(torch.zeros(3), gradients, 0.1, 0.8, 0.9, 1e-3, 0.0)

    def rates(name, make):
        optimiser = o.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
        schedule, got = make(optimiser), []
        for _ in range(12):
            got.append(schedule.get_last_lr()[0])
            optimiser.step()
            schedule.step()
        cases[name] = numpy.array(got, dtype=numpy.float32)
    s = o.lr_scheduler
    rates("constant_lr", lambda x: s.ConstantLR(x, factor=0.25, total_iters=4))
    rates("linear_lr", lambda x: s.LinearLR(x, start_factor=0.1, end_factor=0.8, total_iters=6))
    rates("step_lr", lambda x: s.StepLR(x, 3, gamma=0.5))
    # PyTorch's schedule rises again after T_max; ours stays at eta_min, so only the fall is compared.
    rates("cosine_annealing_lr", lambda x: s.CosineAnnealingLR(x, 11, eta_min=0.05))
    rates("warmup_cosine_lr", lambda x: s.SequentialLR(x, [s.LinearLR(x, 0.25, 1.0, 3), s.CosineAnnealingLR(x, 8)], [4]))

    grads = [torch.randn(2, 3), torch.randn(4)]
    for name, limit in (("clipped", 0.5), ("not_clipped", 100.0)):
        leaves = [torch.zeros_like(g, requires_grad=True) for g in grads]
        for leaf, g in zip(leaves, grads):
            leaf.grad = g.clone()
        norm = torch.nn.utils.clip_grad_norm_(leaves, limit)
        cases[name] = {"grads": grads, "max_norm": limit, "norm": norm, "clipped": [leaf.grad for leaf in leaves]}

    # Tables of which a step reads some rows, some of them twice.
    table, reads = torch.randn(7, 3), [torch.randint(0, 7, (2, 2)) for _ in range(5)]
    reads[1][0, 0] = reads[1][1, 1]
    factors = [torch.randn(2, 2, 3) for _ in reads]
    cases.update({"table": table, "reads": torch.stack(reads).int(), "factors": torch.stack(factors)})

    def add_rows(name, make):
        embedding, path = nn.Embedding(7, 3, sparse=True), []
        embedding.weight.data = table.clone()
        optimiser = make(embedding.weight)
        for read, factor in zip(reads, factors):
            embedding.weight.grad = None
            (embedding(read) * factor).sum().backward()
            optimiser.step()
            path.append(embedding.weight.detach().clone())
        cases[name] = torch.stack(path)

    class LazyMomentum:
        """Momentum that moves where there is a gradient; PyTorch's moves everywhere."""
        def __init__(self, p, nesterov):
            self.p, self.v, self.nesterov = p, torch.zeros_like(p), nesterov

        @torch.no_grad()
        def step(self):
            g = self.p.grad.coalesce()
            rows, g = g.indices()[0], g.values()
            self.v[rows] = 0.9 * self.v[rows] + g
            self.p[rows] -= 0.1 * (g + 0.9 * self.v[rows] if self.nesterov else self.v[rows])
    add_rows("sparse_adam", lambda p: o.SparseAdam([p], lr=0.1))
    add_rows("sparse_adam_all", lambda p: o.SparseAdam([p], lr=0.1, betas=(0.8, 0.9), eps=1e-2))
    add_rows("sparse_sgd", lambda p: o.SGD([p], lr=0.1))
    add_rows("sparse_momentum", lambda p: LazyMomentum(p, False))
    add_rows("sparse_nesterov", lambda p: LazyMomentum(p, True))
    write("optimisers", cases)


def metrics():
    torch.manual_seed(5)
    scores, labels = torch.randn(12, 4), torch.randint(0, 4, (12,))
    predictions = scores.argmax(-1)
    confusion = torch.zeros(4, 4, dtype=torch.int32)
    for truth, predicted in zip(labels, predictions):
        confusion[truth, predicted] += 1
    write("metrics", {
        "scores": scores, "labels": labels, "accuracy_": (predictions == labels).float().mean(),
        "top": [(scores.topk(k).indices == labels[:, None]).any(-1).float().mean() for k in (1, 2, 3, 4)],
        "perplexity_": F.cross_entropy(scores, labels).exp(),
        "perplexity_ignoring": F.cross_entropy(scores, labels, ignore_index=2).exp(), "confusion": confusion})


layers()
recurrent()
losses()
optimisers()
metrics()
