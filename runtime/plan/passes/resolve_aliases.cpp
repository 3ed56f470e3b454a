// Replaces uses of an in-place result by the variable that it aliases, so that the result needs no buffer.
#include "runtime/plan/passes.hpp"

namespace pxl {

void resolve_aliases(PassContext& context) {
  PointerMap<const Tensor*, const Tensor*> name;
  for (Node& node : context.nodes) {
    for (const Tensor*& t : node.in) {
      const auto found = name.find(t);
      if (found != name.end()) t = found->second;
    }
    if (node.alias < 0 || context.wanted_outside(node.out[0])) continue;
    // An alias of another shape keeps its name: kernels and passes read an operand's shape from its tensor.
    const Tensor* memory = node.in[static_cast<size_t>(node.alias)];
    if (memory->spec.shape == node.out[0]->spec.shape) name[node.out[0]] = memory;
  }
}

}  // namespace pxl
