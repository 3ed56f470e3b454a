// Balances brackets, braces, f-strings and interpolations with a stack. If a closer is missing, an error is reported at
// the opening, and a synthetic token replaces the closer. The parser therefore sees balanced tokens only.
#include <fmt/format.h>

#include <utility>

#include "interpreter/syntax/fixes/syntax_fixes.hpp"
#include "interpreter/syntax/newlines.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl::syntax {

void NewlineResolver::problem(std::string message, uint32_t begin, uint32_t end, std::vector<std::string> notes,
                              std::string_view code) {
  out_.problems.push_back(Diagnostic{
      Severity::error, Fault::refused, std::move(message), {&source_, begin, end}, std::move(notes), nullptr, code});
}

void NewlineResolver::unclosed(const Open& o, std::vector<std::string> notes) {
  Token& t = out_.tokens[o.token];
  t.unclosed = true;
  after_arrow_ = o.kind == dict && o.token > 0 && out_.tokens[o.token - 1].type == ids::ARROW;
  if (after_arrow_) notes.push_back(fmt::format("{}; {}", one_expression, def_with_statements));
  std::string what = o.kind == fstring         ? "this f-string is not closed"
                     : o.kind == interpolation ? "this interpolation is not closed"
                                               : fmt::format("`{}` is not closed", out_.text(o.token));
  problem(what, t.begin, t.end, std::move(notes), codes::unclosed);
  mend_unclosed(out_, o.token, out_.problems.back());
}

void NewlineResolver::compare_indentation(const Open& o, uint32_t closer) {
  const uint32_t open = out_.tokens[o.token].begin;
  const size_t outside = indentation_at(source_, open).size(), own = indentation_at(source_, closer).size();
  if (closer != source_.line_start(source_.position(closer).line) + own) return;  // it begins no line
  if (source_.position(open).line == source_.position(closer).line) return;
  if (own < outside && !closed_below_) closed_below_ = Indented{o, closer};
  if (own > outside && !closed_above_) closed_above_ = Indented{o, closer};
}

NewlineResolver::Open NewlineResolver::unclosed_block() const {
  const Open& innermost = stack_.back();
  const bool braces = innermost.kind == block || innermost.kind == dict;
  return braces && closed_below_ ? closed_below_->opening : innermost;
}

uint32_t NewlineResolver::push(int type, uint32_t begin, uint32_t end) {
  Token t;
  t.type = type;
  t.begin = begin;
  t.end = end;
  if (!stack_.empty()) t.enclosing = stack_.back().token;
  out_.tokens.push_back(t);
  return static_cast<uint32_t>(out_.tokens.size() - 1);
}

void NewlineResolver::open(RawToken raw, int type, Kind kind) {
  if (stack_.size() >= static_cast<size_t>(max_depth)) {
    problem(fmt::format("nested deeper than {} levels", max_depth), raw.begin, raw.end,
            {"assign a part of it to a name"});
    too_deep_ = true;
    return;
  }
  stack_.push_back({kind, push(type, raw.begin, raw.end)});
}

void NewlineResolver::pop(uint32_t begin, uint32_t end, bool synthetic) {
  Open o = stack_.back();
  static constexpr int closers[] = {
      ids::RPAREN, ids::RBRACKET, ids::DICT_CLOSE, ids::BLOCK_CLOSE, ids::INTERPOLATION_CLOSE, ids::FSTRING_CLOSE};
  uint32_t index = push(closers[o.kind], begin, end);
  out_.tokens[index].synthetic = synthetic;
  out_.tokens[index].partner = o.token;
  out_.tokens[o.token].partner = index;
  out_.tokens[o.token].unclosed |= synthetic;
  stack_.pop_back();
  if (o.kind == interpolation) {
    if (o.in_format) lexer_.leave();
    lexer_.leave();
  }
  // The closing quote has already left the text mode.
  if (o.kind == fstring && synthetic) lexer_.leave();
}

void NewlineResolver::unwind(size_t size, uint32_t at) {
  while (stack_.size() > size) pop(at, at, true);
}

void NewlineResolver::close(RawToken raw) {
  Kind wanted = raw.type == ids::RPAREN     ? parenthesis
                : raw.type == ids::RBRACKET ? bracket
                : raw.type == ids::RBRACE   ? dict
                                            : fstring;
  auto matches = [&](const Open& o) {
    return o.kind == wanted || (wanted == dict && (o.kind == block || o.kind == interpolation));
  };
  if (!stack_.empty() && matches(stack_.back())) {
    if (stack_.back().kind == block || stack_.back().kind == dict) compare_indentation(stack_.back(), raw.begin);
    return pop(raw.begin, raw.end, false);
  }
  // A `}` also closes unclosed parentheses inside its block; a `)` never closes a block.
  for (size_t i = stack_.size(); i > 0; --i) {
    const Open& o = stack_[i - 1];
    if (matches(o)) {
      int line = source_.position(raw.begin).line;
      unclosed(stack_.back(), {fmt::format("`{}` in line {} closes an outer bracket", text(raw), line)});
      unwind(i, raw.begin);
      return pop(raw.begin, raw.end, false);
    }
    if (o.kind != parenthesis && o.kind != bracket) break;
  }
  close_mismatched(raw, wanted);
}

void NewlineResolver::close_mismatched(RawToken raw, Kind wanted) {
  bool other_kind =
      !stack_.empty() && (stack_.back().kind == parenthesis || stack_.back().kind == bracket) && wanted != dict;
  if (!other_kind) {
    if (wanted == dict && std::exchange(after_arrow_, false)) return;
    const bool earlier = wanted == dict && closed_above_;
    const uint32_t begin = earlier ? closed_above_->closer : raw.begin, end = begin + (raw.end - raw.begin);
    std::vector<std::string> notes;
    if (earlier) notes.emplace_back("it is indented more than the line of the `{` that it closes");
    problem(fmt::format("unmatched `{}`", text(raw)), begin, end, std::move(notes), codes::unclosed);
    Diagnostic& d = out_.problems.back();
    if (earlier) {
      d.related.push_back({out_.span(closed_above_->opening.token), "it closes this `{`"});
      d.related.push_back({{&source_, raw.begin, raw.end}, "no `{` is left for this `}`"});
      closed_above_.reset();
    }
    return mend_unmatched(source_, begin, end, d);
  }
  const Open& o = stack_.back();
  Token& t = out_.tokens[o.token];
  Position at = source_.position(raw.begin);
  problem(fmt::format("`{}` is closed by `{}`", out_.text(o.token), text(raw)), t.begin, t.end,
          {fmt::format("the `{}` is at {}:{}", text(raw), at.line, at.column)}, codes::unclosed);
  const std::string_view closer = o.kind == parenthesis ? ")" : "]";
  out_.problems.back().offer({&source_, raw.begin, raw.end}, std::string(closer));
  pop(raw.begin, raw.end, true);
}

void NewlineResolver::broken_string(RawToken raw) {
  bool triple = raw.type == ids::BROKEN_TRIPLE;
  size_t outermost = stack_.size();
  for (size_t i = stack_.size(); i > 0; --i)
    if (stack_[i - 1].kind == fstring) outermost = i - 1;
  out_.problems_before_end = out_.problems.size();
  if (triple) out_.open_at_end = true;
  if (outermost == stack_.size()) {
    problem("this string is not closed", raw.begin, raw.end,
            triple ? std::vector<std::string>{}
                   : std::vector<std::string>{"a string over several lines needs triple quotes"},
            codes::unclosed);
    push(ids::STRING, raw.begin, raw.end);
    return;
  }
  // The quote was probably meant to end the f-string, so the `}` of the interpolation is missing.
  size_t inner = stack_.size() - 1;
  while (stack_[inner].kind != interpolation) --inner;
  unclosed(stack_[inner], {"the string that starts inside it is not closed either"});
  push(ids::STRING, raw.begin, raw.end);
  unwind(outermost, raw.end);
}

void NewlineResolver::broken_fstring(RawToken raw) {
  size_t base = stack_.size();
  if (!stack_.empty() && stack_.back().kind == interpolation) {
    unclosed(stack_.back());
    --base;
  } else if (!stack_.empty()) {
    unclosed(stack_.back(), {"a string over several lines needs triple quotes"});
  }
  // The enclosing f-strings cannot be closed correctly either.
  for (size_t i = base; i > 0; --i)
    if (stack_[i - 1].kind == fstring) base = i - 1;
  unwind(base, raw.begin);
}

}  // namespace pxl::syntax
