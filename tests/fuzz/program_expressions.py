"""Random expressions in the host language and in Python: pairs of texts, requested by the type of their value. Names have types, so that
most programs run to their end."""

TYPES = ["int", "int", "int", "float", "bool", "str", "str", "ints", "strs", "dict", "pair"]
TEXTS = ["", "a", "layer", "x y z", "→", "n€t →", "q'", "12", " pad ", "A,b,,c", "tensor", "\\n-"]
NAMES = "abcdefghkmnpqrstuvw"


class Expressions:
    """The names that are known at a place in a program, and expressions of them."""

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
        """The names of a type: an inner body's name hides an outer one."""
        visible = {name: its for scope in self.scopes for name, its in scope.items()}
        return [name for name, its in visible.items() if its == kind]

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
            lambda: self.pair("§." + self.chance.choice(["strip()", "replace(\"a\", \"bc\")", "ljust(6, \".\")", "zfill(5)", "center(7)"]) + "[:24]", e("str", d)),
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
