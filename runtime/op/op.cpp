// Accessors of rows and attributes by name.
#include <fmt/format.h>
#include <algorithm>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/op/op.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

namespace {

[[noreturn]] void internal(std::string message) { throw Error(std::move(message), {}, Fault::internal); }

template <class T>
const T& typed(const OpContext& site, std::string_view param, std::string_view wanted) {
  const T* value = std::get_if<T>(&site.attr(param));
  if (!value) internal(fmt::format("{}: attribute {} does not hold {}", site.row.name, param, wanted));
  return *value;
}

}  // namespace

Attr::Attr() = default;
Attr::Attr(const Attr&) = default;
Attr::Attr(Attr&&) noexcept = default;
Attr& Attr::operator=(const Attr&) = default;
Attr& Attr::operator=(Attr&&) noexcept = default;
Attr::~Attr() = default;

Attr attribute(const Default& value) {
  switch (value.kind) {
    case Default::boolean: return value.i != 0;
    case Default::integer: return value.i;
    case Default::number: return value.d;
    case Default::string: return std::string(value.s);
    case Default::dtype: return static_cast<DType>(value.i);
    case Default::none:
    case Default::required: break;
  }
  return {};
}

Precision precision_of(const OpRow& row) {
  if (row.precision != Precision::pattern) return row.precision;
  if (row.pattern == Pattern::product) return Precision::low;
  const bool moves = row.pattern == Pattern::elementwise || row.pattern == Pattern::movement;
  return moves && row.exchange == Exchange::none ? Precision::follows : Precision::kept;
}

Tolerance tolerance_of(const OpRow& row) {
  if (row.tolerance) return *row.tolerance;
  // Collectives round as their definition says.
  if (row.pattern == Pattern::movement || row.exchange != Exchange::none) return tolerance::bits;
  return row.pattern == Pattern::elementwise ? tolerance::function : tolerance::sum;
}

size_t param_index(const OpRow& row, std::string_view param) {
  for (size_t i = 0; i < row.params.size(); ++i)
    if (row.params[i].name == param) return i;
  internal(fmt::format("op {} has no parameter {}", row.name, param));
}

bool is_variadic(const OpRow& row) { return !row.params.empty() && row.params[0].kind == ParamKind::tensors; }

size_t slot_count(const OpRow& row) {
  return static_cast<size_t>(
      std::count_if(row.params.begin(), row.params.end(), [](const Param& p) { return is_operand(p.kind); }));
}

size_t slot_of(const OpRow& row, std::string_view param) {
  const size_t index = param_index(row, param);
  if (!is_operand(row.params[index].kind)) internal(fmt::format("{} of op {} is not an operand", param, row.name));
  return static_cast<size_t>(std::count_if(row.params.begin(), row.params.begin() + static_cast<ptrdiff_t>(index),
                                           [](const Param& p) { return is_operand(p.kind); }));
}

std::string OpContext::label(size_t slot) const {
  if (name_of)
    if (std::string name = name_of(named, slot); !name.empty()) return name;
  if (is_variadic(row)) return fmt::format("operand {}", slot + 1);
  size_t seen = 0;
  for (const Param& p : row.params)
    if (is_operand(p.kind) && seen++ == slot) return std::string(p.name);
  return fmt::format("operand {}", slot + 1);
}

const Attr& OpContext::attr(std::string_view param) const {
  const size_t index = param_index(row, param);
  if (index >= attrs.size()) internal(fmt::format("{}: attribute {} is missing", row.name, param));
  return attrs[index];
}

int64_t OpContext::integer(std::string_view param) const { return typed<int64_t>(*this, param, "an integer"); }

double OpContext::number(std::string_view param) const {
  if (const int64_t* i = std::get_if<int64_t>(&attr(param))) return static_cast<double>(*i);
  return typed<double>(*this, param, "a number");
}

Array OpContext::element(std::string_view param, DType dtype) const {
  if (const int64_t* i = std::get_if<int64_t>(&attr(param))) return Array::scalar(*i).cast(dtype);
  return Array::scalar(number(param)).cast(dtype);
}

bool OpContext::boolean(std::string_view param) const { return typed<bool>(*this, param, "a bool"); }

const std::string& OpContext::string(std::string_view param) const {
  return typed<std::string>(*this, param, "a string");
}

DType OpContext::dtype(std::string_view param) const { return typed<DType>(*this, param, "a dtype"); }

std::vector<int64_t> OpContext::integers(std::string_view param) const {
  if (const int64_t* i = std::get_if<int64_t>(&attr(param))) return {*i};
  return typed<std::vector<int64_t>>(*this, param, "a list of integers");
}

}  // namespace pxl
