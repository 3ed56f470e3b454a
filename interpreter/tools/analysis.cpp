#include "interpreter/tools/analysis.hpp"

#include <algorithm>
#include <map>

#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/fixes.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/inspection.hpp"
#include "interpreter/tools/lints/lints.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/unknown.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl {

namespace {

// The hint for a value whose spec the text does not show: a tensor, an array, or a stream declared without a spec.
std::string hint_of(const Value& v, const Span& name) {
  if (auto* tensor = v.as<TensorObject>()) return text(tensor->tensor->spec);
  if (const Array* array = v.as_array()) return text(array->spec());
  if (const auto spec = unknown_spec(v)) return text(*spec);
  if (auto* stream = v.as<StreamObject>()) {
    const std::string_view rest = name.file->text().substr(name.end);
    const size_t next = rest.find_first_not_of(" \t");
    if (next == rest.npos || rest[next] != ':') return text(stream->stream->spec());
  }
  return {};
}

// The name at the beginning of a span. Parameters and params get the location of their whole declaration if the tree
// has no narrower one.
Span name_in(const Span& span) {
  const std::string_view text = span.text();
  const size_t end = text.find_first_of(" :=,)");
  return {span.file, span.begin, end == text.npos ? span.end : span.begin + static_cast<uint32_t>(end)};
}

void analyse(Analysis& out, const std::string& path, const std::string& text) {
  out.source = std::make_unique<SourceFile>(path, text);
  ParseResult parsed = parse(*out.source);
  out.diagnostics = std::move(parsed.diagnostics);
  out.finished = true;
  if (!parsed.tree) return;
  InterpreterOptions options;
  options.out = options.err = [](std::string_view) {};
  options.quiet = true;
  const auto warnings = std::make_shared<std::vector<Diagnostic>>();
  options.warn = [warnings](Diagnostic d) { warnings->push_back(std::move(d)); };
  auto in = make_interpreter(std::move(options));
  evaluator_of(*in).open_texts = out.open_texts;
  std::map<uint32_t, BoundName> names;
  const auto observe = [&](const Span& span, const Value& value) {
    if (span.file != out.source.get()) return;
    const Span name = name_in(span);
    if (names.contains(name.begin)) return;
    BoundName& b = names[name.begin];
    b.span = name;
    b.type = type_text(*in, value);
    b.hint = hint_of(value, name);
    if (value.is_object()) b.members = value.object()->member_names();
  };
  try {
    CheckResult checked = check_file(*in, parsed.tree, {}, observe);
    for (Diagnostic& d : checked.errors) out.diagnostics.push_back(std::move(d));
    warnings->insert(warnings->end(), checked.warnings.begin(), checked.warnings.end());
    std::vector<Diagnostic> found =
        lints(*parsed.tree, *evaluator_of(*in).prelude(), checked.irs, std::move(*warnings));
    if (out.diagnostics.empty())
      out.diagnostics = std::move(found);
    else
      relate_missing_returns(out.diagnostics, found);
  } catch (const Error& e) {
    out.diagnostics.insert(out.diagnostics.end(), e.all().begin(), e.all().end());
  } catch (const std::exception&) {
    // The analysis ended early, for example for lack of memory: the editor continues with what is known.
  }
  end_check(*in);
  for (auto& [begin, name] : names) out.names.push_back(std::move(name));
  out.interpreter = std::move(in);
}

}  // namespace

const BoundName* Analysis::before(std::string_view name, uint32_t offset) const {
  const BoundName* found = nullptr;
  for (const BoundName& b : names) {
    if (b.span.begin > offset) break;
    if (b.span.text() == name) found = &b;
  }
  return found;
}

std::unique_ptr<Analysis> analyse(const std::string& path, const std::string& text, const std::atomic<bool>* cancelled,
                                  std::shared_ptr<OpenTexts> open_texts) {
  auto out = std::make_unique<Analysis>();
  out->open_texts = std::move(open_texts);
  Budget budget({}, cancelled);
  const BudgetScope scope(&budget);
  try {
    analyse(*out, path, text);
  } catch (const Interrupted&) {
    out->finished = false;
  } catch (const OverBudget&) {
    // The text is too long for a look: the editor continues with its symbols.
  }
  add_implied_fixes(out->diagnostics);
  return out;
}

}  // namespace pxl
