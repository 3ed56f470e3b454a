#include "runtime/io/sound.hpp"

#include <sndfile.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/io/format_limits.hpp"
#include "runtime/io/shared_library.hpp"

namespace pxl {
namespace {

struct SoundLibrary {
  SharedLibrary library{"libsndfile.so.1", "libsndfile1"};
  PXL_LIBRARY_FUNCTION(library, sf_open_virtual);
  PXL_LIBRARY_FUNCTION(library, sf_readf_float);
  PXL_LIBRARY_FUNCTION(library, sf_writef_float);
  PXL_LIBRARY_FUNCTION(library, sf_command);
  PXL_LIBRARY_FUNCTION(library, sf_strerror);
  PXL_LIBRARY_FUNCTION(library, sf_close);
};
const SoundLibrary& sound_library() {
  static const auto& functions = never_destroyed(SoundLibrary());
  return functions;
}

/// A file in memory, as libsndfile reads and writes it.
struct MemoryFile {
  std::string bytes;
  sf_count_t at = 0;

  static MemoryFile& of(void* user) { return *static_cast<MemoryFile*>(user); }
  sf_count_t size() const { return static_cast<sf_count_t>(bytes.size()); }
  sf_count_t seek(sf_count_t offset, int whence) {
    // Headers may say any offset.
    const sf_count_t within = std::clamp<sf_count_t>(offset, -max_decoded_bytes, max_decoded_bytes);
    const sf_count_t to = within + (whence == SEEK_CUR ? at : whence == SEEK_END ? size() : 0);
    return at = std::clamp<sf_count_t>(to, 0, max_decoded_bytes);
  }
  sf_count_t read(void* to, sf_count_t count) {
    const sf_count_t n = std::clamp<sf_count_t>(size() - at, 0, count);
    if (n > 0) std::memcpy(to, bytes.data() + at, static_cast<size_t>(n));
    at += n;
    return n;
  }
  sf_count_t write(const void* from, sf_count_t count) {
    if (at + count > size()) bytes.resize(static_cast<size_t>(at + count));
    std::memcpy(bytes.data() + at, from, static_cast<size_t>(count));
    at += count;
    return count;
  }
};
SF_VIRTUAL_IO memory_io = {
    [](void* user) { return MemoryFile::of(user).size(); },
    [](sf_count_t offset, int whence, void* user) { return MemoryFile::of(user).seek(offset, whence); },
    [](void* to, sf_count_t count, void* user) { return MemoryFile::of(user).read(to, count); },
    [](const void* from, sf_count_t count, void* user) { return MemoryFile::of(user).write(from, count); },
    [](void* user) { return MemoryFile::of(user).at; }};

using OpenSound = std::unique_ptr<SNDFILE, decltype(&sf_close)>;

/// libsndfile knows many more formats, whose readers would see bytes of anybody.
bool is_known_sound(std::string_view bytes) {
  const std::string_view starts[] = {"RIFF", "RIFX", "RF64", "fLaC", "OggS"};
  return std::any_of(std::begin(starts), std::end(starts), [&](std::string_view s) { return bytes.starts_with(s); });
}

size_t byte_at(std::string_view bytes, size_t at) { return static_cast<unsigned char>(bytes[at]); }

/// A little-endian number of `count` bytes, as far as they are there.
uint64_t number_at(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = std::min(bytes.size(), at + count); i-- > at;) value = value << 8 | byte_at(bytes, i);
  return value;
}

/// Whether a WAV file ends within its samples: chunks of a name, a size and contents. Of RF64 the chunk ds64 has the
/// size of the samples (EBU Tech 3306). Programs that write to a pipe state about 2^31 or 2^32.
bool is_wav_cut_off(std::string_view wav) {
  constexpr uint64_t unknown_size = 0x7ffff000;
  std::optional<uint64_t> stated;
  for (size_t at = 12; at + 8 <= wav.size();) {
    const std::string_view name = wav.substr(at, 4);
    const uint64_t size = number_at(wav, at + 4, 4);
    at += 8;
    if (name == "ds64") stated = number_at(wav, at + 8, 8);
    if (name == "data") return stated ? *stated > wav.size() - at : size > wav.size() - at && size < unknown_size;
    at += size + size % 2;
  }
  return true;
}

/// Whether an Ogg file ends within a page, or without the page that ends a stream (RFC 3533). A page is a header with
/// flags and a table of sizes, then as many bytes as the sizes sum to.
bool is_ogg_cut_off(std::string_view ogg) {
  constexpr size_t header = 27, flags = 5, end_of_stream = 4;
  bool ended = false;
  for (size_t at = 0; at < ogg.size() && ogg.substr(at, 4) == "OggS";) {
    if (at + header > ogg.size()) return true;
    const size_t sizes = byte_at(ogg, at + header - 1);
    ended = (byte_at(ogg, at + flags) & end_of_stream) != 0;
    at += header;
    if (at + sizes > ogg.size()) return true;
    size_t page = sizes;
    for (size_t i = 0; i < sizes; ++i) page += byte_at(ogg, at + i);
    if (at + page > ogg.size()) return true;
    at += page;
  }
  return !ended;
}

/// Whether a file ends before its sound does; libsndfile accepts an incomplete file. Of FLAC it finds out by itself.
bool is_cut_off(std::string_view bytes) {
  if (bytes.starts_with("OggS")) return is_ogg_cut_off(bytes);
  return (bytes.starts_with("RIFF") || bytes.starts_with("RF64")) && is_wav_cut_off(bytes);
}

}  // namespace

Sound read_sound(const std::string& path) {
  MemoryFile file{read_whole_file(path)};
  if (!is_known_sound(file.bytes)) throw cannot_read(path, "neither a WAV nor a FLAC nor an Ogg file");
  if (is_cut_off(file.bytes)) throw cannot_read(path, "it ends before its sound does");
  SF_INFO info{};
  const OpenSound sound(sound_library().sf_open_virtual_(&memory_io, SFM_READ, &info, &file),
                        sound_library().sf_close_);
  if (!sound) throw cannot_read(path, std::string("not a usable sound file: ") + sound_library().sf_strerror_(nullptr));
  if (info.frames < 0 || info.channels < 1 ||
      info.frames > max_decoded_bytes / static_cast<int64_t>(sizeof(float)) / info.channels)
    throw cannot_read(path, fmt::format("{} frames of {} channels are more than {} GiB", info.frames, info.channels,
                                        max_decoded_bytes >> 30));
  Array samples(DType::float32, info.channels == 1 ? Shape{info.frames} : Shape{info.frames, info.channels});
  const sf_count_t read = sound_library().sf_readf_float_(sound.get(), samples.mutable_data<float>(), info.frames);
  if (read != info.frames) throw cannot_read(path, fmt::format("it ends after {} of {} frames", read, info.frames));
  return {samples, info.samplerate};
}

void write_wav(const std::string& path, const Sound& sound) {
  const Shape& shape = sound.samples.shape();
  const int64_t channels = shape.size() == 2 ? shape[1] : 1;
  if (sound.samples.dtype() != DType::float32 || shape.empty() || shape.size() > 2 || channels < 1 || channels > 1024)
    throw Error(fmt::format("cannot write {}: a sound is float32 [frames] or [frames, channels], not {}", path,
                            text(sound.samples.spec())))
        .as(codes::shape);
  if (sound.rate < 1 || sound.rate > 655350)  // the maximum that libsndfile takes
    throw Error(fmt::format("cannot write {}: {} frames a second", path, sound.rate)).as(codes::value);
  if (sound.samples.bytes() > max_decoded_bytes)
    throw Error(fmt::format("cannot write {}: its samples are more than {} GiB", path, max_decoded_bytes >> 30))
        .as(codes::shape);
  SF_INFO info{};
  info.samplerate = static_cast<int>(sound.rate);
  info.channels = static_cast<int>(channels);
  info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  MemoryFile file;
  {
    const OpenSound out(sound_library().sf_open_virtual_(&memory_io, SFM_WRITE, &info, &file),
                        sound_library().sf_close_);
    if (!out) throw run_error(fmt::format("cannot write {}: {}", path, sound_library().sf_strerror_(nullptr)));
    sound_library().sf_command_(out.get(), SFC_SET_CLIPPING, nullptr, SF_TRUE);
    if (sound_library().sf_writef_float_(out.get(), sound.samples.data<float>(), shape[0]) != shape[0])
      throw run_error(fmt::format("cannot write {}: {}", path, sound_library().sf_strerror_(out.get())));
  }
  write_file_atomically(path, file.bytes);
}

}  // namespace pxl
