"""The twin of moco.pxl in PyTorch: python3 moco.py prints the numbers of expected/moco.txt."""
import numpy
import torch
from torch.nn.functional import cross_entropy, normalize


def det(shape, k=0, scale=1.0):
    n = int(numpy.prod(shape))
    return torch.tensor((numpy.sin(numpy.arange(n) * 1.3 + k) * scale).astype("float32").reshape(shape))


def check(name, values):
    print("CHECK", name, *[f"{v:.7g}" for v in numpy.asarray(values, dtype="float64").reshape(-1)], "tol=1e-4")


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
