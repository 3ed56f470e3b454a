// Sessions and their results as values.
#pragma once

#include <map>
#include <unordered_map>

#include "interpreter/values/cycles.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/tiles/estimate.hpp"

namespace pxl {

struct FamilyRuns;

struct SessionObject final : Object {
  std::shared_ptr<Ir> ir;
  Value program;                           ///< the IrObject: its fields name streams
  std::unique_ptr<Session> session;        ///< null during a look
  std::shared_ptr<FamilyRuns> family;      ///< of a program with free sizes (session_families.hpp); else null
  std::vector<Ref<SessionObject>> owners;  ///< that have the variables which the program shares with others
  std::string device;
  std::string engine;                 ///< the engine that runs it: a row of the table of engines
  tiles::EstimateOptions estimating;  ///< options of the machine that is modelled
  /// Streams by the names that `run` and its results accept: names of streams, and of the program's fields. If a
  /// stream's own name is bound to another stream, this name has no stream here.
  struct Names {
    std::unordered_map<std::string, const Stream*> inputs, outputs;
    std::map<std::string, Value> input_trees, output_trees;  ///< of streams, by the program's fields
  };
  std::shared_ptr<const Names> names;
  std::shared_ptr<const Ir::Mark> made_at;  ///< mark of an open-ended program when the session was made
  bool has_grown() const;                   ///< whether the program has grown since
  uint64_t made_at_moment = 0;              ///< GraphTransaction::moment
  const Tensor* newest_tensor = nullptr;    ///< newest tensor of the main graph when the session was made
  const Op* newest_op = nullptr;

  std::string type_name() const override { return "session"; }
  std::string repr(Interpreter& in) override;  ///< Session[train on ipu_model]
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  bool is_context() const override { return true; }
  Value enter(Interpreter& in) override;
  void leave(Interpreter& in, bool failed) override;
  bool equals(Interpreter&, const Value& other) override { return other.is_object() && other.object().get() == this; }
  std::function<void()> state() override;  ///< state of the variables
  /// A program for one spec of a bound graph that `call` calls.
  struct CallMember {
    std::string key;
    ObjectPtr of;  ///< the bound graph: while this lives, no other object has its address
    Ref<SessionObject> session;
    Value result;  ///< with the streams of its tensors, by number
    std::vector<const Stream*> in, out;
  };
  std::vector<CallMember> called;  ///< the last ones, the newest first

  void references(References& to) const override;

  /// Throws if ops of the session's program were undone.
  void check_in_effect() const;
  /// If false, after a `with` the variables have the values from before it, or those of the last read inside it.
  bool weights_to_host_on_exit = true;
  /// Updates the host's copy from the device: all variables, or one.
  void weights_to_host(const Tensor* only = nullptr);

  /// Every Error that leaves this function is a failure while running (exit status 1).
  Value run(Interpreter& in, const Arguments& args);
  /// `call`, with errors as those of `run`.
  Value call_graph(Interpreter& in, const Arguments& args);

 private:
  Value run_given(Interpreter& in, const Arguments& args);
  void attach();
  void detach();
  std::vector<std::pair<const Tensor*, Array>> host_weights_;
  bool said_grown_ = false;
};

/// Names of the outputs that a run gave, one for each stream, sorted: its own name unless another stream is bound to
/// that one, else the first of those that the program binds to it.
std::vector<std::string> output_names(const SessionObject::Names& names,
                                      const std::function<bool(const Stream*)>& is_given);
/// What the use of a run's result as a number or a tensor probably means.
std::string note_on_outputs(const std::vector<std::string>& names);

/// The result of a run: arrays by attribute, name or stream.
struct RunResultObject final : Object {
  std::shared_ptr<Ir> ir;
  std::shared_ptr<const SessionObject::Names> names;
  StreamMap<Array> arrays;
  std::string type_name() const override { return "run result"; }
  std::string repr(Interpreter& in) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  std::vector<std::string> own_names() const override { return output_names(); }
  std::vector<std::string> output_names() const;  ///< of what the run gave
  std::string note_on_misuse() const override { return note_on_outputs(output_names()); }
  Value index(Interpreter& in, const Value& key) override;
  /// The arrays in a tree of streams that has this name in the program; nullopt if there is none.
  std::optional<Value> tree(Interpreter& in, std::string_view name) const;
  std::optional<int64_t> length(Interpreter&) override { return static_cast<int64_t>(arrays.size()); }
  std::optional<Iterator> iterate(Interpreter&) override;  ///< the streams, as a dict's keys
  bool contains(Interpreter&, const Value& item) override;
  bool truth(Interpreter&) override { return !arrays.empty(); }

 private:
  /// The note for an error about a stream that was added after the session was made.
  std::vector<std::string> later(std::string_view name) const;
};

/// The names of an Ir's streams, and of the fields that are bound to them.
std::shared_ptr<const SessionObject::Names> stream_names(const Ir& ir, const Scope* fields);

/// Finds the streams for what a run is given under a name: an array, or a tree for a tree of streams. Throws Error for
/// paths that are missing and further ones.
using GivenStreams = std::vector<std::pair<const Stream*, Value>>;
void give_named(Interpreter& in, const SessionObject& s, const std::string& name, const Value& value, GivenStreams& to);

/// The input stream that a run accepts under a name. Throws run_error, with a suggestion, if no stream or two streams
/// match.
const Stream* input_stream(const SessionObject& s, const std::string& name);

/// `session.call(net, arrays ...)`: what a bound graph returns for arrays, with the variables as they are.
Value call_of_session(Interpreter& in, SessionObject& s, const Arguments& args);
/// The variables of the session that a value means: a tree, a bound graph, or its name in the program. By path.
std::vector<std::pair<std::string, Tensor*>> variables_meant(Interpreter& in, const SessionObject& s, const Value& v,
                                                             const char* where);
/// The session's variable in the memory of a tensor, which may belong to another program; null if there is none.
Tensor* variable_of(const SessionObject& s, Tensor* t);

/// A run in a look: checks what the streams are given, and returns a result whose arrays are unknown.
Value look_at_run(Interpreter& in, SessionObject& s, const Arguments& args);

/// The names of streams, sorted (run_result.cpp).
std::vector<std::string> sorted_names(const std::unordered_map<std::string, const Stream*>& streams);

}  // namespace pxl
