#include "interpreter/tools/help/function_examples.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/tools/help/member_help.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {
DocEntry function_entry(const BuiltinObject& function) {
  DocEntry e;
  e.name = function.name;
  e.kind = "function";
  e.signature = function.texts.signature;
  e.doc = function.texts.doc;
  e.example = function.texts.example;
  // The result of a program that uses files is not shown.
  const bool uses_files = function.effects.has(Effect::reads_files) || function.effects.has(Effect::writes_files);
  if (!uses_files) e.result = example_result(e.example, ExampleForm::at_prompt).value_or("");
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
    if (f && !f->texts.signature.empty() && !(row && row->doc == f->texts.doc)) functions.push_back(f);
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
