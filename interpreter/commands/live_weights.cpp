#include "interpreter/commands/live_weights.hpp"

#include "interpreter/library/sessions.hpp"
#include "runtime/execute/session.hpp"

namespace pxl {

GivenWeights live_weights(const Engine& engine, const Ir& ir) {
  const SessionObject* last = nullptr;
  for (const auto& [name, value] : engine.names())
    if (const auto* s = value.as<SessionObject>(); s && s->session && s->ir.get() == &ir) last = s;
  GivenWeights found;
  if (!last) return found;
  for (const Tensor* v : ir.variables()) {
    try {
      Array values = last->session->get_tensor_data(v);
      if (values.shape() == v->spec.shape) found.emplace(v, std::move(values));
    } catch (const Error&) {
      // The session keeps no values of this one, of a remote buffer for example.
    }
  }
  return found;
}

}  // namespace pxl
