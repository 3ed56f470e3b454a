"""The doctest programs of a build tree, one a layer of tests/unit."""
import os
import re

from tests.support.harness import LIMIT, indent, parallel, run

SUMMARY = re.compile(r"test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")


def unit_tests(build, tally):
    programs = sorted(p for p in build.glob("unit_*") if os.access(p, os.X_OK) and p.is_file())
    if not programs:
        tally.add(f"unit ({build.name})", "no unit test programs were built")
    for name, (code, out, err) in parallel(
            [(p.name, lambda p=p: run([str(p), "--no-colors=true"], timeout=5 * LIMIT)) for p in programs], 2):
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
