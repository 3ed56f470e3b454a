// Nodes as statements.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "interpreter/onnx/import_literals.hpp"
#include "interpreter/onnx/importer.hpp"

namespace pxl::onnx {

std::string Importer::host_text(const Meaning& m, std::string_view kind) {
  if (kind == "host") return m.text;
  if (m.known && m.known->size() <= 256) {
    const Array& a = *m.known;
    std::string list;
    for (int64_t i = 0; i < a.size(); ++i) list += (i ? ", " : "") + element_text(a, i);
    if (kind == "axes" && a.size() == 0) return "none";
    if (kind == "ints" || kind == "floats" || kind == "axes") return "[" + list + "]";
    if (a.size() == 1) return list;
  }
  return fmt::format("onnx.{}({})", kind, m.text);
}

std::string Importer::tensor_text(const TensorData& t, const std::string& key) {
  return constant(key, to_array(t, model_.folder)).text;
}

std::optional<std::string> Importer::attribute_text(const Node& node, std::string_view wanted, std::string_view kind) {
  const Attribute* a = node.attribute(wanted);
  if (!a) return {};
  if (!a->reference.empty()) return "attribute_" + a->reference;
  const auto joined = [](const auto& items, auto text) {
    std::string out = "[";
    for (size_t i = 0; i < items.size(); ++i) out += (i ? ", " : "") + text(items[i]);
    return out + "]";
  };
  switch (a->kind) {
    case AttributeKind::integer:
      if (kind == "bool") return a->i ? "true" : "false";
      if (kind == "dtype") {
        const auto type = static_cast<ElementType>(a->i);
        if (type == ElementType::bfloat16) return std::string(pxl::name(DType::float32));
        if (const auto dtype = dtype_of(type)) return std::string(pxl::name(*dtype));
        refuse(node, "elements of " + name(type));
        return "none";
      }
      return fmt::format("{}", a->i);
    case AttributeKind::floating: return float_text(a->f, true);
    case AttributeKind::string: {
      std::string s = a->s;
      if (kind == "sampling") s = s == "linear" ? "bilinear" : s == "cubic" ? "bicubic" : s;
      if (kind == "lower")
        std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
      if (kind == "lower" && s == "notset") s = "not_set";
      return quoted(s);
    }
    case AttributeKind::integers:
      if (kind == "axes" && a->integers.empty()) return "none";
      return joined(a->integers, [](int64_t v) { return fmt::format("{}", v); });
    case AttributeKind::floats: return joined(a->floats, [](float v) { return float_text(v, true); });
    case AttributeKind::strings: return joined(a->strings, [](const std::string& v) { return quoted(v); });
    case AttributeKind::tensor:
      if (a->tensor) return tensor_text(*a->tensor, node.outputs.empty() ? "constant" : node.outputs.front());
      break;
    default: break;
  }
  refuse(node, fmt::format("its attribute {} has no form in pxl", a->name));
  return "none";
}

std::optional<std::string> Importer::source_text(Names& names, const Node& node, const Placeholder& p) {
  if (!is_input(p.source)) return attribute_text(node, p.source, p.kind);
  const size_t i = std::stoul(p.source);
  if (!has_input(node, i)) return {};
  const Meaning m = meaning(names, node, node.inputs[i]);
  return p.kind.empty() ? m.text : host_text(m, p.kind);
}

std::string Importer::inputs_text(Names& names, const Node& node, bool trim) {
  size_t count = node.inputs.size();
  while (trim && count > 0 && node.inputs[count - 1].empty()) --count;
  std::string out;
  for (size_t i = 0; i < count; ++i)
    out += (i ? ", " : "") + (node.inputs[i].empty() ? "none" : meaning(names, node, node.inputs[i]).text);
  return out;
}

std::string Importer::filled(Names& names, const Node& node, std::string_view text) {
  std::string out;
  each_part(text, [&](std::string_view literal, std::optional<std::string_view> hole) {
    out += literal;
    if (!hole) return;
    if (*hole == "*") {
      out += inputs_text(names, node, true);
      return;
    }
    if (*hole == "outputs") {
      out += fmt::format("{}", node.outputs.size());
      return;
    }
    const Placeholder p = placeholder_of(*hole);
    const std::optional<std::string> value = source_text(names, node, p);
    if (p.optional) {
      if (value || p.has_otherwise) out += ", " + p.parameter + " = " + value.value_or(p.otherwise);
    } else {
      out += value ? *value : p.has_otherwise ? p.otherwise : "none";
    }
  });
  return out;
}

void Importer::line(std::string text) { lines_ += std::string(static_cast<size_t>(depth_) * 2, ' ') + text + "\n"; }

Importer::Body Importer::body_function(Names& outer, const Node& node, const std::string& role, const Graph& graph) {
  const std::string name = fresh((node.name.empty() ? role : node.name + "_" + role));
  Names names;
  names.outer = &outer;
  std::string parameters;
  for (const ValueInfo& input : graph.inputs) {
    const std::string variable = fresh(input.name);
    names.here[input.name] = {variable, nullptr};
    parameters += (parameters.empty() ? "" : ", ") + variable;
  }
  std::string saved;
  std::swap(saved, lines_);
  ++depth_;
  graph_lines(names, graph);
  std::string results;
  for (const ValueInfo& o : graph.outputs) results += (results.empty() ? "" : ", ") + meaning(names, node, o.name).text;
  line("return [" + results + "]");
  --depth_;
  std::swap(saved, lines_);
  Body body{name, {}};
  for (const std::string& c : names.captured) {
    body.captured.push_back(c);
    parameters += (parameters.empty() ? "" : ", ") + c;
    // What this graph takes from beyond the one around it, that one takes as well.
    if (outer.outer &&
        std::none_of(outer.here.begin(), outer.here.end(), [&](const auto& h) { return h.second.text == c; }))
      outer.captured.insert(c);
  }
  line(fmt::format("def {}({}) {{", name, parameters));
  lines_ += saved;
  line("}");
  return body;
}

std::string Importer::call_text(Names& names, const Node& node, std::string_view function) {
  std::string out =
      fmt::format("onnx.{}({}", function.empty() ? snake(node.op) : function, inputs_text(names, node, true));
  if (out.back() == '(') {
  } else if (!node.attributes.empty()) {
    out += ", ";
  }
  bool first = true;
  for (const Attribute& a : node.attributes) {
    if (!first) out += ", ";
    first = false;
    if (a.graph) {
      const Body body = body_function(names, node, a.name, *a.graph);
      out += fmt::format("{} = {}, {}_takes = {}", a.name, body.name, a.name, list_text(body.captured));
      continue;
    }
    static const std::set<std::string> dtypes{"to", "dtype", "output_datatype"};
    const std::string value = attribute_text(node, a.name, dtypes.contains(a.name) ? "dtype" : "").value_or("none");
    out += fmt::format("{} = {}", a.name, value);
  }
  return out + ")";
}

std::string Importer::expression(Names& names, const Node& node, const ImportRow* row) {
  if (const Function* f = function_of(node)) {
    std::string out = fmt::format("{}({}", function_name(*f), inputs_text(names, node, true));
    for (const Attribute& a : node.attributes)
      out += fmt::format("{}attribute_{} = {}", out.back() == '(' ? "" : ", ", a.name,
                         attribute_text(node, a.name, {}).value_or("none"));
    return out + ")";
  }
  return row->text[0] == '*' ? call_text(names, node, row->text.substr(1)) : filled(names, node, row->text);
}

std::optional<Meaning> Importer::constant_node(const Node& node) {
  if (node.op != "Constant" || !node.domain.empty() || node.attributes.size() != 1 || node.outputs.empty()) return {};
  const Attribute& a = node.attributes.front();
  if (!a.reference.empty()) return {};
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
  if (const auto known = constant_node(node)) {
    names.here[node.outputs.front()] = named_constant(node.outputs.front(), *known);
    return;
  }
  if (node.op == "Constant" && node.domain.empty()) {
    refuse(node, "its value has no form in pxl");
    return;
  }
  const Function* function = function_of(node);
  const ImportRow* row = function ? nullptr : find_row(node, function_opset_ ? function_opset_ : opset_);
  if (!function && !row) return;
  std::string value = expression(names, node, row);
  if (const auto found = rounded_.find(&node); found != rounded_.end())
    value = fmt::format("onnx.as_bfloat16({}{})", value,
                        found->second == node.outputs.size() ? "" : fmt::format(", {}", found->second));
  // Only now: an output may have the name of a value around this graph.
  const bool several = function ? true : row->several;
  std::string targets;
  size_t count = node.outputs.size();
  if (!several) count = std::min<size_t>(count, 1);
  for (size_t i = 0; i < count; ++i) {
    const std::string& o = node.outputs[i];
    std::string variable = "_";
    if (!o.empty()) {
      variable = fresh(o);
      names.here[o] = {variable, nullptr};
    }
    targets += (i ? ", " : "") + variable;
  }
  if (several) targets += ", *_";
  for (size_t i = count; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty()) refuse(node, fmt::format("its output `{}` has no meaning in pxl", node.outputs[i]));
  line(fmt::format("{} = {}", targets, value));
}

Meaning Importer::named_constant(const std::string& name, const Meaning& constant) {
  if (!constant.text.starts_with("weights[")) return constant;
  const std::string variable = fresh(name);
  line(fmt::format("{} = {}", variable, constant.text));
  return {variable, constant.known};
}

void Importer::graph_lines(Names& names, const Graph& graph) {
  for (const TensorData& t : graph.initialisers) {
    names.here[t.name] = named_constant(t.name, constant(t.name, to_array(t, model_.folder)));
  }
  for (const Node& n : graph.nodes) node_lines(names, n);
}

}  // namespace pxl::onnx
