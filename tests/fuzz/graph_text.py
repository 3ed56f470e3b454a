"""Random graphs as programs of pxl."""
from graph_meaning import UPDATE_TEXT


def view_text(kind, operand, detail, end):
    if kind == "reshape":
        return f"reshape{end}({operand}, {list(detail)})"
    if kind == "transpose":
        return f"transpose{end}({operand}, {list(detail)})"
    if kind == "slice":
        columns = list(zip(*detail))
        # None in the middle of a list is not a position: positions are given in full.
        return f"slice{end}({operand}, {list(columns[1])}, {list(columns[2])}, {list(columns[3])}, {list(columns[0])})"
    return f"{kind}{end}({operand})"


def statement_text(s):
    kind, out, a = s[0], s[1], s[3]
    if kind in ("unary", "binary"):
        return f"{out} = {s[2]}({', '.join(a)})"
    if kind == "reduce":
        return f"{out} = {s[2]}({a[0]}, axis = {s[4]})"
    if kind == "softmax":
        return f"{out} = softmax({a[0]}, -1)"
    if kind == "matmul":
        return f"{out} = {a[0]} @ {a[1]}"
    if kind == "less":
        return f"{out} = {a[0]} < {a[1]}"
    if kind == "not":
        return f"{out} = logical_not({a[0]})"
    if kind == "and":
        return f"{out} = logical_and({a[0]}, {a[1]})"
    if kind == "where":
        return f"{out} = where({', '.join(a)})"
    if kind == "cast":
        return f"{out} = cast({a[0]}, {s[2]})"
    if kind == "float8":
        inner = f"pow2scale_cast_to_fp8({a[0]}, 0, {s[2]}, false)"
        return f"{out} = pow2scale_cast_from_fp8({view_text(s[4][0], inner, s[4][1], '_')}, 0)"
    if kind in ("view", "copy"):
        return f"{out} = {view_text(s[2], a[0], s[4], '_' if kind == 'view' else '')}"
    if kind in ("join", "join_view"):
        return f"{out} = concat{'_' if kind == 'join_view' else ''}([{', '.join(a)}], {s[4]})"
    if kind == "update":
        text = UPDATE_TEXT[s[2]].format(t=a[0], x=a[1] if len(a) > 1 else "")
        return f"{out} = {text}" if out else text
    if kind == "window":
        axis, start, size = s[4]
        return f"dynamic_update_({a[0]}, constant([{start}]), {a[1]}, [{axis}], [{size}])"
    if kind in ("write_rows", "add_rows"):
        indices = f"constant(array({s[4]}))"
        text = f"index_copy_({a[0]}, {indices}, {a[1]})" if kind == "write_rows" else \
            f"sparse_accumulate_({a[0]}, {a[1]}, {indices})"
        return f"{out} = {text}" if out else text
    left = f"{', '.join(out)} = " if kind in ("call", "repeat", "conditional") and out else ""
    if kind == "call":
        return f"{left}call(g_{s[2].name}, {', '.join(a)})"
    if kind == "repeat":
        return f"{left}repeat(g_{s[2].name}, {s[4]}, {', '.join(a)})"
    if kind == "conditional":
        given = f"[{', '.join(a[1:])}]"
        return f"{left}conditional({a[0]}, g_{s[2][0].name}, g_{s[2][1].name}, {given}, {given})"
    return f"stream out {out} = {a[0]}"


def functions_of(statements, found=None):
    """Functions, each after those that it calls."""
    found = {} if found is None else found
    for s in statements:
        for f in s[2] if s[0] == "conditional" else [s[2]] if s[0] in ("call", "repeat") else []:
            if f.name not in found:
                functions_of(f.body, found)
                found[f.name] = f
    return found


def body_text(statements, indent):
    changes = any(s[0] in ("update", "window", "write_rows", "add_rows", "call", "repeat", "output") for s in statements)
    pad = " " * (indent + 2 * changes)
    lines = [f"{pad}{statement_text(s)}" for s in statements]
    return [f"{' ' * indent}with in_sequence() {{", *lines, f"{' ' * indent}}}"] if changes else lines


def program_text(program, name):
    variables, statements = program
    lines = [f"program {name} {{"]
    for f in functions_of(statements).values():
        params = ", ".join(("ref " if p[3] else "") + p[0] for p in f.params)
        lines += [f"  def {f.name}({params}) {{", *body_text(f.body, 4)]
        lines += [f"    return {', '.join(f.returns) if f.returns else 'none'}", "  }"]
        specs = ", ".join(f"{p[1]}{list(p[2])}" for p in f.params)
        lines.append(f"  g_{f.name} = ir.create_graph({f.name}, {specs})")
    for v, dtype, value in variables:
        text = str(value.tolist()).replace("True", "true").replace("False", "false")
        lines.append(f"  variable {v}: {dtype}{list(value.shape)} = {text}")
    return "\n".join(lines + body_text(statements, 2) + ["}"]) + "\n"


def outputs_of(statements):
    return [s[1] for s in statements if s[0] == "output"]


def script(programs):
    """A text that runs each program twice, and prints a line for each output, then for each variable."""
    text = ""
    for number, program in programs:
        text += program_text(program, f"p{number}")
        text += f"ir{number} = p{number}()\ns{number} = Session(ir{number})\n"
        for run in range(2):
            text += f"o{number} = s{number}.run()\n"
            for out in outputs_of(program[1]):
                text += f'print("{number} {run} {out}", o{number}["{out}"].tolist())\n'
        for v, _, _ in program[0]:
            text += f'print("{number} 2 {v}", s{number}.get_tensor_data(ir{number}.{v}).tolist())\n'
    return text
