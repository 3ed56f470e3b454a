#include "interpreter/elaborate/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "interpreter/elaborate/internal.hpp"
#include "interpreter/elaborate/modules.hpp"
#include "interpreter/elaborate/names_bound.hpp"
#include "interpreter/elaborate/programs.hpp"
#include "interpreter/elaborate/trees.hpp"
#include "interpreter/syntax/parse.hpp"
#include "runtime/graph/schedule.hpp"

namespace pxl {
namespace {

constexpr int64_t most_steps = 200000;  ///< statements that one top-level statement may run in a check

struct UnknownObject final : Object {
  std::string type_name() const override { return "unknown value"; }
  std::string repr(Interpreter&) override { return "<unknown>"; }
};

Value unknown() { return std::make_shared<UnknownObject>(); }

// Values that a statement which was left out might have changed.
bool can_change(const Value& v) {
  return v.as<DictObject>() || v.as<TreeObject>() || v.as<ModuleInstance>() ||
         (v.as<SequenceObject>() && !v.as<TupleObject>()) || v.as_array();
}

void forget_changed(const std::vector<std::string>& names, const ScopePtr& scope, std::set<const void*>& seen) {
  for (const std::string& name : names) {
    for (Scope* s = scope.get(); s; s = s->outer.get()) {
      const Value* found = s->find_here(name);
      if (!found) continue;
      if (can_change(*found)) s->bind(name, unknown());
      // What a function that is mentioned would have changed.
      if (auto* f = found->as<FunctionObject>(); f && seen.insert(f->code).second)
        forget_changed(names_in(*f->code), f->closure, seen);
      break;
    }
  }
}

void forget(const ast::Stmt& s, Activation& a) {
  const BoundNames names = names_of(s);
  std::set<const void*> seen;
  forget_changed(names.mentioned, a.scope, seen);
  for (const std::string& name : names.bound) a.scope->bind(name, unknown());
}

/// Runs one statement; false where it was left out.
bool attempt(Interpreter& in, const ast::Stmt& s, Activation& a, Flow& flow) {
  Checking& c = *in.checking;
  try {
    flow = in.execute(s, a);
    return true;
  } catch (const Unevaluated&) {
  } catch (const Error& e) {
    if (c.expecting > 0) throw;
    for (const Diagnostic& d : e.all()) c.errors.push_back(d);
  } catch (const ExitRequest&) {
  }
  forget(s, a);
  return false;
}

std::string program_call(const ProgramObject& p) { return p.code->function->name; }

bool all_default(const ProgramObject& p, std::string& missing) {
  for (const ast::Parameter& q : p.code->function->parameters) {
    if (q.default_value || q.rest) continue;
    missing = q.name;
    return false;
  }
  return true;
}

}  // namespace

void needs_known(const Value& v) {
  if (v.as<UnknownObject>()) throw Unevaluated{};
}

void observe(const Checking& checking, const Span& name, const Value& value) {
  if (checking.observe && !value.as<UnknownObject>()) checking.observe(name, value);
}

Flow checked_block(Interpreter& in, const ast::Block& block, Activation& a) {
  Checking& c = *in.checking;
  bool left_out = false;
  for (const ast::Stmt* s : block.statements) {
    check_interrupt();
    if (++c.steps > most_steps) {
      c.exhausted = true;
      throw Unevaluated{};
    }
    Flow flow = Flow::normal;
    if (!attempt(in, *s, a, flow)) {
      left_out = true;
      // Where control goes from here is unknown.
      if (names_of(*s).leaves || c.exhausted) throw Unevaluated{};
    }
    if (flow != Flow::normal) return flow;
  }
  if (left_out) throw Unevaluated{};
  return Flow::normal;
}

CheckResult check_file(Interpreter& in, const ast::TreePtr& tree, const std::vector<std::string>& calls,
                       std::function<void(const Span&, const Value&)> observe) {
  Checking c;
  c.observe = std::move(observe);
  CheckResult result;
  in.checking = &c;
  const EffectScope effects(look_effects);
  in.begin_file(tree);
  Activation a;
  a.scope = in.file_scope();
  a.kind = Activation::Kind::file;
  auto run = [&](const ast::Stmt& s) {
    check_interrupt();
    c.steps = 0;
    c.exhausted = false;
    Flow flow = Flow::normal;
    attempt(in, s, a, flow);
    if (c.exhausted)
      result.unchecked.push_back(
          fmt::format("line {} takes more than {} steps", s.span.file->position(s.span.begin).line, most_steps));
  };
  check_names(*tree, *in.prelude(), c.errors);
  for (const ast::Stmt* s : tree->body->statements) run(*s);
  for (const std::string& call : calls) {
    const ast::TreePtr text = parse_or_throw(add_source("<program>", call));
    in.keep(text);
    for (const ast::Stmt* s : text->body->statements) run(*s);
  }
  auto built = [&](const std::string& name) {
    return std::any_of(c.irs.begin(), c.irs.end(), [&](const auto& ir) { return ir->name() == name; });
  };
  for (const std::string& name : a.scope->names()) {
    const Value* v = a.scope->find_here(name);
    auto* p = v ? v->as<ProgramObject>() : nullptr;
    if (!p || p->closure != a.scope || built(program_call(*p))) continue;
    std::string missing;
    if (!all_default(*p, missing)) {
      result.unchecked.push_back(
          fmt::format("program {} is not built: `{}` has no default", program_call(*p), missing));
      continue;
    }
    c.steps = 0;
    try {
      Arguments none;
      none.span = p->code->span;
      p->call(in, std::move(none));
      // Programs that the file itself builds are judged where their sessions are made.
      check_inplace_order(*c.irs.back());
    } catch (const Unevaluated&) {
    } catch (const Error& e) {
      for (const Diagnostic& d : e.all()) c.errors.push_back(d);
    }
  }
  if (auto ir = in.implicit_ir(); ir && !ir->main().ops().empty()) c.irs.push_back(ir);
  in.checking = nullptr;
  std::stable_sort(c.errors.begin(), c.errors.end(), [](const Diagnostic& x, const Diagnostic& y) {
    const bool same = x.span.file == y.span.file;
    return same && x.span.begin < y.span.begin;
  });
  for (Diagnostic& d : c.errors) {
    const bool seen = std::any_of(result.errors.begin(), result.errors.end(), [&](const Diagnostic& other) {
      return other.span.file == d.span.file && other.span.begin == d.span.begin && other.message == d.message;
    });
    if (!seen) result.errors.push_back(std::move(d));
  }
  result.irs = std::move(c.irs);
  return result;
}

}  // namespace pxl
