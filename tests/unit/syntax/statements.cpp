// Statements and declarations: newlines, blocks, words that declare, doc comments.
#include <doctest/doctest.h>

#include "tests/unit/syntax/show.hpp"

using pxl::test::errors;
using pxl::test::tree;

TEST_CASE("try") {
  CHECK(tree("try { a } catch { b }") == "(try {a} catch {b})");
  CHECK(tree("try { a }\n\ncatch value, import, as_ as e { b } # c\nfinally { c }\nd") ==
        "(try {a} catch value import as_ as e {b} finally {c}); d");
  CHECK(tree("try { a } catch as e { b }") == "(try {a} catch as e {b})");
  CHECK(tree("x = try {'k': 1}['k'] else {}") == "(x = (try (index {dict 'k':1} 'k') {dict}))");
  CHECK(tree("try f(x) else 1 if y else z") == "(try (call f x) (if y 1 z))");
  CHECK(tree("(x) => try 1 / x else x => try x else 0") == "((x) => (try (1 / x) ((x) => (try x 0))))");
  CHECK(tree("a.try + f(catch = 1)") == "(a.try + (call f catch=1))");
}

TEST_CASE("newlines end statements only where nothing continues") {
  CHECK(tree("") == "");
  CHECK(tree("\n\n# only a comment\n") == "");
  CHECK(tree("a\nb\n\n\nc # d\n") == "a; b; c");
  CHECK(tree("a\r\nb\r\n") == "a; b");
  CHECK(tree("x =\n  1 +\n  # why\n\n  2") == "(x = (1 + 2))");
  CHECK(tree("x = (1\n + 2)\ny = [\n1,\n2\n]\nz = {\n'a': 1\n}") ==
        "(x = (1 + 2)); (y = [list 1 2]); (z = {dict 'a':1})");
  CHECK(tree("x = a and\nb or not\nc") == "(x = (or (and a b) (not c)))");
  CHECK(tree("x = a in\nb") == "(x = (a in b))");
  CHECK(tree("a, b =\nc,\nd") == "((tuple a b) = (tuple c d))");
  CHECK(tree("if a { b }\nelse if c { d }\nelse { e }") == "(if a {b} if c {d} else {e})");
  CHECK(tree("if a {\n b\n}\n\n# so\nelse {\n c }") == "(if a {b} else {c})");
  CHECK(errors("a\n+ b") == "2:1-2 a statement does not begin with `+`");
}

TEST_CASE("blocks and dicts") {
  CHECK(tree("if x == {} { y }") == "(if (x == {dict}) {y})");
  CHECK(tree("for x in xs { }") == "(for x in xs {})");
  CHECK(tree("for x in {'a': 1} { y = {} }") == "(for x in {dict 'a':1} {(y = {dict})})");
  CHECK(tree("while true { break }") == "(while true {break})");
  CHECK(tree("with f() as a, g(b = {1: 2}) { pass }") == "(with (call f) as a with (call g b={dict 1:2}) {pass})");
  CHECK(tree("x = a if b else {}") == "(x = (if b a {dict}))");
  CHECK(tree("def f() {\n\n  a\n\n  b\n}\nc") == "(def f(){a; b}); c");
  CHECK(errors("if x\n{ y }") == "1:5-5 expected `{`, found the end of the line");
  CHECK(errors("{ y }") == "1:1-2 this block has no head");
}

TEST_CASE("assignments") {
  CHECK(tree("a = b = c") == "(a = b = c)");
  CHECK(tree("a, (b, *c) = d") == "((tuple a (tuple b *c)) = d)");
  CHECK(tree("[a, b] = c") == "([list a b] = c)");
  CHECK(tree("a[0].b = c") == "((index a 0).b = c)");
  CHECK(tree("a, = b") == "((tuple a) = b)");
  CHECK(tree("a += 1\nb -= 1\nc *= 1\nd /= 1\ne //= 1\nf %= 1\ng @= 1\nh **= 1") ==
        "(a += 1); (b -= 1); (c *= 1); (d /= 1); (e //= 1); (f %= 1); (g @= 1); (h **= 1)");
  CHECK(errors("f(x) = 1") == "1:1-5 a call cannot be assigned to");
  CHECK(errors("1 = x") == "1:1-2 a literal cannot be assigned to");
  CHECK(errors("a + b = x") == "1:1-6 an expression cannot be assigned to");
  CHECK(errors("a == b = x") == "1:1-7 a comparison cannot be assigned to");
  CHECK(errors("a, b += x") == "1:1-5 an update has one target");
  CHECK(errors("*a, *b = x") == "1:5-7 only one target may be starred");
  CHECK(errors("for f(x) in y { }") == "1:5-9 a loop binds names, not a call");
}

TEST_CASE("imports") {
  CHECK(tree("import a.b as c\nimport d") == "(import a.b as c); (import d)");
  CHECK(tree("from nn import Linear, Net as N") == "(from nn import Linear Net as N)");
  CHECK(tree("from nn import (\n  Linear,\n  Net,\n)") == "(from nn import Linear Net)");
  CHECK(errors("from nn import *") == "1:16-17 there is no `import *`");
}

TEST_CASE("functions") {
  CHECK(tree("def f(ref x: float32[n, _], y = 1, *rest) with in_sequence(), ipu(1) { return x, y }") ==
        "(def f(ref x:(index float32 n _) y=1 *rest) with (call in_sequence) with (call ipu 1){(return (tuple x y))})");
  CHECK(tree("outlined def f(x) { return }") == "(def outlined f(x){(return _)})");
  CHECK(tree("def f(x, ref, in_ = 3) { return x\n}") == "(def f(x ref in_=3){(return x)})");
  CHECK(errors("def f(a, a) { }") == "1:10-11 duplicate parameter `a`");
  CHECK(errors("def f(a = 1, b) { }") == "1:14-15 `b` needs a default, since `a` before it has one");
  CHECK(errors("def if() { }") == "1:5-7 `if` is a reserved word, not a name");
}

TEST_CASE("declarations") {
  CHECK(tree("module M { }") == "(module M())");
  CHECK(tree("module M(a: int, b = 2) {\n x = a\n outlined y = Linear(1)\n def f(z) { return z }\n build(ref w, x) "
             "with c() { return x }\n}") ==
        "(module M(a:int b=2) (x = a) (outlined y = (call Linear 1)) (def f(z){(return z)}) (build build(ref w x) with "
        "(call c){(return x)}))");
  CHECK(tree("module M { build(x) { param ref step: float32[] = 0\n param w: s = i with replica_grouping = g, a = 1\n "
             "param v: s } }") ==
        "(module M() (build build(x){(param ref step : (index float32) = 0); (param w : s = i with replica_grouping=g "
        "a=1); (param v : s)}))");
  CHECK(tree("program p(n: int) with in_sequence() { stream in x: float32[n]\n stream out y = ce\n stream out z\n "
             "stream out t: float32[] = u }") ==
        "(program p(n:int) with (call in_sequence){(stream in x : (index float32 n)); (stream out y = ce); (stream out "
        "z); (stream out t : (index float32) = u)})");
  CHECK(tree("program p { variable v: float32[2] = 1 with a = b\n constant c: int32[] = 3 }") ==
        "(program p(){(variable v : (index float32 2) = 1 with a=b); (constant c : (index int32) = 3)})");
  CHECK(tree("option batch: int = 8\noption name: str") == "(option batch : int = 8); (option name : str)");
  CHECK(tree("test \"a\" { assert x, 'y' }") == "(test 'a' {(assert x 'y')})");
}

TEST_CASE("declaring words are ordinary names elsewhere") {
  CHECK(
      tree("param = 1\nstream = param\noption.out = 2\nbuild(x)\ntest(y)\nvariable(1)\nout = ref") ==
      "(param = 1); (stream = param); (option.out = 2); (call build x); (call test y); (call variable 1); (out = ref)");
  CHECK(tree("module M { build(x) { param ref: s\n param param: t\n param ref ref: u } }") ==
        "(module M() (build build(x){(param ref : s); (param param : t); (param ref ref : u)}))");
  CHECK(tree("f(ref, out)") == "(call f ref out)");
  CHECK(tree("program program { }") == "(program program(){})");
}

TEST_CASE("doc comments belong to the declaration right below") {
  CHECK(tree("## One.\n## Two.\noption a: int = 1") == "(option a : int = 1 \"One.\nTwo.\")");
  CHECK(tree("## Gone.\n\noption a: int = 1") == "(option a : int = 1)");
  CHECK(tree("## Kept.\n# a remark\nx = 1") == "(x = 1 \"Kept.\")");
  CHECK(tree("### no doc\nx = 1") == "(x = 1)");
  CHECK(tree("x = 1 ## not its own line\ny = 2") == "(x = 1); (y = 2)");
  CHECK(tree("## M.\nmodule M {\n  ## B.\n  build(x) {\n    ## P.\n    param w: s\n  }\n}") ==
        "(module M() (build \"B.\" build(x){(param w : s \"P.\")}) \"M.\")");
  CHECK(tree("x = '''\n\n'''\n## D.\ndef f() { }") == "(x = '\n\n'); (def \"D.\" f(){})");
}

TEST_CASE("places of statements") {
  CHECK(errors("return 3") == "1:1-7 `return` outside a function");
  CHECK(errors("program p { return 3 }") == "1:13-19 `return` outside a function");
  CHECK(errors("break") == "1:1-6 `break` outside a loop");
  CHECK(errors("while a { def f() { continue } }") == "1:21-29 `continue` outside a loop");
  CHECK(errors("param x: s") == "1:1-6 `param` is only allowed in a module's `build`");
  CHECK(errors("module M { param x: s }") == "1:12-17 `param` is only allowed in a module's `build`");
  CHECK(errors("module M { def f() { param x: s } }") == "1:22-27 `param` is only allowed in a module's `build`");
  CHECK(errors("module M { build(x) { stream in y: s } }") == "1:23-29 `stream` is only allowed in a program");
  CHECK(errors("module M { build(x) { variable y: s = 1 } }") ==
        "1:23-31 variables are only allowed in the main graph");
  CHECK(errors("build(x) { }") == "1:1-6 `build` is only allowed directly in a module");
  CHECK(errors("module M { build(x) { }\n build(y) { } }") == "2:2-7 a module has one `build`");
  CHECK(errors("program p { program q { } }") == "1:13-20 a program is only allowed at the top level");
  CHECK(errors("if a { option b: int }") == "1:8-14 an option is declared at the top level of a file");
  CHECK(errors("def f() { test 'a' { } }") == "1:11-15 a test is declared at the top level of a file");
  CHECK(errors("stream in x") == "1:11-12 a stream in needs a spec");
  CHECK(errors("stream in x: s = t") == "1:18-19 a `stream in` gets its values from `session.run`");
  CHECK(errors("outlined a.b = c") == "1:10-13 `outlined` binds one name");
  CHECK(errors("module M(ref a) { }") ==
        "1:10-15 `ref` is only allowed in the arguments of `build`, not in the configuration");
}

TEST_CASE("a build declares states and gives their next values") {
  CHECK(tree("module M {\n build(x) {\n state a: float32 = 0\n next a = x\n next a, b = x, 1\n }\n}") ==
        "(module M() (build build(x){(state a : float32 = 0); (next a x); (next a b (tuple x 1))}))");
  CHECK(tree("state = 1\nnext = state\nx = next(state)") == "(state = 1); (next = state); (x = (call next state))");
  CHECK(errors("def f() {\n next a = 1\n}") == "2:2-6 `next` is only allowed in a module's `build`");
  CHECK(errors("state a: float32 = 0") == "1:1-6 `state` is only allowed in a module's `build`");
}
