"""A sparse autoencoder: the k largest features stay, decoder rows have norm 1, and a count says which features never fire."""
import torch
from torch.nn.functional import normalize
from det import det, check

d, n, k = 6, 16, 4
enc, dec, b = [det(s, i, 0.3).requires_grad_() for i, s in enumerate([[d, n], [n, d], [d]])]
optimizer = torch.optim.Adam([enc, dec, b], lr=1e-2)
silent = torch.zeros(n)
losses = []
for step in range(15):
    x = det([8, d], step)
    pre = torch.relu((x - b) @ enc)
    values, places = pre.topk(k, dim=1)
    code = torch.zeros_like(pre).scatter(1, places, values)
    loss = ((code @ dec + b - x) ** 2).sum(1).mean() + 1e-3 * pre.abs().sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        dec.copy_(normalize(dec, dim=1))
        silent = torch.where((code > 0).any(0), 0.0, silent + 1)
    losses.append(loss.item())
check("losses", losses)
check("silent", silent)
check("dec", dec.detach())
