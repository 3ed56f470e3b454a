// The evaluator's part of a session: running files, imports, the session's names, outcomes of tests. The functions of
// evaluate.hpp, functions.hpp and operators.hpp evaluate expressions, statements and functions.
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
struct OwnKinds;

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
  /// Runs more text in the session's own file scope; Returns the value of a final expression statement, or none. The
  /// REPL and -e use it. If it fails, the caller rolls back.
  Value run_more(const ast::TreePtr& tree);
  /// Begins a file scope for a tree whose statements the caller runs.
  void begin_file();
  /// Imports a module of the standard library, or a file next to the importing one. A module is loaded once.
  ScopePtr import_module(const std::vector<std::string>& path, const Span& at);
  /// Imports a file of another format, by a path relative to the importing file's folder. A file is read once. Throws
  /// Error for suffixes that `importers` lacks.
  ScopePtr import_file(const std::string& file, const Span& at);
  /// Notes the kinds that `fail` names in a text (errors.hpp).
  void note_kinds(const ast::Tree& tree);
  /// The kinds of a file, with those of its imports; of the session for any other text.
  const OwnKinds& own_kinds(const SourceFile* file) const;
  size_t running_imports() const { return importing_.size(); }

  const ScopePtr& file_scope() const { return file_scope_; }
  const ScopePtr& prelude() const { return prelude_; }
  /// Notes a scope that a function captures, so that cycles of scopes and functions are freed with the session.
  void remember(const ScopePtr& scope);
  /// Frees the scopes captured since the last call to which only they themselves refer. Called between texts that run.
  void free_captured();
  /// Empties all scopes, since functions hold the scopes that hold them.
  void release_scopes();

  /// The reader for each suffix (".onnx"), which returns the names that a file defines.
  std::map<std::string, ScopePtr (*)(Interpreter&, const std::string& path), std::less<>> importers;
  /// Texts that imports use in place of files. Null except in an editor.
  std::shared_ptr<OpenTexts> open_texts;
  std::vector<OptionInfo> declared_options;  ///< in order of declaration, for --help and for checking the command line

 private:
  friend class UndoJournal;
  void drop_captured();

  Interpreter& in_;
  ScopePtr prelude_;
  ScopePtr file_scope_;
  std::map<std::string, ScopePtr> imported_;
  std::map<const SourceFile*, std::unique_ptr<OwnKinds>> kinds_;  ///< by imported file; null: of the session's texts
  std::map<std::string, const OwnKinds*> kinds_of_module_;        ///< by the key of the module
  OwnKinds& kinds_of(const SourceFile* file) const;
  std::vector<std::string> importing_;
  std::vector<WeakRef<Scope>> captured_;
  size_t captured_limit_ = 1024;
  size_t captured_alive_ = 0;  ///< number of live scopes at the last free_captured
};

Evaluator& evaluator_of(Interpreter& in);
const Evaluator& evaluator_of(const Interpreter& in);

}  // namespace pxl
