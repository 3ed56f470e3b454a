#include "runtime/io/png.hpp"

#include <zlib.h>

#include <stdexcept>
#include <string_view>

namespace pxl {

namespace {

void put_32(std::string& out, uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift & 255);
}

void put_chunk(std::string& out, std::string_view type, std::string_view body) {
  put_32(out, static_cast<uint32_t>(body.size()));
  const size_t begin = out.size();
  out += type;
  out += body;
  put_32(out, static_cast<uint32_t>(
                  crc32(0, reinterpret_cast<const Bytef*>(out.data() + begin), static_cast<uInt>(out.size() - begin))));
}

}  // namespace

std::string encode_png(int width, int height, std::span<const uint8_t> rgba) {
  if (width < 1 || height < 1 || rgba.size() != size_t{4} * static_cast<size_t>(width) * static_cast<size_t>(height))
    throw std::logic_error("a picture of another size");
  std::string rows;
  const size_t row = size_t{4} * static_cast<size_t>(width);
  for (int y = 0; y < height; ++y) {
    rows += '\0';  // no filter
    rows.append(reinterpret_cast<const char*>(rgba.data()) + static_cast<size_t>(y) * row, row);
  }
  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  std::string packed(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
                static_cast<uLong>(rows.size()), Z_BEST_COMPRESSION) != Z_OK)
    throw std::logic_error("zlib refused a picture");
  packed.resize(size);
  std::string head;
  put_32(head, static_cast<uint32_t>(width));
  put_32(head, static_cast<uint32_t>(height));
  head += std::string_view("\x08\x06\x00\x00\x00", 5);
  std::string out("\x89PNG\r\n\x1a\n", 8);
  put_chunk(out, "IHDR", head);
  put_chunk(out, "IDAT", packed);
  put_chunk(out, "IEND", "");
  return out;
}

}  // namespace pxl
