// Commands for debugging runs.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/commands/commands.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/statistics.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/execute/engines/engine.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {
namespace {

std::string value_line(const Tensor& t, const Array& a) {
  std::string line = fmt::format("    {} {}: {}", t.name, text(t.spec), text(statistics_of(a)));
  return line;
}

void show_before(Console& console, const OpView& v) {
  std::string place;
  if (const Span at = v.op.origin.span)
    place = fmt::format("  {}:{}  {}", at.file->name(), at.file->position(at.begin).line,
                        at.text().substr(0, at.text().find('\n')));
  console.print(fmt::format("{}{}.{}{}", replica_prefix(v), v.op.row->schedule, v.op.id, place));
  for (size_t i = 0; i < v.inputs.size(); ++i)
    if (v.has(i)) console.print(value_line(*v.op.inputs[i], v.inputs[i]));
}

Debugger::Action ask(Console& console, const OpView& v) {
  console.print(v.replicas == 1 ? "  ->" : fmt::format("  -> replica {}", v.replica));
  for (size_t i = 0; i < v.outputs.size(); ++i) console.print(value_line(*v.op.outputs[i], v.outputs[i]));
  while (true) {
    std::string line;
    const Console::Read got = console.read("step> ", line);
    clear_interrupt();
    if (got != Console::Read::line || line == "q") return Debugger::Action::stop;
    if (line.empty() || line == "n") return Debugger::Action::next;
    if (line == "c") return Debugger::Action::go_on;
    if (line == "p") {
      for (const Array& a : v.outputs) console.print(console.engine().show(Value(a.clone())));
      continue;
    }
    if (line.starts_with("p ")) {
      bool any = false;
      const std::string name = line.substr(2);
      for (size_t i = 0; i < v.inputs.size(); ++i)
        if (v.has(i) && v.op.inputs[i]->name == name && (any = true))
          console.print(console.engine().show(Value(v.inputs[i].clone())));
      for (size_t i = 0; i < v.outputs.size(); ++i)
        if (v.op.outputs[i]->name == name && (any = true))
          console.print(console.engine().show(Value(v.outputs[i].clone())));
      if (!any) console.print_error("no operand or result of this op is named `" + name + "`");
      continue;
    }
    console.print(
        "Enter or n: run the next op; c: continue; q: stop the run; p: print the results, p NAME: an operand or "
        "result");
  }
}

void prepare(Console& console) {
  Debugger& d = debugger_of(console.engine().interpreter());
  d.about_to_run = [&console](const OpView& v) { show_before(console, v); };
  d.pause = [&console](const OpView& v) { return ask(console, v); };
}

}  // namespace

void command_engine(Console& console, std::string_view arguments) {
  try {
    if (!arguments.empty()) set_default_engine(std::string(arguments));
  } catch (const Error& e) {
    return console.print_error(fmt::format("{}; {}", e.what(), e.first().notes.back()));
  }
  for (const EngineRow& row : engine_table())
    console.print(fmt::format("{} {:9}  {}", row.name == default_engine() ? "*" : " ", row.name, row.doc));
}

void command_nancheck(Console& console, std::string_view arguments) {
  Debugger& d = debugger_of(console.engine().interpreter());
  if (arguments == "on" || arguments == "off")
    d.check_nan(arguments == "on");
  else if (!arguments.empty())
    return console.print_error(":nancheck: expected on or off");
  console.print(d.checks_nan() ? "nancheck is on: runs stop at the first op that produces a NaN or an infinity"
                               : "nancheck is off");
}

void command_step(Console& console, std::string_view arguments) {
  if (arguments.empty())
    return console.print_error(
        ":step: an input that runs a session is required: `:step session.run(x = a)`, `:step eval(y)`");
  prepare(console);
  Debugger& d = debugger_of(console.engine().interpreter());
  d.stepping = true;
  console.report(console.engine().submit(arguments));
  d.stepping = false;
}

void command_break(Console& console, std::string_view arguments) {
  prepare(console);
  Debugger& d = debugger_of(console.engine().interpreter());
  if (arguments == "clear")
    d.breakpoints.clear();
  else if (!arguments.empty()) {
    std::string op(arguments.substr(0, arguments.find('.')));
    std::vector<std::string> names;
    for (const OpRow* row : op_table()) names.insert(names.end(), {std::string(row->name), std::string(row->schedule)});
    if (op.find_first_not_of("0123456789") != op.npos && std::find(names.begin(), names.end(), op) == names.end()) {
      const std::string hint = did_you_mean(op, names);
      return console.print_error(fmt::format("unknown op `{}`{}", op, hint.empty() ? "" : "; " + hint));
    }
    d.breakpoints.insert(std::string(arguments));
  }
  if (d.breakpoints.empty()) return console.print("no breakpoints; `:break MatMul.104`, `:break matmul` set one");
  console.print(fmt::format("runs stop at {}; `:break clear` removes all",
                            join_texts(std::vector<std::string>(d.breakpoints.begin(), d.breakpoints.end()))));
}

}  // namespace pxl
