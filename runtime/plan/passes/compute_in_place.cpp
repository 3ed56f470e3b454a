// Marks the nodes that overwrite their operand with another one. Storage assignment places such a value in the memory
// that it overwrites where nothing could see the difference, and fuse_elementwise leaves the copy alone then.
#include "runtime/ops/table.hpp"
#include "runtime/plan/passes.hpp"

namespace pxl {

void compute_in_place(PassContext& context) {
  static const OpRow& overwrite = get_op("copy_var_update_");
  for (Node& n : context.nodes)
    if (n.op->row == &overwrite && n.alias == 0 && n.form == Form::op) n.overwritten_by = 1;
}

}  // namespace pxl
