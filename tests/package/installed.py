"""The files of `cmake --install` below a prefix are complete, work there, do not name the build folder, and are gone with
the manifest."""
import json
import os
import pathlib
import re
import shutil
import tempfile

from tests.support.harness import ROOT, run

EXPECTED = ["bin/pxl", "share/man/man1/pxl.1", "share/bash-completion/completions/pxl", "share/zsh/site-functions/_pxl",
            "share/fish/vendor_completions.d/pxl.fish", "share/vim/vimfiles/syntax/pxl.vim", "share/vim/vimfiles/ftdetect/pxl.vim",
            "share/mime/packages/pxl.xml", "share/doc/pxl/examples/mnist.pxl", "share/doc/pxl/CHANGELOG.md",
            *(f"share/pxl/{p.relative_to(ROOT)}" for p in (ROOT / "stdlib").rglob("*.pxl"))]


def files_below(folder):
    return sorted(p for p in folder.rglob("*") if p.is_file() or p.is_symlink())


def with_build_paths(folder):
    """The files that name the checkout."""
    return [f"{p.relative_to(folder)} names {ROOT}" for p in files_below(folder) if p.is_file() and str(ROOT).encode() in p.read_bytes()]


def problems_of(build, prefix):
    problems = [f"missing: {name}" for name in EXPECTED if not (prefix / name).is_file()]
    problems += with_build_paths(prefix)
    pxl, outside = prefix / "bin/pxl", {"cwd": prefix, "env": {"PATH": "/usr/bin:/bin", "PXL_DATA": "built-in"}}
    (prefix / "one.pxl").write_text("from nn import Linear\nprint(1 + 2)\n")

    def expect(what, outcome, status, out=None, err=""):
        if outcome[0] != status or (out is not None and outcome[1] != out) or err not in outcome[2]:
            problems.append(f"{what}: status {outcome[0]}, expected {status}\n{outcome[1][-500:]}{outcome[2][-1500:]}")

    expect("a script", run([pxl, "one.pxl"], **outside), 0, "3\n")
    expect("version", run([pxl, "--version"], **outside), 0)
    if (build / "pxl-mpi.so").is_file() and shutil.which("mpirun"):
        expect("two processes", run([pxl, "--quiet", "--ranks", "2", "one.pxl"], **outside), 0, "3\n")
    if (build / "pxl-kernel").is_file():
        argv = json.loads((prefix / "share/jupyter/kernels/pxl/kernel.json").read_text())["argv"]
        if argv != [str(pxl), "kernel", "-f", "{connection_file}"]:
            problems.append(f"kernel.json starts {argv}")
        # The kernel's own words: it was found and started.
        expect("the kernel", run([pxl, "kernel", "-f", "nothing.json"], **outside), 1, err="pxl-kernel:")
    (prefix / "one.pxl").unlink()
    return problems


def install_test(build):
    with tempfile.TemporaryDirectory() as folder:
        prefix, manifest = pathlib.Path(folder) / "prefix", build / "install_manifest.txt"
        code, out, err = run(["cmake", "--install", str(build), "--prefix", str(prefix)])
        if code != 0:
            return (out + err)[-3000:]
        problems = problems_of(build, prefix)
        for line in manifest.read_text().splitlines():
            if not line.startswith(str(prefix)):
                problems.append(f"installed outside the prefix: {line}")
            elif os.path.lexists(line):
                os.unlink(line)
        return "\n".join(problems + [f"not in the manifest: {p}" for p in files_below(prefix)]) or None


def staged_test(build):
    """With DESTDIR the files are below it, and say where they will be."""
    with tempfile.TemporaryDirectory() as folder:
        code, out, err = run(["cmake", "--install", str(build), "--prefix", "/opt/somewhere"], env={"DESTDIR": folder})
        if code != 0:
            return (out + err)[-3000:]
        there = pathlib.Path(folder) / "opt/somewhere"
        named = [p for p in files_below(there) if folder.encode() in p.read_bytes()]
        spec = there / "share/jupyter/kernels/pxl/kernel.json"
        if spec.is_file() and json.loads(spec.read_text())["argv"][0] != "/opt/somewhere/bin/pxl":
            named.append(spec)
        return "\n".join(f"{p} names the folder of staging" for p in named) or None


def release_test():
    """scripts/release refuses what is no release, and its archive knows its commit."""
    with tempfile.TemporaryDirectory() as folder:
        clone = pathlib.Path(folder) / "pxl"

        def git(*words):
            return run(["git", "-C", str(clone), "-c", "user.name=test", "-c", "user.email=test@example.org", *words])

        def release():
            return run([str(clone / "scripts/release"), "--no-tests", folder], cwd=clone)

        code, out, err = run(["git", "clone", "-q", "--depth", "1", f"file://{ROOT}", str(clone)])
        if code != 0:
            return err
        for name in ("CHANGELOG.md", "CMakeLists.txt", "scripts/release", ".gitattributes", "cmake/commit.txt", "cmake/version_texts.cmake"):
            shutil.copy(ROOT / name, clone / name)
        git("add", "-A"), git("commit", "-q", "--allow-empty", "-m", "as it is here")
        problems = []
        version = re.search(r"^project\(pxl VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)
        code, out, err = release()
        archive = pathlib.Path(folder) / f"pxl-{version}.tar.gz"
        if code != 0 or not archive.is_file():
            return out + err
        commit = git("log", "-1", "--format=%h")[1].strip()
        run(["tar", "-C", folder, "-xzf", str(archive)])
        run(["cmake", f"-DOUT={folder}/commit.cpp", f"-DSOURCE={folder}/pxl-{version}", "-P", f"{folder}/pxl-{version}/cmake/version_texts.cmake"])
        if f'return "{commit}"' not in (pathlib.Path(folder) / "commit.cpp").read_text():
            problems.append(f"the archive does not know its commit {commit}")

        def refuses(what, change, words):
            change()
            code, out, err = release()
            if code != 1 or words not in err:
                problems.append(f"{what}: status {code}, expected 1 and `{words}`\n{err[-500:]}")
            git("reset", "-q", "--hard"), git("clean", "-qfd")

        def edit(name, old, new):
            text = (clone / name).read_text()
            assert old in text, (name, old)
            (clone / name).write_text(text.replace(old, new, 1))

        refuses("a file that is not committed", lambda: (clone / "new.txt").write_text(""), "uncommitted changes")
        refuses("another version", lambda: edit("CMakeLists.txt", f"VERSION {version}", "VERSION 99.0.0"), "the first heading is")
        refuses("a version without a day", lambda: edit("CHANGELOG.md", f"## {version} (2", f"## {version} (soon 2"), "the first heading is")
        refuses("a day to come", lambda: edit("CHANGELOG.md", f"## {version} (20", f"## {version} (30"), "still to come")
        git("tag", f"v{version}")
        refuses("a released version", lambda: None, "exists")
        git("tag", "-d", f"v{version}"), git("tag", "v99.0.0")
        refuses("an earlier version", lambda: None, "earlier than the released 99.0.0")
        return "\n".join(problems) or None


def install_tests(pxl, tally):
    tally.add("package: cmake --install", lambda: install_test(pxl.parent))
    tally.add("package: cmake --install with DESTDIR", lambda: staged_test(pxl.parent))
    tally.add("package: scripts/release", release_test)
