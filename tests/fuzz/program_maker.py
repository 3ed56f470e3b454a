"""Random programs of the host language and, statement by statement, the same programs in Python.

A program is a list of statements: (pxl, python) for a line; ("block", parts) for parts (pxl head, python head, statements); ("twin",
parts in pxl, parts in Python) where the languages differ in more than words. Expressions are
those of program_expressions.py.
"""

from tests.fuzz.program_expressions import TYPES, Expressions

PY_START = """import sys
sys.setrecursionlimit(100000)
def show(v):
    return v if isinstance(v, str) else shown(v)
def shown(v):
    if v is True or v is False or v is None:
        return str(v).lower()
    if isinstance(v, list):
        return "[" + ", ".join(map(shown, v)) + "]"
    if isinstance(v, tuple):
        return "(" + ", ".join(map(shown, v)) + ("," if len(v) == 1 else "") + ")"
    if isinstance(v, dict):
        return "{" + ", ".join(f"{shown(k)}: {shown(x)}" for k, x in v.items()) + "}"
    return repr(v)
def write(*values):
    print(*map(show, values))
class expected:
    def __enter__(self):
        pass
    def __exit__(self, kind, error, places):
        if kind is None:
            raise ValueError("nothing failed")
        return issubclass(kind, Exception)
class Fail(Exception):
    pass
class Own(Exception):
    pass
"""

# A `catch` takes this kind.
PXL_START = 'def own9() { fail("why", kind = "own-kind") }\n'

# Failures that a `try` takes: in pxl and in Python, and the kind in both.
TAKEN = [("1 // 0", "1 // 0", "arithmetic", "ZeroDivisionError"), ("[1][5]", "[1][5]", "index", "IndexError"), ("{}[\"k\"]", "{}[\"k\"]", "key", "KeyError"),
         ("int(\"x\")", "int(\"x\")", "value", "ValueError"), ("fail(\"why\")", "raise Fail()", "fail", "Fail"), ("fail(\"why\", kind = \"own-kind\")", "raise Own()", "own_kind", "Own")]

# Statements that fail, most of them only when they run; V is a name of any type.
FAILURES = ["[1, 2][len(\"abcde\")]", "{\"a\": 1}[\"b\" + \"c\"]", "1 // (len(\"\"))", "1 / (2 - 2)", "int(\"x\" + \"1\")", "[3].index(4)", "\"abc\".index(\"z\")",
            "[].pop()", "{}.pop(\"k\")", "assert len(\"a\") > 2, \"short\"", "assert 1 == 2", "V + none", "none.field", "V.no_such", "unknown_name + 1", "V(1)", "V[\"k\"][1]",
            "(x => x)()", "(x => x)(1, 2)", "((x, y = 1) => x)(y = 2)", "((x) => x)(1, x = 2)", "((x) => x)(z = 2)", "9223372036854775807 + len(\"a\")", "0 - 9223372036854775807 - 2", "2 ** 64", "a1, b1 = [1, 2, 3]",
            "a1, b1, *c1 = [1]", "for z in 5 { pass }", "sorted([1, \"a\"])", "{[1]: 2}", "[1] < 2", "\"a\" * \"b\"", "max([])", "\"%\".join([1])", "range(1, 2, 0)", "f\"{1:q}\"", "f\"{'a':d}\"",
            "print(late)\nlate = 1", "with 3 { pass }", "exit(3)", "float(\"1.2.3\")", "divmod(1, 0)", "round(\"a\")", "zip(1, 2)", "[1, 2, 3][::0]", "len(5)", "1 < \"a\"",
            "print(-\"a\")", "print(~1.5)", "1 << -1", "\"abc\"[1.5]", "list(3)", "dict([1])", "[*3]", "{**[1]}", "print(*5)", "none < none", "str(1, 2, 3)", "\"a\".split(1)"]


# What Python lacks, or means otherwise: § is an int, ¤ a new name.
OWN = ["¤ = []\nfor ¤i in range(4) {\n  ¤j = ¤i * §\n  ¤.append((x) => x + ¤i + ¤j)\n}\nprint([f(§) for f in ¤], ¤i, ¤j)",
       "¤j = 7\n¤ = []\nfor ¤i in range(3) {\n  ¤j = ¤i\n  if § > 1 { ¤.append(() => ¤j) } else { ¤.append(() => ¤i) }\n}\nprint([f() for f in ¤])",
       "¤ = [() => i + § for i in range(3)]\nprint([f() for f in ¤])", "¤ = [[() => (i, j) for j in range(2)] for i in range(2)]\nprint(¤[1][0](), ¤[0][1]())",
       "¤i = 0\n¤ = []\nwhile ¤i < 3 {\n  ¤k = ¤i\n  ¤.append((x, y = ¤i) => x + y + ¤k)\n  ¤i += 1\n}\nprint([f(§) for f in ¤])",
       "def ¤(a: int, b: float = 2, *c) { return a, b, c }\nprint(¤(§, §), ¤(b = §, a = 1), ¤(1, 2, §))\n¤(\"a\")", "def ¤(a = []) {\n  a.append(§)\n  return len(a)\n}\nprint(¤(), ¤(), ¤([1]))",
       "def ¤() {\n  ¤n = §\n  def ¤f() {\n    def ¤g() {\n      nonlocal ¤n\n      ¤n = ¤n + 1\n      return ¤n\n    }\n    return ¤g() + ¤g()\n  }\n  return ¤f(), ¤n\n}\nprint(¤())",
       "¤ = array([§, §]) + 1\n¤[0] = 3\nprint(¤, ¤.shape, sum(¤), [x + 1 for x in ¤])", "¤x = variable([1.0, 2.0])\n¤y = relu(¤x * §) + ¤x\nprint(¤y, eval(¤y))",
       "module ¤M(k) {\n  f = k + 1\n  g = [k, f]\n  def h(x = f) { return [i + k for i in range(x % 3)], self.g }\n}\n¤ = ¤M(§)\n¤.f = 5\n¤.g[0] += 2\nprint(¤.h(), ¤.f, ¤M(2).h(1), ¤)",
       "def ¤(n) { return n if n <= 0 else ¤(n - 1) }\nprint(¤(900))", "def ¤(*a) { return len(a) }\nprint(¤(*[1, 2], §), ¤(*range(3)), ¤())", "¤ = (a, b = §, *c) => [a, b, c]\nprint(¤(1), ¤(1, 2, 3), ¤(b = 1, a = 2))",
       "for ¤, *¤r in [[1, 2, 3], (4,), \"ab\"] { print(¤, ¤r) }", "def ¤(x) {\n  for i in range(5) {\n    while true {\n      if i == x { return i, \"found\" }\n      break\n    }\n  }\n}\nprint(¤(§ % 7))",
       "with name_scope(\"s\"), in_sequence() { ¤ = variable(1.0) + § }\nprint(¤)", "def ¤(x) {\n  with expect_error(\"\") {\n    y = x\n    [1][9]\n  }\n  return y\n}\nprint(¤(§), ¤(2))",
       "module ¤N {\n  build(x) {\n    param w: x.spec = §\n    y = x\n    for i in range(2) { y = y * w + i }\n    return y\n  }\n}\n¤f, ¤g = ¤N().create_graph(float32[2])\nprint(¤g, list(¤f.keys_flat()))\n¤N().create_graph(3)",
       "program ¤(n = §) {\n  stream in x: float32[2]\n  y = host_load(x)\n  for i in range(n % 3) { y = y + i }\n  stream out z = y\n}\nprint(Session(¤()).run(x = [1, 2]).z)",
       "record ¤R(a: int, b: int = 2)\n¤ = ¤R(§).with(b = 5)\nprint(¤, ¤R(1, §) == ¤R(1, §), {¤: 1}[¤R(§, 5)])\n¤.a = 2",
       "def ¤(x) { return x * § + 1 }\nprint(grad((v) => sum(¤(v) ** 2))([1.0, 2.0]), vmap(¤)(array([1.0, 2.0])), jvp(¤, array([1.0]), array([2.0])))",
       "module ¤S {\n  build(x) {\n    state c: float32[2] = 0\n    next c = c + x\n    return c * §\n  }\n}\nprogram ¤ {\n  stream in x: float32[2]\n"
       "  ¤n = ¤S().bound(x)\n  stream out y = repeat((v) => ¤n(v), 2, host_load(x))\n}\nprint(Session(¤()).run(x = [1, 2]).y)",
       "program ¤(n: size = 2) {\n  stream in x: {\"a\": float32[n]}\n  stream out y = scan((h, r) => (h + r, h * §), constant(0.0), host_load(x)[\"a\"])[1]\n}\n"
       "¤s = Session(¤())\nfor ¤k in [2, 3] { print(¤s.run(x = {\"a\": ones([¤k])}).y) }",
       "from data import batches\nprint([b for b in batches([1, 2, 3, §, 5], 2, shuffle = true, seed = §)])",
       "outlined def ¤(x) { return gelu(x) + § }\n¤v = variable([1.0])\nprint(¤(¤v), ¤(¤(¤v)))"]


class Maker(Expressions):
    def __init__(self, chance, own=False):
        """`own` allows what Python lacks."""
        super().__init__(chance)
        self.own = own

    # ---- statements ----

    def statements(self, count, depth):
        out = []
        for _ in range(count):
            out += self.statement(depth)
        return out or [("pass", "pass")]

    def statement(self, depth):
        simple = [self.assign, self.assign, self.assign, self.update, self.element, self.method, self.write, self.unpack, self.field]
        if self.own:
            simple += [self.foreign]
        blocks = [self.expecting, self.attempt, self.attempt, self.returning, self.branch, self.loop, self.loop, self.counted, self.function, self.function, self.klass, self.lambda_]
        return self.chance.choice(simple + (blocks if depth > 0 else []))(depth)

    def line(self, text, *parts):
        return [self.pair(text, *parts)]

    def foreign(self, depth):
        name, text = self.fresh(), self.chance.choice(OWN)
        text = text.replace("¤", name)
        while "§" in text:
            text = text.replace("§", self.expr("int", 1)[0] if "program" not in text and "module" not in text else str(self.chance.randrange(9)), 1)
        if len(self.scopes) > 1 and text.startswith("program"):
            return self.write(depth)
        return [(line, "pass") for line in text.split("\n")]

    def expecting(self, depth):
        """The statements after an error."""
        body = self.body(depth - 1)
        text = self.chance.choice([f for f in FAILURES if "exit" not in f and "late" not in f]).replace("V", self.chance.choice(list(self.scopes[-1]) or ["len"]))
        return [("block", [("with expect_error(\"\") {", "with expected():", body + [(line, "raise ValueError") for line in text.split("\n")])])]

    def raising(self):
        """A failure, mostly under a condition."""
        pxl, python, *_ = self.chance.choice(TAKEN)
        if self.chance.random() < 0.3:
            return [(pxl, python)]
        test = self.expr("bool")
        return [("block", [(f"if {test[0]} {{", f"if {test[1]}:", [(pxl, python)])])]

    def leaving(self):
        """`break` or `continue`, in a loop and under a condition."""
        test, word = self.expr("bool"), self.chance.choice(["break", "continue"])
        return [("block", [(f"if {test[0]} {{", f"if {test[1]}:", [(word, word)])])] if self.loops > 0 else []

    def attempt(self, depth):
        c = self.chance
        parts = [("try {", "try:", self.body(depth) + (self.raising() if c.random() < 0.8 else []) + (self.leaving() if c.random() < 0.3 else []))]
        for _ in range(c.randrange(3)):
            kinds = c.sample(TAKEN, c.randrange(1, 3))
            head = (", ".join(k[2] for k in kinds), "(" + ", ".join(k[3] for k in kinds) + ",)")
            name = f" as {self.fresh()}" if c.random() < 0.3 else ""
            parts.append((f"}} catch {head[0]}{name} {{", f"except {head[1]}{name}:", self.body(depth) + (self.raising() if c.random() < 0.2 else [])))
        if c.random() < 0.4:
            parts.append(("} catch {", "except Exception:", self.body(depth) + (self.leaving() if c.random() < 0.3 else [])))
        if len(parts) == 1 or c.random() < 0.5:
            parts.append(("} finally {", "finally:", self.body(depth) + (self.leaving() if c.random() < 0.3 else [])))
        return [("block", parts)]

    def returning(self, depth):
        """A function that returns from within a `try`, mostly."""
        name, c = self.fresh(), self.chance
        self.scopes.append({})
        self.functions.append({})
        self.objects.append({})
        loops, self.loops = self.loops, 0
        body = self.line("return §", self.expr("int")) if c.random() < 0.5 else self.raising()
        parts = [("try {", "try:", self.body(depth) + body)]
        parts.append(("} catch value, fail {", "except (ValueError, Fail):", self.body(depth) + self.line("return §", self.expr("int"))))
        finish = self.line("return §", self.expr("int")) if c.random() < 0.3 else []
        parts.append(("} finally {", "finally:", self.body(depth) + finish))
        self.loops = loops
        self.scopes.pop()
        self.functions.pop()
        self.objects.pop()
        return [("block", [(f"def {name}() {{", f"def {name}():", [("block", parts), ("return -1", "return -1")])]),
                ("block", [("try {", "try:", [(f"print({name}())", f"write({name}())")]), ("} catch {", "except Exception:", [("print(\"no\")", "write(\"no\")")])])]

    def write(self, depth):
        values = [self.any_of(2) for _ in range(self.chance.randrange(1, 3))]
        inside = ", ".join(["§"] * len(values))
        p, y = self.pair(inside, *values)
        return [(f"print({p})", f"write({y})")]

    def assign(self, depth):
        kind = self.chance.choice(TYPES)
        value = self.expr(kind)
        if self.chance.random() < 0.15 and kind in ("int", "float", "str", "bool", "pair"):
            first = self.bind(kind)
            return self.line(f"{self.bind(kind)} = {first} = §", value)
        return self.line(f"{self.bind(kind)} = §", value)

    def update(self, depth):
        own = [(n, k) for n, k in self.scopes[-1].items() if k in ("int", "float", "str")]
        if not own:
            return self.assign(depth)
        name, kind = self.chance.choice(own)
        if kind == "str":
            return self.line(f"{name} += §[:5]", self.expr("str")) + [(f"{name} = {name}[:40]",) * 2]
        op = self.chance.choice(["+=", "-=", "//=", "%=", "*="] if kind == "int" else ["+=", "-=", "*="])
        value = self.expr("int", 1)
        value = self.pair("(abs(§) % 90 + 1)", value)
        return self.line(f"{name} {op} §", value) + [(f"{name} = {name} % 99991",) * 2]

    def unpack(self, depth):
        c = self.chance
        # Values come first: they can't read what this line binds.
        first, rest, texts, both = self.expr("int"), self.expr("ints"), self.expr("strs"), self.expr("pair")
        form = c.randrange(5)
        if form == 0:
            a, b = self.expr("int"), self.expr("str")
            return self.line(f"{self.bind('int')}, {self.bind('str')} = §, §", a, b)
        if form == 1:
            return self.line(f"{self.bind('int')}, *{self.bind('ints')} = [§, *§]", first, rest)
        if form == 2:
            return self.line(f"*{self.bind('ints')}, {self.bind('int')} = [*§, §]", rest, first)
        if form == 3:
            one = self.bind("int")
            another = self.bind("int")
            if one == another:
                return self.line(f"{one}, {self.bind('str')} = §", both)
            self.scopes[-1].update({one: "int", another: "int"})
            return [(f"{one}, {another} = 1, 2",) * 2] + self.line(f"{one}, {another} = {another}, {one}")
        return self.line(f"({self.bind('int')}, ({self.bind('str')}, *{self.bind('strs')})) = (§, [\"h\", *§])", first, texts)

    def element(self, depth):
        """Assignment to an element or a slice, which may be of an outer body's object."""
        c = self.chance
        lists, dicts = self.known("ints"), self.known("dict")
        if lists and c.random() < 0.6:
            name = c.choice(lists)
            op = c.choice(["=", "+=", "-="])
            target = c.choice([f"{name}[0]", f"{name}[-1]", f"{name}[len({name}) // 2]"])
            if c.random() < 0.3:
                return self.line(f"{name}[:2] = §[:4]", self.expr("ints"))
            return self.line(f"{name}.append(1)") + self.line(f"{target} {op} § % 1000", self.pair("(§)", self.expr("int")))
        if dicts:
            name = c.choice(dicts)
            key = self.expr("str", 1)
            if c.random() < 0.3:
                return self.line(f"{name}[\"n\"] = §", self.expr("int")) + self.line(f"{name}[\"n\"] += § % 9", self.pair("(§)", self.expr("int", 1)))
            return self.line(f"{name}[§] = §", key, self.expr("int"))
        return self.assign(depth)

    def method(self, depth):
        c = self.chance
        lists, dicts = self.known("ints"), self.known("dict")
        if lists and c.random() < 0.7:
            name = c.choice(lists)
            # Lists that a loop may be going through don't grow without an end.
            return self.pick(lambda: self.line(f"{name}.append(§)", self.expr("int")) + self.cut(name),
                             lambda: self.line(f"{name}.extend(§)", self.expr("ints")) + self.cut(name),
                             lambda: self.line(f"{name}.insert(§ % 3, §)", self.pair("(§)", self.expr("int", 1)), self.expr("int")) + self.cut(name),
                             lambda: self.line(f"{name}.sort()"), lambda: self.line(f"{name}.reverse()"),
                             lambda: self.line(f"{name}.sort(key = §)", ("(x) => -x", "lambda x: -x")),
                             lambda: self.line(f"{name}.append(4)") + self.line(f"{name}.remove(4)"),
                             lambda: self.line(f"{name}.append(5)") + self.line(f"{self.bind('int')} = {name}.pop()"))
        if dicts:
            name = c.choice(dicts)
            return self.pick(lambda: self.line(f"{name}.update(§)", self.expr("dict")), lambda: self.line(f"{name}.setdefault(§, §)", self.expr("str", 1), self.expr("int")),
                             lambda: (lambda key, other: self.line(f"{self.bind('int')} = {name}.pop(§, §)", key, other))(self.expr("str", 1), self.expr("int")))
        return self.assign(depth)

    def cut(self, name):
        own = name in self.scopes[-1]
        return [(f"{name} = {name}[:15]",) * 2] if own and self.chance.random() < 0.5 else []

    def branch(self, depth):
        head = self.pair("if §", self.expr("bool"))
        out = [(f"{head[0]} {{", head[1] + ":", self.body(depth))]
        if self.chance.random() < 0.4:
            more = self.pair("§", self.expr("bool"))
            out.append((f"}} else if {more[0]} {{", f"elif {more[1]}:", self.body(depth)))
        if self.chance.random() < 0.5:
            out.append(("} else {", "else:", self.body(depth)))
        return [("block", out)]

    def body(self, depth):
        """Statements of a block: names that are bound in it are not relied upon after it."""
        before = dict(self.scopes[-1])
        functions, objects = dict(self.functions[-1]), dict(self.objects[-1])
        out = self.statements(self.chance.randrange(1, 4), depth - 1)
        self.scopes[-1] = before
        self.functions[-1], self.objects[-1] = functions, objects
        return out

    def loop(self, depth):
        if self.loops >= 2:
            return self.assign(depth)
        c = self.chance
        form = c.randrange(7)
        item, other = self.fresh(), self.fresh()
        if form == 0:
            head, bound = self.pair(f"for {item} in range(§ % 5)", self.expr("int")), {item: "int"}
        elif form == 1:
            head, bound = self.pair(f"for {item} in §[:5]", self.expr("ints")), {item: "int"}
        elif form == 2:
            head, bound = self.pair(f"for {item} in §[:5]", self.expr("str")), {item: "str"}
        elif form == 3:
            head, bound = self.pair(f"for {item}, {other} in enumerate(§[:5])", self.expr("strs")), {item: "int", other: "str"}
        elif form == 4:
            # Python goes through a view; a copy allows the body to change the dict.
            p, y = self.expr("dict")
            head, bound = (f"for {item}, {other} in {p}.items()", f"for {item}, {other} in list({y}.items())"), {item: "str", other: "int"}
        elif form == 5:
            head, bound = self.pair(f"for {item}, {other} in zip(§[:4], §[:4])", self.expr("ints"), self.expr("strs")), {item: "int", other: "str"}
        else:
            third = self.fresh()
            head, bound = self.pair(f"for {item}, ({other}, {third}) in [(1, §), (2, §)]", self.expr("pair"), self.expr("pair")), {item: "int", other: "int", third: "str"}
        before = dict(self.scopes[-1])
        self.scopes[-1].update(bound)
        self.loops += 1
        body = self.body(depth)
        if c.random() < 0.4:
            word = c.choice(["break", "continue"])
            test = self.expr("bool")
            body = body + [("block", [(f"if {test[0]} {{", f"if {test[1]}:", [(word, word)])])] + self.body(0)
        self.loops -= 1
        self.scopes[-1] = before
        return [("block", [(head[0] + " {", head[1] + ":", body)])]

    def counted(self, depth):
        if self.loops >= 2:
            return self.assign(depth)
        name = self.fresh()
        self.loops += 1
        body = [(f"{name} += 1",) * 2] + self.body(depth)
        test = self.expr("bool")
        if self.chance.random() < 0.3:
            body += [("block", [(f"if {test[0]} {{", f"if {test[1]}:", [(self.chance.choice(["break", "continue"]),) * 2])])]
        self.loops -= 1
        head = f"while {name} < {self.chance.randrange(1, 5)}"
        return [(f"{name} = 0",) * 2, ("block", [(head + " {", head + ":", body)])]

    def function(self, depth):
        c = self.chance
        name, kinds, result = self.fresh(), [c.choice(TYPES) for _ in range(c.randrange(3))], c.choice(TYPES)
        # A parameter may have the name of an outer variable.
        outer = [n for scope in self.scopes for n in scope]
        names = []
        for _ in kinds:
            new = c.choice(outer) if outer and c.random() < 0.2 else self.fresh()
            names.append(new if new not in names else self.fresh())
        parameters, extra = ", ".join(names), c.choice(["", "", "default", "star"])
        scope = dict(zip(names, kinds))
        default = ("", "")
        if extra == "default":
            default = self.pair((", " if names else "") + "last = §", self.expr("int"))
            scope["last"] = "int"
        elif extra == "star":
            default = ((", " if names else "") + "*rest",) * 2
            scope["rest"] = "ints"
        captured = [n for n in self.known("int") if n in self.scopes[-1] and n not in scope]
        loops, self.loops = self.loops, 0
        in_loop = loops > 0
        self.scopes.append(scope)
        self.functions.append({})
        self.objects.append({})
        body = []
        if extra == "star":
            body.append(("rest = list(rest)",) * 2)
        if captured and not in_loop and c.random() < 0.5:
            changed = c.choice(captured)
            body = [(f"nonlocal {changed}", f"{'nonlocal' if len(self.scopes) > 2 else 'global'} {changed}")] + body + \
                self.line(f"{changed} = ({changed} + §) % 1000", self.expr("int", 1))
        body += self.statements(c.randrange(1, 4), depth - 1)
        if c.random() < 0.3:
            test, early = self.expr("bool"), self.expr(result)
            body.append(("block", [(f"if {test[0]} {{", f"if {test[1]}:", self.line("return §", early))]))
        body += self.line("return §", self.expr(result))
        self.scopes.pop(), self.functions.pop(), self.objects.pop()
        self.loops = loops
        head = self.pair(f"def {name}({parameters}§)", default)
        self.functions[-1][name] = (kinds, result, extra)
        return [("block", [(head[0] + " {", head[1] + ":", body)])]

    def lambda_(self, depth):
        name, kind, result, parameter = self.fresh(), self.chance.choice(TYPES), self.chance.choice(TYPES), self.fresh()
        self.scopes.append({parameter: kind})
        loops, self.loops = self.loops, 0
        p, y = self.expr(result)
        self.loops = loops
        self.scopes.pop()
        self.functions[-1][name] = ([kind], result, "")
        return [(f"{name} = ({parameter}) => {p}", f"{name} = lambda {parameter}: {y}")]

    def klass(self, depth):
        if len(self.scopes) > 1 or self.loops:
            return self.assign(depth)
        name, first, second = self.fresh().upper(), self.expr("int"), self.expr("int", 1)
        scopes, self.scopes = self.scopes, [{"size": "int", "by": "int"}]
        value = self.expr("int")
        self.scopes = scopes
        inner = value[1].replace("size", "self.size")
        pxl = [(f"module {name}(size = {first[0]}) {{", None, [
            (f"count = {second[0]}", None),
            ("block", [("def grown(by = 2) {", None, [("self.size = (size + by) % 1000", None), ("self.count += 1", None), (f"return ({value[0]}) + self.doubled()", None)])]),
            ("block", [("def doubled() {", None, [("return size * 2 + count", None)])])])]
        py = [(None, f"class {name}:", [
            ("block", [(None, f"def __init__(self, size={first[1]}):", [(None, "self.size = size"), (None, f"self.count = {second[1]}")])]),
            ("block", [(None, "def grown(self, by=2):", [(None, "self.size = (self.size + by) % 1000"), (None, "self.count += 1"), (None, f"return ({inner}) + self.doubled()")])]),
            ("block", [(None, "def doubled(self):", [(None, "return self.size * 2 + self.count")])])])]
        instance = self.fresh()
        argument = self.chance.choice([("", ""), self.expr("int"), self.pair("size = §", self.expr("int"))])
        self.objects[-1][instance] = name
        return [("twin", pxl, py), (f"{instance} = {name}({argument[0]})", f"{instance} = {name}({argument[1]})")]

    def field(self, depth):
        found = [n for n in self.objects[-1]]
        if not found:
            return self.write(depth)
        return self.line(f"{self.chance.choice(found)}.size {self.chance.choice(['=', '+='])} § % 100", self.pair("(§)", self.expr("int")))

    # ---- programs ----

    def recursion(self):
        n = self.chance.choice([3, 20, 100, 400])
        name = self.fresh()
        body = self.pair("return § if n <= 0 else " + f"{name}(n - 1) + n % 3", self.constant("int"))
        return [("block", [(f"def {name}(n) {{", f"def {name}(n):", [body])])] + [(f"print({name}({n}))", f"write({name}({n}))")]

    def failing(self):
        """A statement that fails, in functions that call each other."""
        names = [n for n in self.scopes[0]] or ["len"]
        text = self.chance.choice(FAILURES).replace("V", self.chance.choice(names))
        lines = [(line, "raise ValueError") for line in text.split("\n")]
        calls = self.chance.randrange(4)
        for _ in range(calls):
            name = self.fresh()
            form = self.chance.randrange(4)
            call = [f"{name}()", f"[{name}() for z9 in [1, 2]]", f"print(f\"{{{name}()}}\")", f"(() => {name}())()"][form]
            lines = [("block", [(f"def {name}() {{", f"def {name}():", lines)]), (call, f"{name}()")]
        return lines

    def program(self):
        out = self.statements(self.chance.randrange(4, 12), 3)
        if self.chance.random() < 0.2:
            out += self.recursion()
        # All that is known at the end.
        for name, kind in self.scopes[0].items():
            out.append((f"print(\"{name}\", {name})", f"write(\"{name}\", {name})"))
        if self.chance.random() < 0.5:
            out += self.failing()
        return out


def text_of(statements, side, indent=0):
    """The text of statements in pxl (side 0) or Python (side 1)."""
    lines = []
    for s in statements:
        if s[0] == "block":
            for head in s[1]:  # `} else {` ends the part before it
                lines.append("  " * indent + head[side])
                lines += text_of(head[2], side, indent + 1) or ["  " * (indent + 1) + "pass"]
            if side == 0:
                lines.append("  " * indent + "}")
        elif s[0] == "twin":
            lines += text_of([("block", s[1 + side])], side, indent)
        else:
            lines.append("  " * indent + s[side])
    return lines
