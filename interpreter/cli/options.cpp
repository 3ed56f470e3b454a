// A script's `option` declarations as command-line flags.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/cli/command.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/base/text/wrap.hpp"

namespace pxl::cli {

namespace {

Error usage_error(const std::string& script, std::string message) {
  return Error(std::move(message), {fmt::format("`pxl {} --help` lists the options", script)}, Fault::usage)
      .as(codes::option);
}

// Flags are written with dashes or underscores.
std::string option_name(std::string_view flag) {
  std::string name(flag);
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

}  // namespace

std::map<std::string, std::string> parse_options(const std::string& script, const std::vector<OptionInfo>& declared,
                                                 const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> values;
  auto find = [&](const std::string& name) -> const OptionInfo* {
    for (const auto& o : declared) {
      if (o.name == name) return &o;
    }
    return nullptr;
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    // The first `--` ends pxl's own flags.
    if (word == "--" &&
        std::find(arguments.begin(), arguments.end(), word) == arguments.begin() + static_cast<ptrdiff_t>(i))
      continue;
    if (word.size() < 3 || word.compare(0, 2, "--") != 0) {
      throw usage_error(script, fmt::format("unexpected argument `{}`: options are written --NAME VALUE", word));
    }
    const size_t equals = word.find('=');
    const std::string name =
        option_name(std::string_view(word).substr(2, equals == word.npos ? word.npos : equals - 2));
    const OptionInfo* option = find(name);
    if (!option && equals == word.npos && name.compare(0, 3, "no_") == 0) {
      const OptionInfo* negated = find(name.substr(3));
      if (negated && negated->type == "bool") {
        values[negated->name] = "false";
        continue;
      }
    }
    if (!option) {
      if (declared.empty())
        throw usage_error(script, fmt::format("unknown option `{}`: the script declares none", word));
      std::vector<std::string> names;
      for (const auto& o : declared) names.push_back(o.name);
      const auto near = nearest(name, names);
      throw usage_error(script, fmt::format("unknown option `--{}`{}", name,
                                            near ? fmt::format(": did you mean `--{}`?", *near) : std::string()));
    }
    if (equals != word.npos) {
      values[name] = word.substr(equals + 1);
    } else if (option->type == "bool" &&
               (i + 1 == arguments.size() || (arguments[i + 1] != "true" && arguments[i + 1] != "false"))) {
      values[name] = "true";
    } else if (i + 1 < arguments.size()) {
      values[name] = arguments[++i];
    } else {
      throw usage_error(script, fmt::format("option `--{}` needs a value ({})", name, option->type));
    }
  }
  for (const auto& o : declared) {
    if (o.required && !values.count(o.name)) {
      throw usage_error(script, fmt::format("option `--{}` is required ({})", o.name, o.type));
    }
  }
  return values;
}

std::string options_help(const std::string& script, const std::vector<OptionInfo>& declared, std::string_view doc) {
  std::string text = fmt::format("usage: pxl {} [--OPTION VALUE ...]\n", script);
  if (!doc.empty()) text += fmt::format("\n{}\n", doc);
  if (declared.empty()) return text + "\nThis script declares no options.\n";
  text += "\noptions:\n";
  size_t width = 0;
  auto left = [](const OptionInfo& o) { return fmt::format("--{} {}", o.name, o.type); };
  for (const auto& o : declared) width = std::max(width, left(o).size());
  for (const auto& o : declared) {
    std::string right = o.doc;
    if (!right.empty()) right += ' ';
    right += o.required ? "(required)" : fmt::format("(default {})", o.default_text);
    text += fmt::format("  {:{}}  {}\n", left(o), width, right);
  }
  return wrap_lines(text, help_width());
}

}  // namespace pxl::cli
