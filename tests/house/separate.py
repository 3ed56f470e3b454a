"""All files of a layer as one through clang, and each source file by itself, without generating code. Builds compile the
files of a layer in batches, where a file could use what another one includes, or two could give one name to different things,
which shows as soon as a new file moves them into one batch; and warnings of clang are errors as those of g++ are."""
import collections
import json
import os
import re
import shlex

from tests.support.harness import ROOT, needs, needs_compiler_of, parallel, run

PRESET = "separate"


def sources(tally):
    """The files that are compiled, as (target and options, path, folder, command); none where the parser can't be made."""
    needs_compiler_of(PRESET)
    folder = ROOT / "build" / PRESET
    code, out, err = run(["cmake", "--preset", PRESET], timeout=300)
    if code == 0:
        # The parser's header is generated; all else that a file includes is in the repository.
        targets = run(["ninja", "-C", str(folder), "-t", "targets", "all"])[1].split("\n")
        names = [t.split(":")[0] for t in targets if re.match(r"grammar/[^:]*: CUSTOM_COMMAND", t)]
        code, out, err = run(["ninja", "-C", str(folder), *names], timeout=300)
    if code != 0:
        tally.add(f"build {PRESET}", (out + err)[-3000:])
        return []
    found = []
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        path = os.path.relpath(entry["file"], ROOT)
        if not path.startswith(("runtime/", "interpreter/")):
            continue
        words = shlex.split(entry["command"])
        command = [w for i, w in enumerate(words) if w not in ("-c", "-o") and words[i - 1] != "-o"]
        own = [w for w in command if not w.endswith(path)]
        found.append(((re.search(r"CMakeFiles/([\w-]+)\.dir", entry["command"]).group(1), *own), path, entry["directory"], command))
    tally.add("separate: there are files", None if len(found) > 100 else f"only {len(found)} files")
    return found


def compile_all(jobs, tally):
    for path, (code, out, err) in parallel(jobs, os.cpu_count() or 2):
        tally.add(f"separate {path}", None if code == 0 else (out + err)[-3000:])


def each_tests(tally):
    """Each file by itself."""
    compile_all([(path, lambda c=command, d=folder: run([*c, "-fsyntax-only"], cwd=d)) for _, path, folder, command in sources(tally)], tally)


def separate_tests(tally):
    """The files of each layer as one."""
    jobs, layers = [], collections.defaultdict(list)
    for target, path, folder, _ in sources(tally):
        layers[target].append((path, folder))
    # Most files of a layer have its options; those with options of their own are in no batch.
    batched = {}
    for (layer, *own), files in sorted(layers.items(), key=lambda item: len(item[1])):
        batched[layer] = own, files
    batched = {layer: found for layer, found in batched.items() if len(found[1]) > 1}
    for layer, (own, files) in batched.items():
        text = "".join(f'#include "{ROOT / path}"\n' for path, _ in files)
        jobs.append((f"{layer} as one file",
                     lambda c=own, d=files[0][1], t=text: run([*c, "-fsyntax-only", "-x", "c++", "-"], cwd=d, stdin=t)))
    tally.add("separate: there are layers", None if len(batched) > 10 else f"only {len(batched)} layers")
    compile_all(jobs, tally)


# One file of each layer, those that read foreign bytes first: all files take the better part of an hour.
TIDY = ["runtime/io/npy.cpp", "runtime/io/idx.cpp", "runtime/execute/checkpoints/checkpoint.cpp", "interpreter/syntax/literals.cpp",
        "runtime/tensor/array.cpp", "runtime/graph/verify.cpp", "runtime/ops/infer.cpp", "runtime/plan/storage.cpp",
        "interpreter/values/text/strings.cpp", "interpreter/cli/options.cpp"]


def tidy_tests(tally):
    """The findings of clang-tidy in some files."""
    needs("clang-tidy-14")
    command = ["clang-tidy-14", "-p", str(ROOT / "build" / PRESET), "--quiet"]
    jobs = [(path, lambda p=path: run([*command, p])) for path in TIDY] if sources(tally) else []
    for name, (code, out, err) in parallel(jobs, os.cpu_count() or 2):
        tally.add(f"tidy {name}", None if code == 0 else "\n".join(l for l in out.splitlines() if re.search(r": (warning|error): ", l)) or out + err)
