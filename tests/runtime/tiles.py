"""Runs the language's tests, the goldens and every example on tiles, each with its own memory. Peaks of examples are as planned."""
import difflib
import os
import pathlib
import re
import tempfile

from tests.language.expectations import by_engine, golden_tests, lang_tests
from tests.runtime.reference import EXAMPLES, both
from tests.support.harness import ROOT, parallel, run

# Few tiles have more memory each, so that every example fits.
MEMORY = ",memory=4Mi,executable=4Mi"
MACHINE = "mk2,tiles=16" + MEMORY
# The first steps on more tiles.
MNIST = ["--train-size", "800", "--test-size", "160"]
# What a session with PXL_PROFILE says when it ends.
PEAK = re.compile(r"([\d,]+) bytes of tensors on tile \d+ at its peak, ([\d,]+) as planned")


# Examples with an op that the engine divides into larger parts than planned, so that tiles hold more.
LARGER_PARTS = {"any_batch": "batch_statistics, batch_norm_grad_sums", "linear_fp8": "fp8_amax_scale", "resnet": "batch_statistics, batch_norm_grad_sums",
                "word_gpt": "rows of softmax that are planned in columns"}


def peaks_problem(name, messages):
    """Peaks are within 10 % of the plan, or 512 bytes: a plan counts what the most loaded tile receives on every tile."""
    peaks = [[int(n.replace(",", "")) for n in found] for found in PEAK.findall(messages)]
    if not peaks and name != "outlining_cost":  # which only estimates
        return f"no session told its peak:\n{messages[-1500:]}"
    apart = [(peak, planned) for peak, planned in peaks if abs(peak - planned) > max(planned / 10, 512)]
    apart = [(peak, planned) for peak, planned in apart if peak < planned or name not in LARGER_PARTS]
    return f"bytes of tensors on the fullest tile, and as planned: {apart}" if apart else None


def on_tiles(pxl, name, arguments, tiles):
    environment = {"PXL_MACHINE": f"mk2,tiles={tiles}{MEMORY if tiles <= 64 else ''}", "PXL_PROFILE": "on"}
    return both(pxl, f"{name}.pxl", arguments, "tiles", environment, problem_of=lambda messages: peaks_problem(name, messages))


def jobs_on(pxl, tiles):
    return [(f"examples/{name}.pxl, {tiles} tiles", lambda name=name, arguments=arguments: on_tiles(pxl, name, arguments, tiles))
            for name, arguments in EXAMPLES.items()]


def cuts_problem(pxl, name, arguments):
    """Cuts that are printed, read and printed again are equal, and the script computes equal bits with them."""
    script, environment = str(ROOT / f"examples/{name}.pxl"), {"PXL_DATA": "built-in", "PXL_SEED": "5", "PXL_MACHINE": MACHINE}
    machine = "mk2" if name == "outlining_cost" else MACHINE  # its unrolled layers fit no 16 tiles
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "cuts"
        command = [str(pxl), "--quiet", "schedule", "--run", "--machine", machine]
        first = run([*command, script, *arguments], env=environment)
        path.write_text(first[1])
        commands = [[*command, "--from", str(path), script], [str(pxl), "--quiet", "--engine", "tiles", script],
                    [*command, "--from", str(path), "--execute", script]]
        again, searched, executed = [run([*c, *arguments], env=environment, timeout=300) for c in commands]
    for done in (first, again, searched, executed):
        if done[0] != 0:
            return f"exit status {done[0]}: {done[2][-2000:]}"
    if again[1] != first[1]:
        return "\n".join(difflib.unified_diff(first[1].splitlines(), again[1].splitlines(), "printed", "read", lineterm="", n=0))[:3000]
    return None if executed[1] == searched[1] else f"with the cuts:\n{executed[1][-1500:]}\nas searched:\n{searched[1][-1500:]}"


def tiles_tests(pxl, tally):
    os.environ["PXL_MACHINE"] = MACHINE
    try:
        with by_engine("tiles"):
            lang_tests(pxl, tally)
            golden_tests(pxl, tally, False)
    finally:
        del os.environ["PXL_MACHINE"]
    jobs = [(f"examples/{name}.pxl, cuts", lambda name=name, arguments=arguments: cuts_problem(pxl, name, arguments))
            for name, arguments in EXAMPLES.items()]
    for name, problem in parallel(jobs_on(pxl, 16) + jobs, 2):
        tally.add(name, problem)


def more_tiles_tests(pxl, tally):
    jobs = jobs_on(pxl, 64)
    jobs.append(("examples/mnist.pxl, the first 100 steps, 1472 tiles", lambda: on_tiles(pxl, "mnist", MNIST, 1472)))
    for name, problem in parallel(jobs, 2):
        tally.add(name, problem)
