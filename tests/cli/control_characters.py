"""No message has control characters, wherever its words come from: names of files, texts of programs, models, the environment."""
import json
import os
import re
import struct

from tests.cli.case import case, differ
from tests.cli.terminal import on_terminal, pexpect

# A terminal's title, a bell, a colour, C1, DEL. The word shows that the text is in the output.
BAD = "\x1b]0;word\x07\x1b[31m\x9b5m\x7f"
QUOTED = json.dumps(BAD).replace("\\u001b", "\\x1b").replace("\\u0007", "\\x07").replace("\\u007f", "\\x7f").replace("\\u009b", "\x9b")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def field(number, content):
    """A field of a Protocol Buffers message: an int or bytes."""
    def varint(v):
        out = b""
        while v > 127:
            out, v = out + bytes([v & 127 | 128]), v >> 7
        return out + bytes([v])
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def onnx_model(op="Relu", node="n", graph="g", value="x", domain="", attribute=None, producer="p", version=17):
    """A model of one node from x to y, float32[2]."""
    spec = field(2, field(1, field(1, 1) + field(2, field(1, field(1, 2)))))
    made = field(1, value) + field(2, "y") + field(3, node) + field(4, op) + field(7, domain)
    if attribute:
        made += field(5, field(1, attribute) + field(3, 1) + field(20, 2))
    body = field(1, made) + field(2, graph) + field(11, field(1, value) + spec) + field(12, field(1, "y") + spec)
    return field(1, 8) + field(2, producer) + field(7, body) + field(8, field(1, domain) + field(2, version)) + field(8, field(1, "") + field(2, version))


def safetensors(names):
    header, at = {}, 0
    for name in names:
        header[name] = {"dtype": "F32", "shape": [2], "data_offsets": [at, at + 8]}
        at += 8
    text = json.dumps(header, ensure_ascii=False).encode()
    return struct.pack("<Q", len(text)) + text + bytes(at)


SESSION = "program p {\n  variable w: float32[2] = 1\n  stream in x: float32[2]\n  stream out y = w * host_load(x)\n}\ns = Session(p())\n"
NAMED = f"w = variable([1.0, 2.0], name = {QUOTED})\nstream out y = w * 2\n"

# Programs whose error, or whose output by an op, has the text.
PROGRAMS = {
    "an assertion": f"assert false, {QUOTED}",
    "an assertion of an expression": f"assert {QUOTED} == 'a'",
    "a key of a dict": f"x = {{'a': 1}}[{QUOTED}]",
    "an int": f"int({QUOTED})",
    "a float": f"float({QUOTED})",
    "a format": f"x = 1\nprint(format(x, {QUOTED}))",
    "an excerpt": f"x = '{BAD}' + 1",
    "a comment beside an error": f"x = unknown_name  # {BAD}",
    "a string that does not end": f"x = '{BAD}",
    "an array's dtype": f"zeros([2], dtype = {QUOTED})",
    "an engine": SESSION + f"Session(p(), engine = {QUOTED})",
    "a device": SESSION + f"Session(p(), device = {QUOTED})",
    "a machine": SESSION + f"Session(p(), machine = {QUOTED})",
    "a stream of a run": SESSION + f"s.run(**{{{QUOTED}: [1, 2]}})",
    "a result of a run": SESSION + f"s.run(x = [1, 2])[{QUOTED}]",
    "a checkpoint to read": SESSION + f"s.restore({QUOTED} + '.safetensors')",
    "a checkpoint to write": SESSION + f"s.save('none/' + {QUOTED} + '.safetensors')",
    "a suffix": SESSION + f"s.save({QUOTED})",
    "keys of a checkpoint": SESSION + "s.restore('keys.safetensors')",
    "the name of a tensor": NAMED + "assert false, str(w)",
    "the name of a graph": f"g = ir.create_empty_graph({QUOTED})\ng(ones([2]))",
    "a tensor of a graph": NAMED + f"main.main_graph.get_tensor({QUOTED} + 'x')",
    "a scope": f"with name_scope({QUOTED}) {{ x = variable([1.0], name = 'word') @ ones([3]) }}",
    "a printed tensor": f"x = variable([1.0, 2.0])\nprint_tensor(x, {QUOTED})\nSession(main).run()",
    "a watched tensor": NAMED + "watch([w])\nSession(main).run()",
    "a file of an array": f"load({QUOTED} + '.npy')",
    "a file of arrays": f"load({QUOTED} + '.npz')",
    "a text file": f"read_text({QUOTED})",
    "a table": f"load({QUOTED} + '.csv')",
    "an image": f"load({QUOTED} + '.png')",
    "a sound": f"load({QUOTED} + '.wav')",
    "an unknown suffix": f"load('a.' + {QUOTED})",
    "a file to write": f"write_text('none/' + {QUOTED}, 'a')",
    "a log": f"append_json('none/' + {QUOTED}, 1)",
    "a picture": f"plot([1, 2], path = 'none/' + {QUOTED} + '.svg')",
    "a folder": f"mnist({QUOTED})",
    "JSON": f"from_json('[1, ' + {QUOTED})",
    "an imported model": "from \"" + BAD.replace("\x1b", "\\x1b").replace("\x07", "\\x07").replace("\x7f", "\\x7f") + ".onnx\" import Model",
    "a model": f"load_onnx({QUOTED} + '.onnx')",
    "a notice of a bar": f"for i in progress(range(3), title = {QUOTED}) {{ }}",
    "a name of a dotted tree": f"t = DotTree()\nt.insert({QUOTED}, 1)",
    "a spec": f"x = ones([2])\nx.reshape({QUOTED})",
    "an einsum": f"einsum({QUOTED}, ones([2]), ones([2]))",
    "an argument": f"f = a => a\nf(**{{{QUOTED}: 1}})",
}
# Command lines, with files of the case's folder.
COMMANDS = {
    "a script that is not there": [f"{BAD}.pxl"],
    "a script with an error": [f"error{BAD}.pxl"],
    "a folder of a script": [f"folder{BAD}/error.pxl"],
    "a check": ["check", f"error{BAD}.pxl"],
    "a check of a folder": ["check", f"folder{BAD}"],
    "a command": [BAD],
    "a flag": [f"--{BAD}"],
    "a flag of a command": ["check", f"--{BAD}", "plain.pxl"],
    "an option": ["option.pxl", f"--{BAD}", "1"],
    "an option's value": ["option.pxl", "--n", BAD],
    "tests": ["test", "tests.pxl"],
    "a file of tests": ["test", f"tests{BAD}.pxl"],
    "a file without tests": ["test", f"plain{BAD}.pxl"],
    "formatting": ["fmt", "--check", f"unformatted{BAD}.pxl"],
    "a kind of error": ["explain", BAD],
    "documentation": ["doc", BAD],
    "documentation of a file": ["doc", "documented.pxl"],
    "help": ["help", BAD],
    "a new project": ["new", f"none/{BAD}"],
    "a project that exists": ["new", f"folder{BAD}"],
    "a schedule": ["schedule", "named.pxl"],
    "a plan": ["schedule", "--plan", "named.pxl"],
    "a graph that is not there": ["schedule", "--graph", BAD, "named.pxl"],
    "a profile": ["profile", "--machine", "bow", "named.pxl"],
    "a machine": ["profile", "--machine", BAD, "named.pxl"],
    "an import": ["import", f"{BAD}.onnx"],
    "an op of a model": ["import", "op.onnx"],
    "a domain of a model": ["import", "domain.onnx"],
    "an attribute of a model": ["import", "attribute.onnx"],
    "a value of a model": ["import", "value.onnx"],
    "a name of a model": ["import", f"cut{BAD}.onnx"],
    "completions": ["completions", BAD],
    "a threads option": ["--engine", BAD, "plain.pxl"],
}
# Inputs of the REPL.
INPUTS = [f"assert false, {QUOTED}", f"x = {QUOTED}", "x", ":vars", ":type x", f":help {BAD}", f":{BAD}", f":load {BAD}.pxl", f":save none/{BAD}",
          f":engine {BAD}", f":break {BAD}", f":explain {BAD}", f":time {BAD}", f"variable([1.0], name = {QUOTED})", ":graphs", ":schedule",
          f":graph main none/{BAD}.svg", f"'{BAD}' + 1", ":history", "{x: 1}", "[x]", f"f = (a = {QUOTED}) => a", ":help f", ":undo"]
VARIABLES = ["PXL_ENGINE", "PXL_MACHINE", "PXL_SEED"]


def write_files(cli):
    for name in ("error", f"folder{BAD}/error", "error" + BAD):
        cli.write(f"{name}.pxl", "x = 1 + 'a'\n")
    for name in ("plain", "plain" + BAD):
        cli.write(f"{name}.pxl", "x = 1\n")
    cli.write("option.pxl", "option n: int = 1\nprint(n)\n")
    for name in ("tests", "tests" + BAD):
        cli.write(f"{name}.pxl", f'test "{BAD}" {{ assert 1 == 2, {QUOTED} }}\ntest "good {BAD}" {{ assert true }}\n')
    cli.write(f"unformatted{BAD}.pxl", "x=1\n")
    cli.write("documented.pxl", f"## {BAD}\ndef documented(a = {QUOTED}) {{ return a }}\n")
    cli.write("named.pxl", NAMED + f"g = ir.create_empty_graph({QUOTED})\nSession(main)\n")
    cli.write("model.pxl", SESSION)
    for name, model in (("op", onnx_model(op=BAD)), ("domain", onnx_model(domain=BAD)), ("attribute", onnx_model(attribute=BAD)),
                        ("value", onnx_model(op="NoSuchOp", value=BAD, node=BAD, graph=BAD, producer=BAD)), ("cut" + BAD, onnx_model()[:20])):
        (cli.folder / f"{name}.onnx").write_bytes(model)
    (cli.folder / "keys.safetensors").write_bytes(safetensors([BAD, "other"]))


def unclean(text):
    return [ascii(line) for line in text.split("\n") if CONTROL.search(line)]


@case
def no_message_has_control_characters(cli):
    write_files(cli)
    bad, silent = {}, []
    ways = {f"program: {name}": (["program.pxl"], text + "\n", None) for name, text in PROGRAMS.items()}
    ways |= {f"command: {name}": (words, None, None) for name, words in COMMANDS.items()}
    ways |= {f"environment: {name}": (["model.pxl"], None, {name: BAD}) for name in VARIABLES}
    for name, (words, text, env) in ways.items():
        if text:
            cli.write("program.pxl", text)
        for more in ([], ["--json"]) if text else ([],):
            _, out, err = cli.run(*more, *words, env=env)
            if lines := unclean(out + err):
                bad[name] = lines
            if "word" not in out + err:
                silent.append(name)
    _, out, err = cli.run("repl", "--no-init", stdin="\n".join(INPUTS) + "\n")
    if lines := unclean(out + err):
        bad["repl"] = lines
    differ("with control characters", bad, {})
    differ("without the text", silent, [])
    differ("ways", len(ways) + len(INPUTS) >= 100, True)


@case
def what_a_program_prints_and_what_goes_to_a_pipe_is_left_as_it_is(cli):
    write_files(cli)
    cli.write("program.pxl", f"print({QUOTED})\n")
    differ("printed", cli.run("program.pxl")[1], BAD + "\n")
    differ("formatted", cli.run("fmt", "-", stdin=f"x='{BAD}'\n")[1], f"x = '{BAD}'\n")
    # JSON has other ways to write control characters.
    out = cli.run("--json", "program.pxl")[1]
    differ("clean", unclean(out), [])
    differ("as JSON", json.loads(out.splitlines()[0])["text"], BAD + "\n")


if pexpect:
    @case
    def terminals_get_colours_and_no_other_sequences(cli):
        write_files(cli)
        colours = re.compile(r"\x1b\[[0-9;]*m")
        for words in (["fmt", "--diff", f"unformatted{BAD}.pxl"], ["graph", "named.pxl", "-o", "-"], ["check", f"error{BAD}.pxl"],
                      ["test", "tests.pxl"], ["schedule", "named.pxl"], ["doc", "documented.pxl"], ["named.pxl", f"--{BAD}"]):
            _, shown = on_terminal(cli, *words)
            differ(f"{words}: is there", "word" in shown, True)
            differ(f"{words}", unclean(colours.sub("", shown)), [])
            differ(f"{words}: colours of the text", "\x1b[31m" + "\ufffd5m" in shown, False)
