"""Plans that are written as text and read again, and values of plans after each pass."""
import contextlib
import os

from tests.language.expectations import golden_tests, lang_tests
from tests.runtime.reference import EXAMPLES
from tests.support.harness import ROOT, mnist_folder, parallel, run


# Without a program that can be built before it runs: no program, or one of what a run has computed, which runs instead.
UNPLANNED = {"script", "workload", "char_gpt", "word_gpt", "image_nets"}


@contextlib.contextmanager
def verifying(how):
    """Programs that run meanwhile have PXL_VERIFY set so."""
    before = os.environ.get("PXL_VERIFY")
    os.environ["PXL_VERIFY"] = how
    try:
        yield
    finally:
        if before is None:
            del os.environ["PXL_VERIFY"]
        else:
            os.environ["PXL_VERIFY"] = before


def outputs(command, how, timeout=300):
    code, out, err = run(command, env={"PXL_VERIFY": how, **({} if mnist_folder() else {"PXL_DATA": "built-in"})}, timeout=timeout)
    return (code, out, err[-3000:])


def same(command):
    """Why a command prints something else where plans are read. The status may be that of a program that is refused."""
    plain, read = outputs(command, "1"), outputs(command, "text")
    if not plain[1]:
        return f"nothing is printed\n{plain[2]}"
    return None if plain == read else f"{plain[0]} {plain[1][-1500:]}{plain[2]}\nread:\n{read[0]} {read[1][-1500:]}{read[2]}"


def runs(command):
    """Why a command that prints times fails where plans are read."""
    code, out, err = outputs(command, "text")
    return None if code == 0 else f"{code} {out[-1500:]}{err}"


def text_tests(pxl, tally, every):
    """The language's tests, each of `every` one, and the goldens by plans that were read; then, of all, the examples, and the plans
    of the programs that are measured."""
    with verifying("text"):
        lang_tests(pxl, tally, every)
        golden_tests(pxl, tally, False)
    if every > 1:
        return
    jobs = [(f"examples/{name}.pxl, plans as text", lambda name=name, arguments=arguments: same([str(pxl), f"examples/{name}.pxl", "--quiet", *arguments]))
            for name, arguments in EXAMPLES.items()]
    jobs += [(f"{path.relative_to(ROOT)}, plans as text", lambda path=path: same([str(pxl), "schedule", str(path), "--plan"]))
             for folder in ("bench", "examples") for path in sorted((ROOT / folder).glob("*.pxl")) if path.stem not in UNPLANNED]
    jobs.append(("bench/image_nets.pxl, plans as text", lambda: runs([str(pxl), "bench/image_nets.pxl", "--steps", "1"])))
    for name, problem in parallel(jobs, 2):
        tally.add(name, problem)


def value_tests(pxl, tally):
    """The language's tests with each pass held to values."""
    with verifying("run"):
        lang_tests(pxl, tally)
