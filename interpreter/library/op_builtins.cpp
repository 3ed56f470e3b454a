// Ops of the op table as built-in functions.
#include "interpreter/library/builtins.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

namespace {

/// Other names of ops, by which users of other frameworks know them.
struct OtherName {
  std::string_view name, op, example;
};
constexpr OtherName other_names[] = {{"stop_gradient", "detach", "grad((x) => stop_gradient(x) * x)(3.0)"}};

}  // namespace

// Binds every op that users can reach, bare and by its path. The host language's names (sum, max, abs, ...) keep their
// bare form; those functions forward tensors and arrays to the ops.
void bind_op_builtins(Interpreter&, Scope& prelude) {
  for (const OpRow* row : op_table()) {
    if (row->path.empty()) continue;
    auto op = make_ref<BuiltinObject>(
        no_effects, std::string(row->name), FunctionTexts{signature(*row), std::string(row->doc), {}},
        [row](Interpreter& in, Arguments args) { return call_op(in, *row, std::move(args)); });
    op->kind = BuiltinObject::Kind::op;
    const Value f(std::move(op));
    const std::string name(row->name);
    if (!prelude.find_here(name)) prelude.bind(name, f);
    Scope* at = &prelude;
    std::string_view path = row->path;
    std::string full;
    for (size_t dot; (dot = path.find('.')) != path.npos; path.remove_prefix(dot + 1)) {
      const std::string part(path.substr(0, dot));
      full += (full.empty() ? "" : ".") + part;
      const Value* there = at->find_here(part);
      if (!there || !there->as<NamespaceObject>()) {
        at->bind(part, make_ref<NamespaceObject>(full, make_ref<Scope>()));
        there = at->find_here(part);
      }
      at = there->as<NamespaceObject>()->scope.get();
    }
    at->bind(std::string(path), f);
  }
  for (const auto& [name, op, example] : other_names) {
    const OpRow& row = get_op(op);
    const std::string parameters = signature(row).substr(row.name.size());
    define(
        prelude, no_effects,
        {std::string(name) + parameters, std::string(row.doc) + " Another name of `" + std::string(op) + "`.", example},
        [&row](Interpreter& in, Arguments args) { return call_op(in, row, std::move(args)); });
  }
}

}  // namespace pxl
