"""Each source file by itself through clang, without generating code. Builds compile the files of a layer in batches, where a
file could use what another one includes; and warnings of clang are errors as those of g++ are."""
import json
import os
import re
import shlex

from tests.support.harness import ROOT, parallel, run

PRESET = "separate"


def separate_tests(tally):
    folder = ROOT / "build" / PRESET
    code, out, err = run(["cmake", "--preset", PRESET], timeout=300)
    if code == 0:
        # The parser's header is generated; all else that a file includes is in the repository.
        targets = run(["ninja", "-C", str(folder), "-t", "targets", "all"])[1].split("\n")
        names = [t.split(":")[0] for t in targets if re.match(r"grammar/[^:]*: CUSTOM_COMMAND", t)]
        code, out, err = run(["ninja", "-C", str(folder), *names], timeout=300)
    if code != 0:
        tally.add(f"build {PRESET}", (out + err)[-3000:])
        return
    jobs = []
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        path = os.path.relpath(entry["file"], ROOT)
        if not path.startswith(("runtime/", "interpreter/")):
            continue
        words = shlex.split(entry["command"])
        command = [w for i, w in enumerate(words) if w not in ("-c", "-o") and words[i - 1] != "-o"]
        jobs.append((path, lambda c=command, d=entry["directory"]: run([*c, "-fsyntax-only"], cwd=d, timeout=600)))
    tally.add("separate: there are files", None if len(jobs) > 100 else f"only {len(jobs)} files")
    for path, (code, out, err) in parallel(jobs, os.cpu_count() or 2):
        tally.add(f"separate {path}", None if code == 0 else (out + err)[-3000:])
