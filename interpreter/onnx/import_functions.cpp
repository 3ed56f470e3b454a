// Imports the functions of a model: the text gets one function for each set of attributes that calls pass.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/onnx/import_literals.hpp"
#include "interpreter/onnx/importer.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl::onnx {

namespace {

constexpr int64_t max_call_depth = 100;
constexpr size_t max_instance_nodes = size_t{1} << 20;  ///< bounds the memory that a small file can request

/// The node with a call's attribute values in place of references to them, also in its graphs. An attribute that the
/// call lacks is absent.
Node resolved(Node node, const std::map<std::string_view, const Attribute*>& given) {
  std::vector<Attribute> attributes;
  for (Attribute& a : node.attributes) {
    if (!a.reference.empty()) {
      const auto found = given.find(a.reference);
      if (found == given.end()) continue;
      attributes.push_back(*found->second);
      attributes.back().name = a.name;
      continue;
    }
    if (a.graph) {
      a.graph = std::make_shared<Graph>(*a.graph);
      for (Node& inner : a.graph->nodes) inner = resolved(std::move(inner), given);
    }
    attributes.push_back(std::move(a));
  }
  node.attributes = std::move(attributes);
  return node;
}

size_t node_count(const std::vector<Node>& nodes) {
  size_t count = nodes.size();
  for (const Node& node : nodes)
    for (const Attribute& a : node.attributes)
      if (a.graph) count += node_count(a.graph->nodes);
  return count;
}

std::string attributes_key(const std::map<std::string_view, const Attribute*>& given) {
  WireWriter key;
  for (const auto& [name, attribute] : given) {
    WireWriter one;
    write_message(*attribute, one);
    key.text(1, one.bytes);
  }
  return std::move(key.bytes);
}

int64_t opset_of(const Function& f, int64_t otherwise) {
  for (const OperatorSet& o : f.opsets)
    if (o.domain.empty()) return o.version;
  return otherwise;
}

}  // namespace

void Importer::index_functions() {
  for (const Function& f : model_.functions)
    if (!functions_.emplace(std::array<std::string_view, 3>{f.domain, f.name, f.overload}, &f).second)
      refused_.push_back(fmt::format("function `{}` is defined twice", f.name));
}

const FunctionInstance* Importer::called(const Node& node) const {
  const auto found = calls_.find(&node);
  return found == calls_.end() ? nullptr : found->second;
}

void Importer::note_calls(const std::vector<Node>& nodes, int64_t depth) {
  for (const Node& node : nodes) {
    const auto f = functions_.find({node.domain, node.op, node.overload});
    if (f != functions_.end()) calls_[&node] = instance_of(*f->second, node, depth);
    for (const Attribute& a : node.attributes)
      if (a.graph) note_calls(a.graph->nodes, depth);
  }
}

FunctionInstance* Importer::instance_of(const Function& f, const Node& call, int64_t depth) {
  if (depth > max_call_depth)
    throw Error(fmt::format("cannot import {}: its functions call each other too deeply", options_.title))
        .as(codes::import);
  std::map<std::string_view, const Attribute*> given;
  for (const Attribute& a : f.defaults) given[a.name] = &a;
  for (const Attribute& a : call.attributes) {
    if (!given.contains(a.name) && std::find(f.attributes.begin(), f.attributes.end(), a.name) == f.attributes.end())
      refuse(call, fmt::format("the function `{}` has no attribute `{}`", f.name, a.name));
    given[a.name] = &a;
  }
  if (active_.contains(&f)) {
    refuse(call, fmt::format("the function `{}` calls itself", f.name));
    return nullptr;
  }
  FunctionInstance*& instance = instances_[{&f, attributes_key(given)}];
  if (instance) return instance;
  active_.insert(&f);
  instance_nodes_ += node_count(f.nodes);
  if (instance_nodes_ > max_instance_nodes)
    throw Error(
        fmt::format("cannot import {}: calls with different attributes make more than {} nodes of its functions",
                    options_.title, max_instance_nodes))
        .as(codes::import);
  auto made = std::make_unique<FunctionInstance>();
  instance = made.get();
  made->function = &f;
  made->opset = opset_of(f, opset_);
  made->name = fresh(f.name);
  for (const Node& node : f.nodes) made->nodes.push_back(resolved(node, given));
  note_calls(made->nodes, depth + 1);
  active_.erase(&f);
  written_.push_back(std::move(made));
  return written_.back().get();
}

ProgramText Importer::function_text(const FunctionInstance& f) {
  Names names;
  std::vector<ProgramText> parameters;
  const std::string what = fmt::format("function `{}`", f.function->name);
  for (const std::string& i : f.function->inputs) {
    const ProgramText variable = fresh(i);
    define(names, what, i, {.text = variable});
    parameters.push_back(assemble("{} = none", {variable}));
  }
  lines_ = {};
  line(assemble("def {}({}) {{", {f.name, joined(parameters, ", ")}));
  ++depth_;
  opset_here_ = f.opset;
  for (const Node& n : f.nodes) node_lines(names, n);
  Node place;
  place.op = f.function->name;
  std::vector<ProgramText> results;
  for (const std::string& o : f.function->outputs) results.push_back(meaning(names, place, o).text);
  line(assemble("return {}", {list_text(results)}));
  --depth_;
  line(FixedText("}\n"));
  return std::exchange(lines_, {});
}

}  // namespace pxl::onnx
