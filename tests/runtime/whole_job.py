"""examples/word_gpt.pxl as a job: the test kills it while it trains and while it tunes. The output is that of an
uninterrupted job, and the exported model writes the same text.
"""
import pathlib
import shutil
import subprocess
import tempfile

from tests.support.harness import ROOT, run

SCRIPT = ROOT / "examples/word_gpt.pxl"
SIZES = {"steps": 40, "tune-steps": 12, "every": 4, "width": 32, "layers": 1, "context": 24, "batch": 4, "parts": 2, "vocab": 120, "length": 12}
ARGUMENTS = [f"--{name}={value}" for name, value in SIZES.items()]
# The exported model, asked as the example asks its session.
READER = """from {model!r} import Model
from tokens import byte_pairs
t = byte_pairs(read_text({first!r}) + read_text({second!r}), {vocab})
program ask {{
  stream in tokens: int32[1, {context}]
  facts, graph = Model().create_graph(tokens.spec)
  stream out logits = graph.bind(facts.init())(host_load(tokens))
}}
session, written = Session(ask()), [int(i) for i in t.encode("The")]
for i in range({length}) {{
  seen = written[-{context}:]
  tokens = array(seen + [0] * ({context} - len(seen)), int32).reshape([1, {context}])
  written.append(int(argmax(session.run(tokens = tokens).logits[0, len(seen) - 1], axis = 0)))
}}
print(t.decode(written))
"""


def command(pxl, folder):
    return [str(pxl), str(SCRIPT), "--quiet", *ARGUMENTS, "--folder", str(folder)]


def killed_at(pxl, folder, nth):
    """Runs the job until it has printed `nth` lines of steps, and kills it; the lines that it printed."""
    with subprocess.Popen(command(pxl, folder), stdout=subprocess.PIPE, text=True) as job:
        seen = []
        for line in job.stdout:
            seen.append(line)
            if sum(l.startswith("step") for l in seen) == nth:
                job.kill()
                break
    return seen


def whole_job(pxl):
    with tempfile.TemporaryDirectory() as folder:
        whole, stopped = pathlib.Path(folder, "whole"), pathlib.Path(folder, "stopped")
        whole.mkdir()
        stopped.mkdir()
        code, out, err = run(command(pxl, whole), timeout=200)
        if code != 0:
            return f"exit status {code}\n{err[-3000:]}"
        training = SIZES["steps"] // SIZES["every"]
        for nth in (3, training - 3 + 2):  # in training; then, going on from there, in tuning
            killed_at(pxl, stopped, nth)
        code, again, err = run(command(pxl, stopped), timeout=200)
        if code != 0:
            return f"after it was killed: exit status {code}\n{err[-3000:]}"
        if again.count("goes on at step") != 2:
            return f"it does not go on where it was killed:\n{again}"
        ends = [text[text.index("perplexity of the first"):] for text in (out, again)]
        if ends[0] != ends[1]:
            return f"after it was killed it ends otherwise:\n{ends[1]}\nin place of\n{ends[0]}"
        for a, b in zip((whole / "train.safetensors", whole / "tuned.safetensors"), (stopped / "train.safetensors", stopped / "tuned.safetensors")):
            if a.read_bytes() != b.read_bytes():
                return f"{a.name} has other weights after the job was killed"
        reader = pathlib.Path(folder, "reader.pxl")
        data = ROOT / "examples/data"
        shutil.copy(whole / "model.onnx", folder)
        reader.write_text(READER.format(model="model.onnx", first=str(data / "lighthouse.txt"), second=str(data / "ferry.txt"), **SIZES).replace("'", '"'))
        code, text, err = run([str(pxl), str(reader)], cwd=folder)
        if code != 0 or not out.endswith(text):
            return f"the exported model writes otherwise:\n{text}{err[-2000:]}"
        return None


def job_tests(pxl, add):
    add("examples: a job that is killed, tuned, exported", lambda: whole_job(pxl))
