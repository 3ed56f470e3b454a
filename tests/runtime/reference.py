"""Whatever runs, by definitions and without plans: the language's tests, the goldens, the REPL, and every example."""
import re

from tests.repl import inputs
from tests.support.harness import ROOT, mnist_folder, parallel, run
from tests.language.expectations import by_engine, golden_tests, lang_tests

# Every example, with so few steps that definitions run them in seconds.
EXAMPLES = {
    "accumulate": ["--steps", "10"],
    "any_batch": ["--points", "81", "--epochs", "1"],
    "char_gpt": ["--steps", "2", "--batch", "2", "--context", "16", "--width", "32", "--length", "2"],
    "conv_mnist": ["--epochs", "1", "--train-size", "64", "--test-size", "80"],
    "data_parallel": ["--train-size", "128", "--test-size", "80"],
    "dqn": ["--steps", "520"],
    "linear": [],
    "linear_fp8": ["--steps", "10"],
    "mnist": ["--train-size", "400", "--test-size", "160"],
    "mnist_adam": ["--train-size", "80", "--test-size", "160"],
    "mnist_guide": ["--train-size", "400", "--test-size", "160"],
    "outlining_cost": [],
    "phased": ["--train-size", "128", "--test-size", "80"],
    "pipeline": ["--train-size", "120", "--test-size", "80"],
    "remote_variables": ["--train-size", "128", "--test-size", "80"],
    "resnet": ["--epochs", "1", "--train-size", "72", "--test-size", "80", "--channels", "2"],
    "transformer": ["--steps", "3", "--batch", "8"],
    "word_gpt": ["--steps", "2", "--tune-steps", "1", "--every", "1", "--batch", "1", "--parts", "2", "--context", "64", "--width", "16", "--layers", "1",
                 "--heads", "2", "--vocab", "80", "--length", "2"],
}
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:[eE][-+]?\d+)?")


def apart(planned, reference):
    """Why two outputs differ by more than rounding. Words and integers must be equal, other numbers within a thousandth,
    and a percentage within one image of 80."""
    if NUMBER.sub("#", planned) != NUMBER.sub("#", reference):
        return f"planned:\n{planned[-1500:]}\nreference:\n{reference[-1500:]}"
    for found, other in zip(NUMBER.finditer(planned), NUMBER.finditer(reference)):
        a, b = float(found.group()), float(other.group())
        percent = planned[found.end():found.end() + 1] == "%"
        if not abs(a - b) <= (1.3 if percent else 1e-3 * max(1.0, abs(a))):
            return f"{found.group()} planned, {other.group()} by definitions, in\n{reference[-1500:]}"
    return None


def both(pxl, script, arguments, other="reference", environment={}, timeout=300, problem_of=lambda messages: None):
    """Why a script prints something else on another engine than on the planned one, or what `problem_of` says of the other engine's messages."""
    outputs = []
    for engine in ("planned", other):
        code, out, err = run([str(pxl), "--engine", engine, str(ROOT / "examples" / script), "--quiet", *arguments],
                             env={**environment, **({} if mnist_folder() else {"PXL_DATA": "built-in"})}, timeout=timeout)
        if code != 0:
            return f"{engine}: exit status {code}\n{out[-1500:]}{err[-3000:]}"
        if not out:
            return f"{engine}: nothing is printed"
        outputs.append(out)
    return apart(*outputs) or problem_of(err)


def example_tests(pxl, tally):
    scripts = sorted(path.stem for path in (ROOT / "examples").glob("*.pxl"))
    missing = set(scripts) ^ set(EXAMPLES)
    tally.add("reference: every example is tried", f"tests/runtime/reference.py: {sorted(missing)}" if missing else None)
    told = [apart("loss 1.0501, 3", other) for other in ("loss 1.0502, 3", "loss 1.0601, 3", "loss 1.0501, 4", "loss nan, 3")]
    tally.add("reference: outputs that differ are told apart", None if [t is None for t in told] == [True, False, False, False]
              else f"{told}")
    jobs = [(f"examples/{name}.pxl, reference", lambda name=name: both(pxl, f"{name}.pxl", EXAMPLES[name]))
            for name in scripts if name in EXAMPLES]
    for name, problem in parallel(jobs, 2):
        tally.add(name, problem)


def whole_epoch(pxl, tally):
    """Two minutes."""
    name = "examples/mnist.pxl, reference, a whole epoch"
    if mnist_folder():
        tally.add(name, lambda: both(pxl, "mnist.pxl", [], timeout=1800))
    else:
        tally.skip(name, "the data set is not on this machine (PXL_DATA names its folder)")


def reference_tests(pxl, tally):
    with by_engine("reference"):
        lang_tests(pxl, tally)
        golden_tests(pxl, tally, False)
        inputs.repl_tests(pxl, tally, parallel, "reference")
    example_tests(pxl, tally)
