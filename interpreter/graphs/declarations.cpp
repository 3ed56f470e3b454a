// Functions shared by the declarations of streams, variables, constants and params.
#include "interpreter/graphs/declarations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/tensor/exact.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl {

namespace {

/// The value as a spec. The error for another value has edits, if the text where a spec belongs allows them.
TensorSpec spec_of_written(Interpreter& in, const ast::Expr& written, const Value& value, const char* what) {
  try {
    return to_spec(in, value, what);
  } catch (Error& e) {
    const Span start{written.span.file, written.span.begin, written.span.begin};
    if (value.as<SequenceObject>() && written.span.text().starts_with('['))
      e.offer(start, "float32", fmt::format("Change to `float32{}`", written.span.text()));
    if (value.as_dtype() && written.kind != ast::ExprKind::dict)
      e.offer({start.file, written.span.end, written.span.end}, "[]", "Add `[]`: a scalar");
    e.locate(written.span, position_of(in).frames);
    throw;
  }
}

}  // namespace

DType narrowed(DType dtype) {
  switch (dtype) {
    case DType::float64: return DType::float32;
    case DType::int64: return DType::int32;
    case DType::uint64: return DType::uint32;
    default: return dtype;
  }
}
Array narrowed(Array a, std::string_view what) { return convert_exactly(a, narrowed(a.dtype()), what); }

void declare_once(Interpreter& in, const std::shared_ptr<Ir>& ir, const ast::Stmt& s, const std::string& name,
                  Span place, bool stream, const char* what) {
  const FramePtr& body = position_of(in).frames;
  const auto& declared = graphs_of(in).world().of(ir).declared;
  const auto known = declared.find(name);
  if (known == declared.end()) return;
  for (const auto& [statement, all] : known->second) {
    if (statement.get() == &s) continue;
    const auto other = std::ranges::find_if(
        all, [&](const auto& d) { return (stream && d.stream) || (d.body == body && d.place.file == place.file); });
    if (other == all.end()) continue;
    const auto& d = *other;
    Error e(std::string(what) + " " + name + ": the name is declared twice in program " + ir->name(),
            {"first declared at " + place_text(d.place),
             !stream || !d.stream ? "choose another name"
             : std::string_view(what) == "stream in"
                 ? "choose another name; `host_load(" + name + ")` loads from the first one"
                 : "choose another name; `host_store(" + name + ", t)` stores again to the first one"});
    e.as(codes::twice).locate(place, position_of(in).frames);
    throw e;
  }
}

void GraphWorld::PerIr::add_declared(const std::string& name, const ast::Stmt& by, Declared what) {
  std::vector<DeclaredBy>& statements = declared[name];
  auto at = std::ranges::find(statements, &by, [](const DeclaredBy& known) { return known.statement.get(); });
  if (at == statements.end()) at = statements.insert(at, DeclaredBy{ast::held(by), {}});
  at->all.push_back(std::move(what));
}

std::string place_text(Span span) {
  if (!span) return {};
  const Position at = span.file->position(span.begin);
  return fmt::format("{}:{}:{}", span.file->name(), at.line, at.column);
}

Float8Overflow float8_overflow(const ArgReader& a) {
  return a.boolean_or("nan_on_overflow", true) ? Float8Overflow::nan : Float8Overflow::saturate;
}

TensorSpec declared_spec(Interpreter& in, const ast::Expr& written, Activation& a, const char* what) {
  return spec_of_written(in, written, evaluate(in, written, a), what);
}

Value declared_specs(Interpreter& in, const ast::Expr& written, Activation& a, const char* what) {
  const Value value = evaluate(in, written, a);
  const bool several = value.as<SequenceObject>() == nullptr && is_tree(value);
  if (!several && !(is_tree(value) && holds_tensors(in, value)))
    return Value(spec_of_written(in, written, value, what));
  return map_tree(in, value, [&](const Value& leaf, const std::string&) {
    return Value(spec_of_written(in, written, leaf, what));
  });
}

}  // namespace pxl
