// Calls, the chain of running calls, and the guard of the machine stack.
#include "interpreter/values/call_chain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/limits/stack.hpp"
#include "runtime/base/never_destroyed.hpp"

namespace pxl {

std::string target_name(Interpreter& in, const Span& call, std::string_view otherwise) {
  const CodePosition& p = position_of(in);
  const bool same =
      p.target && call.file == p.target_call.file && call.begin == p.target_call.begin && call.end == p.target_call.end;
  return same ? *p.target : std::string(otherwise);
}

void DepthGuard::refuse() {
  throw run_error("recursion too deep", {"a function calls itself, directly or through others, without an end"})
      .as(codes::recursion);
}

CallChain::operator const FramePtr&() const {
  static const auto& none = never_destroyed(FramePtr());
  if (!top_) return none;
  std::vector<Link*> unmade;
  for (Link* link = top_; link && !link->made; link = link->outer) unmade.push_back(link);
  for (; !unmade.empty(); unmade.pop_back()) {
    Link& link = *unmade.back();
    link.made = std::make_shared<Frame>(Frame{*link.what, *link.at, link.outer ? link.outer->made : nullptr});
  }
  return top_->made;
}

CodePosition& position_of(Interpreter& in) { return in; }

CallFrame::CallFrame(Interpreter& in, std::string&& what, Span at)
    : owned_(std::make_unique<const std::string>(std::move(what))),
      position_(position_of(in)),
      here_(position_.here),
      at_(at),
      frame_(position_, *owned_, at_) {}

namespace {

/// Whether a value may stand in the brackets behind a value of this type.
bool may_be_key(const Value& v, std::string_view type) {
  if (type == "dict") return true;
  const Array* array = v.as_array();
  if (array) return !is_floating(array->dtype());
  return !v.is_float() && !v.as_string();
}

/// `xs(0)`: elements are taken with brackets.
void offer_brackets(Error& e, const Value& callee, const std::string& type, const Arguments& args) {
  const bool has_elements = callee.as<SequenceObject>() || callee.as_string() || type == "array" || type == "dict" ||
                            type == "tensor" || type == "range";
  if (!has_elements || args.spans.size() != 1 || !args.named.empty() || !args.span) return;
  if (!may_be_key(args.positional[0], type)) return;
  const Span inner = args.spans[0], call = args.span;
  if (!inner || inner.file != call.file || inner.begin <= call.begin || inner.end >= call.end) return;
  const std::string_view text = call.file->text();
  if (text[inner.begin - 1] != '(' || text[inner.end] != ')' || inner.end + 1 != call.end) return;
  const std::string element =
      fmt::format("{}[{}]", text.substr(call.begin, inner.begin - 1 - call.begin), inner.text());
  e.first().notes.push_back(fmt::format("an element is taken with brackets: `{}`", element));
  e.offer(call, element);
}

void need_callable(const Value& callee, const Arguments* args) {
  constexpr uint32_t functions = Value::kind_bit(ClassTag::function) | Value::kind_bit(ClassTag::builtin);
  if ((callee.kind_bit() & functions) != 0) return;
  if (can_be_called(callee) && !unknown_spec(callee)) return;
  const std::string type = unknown_spec(callee) ? "array" : callee.type_name();
  Error e(with_article(type) + " is not callable");
  if (args) offer_brackets(e, callee, type, *args);
  throw std::move(e).as(codes::type);
}

}  // namespace

Value invoke(Interpreter& in, const Value& callee, Arguments args) {
  const Span span = args.span ? args.span : in.here;
  charge(100);
  try {
    const DepthGuard guard(position_of(in));
    need_callable(callee, &args);
    // The callee may be rebound while it runs.
    const ObjectPtr keep = callee.object();
    return keep->call(in, std::move(args));
  } catch (Error& e) {
    e.locate(span, in.frames);
    throw;
  }
}

Value invoke(Interpreter& in, const Value& callee, std::initializer_list<Value> positional) {
  return invoke(in, callee, positional.begin(), positional.size());
}

Value invoke(Interpreter& in, const Value& callee, const Value* values, size_t count) {
  const Span span = position_of(in).here;
  charge(100);
  try {
    const DepthGuard guard(position_of(in));
    need_callable(callee, nullptr);
    const ObjectPtr keep = callee.object();
    return keep->call_by_position(in, values, count);
  } catch (Error& e) {
    e.locate(span, position_of(in).frames);
    throw;
  }
}

}  // namespace pxl
