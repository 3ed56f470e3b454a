// Reader of IDX files (the format of the MNIST distribution): two zero bytes, a type code, the rank, big-endian
// extents, data.
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/io/dataset.hpp"

namespace pxl {
namespace {

constexpr int unsigned_byte = 0x08;      ///< IDX type code
constexpr int64_t deflate_ratio = 1032;  ///< maximum expansion of deflate (zlib technical notes)
constexpr unsigned chunk = 1u << 20;

class Input {
 public:
  explicit Input(const std::string& path) : path_(path) {
    std::string why;
    std::optional<InputFile> input = InputFile::open(path, why);
    if (!input) throw fail(why);
    file_bytes_ = input->size();
    const int descriptor = input->release();
    file_.reset(::gzdopen(descriptor, "rb"));
    if (!file_) {
      ::close(descriptor);
      throw fail("out of memory");
    }
    ::gzbuffer(file_.get(), 1u << 17);
  }

  Error fail(std::string_view why) const {
    return Error(fmt::format("cannot read {}: {}", path_, why), {}, Fault::unreadable);
  }

  /// Bytes read; fewer than requested only at the end of the file.
  int64_t read(void* to, int64_t bytes) {
    int64_t done = 0;
    while (done < bytes) {
      auto want = static_cast<unsigned>(std::min<int64_t>(bytes - done, chunk));
      charge(want * 3);
      int got = ::gzread(file_.get(), static_cast<char*>(to) + done, want);
      if (got <= 0) break;
      done += got;
    }
    int status = Z_OK;
    const char* text = ::gzerror(file_.get(), &status);
    if (status == Z_ERRNO) throw fail(std::strerror(errno));
    if (status == Z_BUF_ERROR) throw fail("the gzip file is truncated");
    if (status != Z_OK && status != Z_STREAM_END) {
      // zlib prefixes the file's name, which the message already has.
      std::string_view why = text;
      if (why.starts_with(path_ + ": ")) why.remove_prefix(path_.size() + 2);
      throw fail(fmt::format("the gzip file is corrupt ({})", why));
    }
    return done;
  }

  /// Whether exactly `count` bytes follow: inflates and drops them, then restores the position. This check precedes an
  /// allocation, for a file that claims to be much longer than its packed size.
  bool holds(int64_t count) {
    const z_off_t here = ::gztell(file_.get());
    std::vector<char> dropped(chunk);
    int64_t left = count + 1, got = 0;
    while (left > 0 && (got = read(dropped.data(), std::min<int64_t>(left, chunk))) > 0) left -= got;
    if (::gzseek(file_.get(), here, SEEK_SET) != here) throw fail("the gzip file cannot be read again");
    return left == 1;
  }
  bool inflates_much(int64_t count) const { return count > file_bytes_ * 16; }

  /// Upper bound of the bytes that the file can decompress to.
  int64_t most() const { return ::gzdirect(file_.get()) ? file_bytes_ : (file_bytes_ + 1) * deflate_ratio; }

 private:
  struct Close {
    void operator()(gzFile_s* file) const { ::gzclose(file); }
  };
  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  int64_t file_bytes_ = 0;
};

}  // namespace

Array read_idx(const std::string& path) {
  require_effect(Effect::reads_files);
  Input in(path);
  unsigned char head[4];
  if (in.read(head, 4) != 4) throw in.fail("it is too short for an IDX file");
  if (head[0] != 0 || head[1] != 0)
    throw in.fail(fmt::format("not an IDX file: the magic number is {:02x}{:02x}{:02x}{:02x}", head[0], head[1],
                              head[2], head[3]));
  if (head[2] != unsigned_byte)
    throw in.fail(fmt::format("IDX type code 0x{:02x}; only unsigned bytes (0x08) are supported", head[2]));
  if (head[3] == 0 || head[3] > max_rank) throw in.fail(fmt::format("an IDX file of rank {}", head[3]));
  Shape shape(head[3]);
  for (int64_t& extent : shape) {
    unsigned char b[4];
    if (in.read(b, 4) != 4) throw in.fail("it is truncated: the header is incomplete");
    extent = int64_t{b[0]} << 24 | int64_t{b[1]} << 16 | int64_t{b[2]} << 8 | int64_t{b[3]};
  }
  int64_t count = 0;
  try {
    count = element_count(shape);
  } catch (const Error& error) {
    throw in.fail(error.what());
  }
  auto truncated = [&] {
    return in.fail(fmt::format("it is truncated: its header says {} = {} bytes", bracket_text(shape), count));
  };
  // Before allocating: whether the file can hold what its header claims.
  if (count > in.most()) throw truncated();
  if (in.inflates_much(count) && !in.holds(count))
    throw in.fail(fmt::format("it does not hold what its header says ({} = {} bytes)", bracket_text(shape), count));
  Array out(DType::uint8, shape);
  if (in.read(out.mutable_raw(), count) != count) throw truncated();
  unsigned char more;
  // Reading past the end makes zlib verify the checksum.
  if (in.read(&more, 1) != 0)
    throw in.fail(fmt::format("it is longer than its header says ({} = {} bytes)", bracket_text(shape), count));
  return out;
}

}  // namespace pxl
