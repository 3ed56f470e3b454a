#include "runtime/execute/variables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/codes.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/plan/arena.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

Variables::Variables(const Ir& ir) : all_(ir.variables()), replicas_(ir.replication_factor) {
  int64_t end = 0;
  for (const Tensor* v : all_) {
    offsets_[v] = end;
    const int64_t bytes = std::max<int64_t>(v->spec.bytes(), 1);
    end += (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
    bytes_ += v->spec.bytes() * replicas_;
  }
  replica_bytes_ = end;
  try {
    block_ = Array(DType::uint8, {element_count({end, replicas_})});
  } catch (const Error&) {
    throw run_error(fmt::format("the variables of {} need {} bytes, more than memory",
                                replicas_ == 1 ? fmt::format("program {}", ir.name())
                                               : fmt::format("the {} replicas of program {}", replicas_, ir.name()),
                                end * replicas_))
        .as(codes::memory);
  }
  for (const Tensor* v : all_) write(v, v->data);
  initial_ = true;
}

void Variables::write(const Tensor* v, const Array& value) {
  initial_ = false;
  for (int r = 0; r < replicas_; ++r) write_replica(v, value, r);
}

void Variables::write_replica(const Tensor* v, const Array& value, int replica) {
  const int64_t bytes = v->spec.bytes();
  const int64_t row = v->groups.empty() ? 0 : v->groups[static_cast<size_t>(replica)];
  std::copy_n(value.raw() + row * bytes, bytes, at(v, replica));
}

Array Variables::read(const Tensor* v) const {
  Array value(v->spec.dtype, v->data.shape());
  for (int r = replicas_ - 1; r >= 0; --r) {
    const int64_t row = v->groups.empty() ? 0 : v->groups[static_cast<size_t>(r)];
    std::copy_n(at(v, r), v->spec.bytes(), value.mutable_raw() + row * v->spec.bytes());
  }
  return value;
}

Array Variables::read_all(const Tensor* v) const {
  if (replicas_ == 1) return read(v);
  Shape shape = v->spec.shape;
  shape.insert(shape.begin(), replicas_);
  Array value(v->spec.dtype, std::move(shape));
  for (int r = 0; r < replicas_; ++r)
    std::copy_n(at(v, r), v->spec.bytes(), value.mutable_raw() + r * v->spec.bytes());
  return value;
}

void Variables::write_all(const Tensor* v, const Array& values) {
  initial_ = false;
  for (int r = 0; r < replicas_; ++r) std::copy_n(values.raw() + r * v->spec.bytes(), v->spec.bytes(), at(v, r));
}

void Variables::check_equal(const Tensor* v, std::string_view what) const {
  const ReplicaGroups groups = v->groups.empty() ? one_group(replicas_) : v->groups;
  const int64_t bytes = v->spec.bytes();
  for (const std::vector<int64_t>& members : group_members(groups))
    for (int64_t other : members) {
      const auto first = static_cast<int>(members[0]), second = static_cast<int>(other);
      const std::byte *a = at(v, first), *b = at(v, second);
      if (std::equal(a, a + bytes, b)) continue;
      const auto width = static_cast<int64_t>(size_of(v->spec.dtype));
      const int64_t element = (std::mismatch(a, a + bytes, b).first - a) / width;
      Shape place;
      for (const int64_t stride : strides_of(v->spec.shape))
        place.push_back(element / stride % v->spec.shape[place.size()]);
      const auto shown = [&](const std::byte* data) {
        Array value(v->spec.dtype, Shape{});
        std::copy_n(data + element * width, width, value.mutable_raw());
        return to_text(value);
      };
      throw run_error(
          fmt::format("{}: the replicas {} and {} hold different values of the variable `{}`: {} and {} at {}", what,
                      first, second, v->name, shown(a), shown(b), bracket_text(place)),
          {"members of a group hold one value: is a collective missing where the variable is updated?",
           fmt::format(
               "`get_tensor_data(..., retrieval = \"all\")` gives the value of each replica; a variable that is "
               "to differ is declared `with replica_grouping = ir.replica_grouping(group_size = 1)`")})
          .as(codes::replicas);
    }
}

void VariableSnapshot::take() {
  initial_ = variables_.initial();
  if (initial_) return;  // the program holds the values
  while (copies_.size() < changed_.size())
    copies_.emplace_back(DType::uint8, Shape{changed_[copies_.size()]->spec.bytes()});
  for (size_t i = 0; i < changed_.size(); ++i)
    std::copy_n(variables_.at(changed_[i], replica_), changed_[i]->spec.bytes(), copies_[i].mutable_raw());
}

void VariableSnapshot::restore() {
  for (size_t i = 0; i < changed_.size(); ++i) {
    if (initial_)
      variables_.write_replica(changed_[i], changed_[i]->data, replica_);
    else
      std::copy_n(copies_[i].raw(), changed_[i]->spec.bytes(), variables_.at(changed_[i], replica_));
  }
}

}  // namespace pxl
