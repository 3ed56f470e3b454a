// Making and ending an interpreter.

#include <random>

#include "interpreter/graphs/graph_builder.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/base/codes.hpp"

namespace pxl {

Interpreter::Interpreter(InterpreterOptions options)
    : options_(std::move(options)),
      random_((static_cast<uint64_t>(std::random_device{}()) << 32) | std::random_device{}()),
      evaluator_(std::make_unique<Evaluator>(*this)),
      graphs_(std::make_unique<GraphBuilder>(*this)) {
  if (!options_.out) options_.out = [](std::string_view) {};
  if (!options_.err) options_.err = [](std::string_view) {};
  Scope& prelude = *evaluator_->prelude();
  bind_core_builtins(*this, prelude);
  bind_op_builtins(*this, prelude);
  bind_data_builtins(*this, prelude);
  bind_graph_builtins(*this, prelude);
}

Interpreter::~Interpreter() {
  graphs_->clear_targets();
  evaluator_->release_scopes();
}

const Value& Interpreter::builtin(std::string_view name) const {
  const Value* v = evaluator_->prelude()->find(name);
  if (!v) throw Error("there is no built-in " + std::string(name), {}, Fault::internal);
  return *v;
}

}  // namespace pxl
