// `pxl explain`: explains a kind of error.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/cli/command.hpp"
#include "interpreter/cli/json.hpp"
#include "interpreter/tools/help/explain.hpp"
#include "interpreter/tools/pager.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/text/wrap.hpp"

namespace pxl::cli {

namespace {

// The first sentence of a page.
std::string_view summary(std::string_view page) {
  const size_t end = page.find_first_of(".:", 1);
  return page.substr(0, end);
}

int run_explain(const CommonFlags& common, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(explain_command, arguments);
  const bool json = use_json(common, call);
  if (call.operands.empty() && !json) {
    std::string list;
    for (const std::string& code : explained_kinds()) {
      std::string line(summary(explanation(code).value_or("")));
      std::replace(line.begin(), line.end(), '\n', ' ');
      list += fmt::format("{:<15}  {}\n", code, line);
    }
    write_paged(wrap_lines(list, help_width()));
    return exit_ok;
  }
  std::vector<std::string> wanted = call.operands;
  std::string pages;
  if (wanted.empty()) wanted = explained_kinds();
  for (const std::string& code : wanted) {
    const auto page = explanation(code);
    if (!page)
      throw Error(fmt::format("explain: unknown kind of error `{}`{}", code, explanation_hint(code)),
                  {"`pxl explain` lists them"}, Fault::usage);
    if (json)
      emit({{"event", "explanation"}, {"code", code}, {"text", *page}});
    else
      pages += (pages.empty() ? "" : "\n") + explanation_text(code, help_width());
  }
  write_paged(pages);
  return exit_ok;
}

constexpr Flag explain_flags[] = {json_flag};

}  // namespace

const Command explain_command{
    "explain",
    "explain [KIND ...]",
    "explain a kind of error",
    run_explain,
    explain_flags,
    "Prints the meaning of a kind, an example and the remedy. Without a KIND all kinds are listed.\n"
    "With `--json` the kind of an error is its `code`.",
    "KIND"};

}  // namespace pxl::cli
