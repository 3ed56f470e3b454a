// Attaches and runs sessions, and keeps the host's copy of their variables.
#include "interpreter/library/sessions.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/transaction.hpp"

namespace pxl {

// All memory belongs to the host, so the values that a device would lose are restored.
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
  changing();
  for (const auto& [tensor, value] : host_weights_) session->write_replicas(tensor, value);
  host_weights_.clear();
}

// An undone input may have changed the variables. Eight inputs can be undone, so that large variables are not saved.
std::function<void()> SessionObject::state() {
  constexpr int64_t max_bytes = int64_t{256} << 20;
  if (!session || session->memory().variables > max_bytes) return {};
  std::vector<std::pair<const Tensor*, Array>> before;
  for (const Tensor* t : session->variables())
    before.emplace_back(t, session->get_tensor_data(t, Session::Retrieval::all));
  return [this, before = std::move(before)] {
    for (const auto& [tensor, value] : before) session->write_replicas(tensor, value);
  };
}

void SessionObject::check_in_effect() const {
  const bool taken_back = (newest_tensor && newest_tensor->graph->is_taken_back()) ||
                          (newest_op && newest_op->graph->is_taken_back()) ||
                          GraphTransaction::was_taken_back(*ir, made_at_moment);
  if (taken_back)
    throw run_error("the session is closed: its program was taken back with the input or the block that changed it",
                    {"make a new one: `Session(" + ir->name() + ")`"})
        .as(codes::session);
}

Value SessionObject::enter(Interpreter&) {
  if (session) attach();
  return Value(shared_from_this());
}

void SessionObject::leave(Interpreter&, bool) {
  if (session) detach();
}

namespace {

/// The data for a run are not part of the text, so every error about them is a failure while running.
template <class F>
Value as_run(F&& body) {
  try {
    return body();
  } catch (Error& e) {
    Diagnostic& d = e.first();
    if (d.fault == Fault::refused) d.fault = Fault::failed;
    if (d.message.starts_with("missing input") || d.message.starts_with("unexpected input") ||
        d.message.starts_with("stream `"))
      d.message = "session.run: " + d.message;
    throw;
  }
}

}  // namespace

Value SessionObject::run(Interpreter& in, const Arguments& args) {
  check_in_effect();
  changing();
  // Outside `with` the session is attached for this run only.
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
  return as_run([&] { return run_given(in, args); });
}

Value SessionObject::call_graph(Interpreter& in, const Arguments& args) {
  check_in_effect();
  return as_run([&] { return call_of_session(in, *this, args); });
}

}  // namespace pxl
