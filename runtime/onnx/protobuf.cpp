// The wire format of protocol buffers.
#include "runtime/onnx/protobuf.hpp"

namespace pxl::onnx {

uint64_t WireReader::varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) throw Damaged{"it ends within a number"};
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (!(byte & 0x80u)) return value;
  }
  throw Damaged{"a number has more than 64 bits"};
}

uint64_t WireReader::fixed(std::string_view& bytes, size_t size) {
  if (bytes.size() < size) throw Damaged{"it ends within a number"};
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  bytes.remove_prefix(size);
  return value;
}

bool WireReader::next(WireField& field) {
  if (rest_.empty()) return false;
  const uint64_t tag = varint(rest_);
  if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX) throw Damaged{"a field has no number"};
  field = {.number = static_cast<uint32_t>(tag >> 3), .type = static_cast<WireType>(tag & 7)};
  switch (field.type) {
    case WireType::varint: field.value = varint(rest_); return true;
    case WireType::fixed64: field.value = fixed(rest_, 8); return true;
    case WireType::fixed32: field.value = fixed(rest_, 4); return true;
    case WireType::bytes: {
      const uint64_t size = varint(rest_);
      if (size > rest_.size()) throw Damaged{"a field ends beyond its message"};
      field.text = rest_.substr(0, static_cast<size_t>(size));
      rest_.remove_prefix(static_cast<size_t>(size));
      return true;
    }
  }
  throw Damaged{"a field has a type that there is not"};
}

void WireWriter::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

void WireWriter::fixed32(uint32_t value) {
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

void WireWriter::text(uint32_t number, std::string_view t) {
  tag(number, WireType::bytes);
  varint(t.size());
  bytes += t;
}

}  // namespace pxl::onnx
