#include "interpreter/graphs/block_transaction.hpp"

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/modules.hpp"

namespace pxl {
namespace {

/// A running build as it was.
struct SavedBuild {
  std::shared_ptr<BuildState> build;
  BuildState state;
  std::unordered_map<std::string, Tensor*> params;
  std::vector<std::function<void()>> factories;  ///< restores each level of their tree
};

/// The facts that the session had about an Ir.
struct Saved {
  std::vector<SavedBuild> builds;
  std::vector<std::pair<std::shared_ptr<Captures>, std::vector<Captures::One>>> captures;
  std::unordered_map<const Graph*, std::vector<StateValue>> states;
};

/// What restores a tree's levels, which are objects of their own.
void save_levels(TreeObject& tree, std::vector<std::function<void()>>& to) {
  to.push_back(tree.state());
  for (const auto& [name, value] : tree.items)
    if (auto* level = value.as<TreeObject>()) save_levels(*level, to);
}

std::shared_ptr<void> save(Interpreter& in, Ir& ir) {
  auto saved = std::make_shared<Saved>();
  GraphWorld& world = graphs_of(in).world();
  for (const auto& build : world.builds) {
    if (build->root && build->root->ir.get() != &ir) continue;
    saved->builds.push_back({build, *build, {}, {}});
    if (!build->root) continue;
    saved->builds.back().params = build->root->params;
    save_levels(*build->root->factories, saved->builds.back().factories);
  }
  for (const BuildTarget& t : graphs_of(in).targets())
    if (t.captures && t.ir.get() == &ir) saved->captures.emplace_back(t.captures, t.captures->all);
  if (const auto known = world.irs.find(&ir); known != world.irs.end()) saved->states = known->second.states;
  return saved;
}

}  // namespace

BlockTransaction::BlockTransaction(Interpreter& in)
    : in_(in),
      targets_(graphs_of(in).targets().size()),
      top_(graphs_of(in).implicit_ir().get()),
      graphs_([&in](Ir& ir) { return save(in, ir); }) {}

void BlockTransaction::restore(Interpreter& in, Ir& ir, const GraphTransaction::Marked& marked) {
  if (const auto* saved = static_cast<const Saved*>(marked.saved.get())) {
    for (const SavedBuild& b : saved->builds) {
      *b.build = b.state;
      if (!b.build->root) continue;
      b.build->root->params = b.params;
      for (const auto& restore_level : b.factories) restore_level();
    }
    for (const auto& [captures, all] : saved->captures) captures->all = all;
    GraphWorld& world = graphs_of(in).world();
    if (const auto known = world.irs.find(&ir); known != world.irs.end()) known->second.states = saved->states;
  }
  graphs_of(in).forget_dropped(ir);
}

bool BlockTransaction::changed() const {
  if (graphs_of(in_).implicit_ir().get() != top_) return true;
  for (const GraphTransaction::Marked& m : graphs_.marked())
    if (m.ir->changed_since(*m.mark)) return true;
  return false;
}

void BlockTransaction::take_back_changes() {
  graphs_of(in_).leave_since(targets_, top_);
  for (const GraphTransaction::Marked& m : graphs_.marked()) {
    m.ir->take_back_since(*m.mark);
    restore(in_, *m.ir, m);
  }
}

void BlockTransaction::take_back() {
  std::vector<Ir*> changed;
  for (const GraphTransaction::Marked& m : graphs_.marked())
    if (m.ir->changed_since(*m.mark)) changed.push_back(m.ir);
  take_back_changes();
  graphs_.end_taken_back(changed);
}

}  // namespace pxl
