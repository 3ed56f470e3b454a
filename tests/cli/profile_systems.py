"""`pxl profile` of programs on several IPUs and with replicas: what is computed by hand from the constants."""
# covers: I160
import json

from tests.cli.case import case, differ, holds

DATA_PARALLEL = """
option n: int = 4
program train with replicated(n), in_sequence() {
  stream in x: float32[64, 256]
  variable w: float32[256, 256] = 1
  variable b: float32[256] = 1
  g = replicated_all_reduce(transpose(host_load(x)) @ host_load(x), op = "mean")
  h = replicated_all_gather(b)
  scaled_add_(w, g, b = 0.1)
  stream out y = sum(h)
}
with Session(train()) as s { s.run(x = zeros([2, n, 64, 256])) }
"""
PIPELINE = """
option steps: int = 8
option stages: int = 2
program piped with in_sequence() {
  stream in x: float32[256, 256]
  stream out y: float32[]
  ws = [variable(zeros([256, 256]), name = f"w{i}") for i in range(stages)]
  t = none
  with pipelined_execution(steps) as p {
    for i in range(stages) {
      with p.stage(i), ipu(i) {
        t = host_load(x) if i == 0 else t
        t = t @ ws[i]
        if i + 1 < stages { t = t.copy_to_ipu(i + 1) } else { host_store(y, sum(t)) }
      }
    }
  }
}
with Session(piped()) as s { s.run(x = zeros([steps, 256, 256])) }
"""
REMOTE = """
program p with in_sequence() {
  buffer = remote_buffer(float32[1000], 2)
  remote_store(buffer, 1, remote_load(buffer, 0) * 2.0)
}
with Session(p()) as s { s.run() }
"""


def predictions(cli, path, *flags, cli_options=()):
    code, out, err = cli.run("profile", "--machine", "bow", "--json", *flags, path, *cli_options)
    if code != 0:
        raise AssertionError(f"exit status {code}: {err}")
    return json.loads(out)[0]


@case
def collectives_are_priced_by_the_links(cli):
    cli.write("train.pxl", DATA_PARALLEL)
    found = predictions(cli, "train.pxl", "--replicas", "1,16,64,256,1024", "--links", "link_bytes=1e9,gateway_bytes=1e9,rack_time=5e6")
    reduced, gathered = 256 * 256 * 4, 256 * 4 * 4
    differ("collectives", [(c["op"], c["bytes"], c["members"], c["times"]) for c in found["collectives"]],
           [("ReplicatedAllReduce", reduced, 0, 1), ("ReplicatedAllGather", gathered, 0, 1)])
    alone = found["predictions"][0]
    differ("one replica", (alone["collective_seconds"], alone["efficiency"]), (0.0, 1.0))
    for p in found["predictions"][1:]:
        within, racks = min(64, p["replicas"]), p["replicas"] // min(64, p["replicas"])
        ring = lambda passes, n, size: passes * (n - 1) / n * size / 1e9
        expected = sum(ring(k, within, size) + ring(k, racks, size / within * 4) for k, size in ((2, reduced), (1, gathered)))
        expected += 5e-3 if racks > 1 else 0
        if abs(p["collective_seconds"] - expected) > 1e-12:
            raise AssertionError(f"{p['replicas']} replicas: {p['collective_seconds']} s, by hand {expected}")
        if abs(p["throughput"] - p["replicas"] / p["seconds"]) > 1e-6 * p["throughput"]:
            raise AssertionError(f"{p}: throughput is not replicas by seconds")
    shares = [p["efficiency"] for p in found["predictions"]]
    differ("more replicas are never more efficient", shares, sorted(shares, reverse=True))
    free = predictions(cli, "train.pxl", "--replicas", "1024", "--links", "link_bytes=1e15,gateway_bytes=1e15,rack_time=0")
    if free["predictions"][0]["efficiency"] < 0.999:
        raise AssertionError(f"bytes take time without limits: {free}")
    holds("text", cli.run("profile", "--machine", "bow", "--replicas", "16,64", "train.pxl")[1], "replica runs/s")


@case
def stages_of_a_pipeline_are_side_by_side(cli):
    cli.write("piped.pxl", PIPELINE)
    found = predictions(cli, "piped.pxl", "--replicas", "1", "--links", "link_bytes=1e9")
    differ("shape", (found["ipus_of_replica"], found["stages"], found["micro_batches"]), (2, 2, 8))
    differ("copied", found["copied_bytes"], 256 * 256 * 4 * 8)
    if abs(found["copy_seconds"] - 256 * 256 * 4 * 8 / 1e9) > 1e-12:
        raise AssertionError(f"{found['copy_seconds']} s of copies")
    text = cli.run("profile", "--machine", "bow", "piped.pxl")[1]
    for part in ("piped, IPU 0 on bow", "piped, IPU 1 on bow", "in 2 stages for 8 micro-batches: 11.1 % of the pipeline is idle"):
        holds("summary", text, part)
    # n micro-batches take n + 1 times what the busiest stage takes for one.
    longer = predictions(cli, "piped.pxl", "--replicas", "1", cli_options=("--steps", "32"))
    ratio = longer["compute_seconds"] / found["compute_seconds"]
    if not 0.9 * 33 / 9 < ratio < 1.1 * 33 / 9:
        raise AssertionError(f"32 micro-batches take {ratio:.3f} times as long as 8, not about {33 / 9:.3f}")


@case
def a_reduction_over_ipus_is_a_ring(cli):
    cli.write("parts.pxl", """
option n: int = 4
program p with in_sequence() {
  stream in x: float32[1000]
  stream out y: float32[1000]
  t = host_load(x)
  parts = [t * 1.0]
  for i in range(1, n) { with ipu(i) { parts.append(t.copy_to_ipu(i) * 2.0) } }
  host_store(y, all_reduce(parts)[0])
}
with Session(p()) as s { s.run(x = zeros([1000])) }
""")
    found = predictions(cli, "parts.pxl", "--replicas", "1", "--links", "link_bytes=1e6,link_latency=0")
    differ("IPUs", found["ipus_of_replica"], 4)
    # Three copies, at once, and a ring of four: 2 (n - 1) / n times the bytes on each link.
    differ("moved", found["copied_bytes"], 3 * 4000 + 2 * 3 * 4000)
    if abs(found["copy_seconds"] - (4e-3 + 2 * 3 / 4 * 4e-3)) > 1e-12:
        raise AssertionError(f"{found['copy_seconds']} s of copies and the ring")
    names = [line for line in cli.run("profile", "--machine", "bow", "parts.pxl")[1].splitlines() if "AllReduce" in line]
    differ("its share is on each IPU", len(names) >= 4, True)


@case
def several_ipus_have_no_cost_on_one(cli):
    cli.write("two.pxl", "program p {\n  variable x: float32[2] = 1\n  with ipu(1) { y = x + 1 }\n  z = x * 2\n  stream out o = z\n  stream out q = y\n}\n"
              "print(estimate(p()))\n")
    code, _, err = cli.run("run", "two.pxl")
    differ("failed", code != 0, True)
    holds("message", err, "has ops on the IPUs 0, 1: it has no cost on one of them")


@case
def remote_memory_is_priced_at_a_given_rate_only(cli):
    cli.write("remote.pxl", REMOTE)
    unknown = predictions(cli, "remote.pxl", "--replicas", "1")
    differ("unknown", (unknown["remote_bytes"], unknown["remote_seconds"]), (8000, None))
    given = predictions(cli, "remote.pxl", "--replicas", "1", "--links", "remote_bytes=8e6")
    differ("given", given["remote_seconds"], 1e-3)
    differ("added", abs(given["predictions"][0]["seconds"] - given["compute_seconds"] - 1e-3) < 1e-12, True)
    holds("text", cli.run("profile", "--machine", "bow", "--replicas", "1", "remote.pxl")[1], "not priced; --links remote_bytes=")


@case
def a_thousand_replicas_take_as_long_as_one(cli):
    cli.write("train.pxl", DATA_PARALLEL)

    one, many = (min(cli.processor_seconds("profile", "--machine", "bow", "--replicas", n, "train.pxl") for _ in range(3)) for n in ("1", "1024"))
    if many > 2 * one:
        raise AssertionError(f"1 replica takes {one:.2f} s of a processor, 1,024 take {many:.2f} s")


@case
def flags_of_systems_are_checked(cli):
    cli.write("train.pxl", DATA_PARALLEL)
    for flags, message in ((["--replicas", "0"], "expected numbers like 16,64,256, got `0`"), (["--replicas", "4,x"], "got `4,x`"),
                           (["--links", "link_byte=1"], "expected KEY=VALUE, got `link_byte=1`"),
                           (["--replicas", "2", "-o", "page.html"], "--replicas writes text or JSON")):
        code, _, err = cli.run("profile", "--machine", "bow", *flags, "train.pxl")
        differ(f"{flags}: exit status", code, 2)
        holds(f"{flags}", err, message)


@case
def profile_says_what_a_script_without_a_session_lacks(cli):
    cli.write("host.pxl", "x = 3\n")
    cli.write("unused.pxl", "program train(batch, rate = 0.1) { w = variable(1.0) }\n")
    cli.write("alone.pxl", "program p { stream in x: float32[2]\n stream out y = 2 * host_load(x) }\n")
    for name, message, remedy in [("host", "no program is built: the file declares none", "declare one: `program p { ... }`"),
                                  ("unused", "no program is built", '--program "train(batch = ...)"'),
                                  ("alone", "the script creates no session", "add `session = Session(p())` at the end")]:
        code, out, err = cli.run("profile", "--machine", "bow", f"{name}.pxl", "-o", "page.html")
        differ(f"{name}: exit status and output", (code, out), (65, ""))
        differ(f"{name}: files", (cli.folder / "page.html").exists(), False)
        holds(f"{name}", err, message)
        holds(f"{name}", err, remedy)
