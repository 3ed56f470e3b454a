#include "interpreter/lsp/document.hpp"

#include <algorithm>

namespace pxl::lsp {

Parsed::Parsed(const std::string& path, std::string text, Encoding encoding)
    : source(std::make_shared<SourceFile>(path, std::move(text))),
      lines(source->text(), encoding),
      result(pxl::parse(*source)) {
  if (result.tree) symbols.emplace(*result.tree);
}

Document::Document(DocumentUri name, std::string text, int64_t v, Encoding encoding)
    : version(v), name_(std::move(name)), real_path_(pxl::real_path(name_.path)), encoding_(encoding) {
  parse(std::move(text));
}

void Document::change(const std::vector<TextChange>& changes) {
  std::string text(this->text());
  for (const TextChange& c : changes) {
    if (!c.range) {
      text = c.text;
      continue;
    }
    const Lines lines(text, encoding_);
    const auto [begin, end] = std::minmax({lines.offset(c.range->start), lines.offset(c.range->end)});
    text.replace(begin, end - begin, c.text);
  }
  parse(std::move(text));
}

void Document::parse(std::string text) {
  parsed_ = std::make_shared<Parsed>(path(), std::move(text), encoding_);
  if (parsed_->result.tree) sound_ = parsed_;
  dirty = true;
  settled = false;
  ++revision;
}

}  // namespace pxl::lsp
