// Graphs, tensors and ops: naming, numbering, and the checks when an op is added.
#include "runtime/graph/ir.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/graph/remote.hpp"
#include "runtime/graph/sequencing.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/graph/transaction.hpp"
#include "runtime/op/op_ipus.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/op/shards.hpp"
#include "runtime/op/structural_rows.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

std::string scoped_name(const Ir& ir, const std::string& name) {
  std::string text;
  for (const std::string& scope : ir.name_scopes) text += scope + "/";
  return text + name;
}

/// Default name of output `i` from the row: its entry in the list, or the last entry with a number appended.
std::string default_name(const OpRow& row, const std::vector<Tensor*>& inputs, size_t i) {
  std::string_view rest = row.output.empty() ? std::string_view("t") : row.output;
  std::string_view entry = rest;
  size_t at = 0;
  for (;; ++at) {
    const size_t comma = rest.find(',');
    entry = rest.substr(0, comma);
    if (at == i || comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
  while (!entry.empty() && entry.back() == ' ') entry.remove_suffix(1);
  std::string name(entry);
  if (const size_t hole = name.find("{0}"); hole != std::string::npos) {
    const auto first = std::find_if(inputs.begin(), inputs.end(), [](const Tensor* t) { return t != nullptr; });
    name.replace(hole, 3, first == inputs.end() ? std::string("t") : std::string(last_part((*first)->name)));
  }
  return at == i ? name : fmt::format("{}_{}", name, i);
}

std::string described(const std::vector<Tensor*>& inputs) {
  std::string text;
  for (const Tensor* t : inputs)
    if (t) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", last_part(t->name), pxl::text(t->spec));
  return text;
}

void check_one_ipu(const OpRow& row, const std::vector<Tensor*>& inputs) {
  const Tensor* placed = nullptr;
  for (const Tensor* t : inputs) {
    if (!t || !t->ipu()) continue;
    if (!placed) placed = t;
    if (*placed->ipu() != *t->ipu())
      throw Error(fmt::format("{}: the tensors `{}` and `{}` are located on different IPUs: {} != {}", row.name,
                              placed->name, shown_name(*t), *placed->ipu(), *t->ipu()),
                  {fmt::format("copy one of them first: {}.copy_to_ipu({})", operand_text(*t), *placed->ipu())})
          .as(codes::program);
  }
}

/// The constant whose memory the tensor shares through views, or nullptr. In-place ops on constants have been rejected
/// before.
const Tensor* constant_below(const Tensor* tensor) {
  std::vector<const Tensor*> open{tensor};
  std::unordered_set<const Tensor*> seen{tensor};
  while (!open.empty()) {
    const Tensor* t = open.back();
    open.pop_back();
    if (t->kind == TensorKind::constant) return t;
    if (!t->producer || t->output_index != 0 || !is_view(*t->producer->row)) continue;
    for (size_t slot = 0; slot < t->producer->inputs.size(); ++slot)
      if (t->producer->aliases(slot) && seen.insert(t->producer->inputs[slot]).second)
        open.push_back(t->producer->inputs[slot]);
  }
  return nullptr;
}

}  // namespace

std::optional<int> Tensor::ipu() const {
  if (!producer) return std::nullopt;
  if (const auto* ipus = op_ipus(*producer->row, producer->attrs))
    return static_cast<int>(ipus->at(static_cast<size_t>(output_index)));
  return producer->ipu.value_or(0);
}

std::string text(const Tensor& tensor) {
  return fmt::format("Tensor[{} {} {}]", tensor.id, name(tensor.spec.dtype), tuple_text(tensor.spec.shape));
}

bool Op::modifies(size_t slot) const {
  if (slot >= inputs.size() || !inputs[slot]) return false;
  if (modifies_slot(*row, slot) || (slot < input_modified.size() && input_modified[slot])) return true;
  if (row->role == Role::call || row->role == Role::loop)
    return !called.empty() && slot < called[0]->inputs().size() && called[0]->inputs()[slot]->by_ref;
  return false;
}

bool Op::aliases(size_t slot) const {
  if (row->alias < 0 || outputs.empty() || slot >= inputs.size() || !inputs[slot]) return false;
  return static_cast<size_t>(row->alias) == slot || (row->parts && is_variadic(*row));
}

bool is_exchanged(const Op& op) {
  return op.row->exchange == Exchange::members && group_size(replica_groups_of({*op.row, {}, op.attrs})) > 1;
}

OpContextStorage::OpContextStorage(const Op& op) : site{*op.row, {}, op.attrs} {
  for (const Tensor* t : op.inputs) in.push_back(t ? &t->spec : nullptr);
  for (const Tensor* t : op.outputs) out.push_back(t->spec);
  if (op.row->exchange == Exchange::replica) in.push_back(&replica_operand());
  if (op.row->exchange == Exchange::members) {
    const auto members = static_cast<size_t>(group_size(replica_groups_of(site)));
    in.assign(members, in.at(0));
    if (!out.empty()) out.assign(members, out.at(0));
  }
  site.in = in;
  site.out = out;
  site.named = &op;
  site.name_of = [](const void* named, size_t slot) {
    const Op& of = *static_cast<const Op*>(named);
    if (of.row->exchange == Exchange::members) slot = 0;
    const Tensor* t = slot < of.inputs.size() ? of.inputs[slot] : nullptr;
    // An array beside tensors is called as the parameter is.
    const bool unnamed = t && t->kind == TensorKind::constant && is_unnamed(*t);
    return t && !unnamed ? shown_name(*t) : std::string();
  };
}

Graph::Graph(Ir& ir, std::string id, std::string title)
    : ir_(ir), id_(std::move(id)), title_(std::move(title)), sequencing_(std::make_unique<Sequencing>()) {}

Graph::~Graph() = default;

void Graph::check_open() const {
  check_in_effect("the graph", *this);
  if (ir_.frozen)
    throw Error(fmt::format("the program `{}` is owned by a session: nothing more can be added to it", ir_.name()),
                {"build everything before Session(...), or call the program again for a new IR"})
        .as(codes::complete);
  GraphTransaction::changing(ir_);
}

void Graph::check_member(std::string_view what, const Tensor* tensor) const {
  if (contains(tensor)) {
    if (!tensor->remote) return;
    throw Error(fmt::format("{}: `{}` is an entry of a remote buffer", what, shown_name(*tensor)),
                {"`remote_load(buffer, entry)` makes a tensor of it"})
        .as(codes::program);
  }
  check_in_effect(what, *tensor);
  const std::string here = is_main() ? "main graph" : fmt::format("current graph `{}`", shown_name(*this));
  const std::string there =
      tensor->graph->is_main() ? std::string("the main graph") : fmt::format("`{}`", shown_name(*tensor->graph));
  if (&tensor->graph->ir() != &ir_)
    throw Error(
        fmt::format("{}: the input tensor `{}` is not in the {}: it belongs to another program", what,
                    shown_name(*tensor), here),
        {"programs share variables that a graph is bound to: `graph.bind(tree)`; for other tensors use a stream"})
        .as(codes::other_graph);
  if (is_main())
    throw Error(
        fmt::format("{}: the input tensor `{}` is not in the {}: it is in {}", what, shown_name(*tensor), here, there),
        {"only a graph's outputs reach its callers: return the tensor, and use the result of the call"})
        .as(codes::other_graph);
  throw Error(
      fmt::format("{}: the input tensor `{}` is not in the {}: it is in {}", what, shown_name(*tensor), here, there),
      {fmt::format("pass it as an argument where the graph is called, and use the graph's input here: {}",
                   text(*tensor))})
      .as(codes::other_graph);
}

void Graph::claim_name(Tensor* tensor, std::string name) {
  const std::string prefix = id_.empty() ? std::string() : id_ + "/";
  std::string unique = name;
  while (by_id_.count(prefix + unique)) unique = fmt::format("{}__t{}", name, ir_.next_suffix());
  tensor->name = unique;
  tensor->id = prefix + unique;
  by_id_.emplace(tensor->id, tensor);
}

Tensor* Graph::new_tensor(TensorKind kind, TensorSpec spec, const std::string& name, bool scoped) {
  element_count(spec.shape);  // throws if the product of the extents overflows
  auto tensor = std::make_unique<Tensor>();
  tensor->kind = kind;
  tensor->spec = std::move(spec);
  tensor->graph = this;
  tensor->origin = ir_.origin;
  const std::string plain = name.empty() ? std::string("t") : name;
  claim_name(tensor.get(), scoped ? scoped_name(ir_, plain) : plain);
  tensors_.push_back(std::move(tensor));
  return tensors_.back().get();
}

Tensor* Graph::add_result(Op* op, TensorSpec spec, const std::string& name, bool scoped) {
  Tensor* t = new_tensor(TensorKind::result, std::move(spec), name, scoped);
  t->producer = op;
  t->output_index = static_cast<int>(op->outputs.size());
  t->origin = op->origin;
  op->outputs.push_back(t);
  return t;
}

Op* Graph::new_op(const OpRow& row, std::vector<Tensor*> inputs, Attributes attrs) {
  auto op = std::make_unique<Op>();
  op->id = ir_.next_op_id();
  op->row = &row;
  op->graph = this;
  op->inputs = std::move(inputs);
  op->attrs = std::move(attrs);
  op->attrs.resize(row.params.size());
  op->ipu = ir_.ipu;
  op->io_tiles = ir_.io_tiles;
  op->origin = ir_.origin;
  for (Tensor* t : op->inputs)
    if (t && (t->consumers.empty() || t->consumers.back() != op.get())) t->consumers.push_back(op.get());
  ops_.push_back(std::move(op));
  sequence(ops_.back().get());
  return ops_.back().get();
}

Tensor* Graph::add_input(TensorSpec spec, const std::string& name, bool by_ref, std::string key) {
  check_open();
  if (is_main())
    throw Error(fmt::format("the main graph has no inputs: `{}` cannot be one", name), {"use a stream or a variable"})
        .as(codes::program);
  if (!call_sites_.empty())
    throw Error(
        fmt::format("the graph `{}` is called already: it can have no further input `{}`", shown_name(*this), name))
        .as(codes::program);
  Tensor* t = new_tensor(TensorKind::input, std::move(spec), name);
  t->by_ref = by_ref;
  t->key = std::move(key);
  inputs_.push_back(t);
  return t;
}

namespace {

/// Throws unless the members of each group that shares the parts of a tensor hold one value of it.
void check_shard_groups(const ReplicaGroups& shards, const ReplicaGroups& values, const std::string& name,
                        int64_t replicas) {
  check_groups(shards, replicas);
  if (values.empty()) return;
  for (const std::vector<int64_t>& members : group_members(shards))
    for (const int64_t r : members)
      if (values[static_cast<size_t>(r)] != values[static_cast<size_t>(members[0])])
        throw Error(fmt::format("the variable `{}` cannot be sharded over the replicas {} and {}: they hold values of "
                                "different groups",
                                name, members[0], r),
                    {"`shard_over` takes groups within those of `replica_grouping`"})
            .as(codes::replicas);
}

}  // namespace

Tensor* Graph::add_variable(Array initial, const std::string& name, const std::vector<int64_t>& groups,
                            const std::vector<int64_t>& shard_groups, std::optional<RemoteEntry> remote) {
  check_open();
  if (!is_main())
    throw Error(fmt::format("the variable `{}` cannot be made outside the main graph: the current graph is `{}`",
                            name.empty() ? "t" : name, shown_name(*this)),
                {"declare it with `param`, or make it an argument and pass the variable where the graph is called"})
        .as(codes::program);
  TensorSpec spec = initial.spec();
  if (!groups.empty()) {
    const auto replicas = static_cast<size_t>(ir_.replication_factor);
    if (groups.size() != replicas || spec.shape.empty() || spec.shape[0] != group_count(groups))
      throw Error(fmt::format("the variable `{}` has {} for {} groups of {} replicas; the program has {} replicas",
                              name.empty() ? "t" : name, text(spec), group_count(groups), groups.size(), replicas),
                  {"its initial value has a row for each group"})
          .as(codes::replicas);
    spec.shape.erase(spec.shape.begin());
  }
  if (!shard_groups.empty())
    check_shard_groups(shard_groups, groups, name.empty() ? "t" : name, ir_.replication_factor);
  spec = shard_spec(spec, shard_groups);
  if (remote) check_remote_variable(ir_, *remote, spec, name.empty() ? "t" : name);
  Tensor* t = new_tensor(TensorKind::variable, std::move(spec), name);
  t->remote = remote;
  t->data = std::move(initial);
  t->groups = groups;
  return t;
}

Tensor* Graph::share_variable(const std::shared_ptr<Ir>& of, const Tensor& variable) {
  check_in_effect("bind", variable);
  const std::shared_ptr<const Tensor> root =
      variable.shared ? variable.shared : std::shared_ptr<const Tensor>(of, &variable);
  for (const auto& t : tensors_)
    if (t->shared == root) return t.get();
  if (variable.remote)
    throw Error(fmt::format("`{}` of program {} is an entry of a remote buffer, which programs can't share",
                            shown_name(variable), of->name()))
        .as(codes::program);
  check_open();
  Tensor* t = new_tensor(TensorKind::variable, root->spec, root->name, false);
  t->data = root->data;
  t->groups = root->groups;
  t->is_state = root->is_state;
  t->shared = root;
  return t;
}

Tensor* Graph::add_constant(Array value, const std::string& name) {
  check_open();
  Tensor* t = new_tensor(TensorKind::constant, value.spec(), name);
  t->data = std::move(value);
  return t;
}

void Graph::add_output(Tensor* tensor) {
  check_open();
  check_member("return", tensor);
  if (outputs_.size() != declared_outputs_ || !call_sites_.empty())
    throw Error(fmt::format("the graph `{}` is called or differentiated already: it can have no further output",
                            shown_name(*this)))
        .as(codes::program);
  outputs_.push_back(tensor);
  declared_outputs_ = outputs_.size();
}

namespace {

/// The word `constant` of its declaration; null for a constant that has none.
Span word_of_declaration(const Tensor& constant) {
  constexpr std::string_view word = "constant";
  const Span at = constant.origin.span;
  if (!at.text().starts_with("constant ")) return {};
  return {at.file, at.begin, at.begin + static_cast<uint32_t>(word.size())};
}

}  // namespace

Op* Graph::add_op(const OpRow& row, std::vector<Tensor*> inputs, Attributes attrs,
                  const std::vector<std::string>& names) {
  constexpr int64_t op_ns = 2000;  // time of an iteration of a loop that adds ops to a graph: 2 us (x86-64)
  charge(op_ns);
  check_open();
  for (const Tensor* t : inputs)
    if (t) check_member(row.name, t);
  for (size_t slot = 0; slot < inputs.size(); ++slot) {
    if (!inputs[slot] || !modifies_slot(row, slot)) continue;
    const Tensor* constant = constant_below(inputs[slot]);
    if (!constant) continue;
    const bool direct = constant == inputs[slot];
    throw Error(fmt::format("{}: {}the constant `{}` cannot be changed in place", row.name,
                            direct ? "" : fmt::format("`{}` is a view, and ", shown_name(*inputs[slot])),
                            shown_name(*constant)),
                {"declare it as a `variable`, or use the form that makes a new tensor"})
        .as(codes::in_place)
        .relate(constant->origin.span, fmt::format("`{}` is declared here", shown_name(*constant)))
        .offer(word_of_declaration(*constant), "variable");
  }
  if (inputs.size() > 1 && !op_ipus(row, attrs)) check_one_ipu(row, inputs);
  if (!row.infer) throw Error(fmt::format("{}: cannot be added as an op of its own", row.name), {}, Fault::internal);

  Op probe;
  probe.row = &row;
  probe.inputs = inputs;
  probe.attrs = attrs;
  probe.attrs.resize(row.params.size());
  std::vector<TensorSpec> specs;
  try {
    const OpContextStorage storage(probe);
    specs = infer_specs(storage.site);
    for (const TensorSpec& spec : specs) element_count(spec.shape);
  } catch (Error& error) {
    const std::string facts = described(inputs);
    if (error.first().notes.empty() && !facts.empty()) error.first().notes.push_back(facts);
    throw;
  }

  Op* op = new_op(row, std::move(inputs), std::move(attrs));
  for (size_t i = 0; i < specs.size(); ++i)
    add_result(op, std::move(specs[i]),
               i < names.size() && !names[i].empty() ? names[i] : default_name(row, op->inputs, i));
  return op;
}

Op* Graph::add_host_load(Stream& stream, const std::string& name) {
  check_open();
  check_in_effect("host_load", *stream.handle);
  if (!stream.to_device)
    throw Error(fmt::format("host_load: `{}` is an output stream", stream.name()), {"declare it with `stream in`"})
        .as(codes::stream);
  const OpRow& init = init_row();
  Attributes attrs(init.params.size());
  for (size_t i = 0; i < init.params.size(); ++i) {
    if (init.params[i].kind == ParamKind::shape) attrs[i] = stream.spec().shape;
    if (init.params[i].kind == ParamKind::dtype) attrs[i] = stream.spec().dtype;
    if (init.params[i].kind == ParamKind::string) attrs[i] = std::string(init.params[i].default_value.s);
  }
  const std::string result = name.empty() ? stream.name() : name;
  Op* memory = new_op(init, {}, std::move(attrs));
  add_result(memory, stream.spec(), default_name(init, {}, 0));
  Op* load = new_op(host_load_row(), {memory->outputs[0]}, {});
  load->stream = &stream;
  stream.used = true;
  add_result(load, stream.spec(), result);
  return load;
}

Op* Graph::add_host_store(Stream& stream, Tensor* tensor) {
  check_open();
  check_member("host_store", tensor);
  check_in_effect("host_store", *stream.handle);
  if (stream.to_device)
    throw Error(fmt::format("host_store: `{}` is an input stream", stream.name()), {"declare it with `stream out`"})
        .as(codes::stream);
  if (stream.spec().shape != tensor->spec.shape || stream.spec().dtype != tensor->spec.dtype)
    throw Error(fmt::format("host_store: the stream `{}` takes {}, but `{}` is {}", stream.name(), text(stream.spec()),
                            shown_name(*tensor), text(tensor->spec)),
                {"give the stream the tensor's spec, or reshape or cast the tensor"})
        .as(codes::stream);
  Op* op = new_op(host_store_row(), {tensor}, {});
  op->stream = &stream;
  stream.used = true;
  return op;
}

Tensor* Graph::find_tensor(std::string_view id) const {
  const auto found = by_id_.find(std::string(id));
  if (found != by_id_.end()) return found->second;
  if (is_main()) return nullptr;
  const auto by_name = by_id_.find(fmt::format("{}/{}", id_, id));
  return by_name == by_id_.end() ? nullptr : by_name->second;
}

std::vector<Graph*> Graph::called_graphs() const {
  std::vector<Graph*> found;
  std::unordered_set<const Graph*> seen;
  for (const auto& op : ops_)
    for (Graph* g : op->called)
      if (seen.insert(g).second) found.push_back(g);
  return found;
}

}  // namespace pxl
