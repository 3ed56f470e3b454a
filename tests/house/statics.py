"""No static of the library has a destructor: `exit` would run it while other threads of a host program load and run programs.
A static of a thread has one only if the library may use the static afterwards."""
import pathlib
import re
import tempfile

from tests.support.harness import ROOT, needs, run

# The layers of libpxl, but for ANTLR's code, whose statics are made before the first call (interpreter/api/running_call.cpp).
LIBRARY = ["base", "tensor", "kernels", "op", "graph", "ops", "reference", "tiles", "plan", "execute", "io", "onnx", "syntax", "translate", "language",
           "elaborate", "builtins", "tools", "api"]
# What <iostream> leaves in each file that includes it: it flushes streams, which stay usable.
HARMLESS = "std::ios_base::Init::~Init()"
# Destructors of a thread's statics: a class `End` notes that its thread ended (of_thread, object_memory). The others are
# of statics that no destructor uses: the slot of a running call, the signal stack, what ended a glob, shapes of xtensor.
# A destructor without a symbol of its own has no name here, and passes.
THREADS = re.compile(r"^a destructor$|xt::svector<.*>::~svector\(\)|::End::~End\(\)|Slot::~Slot\(\)|SignalStack::~SignalStack\(\)|exception_ptr::~exception_ptr\(\)")
# Relocations before the one of the call that registers a destructor: the destructor, the static, the library.
BEFORE = 4


def destructors(objects):
    """The statics with destructors in an object or an archive: where they are made, and their destructors."""
    code, out, err = run(["objdump", "--reloc", "--demangle", str(objects)])
    if code != 0:
        return [err]
    found, section, last = [], "", []
    for line in out.splitlines():
        if m := re.match(r"RELOCATION RECORDS FOR \[(.*)\]:", line):
            section, last = m.group(1), []
        elif m := re.match(r"[0-9a-f]+ R_(\w+)\s+(.*?)(?:[+-]0x[0-9a-f]+)?$", line):
            if m.group(2) in ("__cxa_atexit", "__cxa_thread_atexit"):
                destructor = next((name for name in last[-BEFORE:] if "~" in name), "a destructor")
                if not (THREADS.search(destructor) if "thread" in m.group(2) else destructor == HARMLESS):
                    found.append(f"{section.removeprefix('.text.') if section != '.text' else 'a function'}: {destructor}")
            last.append("a call" if "PLT32" in m.group(1) else m.group(2))  # what is called there is not registered
    return found


def of_library(build):
    problems = []
    for layer in LIBRARY:
        path = build / f"libpxl_{layer}.a"
        problems += [f"{path.name}: {found}; use runtime/base/never_destroyed.hpp" for found in destructors(path)] if path.is_file() else [f"no {path}"]
    return "\n".join(problems) or None


PLANTED = """#include <iostream>
#include <vector>
#include "runtime/base/never_destroyed.hpp"
const std::vector<int>& kept() { static const auto& all = pxl::never_destroyed(std::vector<int>{1, 2}); return all; }
std::vector<int>& of_this_thread() { return pxl::of_thread<std::vector<int>>(); }
"""
OFFENDERS = ["std::vector<int>& reused() { static thread_local std::vector<int> all; return all; }\n",
             "const std::vector<int>& words() { static const std::vector<int> all = {1, 2}; return all; }\n", "const std::vector<int> global = {1, 2};\n"]


def planted():
    """The check finds a static of each kind, and accepts what it recommends."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number, (offender, wanted) in enumerate([("", 0), *((o, 1) for o in OFFENDERS)]):
            source, made = folder / f"{number}.cpp", folder / f"{number}.o"
            source.write_text(PLANTED + offender)
            code, _, err = run(["g++", "-std=c++20", "-O1", "-fPIC", f"-I{ROOT}", "-c", str(source), "-o", str(made)])
            if code != 0:
                return err
            if len(found := destructors(made)) != wanted:
                return f"{offender or 'what is allowed'}: {found}"
    return None


def static_tests(tally, build):
    tally.add("house: no static of the library has a destructor", lambda: of_library(build))
    tally.add("house: a planted static with a destructor is found", planted)
