"""Dicts whose keys and values are made by f-strings."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 400000


def work(n):
    names = {}
    for i in range(n):
        names[f"layer{i % 5000}.weight{i % 7}"] = f"{i:06d}: {i / 8:.3f}"
    length = 0
    for key, text in names.items():
        if key.endswith("3"):
            length += len(f"{key} = {text!r}")
    return len(names), length, names["layer1.weight1"]


print(work(n))
