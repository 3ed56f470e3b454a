// The lexer, without ANTLR's types in its interface. Offsets are bytes of the source.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/base/diagnostics/source.hpp"

namespace pxl::syntax {

struct RawToken {
  int type;
  uint32_t begin, end;
};

class RawLexer {
 public:
  /// Requires valid UTF-8.
  explicit RawLexer(const SourceFile& source);
  ~RawLexer();
  RawLexer(const RawLexer&) = delete;
  RawLexer& operator=(const RawLexer&) = delete;

  RawToken next();
  void enter_format();
  void enter_text(char quote);
  void leave();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pxl::syntax
