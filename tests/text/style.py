"""Neural style: an image is changed until its features match those of a content, and their Gram matrices those of a style."""
import torch
from torch.nn.functional import conv2d, avg_pool2d
from det import det, check

kernels = [det(s, i, 0.4) for i, s in enumerate([[4, 1, 3, 3], [6, 4, 3, 3]])]


def features(x):
    found = []
    for kernel in kernels:
        x = torch.relu(conv2d(x, kernel, padding=1))
        found.append(x)
        x = avg_pool2d(x, 2)
    return found


def gram(f):
    flat = f.flatten(2)[0]
    return flat @ flat.T / flat.numel()


content = features(det([1, 1, 12, 12], 1))[-1]
style = [gram(f) for f in features(det([1, 1, 12, 12], 2))]
image = det([1, 1, 12, 12], 3, 0.1).requires_grad_()
optimizer = torch.optim.Adam([image], lr=0.05)
losses = []
for step in range(12):
    found = features(image)
    loss = ((found[-1] - content) ** 2).mean() + 100 * sum(((gram(f) - s) ** 2).mean() for f, s in zip(found, style))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
check("losses", losses)
check("image", image.detach())
