// Each op has a form in ONNX, or a reason why it has none.
#include <doctest/doctest.h>

#include "interpreter/onnx/exporter.hpp"
#include "runtime/ops/table.hpp"

using namespace pxl;

TEST_CASE("an op has a form in ONNX, or a reason why it has none, and not both") {
  for (const OpRow* row : op_table()) {
    if (row->role != Role::compute) continue;
    const OpRow& pure = onnx::pure_row(*row);
    const bool form = onnx::export_form(pure.name) || onnx::has_plain_form(pure);
    const bool reason = onnx::reason_without_form(pure) != nullptr;
    INFO(row->name);
    // Ops that users do not call are parts of gradients and other ops.
    if (!row->path.empty()) CHECK((form || reason));
    CHECK_FALSE((form && reason));
  }
}
