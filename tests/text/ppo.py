"""PPO on a bandit with contexts: a clipped ratio of probabilities, a value as the baseline, an entropy bonus, several epochs a batch."""
import torch
from torch import nn
from torch.distributions import Categorical
from det import det, check

policy, value = nn.Linear(4, 3), nn.Linear(4, 1)
params = [policy.weight, policy.bias, value.weight, value.bias]
for i, p in enumerate(params):
    p.data = det(list(p.shape)[::-1], i, 0.3).permute(*reversed(range(p.dim()))).contiguous()
optimizer = torch.optim.Adam(params, lr=2e-2)
losses = []
for batch in range(5):
    s = det([12, 4], batch)
    a = (det([12], batch + 0.5) * 1.49 + 1.5).long()
    r = (a == (s[:, 0] > 0).long()).float()
    with torch.no_grad():
        old = Categorical(logits=policy(s)).log_prob(a)
        advantage = r - value(s)[:, 0]
        advantage = (advantage - advantage.mean()) / (advantage.std(unbiased=False) + 1e-5)
    for epoch in range(4):
        now = Categorical(logits=policy(s))
        ratio = (now.log_prob(a) - old).exp()
        gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        loss = -gain + 0.5 * ((value(s)[:, 0] - r) ** 2).mean() - 0.01 * now.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 0.5)
        optimizer.step()
        losses.append(loss.item())
check("losses", losses)
check("policy", policy.weight.detach().T)
