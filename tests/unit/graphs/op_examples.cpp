// The example of every op that a program can name. It runs on arrays as written. The op infers the arrays' specs for
// tensors, and a session computes the same bits.
#include <doctest/doctest.h>

#include <cctype>

#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/ops/table.hpp"

using namespace pxl;

namespace {

Value run(Interpreter& in, const std::string& text) {
  return evaluator_of(in).run_more(parse_or_throw(add_source("[example]", text)));
}

std::vector<Value> results(const Value& v) {
  if (auto* several = v.as<SequenceObject>()) return several->items;
  return {v};
}

/// The text, in which `operand` replaces each call of `array`.
std::string on_tensors(std::string_view example) {
  const std::string_view word = "array(";
  std::string out;
  for (size_t i = 0; i < example.size();) {
    const bool inside_name =
        i > 0 && (std::isalnum(static_cast<unsigned char>(example[i - 1])) || example[i - 1] == '_');
    if (!inside_name && example.substr(i).starts_with(word)) {
      out += "operand(";
      i += word.size();
    } else {
      out += example[i++];
    }
  }
  return out;
}

}  // namespace

TEST_CASE("the example of every op runs on arrays and on tensors") {
  size_t count = 0;
  for (const OpRow* row : op_table()) {
    if (row->path.empty() || row->example.empty()) continue;
    const std::string name(row->name), example(row->example);
    CAPTURE(name);
    CAPTURE(example);
    CHECK(example.find(name + "(") != std::string::npos);
    InterpreterOptions options;
    options.out = [](std::string_view) {};
    Interpreter in(options);
    try {
      const std::vector<Value> arrays = results(run(in, example));
      run(in, "def operand(values, dtype = none) { return variable(array(values, dtype)) }");
      const std::vector<Value> tensors = results(run(in, "made = " + on_tensors(example) + "\nmade"));
      REQUIRE(arrays.size() == tensors.size());
      for (size_t i = 0; i < arrays.size(); ++i) {
        // Without an operand (init) the example itself is in the graph.
        const std::string result = arrays.size() == 1 ? example : example + "[" + std::to_string(i) + "]";
        const Value at_once = as_tensor(arrays[i]) ? run(in, "eval(" + result + ")") : arrays[i];
        const Array* computed = at_once.as_array();
        REQUIRE(computed);
        const Tensor* inferred = as_tensor(tensors[i]);
        REQUIRE(inferred);
        CHECK(inferred->spec.dtype == computed->dtype());
        CHECK(inferred->spec.shape == computed->shape());
        const Value value = run(in, arrays.size() == 1 ? "eval(made)" : "eval(made[" + std::to_string(i) + "])");
        REQUIRE(value.as_array());
        CHECK(identical(*value.as_array(), *computed));
      }
    } catch (const Error& e) {
      FAIL_CHECK(std::string(e.what()));
    }
    ++count;
  }
  CHECK(count > 80);
}

// ---- one arithmetic for arrays and tensors

namespace {

/// The outcome of a text: the dtype and elements of its results, or "error".
std::string outcome(const std::string& before, const std::string& text, bool tensors) {
  InterpreterOptions options;
  options.out = [](std::string_view) {};
  Interpreter in(options);
  try {
    run(in, before);
    std::string shown;
    const std::vector<Value> made = results(run(in, "made = " + text + "\nmade"));
    for (size_t i = 0; i < made.size(); ++i) {
      const std::string one = made.size() == 1 ? "made" : "made[" + std::to_string(i) + "]";
      const Value value = as_tensor(made[i]) ? run(in, "eval(" + one + ")") : made[i];
      if (tensors && !as_tensor(made[i])) return "no tensor";
      shown += repr_of(in, value) + "; ";
    }
    return shown;
  } catch (const Error& e) {
    const std::string& message = e.first().message;
    return message.find("division by zero") != message.npos ? "error: division by zero" : "error";
  }
}

/// `operand(values)` as an array or a tensor of a dtype, whatever the values were written as.
std::string operands(bool tensors, std::string_view dtype) {
  const std::string made = "cast(array(values), " + std::string(dtype) + ")";
  return "def operand(values, dtype = none) { return " +
         (tensors ? "variable(" + made + ", " + std::string(dtype) + ")" : made) + " }";
}

constexpr std::string_view dtypes[] = {"int32", "int64", "uint8", "bool"};

}  // namespace

TEST_CASE("operators mean the same for arrays and tensors") {
  const std::string values[] = {
      "operand([7, -7, 9, -9, 0, 127])", "operand([2, 2, -4, -4, 3, -1])", "operand([[0], [1]])", "-3", "0.5",
      "array([2, 2, -4, -4, 3, -1])"};
  const std::string binary[] = {"+", "-",  "*",  "/",  "//", "%", "**", "&", "|",
                                "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="};
  std::vector<std::string> texts{"-operand([7, -7])", "~operand([7, -7])", "+operand([7, 0])"};
  for (const std::string& op : binary)
    for (const std::string& a : values)
      for (const std::string& b : values)
        if (a.starts_with("operand") || b.starts_with("operand")) texts.push_back(a + " " + op + " " + b);
  for (std::string_view dtype : dtypes)
    for (const std::string& text : texts) {
      CAPTURE(dtype);
      CAPTURE(text);
      // An array beside a tensor takes the tensor's dtype, where another array may widen it.
      if (dtype != "int32" && (text.starts_with("array(") || text.find(" array(") != text.npos)) continue;
      const std::string arrays = outcome(operands(false, dtype), text, false);
      const std::string tensors = outcome(operands(true, dtype), text, true);
      // Tensors never take another dtype beside a float or a negative number than they have: that is an error.
      if (tensors != "error") CHECK(tensors == arrays);
      if (arrays == "error") CHECK(tensors == "error");
    }
}

TEST_CASE("every op means the same for int arrays and int tensors") {
  for (const OpRow* row : op_table()) {
    if (row->path.empty() || row->example.empty()) continue;
    for (std::string_view dtype : dtypes) {
      CAPTURE(dtype);
      const std::string text = on_tensors(row->example);
      CAPTURE(text);
      if (text.find("operand(") == text.npos) continue;
      const std::string arrays = outcome(operands(false, dtype), text, false);
      const std::string tensors = outcome(operands(true, dtype), text, true);
      // Operands of several dtypes are promoted among arrays only; only tensors accept a condition of floats.
      if (tensors != "error" && arrays != "error") CHECK(tensors == arrays);
    }
  }
}
