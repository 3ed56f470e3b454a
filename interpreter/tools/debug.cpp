#include "interpreter/tools/debug.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/modules/trees.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/library/run_watch.hpp"
#include "interpreter/library/sessions.hpp"
#include "interpreter/tools/statistics.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/settings.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"

namespace pxl {
namespace {

std::string op_name(const Op& op) { return fmt::format("{}.{}", op.row->schedule, op.id); }

std::string described(const Tensor& t, const Array& a) {
  return fmt::format("{} {}: {}", t.name, text(t.spec), text(statistics_of(a)));
}

/// A line for the variable, or one per replica if they hold different values.
std::string described_variable(const Session& session, const Tensor& t) {
  const Array all = session.get_tensor_data(&t, Session::Retrieval::all);
  const int64_t bytes = t.spec.bytes();
  std::vector<Array> values;
  bool equal = true;
  for (int r = 0; r < session.replicas(); ++r) {
    values.emplace_back(t.spec.dtype, t.spec.shape);
    std::copy_n(all.raw() + r * bytes, bytes, values.back().mutable_raw());
    equal = equal && std::equal(all.raw(), all.raw() + bytes, values.back().raw());
  }
  if (equal) return "  " + described(t, values[0]) + "\n";
  std::string lines;
  for (size_t r = 0; r < values.size(); ++r) lines += fmt::format("  replica {}: {}\n", r, described(t, values[r]));
  return lines;
}

bool offends(const Statistics& s, bool infinities) { return s.nan > 0 || (infinities && s.infinite > 0); }

}  // namespace

std::string replica_prefix(const OpView& v) {
  return v.replicas == 1 ? std::string() : fmt::format("replica {}: ", v.replica);
}

class Debugger::Observer final : public RunObserver {
 public:
  explicit Observer(Debugger& d) : d_(d) {}

  void before(const OpView& v) override {
    // All replicas begin a collective before the first one continues, so each has its own list.
    std::vector<Statistics>& inputs = inputs_[v.replica];
    inputs.clear();
    if (d_.nan_)
      for (const Array& a : v.inputs) inputs.push_back(statistics_of(a));
    if (d_.pause && d_.stops_at(v.op) && d_.about_to_run) d_.about_to_run(v);
  }

  void after(const OpView& v) override {
    if (d_.nan_) check(v);
    for (size_t i = 0; i < v.op.outputs.size(); ++i)
      if (due.count(v.op.outputs[i]))
        host_of(d_.in_).write(
            cleaned(fmt::format("  {}{}\n", replica_prefix(v), described(*v.op.outputs[i], v.outputs[i]))));
    if (!d_.pause || !d_.stops_at(v.op)) return;
    switch (d_.pause(v)) {
      case Action::next: d_.stepping = true; break;
      case Action::go_on: d_.stepping = false; break;
      case Action::stop: d_.stepping = false; throw Interrupted();
    }
  }

  std::set<const Tensor*> due;  ///< tensors whose statistics this run prints

 private:
  void check(const OpView& v) {
    for (size_t i = 0; i < v.outputs.size(); ++i) {
      const Statistics s = statistics_of(v.outputs[i]);
      if (!offends(s, d_.infinities_)) continue;
      std::vector<std::string> notes;
      bool came_in = false;
      for (size_t k = 0; k < v.inputs.size(); ++k) {
        if (!v.has(k)) continue;
        const Statistics& in = inputs_[v.replica][k];
        came_in |= offends(in, d_.infinities_);
        notes.push_back(fmt::format("{} {}: {}", shown_name(*v.op.inputs[k]), text(v.op.inputs[k]->spec), text(in)));
      }
      notes.push_back(fmt::format("{} {}: {}", shown_name(*v.op.outputs[i]), text(v.op.outputs[i]->spec), text(s)));
      const char* kind = s.nan ? (s.infinite && d_.infinities_ ? "NaN and infinities" : "NaN") : "infinities";
      throw run_error(came_in ? fmt::format("`{}` gets values that are not finite", shown_name(v.op))
                              : fmt::format("`{}` makes {}", shown_name(v.op), kind),
                      std::move(notes))
          .as(codes::not_finite);
    }
  }

  Debugger& d_;
  std::map<int, std::vector<Statistics>> inputs_;  ///< by replica
};

Debugger::Debugger(Interpreter& in) : in_(in), observer_(std::make_unique<Observer>(*this)) {}
Debugger::~Debugger() = default;

void Debugger::check_nan(bool on, bool infinities) {
  nan_ = on;
  infinities_ = infinities;
}

bool Debugger::stops_at(const Op& op) const {
  if (stepping) return true;
  return !breakpoints.empty() &&
         (breakpoints.count(op_name(op)) || breakpoints.count(std::string(op.row->name)) ||
          breakpoints.count(std::string(op.row->schedule)) || breakpoints.count(std::to_string(op.id)));
}

void Debugger::watch(std::vector<std::pair<const Tensor*, std::shared_ptr<Ir>>> tensors, int64_t every) {
  watched_.push_back({std::move(tensors), every});
}
void Debugger::watch_nothing() { watched_.clear(); }

RunObserver* Debugger::begin(SessionObject& session) {
  observer_->due.clear();
  bool inside = false;
  if (!watched_.empty()) {
    const int64_t run = ++runs_[session.ir.get()];
    std::set<const Tensor*> wanted;
    for (const Watched& w : watched_)
      if (run % w.every == 0)
        for (const auto& [t, ir] : w.tensors)
          if (ir == session.ir) wanted.insert(t);
    // An undone input may have removed tensors. They are skipped.
    if (!wanted.empty())
      for (const auto& g : session.ir->graphs())
        for (const auto& t : g->tensors())
          if (wanted.count(t.get())) {
            observer_->due.insert(t.get());
            inside |= t->kind == TensorKind::result;
          }
    if (!observer_->due.empty()) host_of(in_).write(cleaned(fmt::format("run {} of {}\n", run, session.ir->name())));
  }
  const bool pauses = pause && (stepping || !breakpoints.empty());
  return nan_ || pauses || inside ? observer_.get() : nullptr;
}

RunObserver* Debugger::evaluation() {
  observer_->due.clear();
  return nan_ || (pause && (stepping || !breakpoints.empty())) ? observer_.get() : nullptr;
}

void Debugger::end(SessionObject& session) {
  if (!observer_->due.empty())
    for (const Tensor* t : session.session->variables())
      if (observer_->due.count(t)) host_of(in_).write(cleaned(described_variable(*session.session, *t)));
  observer_->due.clear();
}

Debugger& debugger_of(Interpreter& in) {
  std::shared_ptr<RunWatch>& watch = run_watch_of(in);
  if (!watch) watch = std::make_shared<Debugger>(in);
  return static_cast<Debugger&>(*watch);
}

void bind_debug_builtins(Interpreter& in) {
  Scope& p = *evaluator_of(in).prelude();
  define(p, no_effects,
         {"nancheck(on = true, infinities = true)",
          "Makes each later run end with an error at the first op that produces a NaN (or an infinity), and show its "
          "operands.",
          R"(nancheck()
variable w: float32[2] = -1
with expect_error("NaN") { eval(log(w)) }
nancheck(false))"},
         [](Interpreter& i, const Arguments& args) -> Value {
           ArgReader a(args);
           debugger_of(i).check_nan(a.boolean("on"), a.boolean("infinities"));
           return {};
         });
  define(p, no_effects,
         {"watch(tensors, every = 1)",
          "Prints statistics of tensors (one, a list, a tree) in every `every`-th run of their program.", R"(program p {
  w = variable([1.0, 2.0])
  watch(w)
  stream out y = w * 2
}
Session(p()).run())"},
         [](Interpreter& i, const Arguments& args) -> Value {
           ArgReader a(args);
           const Value given = a.value("tensors");
           const int64_t every = a.integer("every");
           if (every < 1) throw Error("watch: `every` must be at least 1");
           std::vector<Value> all{given};
           if (auto* tree = given.as<TreeObject>()) all = tree->sorted_tensors();
           if (given.as<SequenceObject>()) all = elements_of(i, given);
           std::vector<std::pair<const Tensor*, std::shared_ptr<Ir>>> tensors;
           for (const Value& v : all) {
             auto* t = v.as<TensorObject>();
             if (!t) type_error("watch: expected tensors, got " + with_article(v.type_name()));
             tensors.emplace_back(t->tensor, t->ir);
           }
           debugger_of(i).watch(std::move(tensors), every);
           return {};
         });
  define(p, no_effects, {"unwatch()", "Ends all `watch`es.", R"(variable w: float32[2] = 3
watch(w)
unwatch()
eval(w))"},
         [](Interpreter& i, const Arguments& args) -> Value {
           const ArgReader none(args);
           debugger_of(i).watch_nothing();
           return {};
         });
  define(p, {Effect::runs_session, Effect::random},
         {"check_grad(what, *specs, rtol = none, eps = none, seed = 0)",
          "Compares gradients by autodiff with central differences, on random inputs: of a graph, or of a module or "
          "function built "
          "for `specs` (float64 gives the sharpest test). Returns the largest relative error by input; fails if one "
          "exceeds rtol.",
          R"(def square(x) { return x ** 2.0 }
max(check_grad(square, float64[3]).values()) < 1e-6)"},
         [](Interpreter& i, Arguments args) { return check_grad(i, std::move(args)); });
  if (is_on(Setting::nancheck)) debugger_of(in).check_nan(true);
}

}  // namespace pxl
