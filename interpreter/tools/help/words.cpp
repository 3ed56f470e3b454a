// One line of help for each keyword and operator.
#include "interpreter/tools/help/help.hpp"

namespace pxl {
namespace {

struct Word {
  std::string_view name, help;
};

constexpr Word operators[] = {
    {"+", "`a + b`: the op `add`; concatenates lists, tuples and strs"},
    {"-", "`a - b`: the op `sub`; `-a`: `negate`"},
    {"*", "`a * b`: the op `mul`, elementwise; `[*xs]`, `f(*xs)`: unpacks xs"},
    {"@", "`a @ b`: the op `matmul`, a matrix product"},
    {"/", "`a / b`: the op `div`; of ints a float32, of plain numbers a float"},
    {"//", "`a // b`: the op `floor_div`, rounded towards minus infinity"},
    {"%", "`a % b`: the op `mod`, the remainder of `//`, with the sign of b"},
    {"**", "`a ** b`: the op `pow`; `f(**options)`: keyword arguments from a dict"},
    {"&", "`a & b`: the op `bitwise_and`, of bools `logical_and`"},
    {"|", "`a | b`: the op `bitwise_or`, of bools `logical_or`; merges dicts"},
    {"^", "`a ^ b`: the op `bitwise_xor`"},
    {"~", "`~a`: the op `bitwise_not`, of bools `logical_not`"},
    {"<<", "`a << b`: the op `shift_left`"},
    {">>", "`a >> b`: the op `shift_right`"},
    {"==", "`a == b`: the op `equal`; of lists, dicts and strs one bool"},
    {"!=", "`a != b`: the op `not_equal`"},
    {"<", "`a < b`: the op `less`"},
    {"<=", "`a <= b`: the op `less_equal`"},
    {">", "`a > b`: the op `greater`"},
    {">=", "`a >= b`: the op `greater_equal`"},
    {"=>", "`x => x * 2`, `(x, y) => x + y`: a function"},
    {"=", "`a = b`, `a, b = c`, `x[0] = v`: binds a name or changes an element"},
    {"...", "in a shape, any axes: `float32[..., 4]`; in a subscript, all axes between: `x[..., 0]`"},
};

constexpr Word words[] = {
    {"and", "`a and b`: b if a is true, else a"},
    {"or", "`a or b`: a if a is true, else b"},
    {"not", "`not a`; also `a not in b` and `a is not b`"},
    {"if", "`if COND { } else if COND { } else { }`; `a if COND else b`; filters a comprehension"},
    {"else", "the other branch of an `if`; the value where a `try` fails"},
    {"try", "`try { } catch value as e { } finally { }`; `try load(path) else none`: a value, or another one"},
    {"catch", "`catch { }`, `catch value, index as e { }`: takes errors of a `try`, by kind"},
    {"finally", "`finally { }`: runs at the end of a `try`, however it ends"},
    {"for", "`for x in xs { }`, `for image, labels in batches { }`; `[f(x) for x in xs if COND]`"},
    {"in", "`x in xs` tests for membership; `for x in xs`; `stream in`"},
    {"is", "identity: the same object, the same tensor"},
    {"while", "`while COND { }`"},
    {"break", "leaves the innermost loop"},
    {"continue", "continues with the next iteration of the innermost loop"},
    {"return", "ends a function or build with a value: `return y`, `return y, z`"},
    {"def", "`def f(x, n: int = 1) { return x * n }`: a function"},
    {"with", "`with in_sequence() { }`, `with session { }`, `with Session(p()) as s { }`: runs a block in contexts"},
    {"as", "names the result of a `with` or an `import`, or the error of a `catch`"},
    {"from", "`from nn import Linear`"},
    {"import", "`import nn`, `import blocks as b`: a file beside this one, or a module of the library"},
    {"assert", "`assert COND, \"why\"`"},
    {"pass", "does nothing"},
    {"nonlocal", "`nonlocal best`: in a function, `best` is the outer name, which the function can bind"},
    {"true", "the bool"},
    {"false", "the bool"},
    {"none", "no value"},
    {"module",
     "`module Linear(out: int) { build(x) { param weight: float32[4, out] = 0; return x @ weight } }` on lines "
     "of its own: named parameters and the graph they go into"},
    {"record", "`record NAME(width: int = 64)`: immutable values with named fields, equal by value"},
    {"build", "the part of a module that adds ops: its tensor arguments become graph inputs"},
    {"param", "`param NAME: SPEC [= INIT]` in a build: a named graph input with a variable factory"},
    {"state", "`state NAME: SPEC = INIT` in a build: a value that the module keeps from call to call and run to run"},
    {"next", "`next NAME = TENSOR` in a build: the value that a state has after the call"},
    {"ref", "`ref x`, `param ref x`: passed by reference, so that in-place changes reach the caller's tensor"},
    {"program", "`program NAME(params) { ... }` declares an ir; calling it builds one"},
    {"stream", "`stream in NAME: SPEC`, `stream out NAME = TENSOR`: data between host and device"},
    {"out", "`stream out NAME = TENSOR`"},
    {"variable", "`variable NAME: SPEC = INIT`: state of the main graph, kept by a session"},
    {"constant", "`constant NAME: SPEC = VALUE`: a tensor that never changes"},
    {"option", "`option NAME: TYPE [= DEFAULT]`: a flag of the script's command line"},
    {"outlined", "`outlined fc = Linear(512)`, `outlined def f(x) { }`: calls share one graph instead of inlining"},
    {"test", "`test \"name\" { ... }`: runs with `pxl test` only"},
};

}  // namespace

std::string_view word_help(std::string_view word) {
  for (const Word& w : words)
    if (w.name == word) return w.help;
  for (const Word& w : operators)
    if (w.name == word) return w.help;
  return {};
}

}  // namespace pxl
