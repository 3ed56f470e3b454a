"""Scripts in several processes, by mpirun: output and files have one process's bytes, and jobs end well."""
# covers: I152
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

from tests.support.harness import ROOT, TESTS, run

HERE = TESTS / "processes"
LIMIT = 120  # seconds after which a job counts as one that hangs
# Messages by the network's code instead of shared memory: as between machines, on this one.
OVER_TCP = ["--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"]


def missing(pxl):
    """Why there is nothing to test."""
    if not shutil.which("mpirun"):
        return "there is no mpirun (packages openmpi-bin and libopenmpi-dev)"
    if not (pxl.parent / "pxl-mpi.so").is_file():
        return "pxl was built without MPI (package libopenmpi-dev)"
    return None


def mpirun(ranks, *more):
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    # Processes of one machine need no network. Without an interface Open MPI 5 prints warnings among their lines.
    return ["env", "OMPI_MCA_btl=^tcp", "mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", *root, *more]


def unlike(*commands):
    """A job of a process for each command. A shell starts them: the launcher of Open MPI 5.0.7 crashes where `:` divides commands."""
    cases = "".join(f"{rank}) exec {shlex.join(map(str, command))};; " for rank, command in enumerate(commands))
    return [*mpirun(len(commands)), "sh", "-c", f"case $OMPI_COMM_WORLD_RANK in {cases}esac"]


def outcome(command, folder, files=()):
    """Exit status, output, and the bytes of files."""
    for _ in range(3):
        code, out, err = run([str(c) for c in command], timeout=LIMIT, cwd=folder)
        if code >= 0 or "mpirun" not in command:
            break  # otherwise the launcher itself ended by a signal, as that of Open MPI 5 may at the end of a job
    err = err.replace("\0", "")  # the same launcher prints some between processes
    return code, out, [(folder / f).read_bytes() if (folder / f).is_file() else None for f in files], err


class Folder:
    def __enter__(self):
        self.own = tempfile.TemporaryDirectory(prefix="pxl-processes-")
        return pathlib.Path(self.own.name)

    def __exit__(self, *_):
        self.own.cleanup()


def equal_bits(pxl, script, launchers, files, arguments=()):
    """The script by each launcher gives what it gives in one process."""
    with Folder() as folder:
        code, out, bytes_of, err = outcome([pxl, "run", script, *arguments], folder, files)
        if code != 0 or None in bytes_of:
            return f"in one process: exit {code}\n{err}"
    for launcher in launchers:
        with Folder() as folder:
            got = outcome([*launcher, *([pxl, "run"] if "mpirun" in launcher else []), script, *arguments], folder, files)
        said = " ".join(str(w) for w in launcher)
        if got[0] != 0:
            return f"{said}: exit {got[0]}\n{got[3]}"
        if got[1] != out:
            return f"{said}: another output\n{out}\ninstead\n{got[1]}"
        if got[2] != bytes_of:
            return f"{said}: other bytes in {', '.join(f for f, a, b in zip(files, got[2], bytes_of) if a != b)}"
    return None


def bits(pxl):
    launchers = [mpirun(2), mpirun(4), mpirun(1), [pxl, "--quiet", "--ranks", "2"], mpirun(2, *OVER_TCP)]
    files = ["state.safetensors", "loss.npy"]
    yield "train", lambda: equal_bits(pxl, HERE / "train.pxl", launchers, files)
    yield "train, 8 replicas", lambda: equal_bits(pxl, HERE / "train.pxl", [mpirun(4), mpirun(2)], files, ["--replicas", "8"])
    yield "files of a job", lambda: files_of_a_job(pxl)
    yield "a checkpoint in parts", lambda: parts_of_checkpoint(pxl)
    yield "reads during saves", lambda: reads_during_saves(pxl)
    yield "train, by definitions", lambda: equal_bits_of(pxl, ["--engine", "reference"], HERE / "train.pxl", 4, files)
    for script in sorted([*(TESTS / "lang/replicas").glob("*.pxl"), *(TESTS / "lang/pipelines").glob("*.pxl")]):
        yield script.name, lambda script=script: equal_bits_of(pxl, [], script, 2)


PARTS = """program p(n) with replicated(n), in_sequence() {
  group = ir.replica_grouping()
  variable a: float32[1000] = normal(0, 1, [1000]) with shard_over = group
  variable b: float32[70] = normal(0, 1, [70])
  variable c: float32[71] = normal(0, 1, [71])
  add_(a, replica_sharded_slice(constant(ones([1000])), group))
}
"""


def files_of_a_job(pxl):
    """Several processes write the bytes that one process writes."""
    files = ["log.jsonl", "a.npy", "chart.svg", "w.safetensors"]
    with Folder() as folder:
        (folder / "s.pxl").write_text(REPLICATED + 'for step in range(3) { append_json("log.jsonl", {"step": step, "loss": 1 / (step + 1)}) }\n'
                                      'save("a.npy", ones([3]))\nplot([1, 2, 3], path = "chart.svg")\nsession.run(i = [0, 1, 2, 3])\n'
                                      'session.save("w.safetensors")\n')
        alone = outcome([pxl, "run", "s.pxl"], folder, files)
        (folder / "log.jsonl").unlink()
        several = outcome([*mpirun(4), pxl, "run", "s.pxl"], folder, files)
        if alone[0] != 0 or several[0] != 0 or None in alone[2]:
            return f"exit {alone[0]} alone, {several[0]} in 4 processes\n{several[3]}"
        different = [name for name, a, b in zip(files, alone[2], several[2]) if a != b]
        return f"other bytes in {different}" if different else None


def parts_of_checkpoint(pxl):
    """Each process writes a file; one process with other replicas restores them, and saves the bytes of a single file."""
    with Folder() as folder:
        (folder / "write.pxl").write_text(PARTS + 'random_seed(1)\nsession = Session(p(4))\nsession.run()\n'
                                          'session.save("whole.safetensors")\nsession.save("parts", shards = true)\n')
        (folder / "read.pxl").write_text(PARTS + 'session = Session(p(2))\nsession.restore("parts")\nsession.save("again.safetensors")\n')
        written = outcome([*mpirun(2), pxl, "run", "write.pxl"], folder)
        names = sorted(path.name for path in (folder / "parts").glob("*"))
        if written[0] != 0 or names != ["00000-of-00002.safetensors", "00001-of-00002.safetensors", "index.json"]:
            return f"exit {written[0]}, files {names}\n{written[3]}"
        sizes = [(folder / "parts" / name).stat().st_size for name in names[:2]]
        if max(sizes) > 1.5 * min(sizes):
            return f"the processes write {sizes} bytes"
        code, _, files, err = outcome([pxl, "run", "read.pxl"], folder, ["whole.safetensors", "again.safetensors"])
        if code != 0 or files[0] is None or files[0] != files[1]:
            return f"exit {code}, other bytes\n{err}"
        # A second save is beside the first until it is whole; where it fails, the one that is there stays.
        code, _, _, err = outcome([*mpirun(2), pxl, "run", "write.pxl"], folder)
        names = sorted(path.name for path in (folder / "parts").glob("*"))
        if code != 0 or names != ["00000-of-00002-b.safetensors", "00001-of-00002-b.safetensors", "index.json"]:
            return f"a second save: exit {code}, files {names}\n{err}"
        (folder / "parts" / "00001-of-00002.safetensors").mkdir()
        code = outcome([*mpirun(2), pxl, "run", "write.pxl"], folder)[0]
        names = sorted(path.name for path in (folder / "parts").glob("*"))
        if names != ["00000-of-00002-b.safetensors", "00001-of-00002-b.safetensors", "00001-of-00002.safetensors", "index.json"]:
            return f"a save that fails leaves {names}"
        (folder / "parts" / "00001-of-00002.safetensors").rmdir()
        # The next save removes files of killed processes.
        (folder / "parts" / "00003-of-00005.safetensors").touch()
        again, _, files, err = outcome([pxl, "run", "read.pxl"], folder, ["whole.safetensors", "again.safetensors"])
        if code == 0 or again != 0 or files[0] != files[1]:
            return f"a save that fails: exit {code}, then {again}\n{err}"
        code, _, _, err = outcome([*mpirun(2), pxl, "run", "write.pxl"], folder)
        names = sorted(path.name for path in (folder / "parts").glob("*"))
        return None if code == 0 and names == ["00000-of-00002.safetensors", "00001-of-00002.safetensors", "index.json"] else f"exit {code}, files {names}\n{err}"


COUNTS = """program p with replicated(2), in_sequence() {
  group = ir.replica_grouping()
  variable a: float32[200] = zeros([200]) with shard_over = group
  variable b: float32[70] = 0
  add_(a, replica_sharded_slice(constant(ones([200])), group))
  add_(b, 1)
}
ir = p()
session = Session(ir)
"""


def reads_during_saves(pxl, saves=120):
    """A job saves again and again; a process that restores meanwhile has one of the saves, all of it."""
    with Folder() as folder:
        (folder / "write.pxl").write_text(COUNTS + f"for i in range({saves}) {{\n  session.run()\n  session.save(\"parts\", shards = true)\n}}\n"
                                          'save("over.npy", zeros([1]))\n')
        (folder / "read.pxl").write_text(COUNTS + """reads, different = 0, {}
while not exists("over.npy") {
  session.restore("parts")
  values = session.get_tensor_data(ir.a).tolist() + session.get_tensor_data(ir.b).tolist()
  assert min(values) == max(values), f"parts of several saves: {min(values)} and {max(values)}"
  different[values[0]] = true
  reads = reads + 1
}
print(reads > 5, len(different) > 2)
""")
        first = outcome([*mpirun(2), pxl, "run", "write.pxl"], folder)
        if first[0] != 0:
            return first[3]
        (folder / "over.npy").unlink()
        writer = subprocess.Popen([str(c) for c in [*mpirun(2), pxl, "run", "write.pxl"]], cwd=folder, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        code, out, err = run([str(pxl), "run", "read.pxl"], cwd=folder, timeout=LIMIT)
        writer.wait(LIMIT)
        return None if code == 0 and out == "true true\n" else f"exit {code}\n{out}{err}"


def equal_bits_of(pxl, flags, script, ranks, files=()):
    """Output, errors included, and files of a script in several processes."""
    with Folder() as folder:
        code, out, bytes_of, err = outcome([pxl, "run", *flags, script], folder, files)
    with Folder() as folder:
        got = outcome([*mpirun(ranks), pxl, "run", *flags, script], folder, files)
    if "cannot divide equally" in got[3]:
        return None  # a script of programs with several numbers of replicas
    if got[0] != code or got[1] != out or got[2] != bytes_of:
        return f"exit {code}\n{out}{err}\nbut in {ranks} processes exit {got[0]}\n{got[1]}{got[3]}"
    # The launcher's own lines may stand between them.
    if missed := [line for line in err.splitlines() if line not in got[3].splitlines()]:
        return f"{missed} is missing: {err}\nbut in {ranks} processes\n{got[3]}"
    return None


# ---- how jobs end

# Runs until it is stopped.
ENDLESS = """program p with replicated(4), in_sequence() {
  variable w: float32[1000] = 1
  replicated_all_reduce_(w, op = "mean")
}
ir = p()
session = Session(ir)
while true {
  session.run()
  print("run")
}
"""


def children(pid):
    """The processes below a process."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            child = int(path.parent.name)
            found += [child, *children(child)]
    return found


def rank_of(pid):
    try:
        environ = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return None
    ranks = [e.partition(b"=")[2] for e in environ if e.startswith(b"OMPI_COMM_WORLD_RANK=")]
    return int(ranks[0]) if ranks and name == "pxl" else None


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def ended(processes):
    """Those that are left: the ones that the launcher ends take a moment."""
    left = list(processes)
    for _ in range(100):
        left = [p for p in left if alive(p)]
        if not left:
            break
        time.sleep(0.1)
    return left


def ended_by(pxl, number, flags=(), whom=2):
    """Exit status, standard error, and which processes are left, of an endless job after a signal to one of its processes."""
    with Folder() as folder:
        (folder / "endless.pxl").write_text(ENDLESS)
        job = subprocess.Popen([*mpirun(4), str(pxl), "run", *flags, "endless.pxl"], cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            job.stdout.read(30)  # it runs
            processes = children(job.pid)
            target = job.pid if whom is None else next((p for p in processes if rank_of(p) == whom), None)
            if target is None:
                return None, "it ended before the signal: " + job.communicate(timeout=LIMIT)[1].decode(errors="replace"), [], 0
            os.kill(target, number)
            start = time.monotonic()
            _, err = job.communicate(timeout=LIMIT)
            seconds = time.monotonic() - start
            return job.returncode, err.decode(errors="replace"), ended(processes), seconds
        except subprocess.TimeoutExpired:
            return None, "it hangs", [], LIMIT
        finally:
            for p in [job.pid, *children(job.pid)]:
                try:
                    os.kill(p, signal.SIGKILL)
                except OSError:
                    pass
            job.wait()


def lost(pxl, number, flags, wanted, seconds):
    code, err, left, took = ended_by(pxl, number, flags)
    problems = []
    if code in (None, 0):
        problems.append(f"exit {code}")
    problems += [f"`{text}` is missing in the message" for text in wanted if text not in err]
    if err.count("error: ") != 1:
        problems.append("the message is not there once")
    if left:
        problems.append(f"processes are left: {left}")
    if took > seconds:
        problems.append(f"it took {took:.1f} s")
    return "; ".join(problems) + "\n" + err if problems else None


def one_stopped(pxl):
    """One of a job's processes is stopped. On a busy machine the job may need more than the first limit to start."""
    for seconds in (10, 80):
        problem = lost(pxl, signal.SIGSTOP, ("--timeout", str(seconds)), [f"waited {seconds} s for replica 2", "is stopped"], LIMIT)
        if not problem or "before the signal" not in problem:
            break
    return problem


def fails(pxl, text, ranks, code, wanted, unwanted=(), same_as_alone=False, launcher=None):
    """A script ends with a status and a message, which is there once."""
    with Folder() as folder:
        (folder / "s.pxl").write_text(text)
        got, out, _, err = outcome([*(launcher or [*mpirun(ranks), pxl, "run"]), "s.pxl"], folder)
        alone = outcome([pxl, "run", "s.pxl"], folder)[3] if same_as_alone else None
    problems = []
    if got != code:
        problems.append(f"exit {got}, not {code}")
    problems += [f"`{w}` is missing" for w in wanted if w not in err]
    if err.count("error: ") > (ranks if launcher else 1):
        problems.append("several errors")
    problems += [f"`{w}` is there" for w in unwanted if w in err + out]
    if alone is not None and not set(alone.splitlines()) <= set(err.splitlines()):
        problems.append(f"in one process:\n{alone}")
    return "; ".join(problems) + "\n" + err + out if problems else None


REPLICATED = """program p with replicated(4), in_sequence() {
  stream in i: int32[]
  variable w: float32[4] = 1
  add_(w, 1)
  stream out y = replicated_all_reduce(gather(arange(4) * 1.0, reshape(host_load(i), [1])))
}
ir = p()
session = Session(ir)
rank = env("OMPI_COMM_WORLD_RANK", "0")
"""


def at_call(pxl, event, code, wanted, flags=()):
    """One of a job's two processes is late, or stopped, in a call of MPI: exit status, messages, nothing left."""
    with Folder() as folder:
        library = folder / "at_call.so"
        compiled = run(["mpicc", "-shared", "-fPIC", "-Wl,-z,lazy", str(HERE / "at_call.c"), "-o", str(library)])
        if compiled[0] != 0:
            return compiled[2]
        (folder / "s.pxl").write_text("print(1)\n")
        command = [*mpirun(2, "-x", f"LD_PRELOAD={library}", "-x", f"AT_CALL={event}"), str(pxl), "run", *flags, "s.pxl"]
        job = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        seen = set()
        start = time.monotonic()
        while job.poll() is None and time.monotonic() - start < LIMIT:
            seen.update(children(job.pid))
            time.sleep(0.1)
        left = ended(seen)
        hangs = job.poll() is None
        for pid in [job.pid, *left] if hangs else left:
            os.kill(pid, signal.SIGKILL)
        out, err = job.communicate()
    problems = ["it hangs"] if hangs else [] if job.returncode == code else [f"exit {job.returncode}, not {code}"]
    problems += [f"`{w}` is missing" for w in wanted if w not in err]
    if err.count("error: ") != (1 if wanted else 0):
        problems.append("the message is not there once")
    if left:
        problems.append(f"processes are left: {left}")
    if code == 0 and out != "1\n":
        problems.append("another output")
    return "; ".join(problems) + "\n" + out + err if problems else None


def ends(pxl):
    # The first limits are those of docs/replicas.md, with time for a busy machine.
    yield "killed", lambda: lost(pxl, signal.SIGKILL, (), ["replica 2", "is gone", "endless.pxl:"], LIMIT)
    yield "crashed", lambda: lost(pxl, signal.SIGSEGV, (), ["replica 2", "is gone"], LIMIT)
    yield "stopped", lambda: one_stopped(pxl)
    # The limit is longer than what MPI needs to start on a busy machine.
    limit = ("--timeout", "8")
    for call in ("MPI_Init_thread", "MPI_Comm_dup", "MPI_Comm_size", "MPI_Finalize"):
        yield f"late in {call}", lambda call=call: at_call(pxl, f"1 {call} late", 0, [])
    stopped = "waited 8 s for process "
    yield "stopped before MPI has started", lambda: at_call(
        pxl, "1 MPI_Init_thread stop", 1, [stopped, ", which is stopped, at the start of the job", "--timeout SECONDS"], limit)
    yield "stopped while MPI starts", lambda: at_call(pxl, "0 MPI_Comm_dup stop", 1, [stopped, "stopped, at the start of the job"], limit)
    yield "stopped after MPI has started", lambda: at_call(
        pxl, "1 MPI_Comm_size stop", 1, ["waited 8 s for process 1", ", at the start of the job"], limit)
    yield "stopped at the end", lambda: at_call(pxl, "1 MPI_Finalize stop", 1, ["waited 8 s for the other processes, at the end of the job"], limit)
    yield "interrupted", lambda: interrupted(pxl)
    yield "ended early", lambda: fails(
        pxl, REPLICATED + 'if rank == "2" { exit(0) }\nsession.run(i = [0, 1, 2, 3])\n', 4, 1,
        ["gone apart", "is to start run 1 of program p at s.pxl:11", "process 2", "is to end with status 0"])
    yield "ended with an error", lambda: fails(
        pxl, REPLICATED + 'if rank == "1" { load("nowhere.npy") }\nsession.run(i = [0, 1, 2, 3])\n', 4, 66,
        ["nowhere.npy", "in process 1 of 4"])
    yield "an error with data", lambda: fails(
        pxl, REPLICATED + 'if rank == "1" { fail("bad row", kind = "bad-row", data = {"row": 7, "x": [0.5, none]}) }\n'
        'try { session.run(i = [0, 1, 2, 3]) } catch bad_row as e { fail(f"{e.kind} {e.data}") }\n', 4, 1, ["bad-row {'row': 7, 'x': [0.5, none]}"])
    yield "another run", lambda: fails(
        pxl, REPLICATED + 'for k in range(2 if rank == "3" else 1) { session.run(i = [0, 1, 2, 3]) }\nsession.save("x.safetensors")\n',
        4, 1, ["gone apart", "is to save the variables", "is to start run 2 of program p"])
    yield "another program", lambda: fails(
        pxl, 'rank = env("OMPI_COMM_WORLD_RANK", "0")\nprogram p with replicated(2) {\n  t = cast(replica_index(), float32)\n'
        '  stream out y = t + 1 if rank == "1" else t * 2\n}\nSession(p())\n', 2, 1,
        ["gone apart", "is to make a session of program p", "not of the same program"])
    yield "another attribute", lambda: fails(
        pxl, 'rank = env("OMPI_COMM_WORLD_RANK", "0")\nprogram p with replicated(2) {\n'
        '  stream out y = replicated_all_reduce(replica_index(), "max" if rank == "1" else "add")\n}\nSession(p())\n', 2, 1, ["gone apart"])
    yield "other initial values", lambda: fails(
        pxl, 'random_seed(int(env("OMPI_COMM_WORLD_RANK", "0")))\nprogram p with replicated(2) {\n  variable w: float32[2] = normal(0, 1, [2])\n'
        '  add_(w, 1)\n}\nSession(p())\n', 2, 1, ["gone apart"])
    if len(json.loads(run([str(pxl), "--json", "--version"])[1])["instruction_sets"]) > 1:
        yield "unlike processors", lambda: unlike_processors(pxl)
    yield "another script", lambda: other_script(pxl)
    yield "an error in one replica", lambda: fails(
        pxl, REPLICATED + "session.run(i = [0, 1, 9, 3])\n", 4, 1, ["in replica 2 of 4", "s.pxl:5"], same_as_alone=True)
    yield "the earliest error", lambda: fails(
        pxl, REPLICATED + "session.run(i = [0, 9, 1, -8])\n", 4, 1, ["in replica 1 of 4"], ["replica 3"], same_as_alone=True)
    yield "drift", lambda: fails(
        pxl, "program p with replicated(4) {\n  variable w: float32[3] = 0\n  add_(w, cast(replica_index(), float32))\n}\n"
        "ir = p()\ns = Session(ir)\ns.run()\ns.save(\"x.safetensors\")\n", 4, 1,
        ["save: the replicas 0 and 1 hold different values of the variable `w`"], same_as_alone=True)
    yield "replicas that do not divide", lambda: fails(
        pxl, REPLICATED, 3, 65, ["the program has 4 replicas, which 3 processes cannot divide equally"])
    yield "refused text", lambda: fails(pxl, "x = = 1\n", 2, 65, ["s.pxl:1:5: error"], same_as_alone=True)
    yield "exit status", lambda: fails(pxl, "exit(3)\n", 2, 3, [], ["error"])
    yield "a file that cannot be written", lambda: fails(
        pxl, 'save("nowhere/x.npy", zeros([2]))\nprint("written")\n', 2, 1, ["cannot write nowhere/x.npy"], ["written\n"])
    yield "a log that cannot be written", lambda: fails(
        pxl, 'append_json("nowhere/x.jsonl", 1)\nprint("written")\n', 2, 1, ["cannot write nowhere/x.jsonl"], ["written\n"])
    yield "launched twice", lambda: fails(pxl, "1\n", 2, 2, [], launcher=[*mpirun(2), pxl, "--ranks", "2"])
    yield "no mpirun", lambda: no_mpirun(pxl)
    yield "no plug-in", lambda: no_plug_in(pxl)
    yield "mpirun's path", lambda: strange_path(pxl)
    for host in ("-oProxyCommand=touch x", "a b", "", "a;touch x", "$(touch x)"):
        yield f"a host `{host}`", lambda host=host: refused_launch(pxl, ["--hosts", f"localhost,{host}"], f"`{host}` is no name of a machine")
    yield "an argument `:`", lambda: refused_launch(pxl, [], "the end of the program's arguments", [":", "-n", "1", "touch", "x"])
    yield "a plain start", lambda: plain_start(pxl)


def interrupted(pxl):
    code, err, left, _ = ended_by(pxl, signal.SIGINT, whom=None)
    return None if code not in (None, 0) and not left else f"exit {code}, left {left}\n{err}"


def unlike_processors(pxl):
    """Processes of which one has fewer instructions use those: the bits of a process that has no others."""
    with Folder() as folder:
        (folder / "s.pxl").write_text(REPLICATED.replace("gather(arange(4) * 1.0, reshape(host_load(i), [1]))", "exp(0.37 * cast(host_load(i), float32))")
                                      + "print(session.run(i = [0, 1, 2, 3]).y)\n")
        code, out, err = run([str(pxl), "run", "s.pxl"], cwd=folder, env={"PXL_ISA": "baseline"})
        few, all_of_them = ["env", "PXL_ISA=baseline", pxl, "run", "s.pxl"], [pxl, "run", "s.pxl"]
        jobs = [outcome(unlike(*commands), folder) for commands in ((few, all_of_them), (all_of_them, few))]
    for got in jobs:
        if code != 0 or got[0] != 0 or got[1] != out or "the kernels for baseline" not in got[3]:
            return f"{out}{err}\nnot\n{got[1]}{got[3]}"
    return None


def other_script(pxl):
    with Folder() as folder:
        (folder / "a.pxl").write_text("print(1)\n")
        (folder / "b.pxl").write_text("print(2)\n")
        code, out, _, err = outcome(unlike([pxl, "run", "a.pxl"], [pxl, "run", "b.pxl"]), folder)
        return None if code == 1 and "gone apart" in err and "run the script b.pxl" in err and not out else f"exit {code}\n{err}{out}"


def no_mpirun(pxl):
    with Folder() as folder:
        (folder / "s.pxl").write_text("1\n")
        code, _, err = run([str(pxl), "run", "--ranks", "2", "s.pxl"], cwd=folder, env={"PATH": str(folder)})
        return None if code == 1 and "install openmpi-bin" in err else f"exit {code}\n{err}"


def strange_path(pxl):
    """The folder of mpirun may have any name: no shell reads it."""
    with Folder() as folder:
        strange = folder / "a $(touch x) b; touch x; 'c"
        strange.mkdir()
        (strange / "mpirun").symlink_to(shutil.which("mpirun"))
        (folder / "s.pxl").write_text("print(1)\n")
        code, out, err = run([str(pxl), "run", "--ranks", "2", "s.pxl"], cwd=folder, env={"PATH": f"{strange}:{os.environ['PATH']}"})
        return None if code == 0 and out == "1\n" and not (folder / "x").exists() else f"exit {code}\n{out}{err}"


def refused_launch(pxl, flags, message, arguments=()):
    with Folder() as folder:
        (folder / "s.pxl").write_text("print(1)\n")
        code, out, err = run([str(pxl), "run", "--ranks", "2", *flags, "s.pxl", *arguments], cwd=folder)
        return None if code == 2 and message in err and not out and not (folder / "x").exists() else f"exit {code}\n{out}{err}"


def no_plug_in(pxl):
    with Folder() as folder:
        shutil.copy(pxl, folder / "pxl")
        (folder / "s.pxl").write_text("1\n")
        code, _, _, err = outcome([*mpirun(2), folder / "pxl", "run", "s.pxl"], folder)
        return None if code == 1 and "libopenmpi-dev" in err else f"exit {code}\n{err}"


def plain_start(pxl):
    """Without a launcher no library of MPI is loaded."""
    code, out, err = run(["strace", "-f", "-e", "trace=openat", str(pxl), "-e", "1"])
    return None if code == 0 and "libmpi" not in err and "pxl-mpi" not in err else err


def process_tests(pxl, add, skip, parallel):
    """Jobs mostly wait: for a limit to pass, and for processes to end."""
    if why := missing(pxl):
        return skip("processes", why)
    jobs = [(f"processes: {kind}: {name}", job) for kind, jobs in (("bits", bits(pxl)), ("ends", ends(pxl))) for name, job in jobs]
    for name, problem in parallel(jobs, 4):
        add(name, problem)
