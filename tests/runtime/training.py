"""Programs that train: accuracies on real data, losses against a float64 reference, the same bits in every way to run."""
import difflib
import json
import pathlib
import re
import sys

from tests.runtime import programs
from tests.support.harness import ROOT, TESTS, mnist_folder, parallel, run, shared_folder
from tests.language.expectations import golden

ACCURACY = re.compile(r"Accuracy on test set: ([\d.]+)%")


def accuracy(pxl, path, args=(), env=None):
    code, out, err = run([str(pxl), str(path), "--quiet", *args], env=env, timeout=900)
    found = ACCURACY.search(out)
    return (float(found.group(1)), None) if code == 0 and found else (None, f"exit status {code}\n{out}{err[-3000:]}")


def training(pxl, tally, script, seeds, mean_floor, floor, args=()):
    """The accuracies that the example reaches over several seeds on real MNIST."""
    got, problem = [], None
    for _, (value, why) in parallel([(f"{script} --seed {s}", lambda s=s: accuracy(pxl, ROOT / "examples" / script, ("--seed", str(s), *args)))
                                     for s in seeds], 1):
        got.append(value)
        problem = problem or why
    if problem is None:
        mean = sum(got) / len(got)
        print(f"{script}: accuracy over {len(got)} seeds {' '.join(f'{a:.2f}' for a in got)}, mean {mean:.2f}", flush=True)
        if mean < mean_floor or min(got) < floor:
            problem = f"mean {mean:.2f} (at least {mean_floor}), lowest {min(got):.2f} (at least {floor})"
    tally.add(f"examples/{script} on MNIST", problem)


# covers: F119
def example_tests(pxl, tally, update):
    for name in ("linear", "outlining_cost"):
        tally.add(f"examples/{name}.pxl", lambda: golden(pxl, ROOT / f"examples/{name}.pxl", TESTS / f"golden/examples/{name}.expected", update))
    if mnist_folder():
        training(pxl, tally, "mnist.pxl", range(1, 6), 96.0, 95.0)
        training(pxl, tally, "mnist_adam.pxl", range(1, 6), 95.0, 93.5)
        training(pxl, tally, "mnist_guide.pxl", [42], 85.0, 85.0)
        training(pxl, tally, "conv_mnist.pxl", [42], 98.5, 98.5)
    else:
        tally.skip("examples on MNIST", "the data set is not on this machine (PXL_DATA names its folder)")
    programs.program_tests(pxl, ROOT, tally.add, run)
    value, why = accuracy(pxl, ROOT / "examples/mnist.pxl", env={"PXL_DATA": "built-in"})
    if why is None:
        print(f"mnist.pxl on the built-in digits: accuracy {value:.2f}", flush=True)
        why = None if value >= 97.0 else f"accuracy {value:.2f} on the built-in digits, expected at least 97"
    tally.add("examples/mnist.pxl on the built-in digits", why)


# ---- curves ---------------------------------------------------------------------------------------------------

WORKLOADS = ("sgd8", "adam8", "small16")


def numpy_python():
    """A Python that has NumPy: the one that runs this, or the system's."""
    for python in (sys.executable, "/usr/bin/python3"):
        if pathlib.Path(python).exists() and run([python, "-c", "import numpy"])[0] == 0:
            return python
    return None


def bench_data():
    """The folder of initial weights and batches, prepared once a build tree; or the reason why there is none."""
    bench, data = shared_folder("bench"), ROOT / "build/bench-data"
    if not bench or not mnist_folder():
        return None, "shared/bench or MNIST is not on this machine"
    if (data / "prepared").exists():
        return data, None
    python = numpy_python()
    if not python:
        return None, "no Python with NumPy (package python3-numpy)"
    data.mkdir(parents=True, exist_ok=True)
    code, out, err = run([python, str(bench / "prep.py")], env={"BENCH_DATA": str(data)}, timeout=600)
    if code != 0:
        return None, f"prep.py failed: {(out + err)[-500:]}"
    (data / "prepared").touch()
    return data, None


def curve_test(pxl, workload, data):
    wanted = [float(l) for l in (TESTS / f"curves/{workload}.txt").read_text().split()]
    code, out, err = run([str(pxl), str(ROOT / f"bench/{workload}.pxl"), "--data", str(data), "--curve", str(len(wanted))],
                         timeout=300)
    if code != 0:
        return f"exit status {code}\n{err[-3000:]}"
    got = [float(l) for l in out.split()]
    if len(got) != len(wanted):
        return f"{len(got)} losses, expected {len(wanted)}"
    apart, step = max((abs(a - b) / abs(b), i) for i, (a, b) in enumerate(zip(got, wanted)))
    # Written so that a NaN fails.
    return None if apart <= 1e-4 else f"step {step}: loss {got[step]}, the reference has {wanted[step]} ({apart:.1e} apart)"


def curve_tests(pxl, tally):
    data, why = bench_data()
    for workload in WORKLOADS:
        if data:
            tally.add(f"curves/{workload}", lambda: curve_test(pxl, workload, data))
        else:
            tally.skip(f"curves/{workload}", why)


# ---- repetition -----------------------------------------------------------------------------------------------

WAYS = [("one thread", {"PXL_THREADS": "1"}), ("one thread again", {"PXL_THREADS": "1"}), ("two threads", {"PXL_THREADS": "2"}),
        ("three threads", {"PXL_THREADS": "3"}), ("seven threads", {"PXL_THREADS": "7"}), ("64 threads", {"PXL_THREADS": "64"})]
# These divide products in other ways, after which oneDNN may add in another order on some processors. Hence they are
# compared with the kernels' own products (docs/portability.md).
OWN_PRODUCTS = {"PXL_GEMM": "packed"}
OTHER_PRODUCTS = {"nothing fused", "without strided_operands"}
# Without these, weights are multiplied with their scales before they are summed: other bits, near by (docs/numerics.md).
OTHER_BITS = {"scaled_weights.pxl": {"nothing fused", "without fuse_elementwise", "without fuse_prologues"}}


def fused_optimisers(pxl):
    """Every plan of tests/repeat/optimisers.pxl is a load and one fused op."""
    code, _, plans = run([str(pxl), str(TESTS / "repeat/optimisers.pxl")], env={"PXL_PRINT": "plan"})
    counts = [len(re.findall(r"^  \d+: (?!HostLoad)", plan, re.M)) for plan in plans.split("Plan : ")[1:]]
    return None if code == 0 and len(counts) >= 24 and set(counts) == {1} else f"exit status {code}, ops {counts}\n{plans[-3000:]}"


def fused_sets(pxl):
    """The instruction sets with fused multiply-adds that were built and run here."""
    told = json.loads(run([str(pxl), "--json", "--version"])[1])
    return [s for s in told["instruction_sets"][:told["instruction_sets"].index(told["instruction_set"]) + 1] if s != "baseline"]


def across_instruction_sets(pxl, path, sets):
    """The bits with the kernels' own products are the same with each set that has fused multiply-adds (docs/portability.md)."""
    outputs = {}
    for name in sets:
        code, out, err = run([str(pxl), str(path)], env={"PXL_GEMM": "packed", "PXL_ISA": name, "PXL_DATA": "built-in"})
        if code != 0 or not out:
            return f"{name}: exit status {code}\n{err[-3000:]}"
        outputs[name] = out
    first, last = (outputs[name].splitlines() for name in (sets[0], sets[-1]))
    return None if first == last else "\n".join(difflib.unified_diff(first, last, sets[0], sets[-1], lineterm=""))


def are_near(first, second):
    """Whether texts differ in numbers only, each by at most a millionth of the line's largest number."""
    number = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")
    if number.sub("#", first) != number.sub("#", second):
        return False
    for a, b in zip(first.splitlines(), second.splitlines()):
        pairs = [(float(x), float(y)) for x, y in zip(number.findall(a), number.findall(b))]
        if any(abs(x - y) > 1e-6 * max(abs(z) for z, _ in pairs) for x, y in pairs):
            return False
    return True


def repeat_tests(pxl, tally):
    """The same program and seed give the same bits, again, with any number of threads, fused or not."""
    # The binary names its passes if it is asked to leave out an unknown one.
    _, _, err = run([str(pxl), "-e", "program p { stream out y = ones([2]) + 1 }\nSession(p())"], env={"PXL_TRANSFORMS": "-?"})
    found = re.search(r"known: (.*)", err)
    tally.add("repeat: names of the passes", None if found else f"not named in\n{err}")
    tally.add("repeat/optimisers.pxl: one fused op", lambda: fused_optimisers(pxl))
    # A product by a stored transposed matrix adds its terms in another order (docs/numerics.md).
    passes = [t for t in found.group(1).split(", ") if t != "absorb_transposes"] if found else []
    ways = WAYS + [("nothing fused", {"PXL_FUSE": "off"})] + [(f"without {t}", {"PXL_TRANSFORMS": f"-{t}"}) for t in passes]
    ways = [("own products", OWN_PRODUCTS)] + [
        (way, {**env, **OWN_PRODUCTS} if way in OTHER_PRODUCTS else env) for way, env in ways]
    sets = fused_sets(pxl)
    if len(sets) < 2:
        tally.skip("repeat: instruction sets", f"no two with fused multiply-adds are built and run here: {', '.join(sets) or 'none'}")
    for path in sorted((TESTS / "repeat").glob("*.pxl")):
        firsts = {}
        for way, env in ways:
            code, out, err = run([str(pxl), str(path)], env={**env, "PXL_DATA": "built-in"})
            first_way, first = firsts.setdefault("PXL_GEMM" in env, (way, out))
            problem = None
            if code != 0 or not out:
                problem = f"exit status {code}\n{err[-3000:]}"
            elif out != first and not (way in OTHER_BITS.get(path.name, ()) and are_near(first, out)):
                problem = "\n".join(difflib.unified_diff(first.splitlines(), out.splitlines(), first_way, way, lineterm=""))
            tally.add(f"repeat/{path.name}, {way}", problem)
        if len(sets) > 1:
            tally.add(f"repeat/{path.name}, instruction sets", lambda: across_instruction_sets(pxl, path, sets))
