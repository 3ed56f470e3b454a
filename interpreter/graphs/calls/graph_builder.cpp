// The graph that ops are being added to, and the program of the top level.
#include "interpreter/graphs/calls/graph_builder.hpp"

#include <algorithm>
#include <set>

#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/language/evaluator.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

GraphWorld& GraphBuilder::world() {
  if (!world_) world_ = std::make_shared<GraphWorld>();
  return *world_;
}

void GraphBuilder::leave_since(size_t targets, const Ir* before) {
  targets_.resize(std::min(targets, targets_.size()));
  if (implicit_ir_.get() == before) return;
  implicit_ir_->take_back_since(*Ir().mark());
  implicit_ir_ = nullptr;
}

void GraphBuilder::forget_dropped(Ir& ir) {
  auto it = world().irs.find(&ir);
  if (it == world().irs.end()) return;
  GraphWorld::PerIr& known = it->second;
  std::set<const Graph*> graphs;
  for (const auto& g : ir.graphs()) graphs.insert(g.get());
  StreamSet streams;
  for (const auto& s : ir.streams()) streams.insert(s.get());
  std::erase_if(known.shared, [&](const auto& e) { return !graphs.count(e.second.graph); });
  std::erase_if(known.graphs, [&](const auto& e) { return !graphs.count(e.first); });
  std::erase_if(known.streams, [&](const auto& e) { return !streams.count(e.second); });
  std::set<const Tensor*> tensors;
  for (const auto& g : ir.graphs())
    for (const auto& t : g->tensors()) tensors.insert(t.get());
  std::erase_if(known.states, [&](const auto& e) { return !graphs.count(e.first); });
  for (auto& [graph, states] : known.states) {
    std::erase_if(states, [&](const StateValue& s) { return !tensors.count(s.values.front()); });
    for (StateValue& s : states) {
      std::erase_if(s.values, [&](const Tensor* t) { return !tensors.count(t); });
      if (!tensors.count(s.stored)) s.stored = nullptr;
    }
  }
  for (auto& [name, statements] : known.declared) {
    for (auto& by : statements) std::erase_if(by.all, [&](const auto& d) { return !tensors.count(d.tensor); });
    std::erase_if(statements, [](const auto& by) { return by.all.empty(); });
  }
}

BuildTarget& GraphBuilder::target() {
  const bool imported =
      evaluator_of(in_).running_imports() > (targets_.empty() ? size_t{0} : targets_.back().importing);
  if (imported)
    throw Error("ops can't be made at the top level of an imported file",
                {"an imported file declares modules, defs and programs; put the ops into one of them"})
        .as(codes::program);
  if (targets_.empty()) {
    implicit_ir_ = std::make_shared<Ir>("main");
    implicit_ir_->open_ended = true;
    push_target(BuildTarget{implicit_ir_, &implicit_ir_->main()});
  }
  return targets_.back();
}

std::shared_ptr<Ir> GraphBuilder::top_level_ir() {
  if (!implicit_ir_ && targets_.empty()) target();
  if (!implicit_ir_)
    throw Error("nothing has been added to the program `main` of the top level",
                {"ops, variables and streams at the top level of the script go to it"})
        .as(codes::program);
  return implicit_ir_;
}

void GraphBuilder::push_target(BuildTarget t) {
  t.importing = evaluator_of(in_).running_imports();
  targets_.push_back(std::move(t));
}

}  // namespace pxl
