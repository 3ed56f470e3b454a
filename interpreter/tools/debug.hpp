// Debugging of runs: stopping at the op that makes the first NaN, at breakpoints, op by op; statistics while training.
// While any of it is on, sessions run op by op on the reference path, whose results have the same bits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "interpreter/library/run_watch.hpp"
#include "interpreter/values/interpreter.hpp"

namespace pxl {

class Debugger final : public RunWatch {
 public:
  explicit Debugger(Interpreter& in);
  ~Debugger() override;

  /// Ends a run with an Error at the op whose results are the first that are not finite; `infinities` counts infinite
  /// ones too.
  void check_nan(bool on, bool infinities = true);
  bool checks_nan() const { return nan_; }

  /// What to do behind an op that was stopped at.
  enum class Action : uint8_t { next, go_on, stop };
  /// Asked behind each op that is stopped at; without it, nothing is.
  std::function<Action(const OpView&)> pause;
  /// Called before such an op, while its operands have their old values.
  std::function<void(const OpView&)> about_to_run;
  bool stepping = false;              ///< stops at every op
  std::set<std::string> breakpoints;  ///< "MatMul.104", "matmul", "104"

  /// Prints statistics of tensors in every `every`-th run; variables after the run, others where they are computed.
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

/// The interpreter's debugger, made when first asked for.
Debugger& debugger_of(Interpreter& in);

/// An interpreter with the built-ins of these tools (nancheck, watch, unwatch, check_grad). Everything that runs,
/// checks or analyses a program makes its interpreter here, so that all know the same names. PXL_NANCHECK=on in the
/// environment turns nancheck on.
std::unique_ptr<Interpreter> make_interpreter(InterpreterOptions options);

/// `check_grad(what, *specs, ...)`: gradients by autodiff against central differences (check_grad.cpp).
Value check_grad(Interpreter& in, Arguments args);

}  // namespace pxl
