// Assigns separate token types to words and punctuation whose meaning depends on the context, so that the grammar is
// LL(1). These are contextual keywords, names of arguments, lambda heads, trailing commas and `else if`.
#include <array>
#include <utility>

#include "interpreter/syntax/tokens.hpp"

namespace pxl::syntax {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 11> before_a_name{{{"param", ids::PARAM},
                                                                          {"state", ids::STATE},
                                                                          {"next", ids::NEXT},
                                                                          {"program", ids::PROGRAM},
                                                                          {"stream", ids::STREAM},
                                                                          {"variable", ids::VARIABLE},
                                                                          {"constant", ids::CONSTANT},
                                                                          {"option", ids::OPTION},
                                                                          {"outlined", ids::OUTLINED},
                                                                          {"record", ids::RECORD},
                                                                          {"module", ids::MODULE}}};

class Roles {
 public:
  explicit Roles(TokenList& list) : list_(list), tokens_(list.tokens) {}

  void run() {
    for (uint32_t i = 0; i < tokens_.size(); ++i) {
      Token& t = tokens_[i];
      if (t.type == ids::ARROW)
        lambda_head(i);
      else if (t.type == ids::COMMA)
        comma(i);
      else if (t.type == ids::ELSE && type(i - 1) == ids::BLOCK_CLOSE && type(i + 1) == ids::IF)
        t.type = ids::ELSE_IF;
      else if (t.type == ids::TRY && type(i + 1) == ids::BLOCK_OPEN)
        t.type = ids::TRY_BLOCK;
      else if ((t.type == ids::NAME || is_word(t.type)) && type(i + 1) == ids::ASSIGN && names_argument(i))
        t.type = ids::ARGUMENT_NAME;
      else if (t.type == ids::NAME)
        name(i);
    }
  }

 private:
  int type(uint32_t i) const { return i < tokens_.size() ? tokens_[i].type : end_of_text; }

  void lambda_head(uint32_t i) {
    if (type(i - 1) == ids::NAME && type(i - 2) != ids::DOT) tokens_[i - 1].type = ids::LAMBDA_NAME;
    if (type(i - 1) == ids::RPAREN) tokens_[tokens_[i - 1].partner].type = ids::LAMBDA_OPEN;
  }

  void comma(uint32_t i) {
    switch (type(i + 1)) {
      case ids::RPAREN:
      case ids::RBRACKET:
      case ids::DICT_CLOSE:
      case ids::INTERPOLATION_CLOSE:
      case ids::ASSIGN:
      case ids::IN: tokens_[i].type = ids::TRAILING_COMMA;
    }
  }

  bool names_argument(uint32_t i) const {
    uint32_t around = tokens_[i].enclosing;
    return around != no_token && type(around) == ids::LPAREN && (i - 1 == around || type(i - 1) == ids::COMMA);
  }

  void name(uint32_t i) {
    std::string_view word = list_.text(i);
    int next = type(i + 1);
    int before = i == 0 ? ids::NEWLINE : type(i - 1);
    if (word == "ref" && next == ids::NAME && (before == ids::LPAREN || before == ids::COMMA || before == ids::PARAM))
      tokens_[i].type = ids::REF;
    if (word == "out" && next == ids::NAME && before == ids::STREAM) tokens_[i].type = ids::OUT;
    if (before != ids::NEWLINE && before != ids::BLOCK_OPEN) return;
    if (next == ids::NAME || (word == "stream" && next == ids::IN) || (word == "outlined" && next == ids::DEF))
      for (auto [text, role] : before_a_name)
        if (word == text) tokens_[i].type = role;
    if (word == "test" && next == ids::STRING) tokens_[i].type = ids::TEST;
    if (word == "build" && next == ids::LPAREN) {
      // `build(x)` without a block is a call.
      int after = type(tokens_[i + 1].partner + 1);
      if (after == ids::BLOCK_OPEN || after == ids::WITH || after == ids::COLON || after == ids::RESULT)
        tokens_[i].type = ids::BUILD;
    }
  }

  TokenList& list_;
  std::vector<Token>& tokens_;
};

}  // namespace

bool is_word(int type) { return type >= ids::AND && type <= ids::LATER; }

void assign_roles(TokenList& list) { Roles(list).run(); }

}  // namespace pxl::syntax
