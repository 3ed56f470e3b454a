#include "interpreter/language/undo.hpp"

#include "interpreter/graphs/graph_builder.hpp"
#include "interpreter/graphs/modules.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {
namespace {

thread_local InputRecord* recorder = nullptr;

}  // namespace

void Object::record_state() {
  era_ = latest_era;
  if (forgets_changes) return forget();
  if (!recorder) return;
  std::function<void()> restore = state();
  ObjectPtr self = weak_from_this().lock();
  if (restore && self) recorder->objects_.push_back({std::move(self), std::move(restore)});
}

void record_change(const ScopePtr& scope) {
  if (recorder) recorder->record(scope);
}

void InputRecord::record(const ScopePtr& scope) {
  for (const auto& [saved, entries] : scopes_)
    if (saved == scope) return;
  scopes_.emplace_back(scope, scope->entries());
}

InputRecord::InputRecord(Interpreter& in)
    : in_(in),
      file_scope_(in.evaluator().file_scope_),
      names_(in.evaluator().file_scope_->entries()),
      imported_(in.evaluator().imported_),
      implicit_ir_(in.graphs().implicit_ir_),
      targets_(in.graphs().targets_.size()),
      tests_(in.evaluator().tests.size()),
      options_(in.evaluator().declared_options.size()),
      random_(in.random()) {
  if (in.graphs().world_) {
    for (auto& [key, known] : in.graphs().world_->irs)
      if (std::shared_ptr<Ir> ir = known.ir.lock(); ir && ir != implicit_ir_) irs_.push_back({ir, ir->mark()});
  }
  if (implicit_ir_) irs_.push_back({implicit_ir_, implicit_ir_->mark()});
  Object::recording_era = ++Object::latest_era;
  recorder = this;
}

InputRecord::~InputRecord() { stop(); }

void InputRecord::stop() {
  if (recorder != this) return;
  recorder = nullptr;
  Object::recording_era = 0;
}

bool InputRecord::graphs_changed() const {
  if (in_.graphs().implicit_ir_ != implicit_ir_) return true;
  for (const SavedIr& saved : irs_)
    if (saved.ir->changed_since(*saved.mark)) return true;
  return false;
}

void InputRecord::take_back() {
  stop();
  // Values of the input are destroyed first: they point into the graphs.
  for (const SavedObject& saved : objects_) saved.restore();
  for (const auto& [scope, entries] : scopes_) scope->restore(entries);
  in_.evaluator().file_scope_ = file_scope_;
  file_scope_->restore(names_);
  in_.evaluator().imported_ = imported_;
  in_.evaluator().tests.resize(std::min(tests_, in_.evaluator().tests.size()));
  in_.evaluator().declared_options.resize(std::min(options_, in_.evaluator().declared_options.size()));
  in_.random() = random_;
  in_.graphs().targets_.resize(std::min(targets_, in_.graphs().targets_.size()));
  in_.graphs().implicit_ir_ = implicit_ir_;
  in_.here = {};
  for (const SavedIr& saved : irs_) {
    saved.ir->rollback(*saved.mark);
    in_.graphs().forget_dropped(*saved.ir);
  }
}

}  // namespace pxl
