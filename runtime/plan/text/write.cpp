// Writes plans: a line for each tensor, op and node, with the fields that differ from a blank one's.
#include <fmt/format.h>

#include <unordered_map>

#include "runtime/plan/plan.hpp"
#include "runtime/plan/text/fields.hpp"
#include "runtime/plan/text/names.hpp"
#include "runtime/plan/text/plan_text.hpp"

namespace pxl {
namespace plan_text {
namespace {

class Writer {
 public:
  template <class T>
  void operator()(std::string_view field, T& value, const T& blank) {
    if (is_blank(value, blank)) return;
    text_ += fmt::format(" {}=", field);
    put(value);
  }

  template <class T>
  void add_line(std::string_view kind, const T& record) {
    text_ += kind;
    fields(*this, const_cast<T&>(record), T{});  // which does not change what it writes
    text_ += '\n';
  }
  void add_results(const std::vector<const Tensor*>& results) {
    text_ += "results ";
    put(results);
    text_ += '\n';
  }
  /// The lines of tensors and ops that have been named so far, and then the others.
  std::string whole() {
    const std::string others = std::exchange(text_, {});
    for (size_t i = 0; i < ops_.list.size(); ++i) add_line("op", *ops_.list[i]);
    const std::string ops = std::exchange(text_, {});
    for (const Tensor* t : tensors_.list) add_tensor(*t);
    return std::move(text_) + ops + others;
  }

 private:
  template <class T>
  struct Numbers {
    std::vector<const T*> list;
    std::unordered_map<const T*, size_t> of;
    size_t operator[](const T* item) {
      const auto [at, fresh] = of.emplace(item, list.size());
      if (fresh) list.push_back(item);
      return at->second;
    }
  };

  void add_tensor(const Tensor& t) {
    const bool of_program = t.graph && t.graph->find_tensor(t.id) == &t;
    add_line(of_program ? "tensor" : "made", t);
    if (of_program || t.kind != TensorKind::constant || !t.data.has_elements()) return;
    text_ += "data ";
    for (int64_t i = 0; i < t.data.bytes(); ++i) text_ += fmt::format("{:02x}", std::to_integer<int>(t.data.raw()[i]));
    text_ += '\n';
  }

  template <class T>
  static bool is_blank(const T& value, const T& blank) {
    if constexpr (is_list<T>)
      return value.empty();
    else if constexpr (is_optional<T>)
      return !value;
    else if constexpr (is_record<T>)
      return false;
    else
      return value == blank;
  }

  template <class T>
  void put(const T& value) {
    if constexpr (std::is_same_v<T, bool>)
      text_ += value ? "true" : "false";
    else if constexpr (std::is_integral_v<T>)
      text_ += std::to_string(value);
    else if constexpr (std::is_enum_v<T>)
      text_ += word(value);
    else if constexpr (std::is_pointer_v<T>)
      value ? put_name(value) : void(text_ += "none");
    else if constexpr (is_optional<T>)
      put(*value);
    else if constexpr (is_list<T>) {
      text_ += '[';
      for (size_t i = 0; i < value.size(); ++i) {
        if (i > 0) text_ += ' ';
        put(static_cast<typename T::value_type>(value[i]));
      }
      text_ += ']';
    } else {
      text_ += '{';
      fields(*this, const_cast<T&>(value), T{});
      text_ += " }";
    }
  }
  void put(double value) { text_ += fmt::format("f{:a}", value); }
  void put(const std::string& value) { put_quoted(value); }
  void put(const Attr& value) {
    std::visit(
        [this]<class V>(const V& v) {
          if constexpr (std::is_same_v<V, std::monostate>)
            text_ += "none";
          else if constexpr (std::is_same_v<V, std::vector<double>>)
            text_ += 'f', put(v);
          else
            put(v);
        },
        value);
  }

  void put_name(const OpRow* row) { text_ += row->name; }
  void put_name(const Graph* graph) { put_quoted(graph->id()); }
  void put_name(const Plan* plan) { put_quoted(plan->graph->id()); }
  void put_name(const Stream* stream) { put_quoted(stream->name()); }
  void put_name(const Op* op) { text_ += fmt::format("@{}", ops_[op]); }
  void put_name(const Tensor* tensor) { text_ += fmt::format("%{}", tensors_[tensor]); }
  void put_quoted(std::string_view value) {
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\' || c == '\n') text_ += '\\';
      text_ += c == '\n' ? 'n' : c;
    }
    text_ += '"';
  }

  std::string text_;
  Numbers<Tensor> tensors_;
  Numbers<Op> ops_;
};

}  // namespace
}  // namespace plan_text

std::string write_plan(const Graph& graph, const std::vector<Node>& nodes, const std::vector<const Tensor*>& results) {
  plan_text::Writer writer;
  for (const Node& node : nodes) writer.add_line("node", node);
  writer.add_results(results);
  return fmt::format("plan \"{}\"\n", graph.id()) + writer.whole();
}

}  // namespace pxl
