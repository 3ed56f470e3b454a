#include "interpreter/language/undo.hpp"

#include <algorithm>
#include <bit>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/modules.hpp"
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

/// Whether two values are one number, or one object.
bool is_same(const Value& a, const Value& b) {
  if (a.is_object() || b.is_object()) return a.is_object() && b.is_object() && a.object() == b.object();
  if (a.is_float() || b.is_float())
    return a.is_float() && b.is_float() &&
           std::bit_cast<uint64_t>(a.as_double()) == std::bit_cast<uint64_t>(b.as_double());
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  return a.is_bool() == b.is_bool() && a.as_int() == b.as_int();
}

}  // namespace

void Object::record_state() {
  era_ = latest_era;
  if (forgets_changes) return forget();
  if (!recorder) return;
  std::function<void()> restore = state();
  ObjectPtr self = shared_from_this();
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
      graphs_(in),
      implicit_ir_(graphs_of(in).implicit_ir_),
      targets_(graphs_of(in).targets_.size()),
      options_(evaluator_of(in).declared_options.size()),
      random_(host_of(in).random()) {
  if (graphs_of(in).world_)
    for (auto& [key, known] : graphs_of(in).world_->irs)
      if (!known.ir.expired() && known.ir.lock() != implicit_ir_) irs_.push_back(known.ir);
  if (implicit_ir_) irs_.push_back(implicit_ir_);
  Object::recording_era = ++Object::latest_era;
  recorder = this;
}

UndoJournal::~UndoJournal() { stop(); }

void UndoJournal::stop() {
  if (recorder != this) return;
  recorder = nullptr;
  Object::recording_era = 0;
  graphs_.end();
}

bool UndoJournal::graphs_changed() const { return graphs_.changed(); }

bool UndoJournal::values_changed() const {
  const auto same_entry = [](const Scope::Entry& a, const Scope::Entry& b) {
    return a.name == b.name && is_same(a.value, b.value);
  };
  return !objects_.empty() || !scopes_.empty() || imported_.size() != evaluator_of(in_).imported_.size() ||
         options_ != evaluator_of(in_).declared_options.size() || !(random_ == host_of(in_).random()) ||
         !std::ranges::equal(names_, evaluator_of(in_).file_scope_->entries(), same_entry);
}

void UndoJournal::take_back_graphs() {
  in_.here = {};
  graphs_.take_back_changes();
  stop();
}

void UndoJournal::take_back() {
  stop();
  // Values of the input are destroyed first, since they point into the graphs.
  for (const SavedObject& saved : objects_) saved.restore();
  for (const auto& [scope, entries] : scopes_) scope->restore(entries);
  evaluator_of(in_).file_scope_ = file_scope_;
  file_scope_->restore(names_);
  evaluator_of(in_).imported_ = imported_;
  evaluator_of(in_).declared_options.resize(std::min(options_, evaluator_of(in_).declared_options.size()));
  host_of(in_).random() = random_;
  in_.here = {};
  graphs_of(in_).targets_.resize(std::min(targets_, graphs_of(in_).targets_.size()));
  graphs_of(in_).implicit_ir_ = implicit_ir_;
  for (const std::weak_ptr<Ir>& known : irs_) {
    const std::shared_ptr<Ir> ir = known.lock();
    const GraphTransaction::Marked* marked = ir ? graphs_.graphs().find(ir.get()) : nullptr;
    if (!marked) continue;
    ir->rollback(*marked->mark);
    BlockTransaction::restore(in_, *ir, *marked);
  }
}

}  // namespace pxl
