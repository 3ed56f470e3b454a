"""Random variants of ONNX's nodes against what the standard says of them.

    python3 tests/fuzz/onnx_nodes.py --seconds 60 --seed 7
    python3 tests/fuzz/onnx_nodes.py --seed 7 --replay 123 --keep FOLDER

Each try is a model of one node in the form of the standard's backend tests, and `pxl onnx test` runs many of them. The
expected outputs are NumPy's; places of Resize are computed in fractions. With --evaluator they are those of the package onnx's
ReferenceEvaluator (onnx 1.13 and later), but for variants that it rounds otherwise. Try N of a seed is always the same.
"""
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
sys.dont_write_bytecode = True

import numpy as np

from tests.fuzz.frame import batches, options
from tests.fuzz.onnx_variants import VARIANTS
from tests.support import onnx_file as of

evaluator = None


def made(seed, number):
    """Try `number` of a seed: its variant's name, and the variant."""
    r = random.Random(f"{seed} {number}")
    name = sorted(VARIANTS)[number % len(VARIANTS)]
    return name, VARIANTS[name](r, np.random.default_rng(r.randrange(1 << 32)))


def written(folder, case):
    """Writes a try as a folder of the backend tests."""
    (folder / "test_data_set_0").mkdir(parents=True)
    inputs, outputs = case["inputs"], [np.asarray(y) for y in case["outputs"]]
    names = [None if x is None else name for x, name in zip(inputs, case.get("names") or [f"x{i}" for i in range(len(inputs))])]
    given = [(n, x) for i, (n, x) in enumerate(zip(names, inputs)) if x is not None and i not in case["known"]]
    results = [f"y{i}" for i in range(len(outputs))]
    node = of.node(case["op"], names, results, **case["attributes"])
    graph = of.graph([node], [of.value_info(n, x.dtype, x.shape) for n, x in given],
                     [of.value_info(n, y.dtype, None) for n, y in zip(results, outputs)],
                     [(names[i], inputs[i]) for i in case["known"] if inputs[i] is not None])
    model = of.model(graph, case["opset"])
    (folder / "model.onnx").write_bytes(model)
    if evaluator and not case["exact"]:
        outputs = evaluator(model).run(None, dict(given))
    for kind, arrays in (("input", [x for _, x in given]), ("output", outputs)):
        for i, a in enumerate(arrays):
            (folder / "test_data_set_0" / f"{kind}_{i}.pb").write_bytes(of.tensor(a))


def batch(pxl, folder, seed, numbers):
    """The failures of tries: number, variant, reason."""
    kinds = {}
    for number in numbers:
        kinds[number], case = made(seed, number)
        with np.errstate(all="ignore"):
            written(folder / f"try_{number}", case)
    done = subprocess.run([str(pxl), "onnx", "test", str(folder)], capture_output=True, text=True, timeout=600)
    failures = [(int(m[1]), kinds[int(m[1])], m[2]) for m in
                (re.match(r"(?:failed|skipped) try_(\d+): (.*)", line) for line in done.stdout.splitlines()) if m]
    last = (done.stdout.splitlines() or [""])[-1]
    if done.returncode not in (0, 1) or not re.fullmatch(r"\d+ passed, \d+ failed, \d+ skipped", last):
        failures.append((numbers[0], "all", f"exit status {done.returncode}: {(done.stdout + done.stderr)[-2000:]}"))
    return failures


def campaign(pxl, seconds, seed, wanted=None, size=200):
    """Tries in `seconds`, or at least `size`, and their failures; `wanted` is the only variant."""
    at, failures = 0, []
    for tries in batches(seconds, size):
        numbers = []
        while len(numbers) < size:
            if wanted in (None, sorted(VARIANTS)[at % len(VARIANTS)]):
                numbers.append(at)
            at += 1
        with tempfile.TemporaryDirectory() as folder:
            failures += batch(pxl, pathlib.Path(folder), seed, numbers)
    return tries.stop, failures


def main():
    given = options(__doc__, seconds=60, seed=7, replay=True, more={
        "--only": {"choices": sorted(VARIANTS), "help": "the only variant"},
        "--keep": {"help": "writes the model of --replay to this folder"},
        "--evaluator": {"action": "store_true", "help": "expect what onnx.reference computes"}})
    if given.evaluator:
        global evaluator
        from onnx.reference import ReferenceEvaluator as evaluator
    if given.replay is not None:
        name, case = made(given.seed, given.replay)
        print(name, case)
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(given.keep or folder)
            print(batch(given.pxl, place, given.seed, [given.replay]) or "passed")
        return
    tries, failures = campaign(given.pxl, given.seconds, given.seed, given.only)
    for number, kind, why in failures:
        print(f"--seed {given.seed} --replay {number}: {kind}: {why}")
    print(f"{tries} tries, {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
