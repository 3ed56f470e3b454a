// Finds and loads MNIST; the header documents the search order.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/settings.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/io/dataset.hpp"
#include "runtime/io/pixels.hpp"

namespace pxl {
namespace {

namespace fs = std::filesystem;

constexpr std::array names = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                              "t10k-labels-idx1-ubyte"};
constexpr std::string_view built_in = "built-in";  ///< value of PXL_DATA for drawn digits
constexpr uint64_t train_seed = 1, test_seed = 2;  ///< seeds of the drawn digits: the two sets have no image in common

std::optional<fs::path> find_file(const fs::path& folder, std::string_view name) {
  for (std::string_view suffix : {".gz", ""}) {
    fs::path file = folder / (std::string(name) + std::string(suffix));
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file;
  }
  return std::nullopt;
}

std::vector<std::string> missing_files(const fs::path& folder) {
  std::vector<std::string> missing;
  for (const char* name : names)
    if (!find_file(folder, name)) missing.push_back(name);
  return missing;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// shared/data/mnist in this folder, next to it, or next to a parent folder.
std::optional<fs::path> beside(fs::path folder) {
  std::error_code ignored;
  for (;;) {
    fs::path candidate = folder / "shared" / "data" / "mnist";
    if (fs::is_directory(candidate, ignored) && missing_files(candidate).empty()) return candidate;
    fs::path parent = folder.parent_path();
    if (parent == folder || parent.empty()) return std::nullopt;
    folder = parent;
  }
}

std::optional<fs::path> find_folder() {
  if (std::string set = setting(Setting::data); !set.empty()) {
    if (set == built_in) return std::nullopt;
    std::vector<std::string> missing = missing_files(set);
    if (missing.empty()) return fs::path(set);
    throw Error(fmt::format("PXL_DATA is {}, which lacks {}", set, join_texts(missing, ", ")),
                {fmt::format("it should name a folder with the four MNIST files, plain or with .gz, or be `{}` for the "
                             "drawn digits; unset it to use what is found elsewhere",
                             built_in)},
                Fault::unreadable);
  }
  std::error_code error;
  if (fs::path here = fs::current_path(error); !error)
    if (auto found = beside(here)) return found;
  if (fs::path self = fs::read_symlink("/proc/self/exe", error); !error)
    if (auto found = beside(self.parent_path())) return found;
  fs::path cache = environment("XDG_CACHE_HOME");
  // XDG specification: relative paths are invalid and must be ignored.
  if (!cache.is_absolute()) cache = environment("HOME").empty() ? "" : fs::path(environment("HOME")) / ".cache";
  if (!cache.empty() && missing_files(cache / "pxl" / "mnist").empty()) return cache / "pxl" / "mnist";
  return std::nullopt;
}

DigitSet load_set(const fs::path& images_file, const fs::path& labels_file) {
  auto refuse = [](const fs::path& file, const std::string& why) {
    return Error(fmt::format("cannot use {}: {}", file.string(), why), {}, Fault::unreadable);
  };
  Array pixels = read_idx(images_file.string()), labels = read_idx(labels_file.string());
  if (pixels.rank() != 3 || pixels.shape()[1] != 28 || pixels.shape()[2] != 28)
    throw refuse(images_file, fmt::format("images have shape {}, not [n, 28, 28]", bracket_text(pixels.shape())));
  if (labels.rank() != 1)
    throw refuse(labels_file, fmt::format("labels have shape {}, not [n]", bracket_text(labels.shape())));
  if (labels.size() != pixels.shape()[0])
    throw refuse(labels_file, fmt::format("it has {} labels for the {} images of {}", labels.size(), pixels.shape()[0],
                                          images_file.filename().string()));
  const uint8_t* values = labels.data<uint8_t>();
  for (int64_t i = 0; i < labels.size(); ++i)
    if (values[i] > 9) throw refuse(labels_file, fmt::format("label {} is {}, not 0 to 9", i, values[i]));
  return {normalised_pixels(pixels), labels.cast(DType::int32)};
}

}  // namespace

Array normalised_pixels(const Array& pixels) {
  std::array<float, 256> table;
  for (size_t p = 0; p < table.size(); ++p) table[p] = (static_cast<float>(p) / 255.0f - 0.1307f) / 0.3081f;
  Array out(DType::float32, pixels.shape());
  const uint8_t* from = pixels.data<uint8_t>();
  float* to = out.mutable_data<float>();
  for (int64_t i = 0; i < pixels.size(); ++i) to[i] = table[from[i]];
  return out;
}

Mnist load_mnist(int64_t train_size, int64_t test_size) {
  if (auto folder = find_folder()) {
    std::array<fs::path, 4> files;
    for (size_t i = 0; i < names.size(); ++i) files[i] = find_file(*folder, names[i]).value_or(*folder / names[i]);
    return {load_set(files[0], files[1]), load_set(files[2], files[3]), false, folder->string()};
  }
  return {draw_digits(train_size, train_seed), draw_digits(test_size, test_seed), true, "built-in digits"};
}

}  // namespace pxl
