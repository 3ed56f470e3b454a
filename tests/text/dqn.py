"""The twin of dqn.pxl in PyTorch: python3 dqn.py prints the numbers of expected/dqn.txt."""
import collections
import copy

import torch
from torch import nn
from torch.nn import functional as F

from det import check, det, fill

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
fill(net, 0.3)
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
check("losses", losses)
check("values", net(det([3, 4], 0.5)).detach().flatten())
