// load and save: arrays, tables, images and sounds. The suffix of the file's name selects the format.
#include "interpreter/library/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "interpreter/graphs/modules/trees.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/library/missing_files.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/limits.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/execute/checkpoints/checkpoint.hpp"
#include "runtime/io/csv.hpp"
#include "runtime/io/format_limits.hpp"
#include "runtime/io/image.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/io/npz.hpp"
#include "runtime/io/sound.hpp"
#include "runtime/io/suffix.hpp"
#include "runtime/tensor/dtype.hpp"

namespace pxl {
namespace {

Value dict_of(std::vector<NamedArray> arrays) {
  auto dict = make_ref<DictObject>();
  for (NamedArray& a : arrays) dict->put(a.name, std::move(a.data));
  return dict;
}

const DictObject& dict_for(const Value& v, const std::string& path, std::string_view of) {
  const auto* dict = v.as<DictObject>();
  if (!dict)
    throw Error(fmt::format("save: {} takes a dict of {} by name, not {}", path, of, v.type_name())).as(codes::type);
  return *dict;
}
const std::string& name_of(const Value& key, const std::string& path) {
  const std::string* name = key.as_string();
  if (!name) throw Error(fmt::format("save: {}: names are strings, not {}", path, key.type_name())).as(codes::type);
  return *name;
}

/// Appends arrays by name. Arrays inside dicts and named trees have dotted names.
void append_arrays(Interpreter& in, const Value& v, const std::string& path, const std::string& prefix,
                   std::vector<NamedArray>& arrays, int depth = 0) {
  constexpr int max_depth = 100;
  if (depth > max_depth)
    throw Error(fmt::format("save: {}: dicts are nested more than {} deep; is one inside itself?", path, max_depth))
        .as(codes::value);
  if (const auto* tree = v.as<TreeObject>()) {
    for (const auto& [name, value] : tree->leaves()) arrays.push_back({prefix + name, to_array(in, value)});
    return;
  }
  for (const auto& [key, value] : dict_for(v, path, "arrays").items) {
    const std::string name = prefix + name_of(key, path);
    if (value.as<DictObject>() || value.as<TreeObject>())
      append_arrays(in, value, path, name + ".", arrays, depth + 1);
    else
      arrays.push_back({name, to_array(in, value)});
  }
}

std::vector<NamedArray> arrays_of(Interpreter& in, const Value& v, const std::string& path) {
  std::vector<NamedArray> arrays;
  append_arrays(in, v, path, "", arrays);
  return arrays;
}

void save_tensors(Interpreter& in, const std::string& path, const Value& value, const ArgReader& options) {
  CheckpointFormat format;
  if (options.has("metadata")) {
    const Value metadata = options.value("metadata");
    const auto* dict = metadata.as<DictObject>();
    if (!dict)
      throw Error(
          fmt::format("save: metadata are a dict of strings by name, not {}", with_article(metadata.type_name())))
          .as(codes::type);
    for (const auto& [key, text] : dict->items) {
      if (!text.as_string())
        throw Error(
            fmt::format("save: metadata `{}` are {}, not a str", name_of(key, path), with_article(text.type_name())),
            {"str(x) or to_json(x) makes a text of any value"})
            .as(codes::type);
      format.metadata.emplace_back(name_of(key, path), *text.as_string());
    }
  }
  std::vector<NamedArray> arrays = arrays_of(in, value, path);
  if (options.has("dtype")) {
    const Value dtype = options.value("dtype");
    const std::string* name = dtype.as_string();
    const DType floats = name && *name == "bfloat16" ? DType::bfloat16 : to_dtype(dtype, "save: dtype");
    if (!is_floating(floats))
      throw Error(fmt::format("save: dtype is for arrays of floats, not {}", pxl::name(floats))).as(codes::dtype);
    for (NamedArray& a : arrays)
      if (is_floating(a.data.dtype())) a.data = a.data.cast(floats);
  }
  write_checkpoint(path, arrays, format);
}

CsvOptions csv_options(char separator, const ArgReader& a) {
  CsvOptions o;
  o.separator = separator;
  o.max_texts = static_cast<int64_t>(max_elements);
  if (a.has("header")) o.header = a.boolean_or("header", true);
  if (a.has("dtype")) o.floats = to_dtype(a.value("dtype"), "load: dtype");
  if (o.floats && !is_floating(*o.floats))
    throw Error(fmt::format("load: dtype is that of columns with fractions, not {}", name(*o.floats))).as(codes::dtype);
  return o;
}

Value read_table(char separator, const std::string& path, const ArgReader& options) {
  auto dict = make_ref<DictObject>();
  std::vector<TableColumn> columns = read_csv(path, csv_options(separator, options));
  for (TableColumn& c : columns) {
    if (Array* array = std::get_if<Array>(&c.values)) {
      dict->put(c.name, std::move(*array));
      continue;
    }
    std::vector<Value> texts;
    for (std::string& s : std::get<1>(c.values)) texts.emplace_back(std::move(s));
    dict->put(c.name, make_list(std::move(texts)));
  }
  return dict;
}

void write_table(Interpreter& in, char separator, const std::string& path, const Value& value) {
  std::vector<TableColumn> columns;
  for (const auto& [key, v] : dict_for(value, path, "columns").items) {
    TableColumn column{name_of(key, path), std::vector<std::string>()};
    const auto* list = v.as<ListObject>();
    const bool texts =
        list && std::any_of(list->items.begin(), list->items.end(), [](const Value& x) { return x.as_string(); });
    if (texts)
      for (const Value& x : list->items) std::get<std::vector<std::string>>(column.values).push_back(str_of(in, x));
    else
      column.values = to_array(in, v);
    columns.push_back(std::move(column));
  }
  write_csv(path, columns, {.separator = separator});
}

template <char separator>
Value load_table(Interpreter&, const std::string& path, const ArgReader& options) {
  return read_table(separator, path, options);
}
template <char separator>
void save_table(Interpreter& in, const std::string& path, const Value& value, const ArgReader&) {
  write_table(in, separator, path, value);
}

Value load_sound(Interpreter&, const std::string& path, const ArgReader&) {
  Sound sound = read_sound(path);
  auto dict = make_ref<DictObject>();
  dict->put(std::string("samples"), std::move(sound.samples));
  dict->put(std::string("rate"), sound.rate);
  return dict;
}

void save_sound(Interpreter& in, const std::string& path, const Value& value, const ArgReader& options) {
  const auto* dict = value.as<DictObject>();
  const Value* samples = dict ? dict->find(std::string("samples")) : &value;
  const Value* rate = dict ? dict->find(std::string("rate")) : nullptr;
  if (!samples || (!rate && !options.has("rate")))
    throw Error(fmt::format("save: {} takes samples and a rate", path),
                {"save(path, samples, rate = 16000), or a dict with both as load returns it"})
        .as(codes::value);
  const Value given = options.has("rate") ? options.value("rate") : *rate;
  if (!given.is_int())
    throw Error(fmt::format("save: {}: the rate is an int, not {}", path, given.type_name())).as(codes::type);
  write_wav(path, {to_array(in, *samples), given.as_int()});
}

template <class Named>
Value unknown_arrays(const std::vector<Named>& specs) {
  auto dict = make_ref<DictObject>();
  for (const auto& [name, spec] : specs) dict->put(std::string(name), unknown_array(spec));
  return dict;
}

Value look_at_npy(const std::string& path) { return unknown_array(load_npy_header(path)); }
Value look_at_npz(const std::string& path) { return unknown_arrays(load_npz_headers(path)); }
Value look_at_tensors(const std::string& path) { return unknown_arrays(read_checkpoint_header(path)); }
Value look_at_image(const std::string& path) { return unknown_array(read_image_header(path)); }

constexpr FileFormat formats[] = {
    {".npy", "one array", nullptr,
     [](Interpreter& in, const std::string& path, const Value& v, const ArgReader&) {
       save_npy(path, to_array(in, v));
     },
     "", "", look_at_npy, load_npy},
    {".npz", "a dict of arrays",
     [](Interpreter&, const std::string& path, const ArgReader&) { return dict_of(load_npz(path)); },
     [](Interpreter& in, const std::string& path, const Value& v, const ArgReader&) {
       save_npz(path, arrays_of(in, v, path));
     },
     "", "", look_at_npz},
    {".safetensors", "a dict of arrays",
     [](Interpreter&, const std::string& path, const ArgReader&) { return dict_of(open_checkpoint(path)); },
     save_tensors, "", "dtype metadata", look_at_tensors},
    {".csv", "a dict of columns", load_table<','>, save_table<','>, "header dtype", ""},
    {".tsv", "a dict of columns", load_table<'\t'>, save_table<'\t'>, "header dtype", ""},
    {".png", "an image", nullptr,
     [](Interpreter& in, const std::string& path, const Value& v, const ArgReader&) {
       write_png(path, to_array(in, v));
     },
     "", "", look_at_image, read_image},
    {".jpg .jpeg", "an image", nullptr, nullptr, "", "", look_at_image, read_image},
    {".wav", "a sound", load_sound, save_sound, "", "rate"},
    {".flac .ogg", "a sound", load_sound, nullptr, "", ""},
};

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// The format of a path. Throws an error that lists the formats which the function supports.
const FileFormat& format_of(std::string_view function, const std::string& path, bool writes) {
  std::string suffix = std::filesystem::path(path).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  std::vector<std::string> known;
  for (const FileFormat& f : formats) {
    const std::vector<std::string> suffixes = words_of(f.suffixes);
    const bool found = !suffix.empty() && std::count(suffixes.begin(), suffixes.end(), suffix) > 0;
    if (found && writes && !f.save)
      throw Error(fmt::format("{}: {} files are only read", function, suffix)).as(codes::value);
    if (found) return f;
    if (!writes || f.save) known.insert(known.end(), suffixes.begin(), suffixes.end());
  }
  std::vector<std::string> notes{fmt::format("known suffixes: {}", join_texts(known, ", "))};
  if (const std::string meant = did_you_mean(suffix, known); !meant.empty()) notes.insert(notes.begin(), meant);
  throw Error(suffix.empty() ? fmt::format("{}: `{}` has no suffix", function, path)
                             : fmt::format("{}: `{}` is not a known suffix", function, suffix),
              std::move(notes))
      .as(codes::value);
}

void check_options(std::string_view function, const std::string& path, std::string_view taken, const ArgReader& a,
                   std::span<const std::string_view> all) {
  const std::vector<std::string> known = words_of(taken);
  for (std::string_view option : all)
    if (a.has(option) && std::count(known.begin(), known.end(), option) == 0)
      throw Error(fmt::format("{}: `{}` does not apply to {} files", function, option,
                              std::filesystem::path(path).extension().string()))
          .as(codes::value);
}

Value look_at_file(Interpreter& in, const std::string& path, Value (*look)(const std::string&)) {
  // The script may write the file before it reads it.
  if (!look || !permits(Effect::reads_headers) || check_in_progress(in)->may_have_written) return unknown_value();
  try {
    return look(path);
  } catch (const Error&) {
    return unknown_value();
  }
}

Value load(Interpreter& in, const Arguments& args) {
  const ArgReader a(args);
  const std::string path = a.string("path");
  if (!permits(Effect::reads_files)) return look_at_file(in, path, format_of("load", path, false).look);
  reading_file(in, path, [&] {
    std::string why;
    if (!InputFile::open(path, why)) throw cannot_read(path, why);
  });
  const FileFormat& format = format_of("load", path, false);
  constexpr std::string_view options[] = {"header", "dtype"};
  check_options("load", path, format.load_options, a, options);
  return format.read ? Value(format.read(path)) : format.load(in, path, a);
}

Value save(Interpreter& in, const Arguments& args) {
  const ArgReader a(args);
  const std::string path = a.string("path");
  const FileFormat& format = format_of("save", path, true);
  constexpr std::string_view options[] = {"rate", "metadata", "dtype"};
  check_options("save", path, format.save_options, a, options);
  format.save(in, path, a.value("value"), a);
  return {};
}

Value read_metadata(Interpreter&, const Arguments& args) {
  const std::string path = ArgReader(args).string("path");
  require_effect(Effect::reads_files);
  require_suffix("read_metadata", path, ".safetensors", "metadata");
  auto dict = make_ref<DictObject>();
  for (auto& [name, text] : read_checkpoint_metadata(path)) dict->put(std::move(name), std::move(text));
  return dict;
}

}  // namespace

const FileFormat& format_to_read(std::string_view function, const std::string& path) {
  return format_of(function, path, false);
}

Value look_at_checkpoint(Interpreter& in, const std::string& path) { return look_at_file(in, path, look_at_tensors); }

void bind_format_builtins(Scope& p) {
  define(p, Effect::reads_files,
         {"load(path, header = none, dtype = none)",
          "The contents of a file, by its suffix: the array of .npy; a dict of arrays of .npz and .safetensors, which "
          "reads "
          "each array when it is first used; a dict of columns of .csv and .tsv; uint8 [height, width, channels] of "
          ".png and .jpg; samples and rate of .wav, .flac and .ogg.",
          R"(save("a.npy", arange(3))
load("a.npy"))"},
         load, InLook::calls_body);
  define(
      p, Effect::writes_files,
      {"save(path, value, rate = none, metadata = none, dtype = none)",
       "Writes a file by its suffix: an array as .npy, an image as .png, samples as .wav, a dict of arrays as .npz or "
       ".safetensors, a dict of columns as .csv or .tsv. For .safetensors, `metadata` is a dict of strings, and "
       "`dtype` is the dtype of all arrays of floats in the file, such as bfloat16.",
       R"(save("a.npy", ones([2]))
load("a.npy"))"},
      save, InLook::calls_body);
  define(p, Effect::reads_files,
         {"read_metadata(path)", "The metadata of a .safetensors file: a dict of strings.",
          R"(save("a.safetensors", {"w": ones([2])}, metadata = {"steps": "12"})
read_metadata("a.safetensors"))"},
         read_metadata);
}

}  // namespace pxl
