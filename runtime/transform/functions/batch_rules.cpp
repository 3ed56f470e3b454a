#include "runtime/transform/functions/batch_rules.hpp"

#include <algorithm>

#include "runtime/graph/ir.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {
namespace {

using Ints = std::vector<int64_t>;

enum class Rule : uint8_t {
  aligned,  ///< elementwise, with broadcasting
  whole,    ///< the same op for tensors of one more axis
  layout,   ///< the new axis goes into axes that operands have (`detail`)
  lists,    ///< lists with an entry for each axis get one that leaves the new axis whole; operand `detail` is the same
            ///< for all elements
  gather,   ///< indices with the new axis; if t has it too, each group has its own
  leading,  ///< a parameter, `detail`, counts the leading axes that operands share
  losses,   ///< a loss for each row, then the reduction of the element's rows; `detail` is the gradient that an op has
  along,    ///< `axis` and `shape` follow the new axis; indices get the shape of the data
  first,    ///< the first operand alone has the new axis
  before,   ///< operands have one more first axis, but for `detail`, which all elements share
  product,  ///< a matrix product
  norm,     ///< the gradient of a norm: that of rows, and sums over the rows of an element
  onehot,   ///< sums of an element, where on and where off
  squares,  ///< a sum of squares of each element
  scan,     ///< one element after the other, because of `detail`
};

/// `detail` of a layout: by operand, then `>`, by result. d: items along axis 0, channels along axis 1. w: channels
/// along axis 0. g: groups along axis 0, which `group_size` counts. c: columns along axis 1. r: rows along all axes but
/// the last. s: the same for all elements.
struct RuleOfRow {
  std::string_view op;
  Rule rule;
  std::string_view detail;
};
constexpr RuleOfRow rules[] = {
    {"prelu", Rule::aligned, ""},
    {"all_reduce_between", Rule::whole, ""},
    {"all_reduce_identical_grad_inputs_between", Rule::whole, ""},
    {"all_reduce_identical_inputs_between", Rule::whole, ""},
    {"average_pool", Rule::layout, "d>d"},
    {"average_pool_grad", Rule::layout, "d>d"},
    {"batch_norm_grad_sums", Rule::layout, "ddw>ww"},
    {"batch_norm_inference", Rule::layout, "dwwww>d"},
    {"batch_statistics", Rule::layout, "d>www"},
    {"conv", Rule::layout, "dww>d"},
    {"conv_data_grad", Rule::layout, "dw>d"},
    {"conv_integer", Rule::layout, "dwss>d"},
    {"conv_pow2scaled", Rule::layout, "dwsw>d"},
    {"conv_transpose_pow2scaled", Rule::layout, "dwsw>d"},
    {"conv_transpose", Rule::layout, "dww>d"},
    {"conv_weights_grad", Rule::layout, "dd>w"},
    {"depth_to_space", Rule::layout, "d>d"},
    {"grid_sample", Rule::layout, "dd>d"},
    {"group_normalization", Rule::layout, "dss>ddd"},
    {"groupedgather", Rule::layout, "gg>g"},
    {"layer_normalization", Rule::layout, "rss>rrr"},
    {"lrn", Rule::layout, "d>d"},
    {"max_pool", Rule::layout, "d>d"},
    {"max_pool_grad", Rule::layout, "dd>d"},
    {"max_pool_pick", Rule::layout, "dd>d"},
    {"quantised_matmul", Rule::layout, "rsrs>r"},
    {"space_to_depth", Rule::layout, "d>d"},
    {"dequantise", Rule::layout, "cc>c"},
    {"dynamic_slice", Rule::lists, "index"},
    {"dynamic_slice_grad", Rule::lists, "index"},
    {"dynamic_update", Rule::lists, "index"},
    {"flip", Rule::lists, ""},
    {"interpolate", Rule::lists, ""},
    {"interpolate_grad", Rule::lists, ""},
    {"onehot", Rule::lists, "values"},
    {"pad", Rule::lists, ""},
    {"slice_grad", Rule::lists, ""},
    {"subsample", Rule::lists, ""},
    {"subsample_", Rule::lists, ""},
    {"gather", Rule::gather, ""},
    {"tied_gather", Rule::gather, ""},
    {"gather_grad", Rule::leading, "batch"},
    {"gather_nd", Rule::leading, "batch_dims"},
    {"scatter_nd", Rule::leading, "batch_dims"},
    {"nll_grad", Rule::losses, "g"},
    {"nll_loss", Rule::losses, ""},
    {"nll_loss_with_softmax_grad_direct", Rule::losses, ""},
    {"scatter_reduce", Rule::along, ""},
    {"scatter_reduce_grad", Rule::along, ""},
    {"dequantize_linear", Rule::first, ""},
    {"quantize_linear", Rule::first, ""},
    {"dot_product_attention", Rule::before, "count"},
    {"matmul_integer", Rule::product, ""},
    {"matmul_pow2scaled", Rule::product, ""},
    {"group_normalization_grad", Rule::norm, "d"},
    {"layer_normalization_grad", Rule::norm, "r"},
    {"onehot_grad", Rule::onehot, ""},
    {"lamb_square", Rule::squares, ""},
    {"fp8_amax_scale", Rule::scan, "one scale covers all elements of an operand"},
    {"histogram", Rule::scan, "the counts cover all elements of an operand"},
    {"modify_random_seed", Rule::scan, "a seed is one operand"},
    {"roi_align", Rule::scan, "regions name images of one batch"},
    {"roi_align_grad", Rule::scan, "regions name images of one batch"},
    {"sum_duplicates", Rule::scan, "rows are compared with all others"},
};

const RuleOfRow* rule_of(const OpRow& row) {
  const auto at = std::ranges::find(rules, row.name, &RuleOfRow::op);
  return at == std::end(rules) ? nullptr : at;
}

class BatchedOp {
 public:
  BatchedOp(Graph& graph, const Op& op, const std::vector<Batched>& operands, int64_t size)
      : graph_(graph), at_(graph), op_(op), operands_(operands), n_(size) {}

  std::vector<Tensor*> emit() {
    if (const RuleOfRow* rule = rule_of(*op_.row)) return by_rule(*rule);
    const size_t rank = op_.outputs[0]->spec.shape.size();
    switch (op_.row->batch) {
      case Batch::pattern:
        if (op_.row->view) return {reshaped(operands_[0].tensor, batched(op_.outputs[0]->spec.shape))};
        if (op_.row->pattern == Pattern::elementwise && op_.outputs.size() == 1) return aligned(rank, op_.attrs);
        return {};
      case Batch::axis: return by_axis();
      case Batch::shape: {
        Attributes attrs = op_.attrs;
        attrs[param_index(*op_.row, "shape")] = batched(op_.outputs[0]->spec.shape);
        return aligned(rank, attrs);
      }
      case Batch::permutation: return permute();
      case Batch::window: return by_lists("");
      case Batch::product: return product();
      case Batch::seeds: return {};
    }
    return {};
  }

 private:
  std::vector<Tensor*> by_rule(const RuleOfRow& rule) {
    switch (rule.rule) {
      case Rule::aligned: return aligned(op_.outputs[0]->spec.shape.size(), op_.attrs);
      case Rule::whole: return made(all_with_batch(), op_.attrs);
      case Rule::layout: return by_layout(rule.detail);
      case Rule::lists: return by_lists(rule.detail);
      case Rule::gather: return gather();
      case Rule::leading: return leading(rule.detail);
      case Rule::losses: return losses(!rule.detail.empty());
      case Rule::along: return along();
      case Rule::first: return with_first();
      case Rule::before: return all_before(slot_of(*op_.row, rule.detail));
      case Rule::product: return product();
      case Rule::norm: return norm_gradient(rule.detail);
      case Rule::onehot: return onehot_gradient();
      case Rule::squares: return squares();
      case Rule::scan: return {};
    }
    return {};
  }

  Shape batched(const Shape& shape) const {
    Shape out{n_};
    out.insert(out.end(), shape.begin(), shape.end());
    return out;
  }
  Tensor* reshaped(Tensor* t, const Shape& shape) {
    return t->spec.shape == shape ? t : at_.one("reshape", {at_.of(t)}, {{"shape", shape}}).tensor();
  }
  /// An element of rank `rank` along the batch: axes of extent 1 between the batch and its own.
  Tensor* of_rank(const Batched& v, size_t rank) {
    if (!v.mapped) return v.tensor;
    Shape shape(v.tensor->spec.shape.begin() + 1, v.tensor->spec.shape.end());
    if (shape.size() < rank) shape.insert(shape.begin(), rank - shape.size(), 1);
    return reshaped(v.tensor, batched(shape));
  }
  std::vector<Tensor*> all_with_batch() {
    std::vector<Tensor*> inputs;
    for (const Batched& v : operands_) inputs.push_back(v.tensor ? with_batch(at_, v, n_) : nullptr);
    return inputs;
  }
  std::vector<Tensor*> made(std::vector<Tensor*> inputs, Attributes attrs) {
    return graph_.add_op(*op_.row, std::move(inputs), std::move(attrs))->outputs;
  }
  const TensorSpec& element(size_t slot) const { return op_.inputs[slot]->spec; }
  bool is_mapped(size_t slot) const { return slot < operands_.size() && operands_[slot].mapped; }
  Attr* attr(Attributes& attrs, std::string_view name) const {
    const auto at = std::ranges::find(op_.row->params, name, &Param::name);
    return at == op_.row->params.end() ? nullptr : &attrs[static_cast<size_t>(at - op_.row->params.begin())];
  }
  /// An axis counted from the end stays as it is.
  static int64_t behind(int64_t axis) { return axis < 0 ? axis : axis + 1; }

  /// Operands that are the same for all broadcast, or get the new axis if the op does not broadcast.
  std::vector<Tensor*> aligned(size_t rank, const Attributes& attrs) {
    for (const bool all : {false, true}) {
      std::vector<Tensor*> inputs;
      for (const Batched& v : operands_) {
        const bool widened = all && v.tensor && !v.mapped && v.tensor->spec.shape == op_.outputs[0]->spec.shape;
        inputs.push_back(!v.tensor ? nullptr : widened ? with_batch(at_, v, n_) : of_rank(v, rank));
      }
      try {
        return made(std::move(inputs), attrs);
      } catch (const Error&) {
        if (all) return {};  // such as a scale, which is one number
      }
    }
    return {};
  }

  std::vector<Tensor*> by_axis() {
    Attributes attrs = op_.attrs;
    Attr* axis = attr(attrs, "axis");
    if (!axis) return made(all_with_batch(), std::move(attrs));
    if (element(0).shape.empty()) return {};  // an element of rank 0 has no axis
    if (auto* one = std::get_if<int64_t>(axis)) {
      *one = behind(*one);
    } else if (auto* list = std::get_if<Ints>(axis)) {
      for (int64_t& a : *list) a = behind(a);
    } else {
      Ints all;
      for (size_t i = 0; i < element(0).shape.size(); ++i) all.push_back(static_cast<int64_t>(i) + 1);
      *axis = all;
    }
    return made(all_with_batch(), std::move(attrs));
  }

  std::vector<Tensor*> permute() {
    Attributes attrs = op_.attrs;
    Attr& order = *attr(attrs, "permutation");
    const auto rank = static_cast<int64_t>(element(0).shape.size());
    Ints axes{0};
    if (auto* list = std::get_if<Ints>(&order))
      for (int64_t a : *list) axes.push_back((a < 0 ? a + rank : a) + 1);
    else
      for (int64_t a = rank; a > 0; --a) axes.push_back(a);
    order = axes;
    return made(all_with_batch(), std::move(attrs));
  }

  /// Operand `shared` is the same for all elements.
  std::vector<Tensor*> by_lists(std::string_view shared) {
    Attributes attrs = op_.attrs;
    const auto prepend = [&](std::string_view name, int64_t value) {
      Attr* found = attr(attrs, name);
      auto* list = found ? std::get_if<Ints>(found) : nullptr;
      if (list && !list->empty()) list->insert(list->begin(), value);
    };
    Attr* axes = attr(attrs, "axes");
    prepend("starts", 0);
    prepend("steps", 1);
    prepend("strides", 1);
    prepend("shape", n_);
    if (!axes) prepend("sizes", n_);
    if (auto* list = axes ? std::get_if<Ints>(axes) : nullptr) {
      for (int64_t& a : *list) a = behind(a);
    } else if (axes) {
      Ints all;  // none: all axes of the element
      for (size_t i = 0; i < element(0).shape.size(); ++i) all.push_back(static_cast<int64_t>(i) + 1);
      *axes = all;
    }
    if (Attr* axis = attr(attrs, "axis")) {
      auto* one = std::get_if<int64_t>(axis);
      if (!one) return {};
      *one = behind(*one);
    }
    if (auto* around = attr(attrs, "padding") ? std::get_if<Ints>(attr(attrs, "padding")) : nullptr) {
      const size_t rank = element(0).shape.size();
      if (around->size() != 2 * rank) return {};
      around->insert(around->begin() + static_cast<std::ptrdiff_t>(rank), 0);
      around->insert(around->begin(), 0);
    }
    if (auto* scales =
            attr(attrs, "scale_factor") ? std::get_if<std::vector<double>>(attr(attrs, "scale_factor")) : nullptr)
      scales->insert(scales->begin(), 1.0);
    std::vector<Tensor*> inputs;
    for (const Param& p : op_.row->params) {
      if (!is_operand(p.kind)) continue;
      const Batched& v = operands_[inputs.size()];
      const bool same = v.tensor && p.name == shared;
      if (same && v.mapped) return {};
      inputs.push_back(same || !v.tensor ? v.tensor : with_batch(at_, v, n_));
    }
    return made(std::move(inputs), std::move(attrs));
  }

  /// Both operands become matrices, and the batch axis comes before their batch axes.
  std::vector<Tensor*> product() {
    for (size_t slot = 2; slot < operands_.size(); ++slot)
      if (operands_[slot].mapped) return {};
    const Shape a = element(0).shape, b = element(1).shape;
    const Shape a_matrix = a.size() == 1 ? Shape{1, a[0]} : a, b_matrix = b.size() == 1 ? Shape{b[0], 1} : b;
    const size_t rank = std::max(a_matrix.size(), b_matrix.size());
    const auto matrix = [&](const Batched& v, const Shape& shape) {
      if (!v.mapped) return reshaped(v.tensor, shape);
      Shape wide = shape;
      wide.insert(wide.begin(), rank - shape.size(), 1);
      return reshaped(v.tensor, batched(wide));
    };
    std::vector<Tensor*> inputs{matrix(operands_[0], a_matrix), matrix(operands_[1], b_matrix)};
    for (size_t slot = 2; slot < operands_.size(); ++slot) inputs.push_back(operands_[slot].tensor);
    return {reshaped(made(std::move(inputs), op_.attrs)[0], batched(op_.outputs[0]->spec.shape))};
  }

  // ---- layouts

  /// The new axis goes into the items if the channels are the same for all elements, else into the channels, in groups.
  std::vector<Tensor*> by_layout(std::string_view layout) {
    const std::string_view given = layout.substr(0, layout.find('>')), results = layout.substr(given.size() + 1);
    bool channels = results.find('w') != results.npos || results.find('c') != results.npos;
    for (size_t slot = 0; slot < operands_.size(); ++slot) {
      if (!is_mapped(slot)) continue;
      if (slot >= given.size() || given[slot] == 's') return {};
      channels = channels || given[slot] == 'w';
    }
    for (size_t slot = 0; channels && slot < operands_.size(); ++slot)
      if (slot < given.size() && given[slot] == 's' && operands_[slot].tensor && element(slot).size() != 1) return {};
    Attributes attrs = op_.attrs;
    if (given.find('g') != given.npos) multiply(attr(attrs, "group_size"));
    if (channels) multiply(attr(attrs, "groups"));
    if (Attr* shape = attr(attrs, "shape"))
      if (auto* list = std::get_if<Ints>(shape); list && !channels && list->size() == op_.outputs[0]->spec.shape.size())
        list->front() *= n_;
    std::vector<Tensor*> inputs;
    for (size_t slot = 0; slot < operands_.size(); ++slot) {
      const Batched& v = operands_[slot];
      const bool same = !v.tensor || slot >= given.size() || given[slot] == 's' || (!channels && given[slot] == 'w');
      inputs.push_back(same ? v.tensor : merged(with_batch(at_, v, n_), given[slot], channels));
    }
    std::vector<Tensor*> out = made(std::move(inputs), std::move(attrs));
    for (size_t j = 0; j < out.size(); ++j)
      out[j] = divided(out[j], op_.outputs[j]->spec.shape, results[std::min(j, results.size() - 1)], channels);
    return out;
  }
  void multiply(Attr* count) const {
    if (count) *count = std::get<int64_t>(*count) * n_;
  }
  /// Reshapes [n, ...] to one element's operand with more items, rows or channels.
  Tensor* merged(Tensor* t, char letter, bool channels) {
    Shape shape(t->spec.shape.begin() + 1, t->spec.shape.end());
    if (letter == 'r') return t;
    if (letter == 'c' || (letter == 'd' && channels)) {
      t = swapped(t);
      shape[1] *= n_;
    } else {
      shape[0] *= n_;
    }
    return reshaped(t, shape);
  }
  /// The result for all elements, as [n, ...].
  Tensor* divided(Tensor* t, const Shape& shape, char letter, bool channels) {
    if (letter != 'c' && (letter != 'd' || !channels)) return reshaped(t, batched(shape));
    Shape wide = batched(shape);
    std::swap(wide[0], wide[1]);
    return swapped(reshaped(t, wide));
  }
  Tensor* swapped(Tensor* t) {
    Ints order;
    for (size_t i = 0; i < t->spec.shape.size(); ++i) order.push_back(static_cast<int64_t>(i));
    std::swap(order[0], order[1]);
    return at_.one("transpose", {at_.of(t)}, {{"permutation", order}}).tensor();
  }

  // ---- indices

  std::vector<Tensor*> gather() {
    Attributes attrs = op_.attrs;
    const auto rank = static_cast<int64_t>(element(0).shape.size());
    const int64_t given = std::get<int64_t>(*attr(attrs, "axis")), axis = given < 0 ? given + rank : given;
    if (is_mapped(0) && is_mapped(1)) {
      const Attr zero = *attr(attrs, "zero_OOR");
      return {at_.one("groupedgather", {at_.of(operands_[0].tensor), at_.of(operands_[1].tensor)},
                      {{"axis", axis}, {"zero_OOR", zero}, {"group_size", n_}})
                  .tensor()};
    }
    *attr(attrs, "axis") = is_mapped(0) ? axis + 1 : axis;
    Tensor* moved = made({operands_[0].tensor, operands_[1].tensor}, std::move(attrs))[0];
    if (is_mapped(0) || axis == 0) return {moved};
    Ints order{axis};  // the axis of the elements is where the indices are
    for (int64_t a = 0; a < static_cast<int64_t>(moved->spec.shape.size()); ++a)
      if (a != axis) order.push_back(a);
    return {at_.one("transpose", {at_.of(moved)}, {{"permutation", order}}).tensor()};
  }

  std::vector<Tensor*> leading(std::string_view parameter) {
    Attributes attrs = op_.attrs;
    Attr& count = *attr(attrs, parameter);
    if (parameter == "batch" && std::get<int64_t>(count) > 0) return {};  // one leading axis at most
    count = std::get<int64_t>(count) + 1;
    if (Attr* shape = attr(attrs, "shape")) *shape = batched(op_.outputs[0]->spec.shape);
    if (Attr* axis = attr(attrs, "axis")) *axis = behind(std::get<int64_t>(*axis));
    return made(all_with_batch(), std::move(attrs));
  }

  std::vector<Tensor*> along() {
    Attributes attrs = op_.attrs;
    Attr& axis = *attr(attrs, "axis");
    const bool is_gradient = attr(attrs, "shape") != nullptr;
    const Shape data = is_gradient ? op_.outputs[0]->spec.shape : element(0).shape;
    const auto rank = static_cast<int64_t>(data.size());
    const int64_t given = std::get<int64_t>(axis), place = given < 0 ? given + rank : given;
    axis = place + 1;
    if (Attr* shape = attr(attrs, "shape")) *shape = batched(data);
    std::vector<Tensor*> inputs = all_with_batch();
    if (element(1).shape != data) {  // an index for each slice along the axis
      Shape wide(data.size() + 1, 1);
      wide[0] = n_;
      wide[static_cast<size_t>(place) + 1] = element(1).shape[0];
      inputs[1] = at_.one("broadcast_to", {at_.of(reshaped(inputs[1], wide))}, {{"shape", batched(data)}}).tensor();
    }
    return made(std::move(inputs), std::move(attrs));
  }

  std::vector<Tensor*> with_first() {
    std::vector<Tensor*> inputs{operands_[0].tensor};
    for (size_t slot = 1; slot < operands_.size(); ++slot) {
      if (is_mapped(slot)) return {};
      inputs.push_back(operands_[slot].tensor);
    }
    Attributes attrs = op_.attrs;
    if (element(1).size() != 1) *attr(attrs, "axis") = behind(std::get<int64_t>(*attr(attrs, "axis")));
    return made(std::move(inputs), std::move(attrs));
  }

  std::vector<Tensor*> all_before(size_t shared) {
    if (is_mapped(shared)) return {};
    std::vector<Tensor*> inputs;
    for (size_t slot = 0; slot < operands_.size(); ++slot)
      inputs.push_back(slot == shared || !operands_[slot].tensor ? operands_[slot].tensor
                                                                 : with_batch(at_, operands_[slot], n_));
    return made(std::move(inputs), op_.attrs);
  }

  // ---- losses and sums

  /// A reduction over rows becomes a sum over the axes of the element's rows. Ignored rows change the mean's count.
  std::vector<Tensor*> losses(bool is_gradient) {
    Attributes attrs = op_.attrs;
    const bool has_gradient = op_.outputs.size() == 2;
    const auto reduction = std::get<std::string>(*attr(attrs, "reduction"));
    const Shape rows = element(is_gradient ? 2 : 1).shape;
    if (reduction == "mean" && !std::holds_alternative<std::monostate>(*attr(attrs, "ignore_index"))) return {};
    if (has_gradient && is_mapped(2)) return {};  // its scale is one number
    const bool is_mean = reduction == "mean";
    const double share = is_mean ? 1.0 / static_cast<double>(element_count(rows)) : 1.0;
    // A gradient beside the loss is divided by the first extent alone.
    const double of_gradient = is_mean && has_gradient && !rows.empty() ? 1.0 / static_cast<double>(rows[0]) : share;
    *attr(attrs, "reduction") = std::string("none");
    std::vector<Tensor*> inputs = all_with_batch();
    if (has_gradient) inputs[2] = operands_[2].tensor;
    if (reduction == "none") return made(std::move(inputs), std::move(attrs));
    if (Tensor*& scale = inputs[is_gradient ? 0 : 2 * has_gradient]; is_gradient || has_gradient) {
      const Expr g = at_.of(scale) * at_.scalar(of_gradient, scale->spec.dtype);
      Shape one(rows.size() + 1, 1);
      one[0] = n_;
      scale =
          has_gradient ? g.tensor() : at_.one("broadcast_to", {reshape(g, one)}, {{"shape", batched(rows)}}).tensor();
    }
    std::vector<Tensor*> out = made(std::move(inputs), std::move(attrs));
    if (!is_gradient) out[0] = (over_rows(out[0], rows) * at_.scalar(share, out[0]->spec.dtype)).tensor();
    return out;
  }
  /// The sum over the axes of an element's rows.
  Expr over_rows(Tensor* t, const Shape& rows) {
    Ints axes;
    for (size_t a = 0; a < rows.size(); ++a) axes.push_back(static_cast<int64_t>(a) + 1);
    return rows.empty() ? at_.of(t) : at_.one("sum", {at_.of(t)}, {{"axis", axes}, {"keepdims", false}});
  }

  /// The gradients of weight and bias are sums of g, and of g times normalised data, over all but the channels.
  std::vector<Tensor*> norm_gradient(std::string_view letter) {
    if (is_mapped(2)) return {};
    const std::string layout = std::string(letter) + std::string(letter) + "s" + std::string(letter) +
                               std::string(letter) + ">" + std::string(letter) + "ss";
    const bool grouped = letter == "d";
    const Shape shape = element(1).shape;
    std::vector<Tensor*> all = all_with_batch();
    // The operands by items and groups, or by rows, and what they have.
    Shape parts{n_, element(3).size(), grouped ? 0 : shape.back()};
    if (grouped) parts[2] = element(1).size() / std::max<int64_t>(parts[1], 1);
    const auto statistic = [&](size_t slot) { return reshape(at_.of(all[slot]), {n_, parts[1], 1}); };
    const DType wide = element(3).dtype;
    const auto data = [&](size_t slot) { return cast(reshape(at_.of(all[slot]), parts), wide); };
    const Expr from_given = data(1) - statistic(3);  // the mean given is rounded
    const Expr rest = at_.one("sum", {from_given}, {{"axis", Ints{2}}, {"keepdims", true}});
    const double share = 1.0 / static_cast<double>(std::max<int64_t>(parts[2], 1));
    const Expr normal = (from_given - rest * share) * statistic(4);
    const auto sum_of = [&](const Expr& x) {
      Expr e = reshape(x, batched(shape));
      Ints axes;
      for (size_t a = 1; a <= shape.size(); ++a)
        if (a != (grouped ? 2 : shape.size())) axes.push_back(static_cast<int64_t>(a));
      if (!axes.empty()) e = at_.one("sum", {e}, {{"axis", axes}, {"keepdims", false}});
      return cast(e, element(2).dtype).tensor();
    };
    std::vector<Tensor*> out = by_rows(layout);
    return {out[0], sum_of(data(0) * normal), sum_of(data(0))};
  }
  /// The op with the new axis among items or rows; results with the letter s are useless.
  std::vector<Tensor*> by_rows(std::string_view layout) {
    std::vector<Tensor*> inputs;
    for (size_t slot = 0; slot < operands_.size(); ++slot)
      inputs.push_back(layout[slot] == 's' ? operands_[slot].tensor
                                           : flat(with_batch(at_, operands_[slot], n_), slot, layout[slot]));
    std::vector<Tensor*> out = made(std::move(inputs), op_.attrs);
    out[0] = reshaped(out[0], batched(op_.outputs[0]->spec.shape));
    return out;
  }
  Tensor* flat(Tensor* t, size_t slot, char letter) {
    if (letter == 'r' && slot < 3) return t;
    Shape shape = element(slot).shape;
    shape[0] *= n_;
    return reshaped(t, shape);
  }

  std::vector<Tensor*> onehot_gradient() {
    const std::vector<Tensor*> all = all_with_batch();
    const Expr g = at_.of(all[0]);
    const int64_t classes = std::get<int64_t>(op_.attrs[param_index(*op_.row, "num_classes")]);
    const int64_t axis = behind(std::get<int64_t>(op_.attrs[param_index(*op_.row, "axis")]));
    const auto where = [&](double off, double on) {
      const double numbers[] = {off, on};
      const Expr values = at_.constant(Array::from<double>({2}, numbers).cast(g.dtype()), "values");
      const Expr mask = at_.one("onehot", {at_.of(all[1]), Attr(classes), values}, {{"axis", axis}});
      return reshape(over_rows((g * mask).tensor(), element(0).shape), {n_, 1});
    };
    return {at_.one("concat", {std::vector<Expr>{where(1.0, 0.0), where(0.0, 1.0)}}, {{"axis", int64_t{1}}}).tensor()};
  }

  std::vector<Tensor*> squares() {
    const Tensor* t = operands_[0].tensor;
    Expr x = at_.of(reshaped(operands_[0].tensor, {n_, t->spec.size() / std::max<int64_t>(n_, 1)}));
    if (x.dtype() != DType::float32) x = cast(x, DType::float32);
    return {at_.one("sumsquare", {x}, {{"axis", Ints{1}}, {"keepdims", false}}).tensor()};
  }

  Graph& graph_;
  GraphOpBuilder at_;
  const Op& op_;
  const std::vector<Batched>& operands_;
  int64_t n_;
};

}  // namespace

Tensor* with_batch(GraphOpBuilder& at, const Batched& v, int64_t size) {
  if (v.mapped) return v.tensor;
  Shape shape{size};
  shape.insert(shape.end(), v.tensor->spec.shape.begin(), v.tensor->spec.shape.end());
  return at.one("broadcast_to", {at.of(v.tensor)}, {{"shape", shape}}).tensor();
}

std::vector<Tensor*> batched_op(Graph& graph, const Op& op, const std::vector<Batched>& operands, int64_t size) {
  std::vector<Tensor*> made = BatchedOp(graph, op, operands, size).emit();
  for (size_t j = 0; j < made.size(); ++j) {
    Shape expected = op.outputs[j]->spec.shape;
    expected.insert(expected.begin(), size);
    if (made[j]->spec.shape != expected) return {};  // the op aligned operands in another way
  }
  return made;
}

std::string_view reason_to_scan(const OpRow& row) {
  if (row.batch == Batch::seeds) return "each element draws from a seed of its own";
  const RuleOfRow* rule = rule_of(row);
  if (rule) return rule->rule == Rule::scan ? rule->detail : std::string_view();
  const bool has_rule = row.batch != Batch::pattern || row.view || row.pattern == Pattern::elementwise;
  return has_rule ? std::string_view() : "it has no rule";
}

}  // namespace pxl
