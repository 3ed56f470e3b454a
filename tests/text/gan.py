"""The twin of gan.pxl in PyTorch: python3 gan.py prints the numbers of expected/gan.txt. Both losses have one forward pass."""
import numpy
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce


def det(shape, k=0, scale=1.0):
    n = int(numpy.prod(shape))
    return torch.tensor((numpy.sin(numpy.arange(n) * 1.3 + k) * scale).astype("float32").reshape(shape))


def net(d, out):
    made = nn.Sequential(nn.Linear(d, 12), nn.LeakyReLU(0.2), nn.Linear(12, 12), nn.LeakyReLU(0.2), nn.Linear(12, out))
    for i, (_, p) in enumerate(sorted(made.named_parameters())):
        p.data = det(list(p.shape)[::-1], i, 0.3).permute(*reversed(range(p.dim()))).contiguous()
    return made


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
print("CHECK losses", *[f"{v:.7g}" for v in losses], "tol=1e-4")
print("CHECK weights", *[f"{v:.7g}" for v in g[4].weight.detach().t().flatten()], "tol=1e-4")
