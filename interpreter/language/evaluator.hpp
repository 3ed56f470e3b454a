// The evaluator's part of a session: files that run, imports, the names of the session, outcomes of tests. Expressions,
// statements and functions are evaluated by the functions of evaluate.hpp, functions.hpp and operators.hpp.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/scope.hpp"

namespace pxl {

class Interpreter;
class OpenTexts;

/// The outcome of a `test` block.
struct TestOutcome {
  std::string title;
  bool passed;
  Diagnostic failure;
};
/// An `option` that a script declares.
struct OptionInfo {
  std::string name, type, default_text, doc;
  bool required;
};

class Evaluator {
 public:
  explicit Evaluator(Interpreter& in);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// Runs a whole file in a new file scope. Throws Error, Interrupted, ExitRequest.
  void run_file(const ast::TreePtr& tree);
  /// Runs more text in the session's own file scope; returns the value of a final expression statement (none
  /// otherwise). For the REPL and -e. The caller rolls back on failure.
  Value run_more(const ast::TreePtr& tree);
  /// Begins a file scope, for a tree whose statements the caller runs.
  void begin_file();
  /// A module of the standard library, or a file next to the importing one; loaded once.
  ScopePtr import_module(const std::vector<std::string>& path, const Span& at);
  /// A file of another format, by a path from the folder of the importing file; read once. Throws Error for suffixes
  /// that `importers` lacks.
  ScopePtr import_file(const std::string& file, const Span& at);
  size_t running_imports() const { return importing_.size(); }

  const ScopePtr& file_scope() const { return file_scope_; }
  const ScopePtr& prelude() const { return prelude_; }
  /// Notes a scope captured by a function, so that cycles of scopes and functions end with the session.
  void remember(const ScopePtr& scope);
  /// Frees what was captured since the last time and is referred to by itself alone. Between texts that run.
  void free_captured();
  /// Empties all scopes: functions hold the scopes that hold them.
  void release_scopes();

  /// What reads a file of a suffix (".onnx") and gives the names that it defines.
  std::map<std::string, ScopePtr (*)(Interpreter&, const std::string& path), std::less<>> importers;
  /// Texts that imports take in place of files; null except in an editor.
  std::shared_ptr<OpenTexts> open_texts;
  std::vector<OptionInfo> declared_options;  ///< in order of declaration, for --help and for checking the command line

 private:
  friend class UndoJournal;
  void drop_captured();

  Interpreter& in_;
  ScopePtr prelude_;
  ScopePtr file_scope_;
  std::map<std::string, ScopePtr> imported_;
  std::vector<std::string> importing_;
  std::vector<WeakRef<Scope>> captured_;
  size_t captured_limit_ = 1024;
  size_t captured_alive_ = 0;  ///< at the last free_captured
};

Evaluator& evaluator_of(Interpreter& in);
const Evaluator& evaluator_of(const Interpreter& in);

}  // namespace pxl
