#include "runtime/execute/variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/mapped_file.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/text/size_text.hpp"
#include "runtime/base/threads/parallel_copy.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/plan/arena.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

Variables::Variables(const Ir& ir, Processes& processes, const std::vector<const Variables*>& owners)
    : all_(ir.variables()), processes_(processes), range_(processes.replicas(ir.replication_factor)) {
  std::set<SessionMemory*> memories{own_.get()};
  for (const Tensor* v : all_) {
    if (v->spec.is_shard()) positions_[v] = positions_in_group(v->spec.shard_groups);
    if (v->shared) {
      memories.insert(places_.emplace(v, shared_place(v, owners)).first->second.memory.get());
      continue;
    }
    const size_t block = block_of(ir, v);
    int64_t& end = own_->blocks[block].replica_bytes;
    places_[v] = {own_, block, end, range_.count, &own_->changes.emplace_back(0)};
    const int64_t bytes = std::max<int64_t>(v->spec.bytes(), 1);
    end += (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
    bytes_ += v->spec.bytes() * range_.count;
  }
  memories_.assign(memories.begin(), memories.end());  // by address
  allocate(ir);
  for (const Tensor* v : all_)
    if (!v->shared) write(v, v->data);
  own_->initial = true;
}

void Variables::allocate(const Ir& ir) {
  // Initial values take their memory first, so that the refusal below knows how much memory is left.
  for (const Tensor* v : all_)
    if (!v->shared) v->data.raw();
  for (SessionMemory::Block& block : own_->blocks) {
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
}

size_t Variables::block_of(const Ir& ir, const Tensor* v) {
  const std::string folder = v->remote ? ir.remote_buffers()[static_cast<size_t>(v->remote->buffer)].folder : "";
  for (size_t b = 0; b < own_->blocks.size(); ++b)
    if (own_->blocks[b].folder == folder) return b;
  own_->blocks.push_back({folder});
  return own_->blocks.size() - 1;
}

Variables::Place Variables::shared_place(const Tensor* v, const std::vector<const Variables*>& owners) const {
  std::optional<Place> found;
  for (const Variables* owner : owners)
    for (const Tensor* t : owner->all_) {
      if (t != v->shared.get() && t->shared != v->shared) continue;
      const Place& place = owner->places_.at(t);
      if (found && found->memory != place.memory)
        throw Error(fmt::format("two sessions in `variables` have memory for the variable `{}` of program {}",
                                shown_name(*v->shared), v->shared->graph->ir().name()))
            .as(codes::session);
      found = place;
      break;
    }
  if (!found)
    throw Error("the variable `" + shown_name(*v) + "` was added after its session was made").as(codes::session);
  return *found;
}

void check_shared(const Ir& ir, const std::vector<const Ir*>& owners) {
  bool shares = false;
  for (const Tensor* v : ir.variables()) {
    if (!v->shared) continue;
    shares = true;
    const Tensor& root = *v->shared;
    const std::string &here = ir.name(), &there = root.graph->ir().name();
    const auto has = [&](const Ir* owner) {
      return owner == &root.graph->ir() ||
             std::ranges::any_of(owner->variables(), [&](const Tensor* t) { return t->shared.get() == &root; });
    };
    const auto owner = std::ranges::find_if(owners, has);
    if (owner == owners.end())
      throw Error(
          owners.empty()
              ? fmt::format("program {} shares the variable `{}` with program {}, and has no memory for it", here,
                            shown_name(root), there)
              : fmt::format("the variable `{}` of program {} is in no session of `variables`", shown_name(root), there),
          {fmt::format("`Session({}(...), variables = session)` has the memory of a session of {}", here, there)})
          .as(codes::session);
    if ((*owner)->replication_factor != ir.replication_factor && (!root.groups.empty() || root.spec.is_shard()))
      throw Error(
          fmt::format("replicas of program {} hold different values of `{}`: program {} has {} replicas, not {}", there,
                      shown_name(root), here, ir.replication_factor, (*owner)->replication_factor),
          {"programs with equal numbers of replicas share such a variable"})
          .as(codes::replicas);
  }
  if (!owners.empty() && !shares)
    throw Error(fmt::format("program {} has no variable of another program: `variables` is for those", ir.name()),
                {"a program shares what it binds: `graph.bind(other.vars)`, `net.bound(x, vars = other)`"})
        .as(codes::session);
}

void Variables::check_changes(const std::vector<const Tensor*>& changed) const {
  for (const Tensor* v : changed)
    if (v->shared && places_.at(v).replicas != range_.count)
      throw Error(
          fmt::format("program {} changes `{}`, which it shares with program {}, whose number of replicas differs",
                      v->graph->ir().name(), shown_name(*v), v->shared->graph->ir().name()),
          {"both programs need one number of replicas, or this one only reads the variable"})
          .as(codes::replicas);
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

bool Variables::wrote_everywhere(const Tensor* v, const std::byte* value) {
  const Place& place = places_.at(v);
  if (place.replicas == range_.count) return false;
  for (int i = 0; i < place.replicas; ++i) parallel_copy(changed(v, range_.first + i), value, v->spec.bytes());
  return true;
}

void Variables::write(const Tensor* v, const Array& value) {
  places_.at(v).memory->initial = false;
  if (wrote_everywhere(v, value.raw())) return;
  for (int i = 0; i < range_.count; ++i) write_replica(v, value, range_.first + i);
}

void Variables::write_replica(const Tensor* v, const Array& value, int replica) {
  const Held held = held_by(v, replica);
  std::byte* to = changed(v, replica);
  parallel_copy(to, value.raw() + held.host_begin, held.range.bytes);
  std::fill_n(to + held.range.bytes, v->spec.bytes() - held.range.bytes, std::byte{0});
}

void Variables::put_back(const Tensor* v, const Array& bytes, int replica) {
  parallel_copy(changed(v, replica), bytes.raw(), v->spec.bytes());
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
  places_.at(v).memory->initial = false;
  if (wrote_everywhere(v, values.raw())) return;
  const int64_t bytes = v->spec.bytes();
  for (int i = 0; i < range_.count; ++i)
    parallel_copy(changed(v, range_.first + i), values.raw() + (range_.first + i) * bytes, bytes);
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
  const std::vector<const Tensor*>& copied = engine_.copied_variables();
  while (copies_.size() < copied.size())
    copies_.emplace_back(DType::uint8, Shape{copied[copies_.size()]->spec.bytes()});
  for (size_t i = 0; i < copied.size(); ++i)
    parallel_copy(copies_[i].mutable_raw(), variables_.at(copied[i], replica_), copied[i]->spec.bytes());
}

void VariableSnapshot::restore() {
  engine_.restore_parts();
  const std::vector<const Tensor*>& copied = engine_.copied_variables();
  for (size_t i = 0; i < copied.size(); ++i) {
    if (initial_)
      variables_.write_replica(copied[i], copied[i]->data, replica_);
    else
      variables_.put_back(copied[i], copies_[i], replica_);
  }
}

// ---- turns

VariablesTurn::VariablesTurn(const std::vector<SessionMemory*>& memories) : held_(&memories) { lock(memories); }

VariablesTurn::VariablesTurn(const Variables& of, const Variables& other) : held_(&union_) {
  std::ranges::set_union(of.memories(), other.memories(), std::back_inserter(union_));
  lock(union_);
}

void VariablesTurn::lock(const std::vector<SessionMemory*>& memories) {
  constexpr std::chrono::milliseconds between_looks(20);
  size_t locked = 0;
  try {
    for (; locked < memories.size(); ++locked)
      if (!memories[locked]->turn.try_lock())
        while (!memories[locked]->turn.try_lock_for(between_looks)) check_interrupt();
  } catch (...) {
    while (locked > 0) memories[--locked]->turn.unlock();
    throw;
  }
}

VariablesTurn::~VariablesTurn() {
  for (SessionMemory* m : *held_) m->turn.unlock();
}

VariablesRun::VariablesRun(const Variables& of) : turn_(of), of_(of) {
  for (const SessionMemory* m : of.memories())
    if (m->running)
      throw run_error("the memory of the session's variables is in use by a run that has not ended").as(codes::session);
  for (SessionMemory* m : of.memories()) m->running = true;
}

VariablesRun::~VariablesRun() {
  for (SessionMemory* m : of_.memories()) m->running = false;
}

}  // namespace pxl
