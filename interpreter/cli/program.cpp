#include "interpreter/cli/program.hpp"

#include "interpreter/elaborate/options.hpp"
#include "interpreter/syntax/parse.hpp"

namespace pxl::cli {

Checked check_source(const std::string& path, const Invocation& call) {
  const ast::TreePtr tree = parse_or_throw(read_source(path));
  InterpreterOptions options;
  options.out = options.err = [](std::string_view) {};
  options.quiet = true;
  options.program_name = path;
  std::vector<std::string> words;
  std::string given = call.value("--set");
  for (size_t at = 0; at < given.size();) {
    const size_t end = std::min(given.find(',', at), given.size());
    words.push_back("--" + given.substr(at, end - at));
    at = end + 1;
  }
  // Options that are not given stay unknown.
  std::vector<Interpreter::OptionInfo> declared = scan_options(*tree);
  for (auto& o : declared) o.required = false;
  options.options = parse_options(path, declared, words);
  Checked out;
  out.interpreter = std::make_unique<Interpreter>(std::move(options));
  std::vector<std::string> calls;
  if (call.has("--program")) {
    std::string text = call.value("--program");
    calls.push_back(text.find('(') == text.npos ? text + "()" : text);
  }
  out.result = check_file(*out.interpreter, tree, calls);
  return out;
}

}  // namespace pxl::cli
