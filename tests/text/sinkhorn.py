"""Optimal transport by Sinkhorn's iterations until they settle, and the gradient of its cost through them."""
import torch
from det import det, check

x, y = det([5, 2]).requires_grad_(), det([6, 2], 1) + 0.5
moved = []
for step in range(5):
    cost = ((x[:, None] - y[None]) ** 2).sum(2)
    f, g, error, rounds = torch.zeros(5), torch.zeros(6), 1.0, 0
    while error > 1e-4 and rounds < 200:
        f_new = -0.2 * torch.logsumexp((g[None] - cost) / 0.2 - torch.log(torch.tensor(6.0)), 1)
        error = (f_new - f).abs().max()
        f = f_new
        g = -0.2 * torch.logsumexp((f[:, None] - cost) / 0.2 - torch.log(torch.tensor(5.0)), 0)
        rounds += 1
    loss = f.mean() + g.mean()
    slope, = torch.autograd.grad(loss, x)
    with torch.no_grad():
        x -= slope
    moved.append(loss.item())
check("costs", moved)
check("x", x.detach())
