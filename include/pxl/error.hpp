// Errors as values: the failure, its place, and the text that the command prints.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pxl/export.h"

PXL_BEGIN_NAMESPACE

/// A place in a program's text. Lines and columns count from 1, columns in code points; line 0: no place.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

struct Value;

/// One message.
struct Diagnostic {
  std::string kind;                ///< a section of docs/errors.md ("shape"), or a kind that `fail` gave
  std::string message;             ///< one line
  Place place;                     ///< where the text is wrong, or what failed while running
  std::vector<std::string> notes;  ///< facts and remedies
  std::string text;                ///< as the command prints it: place, message, the line with a caret, notes, calls
  /// The data of the program's `fail` (value.hpp); null for all other errors.
  std::shared_ptr<const Value> data = nullptr;
};

/// The kind of failure that an Error describes; the command's exit statuses have the same distinctions.
enum class Failure : uint8_t {
  refused,     ///< a program's text is wrong
  failed,      ///< the program failed while running
  unreadable,  ///< a file cannot be read
  usage,       ///< a call of this interface is wrong: an unknown option, a closed session
  cancelled,   ///< Cancel::request ended it
  exited,      ///< the program called exit(); `exit_status` has the status
  internal     ///< a defect of pxl
};

struct Error {
  Failure failure = Failure::failed;
  std::vector<Diagnostic> diagnostics;  ///< in order of position; at least one
  int exit_status = 0;                  ///< of a program that called exit()

  const Diagnostic& first() const { return diagnostics.front(); }
  const std::string& message() const { return first().message; }
  /// All diagnostics as text, as the command prints them; ends with a newline.
  std::string text() const {
    std::string all;
    for (const Diagnostic& d : diagnostics) all += d.text;
    return all;
  }
};

/// Thrown by Result::value() if there is no value. The library itself throws nothing.
class BadResult : public std::runtime_error {
 public:
  explicit BadResult(Error e) : std::runtime_error(e.text()), error_(std::move(e)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

/// A value, or the Error that there is instead.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  /// The value. Throws BadResult if there is none.
  T& value() & { return ok() ? std::get<0>(state_) : throw BadResult(error()); }
  const T& value() const& { return ok() ? std::get<0>(state_) : throw BadResult(error()); }
  T&& value() && { return ok() ? std::move(std::get<0>(state_)) : throw BadResult(error()); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  /// The error. Requires that there is no value.
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  /// Throws BadResult if it failed.
  void value() const {
    if (error_) throw BadResult(*error_);
  }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

PXL_END_NAMESPACE
