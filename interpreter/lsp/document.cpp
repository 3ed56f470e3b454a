#include "interpreter/lsp/document.hpp"

namespace pxl::lsp {

Document::Document(std::string uri, std::string text, int64_t v, Encoding encoding)
    : version(v), uri_(std::move(uri)), path_(path_of_uri(uri_)), text_(std::move(text)), encoding_(encoding) {
  if (path_.empty()) path_ = uri_;
  parse();
}

void Document::change(const Json& change) {
  const auto text = change.find("text");
  if (text == change.end() || !text->is_string()) return;
  const auto range = change.find("range");
  if (range == change.end() || !range->is_object()) {
    text_ = text->get<std::string>();
  } else {
    const Lines lines(text_, encoding_);
    const size_t begin = lines.offset(range->value("start", Json())), end = lines.offset(range->value("end", Json()));
    text_.replace(std::min(begin, end), std::max(begin, end) - std::min(begin, end), text->get<std::string>());
  }
}

void Document::parse() {
  dirty = true;
  settled = false;
  ++revision;
  lines_ = std::make_unique<Lines>(text_, encoding_);
  parsed_ = std::make_shared<Parsed>();
  parsed_->source = std::make_unique<SourceFile>(path_, text_);
  parsed_->result = pxl::parse(*parsed_->source);
  if (!parsed_->result.tree) return;
  parsed_->symbols.emplace(*parsed_->result.tree);
  sound_ = parsed_;
}

}  // namespace pxl::lsp
