// Expressions: precedence, literals, strings, subscripts, calls, comprehensions, lambdas.
#include <doctest/doctest.h>

#include "tests/unit/syntax/show.hpp"

using pxl::test::errors;
using pxl::test::tree;

TEST_CASE("precedence and associativity") {
  CHECK(tree("a + b * c - d") == "(a + (b * c) - d)");
  CHECK(tree("a - b - c") == "(a - b - c)");
  CHECK(tree("a * b / c // d % e @ f") == "(a * b / c // d % e @ f)");
  CHECK(tree("x = -a ** 2") == "(x = (- (a ** 2)))");
  CHECK(tree("2 ** -1 ** 2") == "(2 ** (- (1 ** 2)))");
  CHECK(tree("2 ** 3 ** 4") == "(2 ** (3 ** 4))");
  CHECK(tree("a or b and not c == d") == "(or a (and b (not (c == d))))");
  CHECK(tree("not not a") == "(not (not a))");
  CHECK(tree("a < b <= c != d") == "(a < b <= c != d)");
  CHECK(tree("a in b") == "(a in b)");
  CHECK(tree("a not in b and c is not d and e is f") == "(and (a not in b) (c is not d) (e is f))");
  CHECK(tree("a | b ^ c & d << 1 + 2") == "(a | (b ^ (c & (d << (1 + 2)))))");
  CHECK(tree("~a + +b") == "((~ a) + (+ b))");
  CHECK(tree("a ++b --c") == "(a + (+ b) - (- c))");
  CHECK(tree("(a + b) * c") == "((a + b) * c)");
  CHECK(tree("a if b else c if d else e") == "(if b a (if d c e))");
  CHECK(tree("(a if b else c) if d else e") == "(if d (if b a c) e)");
  CHECK(tree("x = -a.b[0](c) ** 2") == "(x = (- ((call (index a.b 0) c) ** 2)))");
}

TEST_CASE("numbers") {
  CHECK(tree("1_000 + 0xff + 0b101 + 0o17 + 0") == "(1000 + 255 + 5 + 15 + 0)");
  CHECK(tree("[1., .5, 1e-5, 1.5E3, 1_0.2_5]") == "[list 1f 0.5f 1e-05f 1500f 10.25f]");
  CHECK(tree("9223372036854775807") == "9223372036854775807");
  CHECK(tree("x = -9223372036854775808") == "(x = -9223372036854775808)");
  CHECK(tree("[1e999, 1e-999]") == "[list inff 0f]");
  CHECK(errors("9223372036854775808") == "1:1-20 this integer does not fit 64 bits");
  CHECK(errors("x = 0x1_0000_0000_0000_0000") == "1:5-28 this integer does not fit 64 bits");
  CHECK(errors("12abc") == "1:1-6 `12abc` is not a number");
  CHECK(errors("x = 007") == "1:5-8 `007` is not a number");
  CHECK(errors("0x") == "1:1-3 `0x` is not a number");
  CHECK(errors("1__0") == "1:1-5 `1__0` is not a number");
}

TEST_CASE("strings") {
  CHECK(tree(R"('a' "b" 'c"d')") == "'abc\"d'");
  CHECK(tree(R"("\n\t\\\"\x41\u00e9\U0001F600\101")") == "'\n\t\\\"A\u00e9\U0001F600A'");
  CHECK(tree(R"(r"\n\d")") == R"('\n\d')");
  CHECK(tree("\"\"\"a\n\"b\"\n\"\"\"") == "'a\n\"b\"\n'");
  CHECK(tree("'''a'b''c'''") == "'a'b''c'");
  CHECK(tree("\"a\\\nb\"") == "'ab'");
  CHECK(tree("\"\"\"a\r\nb\"\"\"") == "'a\nb'");
  CHECK(tree("[\"\", '', \"\"\"\"\"\"]") == "[list '' '' '']");
  CHECK(errors("x = 'a\\q'") == "1:7-9 unknown escape `\\q`");
  CHECK(errors("x = '\\x1'") == "1:6-9 this escape takes 2 hexadecimal digits");
  CHECK(errors("x = '\\ud800'") == "1:6-12 this escape is not a Unicode character");
  CHECK(errors("x = 'abc\ny = 1") == "1:5-9 this string is not closed");
  CHECK(errors("x = \"\"\"abc\n\n") == "1:5-3:1 this string is not closed");
  CHECK(errors("x = b'a'") == "1:5-6 unknown string prefix `b`");
}

TEST_CASE("f-strings") {
  CHECK(tree(R"(f"a{x}b{{c}}")") == "f'a{x}b{c}'");
  CHECK(tree(R"(f"{x:.4f} {x!r:>{w}} {y!s}")") == "f'{x:.4f} {x!r:>{w}} {y!s}'");
  CHECK(tree(R"(f"{x=} {x = :.2f}")") == "f'x={x} x = {x:.2f}'");
  CHECK(tree(R"(f"{d["k"]} {f"{n}"} { {'a': 1}['a'] } {x[1:2]}")") ==
        "f'{(index d 'k')} {f'{n}'} {(index {dict 'a':1} 'a')} {(index x (1:2:_))}'");
  CHECK(tree(R"(f"{(x) => x} {a if b else c} {a, b}")") == "f'{((x) => x)} {(if b a c)} {(tuple a b)}'");
  CHECK(tree("f'{a == b} {a != b}'") == "f'{(a == b)} {(a != b)}'");
  CHECK(tree("f'''{\nx\n}\n'''") == "f'{x}\n'");
  CHECK(tree("'a' f'{b}' 'c'") == "f'a{b}c'");
  CHECK(tree("f''") == "f''");
  CHECK(tree(R"(f"\t{x}\n")") == "f'\t{x}\n'");
  CHECK(errors("f'{x'") == "1:3-4 this interpolation is not closed");
  CHECK(errors("f'{x\ny = 1") == "1:3-4 this interpolation is not closed");
  CHECK(errors("f'abc\ny = 1") == "1:1-3 this f-string is not closed");
  CHECK(errors("f'a}b'") == "1:4-5 a single `}` in an f-string");
  CHECK(errors("f'{}'") == "1:4-5 expected an expression, found `}`");
  CHECK(errors("f'{x!z}'") == "1:5-7 unknown conversion `!z`");
  CHECK(errors("f'{x:{y'\nz") == "1:6-7 this interpolation is not closed");
  CHECK(errors("f'{f(x}'") == "1:5-6 `(` is not closed");
}

TEST_CASE("calls, members and subscripts") {
  CHECK(tree("f(a, b = 1, *c)") == "error: 1:13-15 a positional argument follows a keyword argument");
  CHECK(tree("f(a, *c, b = 1, **d,)") == "(call f a *c b=1 **d)");
  CHECK(tree("f(in = 1, class = 2, param = 3)") == "(call f in=1 class=2 param=3)");
  CHECK(tree("f(in == 1)").starts_with("error: "));
  CHECK(tree("s.in.out.class.param()") == "(call s.in.out.class.param)");
  CHECK(tree("x[1:2, ::3, ..., *dims, -1:]") == "(index x (1:2:_) (_:_:3) ... *dims ((- 1):_:_))");
  CHECK(tree("float32[]") == "(index float32)");
  CHECK(tree("x[:, 1:2:3, a,]") == "(index x (_:_:_) (1:2:3) a ,)");
  CHECK(tree("x\n  .reshape([1])\n  .sum()") == "(call (call x.reshape [list 1]).sum)");
  CHECK(errors("f(a = 1, a = 2)") == "1:10-15 `a` is given twice");
  CHECK(errors("f(x y)") == "1:5-6 expected `,`, found `y`");
  CHECK(errors("f(x for x in y)") == "1:5-8 a comprehension needs square brackets");
  CHECK(errors("f((a) = 1)") == "1:7-8 expected `,` or `)`, found `=`");
}

TEST_CASE("lists, tuples, dicts, comprehensions") {
  CHECK(tree("()") == "(tuple)");
  CHECK(tree("(a)") == "a");
  CHECK(tree("(a,)") == "(tuple a)");
  CHECK(tree("x = a, *b") == "(x = (tuple a *b))");
  CHECK(tree("[a, *b, c,]") == "[list a *b c]");
  CHECK(tree("x = {}") == "(x = {dict})");
  CHECK(tree("x = {'a': 1, **b,\n 2: [3]}") == "(x = {dict 'a':1 **b 2:[list 3]})");
  CHECK(tree("[a * b for a, b in c if a if b for d in a]") == "[comp (a * b) for a b in c if a if b for d in a]");
  CHECK(tree("[a if b else c for (a, b), c in d]") == "[comp (if b a c) for (tuple a b) c in d]");
  CHECK(tree("x = {k: v for k, v in d.items() if v}") == "(x = [comp k:v for k v in (call d.items) if v])");
  CHECK(errors("x = {1, 2}") == "1:7-8 expected `:` and a value");
  CHECK(errors("x = *a") == "1:5-7 a starred value is only allowed in a list or tuple");
  CHECK(errors("[*a for a in b]") == "1:2-4 a comprehension yields one value per iteration");
  CHECK(errors("[a for a[0] in b]") == "1:8-12 a loop binds names, not an element");
}

TEST_CASE("lambdas") {
  CHECK(tree("f = (x, y = 1) => x + y") == "(f = ((x y=1) => (x + y)))");
  CHECK(tree("f = () => 1") == "(f = (() => 1))");
  CHECK(tree("f = x => y => x if y else 2") == "(f = ((x) => ((y) => (if y x 2))))");
  CHECK(tree("f((x) => x, 1)") == "(call f ((x) => x) 1)");
  CHECK(tree("a if b else (x) => x") == "(if b a ((x) => x))");
  CHECK(tree("f = (x) =>\n  x") == "(f = ((x) => x))");
  CHECK(errors("f = (x, x) => x") == "1:9-10 duplicate parameter `x`");
  CHECK(errors("f = (1) => x") == "1:6-7 expected a name or `)`, found `1`");
}

TEST_CASE("spans are exact, in code points, whatever precedes") {
  auto result = pxl::test::parse_text("\xEF\xBB\xBFx = \"\u00e9\U0001F600\" + foo.bar(1)\n");
  REQUIRE(result.tree);
  const auto* assign = static_cast<const pxl::ast::AssignStmt*>(result.tree->body->statements[0]);
  const auto* chain = static_cast<const pxl::ast::ChainExpr*>(assign->value);
  CHECK(assign->targets[0]->span.text() == "x");
  CHECK(chain->first->span.text() == "\"\u00e9\U0001F600\"");
  CHECK(chain->rest[0].op_span.text() == "+");
  CHECK(chain->rest[0].operand->span.text() == "foo.bar(1)");
  const auto* call = static_cast<const pxl::ast::CallExpr*>(chain->rest[0].operand);
  CHECK(static_cast<const pxl::ast::MemberExpr*>(call->callee)->name_span.text() == "bar");
  CHECK(call->arguments[0].span.text() == "1");
  CHECK(errors("x = '\u00e9\U0001F600' y") == "1:10-11 expected the end of the line, found `y`");
}
