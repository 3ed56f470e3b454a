// Splits a command line into the flags of a command and the options of scripts, which follow their files.
#pragma once

#include <string>
#include <vector>

#include "interpreter/cli/command.hpp"
#include "interpreter/syntax/ast.hpp"

namespace pxl::cli {

/// A script and its options.
struct Script {
  std::string file;
  std::vector<std::string> options = {};
  const SourceFile* source = nullptr;  ///< the text; null for a folder, a model, and a file that is not read yet
};

/// Flags of the command may be anywhere. An option of the script takes precedence over a flag with the same name. After
/// `--` no word is a flag of the command.
struct ScriptWords {
  std::vector<std::string> ours;      ///< the command's flags
  std::vector<Script> scripts;        ///< in the order of their files
  std::vector<std::string> repeated;  ///< values of the flag that may be given several times
};

struct ScriptSyntax {
  bool several = false;            ///< the command takes several files
  std::string_view other = {};     ///< a flag whose value is one more script
  std::string_view repeated = {};  ///< a flag that may be given several times
};

ScriptWords script_words(const Command& command, const std::vector<std::string>& arguments,
                         const ScriptSyntax& syntax = {});

/// Whether a file is an ONNX model, by its suffix.
bool is_model(const std::string& file);

/// The tree of a script: of its text, or of a program that runs a model. Throws Error.
ast::TreePtr tree_of(const Script& script);

}  // namespace pxl::cli
