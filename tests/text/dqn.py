"""The twin of dqn.pxl in PyTorch: python3 dqn.py prints the numbers of expected/dqn.txt."""
import collections
import copy

import numpy
import torch
from torch import nn
from torch.nn import functional as F


def det(shape, k=0, scale=1.0):
    n = int(numpy.prod(shape))
    return torch.tensor((numpy.sin(numpy.arange(n) * 1.3 + k) * scale).astype("float32").reshape(shape))


net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
for i, (_, p) in enumerate(sorted(net.named_parameters())):
    p.data = det(list(p.shape)[::-1], i, 0.3).permute(*reversed(range(p.dim()))).contiguous()
target = copy.deepcopy(net)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
memory = collections.deque(maxlen=24)
for i in range(30):
    memory.append((det([4], i), torch.tensor(i % 2), torch.tensor(i % 5 - 1.5), det([4], i + 0.7), torch.tensor(float(i % 7 == 0))))
rows, losses = list(memory), []
for epoch in range(4):
    for begin in range(0, 24, 6):
        s, a, r, s2, done = [torch.stack(column) for column in zip(*rows[begin:begin + 6])]
        with torch.no_grad():
            y = r + 0.99 * (1 - done) * target(s2).max(1).values
        loss = F.huber_loss(net(s).gather(1, a[:, None])[:, 0], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    target.load_state_dict(net.state_dict())
print("CHECK losses", *[f"{v:.7g}" for v in losses], "tol=1e-4")
print("CHECK values", *[f"{v:.7g}" for v in net(det([3, 4], 0.5)).detach().flatten()], "tol=1e-4")
