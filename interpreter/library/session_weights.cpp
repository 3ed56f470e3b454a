// Sessions attached and running, and the host's copy of their variables.
#include "interpreter/library/sessions.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

// All memory is the host's: what a device would forget is restored.
void SessionObject::weights_to_host(const Tensor* only) {
  if (weights_to_host_on_exit || !session->is_attached()) return;
  if (only) {
    for (auto& [tensor, value] : host_weights_)
      if (tensor == only) value = session->get_tensor_data(tensor, Session::Retrieval::all);
    return;
  }
  host_weights_.clear();
  for (const Tensor* t : session->variables())
    host_weights_.emplace_back(t, session->get_tensor_data(t, Session::Retrieval::all));
}

void SessionObject::attach() {
  const bool first = !session->is_attached();
  session->attach();
  if (first) weights_to_host();
}

void SessionObject::detach() {
  session->detach();
  if (weights_to_host_on_exit || session->is_attached()) return;
  for (const auto& [tensor, value] : host_weights_) session->write_replicas(tensor, value);
  host_weights_.clear();
}

Value SessionObject::enter(Interpreter&) {
  if (session) attach();
  return Value(shared_from_this());
}

void SessionObject::leave(Interpreter&, bool) {
  if (session) detach();
}

Value SessionObject::run(Interpreter& in, const Arguments& args) {
  // Outside a `with` the run is one of its own.
  struct AttachGuard {
    SessionObject& object;
    bool needed;
    explicit AttachGuard(SessionObject& s) : object(s), needed(!s.session->is_attached()) {
      if (needed) object.attach();
    }
    ~AttachGuard() {
      if (needed) object.detach();
    }
    AttachGuard(const AttachGuard&) = delete;
    AttachGuard& operator=(const AttachGuard&) = delete;
  } visit(*this);
  // What a run is given is no part of the text: whatever is wrong with it, the program failed while running.
  try {
    return run_given(in, args);
  } catch (Error& e) {
    Diagnostic& d = e.first();
    if (d.fault == Fault::refused) d.fault = Fault::failed;
    if (d.message.starts_with("missing input") || d.message.starts_with("unexpected input") ||
        d.message.starts_with("stream `"))
      d.message = "session.run: " + d.message;
    throw;
  }
}

}  // namespace pxl
