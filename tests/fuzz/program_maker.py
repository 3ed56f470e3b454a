"""Random programs of the host language and, statement by statement, the same programs in Python.

A program is a list of statements: (pxl, python) for a line; ("block", parts) for parts (pxl head, python head, statements); ("twin",
parts in pxl, parts in Python) where the languages differ in more than words. Expressions are pairs of texts as
well. Names have types, so that most programs run to
their end: an expression is asked for by the type of its value.
"""

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
"""
TYPES = ["int", "int", "int", "float", "bool", "str", "str", "ints", "strs", "dict", "pair"]
TEXTS = ["", "a", "layer", "x y z", "é", "naïve €", "q'", "12", " pad ", "A,b,,c", "tensor", "\\n-"]
NAMES = "abcdefghkmnpqrstuvw"

# Statements that fail, most of them only when they run; V is a name of any type.
FAILURES = ["[1, 2][len(\"abcde\")]", "{\"a\": 1}[\"b\" + \"c\"]", "1 // (len(\"\"))", "1 / (2 - 2)", "int(\"x\" + \"1\")", "[3].index(4)", "\"abc\".index(\"z\")",
            "[].pop()", "{}.pop(\"k\")", "assert len(\"a\") > 2, \"short\"", "assert 1 == 2", "V + none", "none.field", "V.no_such", "unknown_name + 1", "V(1)", "V[\"k\"][1]",
            "(x => x)()", "(x => x)(1, 2)", "((x, y = 1) => x)(y = 2)", "((x) => x)(1, x = 2)", "((x) => x)(z = 2)", "9223372036854775807 + len(\"a\")", "-9223372036854775807 - 2", "2 ** 64", "a1, b1 = [1, 2, 3]",
            "a1, b1, *c1 = [1]", "for z in 5 { pass }", "sorted([1, \"a\"])", "{[1]: 2}", "[1] < 2", "\"a\" * \"b\"", "max([])", "\"%\".join([1])", "range(1, 2, 0)", "f\"{1:q}\"", "f\"{'a':d}\"",
            "print(late)\nlate = 1", "with 3 { pass }", "exit(3)", "float(\"1.2.3\")", "divmod(1, 0)", "round(\"a\")", "zip(1, 2)", "[1, 2, 3][::0]", "len(5)", "1 < \"a\"",
            "-\"a\"", "~1.5", "1 << -1", "\"abc\"[1.5]", "list(3)", "dict([1])", "[*3]", "{**[1]}", "print(*5)", "((**k) => k)(1)", "none < none", "str(1, 2, 3)", "\"a\".split(1)"]


class Maker:
    def __init__(self, chance):
        self.chance = chance
        self.scopes = [{}]  # names of each body and their types
        self.functions = [{}]  # name: types of parameters, type of the result
        self.objects = [{}]  # name: class
        self.loops = 0
        self.made = 0

    # ---- names ----

    def fresh(self):
        """A new name: bodies don't bind names of outer ones by accident."""
        self.made += 1
        return f"{self.chance.choice(NAMES)}{self.made}"

    def known(self, kind):
        return [name for scope in self.scopes for name, its in scope.items() if its == kind]

    def bind(self, kind):
        """A name of this body to bind: a new one, or one of the same type."""
        own = [name for name, its in self.scopes[-1].items() if its == kind]
        if own and self.chance.random() < 0.5:
            return self.chance.choice(own)
        name = self.fresh()
        self.scopes[-1][name] = kind
        return name

    def pick(self, *choices):
        return self.chance.choice(choices)()

    # ---- expressions ----

    def pair(self, text, *parts):
        """The text with each § replaced by the next part, in both languages."""
        both = []
        for side in (0, 1):
            pieces = text.split("§")
            assert len(pieces) == len(parts) + 1, text
            both.append("".join(piece + (parts[i][side] if i < len(parts) else "") for i, piece in enumerate(pieces)))
        return tuple(both)

    def constant(self, kind):
        c = self.chance
        if kind == "int":
            return (str(c.choice([0, 1, 2, 3, 7, 10, 255, 1000, -1, -5])),) * 2
        if kind == "float":
            return (str(c.choice([0.0, 0.5, 1.5, -2.25, 3.0, 1e-3, 100.0])),) * 2
        if kind == "bool":
            return c.choice([("true", "True"), ("false", "False")])
        if kind == "str":
            return ('"' + c.choice(TEXTS) + '"',) * 2
        if kind == "ints":
            return (str([c.randrange(-3, 9) for _ in range(c.randrange(5))]),) * 2
        if kind == "strs":
            return ("[" + ", ".join('"' + c.choice(TEXTS) + '"' for _ in range(c.randrange(4))) + "]",) * 2
        if kind == "dict":
            return ("{" + ", ".join(f'"{c.choice("abcxyz")}": {c.randrange(9)}' for _ in range(c.randrange(4))) + "}",) * 2
        return ("(1, \"one\")",) * 2

    def expr(self, kind, depth=3):
        names = self.known(kind)
        roll = self.chance.random()
        if names and roll < (0.35 if depth > 0 else 0.8):
            return (self.chance.choice(names),) * 2
        if depth <= 0 or roll < 0.45:
            return self.constant(kind)
        return getattr(self, "expr_" + kind)(depth - 1)

    def any_of(self, depth):
        return self.expr(self.chance.choice(TYPES), depth)

    def called(self, kind, depth):
        """A call of a function or a method that returns the kind, or none."""
        found = [(name, its) for scope in self.functions for name, its in scope.items() if its[1] == kind]
        if not found:
            return None
        name, (kinds, _, extra) = self.chance.choice(found)
        parts = [self.expr(k, depth) for k in kinds]
        text = ", ".join(["§"] * len(parts))
        if extra == "default" and self.chance.random() < 0.5:
            text += (", " if parts else "") + self.chance.choice(["§", "last = §", "*[§]", "**{\"last\": §}"])
            parts.append(self.expr("int", depth))
        elif extra == "star":
            more = self.chance.randrange(3)
            text += "".join((", " if parts or i else "") + "§" for i in range(more))
            parts += [self.expr("int", depth) for _ in range(more)]
        return self.pair(f"{name}({text})", *parts)

    def wild(self, kind, depth):
        """Forms that every type has."""
        e = self.expr
        return self.pick(
            lambda: self.pair("(§ if § else §)", e(kind, depth), e("bool", depth), e(kind, depth)),
            lambda: self.called(kind, depth) or self.constant(kind),
            lambda: self.pair("[§, §][§ % 2]", e(kind, depth), e(kind, depth), e("int", depth)),
            lambda: self.pair("{\"k\": §, \"l\": §}[\"l\"]", e(kind, depth), e(kind, depth)),
            lambda: self.lambda_call(kind, depth))

    def lambda_call(self, kind, depth):
        name = self.fresh()
        other = self.chance.choice(TYPES)
        argument = self.expr(other, depth)
        self.scopes.append({name: other})
        body = self.expr(kind, depth)
        self.scopes.pop()
        return (f"(({name}) => {body[0]})({argument[0]})", f"(lambda {name}: {body[1]})({argument[1]})")

    def comprehension(self, value_kind, depth, form):
        """form has % for the value; a target may have the name of an outer variable."""
        c = self.chance
        outer = [n for scope in self.scopes for n in scope]
        name = c.choice(outer) if outer and c.random() < 0.3 else self.fresh()
        source, inner = c.choice([("ints", "int"), ("str", "str"), ("strs", "str"), ("range", "int"), ("dict", "str")])
        items = self.pair("range(§ % 6)", self.expr("int", depth)) if source == "range" else self.expr(source, depth)
        self.scopes.append({name: inner})
        second = ("", "")
        if c.random() < 0.25:
            another = self.fresh()
            # The second source sees the first target.
            second = self.pair(f" for {another} in range(§ % 3)", self.expr("int", 1))
            self.scopes[-1][another] = "int"
        value = self.expr(value_kind, depth)
        filters = self.pair(" if §", self.expr("bool", depth)) if c.random() < 0.4 else ("", "")
        self.scopes.pop()
        return self.pair(form + f" for {name} in §§§", value, items, second, filters)

    def expr_int(self, d):
        e = self.expr
        return self.pick(
            lambda: self.pair("(§ " + self.chance.choice("+-") + " §) % 1000003", e("int", d), e("int", d)),
            lambda: self.pair("(§ * §) % 10007", e("int", d), e("int", d)),
            lambda: self.pair("§ // (abs(§) + 1)", self.pair("(§)", e("int", d)), e("int", d)),
            lambda: self.pair("(§ " + self.chance.choice("&|^") + " §)", e("int", d), e("int", d)),
            lambda: self.pair("(-§ if § < 0 else ~§)", e("int", 0), e("int", d), e("int", 0)),
            lambda: self.pair("(§ % 50) ** (§ % 4)", e("int", d), e("int", d)),
            lambda: self.pair("len(§)", e(self.chance.choice(["str", "ints", "dict", "strs"]), d)),
            lambda: self.pair("sum(§)", e("ints", d)),
            lambda: self.pair("max(§, §)", e("int", d), e("int", d)),
            lambda: self.pair("min([§, §], key = §)", e("int", d), e("int", d), ("(x) => -x", "lambda x: -x")),
            lambda: self.pair("int(§)", e("float", d)),
            lambda: self.pair("(§ or §)", e("int", d), e("int", d)),
            lambda: self.pair("(§ and §)", e("int", d), e("int", d)),
            lambda: self.pair("§.get(\"x\", §)", e("dict", d), e("int", d)),
            lambda: self.pair("§.count(\"a\")", e("str", d)),
            lambda: self.pair("§.find(§)", e("str", d), e("str", d)),
            lambda: self.pair("([§] + §)[§ % 1]", e("int", d), e("ints", d), e("int", d)),
            lambda: self.pair("§[0]", e("pair", d)),
            lambda: self.pair("divmod(§, 7)[§ % 2]", e("int", d), e("int", d)),
            lambda: self.pair("round(§)", e("float", d)),
            lambda: self.object_int(d),
            lambda: self.wild("int", d))

    def object_int(self, d):
        found = [(name, its) for scope in self.objects for name, its in scope.items()]
        if not found:
            return self.constant("int")
        name, _ = self.chance.choice(found)
        return self.pick(lambda: (f"{name}.size",) * 2, lambda: self.pair(f"{name}.grown(§)", self.expr("int", d)),
                         lambda: self.pair(f"{name}.grown(by = §)", self.expr("int", d)))

    def expr_float(self, d):
        e = self.expr
        return self.pick(
            lambda: self.pair("(§ " + self.chance.choice("+-") + " §)", e("float", d), e(self.chance.choice(["int", "float"]), d)),
            lambda: self.pair("(§ * § % 7.5)", e("float", d), e("float", d)),
            lambda: self.pair("(§ / (abs(§) + 1))", e(self.chance.choice(["int", "float"]), d), e("int", d)),
            lambda: self.pair("float(§)", e("int", d)),
            lambda: self.pair("abs(§)", e("float", d)),
            lambda: self.wild("float", d))

    def expr_bool(self, d):
        e, compare = self.expr, lambda: self.chance.choice(["<", "<=", ">", ">=", "==", "!="])
        return self.pick(
            lambda: self.pair(f"(§ {compare()} §)", e("int", d), e("int", d)),
            lambda: self.pair(f"(§ {compare()} § {compare()} §)", e("int", d), e("float", d), e("int", d)),
            lambda: self.pair(f"(§ {compare()} §)", e("str", d), e("str", d)),
            lambda: self.pair(f"(§ {compare()} §)", e("ints", d), e("ints", d)),
            lambda: self.pair("(§ == §)", self.any_of(d), self.any_of(d)),
            lambda: self.pair("(§ " + self.chance.choice(["in", "not in"]) + " §)", e("str", d), e(self.chance.choice(["str", "strs", "dict"]), d)),
            lambda: self.pair("(§ in §)", e("int", d), e("ints", d)),
            lambda: self.pair("(not §)", self.any_of(d)),
            lambda: self.pair("(§ " + self.chance.choice(["and", "or"]) + " §)", e("bool", d), e("bool", d)),
            lambda: self.pair("bool(§)", self.any_of(d)),
            lambda: self.pair("§.startswith(§)", e("str", d), e("str", d)),
            lambda: (lambda t: (f"({t[0]} is none)", f"([{t[1]}][0] is None)"))(self.any_of(d)),
            lambda: self.pair("any([§, §])", e("bool", d), e("bool", d)),
            lambda: self.pair("all([§])", self.comprehension("bool", d, "§")),
            lambda: self.wild("bool", d))

    def shown_in_f(self, d):
        kind = self.chance.choice(TYPES)
        p, y = self.expr(kind, d)
        if '"' in p or "\\" in p or "{" in p or "=>" in p or " for " in p:
            names = self.known(kind)
            if not names:
                return ("1", "1")
            p = y = self.chance.choice(names)
        if kind == "int" and self.chance.random() < 0.4:
            form = self.chance.choice([":5", ":<4", ":+", ":08", ":,", ":x", ":^7", ":{3 + 4}"])
            return "{" + p + form + "}", "{" + y + form + "}"
        if kind == "float" and self.chance.random() < 0.5:
            form = self.chance.choice([":.3f", ":8.2f", ":e", ":g", ":.0%"])
            return "{" + p + form + "}", "{" + y + form + "}"
        if kind == "str" and self.chance.random() < 0.4:
            form = self.chance.choice([":>8", ":*^9", ":.2", "!r"])
            return "{" + p + form + "}", "{" + y + form + "}"
        return "{" + p + "}", "{show(" + y + ")}"

    def expr_str(self, d):
        e = self.expr
        return self.pick(
            lambda: self.pair("(§ + §)[:24]", e("str", d), e("str", d)),
            lambda: self.pair("(§ * (§ % 3))[:24]", e("str", d), e("int", d)),
            lambda: self.pair("f\"" + self.chance.choice(["", "n ", "{{}}", "é"]) + "§ §\"[:40]", self.shown_in_f(1), self.shown_in_f(1)),
            lambda: self.pair("§." + self.chance.choice(["upper()", "lower()", "strip()", "title()", "replace(\"a\", \"bc\")", "ljust(6, \".\")", "zfill(5)", "center(7)"]) + "[:24]", e("str", d)),
            lambda: (lambda t: (f"str({t[0]})[:30]", f"show({t[1]})[:30]"))(self.any_of(d)),
            lambda: (lambda t: (f"repr({t[0]})[:30]", f"shown({t[1]})[:30]"))(self.expr(self.chance.choice(["int", "ints", "pair", "dict"]), d)),
            lambda: self.pair("§.join(§)[:30]", self.constant("str"), e("strs", d)),
            lambda: self.pair("(§ + \"z\")[§ % 1]", e("str", d), e("int", d)),
            lambda: self.slice("str", d),
            lambda: self.pair("§[1]", e("pair", d)),
            lambda: self.pair("(§ or §)", e("str", d), e("str", d)),
            lambda: self.wild("str", d))

    def slice(self, kind, d):
        c = self.chance
        places = [self.pair("§ % 9 - 4", self.expr("int", 1)) if c.random() < 0.7 else ("", "") for _ in range(2)]
        return self.pair("§[§:§" + c.choice(["", "", ":2", ":-1", ":-2"]) + "]", self.expr(kind, d), *places)

    def expr_ints(self, d):
        e = self.expr
        return self.pick(
            lambda: self.pair("[§, §]", e("int", d), e("int", d)),
            lambda: self.pair("(§ + §)[:12]", e("ints", d), e("ints", d)),
            lambda: self.pair("[§]", self.comprehension("int", d, "§")),
            lambda: self.pair("[*§, §][:12]", e("ints", d), e("int", d)),
            lambda: self.pair("sorted(§)", e("ints", d)),
            lambda: self.pair("sorted(§, key = §, reverse = §)", e("ints", d), ("(x) => x % 3", "lambda x: x % 3"), e("bool", d)),
            lambda: self.pair("list(range(§ % 5, §, §))", e("int", d), self.pair("§ % 9", e("int", d)), ("2", "2")),
            lambda: self.pair("list(reversed(§))", e("ints", d)),
            lambda: self.pair("list(map(§, §))", ("(x) => x + 1", "lambda x: x + 1"), e("ints", d)),
            lambda: self.pair("list(filter(§, §))", ("(x) => x > 1", "lambda x: x > 1"), e("ints", d)),
            lambda: self.pair("list(§.values())", e("dict", d)),
            lambda: self.pair("([§] * (§ % 4))", e("int", d), e("int", d)),
            lambda: self.slice("ints", d),
            lambda: self.wild("ints", d))

    def expr_strs(self, d):
        e = self.expr
        return self.pick(
            lambda: self.pair("[§, §]", e("str", d), e("str", d)),
            lambda: self.pair("§.split(\",\")[:5]", e("str", d)),
            lambda: self.pair("§.split()[:5]", e("str", d)),
            lambda: self.pair("list(§)[:6]", e("str", d)),
            lambda: self.pair("sorted(§)", e("dict", d)),
            lambda: self.pair("[§][:8]", self.comprehension("str", d, "§")),
            lambda: self.pair("[k for k, v in §.items() if v % 2 == 0]", e("dict", d)),
            lambda: self.pair("[f\"{i}{s}\" for i, s in enumerate(§)]", e("strs", d)),
            lambda: self.slice("strs", d),
            lambda: self.wild("strs", d))

    def expr_dict(self, d):
        e = self.expr
        return self.pick(
            lambda: self.pair("{§: §}", e("str", d), e("int", d)),
            lambda: self.pair("{**§, \"a\": §}", e("dict", d), e("int", d)),
            lambda: self.pair("(§ | §)", e("dict", d), e("dict", d)),
            lambda: self.pair("{s[:2]: len(s) for s in §}", e("strs", d)),
            lambda: self.pair("{§}", self.comprehension("int", d, "\"k\": §")),
            lambda: self.pair("dict(zip(§, §))", e("strs", d), e("ints", d)),
            lambda: self.pair("§.copy()", e("dict", d)),
            lambda: self.wild("dict", d))

    def expr_pair(self, d):
        return self.pick(lambda: self.pair("(§, §)", self.expr("int", d), self.expr("str", d)), lambda: self.wild("pair", d))

    # ---- statements ----

    def statements(self, count, depth):
        out = []
        for _ in range(count):
            out += self.statement(depth)
        return out or [("pass", "pass")]

    def statement(self, depth):
        simple = [self.assign, self.assign, self.assign, self.update, self.element, self.method, self.write, self.unpack, self.field]
        blocks = [self.branch, self.loop, self.loop, self.counted, self.function, self.function, self.klass, self.lambda_]
        return self.chance.choice(simple + (blocks if depth > 0 else []))(depth)

    def line(self, text, *parts):
        return [self.pair(text, *parts)]

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
        first, rest = self.expr("int"), self.expr("ints")
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
                return self.line(f"{one}, {self.bind('str')} = §", self.expr("pair"))
            self.scopes[-1].update({one: "int", another: "int"})
            a, b = self.expr("int"), self.expr("int")
            # A name that this line binds for the first time can't be read in it.
            return [(f"{one}, {another} = 1, 2",) * 2] + self.line(f"{one}, {another} = {another}, {one}")
        return self.line(f"({self.bind('int')}, ({self.bind('str')}, *{self.bind('strs')})) = (§, [\"h\", *§])", first, self.expr("strs"))

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
                             lambda: self.line(f"{self.bind('int')} = {name}.pop(§, §)", self.expr("str", 1), self.expr("int")))
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
        self.objects[-1][instance] = name
        argument = self.chance.choice([("", ""), self.expr("int"), self.pair("size = §", self.expr("int"))])
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
        names = [n for n in self.scopes[0]] or ["print"]
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
