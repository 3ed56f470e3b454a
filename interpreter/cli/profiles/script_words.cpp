#include "interpreter/cli/profiles/script_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "interpreter/language/options.hpp"
#include "interpreter/onnx/run_model.hpp"
#include "interpreter/syntax/parse.hpp"
#include "runtime/base/limits/budget.hpp"

namespace pxl::cli {

namespace {

std::string with_underscores(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// The options that a script declares; none if its text does not parse or is too long for a look, which the command
/// reports. A look needs no option that is required.
std::vector<OptionInfo> options_of(const Script& script) {
  if (!script.source) return {};
  Budget budget;
  const BudgetScope scope(&budget);
  std::vector<OptionInfo> options;
  try {
    if (const ParseResult parsed = parse(*script.source); parsed.tree) options = scan_options(*parsed.tree);
  } catch (const OverBudget&) {
  }
  for (OptionInfo& o : options) o.required = false;
  return options;
}

class Splitter {
 public:
  Splitter(const Command& command, const ScriptSyntax& syntax) : command_(command), syntax_(syntax) {}

  ScriptWords split(const std::vector<std::string>& words) {
    for (at_ = words.begin(), end_ = words.end(); at_ != end_; ++at_) take(*at_);
    return std::move(out_);
  }

 private:
  const Flag* flag_of(std::string_view word) const {
    const std::string_view name = word.substr(0, word.find('='));
    for (const Flag& f : command_.flags)
      if (name == f.name || (!f.letter.empty() && name == f.letter)) return &f;
    return nullptr;
  }
  /// The options of the last script, whose text is parsed when a word first asks.
  const std::vector<OptionInfo>& declared() {
    if (!declared_) declared_ = out_.scripts.empty() ? std::vector<OptionInfo>() : options_of(out_.scripts.back());
    return *declared_;
  }
  const OptionInfo* option_of(const std::string& word) {
    if (word.size() < 3 || !word.starts_with("--")) return nullptr;
    const std::string name = with_underscores(word.substr(2, word.find('=') - 2));
    for (const OptionInfo& o : declared())
      if (o.name == name) return &o;
    return nullptr;
  }

  void take(const std::string& word) {
    if (word == "--" && !flags_ended_) {
      flags_ended_ = true;
      return;
    }
    const OptionInfo* option = option_of(word);
    const Flag* flag = option || flags_ended_ ? nullptr : flag_of(word);
    if (flag)
      take_flag(*flag, word);
    else if (option)
      take_option(*option, word);
    else if (!flags_ended_ && out_.scripts.empty() && word.size() > 1 && word[0] == '-')
      out_.ours.push_back(word);  // an unknown flag, which the command refuses
    else if (out_.scripts.empty() || (syntax_.several && (word.size() < 2 || word[0] != '-')))
      begin(word);
    else
      take_unknown(word);
  }

  void take_unknown(const std::string& word) {
    Script& script = out_.scripts.back();
    script.options.push_back(word);
    // The next word may be a file: an unknown option is refused before it is taken for one.
    if (syntax_.several && script.source) parse_options(script.file, declared(), script.options);
  }

  void take_flag(const Flag& flag, const std::string& word) {
    out_.ours.push_back(word);
    if (flag.value.empty()) return;
    const size_t equals = word.find('=');
    std::string value = equals == word.npos ? std::string() : word.substr(equals + 1);
    if (equals == word.npos && at_ + 1 != end_) out_.ours.push_back(value = *++at_);
    if (flag.name == syntax_.repeated) out_.repeated.push_back(value);
    if (flag.name == syntax_.other) begin(value);
  }

  void take_option(const OptionInfo& option, const std::string& word) {
    std::vector<std::string>& options = out_.scripts.back().options;
    options.push_back(word);
    if (word.find('=') != word.npos || at_ + 1 == end_) return;
    const std::string& next = at_[1];
    const bool truth = next == "true" || next == "false";
    if (option.type == "bool" ? truth : flags_ended_ || !flag_of(next)) options.push_back(*++at_);
  }

  void begin(const std::string& file) {
    std::error_code ignored;
    Script script{file};
    if (!is_model(file) && !std::filesystem::is_directory(file, ignored)) {
      try {
        script.source = &read_source(file);
      } catch (const Error&) {
        if (!syntax_.several) throw;  // of several files, the command reports each
      }
    }
    declared_.reset();
    out_.scripts.push_back(std::move(script));
  }

  const Command& command_;
  const ScriptSyntax& syntax_;
  ScriptWords out_;
  std::vector<std::string>::const_iterator at_, end_;
  std::optional<std::vector<OptionInfo>> declared_;
  bool flags_ended_ = false;
};

}  // namespace

bool is_model(const std::string& file) { return file.ends_with(".onnx"); }

ScriptWords script_words(const Command& command, const std::vector<std::string>& arguments,
                         const ScriptSyntax& syntax) {
  ScriptWords words = Splitter(command, syntax).split(arguments);
  if (words.scripts.empty()) {
    parse_flags(command, words.ours);  // a wrong flag is the better message
    throw Error(fmt::format("{}: no operand is given", command.name), {fmt::format("usage: pxl {}", command.usage)},
                Fault::usage);
  }
  return words;
}

ast::TreePtr tree_of(const Script& script) {
  if (is_model(script.file)) return onnx::program_of_model(script.file);
  return parse_or_throw(script.source ? *script.source : read_source(script.file));
}

}  // namespace pxl::cli
