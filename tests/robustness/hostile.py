"""Input that no one should write: noise, endless nesting and recursion, sizes beyond memory, damaged files, interrupts.

Whatever comes, the interpreter answers within the time limit with a status of its own (0, 1, 2, 65, 66, 130), never by
a signal, never with 70 (an internal error). A case is a text, or a function that runs the command itself; the wanted
status may be one number or several, and a text that standard error must hold.
"""
import gzip
import os
import pathlib
import random
import signal
import struct
import subprocess
import tempfile
import time

from tests.robustness import bounds
from tests.support.programs import TRAINING

FINE = {0, 1, 2, 65, 66}
LIMIT = 150  # seconds for one case, on a slow and busy machine


def finish(process, data=b"", limit=LIMIT):
    try:
        out, err = process.communicate(data, timeout=limit)
        return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, "", f"no answer within {limit} s"


def start(pxl, *arguments, env=None, cwd=None, **more):
    return subprocess.Popen([str(pxl), *map(str, arguments)], cwd=cwd, env=dict(os.environ, NO_COLOR="1", **(env or {})),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def judge(result, wanted, text=""):
    code, out, err = result
    if code not in wanted:
        return f"exit status {code}, expected one of {sorted(wanted)}\n{err[-1500:]}"
    if text and text not in err:
        return f"standard error lacks `{text}`:\n{err[-1500:]}"
    return None


# ---- texts ------------------------------------------------------------------------------------------------------

def repeated(before, middle, after, n=5000):
    return before * n + middle + after * n


REFUSED, FAILED = {65}, {1}
program = "program p {{\n{}\n}}\n".format
run_p = "print(Session(p()).run())\n"

TEXTS = [
    # name, text, statuses, part of standard error
    ("brackets (", repeated("(", "1", ")"), REFUSED, "nested deeper than 200 levels"),
    ("brackets [", repeated("[", "1", "]"), REFUSED, "nested deeper than 200 levels"),
    ("brackets {", repeated("{1: ", "1", "}"), REFUSED, "nested deeper than 200 levels"),
    ("brackets open (", "(" * 5000, REFUSED, ""),
    ("brackets open [", "[" * 5000, REFUSED, ""),
    ("brackets open {", "{" * 5000, REFUSED, ""),
    ("brackets closed", ")" * 5000, REFUSED, ""),
    ("calls", repeated("f(", "1", ")"), REFUSED, ""),
    ("subscripts", repeated("x[", "1", "]"), REFUSED, ""),
    ("interpolations", 'f"{' * 5000, REFUSED, ""),
    ("lambdas", "x = " + "() => " * 5000 + "1", REFUSED, "nested deeper than 200 levels"),
    ("blocks", repeated("if true {\n", "x = 1\n", "}\n"), REFUSED, "nested deeper than 200 levels"),
    ("nots", "x = " + "not " * 5000 + "1", FINE, ""),
    ("minuses", "x = " + "- " * 5000 + "1", FINE, ""),
    ("powers", "x = " + "1 ** " * 5000 + "1", REFUSED, ""),
    ("members", "x = 1\nx" + ".y" * 100000, REFUSED, ""),
    ("conditionals", "x = " + "1 if true else " * 20000 + "1", REFUSED, ""),
    ("a sum of 100000 terms", "print(" + " + ".join(["1"] * 100000) + ")", {0}, ""),
    ("100000 comparisons", "print(" + " < ".join(["1"] * 100000) + ")", {0}, ""),
    ("100000 arguments", "print(" + ", ".join(["1"] * 100000) + ")", {0}, ""),
    ("20000 else-ifs", "x = 1\nif x == 2 { pass }" + " else if x == 3 { pass }" * 20000, {0}, ""),
    ("a name of a million letters", "x" * 1000000, REFUSED, "unknown name"),
    ("an int of 100000 digits", "x = " + "9" * 100000, REFUSED, "does not fit 64 bits"),
    # endless recursion
    ("recursion: def", "def f(x) { return f(x + 1) }\nf(0)\n", FAILED, "recursion too deep"),
    ("recursion: two defs", "def f(x) { return g(x) }\ndef g(x) { return f(x) }\nf(0)\n", FAILED, "recursion too deep"),
    ("recursion: lambda", "f = (x) => f(x)\nf(0)\n", FAILED, "recursion too deep"),
    ("recursion: module fields", "module M {\n a = M()\n build(x) { return x }\n}\nM()\n", FAILED, "recursion too deep"),
    ("recursion: build, inlined", "module M { build(x) {\n m = M()\n return m(x)\n} }\n"
     + program("M().create_graph(float32[2])") + "p()\n", FAILED, "recursion too deep"),
    ("recursion: build, called", "module M { build(x) {\n f, g = M().create_graph(x)\n return g(x)\n} }\n"
     + program("M().create_graph(float32[2])") + "p()\n", FAILED, "recursion too deep"),
    ("recursion: program", program("p()") + "p()\n", REFUSED, "is called inside program p"),
    ("a list in itself", "a = [1]\na.append(a)\nprint(a, f\"{a}\", str(a), a == a)\n", {0}, ""),
    ("lists in themselves compared", "a = [1]\na.append(a)\nb = [1]\nb.append(b)\nprint(a == b)\n", FAILED, "too deep"),
    ("a dict in itself", 'a = {}\na["x"] = a\nprint(a)\nb = {}\nb["x"] = b\nprint(a == b)\n', FAILED, "too deep"),
    ("a list in itself as an array", "a = [1, 2]\na[0] = a\na[1] = a\narray(a)\n", REFUSED, "nested deeper"),
    ("a list in itself as a shape", "a = [1, 2]\na[0] = a\nzeros(a)\n", REFUSED, ""),
    ("a tree in itself", 't = NamedTensors()\nu = NamedTensors()\nt.insert("a", u)\nu.insert("b", t)\nprint(t, t.to_dict())\n', FINE, ""),
    ("a deep chain of lists", "a = []\nfor i in range(300000) { a = [a] }\nprint(len(a))\na = none\n", {0}, ""),
    ("a deep chain of lists printed", "a = []\nfor i in range(300000) { a = [a] }\nprint(a)\n", FAILED, "too deep"),
    # sizes
    ("zeros beyond memory", "x = zeros([1000000, 1000000])\n", FAILED, "more than memory"),
    ("zeros of 2**80 elements", "x = zeros([2 ** 40, 2 ** 40])\n", REFUSED, "larger than memory"),
    ("a variable beyond memory", program("variable v: float32[1000000, 1000000] = normal(0, 1)") + "p()\n", FAILED, "more than memory"),
    ("a variable of 2**80 elements", program("variable v: float32[2 ** 40, 2 ** 40] = 0") + "p()\n", REFUSED, "larger than memory"),
    ("a stream beyond memory", program("stream in v: float32[1000000, 1000000]\nstream out y = host_load(v)") + run_p, FAILED, "missing input"),
    ("a product beyond memory", program("x = variable(ones([700000, 1]))\nstream out y = x @ x.transpose()") + run_p, FINE, ""),
    ("an array product beyond memory", "x = ones([700000, 1]) @ ones([1, 700000])\n", FINE, "memory"),
    ("a list of 10**12", "x = list(range(10 ** 12))\n", FAILED, "too many"),
    ("a text of 10**12", 'x = "x" * 10 ** 12\n', FAILED, "too long"),
    ("a list times 10**12", "x = [1] * 10 ** 12\n", FAILED, "too long"),
    ("a text that doubles", 'x = "x"\nwhile true { x = x + x }\n', FAILED, "too long"),
    ("a list that doubles", "x = [1]\nwhile true { x = x + x }\n", FAILED, "too long"),
    ("a list that extends itself", "x = [1]\nwhile true { x.extend(x) }\n", FAILED, "too long"),
    ("a join that doubles", 'x = "x"\nwhile true { x = x.join([x, x, x]) }\n', FAILED, ""),
    ("a replace that doubles", 'x = "x"\nwhile true { x = x.replace("x", "xx") }\n', FAILED, ""),
    ("arange of 10**12", "x = arange(10 ** 12)\n", FAILED, "memory"),
    ("linspace of 10**12", "x = linspace(0, 1, 10 ** 12)\n", FAILED, "memory"),
    ("eye of 10**12", "x = eye(10 ** 12)\n", FINE, "memory"),
    ("draws of 10**12", "x = normal(0, 1, [10 ** 12])\n", FAILED, "memory"),
    ("a permutation of 10**12", "x = permutation(10 ** 12)\n", FAILED, ""),
    ("onehot of 10**12", "x = onehot(array([1]), 10 ** 12)\n", FINE, ""),
    ("a padded text of 10**12", 'x = "x".rjust(10 ** 12)\n', FAILED, "too large"),
    ("a loop of 10**18 left at once", "for i in range(10 ** 18) { if i > 10 { break } }\n", {0}, ""),
    # numbers
    *[(f"zero: {text}", f"print({text})\n", FAILED, "division by zero") for text in
      ("1 / 0", "1 // 0", "1 % 0", "1.0 / 0", "1.5 // 0.0", "1.5 % 0.0", "divmod(1, 0)", "0 ** -1",
       "array([1, 2]) // array([0, 0])", "array([1, 2]) % 0")],
    ("zero: arrays of floats", "print(array([1.0]) / 0.0, array([1.0]) // 0.0, array([1, 2]) / array([0, 0]))\n", {0}, ""),
    ("zero: tensors of ints", program("x = variable(array([1, 2]))\nstream out y = x % 0\nstream out z = x / 0") + run_p, FINE, ""),
    *[(f"overflow: {text}", f"print({text})\n", FAILED, "does not fit a 64-bit int") for text in
      ("9223372036854775807 + 1", "9223372036854775807 * 2", "-(-9223372036854775807 - 1)", "2 ** 64", "1 << 64",
       "abs(-9223372036854775807 - 1)", "(-9223372036854775807 - 1) // -1", "int(1e300)", "round(1e300)",
       "sum([9223372036854775807, 1])")],
    ("overflow: least int", "m = -9223372036854775807 - 1\nprint(m % -1, array([-2147483648]) // -1, array(m, int64) // -1)\n", {0}, ""),
    ("overflow: casts", 'print(cast(array([1e20]), int32), cast(array([-1.0]), uint8), cast(array([float("nan")]), int32))\n', {0}, ""),
    ("overflow: float16", "assert f\"{cast(array([70000.0]), float16)}\" == \"[inf]\"\n", {0}, ""),
    ("shifts", "print(1 >> 1000, -1 >> 1000)\nprint(1 << -1)\n", FAILED, "negative shift"),
    # formats
    *[(f"format {spec}", f'w = 5\nprint(f"{{3{spec}}} {{1.5{spec}}}")\n', FINE, "") for spec in
      (":", "::", "{}", ":zzz", ":.f", ":99999d", ":99999999999999999999d", ":.99999999999999999999f", ":>>10", ":q", ":.2d",
       ":=", ":{5}", ":{w}", ":{w", "!z", ":.-1f", ":{", ":}", ":{{", ":\x00", ":é^9")],
    # slices and subscripts
    ("slices", "m = -9223372036854775807 - 1\nfor x in [[1, 2, 3], (1, 2, 3), \"abc\", arange(3), range(3)] {\n"
     "  print(x[10 ** 18:], x[-10 ** 18:], x[::10 ** 18], x[::-10 ** 18], x[:m], x[m::m], x[::m])\n}\n", {0}, ""),
    ("slices of a tensor", program("x = variable(arange(3))\nstream out a = x[-10 ** 18:]\nstream out b = x[::10 ** 18]\n"
                                   "stream out c = x[::-9223372036854775807]") + run_p, {0}, ""),
    ("an empty slice of a tensor", program("x = variable(arange(3))\nstream out a = x[10 ** 18:]") + run_p, FINE, ""),
    ("subscripts", "print([1][10 ** 18])\n", FAILED, "out of range"),
    ("a slice without a step", "print([1][::0])\n", FAILED, "cannot be zero"),
    ("a range too long to count", "print(len(range(-9223372036854775807, 9223372036854775807)))\n", FAILED, "64-bit"),
    *[(f"reshape {shape}", f"print(ones([6]).reshape({shape}))\n" + program(f"x = variable(ones([6])).reshape({shape})") + "p()\n",
       {65}, "reshape") for shape in ("[-1, -1]", "[4, -1]", "[7]", "[-2, -3]", '"a"', "[2 ** 62, 2 ** 62]", "[1.5]", "[]", "none", "[0, -1]",
                                      "[-9223372036854775807]")],
    *[(f"empty: {text}", f"print({text})\n", FINE, "") for text in
      ("argmax(zeros([0]))", "argmax([])", "max(zeros([0]))", "max([])", "mean(zeros([0]))", "softmax(zeros([2, 0]), axis = 1)",
       "sum(zeros([0]))", "zeros([0, 3]) @ zeros([3, 2])", "zeros([2, 0]) @ zeros([0, 2])", "concat([])", "topk(zeros([0]), 1)",
       "zeros([0, 3]).transpose()", "zeros([-1])", "topk(ones([3]), 10 ** 15)", "split(ones([3]), 10 ** 15)", "cumsum(zeros([0]))",
       "slice(ones([3]), 5, 2)", "gather(ones([3]), array([7]))", "ones([3])[array([7])]", "argmax(ones([2]), axis = 5)")],
    ("empty tensors", program("x = variable(zeros([0, 3]))\ny = variable(zeros([3, 2]))\nstream out a = x @ y\nstream out b = sum(x)") + run_p, FINE, ""),
    # changing what is iterated
    ("a dict that shrinks", "d = {1: 2, 3: 4}\nfor k in d { d.pop(k) }\n", FAILED, "changed its size"),
    ("a list that shrinks", "l = [1, 2, 3]\nfor x in l { l.clear() }\nprint([l.pop() for x in l], l)\n", {0}, ""),
    ("a list cleared by its sort", "l = [3, 1, 2]\ndef key(x) {\n  l.clear()\n  return x\n}\nl.sort(key = key)\nprint(sorted(l, key = key))\n", FINE, ""),
    ("a list unpacked into itself", "l = [1, 2]\nl[0], l[1] = l\nl[:] = l\nl += l\nl.extend(l)\nprint(l)\n", FINE, ""),
    # JSON
    ("JSON: many keys", 'x = from_json("{" + ",".join([f"\\"{i}\\": {i}" for i in range(10 ** 6)]) + "}")\nassert len(x) == 10 ** 6 and x["7"] == 7\n'
     "assert len(to_json(x)) > 10 ** 6\n", {0}, ""),
    ("JSON: many objects", 'x = from_json("[" + ",".join(["{}"] * 10 ** 6) + "]")\nassert len(x) == 10 ** 6\n', {0}, ""),
    ("JSON: brackets", 'x = from_json("[" * 10 ** 7)\n', REFUSED | FAILED, "lists and dicts within each other"),
    # names of files
    *[(f"a zero byte in a name: {text}", f'path = from_json("\\"a\\\\u0000.npy\\"")\n{text}\n', {1, 66}, "zero byte") for text in
      ("load(path)", "read_text(path)", "read_bytes(path)", "write_text(path, \"\")", "save(path, ones([1]))", "append_json(path, 1)",
       "list_files(path)")],
    ("a zero byte in a name: exists", 'write_text("a", "")\nassert exists("a") and not exists(from_json("\\"a\\\\u0000b\\""))\n', {0}, ""),
    ("an empty file", "", {0}, ""),
    ("only a comment", "#", {0}, ""),
]


# ---- bytes and files --------------------------------------------------------------------------------------------

def noise(seed):
    draw = random.Random(seed)
    pool = [bytes(range(256)), b"(){}[]\"'#\\\n \t.,:=+-*/%@!<>&|^~;$?`0aZ\xc3\xa9",
            b"module program build def if else for in while return param stream out with { } ( ) [ ] = : , . + 1 x \n\"f"]
    source = pool[seed % len(pool)]
    if seed % 3 == 2:
        words = source.split(b" ")
        return b" ".join(draw.choice(words) for _ in range(2000))
    return bytes(draw.choice(source) for _ in range(4000))


def idx(dims, body, magic=None, kind=8):
    return (magic or struct.pack(">BBBB", 0, 0, kind, len(dims))) + struct.pack(f">{len(dims)}I", *dims) + body


def mnist_cases(folder):
    """Folders of damaged data, each with the text that standard error must hold."""
    images, labels = idx([2, 28, 28], bytes(2 * 784)), idx([2], bytes([3, 4]))
    names = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")

    def write(case, packed, **changed):
        place = folder / case
        place.mkdir()
        for name, default in zip(names, (images, labels, images, labels)):
            key = name.split("-idx")[0].replace("-", "_")
            data = changed.get(key, default)
            if data is not None:
                (place / (name + (".gz" if packed else ""))).write_bytes(
                    data[1] if isinstance(data, tuple) else gzip.compress(data) if packed else data)
        return place

    cut = gzip.compress(images)
    flipped = bytearray(cut)
    flipped[len(flipped) // 2] ^= 0xFF
    yield "whole", write("whole", True), {0}, ""
    yield "gzip cut short", write("cut", True, train_images=(0, cut[:len(cut) // 2])), {66}, "train-images"
    yield "gzip damaged", write("flipped", True, train_images=(0, bytes(flipped))), {66}, "train-images"
    yield "no gzip", write("nogzip", True, train_images=(0, b"nonsense" * 100)), {66}, "train-images"
    yield "bad magic", write("magic", False, t10k_labels=idx([2], bytes(2), magic=b"\x01\x02\x03\x04")), {66}, "t10k-labels"
    yield "images cut short", write("short", False, train_images=images[:-1]), {66}, "train-images"
    yield "labels too long", write("long", False, train_labels=labels + b"\0"), {66}, "train-labels"
    yield "wrong size of images", write("size", False, train_images=idx([2, 27, 28], bytes(2 * 27 * 28))), {66}, "[n, 28, 28]"
    yield "huge extents", write("huge", False, train_images=idx([2 ** 32 - 1] * 3, b"")), {66}, "train-images"
    yield "no dimensions", write("nodims", False, train_labels=idx([], b"\0")), {66}, "train-labels"
    yield "other counts", write("counts", False, train_labels=idx([3], bytes(3))), {66}, "3 labels for the 2 images"
    yield "label 11", write("label", False, train_labels=idx([2], bytes([3, 11]))), {66}, "label 1 is 11"
    yield "empty files", write("empty", False, train_labels=b"", t10k_images=b""), {66}, "train-"
    yield "a missing file", write("missing", False, t10k_labels=None), {66}, "lacks t10k-labels"
    yield "no folder", folder / "nowhere", {66}, "PXL_DATA"


def interrupted(pxl, text, folder, at_once):
    path = folder / "endless.pxl"
    path.write_text("print(\"begun\")\n" + text)
    process = start(pxl, path)
    # Output to a pipe may be kept back: the process has begun once it used the processor for a while.
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    asked = time.monotonic()
    result = finish(process)
    late = time.monotonic() - asked
    problem = judge(result, {130}, "interrupted")
    return problem or (f"it stopped only {late:.2f} s after the interrupt" if late > (0.2 if at_once else 1.5) else None)


TRAIN = TRAINING + "with Session(train()) as s {\n  for i in range(10 ** 12) { s.run(x = x) }\n}\n"

ENDLESS = {
    "while true": "while true { }\n",
    "a comprehension": "x = [i for i in range(10 ** 12) if false]\n",
    "a sum": "x = sum(range(10 ** 15))\n",
    "calls": "def f() { return 1 }\nwhile true { f() }\n",
    "a sort": "x = sorted(range(2 ** 24), key = (v) => -v)\n",
    "membership": "x = -1.5 in [i for i in range(10 ** 12)]\n",
    "a graph that grows": "program p {\n  x = variable(1.0)\n  while true { y = x + 1.0 }\n}\np()\n",
    "a large product": "x = ones([20000, 20000])\ny = x @ x\n",
    "training": TRAIN,
}


def closed_pipe(pxl, folder):
    path = folder / "talk.pxl"
    path.write_text("while true { print(\"line\") }\n")
    process = subprocess.Popen([str(pxl), str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    try:
        process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        return "it went on writing into a closed pipe"
    # SIGPIPE ends it silently, as it ends other commands.
    err = process.stderr.read().decode(errors="replace")
    return None if process.returncode == -signal.SIGPIPE and not err else f"status {process.returncode}\n{err[-800:]}"


def cases(pxl, folder):
    """(name, function that gives a problem or None) for every case."""
    def text_case(index, data, wanted, text):
        path = folder / f"case{index}.pxl"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return judge(finish(start(pxl, path.name, cwd=folder)), wanted, text)

    for index, (name, data, wanted, text) in enumerate(TEXTS):
        yield name, lambda index=index, data=data, wanted=wanted, text=text: text_case(index, data, wanted, text)
    for seed in range(12):
        yield f"noise {seed}", lambda seed=seed: text_case(f"noise{seed}", noise(seed), FINE, "")
    bytes_cases = [
        ("NUL bytes", b"x = 1\nprint(\0)\n", {65}, "nul.pxl:2:7:".replace("nul", "casebytes0")),
        ("invalid UTF-8", b"x = 1\ny = \"a\xff\"\n", {65}, "casebytes1.pxl:2:7:"),
        ("an overlong encoding", b"x = \"\xc0\xaf\"\n", {65}, "casebytes2.pxl:1:6:"),
        ("a surrogate", b"x = \"\xed\xa0\x80\"\n", {65}, "casebytes3.pxl:1:6:"),
        ("a sequence cut by the end", b"x = 1 # \xe2\x82", {65}, "casebytes4.pxl:1:9:"),
        ("only NULs", b"\0" * 4096, {65}, ""),
        ("a byte order mark", b"\xef\xbb\xbfx = 1\n", {0, 65}, ""),
        ("carriage returns", b"x = 1\r\ny = 2\r\nassert x + y == 3\r\n", {0}, ""),
    ]
    for index, (name, data, wanted, text) in enumerate(bytes_cases):
        yield name, lambda index=index, data=data, wanted=wanted, text=text: text_case(f"bytes{index}", data, wanted, text)
    small = folder / "small.pxl"
    small.write_text("option n: int = 1\nprint(n)\n")
    unreadable = folder / "unreadable.pxl"
    unreadable.write_text("x = 1\n")
    unreadable.chmod(0)
    (folder / "a.pxl").write_text("import b\n")
    (folder / "b.pxl").write_text("import a\n")
    (folder / "self.pxl").write_text("import self\n")
    commands = [
        ("a missing file", ("nothing.pxl",), {66}, "nothing.pxl"),
        ("a folder as a file", (str(folder),), {66}, "cannot read"),
        ("an unknown option", (small.name, "--m", "1"), {2}, "unknown option"),
        ("an option that is almost known", (small.name, "--nn", "1"), {2}, "did you mean"),
        ("an option without a value", (small.name, "--n"), {2}, "needs a value"),
        ("an option of another type", (small.name, "--n", "x"), {2}, "expected an int"),
        ("an option beyond 64 bits", (small.name, "--n", "9" * 40), {2}, "expected an int"),
        ("an argument without a name", (small.name, "5"), {2}, "unexpected argument"),
        ("an unknown flag", ("--nonsense",), {2}, "unknown flag"),
        ("-e without code", ("-e",), {2}, "code is required"),
        ("run without a file", ("run",), {2}, "a file is required"),
        ("test without a file", ("test",), {2}, "a file or a folder is missing"),
        ("empty code", ("-e", ""), {0}, ""),
        ("imports in a circle", ("a.pxl",), {65}, "in a circle"),
        ("a file that imports itself", ("self.pxl",), {65}, "in a circle"),
    ]
    if os.geteuid() != 0:  # root may read everything
        commands.append(("an unreadable file", (unreadable.name,), {66}, "cannot read"))
    for name, arguments, wanted, text in commands:
        yield name, lambda arguments=arguments, wanted=wanted, text=text: judge(
            finish(start(pxl, *arguments, cwd=folder)), wanted, text)
    yield "noise on standard input", lambda: judge(finish(start(pxl, "-"), noise(0)), FINE)
    data = folder / "data.pxl"
    data.write_text("d = mnist()\nprint(len(d.train), d.train.labels)\n")
    for name, place, wanted, text in mnist_cases(folder):
        yield f"mnist: {name}", lambda place=place, wanted=wanted, text=text: judge(
            finish(start(pxl, data, env={"PXL_DATA": str(place)})), wanted, text)
    for name, text in ENDLESS.items():
        yield f"interrupt: {name}", lambda text=text, name=name: interrupted(pxl, text, own_folder(folder, name), name == "while true")
    bounds_folder = folder / "bounds"
    bounds_folder.mkdir()
    yield from bounds.bound_cases(pxl, bounds_folder)
    yield "a closed pipe", lambda: closed_pipe(pxl, folder)


def own_folder(folder, name):
    place = folder / f"interrupt {name}"
    place.mkdir()
    return place


def hostile_tests(pxl, add, parallel, workers=2):
    with tempfile.TemporaryDirectory() as temporary:
        for name, problem in parallel([(f"hostile: {name}", body) for name, body in cases(pxl, pathlib.Path(temporary))], workers):
            add(name, problem)
