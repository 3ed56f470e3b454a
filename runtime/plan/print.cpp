// Plans and nodes as text.
#include <fmt/format.h>

#include "runtime/plan/plan.hpp"

namespace pxl {

namespace {

std::string place(const Buffer& buffer) {
  switch (buffer.kind) {
    case Buffer::Kind::arena: return fmt::format("arena {}", buffer.offset);
    case Buffer::Kind::input: return fmt::format("input {}", buffer.index);
    case Buffer::Kind::output: return fmt::format("output {}", buffer.index);
    case Buffer::Kind::variable: return "variable";
    case Buffer::Kind::constant: return "constant";
  }
  return {};
}

std::string list(const std::vector<BufferId>& ids) {
  std::string text;
  for (BufferId id : ids) {
    if (!text.empty()) text += ", ";
    text += id < 0 ? std::string("none") : fmt::format("b{}", id);
  }
  return text;
}

void add_copies(std::string& text, const std::vector<Copy>& copies, std::string_view indent) {
  for (const Copy& copy : copies)
    if (copy.from != copy.to)
      text += copy.alternates
                  ? fmt::format("{}b{} and b{} change places, {} bytes\n", indent, copy.from, copy.to, copy.bytes)
                  : fmt::format("{}copy b{} -> b{}, {} bytes\n", indent, copy.from, copy.to, copy.bytes);
}

std::string names(const std::vector<const Tensor*>& tensors) {
  std::string text;
  for (const Tensor* t : tensors) {
    if (!text.empty()) text += ", ";
    text += t ? fmt::format("{} {}", t->name, pxl::text(t->spec)) : std::string("none");
  }
  return text;
}

}  // namespace

std::string print_nodes(const std::vector<Node>& nodes) {
  std::string text;
  for (size_t p = 0; p < nodes.size(); ++p) {
    const Node& node = nodes[p];
    text += fmt::format("  {}: {}.{} ({}) -> ({}){}\n", p, node.op->row->schedule, node.op->id, names(node.in),
                        names(node.out), note_of(node));
  }
  return text;
}

std::string print_plan(const Plan& plan) {
  std::string text = fmt::format("Plan : {}\n  arena {} bytes, constants {} bytes, {} steps\n", plan.graph->id(),
                                 plan.arena_bytes, plan.constant_bytes, plan.step_count);
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    text += fmt::format("  b{}: {}, {} bytes", i, place(buffer), buffer.bytes);
    if (buffer.kind == Buffer::Kind::arena) text += fmt::format(", live {}..{}", buffer.first, buffer.last);
    if (buffer.tensor) text += fmt::format("  {}", buffer.tensor->name);
    text += '\n';
  }
  add_copies(text, plan.entry_copies, "  ");
  for (const Instruction& instruction : plan.instructions) {
    add_copies(text, instruction.before, "  ");
    text += fmt::format("  {}: {}.{}", instruction.position, instruction.op->row->schedule, instruction.op->id);
    if (instruction.kind == Instruction::Kind::loop) {
      if (instruction.condition) text += fmt::format(" while %{}", instruction.out[*instruction.condition]);
      if (instruction.repeats != no_bound) text += fmt::format(" {} times", instruction.repeats);
    }
    text += fmt::format(" ({}) -> ({}){}\n", list(instruction.in), list(instruction.out), instruction.note);
    for (const PlanCall& call : instruction.calls) {
      add_copies(text, call.before, "      ");
      text += fmt::format("      {} ({}) -> ({})", call.callee->graph->id(), list(call.in), list(call.out));
      text += call.frame >= 0 ? fmt::format(" in b{}\n", call.frame) : std::string("\n");
      add_copies(text, call.after, "      ");
    }
    add_copies(text, instruction.after, "  ");
  }
  add_copies(text, plan.exit_copies, "  ");
  return text;
}

}  // namespace pxl
