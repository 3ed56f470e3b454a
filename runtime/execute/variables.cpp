#include "runtime/execute/variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/mapped_file.hpp"
#include "runtime/base/text/size_text.hpp"
#include "runtime/base/threads/parallel_copy.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/plan/arena.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

Variables::Variables(const Ir& ir, Processes& processes)
    : all_(ir.variables()), processes_(processes), range_(processes.replicas(ir.replication_factor)) {
  for (const Tensor* v : all_) {
    const size_t block = block_of(ir, v);
    int64_t& end = blocks_[block].replica_bytes;
    places_[v] = {block, end};
    if (v->spec.is_shard()) positions_[v] = positions_in_group(v->spec.shard_groups);
    const int64_t bytes = std::max<int64_t>(v->spec.bytes(), 1);
    end += (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
    bytes_ += v->spec.bytes() * range_.count;
  }
  // Initial values take their memory first, so that the refusal below knows how much memory is left.
  for (const Tensor* v : all_) v->data.raw();
  for (Block& block : blocks_) {
    const int64_t all_bytes = element_count({block.replica_bytes, range_.count});
    if (!block.folder.empty()) {
      block.memory = Array::wrap(DType::uint8, {all_bytes}, map_unnamed_file(block.folder, all_bytes));
      continue;
    }
    try {
      block.memory = Array(DType::uint8, {all_bytes});
    } catch (const Error&) {
      throw run_error(fmt::format("the variables of {} need {}, more than memory",
                                  range_.count == 1 ? fmt::format("program {}", ir.name())
                                                    : fmt::format("{} replicas of program {}", range_.count, ir.name()),
                                  size_text(all_bytes)))
          .as(codes::memory);
    }
  }
  for (const Tensor* v : all_) write(v, v->data);
  initial_ = true;
}

size_t Variables::block_of(const Ir& ir, const Tensor* v) {
  const std::string folder = v->remote ? ir.remote_buffers()[static_cast<size_t>(v->remote->buffer)].folder : "";
  for (size_t b = 0; b < blocks_.size(); ++b)
    if (blocks_[b].folder == folder) return b;
  blocks_.push_back({folder});
  return blocks_.size() - 1;
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

class Variables::Everywhere {
 public:
  Everywhere(const Variables& all, const Tensor* v, const std::vector<int>& wanted) : all_(all), v_(v) {
    const ReplicaRange& range = all.range_;
    if (range.all()) return;
    std::vector<Outgoing> sends;
    std::vector<Incoming> receives;
    const int64_t bytes = v->spec.bytes();
    for (const int r : wanted) {
      if (!range.has(r)) {
        std::byte* to = elsewhere_.emplace(r, Array(DType::uint8, {bytes})).first->second.mutable_raw();
        receives.push_back({all.processes_.owner(r, range.total), to, bytes});
        continue;
      }
      for (int p = 0; p < all.processes_.size(); ++p)
        if (p != all.processes_.rank()) sends.push_back({p, all.at(v, r), bytes});
    }
    all.processes_.exchange(sends, receives, {"in a read of a variable", {}, range.total});
  }
  const std::byte* at(int replica) const {
    return all_.range_.has(replica) ? all_.at(v_, replica) : elsewhere_.at(replica).raw();
  }

 private:
  const Variables& all_;
  const Tensor* v_;
  std::map<int, Array> elsewhere_;
};

namespace {

std::vector<int> every_replica(const ReplicaRange& range) {
  std::vector<int> all(static_cast<size_t>(range.total));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

std::vector<int> Variables::first_holders(const Tensor* v) const {
  std::vector<int> first;
  std::set<std::pair<int64_t, int64_t>> held;
  for (int r = 0; r < range_.total; ++r) {
    const Held own = held_by(v, r);
    if (held.emplace(own.group, own.position).second) first.push_back(r);
  }
  return first;
}

void Variables::write(const Tensor* v, const Array& value) {
  initial_ = false;
  for (int i = 0; i < range_.count; ++i) write_replica(v, value, range_.first + i);
}

void Variables::write_replica(const Tensor* v, const Array& value, int replica) {
  const Held held = held_by(v, replica);
  std::byte* to = at(v, replica);
  parallel_copy(to, value.raw() + held.host_begin, held.range.bytes);
  std::fill_n(to + held.range.bytes, v->spec.bytes() - held.range.bytes, std::byte{0});
}

Array Variables::read(const Tensor* v) const {
  Array value(v->spec.dtype, v->data.shape());
  const std::vector<int> holders = first_holders(v);
  const Everywhere from(*this, v, holders);
  for (const int r : holders) {
    const Held held = held_by(v, r);
    parallel_copy(value.mutable_raw() + held.host_begin, from.at(r), held.range.bytes);
  }
  return value;
}

std::vector<Variables::HeldRun> Variables::held_runs(const Tensor* v) const {
  const auto element = static_cast<int64_t>(size_of(v->spec.dtype));
  std::map<int64_t, HeldRun> runs;  // by first element
  for (int r = 0; r < range_.total; ++r) {
    const Held held = held_by(v, r);
    if (held.range.bytes == 0) continue;  // only padding
    HeldRun& run = runs[held.host_begin / element];
    run.begin = held.host_begin / element;
    run.end = run.begin + held.range.bytes / element;
    run.replicas.push_back(r);
  }
  std::vector<HeldRun> out;
  for (auto& [begin, run] : runs) out.push_back(std::move(run));
  return out;
}

Array Variables::read_run(const Tensor* v, const HeldRun& run, int replica) const {
  Array out(v->spec.dtype, {run.end - run.begin});
  parallel_copy(out.mutable_raw(), at(v, replica), out.bytes());
  return out;
}

Array Variables::read_all(const Tensor* v) const {
  if (range_.total == 1) return read(v);
  Shape shape = v->spec.shape;
  shape.insert(shape.begin(), range_.total);
  Array value(v->spec.dtype, std::move(shape));
  const Everywhere from(*this, v, every_replica(range_));
  for (int r = 0; r < range_.total; ++r)
    parallel_copy(value.mutable_raw() + r * v->spec.bytes(), from.at(r), v->spec.bytes());
  return value;
}

void Variables::write_all(const Tensor* v, const Array& values) {
  initial_ = false;
  const int64_t bytes = v->spec.bytes();
  for (int i = 0; i < range_.count; ++i)
    parallel_copy(at(v, range_.first + i), values.raw() + (range_.first + i) * bytes, bytes);
}

bool Variables::equal_everywhere(const Tensor* v) const {
  std::vector<Fingerprint> prints(static_cast<size_t>(range_.total));
  const auto of = [&](int process) { return reinterpret_cast<std::byte*>(prints.data() + process * range_.count); };
  for (int r = range_.first; r < range_.first + range_.count; ++r)
    prints[static_cast<size_t>(r)].add(
        {reinterpret_cast<const char*>(at(v, r)), static_cast<size_t>(held_by(v, r).range.bytes)});
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  const auto bytes = static_cast<int64_t>(sizeof(Fingerprint)) * range_.count;
  for (int p = 0; p < processes_.size(); ++p) {
    if (p == processes_.rank()) continue;
    sends.push_back({p, of(processes_.rank()), bytes});
    receives.push_back({p, of(p), bytes});
  }
  processes_.exchange(sends, receives, {"in a comparison of a variable", {}, range_.total});
  std::map<std::pair<int64_t, int64_t>, Fingerprint> held;
  for (int r = 0; r < range_.total; ++r) {
    const Held own = held_by(v, r);
    const Fingerprint& print = prints[static_cast<size_t>(r)];
    if (held.try_emplace({own.group, own.position}, print).first->second != print) return false;
  }
  return true;
}

void Variables::check_equal(const Tensor* v, std::string_view what) const {
  if (!range_.all() && equal_everywhere(v)) return;
  const Everywhere from(*this, v, every_replica(range_));
  std::map<std::pair<int64_t, int64_t>, std::vector<int>> holders;  // of a group's value, or of a part of it
  for (int r = 0; r < range_.total; ++r) {
    const Held held = held_by(v, r);
    holders[{held.group, held.position}].push_back(r);
  }
  const Shape whole = whole_spec(v->spec).shape;
  for (const auto& [part, members] : holders)
    for (const int second : members) {
      const int first = members[0];
      const ShardRange range = held_by(v, first).range;
      const std::byte *a = from.at(first), *b = from.at(second);
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
    parallel_copy(copies_[i].mutable_raw(), variables_.at(changed_[i], replica_), changed_[i]->spec.bytes());
}

void VariableSnapshot::restore() {
  for (size_t i = 0; i < changed_.size(); ++i) {
    if (initial_)
      variables_.write_replica(changed_[i], changed_[i]->data, replica_);
    else
      parallel_copy(variables_.at(changed_[i], replica_), copies_[i].raw(), changed_[i]->spec.bytes());
  }
}

}  // namespace pxl
