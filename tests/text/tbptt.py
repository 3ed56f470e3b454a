"""A recurrent net trained on windows of one long sequence: the hidden state goes on from window to window, its gradient does not."""
import torch
from torch import nn
from det import det, check

rnn, head = nn.GRU(3, 6), nn.Linear(6, 3)
params = [*head.parameters(), *rnn.parameters()]
for i, p in enumerate([head.bias, head.weight, rnn.bias_hh_l0, rnn.bias_ih_l0, rnn.weight_hh_l0, rnn.weight_ih_l0]):
    p.data = det(list(p.shape)[::-1], i, 0.3).permute(*reversed(range(p.dim()))).contiguous()
optimizer = torch.optim.SGD(params, lr=0.2)
sequence = det([81, 2, 3])
h, losses = torch.zeros(1, 2, 6), []
for start in range(0, 80, 10):
    x, y = sequence[start:start + 10], sequence[start + 1:start + 11]
    out, h = rnn(x, h.detach())
    loss = ((head(out) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 0.5)
    optimizer.step()
    losses.append(loss.item())
check("losses", losses)
check("h", h.detach())
