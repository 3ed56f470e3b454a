// Reads plans: the fields of fields.hpp in their order, each of which may be left out.
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <unordered_map>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/plan/plan.hpp"
#include "runtime/plan/text/fields.hpp"
#include "runtime/plan/text/names.hpp"
#include "runtime/plan/text/plan_text.hpp"
#include "runtime/plan/views.hpp"

namespace pxl {
namespace plan_text {
namespace {

class Reader {
 public:
  Reader(std::string_view text, const Ir& ir, const std::function<const Plan*(const Graph&)>& plan_of)
      : text_(text), ir_(ir), plan_of_(plan_of) {
    for (const auto& graph : ir.graphs()) {
      graphs_[graph->id()] = graph.get();
      for (const auto& op : graph->ops()) ops_of_program_[op->id] = op.get();
    }
  }

  template <class T>
  void operator()(std::string_view field, T& value, const T&) {
    skip_spaces();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(field) || rest.substr(field.size(), 1) != "=") return;
    at_ += field.size() + 1;
    get(value);
  }

  std::unique_ptr<ReadPlan> whole() {
    expect("plan ");
    graph_named(quoted());
    end_line();
    while (take("tensor") || peek("made")) add_tensor(!take("made"));
    while (take("op")) add_op();
    while (take("node")) {
      line(plan_->nodes.emplace_back());
      if (!plan_->nodes.back().op) fail("a node without an op");
    }
    expect("results ");
    get(plan_->results);
    end_line();
    if (at_ != text_.size()) fail("a line of no kind");
    return std::move(plan_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const auto lines = std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at_), '\n');
    throw Error(fmt::format("line {} of the plan: {}", lines + 1, what), {}, Fault::unreadable);
  }

  bool peek(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  bool take(std::string_view word) {
    if (!peek(word)) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) fail(fmt::format("`{}` is missing", word == "\n" ? "the end of the line" : word));
  }
  void skip_spaces() {
    while (peek(" ")) ++at_;
  }
  void end_line() {
    skip_spaces();
    expect("\n");
  }
  template <class T>
  void line(T& record) {
    fields(*this, record, T{});
    end_line();
  }

  void add_tensor(bool of_program) {
    Tensor t{};
    line(t);
    if (!t.graph) fail("a tensor of no graph");
    if (of_program) {
      const Tensor* found = t.graph->find_tensor(t.id);
      if (!found || found->kind != t.kind || found->spec != t.spec)
        fail(fmt::format("the program has no such tensor `{}`", t.id));
      tensors_.push_back(found);
      return;
    }
    element_count(t.spec.shape);  // throws for extents that no tensor has
    if (take("data ")) {
      t.data = Array(t.spec.dtype, t.spec.shape);
      for (int64_t i = 0; i < t.data.bytes(); ++i) t.data.mutable_raw()[i] = static_cast<std::byte>(two_digits());
      end_line();
    }
    tensors_.push_back(&plan_->tensors.emplace_back(std::move(t)));
  }
  int two_digits() {
    int value = 0;
    const std::string_view digits = text_.substr(at_, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || end != digits.data() + 2) fail("elements that are no bytes");
    at_ += 2;
    return value;
  }

  void add_op() {
    Op op;
    line(op);
    if (!op.row || op.attrs.size() != op.row->params.size()) fail("an op without a row, or with other attributes");
    if (const auto found = ops_of_program_.find(op.id); found != ops_of_program_.end())
      op.origin = found->second->origin;
    ops_.push_back(&plan_->ops.emplace_back(std::move(op)));
  }

  std::string_view bare() {
    const size_t end = std::min(text_.find_first_of(" ]}\n", at_), text_.size());
    return text_.substr(std::exchange(at_, end), end - at_);
  }
  std::string quoted() {
    std::string value;
    expect("\"");
    while (at_ < text_.size() && text_[at_] != '"') {
      const bool escaped = take("\\");
      if (at_ == text_.size()) break;
      value += escaped && text_[at_] == 'n' ? '\n' : text_[at_];
      ++at_;
    }
    expect("\"");
    return value;
  }
  template <class T>
  T number() {
    T value{};
    const std::string_view digits = bare();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) fail(fmt::format("`{}` is no number", digits));
    return value;
  }

  template <class T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = take("true");
      if (!value) expect("false");
    } else if constexpr (std::is_integral_v<T>) {
      value = number<T>();
    } else if constexpr (std::is_enum_v<T>) {
      const std::string_view wanted = bare();
      size_t i = 0;
      while (i < word_count<T> && word(static_cast<T>(i)) != wanted) ++i;
      if (i == word_count<T>) fail(fmt::format("`{}` is no word of this field", wanted));
      value = static_cast<T>(i);
    } else if constexpr (std::is_pointer_v<T>) {
      value = nullptr;
      if (!take("none")) find(value);
    } else if constexpr (is_optional<T>) {
      get(value.emplace());
    } else if constexpr (is_list<T>) {
      expect("[");
      while (!take("]")) {
        typename T::value_type item{};
        get(item);
        value.push_back(std::move(item));
        skip_spaces();
      }
    } else {
      constexpr int most = 32;  // nodes have members, which have none
      if (++depth_ > most) fail("records are nested too deeply");
      expect("{");
      fields(*this, value, T{});
      skip_spaces();
      expect("}");
      --depth_;
    }
  }
  void get(double& value) {
    expect("f");
    const std::string digits(bare());
    char* end = nullptr;
    value = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0') fail(fmt::format("`{}` is no number", digits));
  }
  void get(std::string& value) { value = quoted(); }
  void get(Attr& value) {
    if (peek("\"")) return value = Attr(quoted()), void();
    if (peek("[")) return get(value.emplace<std::vector<int64_t>>());
    if (take("f[")) return --at_, get(value.emplace<std::vector<double>>());
    if (peek("none") || peek("true") || peek("false")) return get_word(value);
    const std::string_view rest = text_.substr(at_, 2);
    if (rest.starts_with('-') || (!rest.empty() && rest[0] >= '0' && rest[0] <= '9'))
      return get(value.emplace<int64_t>());
    const size_t before = at_;
    if (const auto dtype = dtype_from_name(bare())) return value = Attr(*dtype), void();
    at_ = before;
    get(value.emplace<double>());
  }
  void get_word(Attr& value) {
    if (!take("none")) get(value.emplace<bool>());
  }

  void find(const OpRow*& row) {
    const std::string name(bare());
    row = name == write_back_row().name ? &write_back_row() : find_op(name);
    if (!row) fail(fmt::format("there is no op `{}`", name));
  }
  Graph* graph_named(const std::string& id) {
    const auto found = graphs_.find(id);
    if (found == graphs_.end()) fail(fmt::format("the program has no graph `{}`", id));
    return found->second;
  }
  void find(Graph*& graph) { graph = graph_named(quoted()); }
  void find(const Plan*& plan) { plan = plan_of_(*graph_named(quoted())); }
  void find(Stream*& stream) {
    const std::string label = quoted();
    for (const auto& s : ir_.streams())
      if (s->name() == label) stream = s.get();
    if (!stream) fail(fmt::format("the program has no stream `{}`", label));
  }
  template <class T>
  const T* numbered(char mark, const std::vector<const T*>& all) {
    expect(std::string_view(&mark, 1));
    const auto i = number<size_t>();
    if (i >= all.size()) fail(fmt::format("{}{} is not declared before", mark, i));
    return all[i];
  }
  void find(const Op*& op) { op = numbered('@', ops_); }
  void find(const Tensor*& tensor) { tensor = numbered('%', tensors_); }
  void find(Tensor*& tensor) { tensor = const_cast<Tensor*>(numbered('%', tensors_)); }  // ops own theirs so

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  const Ir& ir_;
  const std::function<const Plan*(const Graph&)>& plan_of_;
  std::unordered_map<std::string, Graph*> graphs_;
  std::unordered_map<int, const Op*> ops_of_program_;
  std::unique_ptr<ReadPlan> plan_ = std::make_unique<ReadPlan>();
  std::vector<const Tensor*> tensors_;
  std::vector<const Op*> ops_;
};

}  // namespace
}  // namespace plan_text

std::unique_ptr<ReadPlan> read_plan(std::string_view text, const Ir& ir,
                                    const std::function<const Plan*(const Graph&)>& plan_of) {
  return plan_text::Reader(text, ir, plan_of).whole();
}

}  // namespace pxl
