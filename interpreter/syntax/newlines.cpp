// Resolves newlines, braces and doc comments. brackets.cpp handles brackets.
#include "interpreter/syntax/newlines.hpp"
#include "interpreter/syntax/fixes/syntax_fixes.hpp"

#include <algorithm>

#include "runtime/base/limits/budget.hpp"

namespace pxl::syntax {

bool continues_line(int type) {
  switch (type) {
    case ids::AND:
    case ids::OR:
    case ids::NOT:
    case ids::IN:
    case ids::IS:
    case ids::IF:
    case ids::ELSE:
    case ids::ARROW:
    case ids::RESULT:
    case ids::COMMA:
    case ids::COLON:
    case ids::DOT:
    case ids::PLUS:
    case ids::MINUS:
    case ids::STAR:
    case ids::POWER:
    case ids::SLASH:
    case ids::FLOOR:
    case ids::PERCENT:
    case ids::AT:
    case ids::AMPERSAND:
    case ids::BAR:
    case ids::CARET:
    case ids::TILDE:
    case ids::SHIFT_LEFT:
    case ids::SHIFT_RIGHT:
    case ids::EQUAL:
    case ids::NOT_EQUAL:
    case ids::LESS:
    case ids::LESS_EQUAL:
    case ids::GREATER:
    case ids::GREATER_EQUAL:
    case ids::ASSIGN:
    case ids::UPDATE: return true;
    default: return false;
  }
}

/// Whether a word continues the statement whose block ends before it.
static bool joins_block(int type) { return type == ids::ELSE || type == ids::CATCH || type == ids::FINALLY; }

/// Whether a type may follow the previous token: `layer: module | none`, `-> module`, `list[module]`.
static bool before_type(int type) {
  return type == ids::COLON || type == ids::BAR || type == ids::RESULT || type == ids::LBRACKET;
}

bool ends_operand(int type) {
  switch (type) {
    case ids::NAME:
    case ids::INT:
    case ids::FLOAT:
    case ids::STRING:
    case ids::FSTRING_CLOSE:
    case ids::TRUE:
    case ids::FALSE:
    case ids::NONE:
    case ids::ELLIPSIS:
    case ids::RPAREN:
    case ids::RBRACKET:
    case ids::DICT_CLOSE: return true;
    default: return false;
  }
}

NewlineResolver::NewlineResolver(const SourceFile& source, int64_t token_ns)
    : source_(source), lexer_(source), token_ns_(token_ns) {
  out_.source = &source;
}

TokenList NewlineResolver::run() {
  while (true) {
    if (token_ns_ > 0) charge(token_ns_);
    RawToken raw = lexer_.next();
    if (raw.type == end_of_text || too_deep_) {
      end(raw);
      return std::move(out_);
    }
    if (raw.type == ids::DOC || raw.type == ids::COMMENT)
      comment(raw);
    else if (raw.type == ids::NEWLINE)
      newline(raw);
    else if (raw.type == ids::TEXT_NEWLINE) {
      broken_fstring(raw);
      newline(raw);
    } else {
      visible(raw);
    }
  }
}

void NewlineResolver::comment(RawToken raw) {
  bool own_line = first_on_line_;
  out_.comments.push_back({raw.begin, raw.end, own_line});
  if (raw.type == ids::DOC && own_line) {
    std::string_view body = text(raw).substr(2);
    if (!body.empty() && body.front() == ' ') body.remove_prefix(1);
    body = body.substr(0, body.find_last_not_of(" \t\f\v\r") + 1);
    if (!has_doc_ || doc_line_ + 1 != line_) doc_.clear();
    if (!doc_.empty()) doc_ += '\n';
    doc_ += body;
    has_doc_ = true;
    doc_line_ = line_;
  } else if (has_doc_ && own_line && doc_line_ + 1 == line_) {
    doc_line_ = line_;
  }
}

void NewlineResolver::newline(RawToken raw) {
  ++line_;
  first_on_line_ = true;
  if (!pending_ && at_block_level() && !out_.tokens.empty()) {
    pending_ = true;
    pending_at_ = raw.begin;
  }
}

// Whether a newline ended a statement depends on the next visible token.
void NewlineResolver::place_newline(int next_type) {
  if (!pending_) return;
  pending_ = false;
  int before = previous();
  bool joins = before == ids::BLOCK_OPEN || before == ids::NEWLINE || continues_line(before) || next_type == ids::DOT ||
               (joins_block(next_type) && before == ids::BLOCK_CLOSE) || next_type == ids::RBRACE;
  if (!joins) push(ids::NEWLINE, pending_at_, pending_at_ + 1);
}

void NewlineResolver::visible(RawToken raw) {
  if (first_on_line_ && (starts_statement(raw) || leaves_bracket(raw))) {
    // The bracket above was not closed, and the statements below are valid.
    unclosed(stack_.back());
    size_t base = stack_.size();
    while (base > 0 && stack_[base - 1].kind != block) --base;
    unwind(base, raw.begin);
    pending_ = true;
    pending_at_ = raw.begin - 1;
  }
  place_newline(raw.type);
  uint32_t index = static_cast<uint32_t>(out_.tokens.size());
  // A document belongs to the statement below it. Within a statement it is a comment, whose blank lines may go.
  const bool begins_statement = previous() == ids::NEWLINE || previous() == ids::BLOCK_OPEN;
  if (begins_statement && has_doc_ && doc_line_ + 1 == line_) out_.docs[index] = doc_;
  has_doc_ = false;
  doc_.clear();
  first_on_line_ = false;
  if (previous() == ids::DOT && is_word(raw.type)) raw.type = ids::NAME;
  if (raw.type == ids::MODULE && before_type(previous())) raw.type = ids::NAME;
  if (is_word(raw.type) && raw.type != ids::AS && in_catch_head()) raw.type = ids::NAME;
  if (!special(raw)) push(raw.type, raw.begin, raw.end);
  for (char c : text(raw)) line_ += c == '\n';
}

// Handles brackets, strings and tokens that need a special case. Returns false for an ordinary token.
bool NewlineResolver::special(RawToken raw) {
  switch (raw.type) {
    case ids::LPAREN: open(raw, raw.type, parenthesis); return true;
    case ids::LBRACKET: open(raw, raw.type, bracket); return true;
    case ids::LBRACE: {
      bool is_block = opens_block();
      open(raw, is_block ? ids::BLOCK_OPEN : ids::DICT_OPEN, is_block ? block : dict);
      return true;
    }
    case ids::INTERPOLATION_OPEN: open(raw, raw.type, interpolation); return true;
    case ids::FSTRING_OPEN: open(raw, raw.type, fstring); return true;
    case ids::BAD_PREFIX: {
      std::string prefix(text(raw).substr(0, raw.end - raw.begin - 1));
      problem("unknown string prefix `" + prefix + "`", raw.begin, raw.end - 1,
              {"supported prefixes are f (interpolations) and r (raw), one at a time"});
      lexer_.enter_text(source_.text()[raw.end - 1]);
      open(raw, ids::FSTRING_OPEN, fstring);
      return true;
    }
    case ids::RPAREN:
    case ids::RBRACKET:
    case ids::RBRACE:
    case ids::FSTRING_CLOSE: close(raw); return true;
    case ids::BROKEN_STRING:
    case ids::BROKEN_TRIPLE: broken_string(raw); return true;
    case ids::DOUBLED: doubled(raw); return true;
    case ids::STRAY_BRACE:
      problem("a single `}` in an f-string", raw.begin, raw.end, {"write `}}` for a brace in the text"});
      return true;
    case ids::BAD_NUMBER: {
      std::string word(text(raw));
      bool zeros = word.find_first_not_of("0123456789_") == std::string::npos && word.back() != '_';
      problem("`" + word + "` is not a number", raw.begin, raw.end,
              zeros ? std::vector<std::string>{"an integer cannot begin with 0; octal is written 0o17"}
                    : std::vector<std::string>{});
      push(ids::INT, raw.begin, raw.end);
      return true;
    }
    case ids::COLON:
      if (stack_.empty() || stack_.back().kind != interpolation) return false;
      stack_.back().in_format = true;
      lexer_.enter_format();
      push(ids::FORMAT_COLON, raw.begin, raw.end);
      return true;
    default: return false;
  }
}

bool NewlineResolver::opens_block() const {
  if (!at_block_level()) return false;
  int before = previous();
  if (before == ids::ELSE)
    return out_.tokens.size() > 1 && out_.tokens[out_.tokens.size() - 2].type == ids::BLOCK_CLOSE;
  if (before == ids::TRY) return starts_line(out_.tokens.size() - 1);
  return ends_operand(before) || before == ids::LATER || before == ids::CATCH || before == ids::FINALLY;
}

bool NewlineResolver::starts_line(size_t token) const {
  return token == 0 || out_.tokens[token - 1].type == ids::NEWLINE || out_.tokens[token - 1].type == ids::BLOCK_OPEN;
}

// Kinds of errors may be named like reserved words.
bool NewlineResolver::in_catch_head() const {
  size_t i = out_.tokens.size();
  while (i > 1 && out_.tokens[i - 1].type == ids::COMMA && out_.tokens[i - 2].type == ids::NAME) i -= 2;
  return i > 0 && out_.tokens[i - 1].type == ids::CATCH;
}

bool NewlineResolver::starts_statement(RawToken raw) const {
  switch (raw.type) {
    case ids::DEF:
    case ids::RETURN:
    case ids::WHILE:
    case ids::WITH:
    case ids::IMPORT:
    case ids::FROM:
    case ids::ASSERT:
    case ids::PASS:
    case ids::NONLOCAL:
    case ids::BREAK:
    case ids::CONTINUE:
    case ids::MODULE: break;
    default: return false;
  }
  if (at_block_level() || previous() == ids::DOT) return false;
  for (const Open& o : stack_)
    if (o.kind == fstring) return false;
  // Before `=`, any word is an argument name.
  std::string_view rest = source_.text().substr(raw.end);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  if (rest.starts_with('=') && !rest.starts_with("==")) return false;
  // `module` is also a type; only a statement has a name after it.
  const auto is_name = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
  };
  return raw.type != ids::MODULE || (!rest.empty() && is_name(rest.front()));
}

bool NewlineResolver::leaves_bracket(RawToken raw) const {
  if (raw.type != ids::NAME) return false;
  if (at_block_level() || stack_.back().kind == dict || !ends_operand(previous())) return false;
  size_t outermost = stack_.size();
  while (outermost > 0 && stack_[outermost - 1].kind != block) {
    if (stack_[outermost - 1].kind == fstring) return false;
    --outermost;
  }
  const uint32_t open = out_.tokens[stack_[outermost].token].begin;
  return indentation_at(source_, raw.begin).size() <= indentation_at(source_, open).size();
}

// `a ++b` is two operators; `x++` is an increment of another language.
void NewlineResolver::doubled(RawToken raw) {
  std::string_view rest = source_.text().substr(raw.end);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  int before = previous();
  bool statement_start = at_block_level() && (before == ids::NEWLINE || before == ids::BLOCK_OPEN);
  if (statement_start || rest.empty() || std::string_view("\r\n#;)]},").find(rest.front()) != std::string_view::npos) {
    push(ids::DOUBLED, raw.begin, raw.end);
    return;
  }
  int type = source_.text()[raw.begin] == '+' ? ids::PLUS : ids::MINUS;
  push(type, raw.begin, raw.begin + 1);
  push(type, raw.begin + 1, raw.end);
}

void NewlineResolver::end(RawToken raw) {
  uint32_t at = raw.begin;
  out_.problems_before_end =
      too_deep_ ? out_.problems.size() : std::min(out_.problems.size(), out_.problems_before_end);
  if (!out_.open_at_end) out_.problems_before_end = out_.problems.size();
  out_.end = static_cast<uint32_t>(out_.tokens.size());
  if (!stack_.empty() && !too_deep_) {
    out_.open_at_end = true;
    unclosed(unclosed_block());
  }
  unwind(0, at);
  out_.doc_at_end = has_doc_ && doc_line_ + 1 >= line_;
  push(end_of_text, at, at);
}

TokenList resolve_newlines(const SourceFile& source, int64_t token_ns) {
  return NewlineResolver(source, token_ns).run();
}

}  // namespace pxl::syntax
