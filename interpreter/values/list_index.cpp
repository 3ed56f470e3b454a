// `x[key]` and `x[key] = value` on lists and tuples.
#include <fmt/format.h>

#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/never_destroyed.hpp"

namespace pxl {

Value SequenceObject::sliced(const SliceRange& r) const {
  charge_steps(r.count, 10);
  std::vector<Value> out;
  if (r.step == 1) {
    out.assign(items.begin() + r.start, items.begin() + r.start + r.count);
  } else {
    out.reserve(static_cast<size_t>(r.count));
    for (int64_t i = 0; i < r.count; ++i) out.push_back(items[static_cast<size_t>(r.start + i * r.step)]);
  }
  return is_tuple(*this) ? make_tuple(std::move(out)) : make_list(std::move(out));
}

Value SequenceObject::index(Interpreter&, const Value& key) {
  if (auto* s = key.as<SliceObject>()) {
    return sliced(resolve_slice(*s, static_cast<int64_t>(items.size())));
  }
  const auto size = static_cast<int64_t>(items.size());
  if (key.is_int64() && key.int64() >= -size && key.int64() < size)
    return items[static_cast<size_t>(key.int64() < 0 ? key.int64() + size : key.int64())];
  // The texts have static storage: an error unwinds no text that this function made.
  static const auto& list_names = never_destroyed(std::pair<std::string, std::string>("index of a list", "a list"));
  static const auto& tuple_names = never_destroyed(std::pair<std::string, std::string>("index of a tuple", "a tuple"));
  const auto& [subscript, sequence] = is_tuple(*this) ? tuple_names : list_names;
  return items[static_cast<size_t>(wrap_index(element_index(key, subscript), size, sequence))];
}

void ListObject::set_index(Interpreter& in, const Value& key, Value value) {
  changing();
  if (auto* s = key.as<SliceObject>()) {
    std::vector<Value> fresh = elements_of(in, value);
    const SliceRange r = resolve_slice(*s, static_cast<int64_t>(items.size()));
    if (r.step == 1) {
      const auto at = items.begin() + r.start;
      items.insert(items.erase(at, at + r.count), fresh.begin(), fresh.end());
      return;
    }
    if (static_cast<int64_t>(fresh.size()) != r.count) {
      throw run_error(fmt::format("cannot assign {} values to a slice of {} elements", fresh.size(), r.count));
    }
    for (int64_t i = 0; i < r.count; ++i)
      items[static_cast<size_t>(r.start + i * r.step)] = fresh[static_cast<size_t>(i)];
    return;
  }
  const int64_t i = wrap_index(element_index(key, "index of a list"), static_cast<int64_t>(items.size()), "a list");
  std::swap(items[static_cast<size_t>(i)], value);
}

}  // namespace pxl
