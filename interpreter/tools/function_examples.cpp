#include "interpreter/tools/function_examples.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/tools/member_help.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {
namespace {

struct FunctionExample {
  std::string_view name, program;
  bool has_result;  ///< false if it uses files, or if the result differs from run to run
};

constexpr FunctionExample examples[] = {
#define PXL_EXAMPLE(name, program) {#name, program, true},
#define PXL_FILE_EXAMPLE(name, program) {#name, program, false},
#include "interpreter/tools/function_examples.inc"
#undef PXL_EXAMPLE
#undef PXL_FILE_EXAMPLE
};

}  // namespace

DocEntry function_entry(const BuiltinObject& function) {
  DocEntry e;
  e.name = function.name;
  e.kind = "function";
  e.signature = function.signature;
  e.doc = function.doc;
  const auto found = std::find_if(std::begin(examples), std::end(examples),
                                  [&](const FunctionExample& one) { return one.name == function.name; });
  if (found == std::end(examples)) return e;
  e.example = found->program;
  if (found->has_result) e.result = example_result(e.example, ExampleForm::at_prompt).value_or("");
  return e;
}

std::vector<const BuiltinObject*> language_functions(const Interpreter& in) {
  const ScopePtr& prelude = evaluator_of(in).prelude();
  std::vector<std::string> names = prelude->visible_names();
  std::sort(names.begin(), names.end());
  std::vector<const BuiltinObject*> functions;
  for (const std::string& name : names) {
    if (name.starts_with('_')) continue;  // functions of the library's modules
    const auto* f = prelude->find_here(name)->as<BuiltinObject>();
    const OpRow* row = find_op(name);
    if (f && !f->signature.empty() && !(row && row->doc == f->doc)) functions.push_back(f);
  }
  return functions;
}

DocPage functions_page() {
  const auto in = make_interpreter({});
  DocPage page{"functions", "", {}};
  for (const BuiltinObject* f : language_functions(*in)) page.entries.push_back(function_entry(*f));
  return page;
}

}  // namespace pxl
