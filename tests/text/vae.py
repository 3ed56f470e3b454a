"""The twin of vae.pxl in PyTorch: python3 vae.py prints the numbers of expected/vae.txt. Both draw default weights and noise."""
import numpy
import torch
from torch import nn

PLACES = torch.arange(16.0)


def images(step):
    """64 images of 16 x 16 with a blot, whose place a sine of the number decides."""
    n = numpy.arange(64) + 64 * step
    x, y = (torch.tensor((8 + 5 * numpy.sin(n * k)).astype("float32")).reshape(64, 1) for k in (1.3, 2.1))
    rows, columns = torch.exp(-(PLACES - y) ** 2 / 6), torch.exp(-(PLACES - x) ** 2 / 6)
    return (rows[:, :, None] * columns[:, None, :]).reshape(64, 256)


def last_loss(seed):
    """The mean loss of a pixel's image in the last 20 of 200 steps."""
    torch.manual_seed(seed)
    encode, means, spreads = nn.Linear(256, 64), nn.Linear(64, 8), nn.Linear(64, 8)
    decode = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 256))
    layers = nn.ModuleList([encode, means, spreads, decode])
    optimizer, losses = torch.optim.Adam(layers.parameters(), lr=1e-3), []
    for step in range(200):
        x = images(step)
        h = torch.relu(encode(x))
        mu, log_var = means(h), spreads(h)
        z = mu + torch.exp(log_var / 2) * torch.randn_like(mu)
        rebuilt = nn.functional.binary_cross_entropy_with_logits(decode(z), x, reduction="sum")
        loss = (rebuilt - 0.5 * (1 + log_var - mu ** 2 - torch.exp(log_var)).sum()) / 64
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses[-20:]) / 20


print("CHECK mean loss", f"{sum(map(last_loss, range(5))) / 5:.7g}", "tol=0.03")
