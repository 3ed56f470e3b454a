#include "interpreter/tools/equal_graphs.hpp"

#include "runtime/base/text/join_texts.hpp"

#include <fmt/format.h>

#include <string>
#include <type_traits>

namespace pxl {
namespace {

class Partition {
 public:
  size_t add(const Graph& graph) {
    if (const auto found = result.of.find(&graph); found != result.of.end()) return found->second;
    const std::string text = structure(graph);
    const auto [found, fresh] = class_of_.try_emplace(text, result.classes.size());
    if (fresh)
      result.classes.push_back({&graph, 1});
    else
      ++result.classes[found->second].members;
    return result.of[&graph] = found->second;
  }

  GraphClasses result;

 private:
  std::string structure(const Graph& graph) {
    std::unordered_map<const Tensor*, size_t> number;
    // Different main graphs belong to different programs.
    std::string out = graph.is_main() ? graph.ir().name() : graph.title();
    const auto tensor = [&](const Tensor* t) {
      if (!t) return std::string("-");
      const auto [found, fresh] = number.try_emplace(t, number.size());
      if (!fresh) return fmt::format("{}", found->second);
      std::string first = fmt::format("{}:{}:{}", found->second, static_cast<int>(t->kind), text(t->spec));
      if (t->kind == TensorKind::constant && t->data.has_elements())
        first += fmt::format(":{}", std::string_view(static_cast<const char*>(static_cast<const void*>(t->data.raw())),
                                                     t->data.bytes()));
      return first;
    };
    for (const Tensor* t : graph.inputs()) out += fmt::format("\n{} {}", tensor(t), t->by_ref);
    for (const auto& op : graph.ops()) {
      out += fmt::format("\n{} {} {}", op->row->name, op->ipu.value_or(-1), op->io_tiles);
      for (const Attr& a : op->attrs) out += " " + attribute_text(a);
      out += " |";
      for (const Tensor* t : op->inputs) out += " " + tensor(t);
      out += " ->";
      for (const Tensor* t : op->outputs) out += " " + tensor(t);
      for (const Graph* called : op->called) out += fmt::format(" @{}", add(*called));
      if (op->stream) out += " " + op->stream->name();
    }
    for (const Tensor* t : graph.outputs()) out += "\n" + tensor(t);
    return out;
  }

  std::unordered_map<std::string, size_t> class_of_;
};

}  // namespace

GraphClasses classes_of(const std::vector<const Graph*>& graphs) {
  Partition partition;
  for (const Graph* graph : graphs) partition.add(*graph);
  return std::move(partition.result);
}

std::string attribute_text(const Attr& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return "none";
        else if constexpr (std::is_same_v<T, DType>)
          return std::string(name(v));
        else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<double>>)
          return fmt::format("[{}]", join_texts(v, ", "));
        else
          return fmt::format("{}", v);
      },
      value);
}

}  // namespace pxl
