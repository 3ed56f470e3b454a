#include "interpreter/onnx/import_template.hpp"

#include <algorithm>

#include "interpreter/onnx/import_loops.hpp"

namespace pxl::onnx {

Placeholder placeholder_of(FixedText text) {
  Placeholder p;
  const auto part_after = [&](char sign) -> std::optional<FixedText> {
    const size_t at = text.view().find(sign);
    if (at == std::string_view::npos) return {};
    const FixedText after = text.substr(at + 1);
    text = text.substr(0, at);
    return after;
  };
  if (text.view().starts_with(',')) {
    text = text.substr(1);
    const std::optional<FixedText> source = part_after('=');
    p.optional = true;
    p.parameter = text;
    text = source.value_or(text);
  }
  if (const auto otherwise = part_after('|')) {
    p.otherwise = *otherwise;
    p.has_otherwise = true;
  }
  if (const auto kind = part_after(':')) p.kind = kind->view();
  p.source = text.view();
  return p;
}

bool is_input(std::string_view source) {
  return !source.empty() && std::all_of(source.begin(), source.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool has_input(const Node& node, size_t i) { return i < node.inputs.size() && !node.inputs[i].empty(); }

std::vector<size_t> host_inputs(const Node& node, const ImportRow& row) {
  std::vector<size_t> found;
  each_part(row.text, [&](FixedText, std::optional<FixedText> hole) {
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

namespace {

/// Whether a graph inside the node returns an optional, whose value one branch may lack.
bool gives_optional(const Node& node) {
  const auto is_optional = [](const ValueInfo& v) { return v.type && v.type->optional; };
  return std::any_of(node.attributes.begin(), node.attributes.end(), [&](const Attribute& a) {
    return a.graph && std::any_of(a.graph->outputs.begin(), a.graph->outputs.end(), is_optional);
  });
}

bool fits(const Node& node, std::string_view condition, int64_t opset, bool judging_loops) {
  if (condition.empty()) return true;
  if (condition == "steady") return judging_loops && is_steady(node, opset);
  if (condition == "conditional") return is_conditional_loop(node, opset, judging_loops);
  if (condition == "plain") return is_plain_loop(node);
  if (condition == "optional") return gives_optional(node);
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

const ImportRow* find_row(const Node& node, int64_t opset, bool judging_loops) {
  for (const ImportRow& row : import_rows()) {
    if (row.op != node.op || row.domain != node.domain) continue;
    if (row.domain.empty() && (opset < row.since || opset > row.until)) continue;
    bool all = true;
    for (std::string_view rest = row.when; all && !rest.empty();) {
      const size_t comma = rest.find(',');
      all = fits(node, rest.substr(0, comma), opset, judging_loops);
      rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
    }
    if (all) return &row;
  }
  return nullptr;
}

}  // namespace pxl::onnx
