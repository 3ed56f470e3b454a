// Debugging of runs: stops at the first NaN, at breakpoints, or op by op, and prints statistics during training. While
// any of these is active, sessions run op by op on the reference path, which produces the same bits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "interpreter/library/run_watch.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

class Interpreter;

class Debugger final : public RunWatch {
 public:
  explicit Debugger(Interpreter& in);
  ~Debugger() override;

  /// Makes a run end with an Error at the first op with a result that is not finite. `infinities` includes infinities.
  void check_nan(bool on, bool infinities = true);
  bool checks_nan() const { return nan_; }

  /// The continuation of a run after an op at which it stopped.
  enum class Action : uint8_t { next, go_on, stop };
  /// Called after each op at which the run stops; Without it, runs do not stop.
  std::function<Action(const OpView&)> pause;
  /// Called before such an op, while its operands have their old values.
  std::function<void(const OpView&)> about_to_run;
  bool stepping = false;              ///< stops at every op
  std::set<std::string> breakpoints;  ///< "MatMul.104", "matmul", "104"

  /// Prints statistics of tensors in every `every`-th run: variables after the run, other tensors when they are
  /// computed.
  void watch(std::vector<std::pair<const Tensor*, std::shared_ptr<Ir>>> tensors, int64_t every);
  void watch_nothing();

  RunObserver* begin(SessionObject& session) override;
  RunObserver* evaluation() override;
  void end(SessionObject& session) override;

 private:
  class Observer;
  struct Watched {
    std::vector<std::pair<const Tensor*, std::shared_ptr<Ir>>> tensors;
    int64_t every = 1;
  };
  bool stops_at(const Op& op) const;
  Interpreter& in_;
  bool nan_ = false, infinities_ = true;
  std::vector<Watched> watched_;
  std::map<const Ir*, int64_t> runs_;
  std::unique_ptr<Observer> observer_;
};

/// "replica 1: "; empty if a program has one replica.
std::string replica_prefix(const OpView& v);

/// The interpreter's debugger, created on first use.
Debugger& debugger_of(Interpreter& in);

/// Binds nancheck, watch, unwatch and check_grad in the prelude, and reads PXL_NANCHECK.
void bind_debug_builtins(Interpreter& in);

/// `check_grad(what, *specs, ...)`: compares gradients of autodiff with central differences (check_grad.cpp).
Value check_grad(Interpreter& in, Arguments args);

}  // namespace pxl
