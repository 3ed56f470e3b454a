"""The REPL's display around its answers: prompts, the pager, wrapped messages."""
from tests.repl.terminal import PROMPT, Terminal, contains, lacks, same


def prompts_have_numbers(pxl, home):
    """A prompt has the number by which errors name its input; commands have none."""
    t = Terminal(pxl, home)
    for number in (2, 3):
        t.send("1\r")
        t.child.expect(rf"\[{number}\] pxl> ")
    t.send(":vars\r")
    t.child.expect(r"\[3\] pxl> ")
    t.send("f(\r")
    t.child.expect(r"\[3\] \.\.\.> ")
    t.send("nothing_here)\r")
    t.child.expect(r"\[3\]:1:1: error.*\[4\] pxl> ")
    # A copied transcript, with and without numbers.
    t.child.send("\x1b[200~[7] pxl> a = 20\n[8] pxl> def g(x) {\n[8] ...>   return x + a\n[8] ...> }\npxl> g(22)\x1b[201~\r")
    t.wait("42\r\n")
    t.wait(PROMPT)
    same(t.enter("[1]"), "[1]")
    assert t.leave() == 0


def long_texts_are_paged(pxl, home):
    t = Terminal(pxl, home, env={"PAGER": "echo paged; cat"})
    contains(t.enter(":help"), "paged", ":schedule [GRAPH]")
    lacks(t.enter(":help len"), "paged")
    assert t.leave() == 0


def messages_are_wrapped(pxl, home):
    t = Terminal(pxl, home, columns=40)
    shown = t.enter("an_unknown_name_of_some_length + another_name")
    assert all(len(line) <= 40 for line in shown.splitlines()[1:]), shown
    shown = t.enter(":nancheck perhaps this is neither of the two words")
    assert all(len(line) <= 40 for line in shown.splitlines()), shown
    assert t.leave() == 0


DISPLAY_CASES = [prompts_have_numbers, long_texts_are_paged, messages_are_wrapped]
