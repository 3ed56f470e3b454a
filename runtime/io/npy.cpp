// .npy reader and writer: a magic string, a version, a Python dictionary as text, the elements. Headers are checked
// against the file's size before anything is allocated.
#include "runtime/io/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/tensor/column_major.hpp"

namespace pxl {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr size_t longest_header = 65536;  ///< limit of version 1; plain arrays never need more

struct Header {
  DType dtype = DType::float32;
  bool fortran_order = false;
  Shape shape;
};

class FileSource final : public ByteSource {
 public:
  explicit FileSource(InputFile file) : file_(std::move(file)) {}
  int64_t size() const override { return file_.size(); }
  int64_t read(void* to, int64_t bytes) override { return file_.read(to, bytes); }

 private:
  InputFile file_;
};

class Reader {
 public:
  Reader(ByteSource& source, const std::string& path) : source_(source), path_(path) {}

  Error corrupt(std::string_view why) const {
    return Error(fmt::format("{} is not a usable .npy file: {}", path_, why), {}, Fault::unreadable);
  }

  void read(void* to, size_t bytes, std::string_view what) {
    if (source_.read(to, static_cast<int64_t>(bytes)) != static_cast<int64_t>(bytes))
      throw corrupt(fmt::format("it ends within {}", what));
    at_ += static_cast<int64_t>(bytes);
  }
  int64_t left() const { return source_.size() - at_; }

 private:
  ByteSource& source_;
  std::string path_;
  int64_t at_ = 0;
};

/// Parser of the header's dictionary: three known keys with a string, a bool and a tuple of integers.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const Reader& reader) : text_(text), reader_(reader) {}

  Header parse() {
    Header header;
    bool have_dtype = false, have_order = false, have_shape = false;
    expect('{');
    while (!take('}')) {
      std::string_view key = string();
      expect(':');
      if (key == "descr")
        header.dtype = dtype(), have_dtype = true;
      else if (key == "fortran_order")
        header.fortran_order = boolean(), have_order = true;
      else if (key == "shape")
        header.shape = shape(), have_shape = true;
      else
        throw reader_.corrupt(fmt::format("unknown header key '{}'", printable(key)));
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (peek() != '\0') throw reader_.corrupt("text after the header's dictionary");
    if (!have_dtype || !have_order || !have_shape)
      throw reader_.corrupt("its header lacks descr, fortran_order or shape");
    return header;
  }

 private:
  static std::string printable(std::string_view text) {
    std::string out(text.substr(0, 40));
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return out;
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) throw reader_.corrupt(fmt::format("its header has no '{}' at byte {}", c, at_));
  }

  std::string_view string() {
    char quote = peek();
    if (quote != '\'' && quote != '"') throw reader_.corrupt("its header has no string where one belongs");
    size_t begin = ++at_, end = text_.find(quote, begin);
    if (end == text_.npos) throw reader_.corrupt("its header has a string without an end");
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  DType dtype() {
    if (peek() != '\'' && peek() != '"') throw reader_.corrupt("structured arrays are not supported");
    std::string_view code = string();
    if (code.size() > 1 && code[0] == '>')
      throw reader_.corrupt(fmt::format("big-endian elements ('{}')", printable(code)));
    for (const DTypeRow& r : dtype_table()) {
      // '=' is native order and '|' no order; both are little-endian here.
      bool any_order = code.size() > 1 && (code[0] == '<' || code[0] == '=' || code[0] == '|');
      if (any_order && !r.npy.empty() && code.substr(1) == r.npy.substr(1)) return r.dtype;
    }
    throw reader_.corrupt(fmt::format("elements of type '{}' have no counterpart", printable(code)));
  }

  bool boolean() {
    for (std::string_view word : {"True", "False"}) {
      if (peek() == word[0] && text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return word == "True";
      }
    }
    throw reader_.corrupt("fortran_order is neither True nor False");
  }

  Shape shape() {
    Shape out;
    expect('(');
    while (!take(')')) {
      int64_t value = 0;
      size_t begin = (peek(), at_);
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        if (at_ - begin >= 18) throw reader_.corrupt("an extent of its shape is too large");
        value = value * 10 + (text_[at_] - '0');
      }
      if (at_ == begin) throw reader_.corrupt("its shape is not a tuple of extents");
      out.push_back(value);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }

  std::string_view text_;
  const Reader& reader_;
  size_t at_ = 0;
};

}  // namespace

Array load_npy(const std::string& path) {
  require_effect(Effect::reads_files);
  std::string why;
  std::optional<InputFile> file = InputFile::open(path, why);
  if (!file) throw Error(fmt::format("cannot read {}: {}", path, why), {}, Fault::unreadable);
  FileSource source(*std::move(file));
  return read_npy(source, path);
}

TensorSpec load_npy_header(const std::string& path) {
  require_effect(Effect::reads_headers);
  std::string why;
  std::optional<InputFile> file = InputFile::open(path, why);
  if (!file) throw Error(fmt::format("cannot read {}: {}", path, why), {}, Fault::unreadable);
  FileSource source(*std::move(file));
  return read_npy_header(source, path);
}

namespace {

Header read_header(Reader& reader) {
  unsigned char start[8];
  if (reader.left() < 8) throw reader.corrupt("it is too short");
  reader.read(start, sizeof start, "the magic string");
  if (std::memcmp(start, magic.data(), magic.size()) != 0) throw reader.corrupt("it does not start with \\x93NUMPY");
  int major = start[6];
  if (major < 1 || major > 3) throw reader.corrupt(fmt::format("format version {} is unknown", major));
  unsigned char length_bytes[4] = {};
  reader.read(length_bytes, major == 1 ? 2 : 4, "the header's length");
  size_t length = 0;
  for (int i = 3; i >= 0; --i) length = length << 8 | length_bytes[i];
  if (length > longest_header) throw reader.corrupt(fmt::format("a header of {} bytes", length));
  std::string text(length, ' ');
  reader.read(text.data(), length, "the header");
  return HeaderParser(text, reader).parse();
}

}  // namespace

TensorSpec read_npy_header(ByteSource& source, const std::string& path) {
  Reader reader(source, path);
  Header header = read_header(reader);
  TensorSpec spec;
  spec.dtype = header.dtype;
  spec.shape = std::move(header.shape);
  return spec;
}

Array read_npy(ByteSource& source, const std::string& path) {
  Reader reader(source, path);
  Header header = read_header(reader);
  int64_t bytes = 0;
  try {
    bytes = element_count(header.shape) * static_cast<int64_t>(size_of(header.dtype));
  } catch (const Error& error) {
    throw reader.corrupt(error.what());
  }
  if (reader.left() != bytes)
    throw reader.corrupt(fmt::format("{}{} needs {} bytes and {} are there", name(header.dtype),
                                     bracket_text(header.shape), bytes, reader.left()));
  Array array(header.dtype, header.shape);
  reader.read(array.mutable_raw(), static_cast<size_t>(bytes), "the elements");
  if (header.dtype == DType::boolean) {
    // A bool that is neither 0 nor 1 is undefined behaviour when read.
    auto* flags = reinterpret_cast<unsigned char*>(array.mutable_raw());
    for (int64_t i = 0; i < array.size(); ++i) flags[i] = flags[i] != 0;
  }
  if (!header.fortran_order || header.shape.size() < 2) return array;
  charge(5 * array.size());
  return from_column_major(array, header.shape);
}

void save_npy(const std::string& path, const Array& array) { write_file_atomically(path, npy_bytes(array, path)); }

std::string npy_bytes(const Array& array, const std::string& path) {
  if (row(array.dtype()).npy.empty())
    throw Error(fmt::format("cannot write {}: NumPy has no {}", path, name(array.dtype())),
                {"host_pow2scale_cast_from_fp8 makes float16 of it"})
        .as(codes::dtype);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", row(array.dtype()).npy,
                                   tuple_text(array.shape()));
  constexpr size_t before = magic.size() + 4;
  header.append((64 - (before + header.size() + 1) % 64) % 64, ' ') +=
      '\n';  // elements start at a multiple of 64 bytes
  std::string bytes(magic);
  bytes += {'\x01', '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(array.raw()), static_cast<size_t>(array.bytes()));
  return bytes;
}

}  // namespace pxl
