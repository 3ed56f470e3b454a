"""libpxl, installed to a folder of its own: what it exports, programs in C and C++ that are built against it, how it behaves."""
import os
import pathlib
import re
import shutil
import tempfile

from tests.library import exits
from tests.support.harness import ROOT, run

# Headers may be used by programs that have nothing but the standard library and this one.
INCLUDES = re.compile(r'^#\s*include\s+(.+)$', re.M)
MAY_INCLUDE = re.compile(r'"pxl/\w+\.hp?p?"|<[a-z_]+(\.h)?>')


def exported(library):
    code, out, err = run(["nm", "-D", "--defined-only", "--demangle", str(library)])
    symbols = [line.split(" ", 2)[2] for line in out.splitlines() if line.count(" ") >= 2]
    # The version of the symbols is a symbol too.
    others = [s for s in symbols if not re.match(r"(pxl::v1::|pxl_\w+@|PXL_\d)", s)]
    if code != 0 or len(symbols) < 50:
        return f"{len(symbols)} symbols\n{err}"
    return f"{len(others)} symbols that are no part of the interface, such as {others[:5]}" if others else None


def heap(library):
    """Memory that the library returns is freed by the caller's operator delete: it takes it from the same operator new."""
    code, out, err = run(["nm", "-D", "--undefined-only", str(library)])
    return None if " _Znwm@" in out else "no use of the process's operator new"


def soname(library):
    code, out, err = run(["readelf", "-d", str(library)])
    return None if "Library soname: [libpxl.so.1]" in out else out + err


def headers(prefix):
    problems = []
    for header in sorted((prefix / "include/pxl").iterdir()):
        bad = [i for i in INCLUDES.findall(header.read_text()) if not MAY_INCLUDE.fullmatch(i.strip())]
        if bad:
            problems.append(f"{header.name} includes {bad}")
        for compiler in (["gcc", "-std=c99"], ["g++", "-std=c++20"]) if header.suffix == ".h" else (["g++", "-std=c++20"],):
            language = "c" if compiler[0] == "gcc" else "c++"
            code, _, err = run([*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{prefix}/include", "-x", language, "-"],
                               stdin=f'#include "pxl/{header.name}"\nint unused;\n')
            if code != 0:
                problems.append(f"{header.name} by itself:\n{err[-1500:]}")
    return "\n".join(problems) or None


def cmake_examples(prefix, folder, add, env=None):
    """The examples as a project of their own, by find_package; `env` is what they run with."""
    build = folder / "examples"
    code, out, err = run(["cmake", "-S", str(ROOT / "examples/library"), "-B", str(build), "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"])
    if code == 0:
        code, out, err = run(["cmake", "--build", str(build)], timeout=600)
    add("library: examples by find_package", None if code == 0 else (out + err)[-3000:])
    if code != 0:
        return
    model, weights = ROOT / "examples/library/model.pxl", folder / "model.safetensors"
    for command, wanted in (([build / "train", model, weights], "step 300: loss 0.0"), ([build / "serve", model, weights, "2000"], "2000 requests, 0 wrong answers\n"),
                            ([build / "plain"], "10 20 30\n")):
        code, out, err = run([str(c) for c in command], cwd=folder, timeout=300, env=env)
        add(f"library: example {command[0].name}", None if code == 0 and wanted in out else f"exit status {code}, expected {wanted!r}\n{out}{err}")


def by_pkg_config(prefix, folder, sources, name):
    pc = next(prefix.rglob("pxl.pc")).parent
    code, flags, err = run(["pkg-config", "--cflags", "--libs", "pxl"], env={"PKG_CONFIG_PATH": str(pc)})
    if code != 0:
        return None, err
    compiler = ["gcc", "-std=c99"] if sources.suffix == ".c" else ["g++", "-std=c++20", "-pthread"]
    program = folder / name
    code, out, err = run([*compiler, str(sources), "-o", str(program), *flags.split(), f"-Wl,-rpath,{pc.parent}"], timeout=600)
    return (program, None) if code == 0 else (None, err[-3000:])


def behaviour(prefix, folder, env=None):
    program, problem = by_pkg_config(prefix, folder, ROOT / "tests/library/behaviour.cpp", "behaviour")
    if problem:
        return problem
    code, out, err = run([str(program)], cwd=folder, timeout=600, env=env)
    return None if code == 0 else f"exit status {code}\n{out}{err}"[-3000:]


def end_of_a_process(prefix, folder):
    program, problem = by_pkg_config(prefix, folder, exits.SOURCE, "exits")
    return problem or "\n".join(exits.failures(program, 24)) or None


def install(build, prefix, components, add, kind):
    for component in components:
        code, out, err = run(["cmake", "--install", str(build), "--prefix", str(prefix), "--component", component])
        add(f"{kind}: install {component}", None if code == 0 else out + err)


def sanitizer_environment(build):
    """The environment of a program without sanitizers that loads a library with them. Their run-time library must be loaded
    first, together with the C++ library, whose exceptions it watches."""
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)[1]
    libraries = [run([compiler, f"-print-file-name={name}"])[1].strip() for name in ("libasan.so", "libstdc++.so.6")]
    # Values of a script may hold each other in a ring, which lives as long as the process, as does what Python keeps.
    # Freed memory stays in quarantine for a while, which checks of memory take for leaks.
    return {"LD_PRELOAD": ":".join(libraries), "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=16"}


def sanitized_tests(build, add):
    """The examples and the behaviour of a library with sanitizers."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        install(build, folder / "prefix", ("libpxl1", "libpxl-dev"), add, "sanitized library")
        env = sanitizer_environment(build)
        cmake_examples(folder / "prefix", folder, lambda test, problem: add(f"sanitized {test}", problem), env)
        add("sanitized library: behaviour", lambda: behaviour(folder / "prefix", folder, env))


def quoted_files(page):
    """Blocks after `<!-- file: PATH -->` are that file."""
    blocks = re.findall(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```", page.read_text(), re.S)
    wrong = [path for path, text in blocks if text != (ROOT / path).read_text()]
    return f"{page.name} does not quote {', '.join(wrong)} as it is" if wrong or not blocks else None


def library_tests(build, add, skip):
    add("library: files in the page", lambda: quoted_files(ROOT / "docs/library.md"))
    if not (build / "libpxl.so").exists():
        add("library: built", f"no libpxl.so in {build}")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prefix = folder / "prefix"
        install(build, prefix, ("libpxl1", "libpxl-dev"), add, "library")
        library = next(prefix.rglob("libpxl.so"), None)
        if not library:
            add("library: installed", "no libpxl.so")
            return
        add("library: exports", lambda: exported(library))
        add("library: heap", lambda: heap(library))
        add("library: soname", lambda: soname(library))
        add("library: headers", lambda: headers(prefix))
        cmake_examples(prefix, folder, add)
        # The tree may be moved: nothing installed says where it was.
        moved = folder / "moved"
        shutil.move(prefix, moved)
        program, problem = by_pkg_config(moved, folder, ROOT / "examples/library/plain.c", "plain")
        add("library: pkg-config, moved", problem or (lambda r: None if r[1] == "10 20 30\n" else str(r))(run([str(program)])))
        add("library: behaviour", lambda: behaviour(moved, folder))
        add("library: the end of a process", lambda: end_of_a_process(moved, folder))
