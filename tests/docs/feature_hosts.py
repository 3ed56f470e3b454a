"""Programs for the table of features in Python, in C++ and in a notebook: one process of each runs them all.

A job is (name, text, drive): the text is a file of pxl, and the drive is code of the host that prints lists of numbers by `show`.
Results are the printed lists by the job's name, or the text of the error.
"""
import json
import pathlib
import tempfile

from tests.support.harness import Unavailable, run

PYTHON = "/usr/bin/python3"  # has Debian's packages
MARK = "== "

IN_PYTHON = """
import json, sys
import numpy as np
import pxl
def show(values):
    print(np.asarray(values, dtype=float).ravel().tolist())
for name, text, drive in json.load(sys.stdin):
    print("== " + name)
    try:
        exec(drive, {"m": pxl.from_text(text, title=name), "pxl": pxl, "np": np, "show": show})
    except Exception as e:
        print("error:", e)
"""

IN_CPP = """#include <iostream>
#include <pxl/pxl.hpp>
using V = std::vector<float>;
void show(const std::vector<double>& numbers) {
  std::cout << "[";
  for (size_t i = 0; i < numbers.size(); ++i) std::cout << (i ? ", " : "") << numbers[i];
  std::cout << "]\\n";
}
void show(const pxl::Array& a) {
  const auto values = a.values<float>();
  show(std::vector<double>(values.begin(), values.end()));
}
void show(const pxl::Value& v) {
  if (const auto* array = v.as<pxl::Array>()) return show(*array);
  std::vector<double> numbers;
  for (const pxl::Value& item : *v.as<pxl::List>()) numbers.push_back(static_cast<double>(*item.as<int64_t>()));
  show(numbers);
}
void attempt(const char* name, const char* text, void (*drive)(pxl::Program&)) {
  std::cout << "== " << name << "\\n";
  try {
    pxl::Program m = pxl::Program::from_text(text, {}, name).value();
    drive(m);
  } catch (const pxl::BadResult& failed) {
    std::cout << "error: " << failed.what() << "\\n";
  }
}
"""

IN_NOTEBOOK = """
import json, sys
from jupyter_client import KernelManager
km = KernelManager(kernel_name="pxl")
km.start_kernel()
kc = km.client()
kc.start_channels()
kc.wait_for_ready(timeout=60)
for name, text, drive in json.load(sys.stdin):
    print("== " + name)
    def printed(message):
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            sys.stdout.write(message["content"]["text"])
    reply = kc.execute_interactive(text + drive, timeout=600, output_hook=printed, stop_on_error=False)["content"]
    if reply["status"] != "ok":
        print("error:", "\\n".join(reply["traceback"]))
kc.stop_channels()
km.shutdown_kernel()
"""


def results(outcome):
    code, out, err = outcome
    parts = {}
    for line in out.splitlines():
        if line.startswith(MARK):
            parts[lines := line[len(MARK):]] = []
            name = lines
        elif line.strip():
            parts[name].append(line)
    if code != 0:
        raise RuntimeError(f"exit status {code}\n{out[-1000:]}{err[-3000:]}")
    return {n: "\n".join(lines) if any(not line.startswith("[") for line in lines) else [json.loads(line) for line in lines] for n, lines in parts.items()}


def in_python(build, jobs, folder):
    if not list((build / "python/pxl").glob("_pxl.*.so")):
        raise Unavailable("the Python module was not built (pybind11-dev, python3-dev)")
    if run([PYTHON, "-c", "import numpy"])[0] != 0:
        raise Unavailable(f"no numpy for {PYTHON} (python3-numpy)")
    return results(run([PYTHON, "-c", IN_PYTHON], cwd=folder, stdin=json.dumps(jobs), env={"PYTHONPATH": str(build / "python")}))


def in_cpp(build, jobs, folder):
    if not (build / "libpxl.so").exists():
        raise Unavailable("the library was not built")
    drives = "".join(f"void drive_{i}(pxl::Program& m) {{\n{drive}\n}}\n" for i, (_, _, drive) in enumerate(jobs))
    calls = "".join(f"  attempt({json.dumps(name)}, {json.dumps(text)}, drive_{i});\n" for i, (name, text, _) in enumerate(jobs))
    source = pathlib.Path(folder) / "features.cpp"
    source.write_text(IN_CPP + drives + "int main() {\n" + calls + "}\n")
    include = pathlib.Path(__file__).resolve().parents[2] / "include"
    code, _, err = run(["g++", "-std=c++20", "-O0", f"-I{include}", str(source), "-o", str(source.with_suffix("")), f"-L{build}", "-lpxl", f"-Wl,-rpath,{build}"])
    if code != 0:
        raise RuntimeError(err[:3000])
    return results(run([str(source.with_suffix(""))], cwd=folder))


def in_notebook(build, jobs, folder):
    if not (build / "pxl-kernel").exists():
        raise Unavailable("the kernel was not built (xeus-dev, xeus-zmq-dev)")
    if run([PYTHON, "-c", "import jupyter_client"])[0] != 0:
        raise Unavailable(f"no jupyter_client for {PYTHON} (python3-jupyter-client)")
    kernels = pathlib.Path(folder) / "kernels/pxl"
    kernels.mkdir(parents=True)
    (kernels / "kernel.json").write_text(json.dumps({"argv": [str(build / "pxl-kernel"), "-f", "{connection_file}"], "display_name": "pxl", "language": "pxl"}))
    return results(run([PYTHON, "-c", IN_NOTEBOOK], cwd=folder, stdin=json.dumps(jobs), env={"JUPYTER_PATH": str(folder), "NO_COLOR": "1"}))


HOSTS = {"Python": in_python, "C++": in_cpp, "notebook": in_notebook}


def printed_by_host(build, jobs, files):
    """The results of the jobs by host: a dict by name, or what kept the host from running. The files are in the folder of the jobs."""
    found = {}
    for host, of_host in jobs.items():
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                (pathlib.Path(folder) / name).write_text(text)
            try:
                found[host] = HOSTS[host](build, of_host, folder)
            except (Unavailable, RuntimeError) as problem:
                found[host] = problem
    return found
