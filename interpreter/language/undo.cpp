#include "interpreter/language/undo.hpp"

#include "interpreter/graphs/graph_builder.hpp"
#include "interpreter/graphs/modules.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {
namespace {

thread_local UndoJournal* recorder = nullptr;

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

void UndoJournal::record(const ScopePtr& scope) {
  for (const auto& [saved, entries] : scopes_)
    if (saved == scope) return;
  scopes_.emplace_back(scope, scope->entries());
}

UndoJournal::UndoJournal(Interpreter& in)
    : in_(in),
      file_scope_(evaluator_of(in).file_scope_),
      names_(evaluator_of(in).file_scope_->entries()),
      imported_(evaluator_of(in).imported_),
      implicit_ir_(graphs_of(in).implicit_ir_),
      targets_(graphs_of(in).targets_.size()),
      options_(evaluator_of(in).declared_options.size()),
      random_(host_of(in).random()) {
  if (graphs_of(in).world_) {
    for (auto& [key, known] : graphs_of(in).world_->irs)
      if (std::shared_ptr<Ir> ir = known.ir.lock(); ir && ir != implicit_ir_) irs_.push_back({ir, ir->mark()});
  }
  if (implicit_ir_) irs_.push_back({implicit_ir_, implicit_ir_->mark()});
  Object::recording_era = ++Object::latest_era;
  recorder = this;
}

UndoJournal::~UndoJournal() { stop(); }

void UndoJournal::stop() {
  if (recorder != this) return;
  recorder = nullptr;
  Object::recording_era = 0;
}

bool UndoJournal::graphs_changed() const {
  if (graphs_of(in_).implicit_ir_ != implicit_ir_) return true;
  for (const SavedIr& saved : irs_)
    if (saved.ir->changed_since(*saved.mark)) return true;
  return false;
}

void UndoJournal::take_back() {
  stop();
  // Values of the input are destroyed first: they point into the graphs.
  for (const SavedObject& saved : objects_) saved.restore();
  for (const auto& [scope, entries] : scopes_) scope->restore(entries);
  evaluator_of(in_).file_scope_ = file_scope_;
  file_scope_->restore(names_);
  evaluator_of(in_).imported_ = imported_;
  evaluator_of(in_).declared_options.resize(std::min(options_, evaluator_of(in_).declared_options.size()));
  host_of(in_).random() = random_;
  graphs_of(in_).targets_.resize(std::min(targets_, graphs_of(in_).targets_.size()));
  graphs_of(in_).implicit_ir_ = implicit_ir_;
  in_.here = {};
  for (const SavedIr& saved : irs_) {
    saved.ir->rollback(*saved.mark);
    graphs_of(in_).forget_dropped(*saved.ir);
  }
}

}  // namespace pxl
