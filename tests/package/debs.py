"""The Debian packages: dpkg installs each in a root with its dependencies alone (tests/package/root.py). It is used and
removed, and then the root is as it was."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from tests.package import root as roots
from tests.package.installed import install_tests, with_build_paths
from tests.support.harness import ROOT, run

NOTEBOOK = '''
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="pxl", startup_timeout=60)
client.execute("1 + 2")
while True:
    message = client.get_iopub_msg(timeout=60)
    if message["msg_type"] == "execute_result":
        print(message["content"]["data"]["text/plain"])
        break
client.stop_channels()
manager.shutdown_kernel(now=True)
'''
COMPLETION = ('. /usr/share/bash-completion/completions/pxl; COMP_WORDS=(pxl sch); COMP_CWORD=1; _pxl; echo "${COMPREPLY[@]}"')
LIBRARY, PYTHON = "/usr/share/doc/libpxl-dev/examples", "/usr/share/doc/python3-pxl/examples"
# The uses of each package: other installed packages besides its dependencies, and commands as (words, standard input,
# output).
USES = {
    "pxl": ([], [
        (["pxl", "-e", "from nn import Linear\nprint(Linear(3).create_graph(float32[2, 4])[1].name)"], "", "Linear_subgraph(0)\n"),
        (["pxl", "/usr/share/doc/pxl/examples/linear.pxl"], "", None),
        (["pxl", "check", "/usr/share/doc/pxl/examples"], "", ""),
        (["pxl"], "print(6 * 7)\n", "42\n"),
        (["bash", "-c", COMPLETION], "", "schedule\n"),
        (["sh", "-c", "zcat /usr/share/man/man1/pxl.1.gz | head -1 | cut -c1-9"], "", ".TH PXL 1\n"),
        (["sh", "-c", "pxl --version | grep -c '^line editor: libedit'"], "", "1\n")]),
    "pxl-mpi": (["openmpi-bin"], [
        (["sh", "-c", "echo 'print(7)' > /tmp/a.pxl && pxl --quiet --ranks 2 /tmp/a.pxl"], "", "7\n")]),
    "libpxl1": ([], [(["sh", "-c", "ldconfig -p | grep -c libpxl.so.1"], "", "1\n")]),
    "libpxl-dev": (["g++", "pkg-config", "cmake", "ninja-build"], [
        (["sh", "-c", f"cd /tmp && cmake -G Ninja -S {LIBRARY} -B built >/dev/null && cmake --build built >/dev/null && "
                      f"built/train {LIBRARY}/model.pxl by_cmake.safetensors | grep -c 'step 300: loss 0.0' && "
                      f"built/serve {LIBRARY}/model.pxl by_cmake.safetensors 200 && built/plain"], "", "1\n200 requests, 0 wrong answers\n10 20 30\n"),
        (["sh", "-c", f"cd /tmp && g++ -std=c++20 {LIBRARY}/train.cpp -o train $(pkg-config --cflags --libs pxl) && "
                      f"./train {LIBRARY}/model.pxl w.safetensors | grep -c 'step 300: loss 0.0'"], "", "1\n")]),
    "python3-pxl": ([], [
        (["python3", "-c", "import numpy, pxl; print(pxl.eval('x @ x.T', x=numpy.arange(3)))"], "", "5\n"),
        (["sh", "-c", f"cd /tmp && python3 {PYTHON}/train.py {PYTHON}/model.pxl w.safetensors | grep -c 'step 300: loss 0.0'"], "", "1\n")]),
    "pxl-jupyter": (["python3-jupyter-client"], [(["python3", "-c", NOTEBOOK], "", "3\n")]),
}


def field(deb, name):
    return subprocess.run(["dpkg-deb", "-f", str(deb), name], capture_output=True, text=True, check=True).stdout.strip()


def static_problems(deb, folder):
    """Checks the package's fields and files: no GPL library, no path of the checkout, documents in their places."""
    name, into = field(deb, "Package"), folder / deb.stem
    subprocess.run(["dpkg-deb", "-x", str(deb), str(into)], check=True)
    problems = with_build_paths(into)
    if "readline" in field(deb, "Depends"):
        problems.append(f"depends on {field(deb, 'Depends')}")
    problems += [f"missing: {doc}" for doc in ("copyright", "changelog.Debian.gz") if not (into / "usr/share/doc" / name / doc).is_file()]
    problems += [f"outside /usr: {p.relative_to(into)}" for p in into.iterdir() if p.name != "usr"]
    return "\n".join(problems) or None


def lint_problems(deb):
    code, out, err = run(["lintian", "--fail-on", "error", "--allow-root", str(deb)], timeout=300)
    return None if code == 0 else out + err


def life_problems(deb, debs, root):
    """Installs the package with those of ours that it needs, uses it, and removes all of them."""
    name = field(deb, "Package")
    extra, uses = USES.get(name, ([], []))
    ours = {field(d, "Package"): d for d in debs}

    def with_own(package):
        depends = field(ours[package], "Depends")
        names = [n for n in re.findall(r"(?:^|,)\s*([\w.+-]+)", depends) if n in ours]
        return [p for n in names for p in with_own(n)] + [package]

    wanted = list(dict.fromkeys(with_own(name)))
    foreign = [clause for p in wanted for clause in field(ours[p], "Depends").split(",") if re.split(r"[\s(]", clause.strip())[0] not in ours]
    root.add([*foreign, *extra])
    before, problems = root.files(), []
    for p in wanted:
        shutil.copy(ours[p], root.path / "tmp" / ours[p].name)
    code, out, err = root.run("dpkg", "-i", *(f"/tmp/{ours[p].name}" for p in wanted))
    if code != 0:
        return f"dpkg -i: {out}{err}"
    if not uses:
        problems.append(f"{name}: no row of USES says how it is used")
    for words, text, wanted_output in uses:
        code, out, err = root.run(*words, stdin=text)
        if code != 0 or (wanted_output is not None and out != wanted_output) or not (out or wanted_output == ""):
            problems.append(f"{' '.join(words)[:200]}: status {code}\n{out[-800:]}{err[-1500:]}")
    code, out, err = root.run("dpkg", "--purge", *wanted)
    if code != 0:
        problems.append(f"dpkg --purge: {out}{err}")
    after = root.files()
    problems += [f"left behind: {p}" for p in sorted(after.keys() - before.keys())]
    problems += [f"gone: {p}" for p in sorted(before.keys() - after.keys())]
    problems += [f"changed: {p}" for p in sorted(before.keys() & after.keys()) if before[p] != after[p]]
    return "\n".join(problems) or None


def deb_tests(tally):
    missing = [tool for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "file") if not shutil.which(tool)]
    if missing:
        return tally.skip("package: debs", f"no {', '.join(missing)} (scripts/setup --package)")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # The flags of the tested build, so that ccache has most of the objects.
        environment = {"DEBFULLNAME": "pxl tests", "DEBEMAIL": "tests@example.org"}
        code, out, err = run([str(ROOT / "scripts/package"), str(folder / "debs"), "-DPXL_WERROR=ON"], timeout=3000, env=environment)
        tally.add("package: scripts/package", None if code == 0 else (out + err)[-6000:])
        if code != 0:
            return
        # The root grows from one package to the next: those with few dependencies come first.
        order = list(USES)
        debs = sorted(map(pathlib.Path, out.splitlines()), key=lambda d: order.index(n) if (n := field(d, "Package")) in order else len(order))
        why_not = roots.why_not()
        with tempfile.TemporaryDirectory() as place:
            root = None if why_not else roots.Root(os.path.join(place, "root"))
            for deb in debs:
                package = field(deb, "Package")
                tally.add(f"package: {package}: files", lambda: static_problems(deb, folder))
                if shutil.which("lintian"):
                    tally.add(f"package: {package}: lintian", lambda: lint_problems(deb))
                else:
                    tally.skip(f"package: {package}: lintian", "lintian is missing")
                if root is None:
                    tally.skip(f"package: {package}: installed, used, removed", why_not)
                    continue
                tally.add(f"package: {package}: installed, used, removed", lambda: life_problems(deb, debs, root))


def package_tests(pxl, tally):
    install_tests(pxl, tally)
    deb_tests(tally)
