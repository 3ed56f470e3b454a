"""The twin of maml.pxl in PyTorch: python3 maml.py prints the numbers of expected/maml.txt."""
import torch
from functorch import grad, make_functional, vmap
from torch import nn

from det import check, det, fill

net = nn.Sequential(nn.Linear(1, 10), nn.Tanh(), nn.Linear(10, 1))
fill(net, 0.5)
apply, weights = make_functional(net)
weights = [w.detach().requires_grad_() for w in weights]
optimizer = torch.optim.Adam(weights, lr=1e-2)


def loss(w, x, y):
    return ((apply(w, x) - y) ** 2).mean()


def task(w, x, x_test, shift):
    g = grad(loss)(w, x, torch.sin(x + shift))
    return loss([a - 0.1 * b for a, b in zip(w, g)], x_test, torch.sin(x_test + shift))


totals = []
for step in range(10):
    x, x_test, shift = det([4, 5, 1], step, 3.0), det([4, 5, 1], step + 0.5, 3.0), det([4, 1, 1], step) + 1.0
    total = vmap(task, (None, 0, 0, 0))(weights, x, x_test, shift).mean()
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    totals.append(total.item())
check("totals", totals)
