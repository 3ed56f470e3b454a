"""A U-Net: two levels down, two up, each up joined with the level beside it; a pixel loss with Dice."""
import torch
from torch import nn
from torch.nn.functional import max_pool2d
from det import det, check


class Double(nn.Sequential):
    def __init__(self, c, out):
        super().__init__(nn.Conv2d(c, out, 3, padding=1), nn.ReLU(), nn.Conv2d(out, out, 3, padding=1), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([Double(1, 3), Double(3, 6)])
        self.bottom = Double(6, 12)
        self.up = nn.ModuleList([nn.ConvTranspose2d(12, 6, 2, 2), nn.ConvTranspose2d(6, 3, 2, 2)])
        self.join = nn.ModuleList([Double(12, 6), Double(6, 3)])
        self.head = nn.Conv2d(3, 1, 1)

    def forward(self, x):
        skips = []
        for down in self.down:
            skips.append(down(x))
            x = max_pool2d(skips[-1], 2)
        x = self.bottom(x)
        for up, join, skip in zip(self.up, self.join, reversed(skips)):
            x = join(torch.cat([up(x), skip], 1))
        return self.head(x)


net = UNet()
for i, (_, p) in enumerate(sorted(net.named_parameters())):
    p.data = det(p.shape, i, 0.2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
losses = []
for step in range(4):
    x = det([2, 1, 16, 16], step)
    y = (x > 0.3).float()
    p = torch.sigmoid(net(x))
    dice = 1 - 2 * (p * y).sum() / (p.sum() + y.sum() + 1)
    loss = dice + nn.functional.binary_cross_entropy(p, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
check("losses", losses)
