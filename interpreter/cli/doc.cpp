// `pxl doc`: prints the documentation of an op, a library module or a file.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "interpreter/cli/command.hpp"
#include "interpreter/cli/json.hpp"
#include "interpreter/language/packages/packages.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/help/doc_page.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/tools/pager.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/base/text/wrap.hpp"

namespace pxl::cli {

namespace {

/// The file of a module that a program in the working directory could import; empty if there is none.
std::string file_of_module(const std::string& name) {
  std::vector<std::string> path;
  for (size_t at = 0; at <= name.size();) {
    const size_t dot = std::min(name.find('.', at), name.size());
    if (dot == at) return {};
    path.push_back(name.substr(at, dot - at));
    at = dot + 1;
  }
  return find_import("", path,
                     [](const std::filesystem::path& file) {
                       std::error_code ignored;
                       return std::filesystem::is_regular_file(file, ignored);
                     })
      .file.string();
}

DocPage page_of(const std::string& name) {
  if (name.ends_with(".pxl") || name == "-") {
    const SourceFile& source = read_source(name);
    return doc_page_of(*parse_or_throw(source), source.name());
  }
  const auto owned = make_interpreter({});
  if (std::optional<DocPage> page = help_page(*owned, name)) return *std::move(page);
  if (const std::string file = file_of_module(name); !file.empty()) {
    const SourceFile& source = read_source(file);
    return doc_page_of(*parse_or_throw(source), source.name());
  }
  const std::string hint = did_you_mean(name, help_names(*owned));
  throw Error(
      fmt::format("doc: no documentation for `{}`{}", name, hint.empty() ? "" : "; " + hint),
      {"an op, a member such as str.split, a module of the library, a declaration in one such as nn.Linear, or a file "
       "FILE.pxl, or a module of this project"},
      Fault::usage);
}

int run_doc(const CommonFlags& common, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(doc_command, arguments);
  const bool json = use_json(common, call);
  add_import_folders(call);
  const std::string path = call.value("--output", "-");
  const bool html = call.has("--html") || path.ends_with(".html");
  if (call.operands.size() > 1)
    throw Error(fmt::format("doc: one name, not `{}` too", call.operands[1]), {}, Fault::usage);
  if (call.has("--names")) {
    const auto owned = make_interpreter({});
    std::string names;
    for (const std::string& name : help_names(*owned)) names += name + "\n";
    write_out(names);
    return exit_ok;
  }
  const DocPage page = page_of(call.operands.empty() ? "" : call.operands.front());
  if (json) {
    Json entries = Json::array();
    for (const DocEntry& e : page.entries) {
      Json facts = Json::object();
      for (const auto& [name, text] : e.facts) facts[name] = text;
      entries.push_back({{"name", e.name},
                         {"kind", e.kind},
                         {"signature", e.signature},
                         {"doc", e.doc},
                         {"facts", std::move(facts)},
                         {"setup", e.setup},
                         {"example", e.example},
                         {"result", e.result},
                         {"gradient", e.gradient},
                         {"definition", e.definition}});
    }
    emit({{"event", "documentation"}, {"title", page.title}, {"lead", page.lead}, {"entries", std::move(entries)}});
    return exit_ok;
  }
  const std::string text = html ? doc_html(page) : doc_text(page);
  if (path == "-")
    html ? void(write_data(text)) : write_paged(wrap_lines(text, help_width()));
  else
    write_file_atomically(path, text);
  return exit_ok;
}

constexpr Flag doc_flags[] = {
    {"--html", "", "write self-contained HTML"},
    {"--names", "", "list the names that have documentation"},
    {"--output", "FILE", "write to FILE; .html selects HTML", "-o"},
    path_flag,
    json_flag,
};

}  // namespace

const Command doc_command{
    "doc",
    "doc [--html] [-o FILE] [NAME]",
    "print the documentation of an op, a module or a file",
    run_doc,
    doc_flags,
    "NAME is an op (gelu), a family of ops (ops.var_updates), a built-in (range; `functions`: all), a kind of values "
    "(session), a "
    "member\n"
    "(session.run, str.split), a module of the library (nn), a declaration in one (nn.Linear), a file FILE.pxl, or a "
    "module of this project,\n"
    "whose page has its declarations with their `##` texts. Without a NAME: ops and modules. --names lists all names.",
    "NAME"};

}  // namespace pxl::cli
