"""Trainings that are killed at a random step and started again: weights, draws, order of data and losses have the bits of
an uninterrupted run."""
import json
import pathlib
import random
import subprocess
import tempfile
import time

from tests.support.harness import TESTS, run

SCRIPT = TESTS / "runtime/killed_training.pxl"


def command(pxl, folder):
    return [str(pxl), str(SCRIPT), "--folder", str(folder)]


def steps_of(folder):
    """The observations, by line of the log."""
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def lines_in(log):
    return log.read_bytes().count(b"\n") if log.exists() else 0


def kill_at(pxl, folder, line):
    """Starts the training, and kills it when its log has so many lines. Whether it was killed before its end."""
    process = subprocess.Popen(command(pxl, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and lines_in(folder / "log.jsonl") < line:
        time.sleep(0.001)
    process.kill()
    return process.wait() == -9


def killed_problem(pxl, folder, reference, draw):
    kills = 0
    for _ in range(draw.randint(1, 2)):
        line = lines_in(folder / "log.jsonl") + draw.randint(1, len(reference) // 2)
        kills += kill_at(pxl, folder, line)
    code, _, err = run(command(pxl, folder), timeout=120)
    if code:
        return f"exit status {code}\n{err}"
    if kills == 0:
        return "the training ended before it was killed"
    seen = steps_of(folder)
    wrong = [row["step"] for row in seen if row != reference[row["step"] - 1]]
    missing = set(range(1, len(reference) + 1)) - {row["step"] for row in seen}
    if wrong or missing:
        return f"steps {wrong} differ, and steps {sorted(missing)} were not seen"
    return None


def killed_tests(pxl, add, times):
    with tempfile.TemporaryDirectory() as parent:
        whole = pathlib.Path(parent) / "whole"
        whole.mkdir()
        code, _, err = run(command(pxl, whole), timeout=120)
        reference = [] if code else steps_of(whole)
        draw = random.Random(11)
        for i in range(times):
            folder = pathlib.Path(parent) / str(i)
            folder.mkdir()
            problem = f"exit status {code}\n{err}" if code else killed_problem(pxl, folder, reference, draw)
            if not problem and (folder / "end.safetensors").read_bytes() != (whole / "end.safetensors").read_bytes():
                problem = "the variables, positions and generators at the end differ"
            add(f"a training that is killed, {i + 1}", problem)
