#include "runtime/execute/variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/base/codes.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/plan/arena.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

Variables::Variables(const Ir& ir) : all_(ir.variables()), replicas_(ir.replication_factor) {
  int64_t end = 0;
  for (const Tensor* v : all_) {
    offsets_[v] = end;
    if (v->spec.is_shard()) positions_[v] = positions_in_group(v->spec.shard_groups);
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

Variables::Held Variables::held_by(const Tensor* v, int replica) const {
  const auto r = static_cast<size_t>(replica);
  Held held;
  held.group = v->groups.empty() ? 0 : v->groups[r];
  held.range = {0, v->spec.bytes()};
  if (const auto positions = positions_.find(v); positions != positions_.end()) {
    held.position = positions->second[r];
    held.range = shard_range(v->spec, held.position);
  }
  held.host_begin = held.group * whole_spec(v->spec).bytes() + held.range.begin;
  return held;
}

void Variables::write(const Tensor* v, const Array& value) {
  initial_ = false;
  for (int r = 0; r < replicas_; ++r) write_replica(v, value, r);
}

void Variables::write_replica(const Tensor* v, const Array& value, int replica) {
  const Held held = held_by(v, replica);
  std::byte* to = at(v, replica);
  std::copy_n(value.raw() + held.host_begin, held.range.bytes, to);
  std::fill_n(to + held.range.bytes, v->spec.bytes() - held.range.bytes, std::byte{0});
}

Array Variables::read(const Tensor* v) const {
  Array value(v->spec.dtype, v->data.shape());
  for (int r = replicas_ - 1; r >= 0; --r) {
    const Held held = held_by(v, r);
    std::copy_n(at(v, r), held.range.bytes, value.mutable_raw() + held.host_begin);
  }
  return value;
}

Array Variables::read_all(const Tensor* v) const {
  if (replicas_ == 1) return read(v);
  Shape shape = v->spec.shape;
  shape.insert(shape.begin(), replicas_);
  Array value(v->spec.dtype, std::move(shape));
  for (int r = 0; r < replicas_; ++r) std::copy_n(at(v, r), v->spec.bytes(), value.mutable_raw() + r * v->spec.bytes());
  return value;
}

void Variables::write_all(const Tensor* v, const Array& values) {
  initial_ = false;
  for (int r = 0; r < replicas_; ++r) std::copy_n(values.raw() + r * v->spec.bytes(), v->spec.bytes(), at(v, r));
}

void Variables::check_equal(const Tensor* v, std::string_view what) const {
  std::map<std::pair<int64_t, int64_t>, std::vector<int>> holders;  // of a group's value, or of a part of it
  for (int r = 0; r < replicas_; ++r) {
    const Held held = held_by(v, r);
    holders[{held.group, held.position}].push_back(r);
  }
  const Shape whole = whole_spec(v->spec).shape;
  for (const auto& [part, members] : holders)
    for (const int second : members) {
      const int first = members[0];
      const ShardRange range = held_by(v, first).range;
      const std::byte *a = at(v, first), *b = at(v, second);
      if (std::equal(a, a + range.bytes, b)) continue;
      const auto width = static_cast<int64_t>(size_of(v->spec.dtype));
      const int64_t element = (std::mismatch(a, a + range.bytes, b).first - a) / width;
      Shape place;
      for (const int64_t stride : strides_of(whole))
        place.push_back((range.begin / width + element) / stride % whole[place.size()]);
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
