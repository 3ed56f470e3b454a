"""Scripts that handle errors: a missing file, a bad row, a NaN and Ctrl-C; what `check` says of a `try`."""
import signal
import subprocess

from tests.cli.case import LIMIT, case, differ, holds, wait_until_it_works

SURVIVES = """program step {
  stream in x: float32[2]
  variable w: float32[2] = 1
  scaled_add_(w, log(host_load(x)), b = 1)
}
session = Session(step())
lines = try read_text("none.txt").split("\\n") else ["1 2", "3", "1 -1", "2 2"]
log = []
for line in lines {
  try {
    row = [float(field) for field in line.split(" ")]
    if len(row) != 2 { fail(f"{len(row)} numbers", kind = "bad-row", data = row) }
    session.run(x = row, finite = true)
  } catch bad_row as e {
    log.append(e.kind)
  } catch not_finite as e {
    log.append(e.kind)
  }
}
print(log, session.get_tensor_data(session.ir.w))
try {
  print("ready")
  while true { session.run(x = [1, 1]) }
} catch interrupted as e {
  print("stopped:", e.kind)
} finally { print("the end") }
print(session.get_tensor_data(session.ir.w))
"""


@case
def a_script_survives_a_missing_file_a_bad_row_a_nan_and_ctrl_c(cli):
    cli.write("survives.pxl", SURVIVES)
    process = subprocess.Popen([str(cli.pxl), "survives.pxl"], cwd=cli.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until_it_works(process, 1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    weights = "[1.6931472 2.3862944]\n"
    differ("the script", (process.returncode, out, err), (0, f"['bad-row', 'not-finite'] {weights}ready\nstopped: interrupted\nthe end\n{weights}", ""))


@case
def ctrl_c_runs_finally_and_is_not_lost(cli):
    for ending in ("print(1)", "continue", "break"):
        cli.write("a.pxl", f"while true {{\n  try {{\n    print(0)\n    while true {{ pass }}\n  }} catch {{ print(2) }} finally {{ {ending} }}\n}}\n")
        process = subprocess.Popen([str(cli.pxl), "a.pxl"], cwd=cli.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until_it_works(process, 0.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=LIMIT)
        differ(ending, (process.returncode, out), (130, "0\n1\n" if ending.startswith("print") else "0\n"))
    cli.write("b.pxl", "try { exit(3) } catch { print(1) } finally { print(2) }\n")
    differ("exit", cli.run("b.pxl"), (3, "2\n", ""))


@case
def a_look_at_a_try(cli):
    cases = (
        # An error of the program is one, except where a `catch` names its kind.
        ("try { laod(1) } catch { }\n", 65, "error: unknown name `laod`"),
        ("x = try laod(1) else none\n", 65, "error: unknown name `laod`"),
        ("try { laod(1) } catch unknown_name { }\n", 0, "warning: unknown name `laod`"),
        ("try { [1].lenght } catch value { } catch unknown_member as e { print(e) }\n", 0, "warning: "),
        ("def f() { return ones([2]) @ ones([3, 2]) }\ntry { f() } catch shape { }\n", 0, "warning: matmul"),
        ("def f() { return ones([2]) @ ones([3, 2]) }\ntry { f() } catch { }\n", 65, "error: matmul"),
        ("try { try { [1].no } finally { } } catch unknown_member { }\n", 0, "warning: "),
        ("try { 1 } catch { laod(1) }\n", 65, "error: unknown name `laod`"),
        # An error of the world is none where it is handled.
        ("try { 1 // 0 } catch arithmetic { }\nprint(1)\n", 0, ""),
        ("def f(x) {\n  y = [1][x]\n  return y\n}\nprint(try f(5) else 0)\n", 0, ""),
        ("try { 1 // 0 } catch index { }\n", 65, "error: division by zero"),
        ("try { 1 // 0 } finally { }\n", 65, "error: division by zero"),
        ("fail('no')\nprint(1)\n", 0, ""),
        ("def f(n) { if n > 1 { fail('no') } }\ntry { f(2) } catch fail as e { print(e.message.no) }\n", 65, "error: "),
        # Kinds.
        ("try { 1 } catch vlaue { }\n", 65, "did you mean `value`?"),
        ("try { 1 } catch bad_row { }\n", 65, "there is no kind of error `bad_row`"),
        ("try { fail('a', kind = 'bad-row') } catch bad_rwo { }\n", 65, "did you mean `bad_row`?"),
        ("try { fail('a', kind = 'bad-row') } catch bad_row { }\n", 0, ""),
        ("import part\ntry { part.f() } catch of_part { }\n", 0, ""),
        ("def g(k) { fail('a', kind = k) }\ntry { g('x') } catch any_name { }\n", 0, ""),
        ("fail('a', kind = 'value')\n", 65, "is a kind of pxl's own errors"),
        ("fail('a', kind = 'a b')\n", 65, "can't be a kind"),
        ("fail(3)\n", 65, "takes a message or an error"),
        ("fail('a', 'b', 'c', 'd')\n", 65, "fail"),
    )
    cli.write("part.pxl", "def f() { fail('a', kind = 'of-part') }\n")
    for text, status, said in cases:
        cli.write("a.pxl", text)
        code, _, err = cli.run("check", "a.pxl")
        differ(text, code, status)
        holds(text, err, said)


@case
def a_program_with_a_try_is_built_for_a_look(cli):
    cli.write("a.pxl", "program p {\n  variable w: float32[2] = 1\n  try {\n    a = w * 2\n    fail('no')\n  } catch { b = w * 3 }\n  c = try w @ ones([3]) else w\n  stream out y = b\n}\n")
    differ("an error of the program", cli.run("check", "a.pxl")[0], 65)
    cli.write("a.pxl", "program p {\n  variable w: float32[2] = 1\n  try {\n    a = w * 2\n    fail('no')\n  } catch { b = w * 3 }\n  c = try [w][1] else w\n  stream out y = b + c\n}\n")
    code, out, err = cli.run("schedule", "a.pxl")
    differ("status", (code, err), (0, ""))
    differ("ops that are left", out.count("Mul"), 1)
