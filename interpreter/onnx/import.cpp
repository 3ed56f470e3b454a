// The text of a model.
#include "interpreter/onnx/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "interpreter/onnx/names.hpp"
#include "interpreter/syntax/format.hpp"
#include "runtime/base/codes.hpp"

namespace pxl::onnx {

namespace {

constexpr int64_t max_literal = 16;  ///< elements of an array that is written out in the text
constexpr int deepest_graph = 50;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else
      out += c;
  }
  return out + "\"";
}

std::string number_text(double value, bool whole, bool narrow) {
  if (whole) return fmt::format("{}", static_cast<int64_t>(value));
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value < 0 ? "float(\"-inf\")" : "float(\"inf\")";
  std::string text = narrow ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

std::string element_text(const Array& a, int64_t i) {
  if (a.dtype() == DType::boolean) return a.integer(i) ? "true" : "false";
  if (is_floating(a.dtype())) return number_text(a.number(i), false, a.dtype() != DType::float64);
  return fmt::format("{}", a.integer(i));
}

std::string list_text(const Array& a, size_t axis, int64_t& at) {
  if (axis == a.shape().size()) return element_text(a, at++);
  std::string out = "[";
  for (int64_t i = 0; i < a.shape()[axis]; ++i) out += (i ? ", " : "") + list_text(a, axis + 1, at);
  return out + "]";
}

bool is_writable(const Array& a) {
  if (a.size() > max_literal || a.rank() > 2 || a.dtype() == DType::uint64) return false;
  for (int64_t d : a.shape())
    if (d == 0 && a.rank() > 1) return false;
  for (int64_t i = 0; is_floating(a.dtype()) && i < a.size(); ++i)
    if (!std::isfinite(a.number(i))) return false;
  return true;
}

std::string array_text(const Array& a) {
  int64_t at = 0;
  return fmt::format("array({}, {})", list_text(a, 0, at), pxl::name(a.dtype()));
}

/// What stands for a value of the model in the text.
struct Meaning {
  std::string text;                    ///< a name, or a literal
  std::shared_ptr<const Array> known;  ///< where the importer knows the elements
};

/// Names of values in one graph, and outward those of the graphs around it.
struct Names {
  std::map<std::string, Meaning> here;
  const Names* outer = nullptr;
  std::set<std::string> captured;  ///< names of the text that belong to graphs around this one
};

struct Placeholder {
  std::string parameter;  ///< of {,parameter=source}
  std::string source, kind, otherwise;
  bool optional = false, has_otherwise = false;
};

Placeholder placeholder_of(std::string_view text) {
  Placeholder p;
  if (text.starts_with(',')) {
    const size_t equals = text.find('=');
    p.optional = true;
    p.parameter = text.substr(1, equals - 1);
    text = equals == text.npos ? text.substr(1) : text.substr(equals + 1);
  }
  if (const size_t bar = text.find('|'); bar != text.npos) {
    p.otherwise = text.substr(bar + 1);
    p.has_otherwise = true;
    text = text.substr(0, bar);
  }
  if (const size_t colon = text.find(':'); colon != text.npos) {
    p.kind = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  p.source = text;
  return p;
}

/// Calls f(literal text, placeholder text or nullopt) for the parts of a template.
template <class F>
void each_part(std::string_view text, F f) {
  while (!text.empty()) {
    const size_t open = text.find('{');
    if (open == text.npos) {
      f(text, std::optional<std::string_view>());
      return;
    }
    const size_t close = text.find('}', open);
    f(text.substr(0, open), std::optional(text.substr(open + 1, close - open - 1)));
    text.remove_prefix(close + 1);
  }
}

bool is_input(std::string_view source) {
  return !source.empty() && std::all_of(source.begin(), source.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool has_input(const Node& node, size_t i) { return i < node.inputs.size() && !node.inputs[i].empty(); }

/// Inputs of a node that must be known while the graph is built.
std::vector<size_t> host_inputs(const Node& node, const ImportRow& row) {
  std::vector<size_t> found;
  each_part(row.text, [&](std::string_view, std::optional<std::string_view> hole) {
    if (!hole) return;
    const Placeholder p = placeholder_of(*hole);
    if (is_input(p.source) && !p.kind.empty()) found.push_back(std::stoul(p.source));
  });
  for (std::string_view rest = row.host; !rest.empty();) {
    const size_t comma = rest.find(',');
    const std::string part(rest.substr(0, comma));
    rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
    if (part == "*")
      for (size_t i = 0; i < node.inputs.size(); ++i) found.push_back(i);
    else
      found.push_back(std::stoul(part));
  }
  std::erase_if(found, [&](size_t i) { return !has_input(node, i); });
  return found;
}

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options)
      : model_(model), options_(options), opset_(model.opset()) {}

  Imported run() {
    check_nodes(model_.graph, 0);
    for (const Function& f : model_.functions)
      for (const Node& n : f.nodes) check_node(n, opset_of(f), 0);
    if (!refused_.empty()) throw refusal();
    find_host_values(model_.graph, {});
    for (const Node& n : model_.graph.nodes)
      if (const Function* f = function_of(n)) used_.insert(f);
    std::string functions;
    for (const Function& f : model_.functions)
      if (used_.contains(&f)) functions += function_text(f);
    const std::string body = build_text();
    if (!refused_.empty()) throw refusal();
    finish(functions + body);
    return std::move(out_);
  }

 private:
  // ---- what cannot be imported

  Error refusal() const {
    std::vector<std::string> notes(refused_.begin(), refused_.end());
    return Error(fmt::format("cannot import {}: {}", options_.title,
                             notes.size() == 1 ? "1 node has no meaning in pxl"
                                               : fmt::format("{} nodes have no meaning in pxl", notes.size())),
                 notes)
        .as(codes::import);
  }
  void refuse(const Node& node, const std::string& why) { refused_.push_back(node.label() + ": " + why); }

  const Function* function_of(const Node& node) const {
    for (const Function& f : model_.functions)
      if (f.name == node.op && f.domain == node.domain) return &f;
    return nullptr;
  }
  int64_t opset_of(const Function& f) const {
    for (const OperatorSet& o : f.opsets)
      if (o.domain.empty()) return o.version;
    return opset_;
  }

  void check_nodes(const Graph& graph, int depth) {
    if (depth > deepest_graph)
      throw Error(fmt::format("cannot import {}: its graphs are nested too deeply", options_.title));
    for (const Node& n : graph.nodes) check_node(n, opset_, depth);
    for (const TensorData& t : graph.initialisers)
      if (!dtype_of(t.element()))
        refused_.push_back(fmt::format("initialiser `{}`: elements of {}", t.name, name(t.element())));
  }
  void check_node(const Node& node, int64_t opset, int depth) {
    if (!function_of(node) && !find_row(node, opset)) {
      const auto rows = import_rows();
      const bool known = std::any_of(rows.begin(), rows.end(), [&](const ImportRow& r) { return r.op == node.op; });
      refuse(node, known ? fmt::format("not in this form, or not in opset {}", opset) : "there is no such op in pxl");
    }
    for (const Attribute& a : node.attributes) {
      if (a.kind == AttributeKind::tensor && a.tensor && !dtype_of(a.tensor->element()))
        refuse(node, fmt::format("its attribute {} has elements of {}", a.name, name(a.tensor->element())));
      if (a.graph) check_nodes(*a.graph, depth + 1);
    }
  }

  // ---- values that must be known while the graph is built

  /// From the last node to the first: what a host value is computed from is one as well.
  void find_host_values(const Graph& graph, const std::set<std::string>& wanted) {
    host_.insert(wanted.begin(), wanted.end());
    for (size_t i = graph.nodes.size(); i-- > 0;) {
      const Node& node = graph.nodes[i];
      for (const Attribute& a : node.attributes)
        if (a.graph) find_host_values(*a.graph, {});
      const ImportRow* row = find_row(node, opset_);
      if (!row) continue;
      for (size_t input : host_inputs(node, *row)) host_.insert(node.inputs[input]);
      const bool host = std::any_of(node.outputs.begin(), node.outputs.end(),
                                    [&](const std::string& o) { return host_.contains(o); });
      if (host && node.op != "Shape" && node.op != "Size")
        for (const std::string& input : node.inputs)
          if (!input.empty()) host_.insert(input);
    }
  }

  // ---- names

  /// A name of the text, used once.
  std::string fresh(const std::string& wanted) { return taken_.fresh(wanted); }

  const Meaning* find(const Names& names, const std::string& value) const {
    for (const Names* at = &names; at; at = at->outer)
      if (auto it = at->here.find(value); it != at->here.end()) return &it->second;
    return nullptr;
  }
  /// The text of a value; notes what a graph takes from those around it.
  Meaning meaning(Names& names, const Node& node, const std::string& value) {
    if (auto it = names.here.find(value); it != names.here.end()) return it->second;
    const Meaning* found = find(names, value);
    if (!found) {
      refuse(node, fmt::format("its input `{}` is not computed before it", value));
      return {"none", nullptr};
    }
    if (is_name(found->text)) names.captured.insert(found->text);
    return *found;
  }

  // ---- values that the importer knows

  Meaning constant(const std::string& key, const Array& array) {
    Meaning m{.text = {}, .known = std::make_shared<const Array>(array)};
    if (is_writable(array)) {
      m.text = array_text(array);
    } else {
      const std::string unique = key_of(key);
      m.text = fmt::format("weights[{}]", quoted(unique));
      out_.weights.emplace_back(unique, array);
    }
    return m;
  }
  /// A key of the arrays' file: the name of the value, with a number where it is taken.
  std::string key_of(const std::string& wanted) {
    const std::string key = wanted.empty() ? "constant" : wanted;
    std::string unique = key;
    for (int n = 1; !keys_.insert(unique).second; ++n) unique = fmt::format("{}.{}", key, n);
    return unique;
  }

  // ---- the text of values and attributes

  std::string host_text(const Meaning& m, std::string_view kind) {
    if (kind == "host") return m.text;
    if (m.known && m.known->size() <= 256) {
      const Array& a = *m.known;
      std::string list;
      for (int64_t i = 0; i < a.size(); ++i) list += (i ? ", " : "") + element_text(a, i);
      if (kind == "ints" || kind == "floats") return "[" + list + "]";
      if (a.size() == 1) return list;
    }
    return fmt::format("onnx.{}({})", kind, m.text);
  }

  std::string tensor_text(const TensorData& t, const std::string& key) {
    return constant(key, to_array(t, model_.folder)).text;
  }

  std::optional<std::string> attribute_text(const Node& node, std::string_view wanted, std::string_view kind) {
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
          if (const auto dtype = dtype_of(type)) return std::string(pxl::name(*dtype));
          refuse(node, "elements of " + name(type));
          return "none";
        }
        return fmt::format("{}", a->i);
      case AttributeKind::floating: return number_text(a->f, false, true);
      case AttributeKind::string: {
        std::string s = a->s;
        if (kind == "lower")
          std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
        if (kind == "lower" && s == "notset") s = "not_set";
        return quoted(s);
      }
      case AttributeKind::integers: return joined(a->integers, [](int64_t v) { return fmt::format("{}", v); });
      case AttributeKind::floats: return joined(a->floats, [](float v) { return number_text(v, false, true); });
      case AttributeKind::strings: return joined(a->strings, [](const std::string& v) { return quoted(v); });
      case AttributeKind::tensor:
        if (a->tensor) return tensor_text(*a->tensor, node.outputs.empty() ? "constant" : node.outputs.front());
        break;
      default: break;
    }
    refuse(node, fmt::format("its attribute {} has no form in pxl", a->name));
    return "none";
  }

  std::optional<std::string> source_text(Names& names, const Node& node, const Placeholder& p) {
    if (!is_input(p.source)) return attribute_text(node, p.source, p.kind);
    const size_t i = std::stoul(p.source);
    if (!has_input(node, i)) return {};
    const Meaning m = meaning(names, node, node.inputs[i]);
    return p.kind.empty() ? m.text : host_text(m, p.kind);
  }

  std::string inputs_text(Names& names, const Node& node, bool trim) {
    size_t count = node.inputs.size();
    while (trim && count > 0 && node.inputs[count - 1].empty()) --count;
    std::string out;
    for (size_t i = 0; i < count; ++i)
      out += (i ? ", " : "") + (node.inputs[i].empty() ? "none" : meaning(names, node, node.inputs[i]).text);
    return out;
  }

  std::string filled(Names& names, const Node& node, std::string_view text) {
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

  // ---- statements

  void line(std::string text) { lines_ += std::string(static_cast<size_t>(depth_) * 2, ' ') + text + "\n"; }

  /// A graph inside a node as a function: of its own inputs, then of what it takes from outside.
  struct Body {
    std::string name;
    std::vector<std::string> captured;
  };
  Body body_function(Names& outer, const Node& node, const std::string& role, const Graph& graph) {
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
    for (const ValueInfo& o : graph.outputs)
      results += (results.empty() ? "" : ", ") + meaning(names, node, o.name).text;
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
  static std::string list_of(const std::vector<std::string>& items) {
    std::string out = "[";
    for (const std::string& i : items) out += (out.size() > 1 ? ", " : "") + i;
    return out + "]";
  }

  std::string call_text(Names& names, const Node& node, std::string_view function) {
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
        out += fmt::format("{} = {}, {}_takes = {}", a.name, body.name, a.name, list_of(body.captured));
        continue;
      }
      static const std::set<std::string> dtypes{"to", "dtype", "output_datatype"};
      const std::string value = attribute_text(node, a.name, dtypes.contains(a.name) ? "dtype" : "").value_or("none");
      out += fmt::format("{} = {}", a.name, value);
    }
    return out + ")";
  }

  std::string expression(Names& names, const Node& node, const ImportRow* row) {
    if (const Function* f = function_of(node)) {
      std::string out = fmt::format("{}({}", function_name(*f), inputs_text(names, node, true));
      for (const Attribute& a : node.attributes)
        out += fmt::format("{}attribute_{} = {}", out.back() == '(' ? "" : ", ", a.name,
                           attribute_text(node, a.name, {}).value_or("none"));
      return out + ")";
    }
    return row->text[0] == '*' ? call_text(names, node, row->text.substr(1)) : filled(names, node, row->text);
  }

  /// A Constant as what it is.
  std::optional<Meaning> constant_node(const Node& node) {
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

  void node_lines(Names& names, const Node& node) {
    if (const auto known = constant_node(node)) {
      // A long array gets a name, so that it is read once.
      Meaning m = *known;
      if (m.text.starts_with("weights[")) {
        const std::string variable = fresh(node.outputs.front());
        line(fmt::format("{} = {}", variable, m.text));
        m.text = variable;
      }
      names.here[node.outputs.front()] = m;
      return;
    }
    if (node.op == "Constant" && node.domain.empty()) {
      refuse(node, "its value has no form in pxl");
      return;
    }
    const Function* function = function_of(node);
    const ImportRow* row = function ? nullptr : find_row(node, function_opset_ ? function_opset_ : opset_);
    if (!function && !row) return;
    const std::string value = expression(names, node, row);
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

  void graph_lines(Names& names, const Graph& graph) {
    for (const TensorData& t : graph.initialisers) {
      Meaning m = constant(t.name, to_array(t, model_.folder));
      if (m.text.starts_with("weights[")) {
        const std::string variable = fresh(t.name);
        line(fmt::format("{} = {}", variable, m.text));
        m.text = variable;
      }
      names.here[t.name] = m;
    }
    for (const Node& n : graph.nodes) node_lines(names, n);
  }

  std::string function_name(const Function& f) {
    std::string& name = function_names_[&f];
    if (name.empty()) name = fresh(f.name);
    return name;
  }
  std::string function_text(const Function& f) {
    Names names;
    std::string parameters;
    for (const std::string& i : f.inputs) {
      const std::string variable = fresh(i);
      names.here[i] = {variable, nullptr};
      parameters += (parameters.empty() ? "" : ", ") + variable + " = none";
    }
    for (const std::string& a : f.attributes)
      parameters += (parameters.empty() ? "" : ", ") + ("attribute_" + a + " = none");
    lines_.clear();
    line(fmt::format("def {}({}) {{", function_name(f), parameters));
    ++depth_;
    function_opset_ = opset_of(f);
    for (const Node& n : f.nodes) node_lines(names, n);
    function_opset_ = 0;
    std::string results;
    Node place;
    place.op = f.name;
    for (const std::string& o : f.outputs) results += (results.empty() ? "" : ", ") + meaning(names, place, o).text;
    line("return [" + results + "]");
    --depth_;
    line("}\n");
    return std::exchange(lines_, {});
  }

  // ---- the module

  /// Where an extent of an input has a name, the extents that the module's configuration may give.
  std::string checked_extents(const ValueInfo& input) {
    if (!input.type || !input.type->tensor || !input.type->tensor->shape) return "";
    std::string extents;
    bool named = false;
    for (const Dimension& d : input.type->tensor->shape->dims) {
      std::string extent = "none";
      if (!d.value.empty()) {
        extent = fmt::format("{}", d.value.front());
      } else if (!d.parameter.empty()) {
        std::string& known = axes_[d.parameter];
        if (known.empty()) {
          known = fresh(d.parameter);
          axis_names_.push_back(known);
        }
        extent = known;
        named = true;
      }
      extents += (extents.empty() ? "" : ", ") + extent;
    }
    return named ? "[" + extents + "]" : "";
  }

  std::string annotation(const ValueInfo& input) {
    if (!input.type || !input.type->tensor) return "";
    const TensorType& t = *input.type->tensor;
    const auto dtype = dtype_of(static_cast<ElementType>(t.element));
    if (!dtype) {
      refused_.push_back(
          fmt::format("input `{}`: elements of {}", input.name, name(static_cast<ElementType>(t.element))));
      return "";
    }
    if (!t.shape) return fmt::format(": {}[...]", pxl::name(*dtype));
    std::string dims;
    for (const Dimension& d : t.shape->dims) {
      const std::string extent = d.value.empty() ? "_" : fmt::format("{}", d.value.front());
      dims += (dims.empty() ? "" : ", ") + extent;
    }
    return fmt::format(": {}[{}]", pxl::name(*dtype), dims);
  }

  std::string build_text() {
    const Graph& graph = model_.graph;
    Names names;
    std::set<std::string> initialised;
    for (const TensorData& t : graph.initialisers) initialised.insert(t.name);
    std::string parameters;
    std::vector<std::string> checks;
    for (const ValueInfo& input : graph.inputs) {
      if (initialised.contains(input.name)) continue;
      const std::string variable = fresh(input.name);
      names.here[input.name] = {variable, nullptr};
      const bool host = host_.contains(input.name);
      out_.inputs.push_back({input.name, variable, host});
      const std::string type = annotation(input);
      parameters += (parameters.empty() ? "" : ", ") + variable + (host ? "" : type);
      if (const std::string extents = checked_extents(input); !extents.empty() && !host)
        checks.push_back(fmt::format("onnx.check_extents({}, {})", variable, extents));
    }
    depth_ = 2;
    lines_.clear();
    for (const std::string& check : checks) line(check);
    for (const TensorData& t : graph.initialisers) initialiser_lines(names, t);
    for (const SparseTensor& t : graph.sparse_initialisers)
      names.here[t.values.name] = constant(t.values.name, to_array(t, model_.folder));
    for (const Node& n : graph.nodes) node_lines(names, n);
    std::string results;
    Node place;
    place.op = "the graph";
    for (const ValueInfo& o : graph.outputs) {
      results += (results.empty() ? "" : ", ") + meaning(names, place, o.name).text;
      out_.outputs.push_back(o.name);
    }
    line(graph.outputs.size() == 1 ? "return onnx.result(" + results + ")" : "return onnx.results(" + results + ")");
    const std::string body = std::exchange(lines_, {});
    std::string configuration;
    for (const std::string& axis : axis_names_)
      configuration += (configuration.empty() ? "(" : ", ") + axis + " = none";
    return fmt::format("module Model{} {{\n  build({}) {{\n{}  }}\n}}\n",
                       configuration + (configuration.empty() ? "" : ")"), parameters, body);
  }

  void initialiser_lines(Names& names, const TensorData& t) {
    const Array array = to_array(t, model_.folder);
    if (!is_floating(array.dtype()) || host_.contains(t.name) || array.size() == 0 || array.rank() == 0) {
      Meaning m = constant(t.name, array);
      if (m.text.starts_with("weights[")) {
        const std::string variable = fresh(t.name);
        line(fmt::format("{} = {}", variable, m.text));
        m.text = variable;
      }
      names.here[t.name] = m;
      return;
    }
    const std::string variable = fresh(t.name), key = key_of(t.name);
    out_.weights.emplace_back(key, array);
    std::string dims;
    for (int64_t d : array.shape()) dims += (dims.empty() ? "" : ", ") + fmt::format("{}", d);
    line(fmt::format("param {}: {}[{}] = weights[{}]", variable, pxl::name(array.dtype()), dims, quoted(key)));
    names.here[t.name] = {variable, nullptr};
  }

  void finish(const std::string& text) {
    std::string head = fmt::format("# Imported from {} (opset {}{}{}).\n", options_.title, opset_,
                                   model_.producer.empty() ? "" : ", written by ", model_.producer);
    std::replace(head.begin(), head.end() - 1, '\n', ' ');
    head += "import onnx\n";
    if (!out_.weights.empty() && !options_.weights_path.empty())
      head += fmt::format("\nweights = onnx.weights(beside({}))\n", quoted(options_.weights_path));
    out_.text = format_source(add_source("<import>", head + "\n" + text));
  }

  const Model& model_;
  const ImportOptions& options_;
  const int64_t opset_;
  int64_t function_opset_ = 0;
  Imported out_;
  std::vector<std::string> refused_;
  std::set<std::string> host_, keys_;
  std::set<const Function*> used_;
  std::map<const Function*, std::string> function_names_;
  std::map<std::string, std::string> axes_;
  std::vector<std::string> axis_names_;
  UniqueNames taken_;
  std::string lines_;
  int depth_ = 0;
};

bool fits(const Node& node, std::string_view condition) {
  if (condition.empty()) return true;
  if (condition[0] == '!') return !has_input(node, std::stoul(std::string(condition.substr(1))));
  const size_t sign = condition.find_first_of("=~");
  if (sign == condition.npos) return has_input(node, std::stoul(std::string(condition)));
  if (condition.substr(0, sign) == "outputs")
    return node.outputs.size() == std::stoul(std::string(condition.substr(sign + 1)));
  const Attribute* a = node.attribute(condition.substr(0, sign));
  if (!a) return condition[sign] == '~';
  if (!a->reference.empty()) return false;
  const std::string_view value = condition.substr(sign + 1);
  if (a->kind == AttributeKind::string) return a->s == value;
  const double number = std::stod(std::string(value));
  return a->kind == AttributeKind::integer ? static_cast<double>(a->i) == number : static_cast<double>(a->f) == number;
}

}  // namespace

const ImportRow* find_row(const Node& node, int64_t opset) {
  for (const ImportRow& row : import_rows()) {
    if (row.op != node.op || row.domain != (node.domain == "ai.onnx" ? "" : node.domain)) continue;
    if (row.domain.empty() && (opset < row.since || opset > row.until)) continue;
    bool all = true;
    for (std::string_view rest = row.when; all && !rest.empty();) {
      const size_t comma = rest.find(',');
      all = fits(node, rest.substr(0, comma));
      rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
    }
    if (all) return &row;
  }
  return nullptr;
}

Imported import_model(const Model& model, const ImportOptions& options) { return Importer(model, options).run(); }

}  // namespace pxl::onnx
