"""Files of data: against other programs, and damaged ones."""
import json
import pathlib
import random
import sys
import tempfile

from tests.runtime import format_bounds
from tests.support.harness import ROOT, TESTS, run
from tests.support.memory import within

PYTHON = "/usr/bin/python3"  # has Debian's packages
SAMPLES = {"out.npz": 'print(load("f.npz"))', "in.npz": 'print(load("f.npz"))', "in.png": 'print(load("f.png"))',
           "palette.png": 'print(load("f.png"))', "in.jpg": 'print(load("f.jpg"))', "in.wav": 'print(load("f.wav"))',
           "in.flac": 'print(load("f.flac"))', "in.ogg": 'print(load("f.ogg"))', "out.tsv": 'print(load("f.tsv"))',
           "in.csv": 'print(load("f.csv"))', "back.npy": 'print(load("f.npy"))', "in.safetensors": 'print(load("f.safetensors"))'}


def damaged(data, rng):
    """Cut short, with bytes changed, with a piece twice."""
    kind, at = rng.randrange(3), rng.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 5)):
            changed[rng.randrange(min(len(data), 200) if rng.random() < 0.7 else len(data))] = rng.randrange(256)
        return bytes(changed)
    return data[:at] + data[max(0, at - rng.randrange(1, 50)):]


def damaged_files(pxl, folder, tries, add):
    rng = random.Random(11)
    for name, text in SAMPLES.items():
        data, problem = (folder / name).read_bytes(), None
        script = folder / "damaged.pxl"
        script.write_text(text)
        for _ in range(tries):
            (folder / ("f" + pathlib.Path(name).suffix)).write_bytes(damaged(data, rng))
            # A small file must not become a large array.
            command, env = within(8, pxl, "damaged.pxl")
            code, out, err = run(command, timeout=60, cwd=folder, env=env)
            if code not in (0, 66) or (code == 66 and "f." not in err):
                kept = pathlib.Path(tempfile.mkdtemp(prefix="pxl_damaged_")) / name
                kept.write_bytes((folder / ("f" + pathlib.Path(name).suffix)).read_bytes())
                problem = f"exit status {code}, expected 0 or 66 with the file's name (kept in {kept}):\n{err[-800:]}"
                break
        add(f"formats: damaged {name}", problem)


def beside_peers(pxl, folder, script, told, add):
    """The checks of a script that runs other programs, which prints a line for each."""
    code, out, err = run([PYTHON, str(ROOT / "tests/runtime" / script), str(pxl), str(folder)], timeout=600)
    add(f"formats: {script} runs", None if code == 0 else err[-1500:])
    for line in out.splitlines():
        result = json.loads(line)
        add(f"formats: {result['name']} {told}", result["problem"])


def samples(pxl, folder, add, skip):
    """Whether the files of other programs could be made in the folder."""
    if run([PYTHON, "-c", "import numpy, PIL"])[0] != 0:
        skip("formats", f"no numpy or Pillow for {PYTHON} (python3-numpy, python3-pil)")
        return False
    beside_peers(pxl, folder, "formats_peers.py", "as other programs have them", add)
    return True


def random_tables(pxl, seconds, add):
    code, out, err = run([sys.executable, str(TESTS / "fuzz/tables.py"), "--pxl", str(pxl), "--seconds", str(seconds)], timeout=300)
    add("formats: random tables", None if code == 0 else (out + err)[-3000:])


def formats_tests(pxl, add, skip):
    random_tables(pxl, 1, add)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if samples(pxl, folder, add, skip):
            damaged_files(pxl, folder, 30, add)
            format_bounds.bounds_tests(pxl, folder, add)


def more_formats_tests(pxl, add, skip):
    random_tables(pxl, 30, add)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if samples(pxl, folder, add, skip):
            damaged_files(pxl, folder, 180, add)
        if run([PYTHON, "-c", "import torch"])[0] != 0:
            skip("formats: nets of Hugging Face", f"no torch for {PYTHON} (python3-torch)")
        else:
            beside_peers(pxl, folder, "huggingface_torch.py", "of a published file agrees with PyTorch", add)
