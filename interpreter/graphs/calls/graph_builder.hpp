// The graph builder's part of a session: the graph that receives new ops, and the program `main` of the top level.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

class Interpreter;
struct GraphWorld;  // builds in progress, graphs that calls share, facts about graphs; modules.hpp

/// The tensors of enclosing graphs that an unfinished graph uses, in order of first use, and its inputs for them.
struct Captures {
  struct One {
    Tensor* input = nullptr;
    Tensor* outer = nullptr;   ///< as the graph around it has it
    Tensor* origin = nullptr;  ///< as the program names it
    bool is_state = false;     ///< `origin` is a state, whose current value a call passes
  };
  std::vector<One> all;
};

/// The graph that receives new ops.
struct BuildTarget {
  std::shared_ptr<Ir> ir;
  Graph* graph = nullptr;
  std::shared_ptr<Captures> captures = nullptr;  ///< null if tensors of enclosing graphs are refused
  size_t importing = 0;  ///< number of imports that ran when this began: an imported file may not add to it
};

class GraphBuilder {
 public:
  explicit GraphBuilder(Interpreter& in) : in_(in) {}

  /// The current graph; A call at the top level of a script starts the implicit program `main`. Throws if ops are not
  /// allowed (in an imported file).
  BuildTarget& target();
  bool has_target() const { return !targets_.empty(); }
  /// Whether a declared program (not the implicit one) is being built.
  bool in_program() const { return !targets_.empty() && targets_.back().ir != implicit_ir_; }
  void push_target(BuildTarget t);
  void pop_target() { targets_.pop_back(); }
  const std::vector<BuildTarget>& targets() const { return targets_; }  ///< innermost last
  void clear_targets() { targets_.clear(); }

  std::shared_ptr<Ir> current_ir() { return target().ir; }
  const std::shared_ptr<Ir>& implicit_ir() const { return implicit_ir_; }
  /// The implicit program, which is created if it does not exist.
  std::shared_ptr<Ir> top_level_ir();

  /// Builds and caches of graphs (modules.hpp), created on first use.
  GraphWorld& world();
  /// Leaves the targets from a number on. Takes back the implicit program unless it is `before`, its predecessor.
  void leave_since(size_t targets, const Ir* before);
  /// Called after Ir::rollback: forgets graphs and streams that have been destroyed.
  void forget_dropped(Ir& ir);

 private:
  friend class UndoJournal;
  Interpreter& in_;
  std::vector<BuildTarget> targets_;
  std::shared_ptr<Ir> implicit_ir_;
  std::shared_ptr<GraphWorld> world_;
};

GraphBuilder& graphs_of(Interpreter& in);

/// The tensor that represents `t` in the graph that is being built: `t` itself, or an input for a tensor of an
/// enclosing graph. The first use makes the input. A tensor out of reach is returned unchanged, and the caller refuses
/// it.
Tensor* reached(Interpreter& in, Tensor* t);

}  // namespace pxl
