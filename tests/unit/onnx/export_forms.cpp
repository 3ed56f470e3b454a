// Each op has a form in ONNX, or a reason why it has none.
#include <doctest/doctest.h>

#include "interpreter/onnx/exporter.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/ops/table.hpp"
#include "tests/unit/ops/one_op.hpp"

using namespace pxl;
using namespace pxl::test;

TEST_CASE("an op has a form in ONNX, or a reason why it has none, and not both") {
  for (const OpRow* row : op_table()) {
    if (row->role != Role::compute) continue;
    const OpRow& pure = onnx::pure_row(*row);
    const bool form = onnx::export_row(pure.name) || onnx::has_plain_form(pure);
    const bool reason = onnx::reason_without_form(pure) != nullptr;
    INFO(row->name);
    // Ops that users do not call are parts of gradients and other ops.
    if (!row->path.empty()) CHECK((form || reason));
    CHECK_FALSE((form && reason));
  }
}

TEST_CASE("each op's sample is exported, or refused with a reason") {
  size_t exported = 0, refused = 0;
  for (const OpRow* row : op_table())
    for (const DType dtype : {DType::float32, DType::float64, DType::int32, DType::uint8}) {
      if (row->role != Role::compute && row->role != Role::composite) continue;
      INFO(row->name);
      std::optional<OneOp> one;
      try {
        one.emplace(*row, sample_for(*row, dtype));
      } catch (const Error&) {  // the op does not take the dtype
        continue;
      }
      try {
        std::vector<Array> kept;
        onnx::export_graph(one->graph, {}, kept);
        ++exported;
      } catch (const Error& e) {
        CHECK((code_of(e.first()) == codes::value || code_of(e.first()) == codes::dtype));
        ++refused;
      }
    }
  CHECK(exported > 400);
  CHECK(refused > 100);
}

TEST_CASE("inputs and outputs of a model keep their names, and inner values give way") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  GraphOpBuilder at(g);
  const Expr x = at.of(g.add_input({{2}, DType::float32, {}}, "x"));
  const Expr inner = at.one("exp", {x}), last = at.one("exp", {inner});
  inner.tensor()->name = last.tensor()->name = "y";
  g.add_output(last.tensor());
  std::vector<Array> kept;
  const onnx::Model model = onnx::export_graph(g, {}, kept);
  CHECK(model.graph.inputs[0].name == "x");
  CHECK(model.graph.outputs[0].name == "y");
  CHECK(model.graph.nodes[0].outputs[0] == "y_1");
}
