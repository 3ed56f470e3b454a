// Runs the generated parser over a TokenList and records a light tree. Only this file and raw_lexer.cpp include ANTLR.
// An error skips to the end of the statement, and parsing resumes with the next one. The grammar is LL(1), so SLL
// prediction is exact and full-context prediction is not needed.
#include <antlr4-runtime.h>

#include "PxlParser.h"
#include "interpreter/syntax/parse_tree.hpp"
#include "runtime/base/limits/budget.hpp"

namespace pxl::syntax {
namespace {

using Generated = pxl_grammar::PxlParser;

int type_of(size_t antlr_type) { return antlr_type == antlr4::Token::EOF ? end_of_text : static_cast<int>(antlr_type); }

class ListSource : public antlr4::TokenSource {
 public:
  explicit ListSource(const TokenList& list) : list_(list) {}
  std::unique_ptr<antlr4::Token> nextToken() override {
    constexpr int64_t token_ns = 1200;
    charge(token_ns);
    int type = list_.tokens[std::min(next_, list_.tokens.size() - 1)].type;
    ++next_;
    return std::make_unique<antlr4::CommonToken>(type == end_of_text ? antlr4::Token::EOF : static_cast<size_t>(type));
  }
  size_t getLine() const override { return 0; }
  size_t getCharPositionInLine() override { return 0; }
  antlr4::CharStream* getInputStream() override { return nullptr; }
  std::string getSourceName() override { return {}; }
  antlr4::TokenFactory<antlr4::CommonToken>* getTokenFactory() override {
    return antlr4::CommonTokenFactory::DEFAULT.get();
  }

 private:
  const TokenList& list_;
  size_t next_ = 0;
};

// Records nodes when rules are entered and tokens consumed. ANTLR's own tree is disabled, since it is slower and its
// destruction recurses. The Recorder detects the end of a rule from the context of the next event.
class Recorder : public Generated {
 public:
  Recorder(antlr4::TokenStream* stream, ParseTree& out) : Generated(stream), out_(out) { setBuildParseTree(false); }

  void enterRule(antlr4::ParserRuleContext* context, size_t state, size_t rule) override {
    Generated::enterRule(context, state, rule);
    leave_to(context->parent);
    Node* node = add(static_cast<int>(rule), false);
    node->first = index();
    open_.push_back({context, node, nullptr});
    if (!out_.root) out_.root = node;
  }

  antlr4::Token* consume() override {
    if (getCurrentToken()->getType() != antlr4::Token::EOF) {
      leave_to(getContext());
      Node* node = add(type_of(getCurrentToken()->getType()), true);
      node->first = node->last = last_ = index();
    }
    return Generated::consume();
  }

  void finish() { leave_to(nullptr); }

  uint32_t index() { return static_cast<uint32_t>(getCurrentToken()->getTokenIndex()); }

  uint32_t innermost_statement() {
    for (auto* c = getContext(); c; c = static_cast<antlr4::ParserRuleContext*>(c->parent))
      if (c->getRuleIndex() == RuleStatement) return static_cast<uint32_t>(c->start->getTokenIndex());
    return no_token;
  }

 private:
  struct Entered {
    antlr4::RuleContext* context;
    Node* node;
    Node* last_child;
  };

  Node* add(int id, bool is_token) {
    Node& node = out_.nodes.emplace_back();
    node.id = id;
    node.is_token = is_token;
    if (!open_.empty()) {
      Entered& top = open_.back();
      (top.last_child ? top.last_child->next : top.node->child) = &node;
      top.last_child = &node;
    }
    return &node;
  }

  void leave_to(const void* context) {
    while (!open_.empty() && open_.back().context != context) {
      open_.back().node->last = std::max(last_, open_.back().node->first);
      open_.pop_back();
    }
  }

  ParseTree& out_;
  std::vector<Entered> open_;
  uint32_t last_ = 0;
};

class SkipStatement : public antlr4::DefaultErrorStrategy {
 public:
  SkipStatement(const TokenList& list, ParseTree& out) : list_(list), out_(out) {}

  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) override {
    if (!in_flight_) record(parser, static_cast<uint32_t>(e.getOffendingToken()->getTokenIndex()));
    in_flight_ = true;
  }

  antlr4::Token* recoverInline(antlr4::Parser* parser) override { throw antlr4::InputMismatchException(parser); }

  // Every rule catches exceptions. Only statements, and the rules that contain statements, handle them.
  void recover(antlr4::Parser* parser, std::exception_ptr e) override {
    size_t rule = parser->getContext()->getRuleIndex();
    if (rule != Generated::RuleStatement && rule != Generated::RuleFile) std::rethrow_exception(e);
    skip(parser, list_.tokens[static_cast<size_t>(parser->getContext()->start->getTokenIndex())].enclosing);
    in_flight_ = false;
  }

  // Called between statements: reports and skips the rest of the line after a statement.
  void sync(antlr4::Parser* parser) override {
    size_t rule = parser->getContext()->getRuleIndex();
    if (rule != Generated::RuleFile && rule != Generated::RuleBlock) return;
    size_t type = parser->getTokenStream()->LA(1);
    if (type == Generated::NEWLINE || type == Generated::BLOCK_CLOSE || type == antlr4::Token::EOF) return;
    if (parser->getATN().nextTokens(parser->getATN().states[parser->getState()]).contains(type)) return;
    auto start = static_cast<uint32_t>(parser->getContext()->start->getTokenIndex());
    // The brace of a block is not consumed yet when the block starts.
    if (rule == Generated::RuleBlock && list_.tokens[start].type != ids::BLOCK_OPEN) return;
    record(parser, static_cast<uint32_t>(parser->getCurrentToken()->getTokenIndex()));
    skip(parser, rule == Generated::RuleBlock ? start : no_token);
  }

 private:
  void record(antlr4::Parser* parser, uint32_t token) {
    SyntaxError error;
    error.token = token;
    error.statement = static_cast<Recorder*>(parser)->innermost_statement();
    auto expected = parser->getExpectedTokens();
    for (ssize_t type : expected.toList()) error.expected.push_back(static_cast<int>(type));
    out_.errors.push_back(std::move(error));
  }

  void skip(antlr4::Parser* parser, uint32_t enclosing) {
    while (true) {
      uint32_t i = static_cast<Recorder*>(parser)->index();
      const Token& t = list_.tokens[i];
      if (t.type == end_of_text) return;
      if ((t.type == ids::NEWLINE || t.type == ids::BLOCK_CLOSE) && t.enclosing == enclosing) return;
      parser->consume();
    }
  }

  const TokenList& list_;
  ParseTree& out_;
  bool in_flight_ = false;
};

const Node* find(const Node* start, int id, bool is_token) {
  for (const Node* n = start; n; n = n->next)
    if (n->id == id && n->is_token == is_token) return n;
  return nullptr;
}

}  // namespace

const Node* Node::rule(int rule, const Node* from) const { return find(from ? from->next : child, rule, false); }
const Node* Node::token(int type, const Node* from) const { return find(from ? from->next : child, type, true); }

ParseTree parse_tokens(const TokenList& list) {
  ParseTree out;
  ListSource source(list);
  antlr4::CommonTokenStream stream(&source);
  Recorder parser(&stream, out);
  parser.removeErrorListeners();
  parser.setErrorHandler(std::make_shared<SkipStatement>(list, out));
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(antlr4::atn::PredictionMode::SLL);
  parser.file();
  parser.finish();
  return out;
}

}  // namespace pxl::syntax
