// `pxl doc`: the documentation of an op, a module of the library or a file.
#include <fmt/format.h>

#include "interpreter/cli/command.hpp"
#include "interpreter/cli/json.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/doc_page.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "runtime/base/atomic_file.hpp"
#include "runtime/base/standard_streams.hpp"
#include "runtime/base/suggest.hpp"

namespace pxl::cli {

namespace {

DocPage page_of(const std::string& name) {
  if (name.ends_with(".pxl") || name == "-") {
    const SourceFile& source = read_source(name);
    return doc_page_of(*parse_or_throw(source), source.name());
  }
  if (std::optional<DocPage> page = doc_page(name)) return *page;
  const auto owned = make_interpreter({});
  Interpreter& in = *owned;
  // Keywords and built-ins have a text but no page.
  if (const Inspection found = help(in, name); found.found)
    return {name, "", {{name, found.type, found.signature, found.doc, {}, {}, {}, {}}}};
  const std::string hint = did_you_mean(name, help_names(in));
  throw Error(fmt::format("doc: no documentation for `{}`{}", name, hint.empty() ? "" : "; " + hint),
              {"an op, a module of the library, a declaration in one such as nn.Linear, or a file FILE.pxl"},
              Fault::usage);
}

int run_doc(const CommonFlags& common, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(doc_command, arguments);
  const bool json = use_json(common, call);
  const std::string path = call.value("--output", "-");
  const bool html = call.has("--html") || path.ends_with(".html");
  if (call.operands.size() > 1)
    throw Error(fmt::format("doc: one name, not `{}` too", call.operands[1]), {}, Fault::usage);
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
    write_out(text);
  else
    write_file_atomically(path, text);
  return exit_ok;
}

constexpr Flag doc_flags[] = {
    {"--html", "", "write self-contained HTML"},
    {"--output", "FILE", "write to FILE; .html selects HTML", "-o"},
    json_flag,
};

}  // namespace

const Command doc_command{
    "doc",
    "doc [--html] [-o FILE] [NAME]",
    "print the documentation of an op, a module or a file",
    run_doc,
    doc_flags,
    "NAME is an op (gelu), a family of ops (ops.var_updates), a module of the library (nn), a declaration in one\n"
    "(nn.Linear), or a file FILE.pxl, whose page has its declarations with their `##` texts. Without a NAME: all of "
    "them."};

}  // namespace pxl::cli
