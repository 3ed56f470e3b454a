#include "interpreter/graphs/ops/op_habits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/notices.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/library_sources.hpp"
#include "runtime/base/text/join_texts.hpp"

namespace pxl {

namespace {

const TensorSpec* operand_spec(const Arguments& args) {
  if (args.positional.empty()) return nullptr;
  if (const Tensor* t = as_tensor(args.positional[0])) return &t->spec;
  const Array* a = args.positional[0].as_array();
  return a ? &a->spec() : nullptr;
}

Value* named(Arguments& args, std::initializer_list<std::string_view> names) {
  for (NamedArg& n : args.named)
    if (std::find(names.begin(), names.end(), n.name) != names.end()) return &n.value;
  return nullptr;
}

std::string list_text(const std::vector<int64_t>& values) {
  std::vector<std::string> texts;
  for (int64_t v : values) texts.push_back(std::to_string(v));
  return "[" + join_texts(texts, ", ") + "]";
}

/// PyTorch's `transpose(x, 0, 1)` swaps two axes. The op refuses two numbers unless the rank is 2.
void read_transpose(Interpreter&, Arguments& args) {
  const TensorSpec* x = operand_spec(args);
  if (!x || x->shape.size() != 2 || args.positional.size() != 3) return;
  const auto is_axis = [&](size_t i, int64_t axis) {
    const Value& v = args.positional[i];
    return v.is_int64() && (v.int64() == axis || v.int64() == axis - 2);
  };
  if (!is_axis(1, 0) || !is_axis(2, 1)) return;
  throw Error("transpose takes the order of the axes, so PyTorch's `transpose(x, 0, 1)` is `transpose(x, [1, 0])`")
      .as(codes::arguments);
}

/// PyTorch's `split(x, 2)` makes parts of 2 elements.
void read_split(Interpreter& in, Arguments& args) {
  const TensorSpec* x = operand_spec(args);
  if (!x || x->shape.empty() || args.positional.size() != 2 || !args.positional[1].is_int64()) return;
  const int64_t parts = args.positional[1].int64();
  if (parts < 2 || x->shape[0] == parts * parts || named(args, {"axis", "axes", "dim"})) return;
  notice_once(
      in, Notice::split,
      fmt::format(
          "split(x, {0}) makes {0} parts, PyTorch's parts of {0} elements: an axis, `split(x, {0}, axis = 0)`, or the "
          "extents of the parts say which",
          parts));
}

void flatten_pairs(const TensorSpec& x, const SequenceObject& pairs, Value& padding) {
  std::vector<Value> before, after;
  for (const Value& pair : pairs.items) {
    auto* two = pair.as<SequenceObject>();
    if (!two || two->items.size() != 2 || pairs.items.size() != x.shape.size())
      throw Error(fmt::format("pad: pairs are one for each of the {} axes, [before, after]", x.shape.size()))
          .as(codes::arguments);
    before.push_back(two->items[0]);
    after.push_back(two->items[1]);
  }
  before.insert(before.end(), after.begin(), after.end());
  padding = make_list(std::move(before));
}

/// PyTorch's padding consists of pairs, beginning with the last axis.
void read_pad(Interpreter& in, Arguments& args) {
  const TensorSpec* x = operand_spec(args);
  Value* padding = args.positional.size() > 1 ? &args.positional[1] : named(args, {"padding"});
  auto* list = padding ? padding->as<SequenceObject>() : nullptr;
  if (!x || !list || list->items.empty()) return;
  if (list->items[0].as<SequenceObject>()) return flatten_pairs(*x, *list, *padding);
  const size_t rank = x->shape.size(), given = list->items.size();
  if (!std::all_of(list->items.begin(), list->items.end(), [](const Value& v) { return v.is_int64(); })) return;
  std::vector<std::pair<int64_t, int64_t>> there(rank);
  bool same = given == 2 * rank;
  for (size_t k = 0; 2 * k + 1 < given && k < rank; ++k) {
    const size_t axis = rank - 1 - k;
    there[axis] = {list->items[2 * k].int64(), list->items[2 * k + 1].int64()};
    same = same && there[axis] == std::pair(list->items[axis].int64(), list->items[rank + axis].int64());
  }
  if (same || given % 2 != 0 || given > 2 * rank) return;
  std::vector<std::string> pairs;
  for (const auto& [before, after] : there) pairs.push_back(list_text({before, after}));
  const std::string way = fmt::format("PyTorch's is `pad(x, [{}])`, a pair for each axis", join_texts(pairs, ", "));
  if (given != 2 * rank)
    throw Error(fmt::format("pad takes {} numbers for {} axes, before each and then after each, got {}: {}", 2 * rank,
                            rank, given, way))
        .as(codes::arguments);
  notice_once(in, Notice::pad, "pad takes what comes before each axis, then after each: " + way);
}

/// A sum of 8-bit elements has the elements' dtype.
void read_sum(Interpreter& in, Arguments& args) {
  const TensorSpec* x = operand_spec(args);
  if (!x || (x->dtype != DType::uint8 && x->dtype != DType::int8)) return;
  const double most = x->dtype == DType::uint8 ? 255 : 127;
  double total = static_cast<double>(x->size()) * most;
  if (const Array* a = args.positional[0].as_array(); a && a->has_elements()) {
    total = 0;
    for (int64_t i = 0; i < a->size() && total <= most; ++i) total += std::abs(a->number(i));
  }
  if (total <= most) return;
  notice_once(in, Notice::narrow_sum,
              fmt::format("a sum of {0} is {0} and wraps around beyond {1}, PyTorch's is int64: `sum(cast(x, int32))`",
                          name(x->dtype), most));
}

/// PyTorch's nll_loss, and the library's, take log-probabilities.
void read_nll_loss(Interpreter& in, Arguments& args) {
  if (args.positional.size() > 4 || named(args, {"log_prob"})) return;
  notice_once(
      in, Notice::nll_loss,
      "nll_loss takes probabilities, PyTorch's and that of `losses` take logarithms: `log_prob = true`, or false for "
      "probabilities");
}

struct Row {
  std::string_view op;
  void (*read)(Interpreter&, Arguments&);
};
constexpr Row rows[] = {{"transpose", read_transpose},
                        {"split", read_split},
                        {"pad", read_pad},
                        {"sum", read_sum},
                        {"nll_loss", read_nll_loss}};

}  // namespace

void read_op_habits(Interpreter& in, const OpRow& row, Arguments& args) {
  for (const Row& r : rows)
    if (r.op == row.name) r.read(in, args);
}

}  // namespace pxl
