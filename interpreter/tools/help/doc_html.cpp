// Writes pages of documentation as HTML.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/syntax/classify.hpp"
#include "interpreter/tools/help/doc_page.hpp"
#include "runtime/base/text/markup.hpp"

namespace pxl {

namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6675; --page: #ffffff; --code: #f3f5f8; --line: #d9dfe6;
  --link: #1f5fbf; --keyword: #8a3fa0; --string: #2a7a4b; --number: #a65a00; --comment: #6b7785; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e8ee; --soft: #9aa7b5; --page: #14181e; --code: #1e242c;
  --line: #323b46; --link: #7fb2ff; --keyword: #d59bea; --string: #86d3a4; --number: #f0b46a; --comment: #8c99a8; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 54rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .4rem; }
h2 { font: 600 1.05rem/1.4 ui-monospace, monospace; margin: 2.4rem 0 .5rem; padding-top: 1.1rem;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
h2 a { color: inherit; text-decoration: none; } h2 .kind { color: var(--keyword); }
a { color: var(--link); } p { margin: .6rem 0; } .lead { color: var(--soft); }
nav { display: flex; flex-wrap: wrap; gap: .2rem .9rem; margin: 1rem 0 0; font: .92rem/1.7 ui-monospace, monospace; }
pre, code { font: .88rem/1.5 ui-monospace, monospace; background: var(--code); border-radius: 5px; }
code { padding: .1em .3em; } pre { padding: .7rem .9rem; overflow-x: auto; } pre.result { background: none;
  border-left: 3px solid var(--line); border-radius: 0; margin-top: -.3rem; color: var(--soft); }
table { border-collapse: collapse; margin: .6rem 0; } td { padding: .2rem 1.2rem .2rem 0; vertical-align: top; }
td:first-child { font: .88rem/1.75 ui-monospace, monospace; color: var(--soft); white-space: nowrap; }
h3 { font-size: .95rem; margin: 1rem 0 .6rem; color: var(--soft); }
.k { color: var(--keyword); } .s { color: var(--string); } .n { color: var(--number); } .c { color: var(--comment); }
)";

std::string coloured(const std::string& code) {
  const SourceFile source("", code);
  std::string out;
  size_t at = 0;
  for (const ClassifiedToken& t : classify_tokens(source)) {
    out += escape_markup(std::string_view(code).substr(at, t.begin - at));
    const char* kind = nullptr;
    switch (t.kind) {
      case TokenClass::keyword:
      case TokenClass::declarer:
      case TokenClass::constant: kind = "k"; break;
      case TokenClass::string: kind = "s"; break;
      case TokenClass::number: kind = "n"; break;
      case TokenClass::comment:
      case TokenClass::documentation: kind = "c"; break;
      default: break;
    }
    const std::string text = escape_markup(std::string_view(code).substr(t.begin, t.end - t.begin));
    out += kind ? fmt::format("<span class=\"{}\">{}</span>", kind, text) : text;
    at = t.end;
  }
  return out + escape_markup(std::string_view(code).substr(std::min(at, code.size())));
}

std::string inline_text(std::string_view text) {
  std::string out;
  bool code = false;
  for (size_t at = 0; at <= text.size();) {
    const size_t tick = std::min(text.find('`', at), text.size());
    out += escape_markup(text.substr(at, tick - at));
    if (tick == text.size()) break;
    // An unmatched mark is literal.
    if (!code && text.find('`', tick + 1) == text.npos)
      out += '`';
    else
      out += (code = !code) ? "<code>" : "</code>";
    at = tick + 1;
  }
  return out;
}

// Formats paragraphs. Lines indented by two or more spaces are a program.
std::string documentation(std::string_view doc) {
  std::string out, paragraph, program;
  const auto end_paragraph = [&] {
    std::string text = inline_text(paragraph);
    // Keeps the line break after a line that ends a sentence.
    for (size_t at = 0; (at = text.find(".\n", at)) != text.npos;) text.replace(at, 2, ".<br>\n"), at += 2;
    if (!paragraph.empty()) out += fmt::format("<p>{}</p>\n", text);
    paragraph.clear();
  };
  const auto end_program = [&] {
    while (program.ends_with('\n')) program.pop_back();
    if (!program.empty()) out += fmt::format("<pre>{}</pre>\n", coloured(program));
    program.clear();
  };
  while (!doc.empty()) {
    const size_t end = std::min(doc.find('\n'), doc.size());
    const std::string_view line = doc.substr(0, end);
    doc.remove_prefix(std::min(end + 1, doc.size()));
    if (line.starts_with("  ")) {
      end_paragraph();
      program += fmt::format("{}\n", line.substr(line.starts_with("    ") ? 4 : 2));
    } else if (line.empty()) {
      end_paragraph();
      if (!program.empty()) program += '\n';
    } else {
      end_program();
      paragraph += fmt::format("{}{}", paragraph.empty() ? "" : "\n", line);
    }
  }
  end_paragraph();
  end_program();
  return out;
}

std::string entry_html(const DocEntry& e) {
  const std::string anchor = escape_markup(e.name);
  std::string out = fmt::format("<section id=\"{0}\">\n<h2><a href=\"#{0}\">", anchor);
  if (e.kind != "op") out += fmt::format("<span class=\"kind\">{}</span> ", escape_markup(e.kind));
  out += fmt::format("{}</a></h2>\n{}", e.signature.empty() ? anchor : coloured(e.signature), documentation(e.doc));
  if (!e.facts.empty()) {
    out += "<table>\n";
    for (const auto& [name, text] : e.facts)
      out += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escape_markup(name), inline_text(text));
    out += "</table>\n";
  }
  if (!e.example.empty()) out += fmt::format("<h3>Example</h3>\n<pre>{}</pre>\n", coloured(e.example));
  if (!e.result.empty()) out += fmt::format("<pre class=\"result\">{}</pre>\n", escape_markup(e.result));
  if (!e.gradient.empty())
    out +=
        fmt::format("<h3>Its gradient, as a graph</h3>\n<pre class=\"result\">{}</pre>\n", escape_markup(e.gradient));
  if (!e.definition.empty())
    out += fmt::format("<h3>Its definition</h3>\n<pre>{}</pre>\n", escape_markup(e.definition));
  return out + "</section>\n";
}

}  // namespace

std::string doc_html_entries(const DocPage& page) {
  std::string out;
  for (const DocEntry& e : page.entries) out += entry_html(e);
  return out;
}

std::string doc_html(const DocPage& page) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0} - pxl</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n<div class=\"lead\">{2}</div>\n",
      escape_markup(page.title), style, documentation(page.lead));
  if (page.entries.size() > 1) {
    out += "<nav>\n";
    for (const DocEntry& e : page.entries) out += fmt::format("<a href=\"#{0}\">{0}</a>\n", escape_markup(e.name));
    out += "</nav>\n";
  }
  return out + doc_html_entries(page) + "</main>\n</body>\n</html>\n";
}

}  // namespace pxl
