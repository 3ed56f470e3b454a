"""Plans agree on what fits: more memory and half of a batch never refuse, more plans are never slower, remedies hold."""

import re
import subprocess
import tempfile

from tests.support.harness import ROOT, Unavailable, shared_folder

NETS = ("mlp", "conv", "encoder")
STEP = ROOT / "tests/model/training_step.pxl"


class Plan:
    """The output of `pxl profile` for a training step's plan on 16 tiles."""

    def __init__(self, pxl, net, batch, memory=None, *flags):
        machine = "mk2,tiles=16" + (f",memory={memory},executable={memory}" if memory else "")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([str(pxl), "profile", "--machine", machine, *flags, str(STEP), "--net", net, "--batch", str(batch)],
                                  capture_output=True, text=True, timeout=120, cwd=folder)
        if done.returncode:
            raise RuntimeError(done.stderr)
        self.text = done.stdout
        self.fits = "does not fit" not in done.stdout
        self.bytes = int(re.search(r"fullest tile \d+: ([\d,]+) bytes", done.stdout)[1].replace(",", ""))
        cycles = re.search(r"^ +([\d,]+) cycles a run", done.stdout, re.M)
        self.cycles = int(cycles[1].replace(",", "")) if self.fits else None

    def remedies(self):
        """(cycles, flags) of each remedy that fits and is flags of the command."""
        found = re.findall(r"^ +fits +([\d,]+) cycles a run .*?(?:\((--[^)]*)\)|(--batch \d+))$", self.text, re.M)
        return [(int(cycles.replace(",", "")), (a or b).split()) for cycles, a, b in found]


def memories(pxl, net, steps):
    """Memories around the least with which the step fits, ascending."""
    need = Plan(pxl, net, 16).bytes
    return [need * (55 + 60 * i // steps) // 100 for i in range(steps + 1)]


def more_memory_problem(pxl, net, steps):
    least = None
    for memory in memories(pxl, net, steps):
        fits = Plan(pxl, net, 16, memory).fits
        if least and not fits:
            return f"{least} bytes a tile are enough, {memory} are not"
        least = least or (memory if fits else None)
    return None if least else "no memory was enough"


def half_batch_problem(pxl, net, memory):
    larger = None
    for batch in (128, 64, 32, 16, 8, 4, 2, 1):
        plan = Plan(pxl, net, batch, memory)
        if larger and not plan.fits:
            return f"a batch of {larger} fits in {memory} bytes, one of {batch} does not"
        larger = batch if plan.fits else None
    return None if larger else f"no batch fits in {memory} bytes"


def families_problem(pxl, net, batch):
    all_plans, gather = Plan(pxl, net, batch), Plan(pxl, net, batch, None, "--plans", "gather")
    if all_plans.cycles > gather.cycles:
        return f"batch {batch}: {all_plans.cycles} cycles, {gather.cycles} with gather plans only"
    return None


def remedies_problem(pxl, net):
    memory = Plan(pxl, net, 64).bytes * 6 // 10
    remedies = Plan(pxl, net, 64, memory).remedies()
    for cycles, flags in remedies:
        batch = flags[1] if flags[0] == "--batch" else 64
        plan = Plan(pxl, net, batch, memory, *([] if flags[0] == "--batch" else flags))
        if not plan.fits or plan.cycles != cycles:
            return f"`{' '.join(flags)}` was said to fit in {cycles} cycles: {plan.fits}, {plan.cycles}"
    return None if remedies else "no remedy was printed"


def bert_large_problem(pxl, batch):
    """BERT-Large fits a C600 at batches that the vendor ran."""
    folder = shared_folder("data/ipu/programs")
    if not folder:
        raise Unavailable("shared/data/ipu is not on this machine")
    done = subprocess.run([str(pxl), "profile", "--machine", "c600", str(folder / "bert.pxl"), "--layers", "24", "--width", "1024", "--heads", "16",
                           "--inner", "4096", "--batch", str(batch)], capture_output=True, text=True, timeout=300)
    if done.returncode:
        return done.stderr
    return done.stdout if "does not fit" in done.stdout else None


def fits_tests(pxl, add, full):
    """`add(name, problem or None)`. The daily tests take one net."""
    for net in NETS if full else NETS[:1]:
        add(f"{net}: more memory never refuses",
            lambda net=net: more_memory_problem(pxl, net, 60 if full else 12))
        for times in (1, 1.5, 2, 3, 4, 6) if full else (1, 2):
            add(f"{net}: half of a batch fits where the batch does, in {times} times the memory",
                lambda net=net, times=times: half_batch_problem(pxl, net, int(Plan(pxl, net, 8).bytes * times)))
        for batch in (1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 48, 64) if full else (1, 4, 16):
            add(f"{net}: more families of plans are never slower for batch {batch}",
                lambda net=net, batch=batch: families_problem(pxl, net, batch))
        add(f"{net}: a remedy holds", lambda net=net: remedies_problem(pxl, net))
    for batch in (16, 18) if full else ():
        add(f"BERT-Large fits a C600 at batch {batch}", lambda batch=batch: bert_large_problem(pxl, batch))
