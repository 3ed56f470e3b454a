// Definitions of ops as their source texts.
#include "interpreter/tools/help/definition.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/ops/table.hpp"

using namespace pxl;

TEST_CASE("every op that computes has the text of its definition") {
  for (const OpRow* row : op_table()) {
    CAPTURE(row->name);
    const std::string text = definition_text(*row);
    CHECK(text.empty() == (row->definition == nullptr));
    if (text.empty()) continue;
    // A whole function, and one only.
    CHECK(std::count(text.begin(), text.end(), '{') == std::count(text.begin(), text.end(), '}'));
    CHECK(text.find("(ReferenceContext& c) {") != text.npos);
    CHECK(text.find("\nvoid ", text.find("(ReferenceContext& c) {")) == text.npos);
    CHECK(text.ends_with("}\n"));
  }
}

TEST_CASE("a definition comes with the comment before it; forms of an op share one") {
  CHECK(definition_text(get_op("sqrt")) == "void sqrt(ReferenceContext& c) { c.out(0, xt::sqrt(c.real(0))); }\n");
  const std::string softplus = definition_text(get_op("softplus"));
  CHECK(softplus.starts_with("// ln(1 + e^x)"));
  CHECK(softplus.ends_with("));\n}\n"));
  CHECK(definition_text(get_op("relu_")) == definition_text(get_op("relu")));
  CHECK(definition_text(get_op("call")).empty());
}
