"""The twin of gpt_cache.pxl in PyTorch: python3 gpt_cache.py prints the numbers of expected/gpt_cache.txt."""
import torch
from torch.nn.functional import softmax

from det import check, det

d, heads, length, layers = 8, 2, 12, 2
wte, wpe = det([10, d], 0, 0.5), det([length, d], 1, 0.2)
blocks = [[det(s, 10 * i + j, 0.4) for j, s in enumerate([[d, 3 * d], [d, d], [d, 4 * d], [4 * d, d]])] for i in range(layers)]


def model(tokens):
    n = len(tokens)
    x = wte[tokens] + wpe[:n]
    mask = torch.ones(n, n).tril().bool()
    for a, b, c, e in blocks:
        q, k, v = [t.reshape(n, heads, d // heads).transpose(0, 1) for t in (x @ a).chunk(3, 1)]
        p = softmax((q @ k.transpose(1, 2) / (d // heads) ** 0.5).masked_fill(~mask, -1e9), -1)
        x = x + (p @ v).transpose(0, 1).reshape(n, d) @ b
        x = x + torch.tanh(x @ c) @ e
    return x @ wte.T


tokens = [3, 1]
logits = []
while len(tokens) < length:
    logits.append(model(tokens)[-1])
    tokens.append(int(logits[-1].argmax()))
check("tokens", tokens)
check("logits", torch.stack(logits).numpy())
