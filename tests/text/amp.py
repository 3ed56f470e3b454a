"""The twin of amp.pxl in PyTorch: python3 amp.py prints the numbers of expected/amp.txt.

Steps in bfloat16 are those of torch.autocast. PyTorch's GradScaler works on GPUs alone, so its rule is written out. A step
with a gradient that is not finite is left out and halves the scale. Three finite steps in a row double it.
"""
import torch
from torch import nn

from det import check, det


class Norm(nn.LayerNorm):
    """A norm in float32, as torch.autocast has it on GPUs."""

    def forward(self, x):
        return super().forward(x.float())


def steps_in_bfloat16():
    net = nn.Sequential(nn.Linear(16, 32), Norm(32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 4))
    for i, (name, p) in enumerate(sorted(net.named_parameters())):
        p.data = torch.ones_like(p) if name == "1.weight" else det(list(p.shape)[::-1], i, 0.3).permute(*reversed(range(p.dim()))).contiguous()
    optimizer, losses = torch.optim.Adam(net.parameters(), lr=1e-2), []
    for step in range(30):
        x, labels = det([8, 16], step % 5), (torch.arange(8) * 3 + step % 5) % 4
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = net(x)
        loss = nn.functional.cross_entropy(scores.float(), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def scales_and_weights():
    w = nn.Parameter(det([4], 0.5))
    optimizer = torch.optim.Adam([w], lr=0.1)
    scale, finite_runs, scales, weights = 4096.0, 0, [], []
    for step in range(16):
        x = det([4], step) * (1000.0 if step in (2, 3, 9) else 4.0)
        scales.append(scale)
        loss = (w.half() * x.half()).float().sum()
        optimizer.zero_grad()
        (loss * scale).backward()
        if torch.isfinite(w.grad).all():
            w.grad /= scale
            optimizer.step()
            finite_runs += 1
            if finite_runs == 3:
                scale, finite_runs = scale * 2, 0
        else:
            scale, finite_runs = scale / 2, 0
        weights += w.tolist()
    return scales, weights


scales, weights = scales_and_weights()
check("losses", steps_in_bfloat16(), "2e-2")
check("scales", scales, "0")
check("weights", weights, "1e-5")
