"""The Python module of a build, installed to a separate folder. The Python that it was built for runs python_checks.py."""
import json
import pathlib
import tempfile

from tests.library.installed import install
from tests.support.harness import ROOT, run

PYTHON = "/usr/bin/python3"  # has Debian's packages


def python_tests(build, add, skip, env=None):
    """`env` is added to the environment of the checks."""
    if not list((build / "python/pxl").glob("_pxl.*.so")):
        skip("python", "the module was not built (pybind11-dev, python3-dev)")
        return
    if run([PYTHON, "-c", "import numpy"])[0] != 0:
        skip("python", f"no numpy for {PYTHON} (python3-numpy)")
        return
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "prefix"
        install(build, prefix, ("libpxl1", "python3-pxl"), add, "python")
        package, library = next(prefix.rglob("pxl/__init__.py"), None), next(prefix.rglob("libpxl.so.*"), None)
        if not package or not library:
            add("python: installed", f"package {package}, library {library}")
            return
        code, out, err = run([PYTHON, str(ROOT / "tests/library/python_checks.py")], cwd=folder, timeout=1200,
                             env={"PYTHONPATH": str(package.parents[1]), "LD_LIBRARY_PATH": str(library.parent), "PYTHONDONTWRITEBYTECODE": "1", **(env or {})})
    add("python: checks run", None if code == 0 else f"exit status {code}\n{out[-1000:]}{err[-2000:]}")
    for line in out.splitlines():
        result = json.loads(line)
        if result["skipped"]:
            skip(f"python: {result['name']}", result["skipped"])
        else:
            add(f"python: {result['name']}", result["problem"])
