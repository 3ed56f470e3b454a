// Interned names (symbols): equal names are one pointer, so that a search compares pointers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pxl {

class Name {
 public:
  Name() : Name(std::string_view{}) {}
  /// Returns the interned name of the text. Names are never freed. Thread-safe.
  Name(std::string_view text);
  Name(const std::string& text) : Name(std::string_view(text)) {}
  Name(const char* text) : Name(std::string_view(text)) {}

  const std::string& text() const { return *text_; }
  friend bool operator==(Name a, Name b) { return a.text_ == b.text_; }
  /// Hash of `bits` bits, for tables indexed by name.
  size_t hash(unsigned bits) const {
    return static_cast<size_t>(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(text_)) * 0x9E3779B97F4A7C15u >>
                               (64 - bits));
  }

 private:
  const std::string* text_;
};

}  // namespace pxl
