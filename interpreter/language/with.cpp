// `with`: contexts are entered in order and left in reverse, also if an exception passes.
#include <fmt/format.h>

#include "interpreter/graphs/block_transaction.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/tests.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl {
namespace {

/// Errors in a check propagate to the enclosing `expect_error`.
struct Expecting {
  CheckState* checking;
  Expecting(Interpreter& in, bool expected) : checking(expected ? check_in_progress(in) : nullptr) {
    if (checking) ++checking->expecting;
  }
  ~Expecting() {
    if (checking) --checking->expecting;
  }
  Expecting(const Expecting&) = delete;
  Expecting& operator=(const Expecting&) = delete;
};

/// Runs the body of an `expect_error`: what it adds to graphs is taken back if it fails.
void run_taken_back(Interpreter& in, const std::function<void()>& body) {
  BlockTransaction transaction(in);
  try {
    body();
  } catch (const Error&) {
    transaction.take_back();
    throw;
  }
}

}  // namespace

void with_contexts(Interpreter& in, const std::vector<ast::WithItem>& items, Activation& a,
                   const std::function<void()>& body) {
  std::vector<std::pair<ObjectPtr, Span>> open;
  const std::string* expected = nullptr;
  Span expected_at;
  auto leave_all = [&](bool failed) {
    while (!open.empty()) {
      auto [context, span] = std::move(open.back());
      open.pop_back();
      try {
        position_of(in).here = span;
        context->leave(in, failed);
      } catch (Error& e) {
        e.locate(span, position_of(in).frames);
        // A propagating exception takes precedence over errors from leaving. The remaining contexts are still left.
        if (!failed) {
          failed = true;
          while (!open.empty()) {
            auto rest = std::move(open.back());
            open.pop_back();
            try {
              rest.first->leave(in, true);
            } catch (Error&) {
            }
          }
          throw;
        }
      }
    }
  };
  try {
    for (const ast::WithItem& item : items) {
      const Value v = evaluate(in, *item.context, a);
      const Span span = item.context->span;
      if (const std::string* text = expected_error(v)) {
        expected = text;
        expected_at = span;
        open.emplace_back(v.object(), span);
        continue;
      }
      try {
        position_of(in).here = span;
        if (!v.is_object() || !v.object()->is_context()) {
          const bool call_lacks = v.as<BuiltinObject>() && v.as<BuiltinObject>()->name == "in_sequence";
          Error e("`with` needs a context, not " + with_article(v.type_name()),
                  {"contexts are sessions, in_sequence(), name_scope(...), ipu(...), io_tiles(), "
                   "expect_error(...), pipelined_execution(...), and in the head of "
                   "a program replicated(n)"});
          if (call_lacks) {
            e.first().notes = {fmt::format("a context is what a call gives: `{}()`", span.text())};
            e.offer({span.file, span.end, span.end}, "()", "Add the parentheses");
          }
          throw std::move(e.as(codes::type));
        }
        const Value entered = v.object()->enter(in);
        open.emplace_back(v.object(), span);
        if (!item.as.empty()) bind_name(in, a, item.as, entered);
      } catch (Error& e) {
        e.locate(span, position_of(in).frames);
        throw;
      }
    }
    const Expecting expecting(in, expected != nullptr);
    if (expected)
      run_taken_back(in, body);
    else
      body();
  } catch (Error& e) {
    // A look runs nothing, so it may find another error than a run.
    const bool wanted = expected && e.first().fault != Fault::internal &&
                        (check_in_progress(in) || e.first().message.find(*expected) != std::string::npos || [&] {
                          for (const std::string& note : e.first().notes)
                            if (note.find(*expected) != std::string::npos) return true;
                          return false;
                        }());
    std::string wanted_text = expected ? *expected : std::string();
    leave_all(true);
    if (wanted) return;
    if (expected && e.first().fault != Fault::internal)
      e.first().notes.push_back("expected an error with the text: " + wanted_text);
    throw;
  } catch (...) {
    leave_all(true);
    throw;
  }
  const std::string text = expected ? *expected : std::string();
  leave_all(false);
  // The look may skip the failing statement.
  if (expected_at && !check_in_progress(in)) {
    Error e = run_error("no error came where one with the text `" + text + "` was expected").as(codes::assertion);
    e.locate(expected_at, position_of(in).frames);
    throw e;
  }
}

}  // namespace pxl
