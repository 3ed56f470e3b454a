// Makes remote buffers, loads and stores them, builds graphs that load and store, and places variables in buffers.
#include "interpreter/graphs/remote.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/replicas.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/subscripts.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/op/shards.hpp"
#include "runtime/ops/op_builder.hpp"

namespace pxl {

namespace {

using In = Interpreter&;
using BufferRef = RemoteBufferObject&;
using Got = std::optional<Value>;
Value shape_of(const Shape& shape) { return make_tuple(std::vector<Value>(shape.begin(), shape.end())); }
constexpr Member<RemoteBufferObject> buffer_rows[] = {
    {"id", "The number of the buffer in its program, from 1.", "b.id",
     [](In, BufferRef b) -> Got { return Value(b.index + 1); }},
    {"spec", "Dtype and shape of an entry.", "b.spec", [](In, BufferRef b) -> Got { return Value(b.buffer.spec); }},
    {"shape", "The extents of an entry, as a tuple of ints.", "b.shape",
     [](In, BufferRef b) -> Got { return shape_of(b.buffer.spec.shape); }},
    {"dtype", "The dtype of the elements.", "b.dtype",
     [](In, BufferRef b) -> Got { return Value(b.buffer.spec.dtype); }},
    {"meta_shape", "The extents of the whole tensors whose shards the entries are; empty for others.", "b.meta_shape",
     [](In, BufferRef b) -> Got { return shape_of(b.buffer.spec.meta_shape); }},
    {"entries", "The number of entries.", "b.entries", [](In, BufferRef b) -> Got { return Value(b.buffer.entries); }},
    {"shard_over", "The groups of replicas that share the parts of the entries; none for whole tensors.",
     "b.shard_over", [](In, BufferRef b) -> Got { return replica_grouping_value(b.buffer.spec.shard_groups); }},
    {"folder", "The folder of the file that holds the entries; none: they are in memory.", "b.folder",
     [](In, BufferRef b) -> Got { return b.buffer.folder.empty() ? Value() : Value(b.buffer.folder); }},
};
constexpr std::span<const Member<RemoteBufferObject>> buffer_table(buffer_rows);

/// The number of an entry: a tensor, or an int, which becomes a constant.
Tensor* entry_tensor(Interpreter& in, const Value& v, const BuildTarget& target, const RemoteBuffer& buffer,
                     const char* where) {
  if (Tensor* t = as_tensor(v)) return t;
  const int64_t entry = to_index(v, std::string(where) + ": the number of an entry");
  if (entry < 0 || entry >= buffer.entries)
    throw Error(fmt::format("{}: entry {} is out of range for a remote buffer of {}", where, entry, buffer.entries))
        .as(codes::index);
  stamp(in, *target.ir);
  return target.graph->add_constant(Array::scalar(static_cast<uint32_t>(entry)), "offset");
}

/// New memory with the spec of an entry.
Tensor* new_memory(Graph& graph, const TensorSpec& spec) {
  GraphOpBuilder at(graph);
  const TensorSpec whole = whole_spec(spec);
  const Expr memory = at.one("init", {}, {{"shape", whole.shape}, {"dtype", whole.dtype}});
  return (spec.is_shard() ? at.one("replica_sharded_slice", {memory}, {{"group", spec.shard_groups}}) : memory)
      .tensor();
}

Value load_entry(Interpreter& in, const RemoteBufferObject& buffer, const Value& at, const std::string& given) {
  const BuildTarget target = graphs_of(in).target();
  Tensor* entry = entry_tensor(in, at, target, buffer.buffer, "remote_load");
  stamp(in, *target.ir);
  Tensor* memory = new_memory(*target.graph, buffer.buffer.spec);
  const std::string name =
      given.empty() ? fmt::format("id_{}_offset_{}", buffer.index + 1, last_part(entry->name)) : given;
  return tensor_value(
      target.ir,
      target.graph->add_remote_load(buffer.index, memory, entry, false, name + "_remote_loaded")->outputs[0]);
}

std::string folder_of(const ArgReader& a) {
  std::string folder = a.string_or("folder", "");
  if (a.has("folder") && folder.empty()) throw Error("remote buffer: the folder has an empty name").as(codes::value);
  return folder;
}

Value make_buffer(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  const BuildTarget target = graphs_of(in).target();
  stamp(in, *target.ir);
  const TensorSpec spec = to_spec(in, a.value("spec"), "the spec of a remote buffer");
  return make_ref<RemoteBufferObject>(target.ir,
                                      target.ir->add_remote_buffer({spec, a.integer("entries"), folder_of(a)}));
}

/// The buffers in a tree, with the names of the leaves, in alphabetical order.
std::vector<std::pair<std::string, const RemoteBufferObject*>> buffers_of(Interpreter& in, const Value& v,
                                                                          const char* where) {
  const auto tree = v.ptr<TreeObject>();
  if (!tree) type_error(std::string(where) + " takes a tree of remote buffers, got " + with_article(v.type_name()));
  std::vector<std::pair<std::string, const RemoteBufferObject*>> found;
  for (const auto& [name, leaf] : tree->leaves())
    found.emplace_back(name, &to_remote_buffer(leaf, graphs_of(in).target().ir, where));
  std::sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  return found;
}

const TensorSpec& entry_spec() {
  static const auto& spec = never_destroyed(TensorSpec{{}, DType::int32, {}});
  return spec;
}

/// A graph (entry) -> tensors that loads one entry from each buffer, and the names of the tensors.
Value load_graph(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  const auto buffers = buffers_of(in, a.value("buffers"), "load_remote_graph");
  const std::shared_ptr<Ir> ir = graphs_of(in).target().ir;
  stamp(in, *ir);
  Graph& graph = ir->create_graph("load_remote");
  Tensor* entry = graph.add_input(entry_spec(), "load_index");
  std::vector<Value> names;
  for (const auto& [name, buffer] : buffers) {
    Tensor* memory = new_memory(graph, buffer->buffer.spec);
    graph.add_output(graph.add_remote_load(buffer->index, memory, entry, false, name + "_remote_loaded")->outputs[0]);
    names.emplace_back(name);
  }
  return make_tuple({graph_value(ir, &graph), make_list(std::move(names))});
}

/// A graph (entry, a named tensor for each buffer) -> () that stores the tensors.
Value store_graph(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  const auto buffers = buffers_of(in, a.value("buffers"), "store_remote_graph");
  const std::shared_ptr<Ir> ir = graphs_of(in).target().ir;
  stamp(in, *ir);
  Graph& graph = ir->create_graph("store_remote");
  Tensor* entry = graph.add_input(entry_spec(), "store_index");
  std::vector<Tensor*> stored;
  for (const auto& [name, buffer] : buffers)
    stored.push_back(graph.add_input(buffer->buffer.spec, name.substr(name.rfind('.') + 1), false, name));
  for (size_t i = 0; i < buffers.size(); ++i) graph.add_remote_store(buffers[i].second->index, stored[i], entry);
  return graph_value(ir, &graph);
}

Value buffers_for(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  const auto tree = a.value("factories").ptr<TreeObject>();
  if (!tree || tree->kind != TreeKind::factories)
    type_error("named_variable_buffers takes the factories that create_graph gave, got " +
               with_article(a.value("factories").type_name()));
  const std::shared_ptr<Ir> ir = graphs_of(in).target().ir;
  stamp(in, *ir);
  const ReplicaGroups shards = to_shard_groups(a.value_or("shard", {}), *ir);
  const int64_t shard_from = a.integer("shard_from");
  TreePtr out = make_tree(TreeKind::plain);
  for (const auto& [name, leaf] : tree->leaves()) {
    const auto* f = leaf.as<VariableFactoryObject>();
    if (!f) type_error("named_variable_buffers: `" + name + "` is " + with_article(leaf.type_name()));
    const bool whole = f->spec.is_shard() || f->spec.size() < shard_from;
    const TensorSpec spec = whole ? f->spec : shard_spec(f->spec, shards);
    out->insert(name, Value(make_ref<RemoteBufferObject>(
                          ir, ir->add_remote_buffer({spec, a.integer("entries"), folder_of(a)}))));
  }
  return out;
}

}  // namespace

MemberTable remote_buffer_members() {
  return member_table(
      "remote buffer",
      "Memory off chip, in entries of one spec: `remote_load` and `remote_store` reach one by its number.",
      "b = remote_buffer(float32[5], entries = 2)", buffer_table);
}

std::string RemoteBufferObject::repr(Interpreter&) {
  return fmt::format("RemoteBuffer[{} {}, {} {}]", index + 1, text(buffer.spec), buffer.entries,
                     buffer.entries == 1 ? "entry" : "entries");
}
std::optional<Value> RemoteBufferObject::member(Interpreter& in, std::string_view name) {
  return member_of_table(in, buffer_table, *this, name);
}
std::vector<std::string> RemoteBufferObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, buffer_table);
  return names;
}
bool RemoteBufferObject::equals(Interpreter&, const Value& other) {
  const auto* o = other.as<RemoteBufferObject>();
  return o && o->ir == ir && o->index == index;
}

const RemoteBufferObject& to_remote_buffer(const Value& v, const std::shared_ptr<Ir>& ir, const char* where) {
  const auto* b = v.as<RemoteBufferObject>();
  if (!b) type_error(std::string(where) + " takes a remote buffer, got " + with_article(v.type_name()));
  if (b->ir != ir)
    throw Error(std::string(where) + ": the remote buffer belongs to program " + b->ir->name()).as(codes::other_graph);
  const auto index = static_cast<size_t>(b->index);
  if (index >= ir->remote_buffers().size() || ir->remote_buffers()[index] != b->buffer)
    throw Error(std::string(where) + ": the input that made the remote buffer failed, and was taken back")
        .as(codes::other_graph);
  return *b;
}

Value init_remotely(Interpreter& in, TreeObject& factories, const Arguments& args) {
  ArgReader a(args);
  const BuildTarget target = graphs_of(in).target();
  const auto buffers = a.value("buffers").ptr<TreeObject>();
  if (!buffers)
    type_error("init_remote takes a tree of remote buffers, got " + with_article(a.value("buffers").type_name()));
  auto all = factories.leaves();
  std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  TreePtr made = make_tree(TreeKind::tensors);
  for (const auto& [name, leaf] : all) {
    const Value* found = buffers->find(name);
    if (!found) throw Error("init_remote: there is no buffer for `" + name + "`").as(codes::key);
    const RemoteBufferObject& buffer = to_remote_buffer(*found, target.ir, "init_remote");
    TreePtr one = make_tree(TreeKind::factories);
    one->insert(name, leaf);
    const VariablePlacement placement{
        {}, buffer.buffer.spec.shard_groups, RemoteEntry{buffer.index, a.integer("entry")}};
    const Value variable = *init_factories(in, *one, a.string_or("prefix", ""), placement, false)->find(name);
    made->insert(name, variable);
  }
  return made;
}

void bind_remote_builtins(Scope& p) {
  define(
      p, no_effects,
      {"remote_buffer(spec, entries = 1, folder = none)",
       "Memory off chip for `entries` tensors of a spec, zeros at first. Each replica has its own. With a folder, the "
       "entries are in a file there, which a session makes and which ends with it.",
       R"(program p {
  buffer = remote_buffer(float32[2], entries = 3)
  remote_store(buffer, 1, constant([1.0, 2.0]))
  stream out y = remote_load(buffer, 1)
}
Session(p()).run())"},
      [](Interpreter& in, Arguments args) { return make_buffer(in, args); });
  define(p, no_effects,
         {"remote_load(buffer, entry, name = none)",
          "An entry of a remote buffer, as a tensor. `entry` is an int or an integer tensor.", R"(program p {
  buffer = remote_buffer(float32[2])
  stream out y = remote_load(buffer, 0)
}
Session(p()).run())"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           return load_entry(in, to_remote_buffer(a.value("buffer"), graphs_of(in).target().ir, "remote_load"),
                             a.value("entry"), a.string_or("name", ""));
         });
  define(p, no_effects, {"remote_load_(buffer, entry, t)", "Overwrites a tensor with an entry of a remote buffer.", ""},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           const BuildTarget target = graphs_of(in).target();
           const RemoteBufferObject& buffer = to_remote_buffer(a.value("buffer"), target.ir, "remote_load_");
           Tensor* t = as_tensor(a.value("t"));
           if (!t) type_error("remote_load_ takes a tensor, got " + with_article(a.value("t").type_name()));
           Tensor* entry = entry_tensor(in, a.value("entry"), target, buffer.buffer, "remote_load_");
           stamp(in, *target.ir);
           const std::string name = fmt::format("{}_remote_loaded", last_part(t->name));
           return tensor_value(target.ir,
                               target.graph->add_remote_load(buffer.index, t, entry, true, name)->outputs[0]);
         });
  define(p, no_effects, {"remote_store(buffer, entry, t)", "Copies a tensor to an entry of a remote buffer.", ""},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           const BuildTarget target = graphs_of(in).target();
           const RemoteBufferObject& buffer = to_remote_buffer(a.value("buffer"), target.ir, "remote_store");
           Tensor* t = to_operand(in, a.value("t"), buffer.buffer.spec, "remote_store");
           Tensor* entry = entry_tensor(in, a.value("entry"), target, buffer.buffer, "remote_store");
           stamp(in, *target.ir);
           target.graph->add_remote_store(buffer.index, t, entry);
           return {};
         });
  define(p, no_effects,
         {"load_remote_graph(buffers)",
          "A graph (entry: int32[]) -> tensors, of one entry of each buffer of a tree, and the names of the tensors.",
          R"(from nn import Linear
facts, graph = Linear(3).create_graph(float32[2, 4])
buffers = named_variable_buffers(facts)
loads, names = load_remote_graph(buffers)
names)"},
         [](Interpreter& in, Arguments args) { return load_graph(in, args); });
  define(p, no_effects,
         {"store_remote_graph(buffers)",
          "A graph (entry: int32[], a named tensor for each buffer of a tree) that stores the tensors.",
          R"(from nn import Linear
facts, graph = Linear(3).create_graph(float32[2, 4])
len(store_remote_graph(named_variable_buffers(facts)).inputs))"},
         [](Interpreter& in, Arguments args) { return store_graph(in, args); });
  define(
      p, no_effects,
      {"named_variable_buffers(factories, entries = 1, shard = none, shard_from = 512, folder = none)",
       "A tree of remote buffers, one for each variable factory, under the same names; with a grouping of replicas as "
       "`shard`, of shards for variables of at least `shard_from` elements. `folder`: as for remote_buffer.",
       R"(from nn import Linear
facts, graph = Linear(3).create_graph(float32[2, 4])
list(named_variable_buffers(facts).keys_flat()))"},
      [](Interpreter& in, Arguments args) { return buffers_for(in, args); });
}

}  // namespace pxl
