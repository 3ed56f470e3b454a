// Records what an oracle tried: rows, dtypes, and values and combinations of the attributes that are names or flags.
#pragma once

#include <map>
#include <set>
#include <string>

#include "runtime/op/op.hpp"

namespace pxl::test {

class Coverage {
 public:
  /// A sample that was compared.
  void add(const OpRow& row, DType dtype, const Attributes& attrs);
  size_t samples_of(const OpRow& row) const;
  /// Samples, rows, pairs of row and dtype, and of the combinations that the seen values of flags and names have, those
  /// tried together; then a line for each row with the values.
  std::string text() const;

 private:
  struct OfRow {
    size_t samples = 0;
    std::map<DType, size_t> dtypes{};
    std::map<std::string, std::set<std::string>> values{};  ///< by parameter
    std::set<std::string> combinations{};
  };
  std::map<std::string_view, OfRow> rows_;
};

/// The row's attributes in a sample: as given, or the defaults.
struct Sample;
Attributes attributes_of(const OpRow& row, const Sample& sample);

}  // namespace pxl::test
