"""The twin of gan.pxl in PyTorch: python3 gan.py prints the numbers of expected/gan.txt. Both losses have one forward pass."""
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from det import check, det, fill


def net(d, out):
    return fill(nn.Sequential(nn.Linear(d, 12), nn.LeakyReLU(0.2), nn.Linear(12, 12), nn.LeakyReLU(0.2), nn.Linear(12, out)), 0.3)


g, d = net(4, 2), net(2, 1)
g_optimizer = torch.optim.Adam(g.parameters(), lr=1e-2, betas=(0.5, 0.999))
d_optimizer = torch.optim.Adam(d.parameters(), lr=1e-2, betas=(0.5, 0.999))
one, zero = torch.ones(8, 1), torch.zeros(8, 1)
losses = []
for step in range(20):
    real, z = det([8, 2], step) + 1.0, det([8, 4], step + 0.5)
    fake = g(z)
    d_loss = bce(d(real), one) + bce(d(fake.detach()), zero)
    g_loss = bce(d(fake), one)
    for loss, of, optimizer in ((d_loss, d, d_optimizer), (g_loss, g, g_optimizer)):
        for p, grad in zip(of.parameters(), torch.autograd.grad(loss, list(of.parameters()), retain_graph=True)):
            p.grad = grad
    d_optimizer.step()
    g_optimizer.step()
    losses += [d_loss.item(), g_loss.item()]
check("losses", losses)
check("weights", g[4].weight.detach().t().flatten())
