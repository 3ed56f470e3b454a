// The example of every op that a program can name: it runs on arrays as written, and on tensors the op infers the
// specs of those arrays and a session computes the same bits.
#include <doctest/doctest.h>

#include <cctype>

#include "interpreter/elaborate/graph_values.hpp"
#include "interpreter/elaborate/internal.hpp"
#include "interpreter/syntax/parse.hpp"
#include "runtime/ops/table.hpp"

using namespace pxl;

namespace {

Value run(Interpreter& in, const std::string& text) {
  return in.run_more(parse_or_throw(add_source("[example]", text)));
}

std::vector<Value> results(const Value& v) {
  if (auto* several = v.as<SequenceObject>()) return several->items;
  return {v};
}

/// The text with calls of `array` as calls of `operand`.
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
