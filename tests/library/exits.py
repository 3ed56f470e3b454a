"""`exit` in one thread of a host program while others load, evaluate and run: the process ends well.

    python3 tests/library/exits.py --processes 200
"""
import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.support.harness import ROOT, needs, parallel, run  # noqa: E402

SOURCE = ROOT / "tests/library/exits.cpp"


def failures(program, processes):
    """How processes end that call `exit` after 1, 24, 47 ... ms, where they do not end well."""
    ended = parallel([(ms, lambda ms=ms: run([str(program), str(ms)], timeout=120)[0]) for ms in range(1, 23 * processes, 23)], 2)
    return [f"after {ms} ms: exit status {code}" for ms, code in ended if code != 0]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--processes", type=int, default=200)
    arguments.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    asked = arguments.parse_args()
    needs("g++")
    with tempfile.TemporaryDirectory() as name:
        program = pathlib.Path(name) / "exits"
        code, _, err = run(["g++", "-std=c++20", "-O1", f"-I{ROOT}/include", str(SOURCE), "-o", str(program), f"-L{asked.build}", "-lpxl",
                            f"-Wl,-rpath,{asked.build.resolve()}", "-pthread"])
        if code != 0:
            sys.exit(err)
        bad = failures(program, asked.processes)
    print("\n".join([*bad, f"{asked.processes} processes, {len(bad)} that did not end well"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
