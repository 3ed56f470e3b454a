// Reader and writer of safetensors files. A file is validated in full before any of it is used.
#include "runtime/execute/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/base/atomic_file.hpp"
#include "runtime/base/diagnostic.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/input_file.hpp"

namespace pxl {

namespace {

using nlohmann::json;

constexpr uint64_t max_header = 100'000'000;  // bytes; the limit of the reference reader

struct Code {
  DType dtype;
  std::string_view name;
};
constexpr Code codes[] = {
    {DType::boolean, "BOOL"},
    {DType::int8, "I8"},
    {DType::int16, "I16"},
    {DType::int32, "I32"},
    {DType::int64, "I64"},
    {DType::uint8, "U8"},
    {DType::uint16, "U16"},
    {DType::uint32, "U32"},
    {DType::uint64, "U64"},
    {DType::float16, "F16"},
    {DType::float32, "F32"},
    {DType::float64, "F64"},
    {DType::float8_143, "F8_E4M3FNUZ"},
    {DType::float8_152, "F8_E5M2FNUZ"},
};

std::string_view code_of(DType dtype) {
  return std::find_if(std::begin(codes), std::end(codes), [&](const Code& c) { return c.dtype == dtype; })->name;
}

std::optional<DType> dtype_of_code(std::string_view code) {
  for (const Code& c : codes)
    if (c.name == code) return c.dtype;
  return {};
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  std::vector<NamedArray> read() {
    std::error_code failed;
    if (!std::filesystem::exists(path_, failed)) refuse("there is no such file");
    std::string why;
    std::optional<InputFile> file = InputFile::open(path_, why);
    if (!file) refuse(why);
    const auto size = static_cast<uint64_t>(file->size());
    const auto read = [&](void* to, int64_t bytes) {
      if (file->read(to, bytes) != bytes) refuse("it cannot be read to its end");
    };
    std::array<unsigned char, 8> prefix{};
    if (size < prefix.size()) refuse("it is too short to be a checkpoint");
    read(prefix.data(), static_cast<int64_t>(prefix.size()));
    uint64_t header_size = 0;
    for (size_t i = prefix.size(); i-- > 0;) header_size = header_size << 8 | prefix[i];
    if (header_size > max_header || header_size > size - prefix.size())
      refuse("its header is longer than the file; it is not a checkpoint or was cut off");
    std::string header(static_cast<size_t>(header_size), '\0');
    read(header.data(), static_cast<int64_t>(header.size()));

    std::vector<Entry> entries = parse(header);
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    uint64_t at = 0;
    for (const Entry& e : entries) {
      if (e.begin != at) refuse(fmt::format("the data of `{}` do not follow those before", e.name));
      at = e.end;
    }
    const uint64_t data = size - prefix.size() - header_size;
    if (at != data) refuse(fmt::format("it holds {} bytes of data where its header says {}", data, at));

    std::vector<NamedArray> arrays;
    for (const Entry& e : entries) {
      Array array(e.dtype, e.shape);
      read(array.mutable_raw(), array.bytes());
      if (e.dtype == DType::boolean) make_bools(array);
      arrays.push_back({e.name, std::move(array)});
    }
    return arrays;
  }

 private:
  struct Entry {
    std::string name;
    DType dtype{};
    Shape shape;
    uint64_t begin = 0, end = 0;
  };

  [[noreturn]] void refuse(const std::string& reason) const {
    throw Error(fmt::format("cannot read the checkpoint {}: {}", path_, reason), {}, Fault::unreadable);
  }

  /// Validates that each byte is 0 or 1; other values are undefined behaviour as bool.
  void make_bools(Array& array) const {
    std::byte* bytes = array.mutable_raw();
    for (int64_t i = 0; i < array.bytes(); ++i) bytes[i] = bytes[i] == std::byte{0} ? std::byte{0} : std::byte{1};
  }

  std::vector<Entry> parse(const std::string& header) const {
    const json root = json::parse(header, nullptr, false);
    if (!root.is_object()) refuse("its header is not a JSON object");
    std::vector<Entry> entries;
    for (const auto& [name, value] : root.items())
      if (name != "__metadata__") entries.push_back(parse(name, value));
    return entries;
  }

  Entry parse(const std::string& name, const json& value) const {
    const auto fail = [&](std::string_view what) { refuse(fmt::format("`{}` has {}", name, what)); };
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets"))
      fail("no dtype, shape or data_offsets");
    const json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
    Entry entry;
    entry.name = name;
    if (!dtype.is_string()) fail("a dtype that is not a string");
    const auto known = dtype_of_code(dtype.get_ref<const std::string&>());
    if (!known) fail("the unknown dtype " + dtype.get<std::string>());
    entry.dtype = *known;
    if (!shape.is_array()) fail("a shape that is not a list");
    for (const json& extent : shape) {
      if (!extent.is_number_unsigned() || extent.get<uint64_t>() > uint64_t{1} << 48) fail("an extent that is no size");
      entry.shape.push_back(extent.get<int64_t>());
    }
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
      fail("data_offsets that are not two positions");
    entry.begin = offsets[0].get<uint64_t>();
    entry.end = offsets[1].get<uint64_t>();
    uint64_t need = 0;
    try {
      need = static_cast<uint64_t>(element_count(entry.shape)) * size_of(entry.dtype);
    } catch (const Error& error) {
      refuse(fmt::format("`{}`: {}", name, error.first().message));
    }
    if (entry.begin > entry.end || entry.end - entry.begin != need)
      fail(fmt::format("data_offsets that do not span the {} bytes of its shape", need));
    return entry;
  }

  const std::string& path_;
};

}  // namespace

void write_checkpoint(const std::string& path, const std::vector<NamedArray>& arrays) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pxl"}};
  uint64_t at = 0;
  for (const NamedArray& a : arrays) {
    const uint64_t end = at + static_cast<uint64_t>(a.data.bytes());
    header[a.name] = {{"dtype", code_of(a.data.dtype())}, {"shape", a.data.shape()}, {"data_offsets", {at, end}}};
    at = end;
  }
  // A name that is not UTF-8 (from a command line) must not lose the state of a training run.
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');  // data start at a multiple of 8 bytes
  std::string bytes;
  bytes.reserve(8 + text.size() + at);
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(static_cast<uint64_t>(text.size()) >> (8 * i) & 0xFF));
  bytes += text;
  for (const NamedArray& a : arrays)
    bytes.append(reinterpret_cast<const char*>(a.data.raw()), static_cast<size_t>(a.data.bytes()));
  write_file_atomically(path, bytes);
}

std::vector<NamedArray> read_checkpoint(const std::string& path) {
  require_effect(Effect::reads_files);
  return Reader(path).read();
}

}  // namespace pxl
