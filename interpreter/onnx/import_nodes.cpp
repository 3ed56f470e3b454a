// Writes nodes as statements.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "interpreter/onnx/import_literals.hpp"
#include "interpreter/onnx/importer.hpp"
#include "runtime/base/never_destroyed.hpp"

namespace pxl::onnx {

ProgramText Importer::host_text(const Meaning& m, std::string_view kind) {
  struct Conversion {
    std::string_view kind;
    FixedText function;  ///< of the module `onnx`
    bool list;
  };
  static constexpr Conversion conversions[] = {{"ints", "ints", true},
                                               {"floats", "floats", true},
                                               {"axes", "axes", true},
                                               {"int1", "int1", false},
                                               {"float1", "float1", false}};
  const auto* row =
      std::find_if(std::begin(conversions), std::end(conversions), [&](const Conversion& c) { return c.kind == kind; });
  if (row == std::end(conversions)) return m.text;  // host: the array
  if (m.known && m.known->size() <= 256) {
    const Array& a = *m.known;
    std::vector<ProgramText> items;
    for (int64_t i = 0; i < a.size(); ++i) items.push_back(element_text(a, i));
    if (kind == "axes" && a.size() == 0) return FixedText("none");
    if (row->list) return list_text(items);
    if (a.size() == 1) return items.front();
  }
  return assemble("onnx.{}({})", {row->function, m.text});
}

std::optional<ProgramText> Importer::attribute_text(const Node& node, std::string_view wanted, std::string_view kind) {
  const Attribute* a = node.attribute(wanted);
  if (!a) return {};
  const auto listed = [](const auto& items, auto text) {
    std::vector<ProgramText> out;
    for (const auto& item : items) out.push_back(text(item));
    return list_text(out);
  };
  switch (a->kind) {
    case AttributeKind::integer:
      if (kind == "dtype") {
        const auto type = static_cast<ElementType>(a->i);
        if (type == ElementType::undefined) return FixedText("none");
        const auto dtype = dtype_of(type);
        if (dtype && !is_packed(type)) return identifier(pxl::name(*dtype));
        refuse(node, "elements of " + name(type));
        return FixedText("none");
      }
      return number_literal(a->i);
    case AttributeKind::floating: return number_literal(a->f, true);
    case AttributeKind::string: {
      std::string s = a->s;
      if (kind == "lower")
        std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
      if (kind == "lower" && s == "notset") s = "not_set";
      return string_literal(s);
    }
    case AttributeKind::integers:
      if (kind == "axes" && a->integers.empty()) return FixedText("none");
      return listed(a->integers, [](int64_t v) { return number_literal(v); });
    case AttributeKind::floats: return listed(a->floats, [](float v) { return number_literal(v, true); });
    case AttributeKind::strings: return listed(a->strings, [](const std::string& v) { return string_literal(v); });
    case AttributeKind::tensor:
      if (a->tensor)
        return constant(node.outputs.empty() ? "constant" : node.outputs.front(), to_array(*a->tensor, model_.folder))
            .text;
      break;
    default: break;
  }
  refuse(node, fmt::format("its attribute {} has no form in pxl", a->name));
  return FixedText("none");
}

std::optional<ProgramText> Importer::source_text(Names& names, const Node& node, const Placeholder& p) {
  if (!is_input(p.source)) return attribute_text(node, p.source, p.kind);
  const size_t i = std::stoul(p.source);
  if (!has_input(node, i)) return {};
  const Meaning m = meaning(names, node, node.inputs[i]);
  return p.kind.empty() ? m.text : host_text(m, p.kind);
}

std::vector<ProgramText> Importer::input_texts(Names& names, const Node& node) {
  size_t count = node.inputs.size();
  while (count > 0 && node.inputs[count - 1].empty()) --count;
  std::vector<ProgramText> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back(node.inputs[i].empty() ? FixedText("none") : meaning(names, node, node.inputs[i]).text);
  return out;
}

ProgramText Importer::filled(Names& names, const Node& node, FixedText text) {
  ProgramText out;
  each_part(text, [&](FixedText literal, std::optional<FixedText> hole) {
    out += literal;
    if (!hole) return;
    if (hole->view() == "*") {
      out += joined(input_texts(names, node), ", ");
      return;
    }
    if (hole->view() == "outputs") {
      out += number_literal(static_cast<int64_t>(node.outputs.size()));
      return;
    }
    const Placeholder p = placeholder_of(*hole);
    const std::optional<ProgramText> value = source_text(names, node, p);
    if (p.optional) {
      if (value || p.has_otherwise) out += assemble(", {} = {}", {p.parameter, value.value_or(p.otherwise)});
    } else {
      out += value ? *value : p.has_otherwise ? p.otherwise : FixedText("none");
    }
  });
  return out;
}

void Importer::line(const ProgramText& text) {
  for (int i = 0; i < depth_; ++i) lines_ += "  ";
  lines_ += text;
  lines_ += "\n";
}

std::vector<ProgramText> Importer::output_texts(Names& names, const Node& node, const std::vector<ValueInfo>& outputs) {
  std::vector<ProgramText> texts;
  for (const ValueInfo& o : outputs) texts.push_back(meaning(names, node, o.name).text);
  return texts;
}

Importer::Body Importer::body_function(Names& outer, const Node& node, const std::string& role, const Graph& graph) {
  const ProgramText name = fresh(node.name.empty() ? role : fmt::format("{}_{}", node.name, role));
  Names names(&outer);
  std::vector<ProgramText> parameters;
  for (const ValueInfo& input : graph.inputs) {
    parameters.push_back(fresh(input.name));
    define(names, node.label(), input.name, {.text = parameters.back()});
  }
  ProgramText around = std::exchange(lines_, {});
  ++depth_;
  graph_lines(names, graph);
  line(assemble("return {}", {list_text(output_texts(names, node, graph.outputs))}));
  --depth_;
  const ProgramText own = std::exchange(lines_, std::move(around));
  Body body{name, {}};
  for (const ProgramText& c : names.captured) {
    body.captured.push_back(c);
    parameters.push_back(c);
    // The graph around this one captures the same variable, unless it defines the variable itself.
    if (outer.outer() && !outer.has_variable(c)) outer.captured.insert(c);
  }
  line(assemble("def {}({}) {{", {name, joined(parameters, ", ")}));
  lines_ += own;
  line(FixedText("}"));
  return body;
}

ProgramText Importer::call_text(Names& names, const Node& node, const ProgramText& function) {
  std::vector<ProgramText> arguments = input_texts(names, node);
  for (const Attribute& a : node.attributes) {
    if (a.graph) {
      const Body body = body_function(names, node, a.name, *a.graph);
      arguments.push_back(assemble("{} = {}", {identifier(a.name), body.name}));
      arguments.push_back(assemble("{}_takes = {}", {identifier(a.name), list_text(body.captured)}));
      continue;
    }
    static const auto& dtypes =
        never_destroyed(std::set<std::string>{"to", "dtype", "output_datatype", "output_dtype"});
    const auto value = attribute_text(node, a.name, dtypes.contains(a.name) ? "dtype" : "");
    arguments.push_back(assemble("{} = {}", {identifier(a.name), value.value_or(FixedText("none"))}));
  }
  return assemble("onnx.{}({})", {function, joined(arguments, ", ")});
}

ProgramText Importer::expression(Names& names, const Node& node, const ImportRow* row) {
  if (const FunctionInstance* f = called(node))
    return assemble("{}({})", {f->name, joined(input_texts(names, node), ", ")});
  if (row->text.view()[0] != '*') return filled(names, node, row->text);
  const FixedText function = row->text.substr(1);
  return call_text(names, node, function.view().empty() ? identifier(snake(row->op)) : function);
}

std::optional<Meaning> Importer::constant_node(const Node& node) {
  if (node.op != "Constant" || !node.domain.empty() || node.attributes.size() != 1 || node.outputs.empty()) return {};
  const Attribute& a = node.attributes.front();
  const std::string& key = node.outputs.front();
  if (a.name == "value" && a.tensor) return constant(key, to_array(*a.tensor, model_.folder));
  if (a.name == "sparse_value" && a.sparse) return constant(key, to_array(*a.sparse, model_.folder));
  if (a.name == "value_int") return constant(key, Array::scalar<int64_t>(a.i));
  if (a.name == "value_float") return constant(key, Array::scalar<float>(a.f));
  if (a.name == "value_ints")
    return constant(key, Array::from<int64_t>({static_cast<int64_t>(a.integers.size())}, a.integers));
  if (a.name == "value_floats")
    return constant(key, Array::from<float>({static_cast<int64_t>(a.floats.size())}, a.floats));
  return {};
}

void Importer::node_lines(Names& names, const Node& node) {
  const FunctionInstance* function = called(node);
  if (!function) {
    if (const auto known = constant_node(node)) {
      define(names, node.label(), node.outputs.front(), named_constant(node.outputs.front(), *known));
      return;
    }
    if (node.op == "Constant" && node.domain.empty()) {
      refuse(node, "its value has no form in pxl");
      return;
    }
  }
  const ImportRow* row = function ? nullptr : find_row(node, opset_here_);
  if (!function && !row) return;
  const ProgramText value = expression(names, node, row);
  // Defines outputs only now, since an output may have the name of a value outside this graph.
  const bool several = function ? true : row->several;
  std::vector<ProgramText> targets;
  size_t count = node.outputs.size();
  if (!several) count = std::min<size_t>(count, 1);
  for (size_t i = 0; i < count; ++i) {
    const std::string& o = node.outputs[i];
    targets.push_back(o.empty() ? FixedText("_") : fresh(o));
    define(names, node.label(), o, {.text = targets.back()});
  }
  if (several) targets.push_back(FixedText("*_"));
  for (size_t i = count; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty()) refuse(node, fmt::format("its output `{}` has no meaning in pxl", node.outputs[i]));
  line(assemble("{} = {}", {joined(targets, ", "), value}));
}

Meaning Importer::named_constant(const std::string& name, const Meaning& constant) {
  if (constant.form != Meaning::Form::stored) return constant;
  const ProgramText variable = fresh(name);
  line(assemble("{} = {}", {variable, constant.text}));
  return {.text = variable, .known = constant.known};
}

void Importer::graph_lines(Names& names, const Graph& graph) {
  for (const TensorData& t : graph.initialisers) {
    const bool given =
        std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](const ValueInfo& v) { return v.name == t.name; });
    if (given) continue;
    define(names, fmt::format("initialiser `{}`", t.name), t.name,
           named_constant(t.name, constant(t.name, to_array(t, model_.folder))));
  }
  for (const Node& n : graph.nodes) node_lines(names, n);
}

}  // namespace pxl::onnx
