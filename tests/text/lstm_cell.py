"""The twin of lstm_cell.pxl in PyTorch: python3 lstm_cell.py prints the numbers of expected/lstm_cell.txt."""
import torch
from torch import nn

from det import check, det

cell = nn.LSTMCell(3, 5)
cell.weight_ih.data, cell.weight_hh.data = det([3, 20], 0, 0.4).T.contiguous(), det([5, 20], 1, 0.4).T.contiguous()
cell.bias_ih.data, cell.bias_hh.data = det([20], 2, 0.2), torch.zeros(20)
optimizer = torch.optim.SGD(list(cell.parameters())[:3], lr=0.5)
losses = []
for step in range(6):
    xs = det([7, 2, 3], step)
    h, c = torch.zeros(2, 5), torch.zeros(2, 5)
    hs = []
    for x in xs:
        h, c = cell(x, (h, c))
        hs.append(h)
    loss = ((torch.stack(hs) - 0.1) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
check("losses", losses)
check("h", h.detach().numpy())
