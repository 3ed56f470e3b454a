"""A Wasserstein GAN with a penalty of the critic's gradient at points between real and made ones: a gradient of a gradient."""
import torch
from torch import nn
from det import det, check


def net(d, out):
    made = nn.Sequential(nn.Linear(d, 10), nn.Tanh(), nn.Linear(10, out))
    for i, (_, p) in enumerate(sorted(made.named_parameters())):
        p.data = det(list(p.shape)[::-1], i, 0.3).permute(*reversed(range(p.dim()))).contiguous()
    return made


g, d = net(3, 2), net(2, 1)
g_optimizer = torch.optim.RMSprop(g.parameters(), lr=1e-2)
d_optimizer = torch.optim.RMSprop(d.parameters(), lr=1e-2)
losses = []
for step in range(12):
    real, z, t = det([6, 2], step) + 1, det([6, 3], step + 0.5), (det([6, 1], step + 0.3) + 1) / 2
    fake = g(z).detach()
    between = (t * real + (1 - t) * fake).requires_grad_()
    slope, = torch.autograd.grad(d(between).sum(), between, create_graph=True)
    penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
    d_loss = d(fake).mean() - d(real).mean() + 10 * penalty
    d_optimizer.zero_grad()
    d_loss.backward()
    d_optimizer.step()
    if step % 3 == 2:
        g_loss = -d(g(z)).mean()
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()
    losses.append(d_loss.item())
check("losses", losses)
check("weights", g[2].weight.detach().T)
