#include "interpreter/onnx/simplify.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "runtime/base/never_destroyed.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl::onnx {

namespace {

using Ints = std::vector<int64_t>;

bool is_standard(const Node& n, std::string_view op) { return n.op == op && n.domain.empty(); }

Attribute of_integers(std::string name, Ints values) {
  Attribute a;
  a.name = std::move(name);
  a.kind = AttributeKind::integers;
  a.integers = std::move(values);
  return a;
}
Attribute of_integer(std::string name, int64_t value) {
  Attribute a;
  a.name = std::move(name);
  a.kind = AttributeKind::integer;
  a.i = value;
  return a;
}
void set(Node& n, Attribute a) {
  std::erase_if(n.attributes, [&](const Attribute& old) { return old.name == a.name; });
  n.attributes.push_back(std::move(a));
}
int64_t integer(const Node& n, std::string_view name, int64_t otherwise) {
  const Attribute* a = n.attribute(name);
  return a ? a->i : otherwise;
}
bool pads_explicitly(const Node& n) {
  const Attribute* a = n.attribute("auto_pad");
  return !a || a->s == "NOTSET";
}
const std::string& input(const Node& n, size_t slot) {
  static const auto& absent = never_destroyed(std::string());
  return slot < n.inputs.size() ? n.inputs[slot] : absent;
}
Node node(std::string op, std::vector<std::string> inputs, std::string output, std::vector<Attribute> attributes = {}) {
  Node n;
  n.op = std::move(op);
  n.inputs = std::move(inputs);
  n.outputs = {std::move(output)};
  n.attributes = std::move(attributes);
  return n;
}

class Simplifier {
 public:
  explicit Simplifier(Model& model) : graph_(model.graph), folder_(model.folder) { index(); }

  void run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) fold_padding(i);
    drop_unread("Pad");
    std::vector<Node> nodes = std::exchange(graph_.nodes, {});
    for (Node& n : nodes)
      if (!multiply_wholes(n, nodes)) graph_.nodes.push_back(n);
    drop_unread("DequantizeLinear");
  }

 private:
  void index() {
    values_.clear(), reads_.clear(), made_.clear(), initialisers_.clear();
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const std::string& out : graph_.nodes[i].outputs) made_[out] = i;
    for (size_t i = 0; i < graph_.initialisers.size(); ++i) initialisers_[graph_.initialisers[i].name] = i;
    count(graph_);
  }
  void count(const Graph& g) {
    for (const ValueInfo& o : g.outputs) ++reads_[o.name];
    for (const ValueInfo& i : g.inputs) values_.insert(i.name);
    for (const TensorData& t : g.initialisers) values_.insert(t.name);
    for (const Node& n : g.nodes) {
      for (const std::string& in : n.inputs) ++reads_[in];
      values_.insert(n.outputs.begin(), n.outputs.end());
      for (const Attribute& a : n.attributes)
        if (a.graph) count(*a.graph);
    }
  }
  /// Removes nodes of this op whose results nothing reads.
  void drop_unread(std::string_view op) {
    index();
    std::erase_if(graph_.nodes,
                  [&](const Node& n) { return is_standard(n, op) && !n.outputs.empty() && reads_[n.outputs[0]] == 0; });
    index();
  }
  std::string fresh(const std::string& from) {
    std::string name = from;
    while (!values_.insert(name).second) name += "_";
    return name;
  }

  const TensorData* initialiser(const std::string& name) const {
    const auto found = initialisers_.find(name);
    return found == initialisers_.end() ? nullptr : &graph_.initialisers[found->second];
  }
  /// The elements of an initialiser; empty if the value is none.
  std::optional<Array> known(const std::string& name) const {
    const TensorData* t = initialiser(name);
    return t && dtype_of(t->element()) ? std::optional(to_array(*t, folder_)) : std::nullopt;
  }
  std::string add(const std::string& name, Array array) {
    TensorData t;
    t.name = fresh(name);
    t.dims = array.shape();
    if (array.dtype() == DType::float32) {
      t.type = static_cast<int32_t>(ElementType::float32);
      for (int64_t i = 0; i < array.size(); ++i) t.floats.push_back(static_cast<float>(array.number(i)));
    } else {
      t.type = static_cast<int32_t>(ElementType::int64);
      for (int64_t i = 0; i < array.size(); ++i) t.int64s.push_back(array.integer(i));
    }
    initialisers_[t.name] = graph_.initialisers.size();
    graph_.initialisers.push_back(std::move(t));
    return graph_.initialisers.back().name;
  }

  // ---- padding

  /// The zeros around the spatial axes that a node adds; empty if it does anything else.
  Ints zeros_added(const Node& n) const {
    const Attribute* mode = n.attribute("mode");
    if (!is_standard(n, "Pad") || (mode && mode->s != "constant") || n.inputs.empty() || !input(n, 3).empty())
      return {};
    Ints pads;
    if (const Attribute* a = n.attribute("pads")) {
      pads = a->integers;
    } else if (const std::optional<Array> given = known(input(n, 1)); given && is_integer(given->dtype())) {
      for (int64_t i = 0; i < given->size(); ++i) pads.push_back(given->integer(i));
    }
    if (const Attribute* value = n.attribute("value"); value && value->f != 0) return {};
    if (!input(n, 2).empty()) {
      const std::optional<Array> value = known(input(n, 2));
      if (!value || value->size() != 1 || value->number(0) != 0) return {};
    }
    const size_t rank = pads.size() / 2;
    if (rank < 3 || pads.size() % 2 != 0 || std::ranges::min(pads) < 0) return {};
    if ((pads[0] | pads[1] | pads[rank] | pads[rank + 1]) != 0) return {};
    pads.erase(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.begin() + static_cast<std::ptrdiff_t>(rank) + 2);
    pads.erase(pads.begin(), pads.begin() + 2);
    return pads;
  }

  void fold_padding(size_t at) {
    Node& reader = graph_.nodes[at];
    const bool conv = is_standard(reader, "Conv"), pool = is_standard(reader, "AveragePool");
    const auto made = made_.find(input(reader, 0));
    if (!(conv || pool) || !pads_explicitly(reader) || made == made_.end() || reads_[made->first] != 1) return;
    const Node& pad = graph_.nodes[made->second];
    Ints pads = zeros_added(pad);
    if (pads.empty()) return;
    Ints own(pads.size(), 0);
    if (const Attribute* a = reader.attribute("pads")) own = a->integers;
    if (own.size() != pads.size()) return;
    for (size_t i = 0; i < pads.size(); ++i)
      if (__builtin_add_overflow(pads[i], own[i], &pads[i])) return;
    if (pool) {
      const Attribute* kernel = reader.attribute("kernel_shape");
      const bool counts = integer(reader, "count_include_pad", 0) != 0 || std::ranges::max(own) == 0;
      if (!counts || !kernel || 2 * kernel->integers.size() != pads.size() || integer(reader, "ceil_mode", 0) != 0)
        return;
      for (size_t i = 0; i < pads.size(); ++i)
        if (pads[i] >= kernel->integers[i % kernel->integers.size()]) return;
      set(reader, of_integer("count_include_pad", 1));
    }
    reader.inputs[0] = pad.inputs[0];
    set(reader, of_integers("pads", pads));
  }

  // ---- whole numbers

  /// An operand that a DequantizeLinear node makes of 8 bits.
  struct Dequantised {
    std::string wholes, zero;
    Array scale;
    int64_t axis = 1;
  };

  /// Whether a value is known to have elements of 8 bits: by its zero point, itself, or the node that makes it.
  bool has_bytes(const std::string& value, const std::string& zero, const std::vector<Node>& nodes) const {
    for (const std::string& name : {zero, value})
      if (const TensorData* t = initialiser(name))
        return t->element() == ElementType::int8 || t->element() == ElementType::uint8;
    const auto made = made_.find(value);
    return zero.empty() && made != made_.end() && is_standard(nodes[made->second], "QuantizeLinear") &&
           input(nodes[made->second], 2).empty();
  }

  std::optional<Dequantised> dequantised(const std::string& value, const std::vector<Node>& nodes) const {
    const auto made = made_.find(value);
    if (made == made_.end()) return {};
    const Node& n = nodes[made->second];
    if (!is_standard(n, "DequantizeLinear") || integer(n, "block_size", 0) != 0) return {};
    const std::optional<Array> scale = known(input(n, 1));
    if (!scale || scale->dtype() != DType::float32 || !has_bytes(input(n, 0), input(n, 2), nodes)) return {};
    return Dequantised{input(n, 0), input(n, 2), *scale, integer(n, "axis", 1)};
  }

  /// Writes nodes for a product or convolution of dequantised operands. False for other nodes.
  bool multiply_wholes(const Node& n, const std::vector<Node>& nodes) {
    const bool conv = is_standard(n, "Conv"), gemm = is_standard(n, "Gemm");
    if (!(conv || gemm || is_standard(n, "MatMul")) || n.inputs.size() < 2 || n.outputs.empty()) return false;
    const Attribute *alpha = n.attribute("alpha"), *beta = n.attribute("beta");
    if ((alpha && alpha->f != 1) || (beta && beta->f != 1) || integer(n, "transA", 0) != 0) return false;
    const bool transposed = gemm && integer(n, "transB", 0) != 0;
    const std::optional<Dequantised> a = dequantised(n.inputs[0], nodes), b = dequantised(n.inputs[1], nodes);
    if (!a || !b || a->scale.size() != 1) return false;
    const TensorData* weights = initialiser(b->wholes);
    if (!weights || weights->dims.size() < 2 || (!conv && weights->dims.size() != 2)) return false;
    const int64_t rank = std::ssize(weights->dims), axis = b->axis < 0 ? b->axis + rank : b->axis;
    if (b->scale.size() != 1 && axis != (conv || transposed ? 0 : 1)) return false;
    // One scale for each channel of the result.
    Array scale = b->scale;
    for (int64_t i = 0; i < scale.size(); ++i)
      scale.mutable_data<float>()[i] = b->scale.data<float>()[i] * a->scale.data<float>()[0];
    Ints per_channel(conv ? static_cast<size_t>(rank - 1) : 1, 1);
    per_channel[0] = scale.size();
    scale = scale.reshaped(scale.size() == 1 ? Ints{} : per_channel);
    const std::string& out = n.outputs[0];
    const auto write = [&](Node made) {
      graph_.nodes.push_back(std::move(made));
      return graph_.nodes.back().outputs[0];
    };
    std::string right = b->wholes;
    if (transposed)
      right = write(node("Transpose", {right}, fresh(right + "_transposed"), {of_integers("perm", {1, 0})}));
    std::vector<Attribute> attributes;
    if (conv) attributes = n.attributes;
    std::string sum = write(node(conv ? "ConvInteger" : "MatMulInteger", {a->wholes, right, a->zero, b->zero},
                                 fresh(out + "_wholes"), std::move(attributes)));
    sum =
        write(node("Cast", {sum}, fresh(out + "_sum"), {of_integer("to", static_cast<int64_t>(ElementType::float32))}));
    std::string bias = input(n, 2);
    sum = write(node("Mul", {sum, add(out + "_scale", std::move(scale))}, bias.empty() ? out : fresh(out + "_scaled")));
    if (bias.empty()) return true;
    if (conv) {
      per_channel[0] = -1;
      Array shape(DType::int64, {std::ssize(per_channel)});
      std::ranges::copy(per_channel, shape.mutable_data<int64_t>());
      bias = write(node("Reshape", {bias, add(out + "_channels", std::move(shape))}, fresh(bias + "_of_channels")));
    }
    write(node("Add", {sum, bias}, out));
    return true;
  }

  Graph& graph_;
  std::string folder_;
  std::set<std::string> values_;        ///< all names of values, also in graphs of nodes
  std::map<std::string, int> reads_;    ///< by value
  std::map<std::string, size_t> made_;  ///< the node that makes a value
  std::map<std::string, size_t> initialisers_;
};

}  // namespace

void simplify(Model& model) { Simplifier(model).run(); }

}  // namespace pxl::onnx
