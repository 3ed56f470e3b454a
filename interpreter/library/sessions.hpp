// Sessions and their results as values.
#pragma once

#include <unordered_map>

#include "interpreter/values/cycles.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/tiles/estimate.hpp"

namespace pxl {

struct SessionObject final : Object {
  std::shared_ptr<Ir> ir;
  Value program;                     ///< the IrObject: its fields name streams
  std::unique_ptr<Session> session;  ///< null in a look
  std::string device;
  std::string engine;                 ///< what runs it: a row of the table of engines
  tiles::EstimateOptions estimating;  ///< what its machine is taken to be
  /// Streams by the names that `run` and its results take: of the stream, and of the program's fields.
  /// A name that is a stream's own and is bound to another one has no stream here.
  struct Names {
    std::unordered_map<std::string, const Stream*> inputs, outputs;
  };
  std::shared_ptr<const Names> names;
  std::shared_ptr<const Ir::Mark> made_at;  ///< of an open-ended program: what it was when the session was made
  bool has_grown() const;                   ///< something was added to the program since
  const Tensor* newest_tensor = nullptr;    ///< of its main graph when the session was made
  const Op* newest_op = nullptr;

  std::string type_name() const override { return "session"; }
  std::string repr(Interpreter& in) override;  ///< Session[train on ipu_model]
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  bool is_context() const override { return true; }
  Value enter(Interpreter& in) override;
  void leave(Interpreter& in, bool failed) override;
  bool equals(Interpreter&, const Value& other) override { return other.is_object() && other.object().get() == this; }
  std::function<void()> state() override;  ///< the variables
  void references(References& to) const override { to.add(program); }

  /// Throws if ops of the session's program were taken back.
  void check_in_effect() const;
  /// Without it the variables are, after a `with`, what they were before it, or when they were last read in it.
  bool weights_to_host_on_exit = true;
  /// Makes the host's copy what the device has: of all variables, or of one.
  void weights_to_host(const Tensor* only = nullptr);

  /// Every Error that leaves it is a failure while running (exit status 1).
  Value run(Interpreter& in, const Arguments& args);

 private:
  Value run_given(Interpreter& in, const Arguments& args);
  void attach();
  void detach();
  std::vector<std::pair<const Tensor*, Array>> host_weights_;
  bool said_grown_ = false;
};

/// What a run gave: arrays by attribute, name or stream.
struct RunResultObject final : Object {
  std::shared_ptr<Ir> ir;
  std::shared_ptr<const SessionObject::Names> names;
  std::map<const Stream*, Array> arrays;
  std::string type_name() const override { return "run result"; }
  std::string repr(Interpreter& in) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  /// Names of what the run gave, one for each stream, sorted: its own name unless another stream is bound to that one,
  /// else the first of those that the program binds to it.
  std::vector<std::string> output_names() const;
  Value index(Interpreter& in, const Value& key) override;
  std::optional<int64_t> length(Interpreter&) override { return static_cast<int64_t>(arrays.size()); }
  std::optional<Iterator> iterate(Interpreter&) override;  ///< the streams, as a dict's keys
  bool contains(Interpreter&, const Value& item) override;
  bool truth(Interpreter&) override { return !arrays.empty(); }

 private:
  /// The note of an error about a stream that came after the session.
  std::vector<std::string> later(std::string_view name) const;
};

/// The input stream that a run takes under a name. Throws run_error, with a suggestion, if there is none, or two.
const Stream* input_stream(const SessionObject& s, const std::string& name);

/// A run in a look: checks the names of the streams, and returns a result whose arrays are unknown.
Value look_at_run(SessionObject& s, const Arguments& args);

/// The names of streams, sorted (run_result.cpp).
std::vector<std::string> sorted_names(const std::unordered_map<std::string, const Stream*>& streams);

}  // namespace pxl
