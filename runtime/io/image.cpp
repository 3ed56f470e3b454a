#include "runtime/io/image.hpp"

#include <png.h>
#include <turbojpeg.h>

#include <cstring>
#include <memory>
#include <string_view>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/io/format_limits.hpp"
#include "runtime/io/shared_library.hpp"

namespace pxl {
namespace {

struct Png {
  SharedLibrary library{"libpng16.so.16", "libpng16-16"};
  PXL_LIBRARY_FUNCTION(library, png_image_begin_read_from_memory);
  PXL_LIBRARY_FUNCTION(library, png_image_finish_read);
  PXL_LIBRARY_FUNCTION(library, png_image_write_to_memory);
  PXL_LIBRARY_FUNCTION(library, png_image_free);
};
const Png& png() {
  static const auto& functions = never_destroyed(Png());
  return functions;
}

struct Jpeg {
  SharedLibrary library{"libturbojpeg.so.0", "libturbojpeg0"};
  PXL_LIBRARY_FUNCTION(library, tjInitDecompress);
  PXL_LIBRARY_FUNCTION(library, tjDecompressHeader3);
  PXL_LIBRARY_FUNCTION(library, tjDecompress2);
  PXL_LIBRARY_FUNCTION(library, tjGetErrorStr2);
  PXL_LIBRARY_FUNCTION(library, tjDestroy);
};
const Jpeg& jpeg() {
  static const auto& functions = never_destroyed(Jpeg());
  return functions;
}

/// How much of an image is wanted.
enum class Wanted : uint8_t { header, pixels };

/// The array for the pixels; without elements if only the header is wanted.
Array pixels(const std::string& path, Wanted wanted, int64_t height, int64_t width, int64_t channels) {
  if (height * width > max_decoded_bytes / channels)
    throw cannot_read(path, fmt::format("{} x {} pixels are more than {} GiB", width, height, max_decoded_bytes >> 30));
  const Shape shape = channels == 1 ? Shape{height, width} : Shape{height, width, channels};
  return wanted == Wanted::header ? Array::unevaluated(DType::uint8, shape) : Array(DType::uint8, shape);
}

/// Whether a PNG file has all of its chunks; libpng does not check this once it has the pixels. A chunk has a size, a
/// name of four letters, the contents and a checksum; the last is IEND.
bool is_whole_png(std::string_view png) {
  for (size_t at = 8; at + 12 <= png.size();) {
    size_t size = 0;
    for (size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(png[at + i]);
    if (png.substr(at + 4, 4) == "IEND") return true;
    at += size + 12;
  }
  return false;
}

Array read_png(const std::string& path, const std::string& bytes, Wanted wanted) {
  if (wanted == Wanted::pixels && !is_whole_png(bytes)) throw cannot_read(path, "not a usable PNG file: it has no end");
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const auto check = [&](int done) {
    if (done != 0 && PNG_IMAGE_FAILED(image) == 0) return;
    const std::string why = image.message;
    png().png_image_free_(&image);
    throw cannot_read(path, "not a usable PNG file: " + why);
  };
  check(png().png_image_begin_read_from_memory_(&image, bytes.data(), bytes.size()));
  const bool alpha = image.format & PNG_FORMAT_FLAG_ALPHA, color = image.format & PNG_FORMAT_FLAG_COLOR || alpha;
  image.format = alpha ? PNG_FORMAT_RGBA : color ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  std::unique_ptr<png_image, decltype(&png_image_free)> owned(&image, png().png_image_free_);
  Array out = pixels(path, wanted, image.height, image.width, alpha ? 4 : color ? 3 : 1);
  if (wanted == Wanted::header) return out;
  owned.release();
  check(png().png_image_finish_read_(&image, nullptr, out.mutable_raw(), 0, nullptr));
  return out;
}

Array read_jpeg(const std::string& path, const std::string& bytes, Wanted wanted) {
  const std::unique_ptr<void, decltype(&tjDestroy)> decoder(jpeg().tjInitDecompress_(), jpeg().tjDestroy_);
  if (!decoder) throw run_error("libjpeg-turbo could not be started");
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto check = [&](int failed) {
    if (failed != 0)
      throw cannot_read(path, std::string("not a usable JPEG file: ") + jpeg().tjGetErrorStr2_(decoder.get()));
  };
  int width = 0, height = 0, subsampling = 0, colours = 0;
  check(jpeg().tjDecompressHeader3_(decoder.get(), data, bytes.size(), &width, &height, &subsampling, &colours));
  const bool grey = colours == TJCS_GRAY;
  Array out = pixels(path, wanted, height, width, grey ? 1 : 3);
  if (wanted == Wanted::header) return out;
  // A progressive file of a few bytes a scan may have any number of scans, each of which visits all pixels.
  constexpr int flags = TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS;
  check(jpeg().tjDecompress2_(decoder.get(), data, bytes.size(), reinterpret_cast<unsigned char*>(out.mutable_raw()),
                              width, 0, height, grey ? TJPF_GRAY : TJPF_RGB, flags));
  return out;
}

Array read_bytes(const std::string& path, const std::string& bytes, Wanted wanted) {
  if (bytes.starts_with("\x89PNG")) return read_png(path, bytes, wanted);
  if (bytes.starts_with("\xff\xd8")) return read_jpeg(path, bytes, wanted);
  throw cannot_read(path, "neither a PNG nor a JPEG file");
}

}  // namespace

Array read_image(const std::string& path) { return read_bytes(path, read_whole_file(path), Wanted::pixels); }

TensorSpec read_image_header(const std::string& path) {
  require_effect(Effect::reads_headers);
  std::string why;
  std::optional<InputFile> file = InputFile::open(path, why);
  if (!file) throw cannot_read(path, why);
  std::string bytes(static_cast<size_t>(std::min(file->size(), max_header_bytes)), '\0');
  file->read(bytes.data(), static_cast<int64_t>(bytes.size()));
  return read_bytes(path, bytes, Wanted::header).spec();
}

void write_png(const std::string& path, const Array& pixels) {
  const Shape& shape = pixels.shape();
  const int64_t channels = shape.size() == 3 ? shape[2] : 1;
  if (pixels.dtype() != DType::uint8 || shape.size() < 2 || shape.size() > 3 ||
      (channels != 1 && channels != 3 && channels != 4))
    throw Error(
        fmt::format("cannot write {}: an image is uint8 [height, width] or [height, width, channels] with 1, 3 or 4 "
                    "channels, not {}",
                    path, text(pixels.spec())),
        {"of values from 0 to 1: cast(round(x * 255), uint8)"})
        .as(codes::shape);
  if (pixels.size() == 0 || shape[0] > INT32_MAX || shape[1] > INT32_MAX || pixels.size() > max_decoded_bytes)
    throw Error(fmt::format("cannot write {}: an image of {} x {} pixels", path, shape[1], shape[0])).as(codes::shape);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(shape[0]);
  image.width = static_cast<png_uint_32>(shape[1]);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (png().png_image_write_to_memory_(&image, bytes.data(), &size, 0, pixels.raw(), 0, nullptr) == 0)
    throw run_error(fmt::format("cannot write {}: {}", path, image.message));
  bytes.resize(size);
  write_file_atomically(path, bytes);
}

}  // namespace pxl
