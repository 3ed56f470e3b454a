"""How many threads a command has."""
import os
import subprocess
import time

from tests.cli.case import case, differ


def masks(cli, prefix, wanted=None, **env):
    """The cores of each thread of a process that has run a program with large products, `wanted` if they become so: a new
    thread binds itself once it has a core. Threads of libraries would be among them."""
    cli.write("a.pxl", "x = ones([300, 300])\nprogram p {\n  stream in x: float32[300, 300]\n  h = host_load(x)\n  stream out z = mean(gelu(h @ h))\n}\n"
              "with Session(p()) as s { for i in range(20) { s.run(x = x) } }\nsave(\"ready.npy\", x)\nwhile true { }\n")
    (cli.folder / "ready.npy").unlink(missing_ok=True)
    process = subprocess.Popen([*prefix, str(cli.pxl), "a.pxl"], cwd=cli.folder, env=dict(os.environ, **env))
    try:
        end = time.monotonic() + 300
        while not (cli.folder / "ready.npy").exists() and time.monotonic() < end and process.poll() is None:
            time.sleep(0.01)
        end = time.monotonic() + 100
        while True:
            tasks = sorted(map(int, os.listdir(f"/proc/{process.pid}/task")))
            found = [sorted(os.sched_getaffinity(task)) for task in tasks]
            if wanted is None or found == wanted or time.monotonic() > end:
                return found
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()


@case
def the_affinity_mask_bounds_the_threads(cli):
    core = sorted(os.sched_getaffinity(0))[0]
    differ("threads on one core", len(masks(cli, ["taskset", "-c", str(core)])), 1)
    differ("as many threads as requested", len(masks(cli, ["taskset", "-c", str(core)], PXL_THREADS="3")), 3)


@case
def threads_are_bound_to_cores_on_request(cli):
    cores = sorted(os.sched_getaffinity(0))[:2]
    here = ["taskset", "-c", ",".join(map(str, cores))]
    bound = [cores, *([core] for core in cores[1:])]
    differ("bound", masks(cli, here, bound, PXL_THREADS=str(len(cores)), PXL_PIN="on"), bound)
    differ("not bound", masks(cli, here, PXL_THREADS=str(len(cores))), [cores] * len(cores))
    differ("more threads than cores", masks(cli, here, PXL_THREADS="3", PXL_PIN="on"), [cores] * 3)
