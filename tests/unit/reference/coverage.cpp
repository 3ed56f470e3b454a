// See coverage.hpp.
#include "coverage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../ops/samples.hpp"

namespace pxl::test {

namespace {

/// Flags and names count, as they are few. Titles and brackets of printed tensors have no end.
bool counts(const OpRow& row, const Param& p) {
  return (p.kind == ParamKind::boolean || p.kind == ParamKind::string) && !row.side_effect &&
         !p.doc.starts_with("not used") && p.name != "output_name";
}
std::string text_of(const Attr& a) {
  if (const auto* b = std::get_if<bool>(&a)) return *b ? "true" : "false";
  const auto* s = std::get_if<std::string>(&a);
  return s ? *s : "none";
}

}  // namespace

Attributes attributes_of(const OpRow& row, const Sample& sample) {
  Attributes all;
  for (const Param& p : row.params) {
    const auto given = sample.attrs.find(std::string(p.name));
    all.push_back(given != sample.attrs.end() ? given->second : attribute(p.default_value));
  }
  return all;
}

void Coverage::add(const OpRow& row, DType dtype, const Attributes& attrs) {
  OfRow& of = rows_[row.name];
  ++of.samples;
  ++of.dtypes[dtype];
  std::string combination;
  for (size_t i = 0; i < row.params.size(); ++i) {
    if (!counts(row, row.params[i])) continue;
    const std::string value = text_of(attrs[i]);
    of.values[std::string(row.params[i].name)].insert(value);
    combination += value + ' ';
  }
  if (!combination.empty()) of.combinations.insert(combination);
}

size_t Coverage::samples_of(const OpRow& row) const {
  const auto found = rows_.find(row.name);
  return found == rows_.end() ? 0 : found->second.samples;
}

std::string Coverage::text() const {
  size_t samples = 0, pairs = 0, often = 0, possible = 0, tried = 0;
  std::string lines;
  for (const auto& [name, of] : rows_) {
    samples += of.samples;
    pairs += of.dtypes.size();
    for (const auto& [dtype, n] : of.dtypes) often += n >= 5;
    if (of.values.empty()) continue;
    size_t product = 1;
    lines += fmt::format("\n  {}:", name);
    for (const auto& [param, values] : of.values) {
      product *= values.size();
      lines += fmt::format(" {} = {};", param, fmt::join(values, "|"));
    }
    possible += product;
    tried += of.combinations.size();
    lines += fmt::format(" {} of {} combinations", of.combinations.size(), product);
  }
  return fmt::format(
      "{} samples of {} rows; of {} pairs of row and dtype {} have five or more; of {} combinations of flags and names "
      "{} were tried:{}",
      samples, rows_.size(), pairs, often, possible, tried, lines);
}

}  // namespace pxl::test
