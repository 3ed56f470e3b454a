"""The twin of moco.pxl in PyTorch: python3 moco.py prints the numbers of expected/moco.txt."""
import torch
from torch.nn.functional import cross_entropy, normalize

from det import check, det

w = det([4, 6], 0, 0.5).requires_grad_()
key = w.detach().clone()
optimizer = torch.optim.SGD([w], lr=0.5)
queue = torch.zeros(12, 6)
losses = []
for step in range(8):
    q = normalize(det([4, 4], step) @ w)
    with torch.no_grad():
        key = 0.9 * key + 0.1 * w
        k = normalize(det([4, 4], step + 0.1) @ key)
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.T], 1) / 0.2
    loss = cross_entropy(logits, torch.zeros(4, dtype=torch.int64))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    queue[4 * (step % 3):4 * (step % 3) + 4] = k
    losses.append(loss.item())
check("losses", losses)
check("queue", queue.numpy())
