#!/usr/bin/env python3
"""The network of bench/conv.pxl in PyTorch, with one thread and with two: conv_torch.py [BATCH]"""
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 5, padding=2), nn.Conv2d(16, 32, 5, padding=2)
        self.fc1, self.fc2 = nn.Linear(7 * 7 * 32, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x[:, None])), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def main():
    batch, steps = int(sys.argv[1]) if len(sys.argv) > 1 else 32, 30
    net = Net()
    optimiser = torch.optim.AdamW(net.parameters(), 1e-3)
    x, labels = torch.randn(batch, 28, 28), torch.randint(0, 10, (batch,))

    def round_of(n):
        start = time.perf_counter()
        for _ in range(n):
            optimiser.zero_grad()
            F.cross_entropy(net(x), labels).backward()
            optimiser.step()
        return (time.perf_counter() - start) / n

    for threads in (1, 2):
        torch.set_num_threads(threads)
        round_of(3)
        best = min(round_of(steps) for _ in range(5))
        print(f"PyTorch, {threads} thread{'s' * (threads > 1)}: {best * 1000:.2f} ms a step of {batch} images")


if __name__ == "__main__":
    main()
