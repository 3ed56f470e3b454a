"""Trains the network of model.pxl to add two numbers, and computes what it predicts with NumPy as well: train.py MODEL CHECKPOINT"""
import sys

import numpy as np
import pxl

model = pxl.load(sys.argv[1], lr=0.03, batch=32)
session = model.Session("fit")
random = np.random.default_rng(1)
for step in range(301):
    x = random.uniform(-1, 1, (32, 2))
    loss = session.run(x=x, target=x.sum(axis=1, keepdims=True)).loss
    if step % 100 == 0:
        print(f"step {step}: loss {loss:.4f}")
session.save(sys.argv[2])

predict = model.Session("predict", n=3)
predict.load_from(session)
x = np.float32([[0.1, 0.2], [-0.5, 0.3], [0.3, 0.3]])
y = predict.run(x=x).y
hidden = np.tanh(x @ session["hidden.weight"] + session["hidden.bias"])
assert np.allclose(y, hidden @ session["out.weight"] + session["out.bias"], atol=1e-5)
print("sums:", y[:, 0].round(1))
