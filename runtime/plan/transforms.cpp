// The table of transforms, and the options that choose among them.
#include "runtime/plan/transforms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/base/standard_streams.hpp"
#include "runtime/base/suggest.hpp"
#include "runtime/plan/fuse.hpp"

namespace pxl {

namespace {

void drop(FoldContext& context) { drop_dead_nodes(context.nodes, context.outputs, context.keep); }

constexpr PlanTransform table[] = {
    {"flatten", "calls become the ops of what they call", nullptr, false},
    {"drop", "ops whose results nobody reads are left out", drop, true},
    {"fold", "ops on constants run once, while planning", fold_constants, false},
    {"cse", "an op that repeats an earlier one takes its results, where they are still in memory", merge_common, false},
    {"transpose", "transpositions that only products read become flags of the products", fold_transposes, true},
    {"layout", "batches of products read and write transposed, reshaped and split tensors where they lie",
     lay_out_products, false},
    {"slope", "an activation computes its slope as well, in place of its operand, and its gradient multiplies",
     compute_slopes, false},
    {"aliases", "readers of an in-place result read the variable itself", forget_aliases, false},
    {"hoist", "in-place updates move up behind the last reader of the old value", hoist_updates, false},
    {"fuse", "elementwise ops run with what gives them their operands, block by block", fuse_groups, false},
    {"pair", "a layer's gradient of its input and the update of its weights run as one pass over the weights",
     pair_products, false},
    {"alongside", "a small update is divided together with the large step that follows it", run_alongside, false},
};
static_assert(std::size(table) <= 32, "PlanOptions::off has a bit for each");

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const PlanTransform& t : table) names.emplace_back(t.name);
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
  std::vector<std::string> notes = {fmt::format("there are {}", fmt::join(names, ", "))};
  if (std::string hint = did_you_mean(name, names); !hint.empty()) notes.insert(notes.begin(), hint);
  return Error(std::move(message), std::move(notes), Fault::usage);
}

}  // namespace

std::span<const PlanTransform> plan_transforms() { return table; }

size_t transform_index(std::string_view name) {
  for (size_t i = 0; i < std::size(table); ++i)
    if (table[i].name == name) return i;
  throw usage(fmt::format("there is no transform `{}`", name), std::string(name), all_names());
}

bool PlanOptions::allows(std::string_view transform) const { return (off >> transform_index(transform) & 1U) == 0; }

PlanOptions& PlanOptions::without(std::string_view transform) {
  off |= 1U << transform_index(transform);
  return *this;
}

PlanOptions PlanOptions::reference() {
  PlanOptions options;
  for (const PlanTransform& t : table)
    if (!t.reference) options.without(t.name);
  return options;
}

PlanOptions PlanOptions::from_environment() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value ? value : "");
  };
  PlanOptions options = variable("PXL_FUSE") == "off" ? reference() : PlanOptions();
  for (const std::string& word : words(variable("PXL_TRANSFORMS"))) {
    if (word[0] != '-')
      throw usage(
          fmt::format("PXL_TRANSFORMS is a list of transforms to leave out, such as -cse,-fold; got `{}`", word), word,
          all_names());
    options.without(std::string_view(word).substr(1));
  }
  options.print = words(variable("PXL_PRINT"));
  for (const std::string& stage : options.print) {
    std::vector<std::string> stages = all_names();
    stages.insert(stages.end(), {"plan", "all"});
    if (std::find(stages.begin(), stages.end(), stage) == stages.end())
      throw usage(fmt::format("PXL_PRINT: there is no stage `{}`", stage), stage, stages);
  }
  return options;
}

bool PlanOptions::prints(std::string_view stage) const {
  return std::any_of(print.begin(), print.end(), [&](const std::string& s) { return s == stage || s == "all"; });
}

bool is_pure(const Node& node) {
  return node.op->row->role == Role::compute && !node.effect && node.callees.empty() && node.modified.empty() &&
         node.alias < 0 && !node.kernel && !node.product && !node.out.empty();
}

void transform_nodes(std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep,
                     std::deque<Tensor>& constants, const PlanOptions& options) {
  for (const PlanTransform& transform : table) {
    if (!options.allows(transform.name)) continue;
    if (transform.apply) {
      const Aliases aliases(nodes);
      FoldContext context{nodes, aliases, outputs, keep, constants, {}, {}, {}};
      for (const Tensor* t : outputs) context.is_output[t] = true;
      for (size_t p = 0; p < nodes.size(); ++p) {
        for (const Tensor* t : nodes[p].out) context.producer[t] = static_cast<int>(p);
        for (const Tensor* t : nodes[p].in)
          if (t) context.consumers[t].push_back(static_cast<int>(p));
      }
      transform.apply(context);
      std::erase_if(nodes, [](const Node& node) { return !node.op; });
    }
    if (options.prints(transform.name)) print_err("after {}:\n{}", transform.name, print_nodes(nodes));
  }
}

}  // namespace pxl
