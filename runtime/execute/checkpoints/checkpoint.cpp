// Reader and writer of safetensors files. A file is validated in full before any of it is used.
#include "runtime/execute/checkpoints/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/execute/checkpoints/checkpoint_parts.hpp"
#include "runtime/execute/json_text.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

using nlohmann::json;

/// The entry of a header that is no array.
constexpr std::string_view metadata_name = "__metadata__";
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
    {DType::bfloat16, "BF16"},
    {DType::float32, "F32"},
    {DType::float64, "F64"},
    {DType::float8_143, "F8_E4M3FNUZ"},
    {DType::float8_152, "F8_E5M2FNUZ"},
    {DType::float8_e4m3fn, "F8_E4M3"},
    {DType::float8_e5m2, "F8_E5M2"},
};

std::string_view code_of(DType dtype) {
  return std::find_if(std::begin(codes), std::end(codes), [&](const Code& c) { return c.dtype == dtype; })->name;
}

std::optional<DType> dtype_of_code(std::string_view code) {
  for (const Code& c : codes)
    if (c.name == code) return c.dtype;
  return {};
}

}  // namespace

/// The open file, its header validated.
class CheckpointFile::Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)), file_(open()) {
    const auto size = static_cast<uint64_t>(file_.size());
    std::array<unsigned char, 8> prefix{};
    if (size < prefix.size()) refuse("it is too short to be a checkpoint");
    read(prefix.data(), static_cast<int64_t>(prefix.size()));
    uint64_t header_size = 0;
    for (size_t i = prefix.size(); i-- > 0;) header_size = header_size << 8 | prefix[i];
    if (header_size > max_header || header_size > size - prefix.size())
      refuse("its header is longer than the file; it is not a checkpoint or was cut off");
    std::string header(static_cast<size_t>(header_size), '\0');
    read(header.data(), static_cast<int64_t>(header.size()));
    data_ = static_cast<int64_t>(prefix.size() + header_size);

    entries_ = parse(header);
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    uint64_t at = 0;
    for (const Entry& e : entries_) {
      if (e.begin != at) refuse(fmt::format("the data of `{}` do not follow those before", e.name));
      at = e.end;
    }
    const uint64_t data = size - prefix.size() - header_size;
    if (at != data) refuse(fmt::format("it holds {} bytes of data where its header says {}", data, at));
  }

  struct Entry {
    std::string name;
    TensorSpec spec;
    uint64_t begin = 0, end = 0;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<std::pair<std::string, std::string>>& metadata() const { return metadata_; }

  void check_unchanged() const {
    if (!file_.is_unchanged()) refuse("it was written to after it had been opened");
  }

  Array array(size_t i, bool undisturbed) {
    const Entry& e = entries_[i];
    seek(static_cast<int64_t>(e.begin));
    Array array(e.spec.dtype, e.spec.shape);
    read(array.mutable_raw(), array.bytes(), undisturbed);
    if (e.spec.dtype == DType::boolean) make_bools(array);
    return array;
  }

  /// Reads all data once, in pieces.
  void check_readable() {
    constexpr int64_t piece_bytes = int64_t{4} << 20;
    std::vector<std::byte> piece(static_cast<size_t>(piece_bytes));
    seek(0);
    for (int64_t left = file_.size() - data_; left > 0; left -= piece_bytes)
      read(piece.data(), std::min(left, piece_bytes));
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw Error(fmt::format("cannot read the checkpoint {}: {}", path_, reason), {}, Fault::unreadable);
  }

 private:
  InputFile open() const {
    std::error_code failed;
    if (!std::filesystem::exists(path_, failed)) refuse("there is no such file");
    std::string why;
    std::optional<InputFile> file = InputFile::open(path_, why);
    if (!file) refuse(why);
    return std::move(*file);
  }

  /// Places the next read at a byte of the data.
  void seek(int64_t at) {
    if (!file_.seek(data_ + at)) refuse("it cannot be read again");
  }
  void read(void* to, int64_t bytes, bool undisturbed = false) {
    if ((undisturbed ? file_.read_undisturbed(to, bytes) : file_.read(to, bytes)) != bytes)
      refuse("it cannot be read to its end");
  }

  /// Validates that each byte is 0 or 1; other values are undefined behaviour as bool.
  void make_bools(Array& array) const {
    std::byte* bytes = array.mutable_raw();
    for (int64_t i = 0; i < array.bytes(); ++i) bytes[i] = bytes[i] == std::byte{0} ? std::byte{0} : std::byte{1};
  }

  std::vector<Entry> parse(const std::string& header) {
    constexpr size_t deepest = 8;  // entries have 3 levels
    if (!is_nested_at_most(header, deepest)) refuse("its header has lists or objects nested too deeply");
    std::string twice;
    const json root = parse_unrepeated(header, twice);
    if (!twice.empty()) refuse(fmt::format("`{}` is twice in its header", twice));
    if (!root.is_object()) refuse("its header is not a JSON object");
    std::vector<Entry> entries;
    for (const auto& [name, value] : root.items()) {
      if (name != metadata_name) {
        entries.push_back(parse(name, value));
        continue;
      }
      if (!value.is_object()) refuse("its metadata are not a JSON object");
      for (const auto& [key, text] : value.items()) {
        if (!text.is_string()) refuse(fmt::format("its metadata `{}` are not a string", key));
        metadata_.emplace_back(key, text.get<std::string>());
      }
    }
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
    entry.spec.dtype = *known;
    if (!shape.is_array()) fail("a shape that is not a list");
    for (const json& extent : shape) {
      if (!extent.is_number_unsigned() || extent.get<uint64_t>() > uint64_t{1} << 48) fail("an extent that is no size");
      entry.spec.shape.push_back(extent.get<int64_t>());
    }
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
      fail("data_offsets that are not two positions");
    entry.begin = offsets[0].get<uint64_t>();
    entry.end = offsets[1].get<uint64_t>();
    uint64_t need = 0;
    try {
      need = static_cast<uint64_t>(element_count(entry.spec.shape)) * size_of(entry.spec.dtype);
    } catch (const Error& error) {
      refuse(fmt::format("`{}`: {}", name, error.first().message));
    }
    if (entry.begin > entry.end || entry.end - entry.begin != need)
      fail(fmt::format("data_offsets that do not span the {} bytes of its shape", need));
    return entry;
  }

  std::string path_;
  InputFile file_;
  int64_t data_ = 0;  ///< first byte of the data in the file
  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, std::string>> metadata_;
};

CheckpointFile::CheckpointFile(std::string path) {
  require_effect(Effect::reads_files);
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    open_folder(path);
    return;
  }
  files_.push_back(std::make_unique<Reader>(std::move(path)));
  for (size_t i = 0; i < files_[0]->entries().size(); ++i) {
    const Reader::Entry& e = files_[0]->entries()[i];
    entries_.push_back({e.name, e.spec});
    sources_.push_back({{0, i, 0}});
  }
  metadata_ = files_[0]->metadata();
}
CheckpointFile::~CheckpointFile() = default;

/// The index of a folder, with its files open. Another job may save to the folder meanwhile, which removes or replaces
/// files of the index: then the new index is read.
CheckpointIndex CheckpointFile::open_files(const std::string& path) {
  for (CheckpointIndex index = read_index(path);;) {
    files_.clear();
    std::exception_ptr fault;
    try {
      for (const std::string& name : index.files)
        files_.push_back(std::make_unique<Reader>(fmt::format("{}/{}", path, name)));
    } catch (const Error&) {
      fault = std::current_exception();
    }
    check_interrupt();
    CheckpointIndex now = read_index(path);
    if (now.save == index.save && fault) std::rethrow_exception(fault);
    if (now.save == index.save) return index;
    index = std::move(now);
  }
}

void CheckpointFile::open_folder(const std::string& path) {
  CheckpointIndex index = open_files(path);
  if (!index.paths.empty()) metadata_.emplace_back("paths", index.paths);
  std::vector<std::map<std::string_view, size_t>> by_name;
  for (const auto& file : files_) {
    std::map<std::string_view, size_t>& names = by_name.emplace_back();
    for (size_t i = 0; i < file->entries().size(); ++i) names.emplace(file->entries()[i].name, i);
  }
  for (CheckpointIndex::Value& v : index.values) {
    std::vector<Source>& sources = sources_.emplace_back();
    for (const CheckpointPart& part : v.parts) {
      const Reader& file = *files_[part.file];
      const auto found = by_name[part.file].find(part.entry);
      if (found == by_name[part.file].end())
        file.refuse(fmt::format("it has no `{}`, which the index names", part.entry));
      const TensorSpec& spec = file.entries()[found->second].spec;
      if (spec.dtype != v.value.spec.dtype || spec.size() != part.end - part.begin)
        file.refuse(fmt::format("`{}` is {}, and not what the index says", part.entry, text(spec)));
      sources.push_back({part.file, found->second, part.begin});
    }
    entries_.push_back(std::move(v.value));
  }
}

Array CheckpointFile::array(size_t i, bool undisturbed) {
  const std::vector<Source>& sources = sources_[i];
  if (sources.size() == 1) {
    const Source& only = sources[0];
    return files_[only.file]->array(only.entry, undisturbed).reshaped(entries_[i].spec.shape);
  }
  Array whole(entries_[i].spec.dtype, entries_[i].spec.shape);
  const auto element = static_cast<int64_t>(size_of(entries_[i].spec.dtype));
  for (const Source& s : sources) {
    const Array part = files_[s.file]->array(s.entry, undisturbed);
    std::copy_n(part.raw(), part.bytes(), whole.mutable_raw() + s.begin * element);
  }
  return whole;
}

void CheckpointFile::read(const std::function<void(size_t, Array)>& visit) {
  for (size_t i = 0; i < entries_.size(); ++i) visit(i, array(i, false));
}

Array CheckpointFile::read(size_t i) {
  for (const Source& s : sources_[i]) files_[s.file]->check_unchanged();
  return array(i, false);
}

void CheckpointFile::read_all_or_none(const std::function<bool(size_t)>& wanted,
                                      const std::function<void(size_t, Array)>& visit) {
  for (const auto& file : files_) file->check_readable();
  bool begun = false;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!wanted(i)) continue;
    try {
      visit(i, array(i, true));
    } catch (Error& error) {
      if (begun) error.first().notes.push_back("other variables have the values of the file already");
      throw;
    }
    begun = true;
  }
}

namespace {

/// Writes by `write_parts`: atomic_file.hpp.
template <class Write>
void write_with(const Write& write_parts, const std::string& path, const std::vector<NamedSpec>& entries,
                const std::function<Array(size_t)>& array, const CheckpointFormat& format = {}) {
  nlohmann::ordered_json header;
  nlohmann::ordered_json& metadata = header[metadata_name];
  metadata["format"] = "pxl";
  for (const auto& [name, text] : format.metadata) metadata[name] = text;
  uint64_t at = 0;
  // Names differ from each other, which a search for each of them need not find out.
  auto& members = header.get_ref<nlohmann::ordered_json::object_t&>();
  for (const NamedSpec& e : entries) {
    const auto bytes = static_cast<uint64_t>(e.spec.bytes());
    members.emplace_back(
        e.name, nlohmann::ordered_json{
                    {"dtype", code_of(e.spec.dtype)}, {"shape", e.spec.shape}, {"data_offsets", {at, at + bytes}}});
    at += bytes;
  }
  // A name that is not UTF-8 (from a command line) must not lose the state of a training run.
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');  // data start at a multiple of 8 bytes
  std::string begin;
  for (int i = 0; i < 8; ++i) begin.push_back(static_cast<char>(static_cast<uint64_t>(text.size()) >> (8 * i) & 0xFF));
  begin += text;
  Array written;
  write_parts(path, [&](size_t part) -> std::optional<std::string_view> {
    if (part == 0) return begin;
    if (part > entries.size()) return std::nullopt;
    written = Array();  // freed before the next is made
    written = array(part - 1);
    return std::string_view(reinterpret_cast<const char*>(written.raw()), static_cast<size_t>(written.bytes()));
  });
}

}  // namespace

void write_checkpoint(const std::string& path, const std::vector<NamedSpec>& entries,
                      const std::function<Array(size_t)>& array, const CheckpointFormat& format) {
  write_with([](const auto& to, const auto& part) { write_parts_atomically(to, part); }, path, entries, array, format);
}

void write_own_checkpoint(const std::string& path, const std::vector<NamedSpec>& entries,
                          const std::function<Array(size_t)>& array) {
  write_with([](const auto& to, const auto& part) { write_own_parts_atomically(to, part); }, path, entries, array);
}

void write_checkpoint(const std::string& path, const std::vector<NamedArray>& arrays, const CheckpointFormat& format) {
  std::vector<NamedSpec> entries;
  std::set<std::string_view> names;
  for (const NamedArray& a : arrays) {
    if (a.name == metadata_name)
      throw Error(fmt::format("{}: no array can have the name `{}`", path, a.name)).as(codes::value);
    if (!names.insert(a.name).second)
      throw Error(fmt::format("{}: two arrays have the name `{}`", path, a.name)).as(codes::value);
    entries.push_back({a.name, a.data.spec()});
  }
  write_with([](const auto& to, const auto& part) { write_parts_atomically(to, part); }, path, entries,
             [&](size_t i) { return arrays[i].data; }, format);
}

std::vector<NamedArray> read_checkpoint(const std::string& path) {
  CheckpointFile file(path);
  std::vector<NamedArray> arrays;
  file.read([&](size_t i, Array data) { arrays.push_back({file.entries()[i].name, std::move(data)}); });
  return arrays;
}

}  // namespace pxl
