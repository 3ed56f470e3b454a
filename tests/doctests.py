"""The doctest programs of a build tree, one a layer of tests/unit."""
import os
import re

from harness import indent, parallel, run

# Programs of the layers that read texts and files.
READERS = ("unit_base", "unit_tensor", "unit_io", "unit_syntax")

SUMMARY = re.compile(r"test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")


def unit_tests(build, tally, names=()):
    programs = sorted(p for p in build.glob("unit_*") if os.access(p, os.X_OK) and p.is_file() and (not names or p.name in names))
    # Frames are several times larger under sanitizers; deep nesting is tested there as well.
    stack = ["bash", "-c", 'ulimit -s 65536; exec "$0" "$@"'] if build.name == "asan" else []
    if not programs:
        tally.add(f"unit ({build.name})", "no unit test programs were built")
    for name, (code, out, err) in parallel(
            [(p.name, lambda p=p: run([*stack, str(p), "--no-colors=true"], timeout=900)) for p in programs], 2):
        for line in (out + err).splitlines():
            if line.startswith("skipped"):
                print(line)
        found = SUMMARY.search(out)
        if found:
            tally.passed += int(found.group(2))
            tally.failed += int(found.group(3))
            if code != 0:
                if int(found.group(3)) == 0:
                    tally.failed += 1
                print(f"FAILED {name}\n{indent((out + err)[-6000:])}", flush=True)
        else:
            tally.add(name, f"exit status {code}, no summary\n{(out + err)[-4000:]}")
