// Ops that call graphs: checks, outputs, and stashed outputs of autodiff.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/pointer_map.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/remote.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/op/structural_rows.hpp"

namespace pxl {

namespace {

std::string shown(const Graph& graph) {
  return graph.is_main() ? shown_name(graph) : fmt::format("`{}`", shown_name(graph));
}

bool reaches(Graph* from, const Graph* target, std::unordered_set<const Graph*>& seen) {
  std::vector<Graph*> open{from};
  while (!open.empty()) {
    Graph* g = open.back();
    open.pop_back();
    if (g == target) return true;
    if (!seen.insert(g).second) continue;
    for (Graph* callee : g->called_graphs()) open.push_back(callee);
  }
  return false;
}

std::string input_list(const Graph& callee) {
  std::string text;
  for (const Tensor* t : callee.inputs())
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", t->name, pxl::text(t->spec));
  return text.empty() ? "it takes no inputs" : "it takes " + text;
}

void check_callee(const OpRow& row, const Graph& caller, Graph& callee) {
  if (&callee.ir() != &caller.ir())
    throw Error(fmt::format("{}: the graph {} belongs to another program", row.name, shown(callee)))
        .as(codes::other_graph);
  check_in_effect(row.name, callee);
  if (callee.is_main()) throw Error(fmt::format("{}: the main graph cannot be called", row.name)).as(codes::program);
  std::unordered_set<const Graph*> seen;
  const bool recursive = &callee == &caller || (!caller.call_sites().empty() && reaches(&callee, &caller, seen));
  if (recursive)
    throw Error(fmt::format("{}: {} cannot call {}: graphs are not recursive", row.name, shown(caller), shown(callee)))
        .as(codes::program);
}

/// Checks the inputs from index `first` against the callee's.
void check_inputs(const OpRow& row, const Graph& callee, const std::vector<Tensor*>& inputs, size_t first) {
  for (size_t i = 0; i < callee.inputs().size(); ++i) {
    const Tensor* wanted = callee.inputs()[i];
    const Tensor* given = inputs[first + i];
    if (!given)
      throw Error(fmt::format("{}: the input `{}` of {} is missing", row.name, wanted->name, shown(callee)),
                  {input_list(callee)})
          .as(codes::graph_inputs);
    if (given->spec != wanted->spec)
      throw Error(fmt::format("{}: the input `{}` of {} is {}, but `{}` is {}", row.name, wanted->name, shown(callee),
                              text(wanted->spec), given->name, text(given->spec)),
                  {input_list(callee)})
          .as(codes::graph_inputs);
  }
}

void check_count(const OpRow& row, const std::vector<Graph*>& called, size_t given, size_t expected) {
  if (given == expected) return;
  throw Error(fmt::format("{}: {} inputs have been provided to the called graph {}: it takes {}, {} given", row.name,
                          given > expected ? "too many" : "not enough", shown(*called[0]), expected, given),
              {input_list(*called[0])})
      .as(codes::graph_inputs);
}

/// Whether a run of the graph transfers a stream's data.
bool transfers(const Graph& graph) {
  return std::ranges::any_of(graph.ops(), [](const auto& op) {
    return op->stream || std::ranges::any_of(op->called, [](const Graph* callee) { return transfers(*callee); });
  });
}

void check_condition(const OpRow& row, const Graph& body, int64_t slot) {
  const size_t carried = body.declared_outputs();
  if (slot < 0 || static_cast<size_t>(slot) >= carried)
    throw Error(fmt::format("{}: the condition is no carried tensor: there are {}", row.name, carried), {},
                Fault::internal);
  const Tensor& condition = *body.inputs()[static_cast<size_t>(slot)];
  if (condition.spec != TensorSpec{{}, DType::boolean, {}} || condition.by_ref)
    throw Error(fmt::format("{}: the condition must be a bool of one element, not {}", row.name, text(condition.spec)))
        .as(codes::dtype);
  if (transfers(body))
    throw Error(fmt::format("{}: {} loads from or stores to a stream, and the number of its iterations is not known",
                            row.name, shown(body)),
                {"load before the loop, and store after it", "a loop without a condition may transfer: `repeat`"})
        .as(codes::graph_inputs);
}

void check_loop(const OpRow& row, const Graph& body, const Attributes& attrs) {
  const size_t n = body.declared_outputs();
  if (body.inputs().size() < n)
    throw Error(fmt::format("{}: to repeat {}, the number of inputs must be greater than or equal to the number of "
                            "outputs: it has {} inputs and {} outputs",
                            row.name, shown(body), body.inputs().size(), n))
        .as(codes::graph_inputs);
  for (size_t i = 0; i < n; ++i) {
    const TensorSpec& in = body.inputs()[i]->spec;
    const TensorSpec& out = body.outputs()[i]->spec;
    if (in != out)
      throw Error(fmt::format("{}: output {} of {} is {}, but becomes the input `{}` of the next iteration, {}",
                              row.name, i, shown(body), text(out), body.inputs()[i]->name, text(in)))
          .as(codes::graph_inputs);
  }
  if (const auto* slot = std::get_if<int64_t>(&attrs.at(param_index(row, "condition"))))
    check_condition(row, body, *slot);
}

void check_branch(const OpRow& row, const Graph& yes, const Graph& no, const Tensor* condition) {
  if (!condition || condition->spec.dtype != DType::boolean || condition->spec.size() != 1)
    throw Error(fmt::format("{}: the condition must be a bool of one element, not {}", row.name,
                            condition ? text(condition->spec) : std::string("none")))
        .as(codes::dtype);
  for (const Graph* g : {&yes, &no})
    for (const Tensor* t : g->inputs())
      if (t->by_ref)
        throw Error(fmt::format("{}: the input `{}` of {} is by reference, which a branch cannot have", row.name,
                                shown_name(*t), shown(*g)),
                    {"return the new value instead"})
            .as(codes::graph_inputs);
  if (yes.declared_outputs() != no.declared_outputs())
    throw Error(fmt::format("{}: both branches must have the same number of outputs: {} has {}, {} has {}", row.name,
                            shown(yes), yes.declared_outputs(), shown(no), no.declared_outputs()))
        .as(codes::graph_inputs);
  for (size_t i = 0; i < yes.declared_outputs(); ++i) {
    const TensorSpec &a = yes.outputs()[i]->spec, &b = no.outputs()[i]->spec;
    if (a.shape != b.shape || a.dtype != b.dtype)
      throw Error(fmt::format("{}: output {} differs between the branches: {} in {}, {} in {}", row.name, i, text(a),
                              shown(yes), text(b), shown(no)),
                  {"the branches `then` and `else` return tensors of one shape and dtype"})
          .as(codes::graph_inputs);
  }
}

}  // namespace

Op* Graph::add_call(Graph& callee, std::vector<Tensor*> inputs) {
  return add_control(call_row(), {&callee}, std::move(inputs));
}

Op* Graph::add_control(const OpRow& row, std::vector<Graph*> called, std::vector<Tensor*> inputs, Attributes attrs) {
  check_open();
  const bool branch = row.role == Role::branch;
  if (called.size() != (branch ? 2U : 1U) || (!branch && row.role != Role::call && row.role != Role::loop))
    throw Error(fmt::format("{}: is not an op that calls {} graphs", row.name, called.size()), {}, Fault::internal);
  for (Graph* g : called) check_callee(row, *this, *g);
  size_t expected = branch ? 1 : 0;
  for (const Graph* g : called) expected += g->inputs().size();
  check_count(row, called, inputs.size(), expected);
  for (const Tensor* t : inputs)
    if (t) check_member(row.name, t);
  size_t first = branch ? 1 : 0;
  for (const Graph* g : called) {
    check_inputs(row, *g, inputs, first);
    first += g->inputs().size();
  }
  if (row.role == Role::loop) check_loop(row, *called[0], attrs);
  if (branch) check_branch(row, *called[0], *called[1], inputs[0]);

  int depth = depth_;
  for (const Graph* g : called) depth = std::max(depth, g->depth_ + 1);
  if (depth > max_depth)
    throw Error(fmt::format("{}: calls of graphs are nested more than {} deep", row.name, max_depth),
                {"inline some of the graphs, or use repeat"})
        .as(codes::program);

  Op* op = new_op(row, std::move(inputs), std::move(attrs));
  depth_ = depth;
  op->called = called;
  for (Graph* g : called)
    if (g->call_sites_.empty() || g->call_sites_.back() != op) g->call_sites_.push_back(op);
  // Stashed outputs exist for calls only: iterations and untaken branches keep no activations.
  const size_t n = row.role == Role::call ? called[0]->outputs().size() : called[0]->declared_outputs();
  for (size_t i = 0; i < n; ++i) {
    const Tensor* inner = called[0]->outputs()[i];
    std::string name(last_part(inner->name));
    if (branch) name += fmt::format("_or_{}", last_part(called[1]->outputs()[i]->name));
    add_result(op, inner->spec, name);
  }
  keep_remote_order(*op);
  return op;
}

std::vector<size_t> Graph::add_stashed_outputs(std::span<Tensor* const> tensors) {
  PointerMap<const Tensor*, size_t> places;
  for (size_t i = 0; i < outputs_.size(); ++i) places.emplace(outputs_[i], i);
  std::vector<size_t> indices;
  for (Tensor* tensor : tensors) {
    const auto found = places.find(tensor);
    if (found != places.end()) {
      indices.push_back(found->second);
      continue;
    }
    check_open();
    check_member("autodiff", tensor);
    indices.push_back(outputs_.size());
    places.emplace(tensor, outputs_.size());
    outputs_.push_back(tensor);
    for (Op* site : call_sites_)
      if (site->row->role == Role::call)
        site->graph->add_result(site, tensor->spec, std::string(last_part(tensor->name)), false);
  }
  return indices;
}

}  // namespace pxl
