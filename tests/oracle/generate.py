#!/usr/bin/env python3
"""Writes the fixtures of tests/runtime/oracle.py: values and gradients of ops, by PyTorch in float64.

Needs PyTorch (Debian: python3-torch); the tests themselves do not. Run with the name of families to rewrite only these:
    python3 tests/oracle/generate.py [family ...]

A case is an expression of pxl over named inputs, and the same in PyTorch. Inputs are multiples of 1/64, so that they are
the same numbers in every dtype. Gradients are those of sum(y * dy) for a given dy.
"""
import json
import pathlib
import sys

import numpy as np
import torch

import cases
import cases_activation
import cases_algebra
import cases_edges
import cases_edges_nn
import cases_nn

HERE = pathlib.Path(__file__).resolve().parent
FAMILIES = {**cases.FAMILIES, **cases_activation.FAMILIES, **cases_algebra.FAMILIES, **cases_edges.FAMILIES, **cases_edges_nn.FAMILIES, **cases_nn.FAMILIES}


def numbers(t):
    if not t.dtype.is_floating_point:
        return [int(v) for v in t.reshape(-1).tolist()]
    return [float(f"{v:.8g}") for v in t.reshape(-1).tolist()]


def spec(t):
    return {"shape": list(t.shape), "values": numbers(t)}


def generate(name, case):
    try:
        return generated(name, case)
    except Exception as e:
        raise RuntimeError(f"{name}/{case['name']}: {case['pxl']}") from e


def generated(name, case):
    rng = np.random.default_rng(sum(map(ord, name + case["name"])))
    inputs = {}
    for key, make in case["inputs"].items():
        value = make(rng) if callable(make) else make
        inputs[key] = torch.as_tensor(np.asarray(value))
    tensors = {}
    for key, t in inputs.items():
        tensors[key] = t.double().requires_grad_(key in case["grads"]) if t.dtype.is_floating_point else t
    f = case["torch"]
    own = set(tensors) <= set(getattr(getattr(f, "__code__", None), "co_varnames", ()))  # not one of PyTorch's
    result = f(**tensors) if own else f(*tensors.values())
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    record = {"name": case["name"], "pxl": case["pxl"], "dtypes": case["dtypes"],
              "inputs": {k: dict(spec(t), floating=t.dtype.is_floating_point, bool=t.dtype == torch.bool)
                         for k, t in inputs.items()},
              "outputs": [spec(o.detach()) for o in outputs]}
    if case["grads"]:
        dys = [torch.as_tensor(cases.grid(*o.shape)(rng)) for o in outputs]
        total = sum((o * dy).sum() for o, dy in zip(outputs, dys))
        wanted = [tensors[k] for k in case["grads"]]
        grads = torch.autograd.grad(total, wanted, allow_unused=True)
        record["dy"] = [spec(d) for d in dys]
        record["grads"] = {k: spec(torch.zeros_like(t) if g is None else g)
                           for k, t, g in zip(case["grads"], wanted, grads)}
    return record


def main():
    wanted = sys.argv[1:] or list(FAMILIES)
    total = 0
    for family in wanted:
        records = [generate(family, c) for c in FAMILIES[family]]
        names = [r["name"] for r in records]
        assert len(set(names)) == len(names), sorted(n for n in names if names.count(n) > 1)
        text = "[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in records) + "\n]\n"
        (HERE / f"{family}.json").write_text(text)
        total += len(records)
        print(f"{family}: {len(records)} cases, {len(text) // 1024} KiB")
    print(f"{total} cases")


if __name__ == "__main__":
    main()
