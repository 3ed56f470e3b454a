// The table of passes, and the options that select them.
#include "runtime/plan/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/settings.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/base/verification.hpp"
#include "runtime/plan/node_values.hpp"
#include "runtime/plan/verify_nodes.hpp"

namespace pxl {

namespace {

constexpr PlanPass table[] = {
#define PXL_PASS(name, reference, doc) {#name, doc, name, reference},
#define PXL_LOWERING_PASS(name, reference, doc) {#name, doc, nullptr, reference},
#include "runtime/plan/passes.inc"
#undef PXL_PASS
#undef PXL_LOWERING_PASS
};
static_assert(std::size(table) <= 32, "PlanOptions::off has a bit for each");

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const PlanPass& t : table) names.emplace_back(t.name);
  return names;
}

std::vector<std::string> words(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) out.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return out;
}

Error usage(std::string message, const std::string& name, std::vector<std::string> names) {
  std::vector<std::string> notes = {fmt::format("known: {}", join_texts(names, ", "))};
  if (std::string hint = did_you_mean(name, names); !hint.empty()) notes.insert(notes.begin(), hint);
  return Error(std::move(message), std::move(notes), Fault::usage);
}

}  // namespace

PassContext::PassContext(std::vector<Node>& ns, const Aliases& as, const std::vector<const Tensor*>& results, Keep live,
                         std::deque<Tensor>& made, const Unchanged* same, const Target& machine)
    : nodes(ns), aliases(as), outputs(results), keep(live), constants(made), unchanged(same), target(machine) {
  for (const Tensor* t : outputs) is_output_.insert(t);
}

void PassContext::index_uses() const {
  if (has_uses_) return;
  has_uses_ = true;
  uses_.reserve(nodes.size());
  size_t total = 0;
  for (size_t p = 0; p < nodes.size(); ++p) {
    for (const Tensor* t : nodes[p].out) uses_[t].producer = static_cast<int>(p);
    for (const Tensor* t : nodes[p].in)
      if (t) ++uses_[t].count, ++total;
  }
  readers_.resize(total);
  int free = 0;
  for (size_t p = 0; p < nodes.size(); ++p)
    for (const Tensor* t : nodes[p].in) {
      if (!t) continue;
      Uses& u = uses_.at(t);
      if (u.begin < 0) u.begin = std::exchange(free, free + std::exchange(u.count, 0));
      readers_[static_cast<size_t>(u.begin + u.count++)] = static_cast<int>(p);
    }
}

const PassContext::Uses* PassContext::uses(const Tensor* tensor) const {
  index_uses();
  const auto* found = uses_.find(tensor);
  return found != uses_.end() ? &found->second : nullptr;
}

int PassContext::producer(const Tensor* tensor) const {
  const Uses* u = uses(tensor);
  return u ? u->producer : -1;
}

std::span<const int> PassContext::consumers(const Tensor* tensor) const {
  const Uses* u = uses(tensor);
  if (!u || u->begin < 0) return {};
  return std::span(readers_).subspan(static_cast<size_t>(u->begin), static_cast<size_t>(u->count));
}

std::span<const PlanPass> plan_passes() { return table; }

size_t pass_index(std::string_view name) {
  for (size_t i = 0; i < std::size(table); ++i)
    if (table[i].name == name) return i;
  throw usage(fmt::format("unknown pass `{}`", name), std::string(name), all_names());
}

bool PlanOptions::allows(std::string_view pass) const { return (off >> pass_index(pass) & 1U) == 0; }

PlanOptions& PlanOptions::without(std::string_view pass) {
  off |= 1U << pass_index(pass);
  return *this;
}

PlanOptions PlanOptions::reference() {
  PlanOptions options;
  for (const PlanPass& t : table)
    if (!t.reference) options.without(t.name);
  return options;
}

PlanOptions PlanOptions::from_environment() {
  PlanOptions options = is_on(Setting::fuse) ? PlanOptions() : reference();
  for (const std::string& word : words(setting(Setting::transforms))) {
    if (word[0] != '-')
      throw usage(fmt::format("PXL_TRANSFORMS: expected passes to leave out, such as -fold_constants, got `{}`", word),
                  word, all_names());
    options.without(std::string_view(word).substr(1));
  }
  options.print = words(setting(Setting::print));
  for (const std::string& stage : options.print) {
    std::vector<std::string> stages = all_names();
    stages.insert(stages.end(), {"plan", "all"});
    if (std::find(stages.begin(), stages.end(), stage) == stages.end())
      throw usage(fmt::format("PXL_PRINT: unknown stage `{}`", stage), stage, stages);
  }
  return options;
}

bool PlanOptions::prints(std::string_view stage) const {
  return std::any_of(print.begin(), print.end(), [&](const std::string& s) { return s == stage || s == "all"; });
}

void run_passes(std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep,
                std::deque<Tensor>& constants, const Unchanged* unchanged, const PlanOptions& options,
                const Target& target) {
  if (options.watch) options.watch("", print_nodes(nodes));
  std::optional<ValuesVerifier> values;
  if (verification_runs()) values.emplace(nodes, outputs, keep);
  for (const PlanPass& pass : table) {
    if (!options.allows(pass.name)) continue;
    if (pass.apply) {
      std::optional<PassVerifier> verifier;
      if (verification_enabled()) verifier.emplace(nodes);
      const Aliases aliases(nodes);
      PassContext context(nodes, aliases, outputs, keep, constants, unchanged, target);
      pass.apply(context);
      std::erase_if(nodes, [](const Node& node) { return !node.op; });
      if (verifier) verifier->check(nodes, outputs, keep, pass.name);
      if (values) values->check(nodes, pass.name);
    }
    if (options.watch && pass.apply) options.watch(pass.name, print_nodes(nodes));
    if (options.prints(pass.name)) print_err("after {}:\n{}", pass.name, print_nodes(nodes));
  }
}

}  // namespace pxl
