"""The twin of resnet.pxl in PyTorch: python3 resnet.py prints the numbers of expected/resnet.txt."""
import torch
from torch import nn
from torch.nn import functional as F

from det import check, det


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(c), nn.BatchNorm2d(c)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(x + self.norm2(self.conv2(y)))


net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), Block(4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))
# The order is that of pxl's names: layers.0, layers.1.conv1, layers.1.conv2, layers.3.
params = [net[0].bias, net[0].weight, net[1].conv1.weight, net[1].conv2.weight, net[4].bias, net[4].weight]
for i, p in enumerate(params):
    p.data = det(list(p.shape), i, 0.3) if p.dim() != 2 else det(list(p.shape)[::-1], i, 0.3).t().contiguous()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
images, labels = det([21, 1, 6, 6], 0.25), torch.arange(21) % 3
losses = []
net.train()
for epoch in range(3):
    for begin in range(0, 21, 8):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images[begin:begin + 8]), labels[begin:begin + 8])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
net.eval()
check("losses", losses)
check("logits", net(images[:4]).detach().flatten(), "1e-3")
