// Ops as nodes.
#include "interpreter/onnx/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <set>

#include "runtime/base/codes.hpp"
#include "runtime/graph/schedule.hpp"

namespace pxl::onnx {

namespace {

using Texts = std::vector<std::string>;
using Ints = std::vector<int64_t>;

Attribute attribute(const std::string& name, int64_t v) {
  Attribute a;
  a.name = name;
  a.kind = AttributeKind::integer;
  a.i = v;
  return a;
}
Attribute attribute(const std::string& name, double v) {
  Attribute a;
  a.name = name;
  a.kind = AttributeKind::floating;
  a.f = static_cast<float>(v);
  return a;
}
Attribute attribute(const std::string& name, const Ints& v) {
  Attribute a;
  a.name = name;
  a.kind = AttributeKind::integers;
  a.integers = v;
  return a;
}
Attribute attribute(const std::string& name, const std::string& v) {
  Attribute a;
  a.name = name;
  a.kind = AttributeKind::string;
  a.s = v;
  return a;
}
Attribute attribute(const std::string& name, Graph graph) {
  Attribute a;
  a.name = name;
  a.kind = AttributeKind::graph;
  a.graph = std::make_shared<Graph>(std::move(graph));
  return a;
}

Part<Type> type_of(const TensorSpec& spec) {
  auto type = std::make_shared<Type>();
  type->tensor = std::make_shared<TensorType>();
  type->tensor->element = static_cast<int32_t>(element_type(spec.dtype));
  type->tensor->shape = std::make_shared<TensorShape>();
  for (int64_t d : spec.shape) type->tensor->shape->dims.push_back({{d}, {}});
  return type;
}

/// Thrown by the form of an op where its attributes have none.
struct NoForm {
  std::string why;
};

class Exporter {
 public:
  Exporter(const ExportOptions& options, std::vector<Array>& kept) : options_(options), kept_(kept) {}

  /// Texts of the tensors of one graph.
  using Frame = std::map<const Tensor*, std::string>;

  Model run(const pxl::Graph& graph) {
    Frame frame;
    out_ = &model_.graph;
    model_.ir_version = 8;
    model_.producer = "pxl";
    model_.opsets = {{"", export_opset}};
    model_.graph.name = options_.name.empty() ? "pxl" : options_.name;
    if (!graph.is_main()) {
      for (const Tensor* t : graph.inputs()) {
        const auto value = options_.weights.find(t);
        frame[t] = value == options_.weights.end() ? input(t->key.empty() ? t->name : t->key, t->spec)
                                                   : initialiser(t->key.empty() ? t->name : t->key, value->second);
      }
    }
    add_ops(graph, frame);
    if (!graph.is_main())
      for (size_t i = 0; i < graph.declared_outputs(); ++i)
        output(graph.outputs()[i]->name, graph.outputs()[i]->spec, name_of(graph.outputs()[i], frame));
    in_order_of_declaration(model_.graph.inputs);
    in_order_of_declaration(model_.graph.outputs);
    if (!refused_.empty())
      throw Error(fmt::format("export_onnx: {} without a form in ONNX",
                              refused_.size() == 1 ? "1 op" : fmt::format("{} ops", refused_.size())),
                  refused_)
          .as(codes::value);
    prune();
    return std::move(model_);
  }

  // ---- what the forms of ops are made of

  std::string add(const std::string& op, Texts inputs, std::vector<Attribute> attributes = {}, size_t outputs = 1,
                  const std::string& wanted = "t") {
    return several(op, std::move(inputs), std::move(attributes), Texts(outputs, wanted)).front();
  }
  Texts several(const std::string& op, Texts inputs, std::vector<Attribute> attributes, const Texts& wanted) {
    Node node;
    node.op = op;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    for (const std::string& w : wanted) node.outputs.push_back(unique(w));
    out_->nodes.push_back(node);
    return node.outputs;
  }
  std::string ints(const Ints& values) {
    return initialiser("shape", Array::from<int64_t>({static_cast<int64_t>(values.size())}, values));
  }
  std::string scalar(double value, DType dtype) { return initialiser("constant", Array::full(dtype, {}, value)); }
  std::string initialiser(const std::string& wanted, const Array& value) {
    const std::string name = unique(wanted);
    kept_.push_back(value);
    model_.graph.initialisers.push_back(from_array(name, kept_.back()));
    return name;
  }

 private:
  std::string unique(const std::string& wanted) {
    std::string name = wanted.empty() ? "t" : wanted;
    for (int n = 1; !taken_.insert(name).second; ++n) name = fmt::format("{}_{}", wanted, n);
    return name;
  }
  std::string input(const std::string& wanted, const TensorSpec& spec) {
    ValueInfo info;
    info.name = unique(wanted);
    info.type = type_of(spec);
    model_.graph.inputs.push_back(info);
    return info.name;
  }
  void output(const std::string& wanted, const TensorSpec& spec, const std::string& value) {
    ValueInfo info;
    info.name = several("Identity", {value}, {}, {wanted}).front();
    info.type = type_of(spec);
    model_.graph.outputs.push_back(info);
  }

  std::string name_of(const Tensor* t, Frame& frame) {
    if (!t) return "";
    if (auto it = frame.find(t); it != frame.end()) return it->second;
    // Variables and constants belong to the main graph or to theirs, and are written once.
    if (auto it = fixed_.find(t); it != fixed_.end()) return it->second;
    const auto value = options_.weights.find(t);
    if (t->kind != TensorKind::variable && t->kind != TensorKind::constant) return unique("missing");
    return fixed_[t] = initialiser(t->name, value == options_.weights.end() ? t->data : value->second);
  }

  void refuse(const Op& op, const std::string& why) {
    std::string place;
    if (op.origin.span.file) {
      const int at = op.origin.span.file->position(op.origin.span.begin).line;
      place = fmt::format(" at {}:{}", op.origin.span.file->name(), at);
    }
    refused_.push_back(fmt::format("{}{}: {}", op.row->name, place, why));
  }

  void add_ops(const pxl::Graph& graph, Frame& frame) {
    for (const Op* op : schedule_order(graph)) {
      try {
        add_op(*op, frame);
      } catch (const NoForm& none) {
        refuse(*op, none.why);
      } catch (const Error& e) {
        refuse(*op, e.first().message);
      }
      for (const Tensor* t : op->outputs)
        if (!frame.contains(t)) frame[t] = "";
    }
  }

  void add_op(const Op& op, Frame& frame);
  void add_loop(const Op& op, Frame& frame);
  void add_branch(const Op& op, Frame& frame);
  Graph body(const std::function<void()>& fill, const std::string& name);

  // What no output needs: initial memory of loads, statistics of normalisations.
  void prune() {
    std::set<std::string> needed;
    const auto need = [&](const auto& self, const Graph& g) -> void {
      for (const ValueInfo& o : g.outputs) needed.insert(o.name);
      for (size_t i = g.nodes.size(); i-- > 0;) {
        const Node& n = g.nodes[i];
        const bool used =
            std::any_of(n.outputs.begin(), n.outputs.end(), [&](const auto& o) { return needed.contains(o); });
        if (!used) continue;
        needed.insert(n.inputs.begin(), n.inputs.end());
        for (const Attribute& a : n.attributes)
          if (a.graph) self(self, *a.graph);
      }
    };
    need(need, model_.graph);
    std::erase_if(model_.graph.nodes, [&](const Node& n) {
      return std::none_of(n.outputs.begin(), n.outputs.end(), [&](const auto& o) { return needed.contains(o); });
    });
    std::erase_if(model_.graph.initialisers, [&](const TensorData& t) { return !needed.contains(t.name); });
    name_outputs();
  }

  // The schedule has its own order; ops of streams are numbered as the program made them.
  void in_order_of_declaration(std::vector<ValueInfo>& values) {
    std::stable_sort(values.begin(), values.end(), [&](const ValueInfo& a, const ValueInfo& b) {
      const auto at = [&](const std::string& name) {
        const auto found = declared_.find(name);
        return found == declared_.end() ? 0 : found->second;
      };
      return at(a.name) < at(b.name);
    });
  }

  // A value that is an output has the output's name, without a node between them.
  void name_outputs() {
    std::vector<Node>& nodes = model_.graph.nodes;
    for (const ValueInfo& o : model_.graph.outputs) {
      const auto made_by = [&](const std::string& name) {
        return std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) {
          return std::find(n.outputs.begin(), n.outputs.end(), name) != n.outputs.end();
        });
      };
      const auto copy = made_by(o.name);
      if (copy == nodes.end() || copy->op != "Identity") continue;
      const std::string value = copy->inputs[0];
      const auto maker = made_by(value);
      const bool output_too = std::any_of(model_.graph.outputs.begin(), model_.graph.outputs.end(),
                                          [&](const ValueInfo& other) { return other.name == value; });
      if (maker == nodes.end() || output_too) continue;
      std::replace(maker->outputs.begin(), maker->outputs.end(), value, o.name);
      nodes.erase(copy);
      rename(model_.graph, value, o.name);
    }
  }
  void rename(Graph& graph, const std::string& from, const std::string& to) {
    for (Node& n : graph.nodes) {
      std::replace(n.inputs.begin(), n.inputs.end(), from, to);
      for (Attribute& a : n.attributes)
        if (a.graph) rename(*a.graph, from, to);
    }
  }

  const ExportOptions& options_;
  std::vector<Array>& kept_;
  Model model_;
  Graph* out_ = nullptr;  ///< the graph that nodes are added to
  std::map<const Tensor*, std::string> fixed_;
  std::set<std::string> taken_;
  std::set<const Stream*> streams_;
  std::map<std::string, int> declared_;  ///< inputs and outputs that are streams, by the op that moves them
  std::vector<std::string> refused_;
};

// ---- the forms of ops

/// An op with the names of its operands.
struct Site {
  Exporter& e;
  const Op& op;
  const OpContext& c;
  const Texts& in;

  DType dtype(size_t slot = 0) const { return c.input(slot).dtype; }
  const Shape& shape(size_t slot = 0) const { return c.input(slot).shape; }
  const Shape& out_shape(size_t i = 0) const { return op.outputs[i]->spec.shape; }
  std::string constant(double v) const { return e.scalar(v, dtype()); }
  Ints axes(std::string_view param = "axis") const {
    const auto rank = static_cast<int64_t>(shape().size());
    Ints all;
    if (c.is_none(param))
      for (int64_t i = 0; i < rank; ++i) all.push_back(i);
    else
      for (int64_t a : c.integers(param)) all.push_back(normalise_axis(a, rank));
    return all;
  }
  int64_t axis(std::string_view param = "axis", int64_t extra = 0) const {
    return normalise_axis(c.integer(param), static_cast<int64_t>(shape().size()) + extra);
  }
};

/// Texts of the outputs that have a form; an op with more leaves the others nameless.
using Form = std::vector<std::string> (*)(const Site&);
struct ExportRow {
  std::string_view op;
  Form form;
};

Texts one(std::string name) { return {std::move(name)}; }

/// Attributes for numbers, named alike in both.
template <class... N>
std::vector<Attribute> numbers(const Site& s, N... names) {
  return {attribute(names, s.c.number(names))...};
}

Ints spatial(const Site& s, std::string_view param, int64_t each, size_t copies = 1) {
  const size_t n = (s.shape().size() - 2) * copies;
  if (s.c.is_none(param)) return Ints(n, each);
  Ints given = s.c.integers(param);
  if (given.size() == 1) given.assign(n, given.front());
  return given;
}
std::string auto_pad(const std::string& given) {
  return given == "same_upper"   ? "SAME_UPPER"
         : given == "same_lower" ? "SAME_LOWER"
         : given == "valid"      ? "VALID"
                                 : "NOTSET";
}
std::vector<Attribute> window(const Site& s, std::string_view pad_type, bool dilated = true) {
  std::vector<Attribute> a{attribute("strides", spatial(s, "stride", 1))};
  if (dilated) a.push_back(attribute("dilations", spatial(s, "dilation", 1)));
  const std::string pad = auto_pad(s.c.string(pad_type));
  if (pad == "NOTSET")
    a.push_back(attribute("pads", spatial(s, "padding", 0, 2)));
  else
    a.push_back(attribute("auto_pad", pad));
  return a;
}
void need_none(const Site& s, std::initializer_list<std::string_view> params) {
  for (std::string_view p : params)
    if (!s.c.is_none(p)) throw NoForm{std::string(p) + " has no form in ONNX"};
}

Texts reduced(const Site& s, const char* op) {
  std::vector<Attribute> a{attribute("keepdims", int64_t{s.c.boolean("keepdims")})};
  if (std::string_view(op) == "ReduceSum") return one(s.e.add(op, {s.in[0], s.e.ints(s.axes())}, a));
  a.push_back(attribute("axes", s.axes()));
  return one(s.e.add(op, {s.in[0]}, a));
}
template <int which>
Texts reduce_form(const Site& s) {
  static constexpr const char* ops[] = {"ReduceSum",    "ReduceMean",     "ReduceMax", "ReduceMin",
                                        "ReduceProd",   "ReduceL1",       "ReduceL2",  "ReduceSumSquare",
                                        "ReduceLogSum", "ReduceLogSumExp"};
  return reduced(s, ops[which]);
}
Texts as_int32(const Site& s, const std::string& value) {
  return one(s.e.add("Cast", {value}, {attribute("to", int64_t{6})}));
}
template <bool largest>
Texts arg_form(const Site& s) {
  return as_int32(s, s.e.add(largest ? "ArgMax" : "ArgMin", {s.in[0]},
                             {attribute("axis", s.axis()), attribute("keepdims", int64_t{s.c.boolean("keepdims")})}));
}
Texts ordered(const Site& s, int64_t k, bool largest) {
  const Texts out =
      s.e.several("TopK", {s.in[0], s.e.ints({k})},
                  {attribute("axis", s.axis()), attribute("largest", int64_t{largest})}, {"values", "indices"});
  return {out[0], as_int32(s, out[1]).front()};
}
Texts reshaped(const Site& s) { return one(s.e.add("Reshape", {s.in[0], s.e.ints(s.out_shape())})); }
Texts same(const Site& s) { return one(s.in[0]); }

Texts slice_form(const Site& s, const Ints& starts, const Ints& ends, const Ints& steps) {
  Ints axes;
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  return one(s.e.add("Slice", {s.in[0], s.e.ints(starts), s.e.ints(ends), s.e.ints(axes), s.e.ints(steps)}));
}

bool whole(DType d) { return !is_floating(d); }

const ExportRow export_table[] = {
    {"square",
     [](const Site& s) {
       return one(s.e.add("Mul", {s.in[0], s.in[0]}));
     }},
    {"rsqrt", [](const Site& s) { return one(s.e.add("Reciprocal", {s.e.add("Sqrt", {s.in[0]})})); }},
    {"expm1",
     [](const Site& s) {
       return one(s.e.add("Sub", {s.e.add("Exp", {s.in[0]}), s.constant(1)}));
     }},
    {"log1p",
     [](const Site& s) {
       return one(s.e.add("Log", {s.e.add("Add", {s.in[0], s.constant(1)})}));
     }},
    {"gelu",
     [](const Site& s) {
       const std::string cube = s.e.add("Mul", {s.e.add("Mul", {s.in[0], s.in[0]}), s.in[0]});
       const std::string sum = s.e.add("Add", {s.in[0], s.e.add("Mul", {cube, s.constant(0.044715)})});
       const std::string t = s.e.add("Tanh", {s.e.add("Mul", {sum, s.constant(0.7978845608028654)})});
       const std::string half = s.e.add("Mul", {s.in[0], s.constant(0.5)});
       return one(s.e.add("Mul", {half, s.e.add("Add", {t, s.constant(1)})}));
     }},
    {"geluerf",
     [](const Site& s) {
       const std::string e = s.e.add("Erf", {s.e.add("Mul", {s.in[0], s.constant(1 / std::numbers::sqrt2)})});
       const std::string half = s.e.add("Mul", {s.in[0], s.constant(0.5)});
       return one(s.e.add("Mul", {half, s.e.add("Add", {e, s.constant(1)})}));
     }},
    {"swish",
     [](const Site& s) {
       return one(s.e.add("Mul", {s.in[0], s.e.add("Sigmoid", {s.in[0]})}));
     }},
    {"clip",
     [](const Site& s) {
       const auto bound = [&](const char* param) {
         const double v = s.c.number(param);
         return std::isinf(v) ? std::string() : s.constant(v);
       };
       return one(s.e.add("Clip", {s.in[0], bound("min"), bound("max")}));
     }},
    {"cast",
     [](const Site& s) {
       return one(s.e.add("Cast", {s.in[0]},
                          {attribute("to", static_cast<int64_t>(element_type(s.op.outputs[0]->spec.dtype)))}));
     }},
    {"identity", same},
    {"io_tile_copy", same},
    {"linear_layout", same},
    {"print", same},
    {"div",
     [](const Site& s) {
       if (whole(s.dtype())) throw NoForm{"ONNX leaves the division of ints by 0 open"};
       return one(s.e.add("Div", {s.in[0], s.in[1]}));
     }},
    {"floor_div",
     [](const Site& s) {
       if (whole(s.dtype())) throw NoForm{"ONNX divides ints towards zero"};
       return one(s.e.add("Floor", {s.e.add("Div", {s.in[0], s.in[1]})}));
     }},
    {"fmod",
     [](const Site& s) {
       return one(s.e.add("Mod", {s.in[0], s.in[1]}, {attribute("fmod", int64_t{1})}));
     }},
    {"mod",
     [](const Site& s) {
       if (whole(s.dtype())) return one(s.e.add("Mod", {s.in[0], s.in[1]}));
       const std::string q = s.e.add("Floor", {s.e.add("Div", {s.in[0], s.in[1]})});
       return one(s.e.add("Sub", {s.in[0], s.e.add("Mul", {s.in[1], q})}));
     }},
    {"sum_n", [](const Site& s) { return one(s.e.add("Sum", s.in)); }},
    {"scaled_add",
     [](const Site& s) {
       const auto scaled = [&](size_t slot, const char* param, size_t factor) {
         if (s.c.has(factor)) return s.e.add("Mul", {s.in[slot], s.in[factor]});
         const double v = s.c.number(param);
         return v == 1 ? s.in[slot] : s.e.add("Mul", {s.in[slot], s.constant(v)});
       };
       return one(s.e.add("Add", {scaled(0, "a", 2), scaled(1, "b", 3)}));
     }},
    {"not_equal",
     [](const Site& s) {
       return one(s.e.add("Not", {s.e.add("Equal", {s.in[0], s.in[1]})}));
     }},
    {"select", [](const Site& s) { return one(s.e.add("Where", s.in)); }},
    {"and", [](const Site& s) { return one(s.e.add("And", s.in)); }},
    {"or", [](const Site& s) { return one(s.e.add("Or", s.in)); }},
    {"not", [](const Site& s) { return one(s.e.add("Not", s.in)); }},
    {"isinf", [](const Site& s) { return one(s.e.add("IsInf", s.in)); }},
    {"isnan", [](const Site& s) { return one(s.e.add("IsNaN", s.in)); }},
    {"sum", reduce_form<0>},
    {"mean", reduce_form<1>},
    {"max", reduce_form<2>},
    {"min", reduce_form<3>},
    {"prod", reduce_form<4>},
    {"l1", reduce_form<5>},
    {"l2", reduce_form<6>},
    {"sumsquare", reduce_form<7>},
    {"logsum", reduce_form<8>},
    {"logsumexp", reduce_form<9>},
    {"argmax", arg_form<true>},
    {"argmin", arg_form<false>},
    {"topk", [](const Site& s) { return ordered(s, s.c.integer("k"), s.c.boolean("largest")); }},
    {"sort",
     [](const Site& s) { return ordered(s, s.shape()[static_cast<size_t>(s.axis())], s.c.boolean("descending")); }},
    {"cumsum",
     [](const Site& s) {
       return one(s.e.add("CumSum", {s.in[0], s.e.initialiser("axis", Array::scalar<int64_t>(s.axis()))},
                          {attribute("exclusive", int64_t{s.c.boolean("exclusive")}),
                           attribute("reverse", int64_t{s.c.boolean("reverse")})}));
     }},
    {"matmul",
     [](const Site& s) {
       return one(s.e.add("MatMul", {s.in[0], s.in[1]}));
     }},
    {"softmax", [](const Site& s) { return one(s.e.add("Softmax", s.in, {attribute("axis", s.axis())})); }},
    {"log_softmax", [](const Site& s) { return one(s.e.add("LogSoftmax", s.in, {attribute("axis", s.axis())})); }},
    {"layer_normalization",
     [](const Site& s) {
       return one(s.e.add("LayerNormalization", {s.in[0], s.in[1], s.in[2]},
                          {attribute("axis", int64_t{-1}), attribute("epsilon", s.c.number("eps"))}));
     }},
    {"group_normalization",
     [](const Site& s) {
       const int64_t groups = s.c.integer("num_groups"), channels = s.shape()[1];
       const std::string folded = s.e.add("Reshape", {s.in[0], s.e.ints({s.shape()[0], groups, -1})});
       const std::string ones = s.e.initialiser("ones", Array::full(s.dtype(), {groups}, 1)),
                         none = s.e.initialiser("zeros", Array::zeros(s.dtype(), {groups}));
       const std::string normal =
           s.e.add("InstanceNormalization", {folded, ones, none}, {attribute("epsilon", s.c.number("eps"))});
       const std::string back = s.e.add("Reshape", {normal, s.e.ints(s.shape())});
       Ints each(s.shape().size() - 1, 1);
       each[0] = channels;
       const auto channel = [&](size_t slot) { return s.e.add("Reshape", {s.in[slot], s.e.ints(each)}); };
       return one(s.e.add("Add", {s.e.add("Mul", {back, channel(1)}), channel(2)}));
     }},
    {"batch_norm_inference",
     [](const Site& s) {
       return one(s.e.add("BatchNormalization", {s.in[0], s.in[1], s.in[2], s.in[3], s.in[4]},
                          {attribute("epsilon", s.c.number("epsilon"))}));
     }},
    {"conv",
     [](const Site& s) {
       std::vector<Attribute> a = window(s, "pad_type");
       a.push_back(attribute("group", s.c.integer("groups")));
       return one(s.e.add("Conv", {s.in[0], s.in[1]}, a));
     }},
    {"conv_transpose",
     [](const Site& s) {
       need_none(s, {"output_shape"});
       if (auto_pad(s.c.string("pad_type")) != "NOTSET") throw NoForm{"pad_type has no form in ONNX"};
       std::vector<Attribute> a = window(s, "pad_type");
       a.push_back(attribute("group", s.c.integer("groups")));
       if (!s.c.is_none("output_padding")) a.push_back(attribute("output_padding", spatial(s, "output_padding", 0)));
       return one(s.e.add("ConvTranspose", {s.in[0], s.in[1]}, a));
     }},
    {"max_pool",
     [](const Site& s) {
       need_none(s, {"out_pads", "in_dilations"});
       std::vector<Attribute> a = window(s, "auto_pad");
       a.push_back(attribute("kernel_shape", spatial(s, "kernel_size", 1)));
       a.push_back(attribute("ceil_mode", int64_t{s.c.boolean("ceil_mode")}));
       return one(s.e.add("MaxPool", {s.in[0]}, a));
     }},
    {"average_pool",
     [](const Site& s) {
       need_none(s, {"out_pads", "in_dilations"});
       for (int64_t d : spatial(s, "dilation", 1))
         if (d != 1) throw NoForm{"dilation has no form in ONNX"};
       std::vector<Attribute> a = window(s, "auto_pad", false);
       a.push_back(attribute("kernel_shape", spatial(s, "kernel_size", 1)));
       a.push_back(attribute("ceil_mode", int64_t{s.c.boolean("ceil_mode")}));
       a.push_back(attribute("count_include_pad", int64_t{s.c.boolean("count_include_pad")}));
       return one(s.e.add("AveragePool", {s.in[0]}, a));
     }},
    {"reshape", reshaped},
    {"reshape_", reshaped},
    {"squeeze", reshaped},
    {"expand_dims", reshaped},
    {"flatten", reshaped},
    {"transpose",
     [](const Site& s) {
       Ints order = s.c.is_none("permutation") ? Ints() : s.c.integers("permutation");
       for (int64_t& a : order) a = normalise_axis(a, static_cast<int64_t>(s.shape().size()));
       return one(s.e.add("Transpose", {s.in[0]},
                          order.empty() ? std::vector<Attribute>() : std::vector{attribute("perm", order)}));
     }},
    {"broadcast_to",
     [](const Site& s) {
       return one(s.e.add("Expand", {s.in[0], s.e.ints(s.out_shape())}));
     }},
    {"tile",
     [](const Site& s) {
       return one(s.e.add("Tile", {s.in[0], s.e.ints(s.c.integers("repeats"))}));
     }},
    {"pad",
     [](const Site& s) {
       return one(s.e.add("Pad", {s.in[0], s.e.ints(s.c.integers("padding")), s.constant(s.c.number("value"))}));
     }},
    {"slice_window",
     [](const Site& s) {
       const Ints starts = s.c.integers("starts"), steps = s.c.integers("steps"), sizes = s.c.integers("sizes");
       Ints ends;
       for (size_t i = 0; i < starts.size(); ++i) {
         int64_t end = starts[i] + steps[i] * sizes[i];
         // Before the first element; -1 would be the last one.
         if (steps[i] < 0 && end < 0) end = std::numeric_limits<int64_t>::min() / 2;
         ends.push_back(end);
       }
       return slice_form(s, starts, ends, steps);
     }},
    {"subsample",
     [](const Site& s) {
       const Ints steps = s.c.integers("strides");
       Ints ends(s.shape().begin(), s.shape().begin() + static_cast<ptrdiff_t>(steps.size()));
       return slice_form(s, Ints(steps.size(), 0), ends, steps);
     }},
    {"flip",
     [](const Site& s) {
       const Ints axes = s.axes("axes");
       return one(s.e.add("Slice", {s.in[0], s.e.ints(Ints(axes.size(), -1)),
                                    s.e.ints(Ints(axes.size(), std::numeric_limits<int64_t>::min() / 2)),
                                    s.e.ints(axes), s.e.ints(Ints(axes.size(), -1))}));
     }},
    {"concat", [](const Site& s) { return one(s.e.add("Concat", s.in, {attribute("axis", s.axis())})); }},
    {"split",
     [](const Site& s) {
       Ints sizes;
       const int64_t axis = s.axis();
       for (const Tensor* t : s.op.outputs) sizes.push_back(t->spec.shape[static_cast<size_t>(axis)]);
       return s.e.several("Split", {s.in[0], s.e.ints(sizes)}, {attribute("axis", axis)}, Texts(sizes.size(), "split"));
     }},
    {"gather",
     [](const Site& s) {
       if (s.c.boolean("zero_OOR")) throw NoForm{"zero_OOR has no form in ONNX"};
       return one(s.e.add("Gather", {s.in[0], s.in[1]}, {attribute("axis", s.axis())}));
     }},
    {"take_along", [](const Site& s) { return one(s.e.add("GatherElements", s.in, {attribute("axis", s.axis())})); }},
    {"scatter", [](const Site& s) { return one(s.e.add("ScatterElements", s.in, {attribute("axis", s.axis())})); }},
    {"onehot",
     [](const Site& s) {
       return one(s.e.add(
           "OneHot", {s.in[0], s.e.initialiser("depth", Array::scalar<int64_t>(s.c.integer("num_classes"))), s.in[1]},
           {attribute("axis", s.axis("axis", 1))}));
     }},
    {"init",
     [](const Site& s) {
       const TensorSpec& spec = s.op.outputs[0]->spec;
       return one(s.e.initialiser("zeros", Array::zeros(spec.dtype, spec.shape)));
     }},
    {"leaky_relu", [](const Site& s) { return one(s.e.add("LeakyRelu", s.in, numbers(s, "alpha"))); }},
    {"elu", [](const Site& s) { return one(s.e.add("Elu", s.in, numbers(s, "alpha"))); }},
    {"celu", [](const Site& s) { return one(s.e.add("Celu", s.in, numbers(s, "alpha"))); }},
    {"selu", [](const Site& s) { return one(s.e.add("Selu", s.in, numbers(s, "alpha", "gamma"))); }},
    {"hard_sigmoid", [](const Site& s) { return one(s.e.add("HardSigmoid", s.in, numbers(s, "alpha", "beta"))); }},
    {"shrink", [](const Site& s) { return one(s.e.add("Shrink", s.in, numbers(s, "lambd", "bias"))); }},
    {"thresholded_relu", [](const Site& s) { return one(s.e.add("ThresholdedRelu", s.in, numbers(s, "alpha"))); }},
    {"grid_sample",
     [](const Site& s) {
       return one(s.e.add("GridSample", s.in,
                          {attribute("mode", s.c.string("mode")), attribute("padding_mode", s.c.string("padding_mode")),
                           attribute("align_corners", int64_t{s.c.boolean("align_corners")})}));
     }},
};

// Ops of the same name and operands, whose row says so, and that have no attributes.
bool is_plain(const OpRow& row) {
  return !row.onnx.empty() && row.modifies == 0 && row.role == Role::compute &&
         std::all_of(row.params.begin(), row.params.end(), [](const Param& p) { return is_operand(p.kind); });
}

void Exporter::add_op(const Op& op, Frame& frame) {
  switch (op.row->role) {
    case Role::host_load: {
      if (!streams_.insert(op.stream).second)
        throw NoForm{fmt::format("stream `{}` is loaded more than once", op.stream->label)};
      frame[op.outputs[0]] = input(op.stream->label, op.stream->spec());
      declared_[model_.graph.inputs.back().name] = op.id;
      return;
    }
    case Role::host_store:
      if (!streams_.insert(op.stream).second)
        throw NoForm{fmt::format("stream `{}` is stored more than once", op.stream->label)};
      output(op.stream->label, op.stream->spec(), name_of(op.inputs[0], frame));
      declared_[model_.graph.outputs.back().name] = op.id;
      return;
    case Role::call: {
      Frame inner;
      const pxl::Graph& callee = *op.called[0];
      for (size_t i = 0; i < callee.inputs().size(); ++i) inner[callee.inputs()[i]] = name_of(op.inputs[i], frame);
      add_ops(callee, inner);
      for (size_t i = 0; i < op.outputs.size(); ++i) frame[op.outputs[i]] = name_of(callee.outputs()[i], inner);
      return;
    }
    case Role::loop: return add_loop(op, frame);
    case Role::branch: return add_branch(op, frame);
    case Role::remote_load:
    case Role::remote_store: throw NoForm{"ONNX has no remote memory"};
    case Role::composite:
    case Role::compute: break;
  }
  for (size_t i = 0; i < op.inputs.size(); ++i)
    if (op.modifies(i)) throw NoForm{"it changes a tensor in place"};
  Texts in;
  for (const Tensor* t : op.inputs) in.push_back(name_of(t, frame));
  const OpContextStorage storage(op);
  const Site site{*this, op, storage.site, in};
  const auto row = std::find_if(std::begin(export_table), std::end(export_table),
                                [&](const ExportRow& r) { return r.op == op.row->name; });
  Texts out;
  if (row != std::end(export_table))
    out = row->form(site);
  else if (is_plain(*op.row))
    out = one(add(std::string(op.row->onnx), in, {}, 1, op.outputs[0]->name));
  else
    throw NoForm{"ONNX has no such op"};
  for (size_t i = 0; i < out.size() && i < op.outputs.size(); ++i) frame[op.outputs[i]] = out[i];
}

Graph Exporter::body(const std::function<void()>& fill, const std::string& name) {
  Graph graph;
  graph.name = name;
  Graph* outer = std::exchange(out_, &graph);
  fill();
  out_ = outer;
  return graph;
}

void Exporter::add_loop(const Op& op, Frame& frame) {
  const pxl::Graph& callee = *op.called[0];
  const size_t carried = op.outputs.size();
  const OpContextStorage storage(op);
  Graph inside = body(
      [&] {
        const auto parameter = [&](const std::string& wanted, const TensorSpec& spec) {
          ValueInfo info;
          info.name = unique(wanted);
          info.type = type_of(spec);
          out_->inputs.push_back(info);
          return info.name;
        };
        parameter("iteration", {{}, DType::int64, {}});
        const std::string go = parameter("condition", {{}, DType::boolean, {}});
        Frame inner;
        for (size_t i = 0; i < callee.inputs().size(); ++i)
          inner[callee.inputs()[i]] = i < carried ? parameter(callee.inputs()[i]->name, callee.inputs()[i]->spec)
                                                  : name_of(op.inputs[i], frame);
        add_ops(callee, inner);
        const auto result = [&](const std::string& value, const TensorSpec& spec) {
          ValueInfo info;
          info.name = several("Identity", {value}, {}, {"result"}).front();
          info.type = type_of(spec);
          out_->outputs.push_back(info);
        };
        result(go, {{}, DType::boolean, {}});
        for (size_t i = 0; i < carried; ++i) result(name_of(callee.outputs()[i], inner), callee.outputs()[i]->spec);
      },
      callee.name());
  Texts inputs{initialiser("count", Array::scalar<int64_t>(storage.site.integer("count"))),
               initialiser("always", Array::scalar<bool>(true))};
  for (size_t i = 0; i < carried; ++i) inputs.push_back(name_of(op.inputs[i], frame));
  Texts wanted;
  for (const Tensor* t : op.outputs) wanted.push_back(t->name);
  const Texts out = several("Loop", inputs, {attribute("body", std::move(inside))}, wanted);
  for (size_t i = 0; i < out.size(); ++i) frame[op.outputs[i]] = out[i];
}

void Exporter::add_branch(const Op& op, Frame& frame) {
  size_t at = 1;
  std::vector<Attribute> bodies;
  for (size_t which = 0; which < 2; ++which) {
    const pxl::Graph& callee = *op.called[which];
    Frame inner;
    for (const Tensor* t : callee.inputs()) inner[t] = name_of(op.inputs[at++], frame);
    Graph inside = body(
        [&] {
          add_ops(callee, inner);
          for (size_t i = 0; i < op.outputs.size(); ++i) {
            ValueInfo info;
            info.name = several("Identity", {name_of(callee.outputs()[i], inner)}, {}, {"result"}).front();
            info.type = type_of(op.outputs[i]->spec);
            out_->outputs.push_back(info);
          }
        },
        callee.name());
    bodies.push_back(attribute(which == 0 ? "then_branch" : "else_branch", std::move(inside)));
  }
  Texts wanted;
  for (const Tensor* t : op.outputs) wanted.push_back(t->name);
  const Texts out = several("If", {name_of(op.inputs[0], frame)}, bodies, wanted);
  for (size_t i = 0; i < out.size(); ++i) frame[op.outputs[i]] = out[i];
}

}  // namespace

Model export_graph(const pxl::Graph& graph, const ExportOptions& options, std::vector<Array>& kept) {
  kept.clear();
  return Exporter(options, kept).run(graph);
}

}  // namespace pxl::onnx
