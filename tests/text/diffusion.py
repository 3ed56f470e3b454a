"""The twin of diffusion.pxl in PyTorch: python3 diffusion.py prints the numbers of expected/diffusion.txt."""
import torch

from det import check, det

n = 20
beta = torch.linspace(1e-3, 0.2, n)
alpha = torch.cumprod(1 - beta, 0)
w1, w2 = det([3, 16], 0, 0.5).requires_grad_(), det([16, 2], 1, 0.5).requires_grad_()
optimizer = torch.optim.Adam([w1, w2], lr=1e-2)


def noise(x, t):
    return torch.tanh(torch.cat([x, (t / n).expand(len(x), 1)], 1) @ w1) @ w2


losses = []
for step in range(15):
    x, e, t = det([8, 2], step) + 1, det([8, 2], step + 0.5), torch.tensor(float(step % n))
    a = alpha[step % n]
    loss = ((noise(a.sqrt() * x + (1 - a).sqrt() * e, t) - e) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
x = det([8, 2], 9)
with torch.no_grad():
    for i in reversed(range(n)):
        x = (x - beta[i] / (1 - alpha[i]).sqrt() * noise(x, torch.tensor(float(i)))) / (1 - beta[i]).sqrt()
check("losses", losses)
check("samples", x.numpy())
