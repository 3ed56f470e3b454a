// The text of the exception that a call throws.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl::test {

/// The message of the Error that `f` throws, followed by its notes, a line each; empty if `f` throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    std::string text = e.what();
    for (const std::string& note : e.first().notes) text += "\n" + note;
    return text;
  }
  return {};
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

#define CHECK_CONTAINS(text, part)                                          \
  do {                                                                      \
    const std::string checked_text = text;                                  \
    CHECK_MESSAGE(::pxl::test::contains(checked_text, part), checked_text); \
  } while (false)

}  // namespace pxl::test
