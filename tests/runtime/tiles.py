"""Runs the language's tests, the goldens and every example on tiles, each with its own memory."""
import os

from tests.language.expectations import by_engine, golden_tests, lang_tests
from tests.runtime.reference import EXAMPLES, both
from tests.support.harness import parallel

MACHINE = "mk2,tiles=16"
# The first steps on more tiles.
MNIST = ["--train-size", "800", "--test-size", "160"]


def tiles_tests(pxl, tally):
    os.environ["PXL_MACHINE"] = MACHINE
    try:
        with by_engine("tiles"):
            lang_tests(pxl, tally)
            golden_tests(pxl, tally, False)
    finally:
        del os.environ["PXL_MACHINE"]
    jobs = [(f"examples/{name}.pxl, 16 tiles",
             lambda name=name, arguments=arguments: both(pxl, f"{name}.pxl", arguments, "tiles", {"PXL_MACHINE": MACHINE}))
            for name, arguments in EXAMPLES.items()]
    jobs.append(("examples/mnist.pxl, the first 100 steps, 64 tiles",
                 lambda: both(pxl, "mnist.pxl", MNIST, "tiles", {"PXL_MACHINE": "mk2,tiles=64"})))
    for name, problem in parallel(jobs, 2):
        tally.add(name, problem)
