"""The twin of dqn_target.pxl in PyTorch: python3 dqn_target.py prints the numbers of expected/dqn_target.txt."""
import torch
from torch.nn.functional import smooth_l1_loss

from det import check, det

q = [det([4, 16], 0, 0.5).requires_grad_(), det([16, 2], 1, 0.5).requires_grad_()]
target = [w.detach().clone() for w in q]
optimizer = torch.optim.Adam(q, lr=1e-2)
losses = []


def value(w, s):
    return torch.tanh(s @ w[0]) @ w[1]


for step in range(12):
    s, r, s2 = det([8, 4], step), det([8], step + 0.3), det([8, 4], step + 0.7)
    a, done = torch.arange(8) % 2, (torch.arange(8) % 4 == 0).float()
    with torch.no_grad():
        y = r + 0.9 * (1 - done) * value(target, s2).max(1).values
    loss = smooth_l1_loss(value(q, s).gather(1, a[:, None])[:, 0], y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 3:
        target = [w.detach().clone() for w in q]
    losses.append(loss.item())
check("losses", losses)
check("target", target[1].numpy())
