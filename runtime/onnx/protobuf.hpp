// The wire format of protocol buffers (https://protobuf.dev/programming-guides/encoding): varints, fixed 32 and 64
// bits, byte strings. Messages are described once, as a function that visits their fields (model.hpp); reader and
// writer are two visitors.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl::onnx {

/// The defect of the bytes, as the end of a sentence: "a field ends beyond its message". The caller, who knows the
/// file, makes it an Error.
struct Damaged {
  std::string what;
};

/// The most messages of one file, and the deepest nesting: bounds on the memory that a damaged file can ask for.
constexpr int64_t max_messages = 1 << 20;
constexpr int deepest_message = 100;

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// One field as encoded: its number, and a number or a text.
struct WireField {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t value = 0;          ///< varint, fixed64, fixed32
  std::string_view text = {};  ///< bytes
};

/// The fields of a message, in order. Throws Damaged.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  bool next(WireField& field);
  static uint64_t varint(std::string_view& bytes);
  static uint64_t fixed(std::string_view& bytes, size_t size);

 private:
  std::string_view rest_;
};

/// The remaining limits of one reading.
struct ReadLimits {
  int64_t messages = max_messages;
  int depth = 0;
};

class WireWriter {
 public:
  void varint(uint64_t value);
  void tag(uint32_t number, WireType type) { varint(uint64_t{number} << 3 | static_cast<uint64_t>(type)); }
  void fixed32(uint32_t value);
  void text(uint32_t number, std::string_view bytes);
  std::string bytes;
};

template <class T>
void read_message(T& message, std::string_view bytes, ReadLimits& limits);
template <class T>
void write_message(const T& message, WireWriter& writer);

/// A message of its own in memory, where it may be absent or holds its own kind.
template <class T>
using Part = std::shared_ptr<T>;

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Takes the field that it is given, if a message has one of that number; others are passed over, as the format says.
class FieldReader {
 public:
  FieldReader(const WireField& field, ReadLimits& limits) : field_(field), limits_(limits) {}

  template <Number T>
  void operator()(uint32_t number, T& value) {
    if (number != field_.number) return;
    expect(wire_type<T>());
    value = number_of<T>(field_.value);
  }
  /// Also packed numbers: a text of them.
  template <Number T>
  void operator()(uint32_t number, std::vector<T>& values) {
    if (number != field_.number) return;
    if (field_.type != WireType::bytes) {
      expect(wire_type<T>());
      values.push_back(number_of<T>(field_.value));
      return;
    }
    std::string_view packed = field_.text;
    if constexpr (wire_type<T>() != WireType::varint) values.reserve(values.size() + packed.size() / sizeof(T));
    while (!packed.empty()) {
      if constexpr (wire_type<T>() == WireType::varint)
        values.push_back(number_of<T>(WireReader::varint(packed)));
      else
        values.push_back(number_of<T>(WireReader::fixed(packed, sizeof(T))));
    }
  }
  void operator()(uint32_t number, std::string& text) {
    if (number == field_.number) text = expect_text();
  }
  void operator()(uint32_t number, std::string_view& text) {
    if (number == field_.number) text = expect_text();
  }
  void operator()(uint32_t number, std::vector<std::string>& texts) {
    if (number != field_.number) return;
    count();
    texts.emplace_back(expect_text());
  }
  template <class T>
  void operator()(uint32_t number, Part<T>& part) {
    if (number != field_.number) return;
    if (!part) part = std::make_shared<T>();
    read_part(*part);
  }
  template <class T>
  requires std::is_class_v<T>
  void operator()(uint32_t number, T& part) {
    if (number == field_.number) read_part(part);
  }
  template <class T>
  requires(std::is_class_v<T> && !std::is_same_v<T, std::string>) void operator()(uint32_t number,
                                                                                  std::vector<T>& parts) {
    if (number != field_.number) return;
    expect(WireType::bytes);
    parts.emplace_back();
    read_part(parts.back());
  }

 private:
  template <Number T>
  static constexpr WireType wire_type() {
    if constexpr (std::is_same_v<T, float>)
      return WireType::fixed32;
    else if constexpr (std::is_same_v<T, double>)
      return WireType::fixed64;
    else
      return WireType::varint;
  }
  template <Number T>
  static T number_of(uint64_t bits) {
    if constexpr (std::is_same_v<T, float>)
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    else if constexpr (std::is_same_v<T, double>)
      return std::bit_cast<double>(bits);
    else
      return static_cast<T>(bits);
  }
  void expect(WireType type) const {
    if (field_.type != type) throw Damaged{"a field has another type than its message declares"};
  }
  std::string_view expect_text() const {
    expect(WireType::bytes);
    return field_.text;
  }
  void count() {
    if (--limits_.messages < 0) throw Damaged{"it has more than " + std::to_string(max_messages) + " parts"};
  }
  template <class T>
  void read_part(T& part) {
    const std::string_view bytes = expect_text();
    count();
    read_message(part, bytes, limits_);
  }

  const WireField& field_;
  ReadLimits& limits_;
};

/// Writes each field that differs from its default.
class FieldWriter {
 public:
  explicit FieldWriter(WireWriter& to) : to_(to) {}

  template <Number T>
  void operator()(uint32_t number, const T& value) {
    if (value != T{}) always(number, value);
  }
  /// Also a zero.
  template <Number T>
  void always(uint32_t number, const T& value) {
    if constexpr (std::is_same_v<T, float>) {
      to_.tag(number, WireType::fixed32);
      to_.fixed32(std::bit_cast<uint32_t>(value));
    } else {
      static_assert(!std::is_same_v<T, double>, "no field of a model has one double");
      to_.tag(number, WireType::varint);
      to_.varint(static_cast<uint64_t>(value));
    }
  }
  template <Number T>
  void operator()(uint32_t number, const std::vector<T>& values) {
    if (values.empty()) return;
    WireWriter packed;
    for (const T& v : values) {
      if constexpr (std::is_same_v<T, float>) {
        packed.fixed32(std::bit_cast<uint32_t>(v));
      } else if constexpr (std::is_same_v<T, double>) {
        const auto bits = std::bit_cast<uint64_t>(v);
        packed.fixed32(static_cast<uint32_t>(bits));
        packed.fixed32(static_cast<uint32_t>(bits >> 32));
      } else {
        packed.varint(static_cast<uint64_t>(v));
      }
    }
    to_.text(number, packed.bytes);
  }
  /// Unpacked, also a zero.
  void always(uint32_t number, const std::vector<int64_t>& values) {
    for (int64_t v : values) {
      to_.tag(number, WireType::varint);
      to_.varint(static_cast<uint64_t>(v));
    }
  }
  void always(uint32_t number, const std::string& text) { to_.text(number, text); }
  void operator()(uint32_t number, const std::string& text) {
    if (!text.empty()) to_.text(number, text);
  }
  void operator()(uint32_t number, std::string_view text) {
    if (!text.empty()) to_.text(number, text);
  }
  void operator()(uint32_t number, const std::vector<std::string>& texts) {
    for (const std::string& t : texts) to_.text(number, t);
  }
  template <class T>
  void operator()(uint32_t number, const Part<T>& part) {
    if (part) write_part(number, *part);
  }
  template <class T>
  requires std::is_class_v<T>
  void operator()(uint32_t number, const T& part) { write_part(number, part); }
  template <class T>
  requires(std::is_class_v<T> && !std::is_same_v<T, std::string>) void operator()(uint32_t number,
                                                                                  const std::vector<T>& parts) {
    for (const T& p : parts) write_part(number, p);
  }

 private:
  template <class T>
  void write_part(uint32_t number, const T& part) {
    WireWriter inner;
    write_message(part, inner);
    to_.text(number, inner.bytes);
  }
  WireWriter& to_;
};

/// `fields(message, visitor)` names the fields of T.
template <class T>
void read_message(T& message, std::string_view bytes, ReadLimits& limits) {
  if (++limits.depth > deepest_message) throw Damaged{"its parts are nested too deeply"};
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    FieldReader visitor(field, limits);
    fields(message, visitor);
  }
  --limits.depth;
}

template <class T>
void write_message(const T& message, WireWriter& writer) {
  FieldWriter visitor(writer);
  fields(message, visitor);
}

}  // namespace pxl::onnx
