// Checkpoints in the safetensors format: 8 bytes (little-endian) with the length of a JSON header, the header
// {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ...}, then the data without gaps
// (https://github.com/huggingface/safetensors).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/tensor/named_array.hpp"

namespace pxl {

struct CheckpointIndex;

struct NamedSpec {
  std::string name;
  TensorSpec spec;
};

/// The parts of a file besides its arrays.
struct CheckpointFormat {
  std::vector<std::pair<std::string, std::string>> metadata;  ///< added to {"format": "pxl"}, or in its place
};
/// Atomic: an existing file is replaced as a whole or left as it is. Entry i has the spec of `array(i)`, which is
/// requested when entry i is written, so that memory holds one array at a time.
void write_checkpoint(const std::string& path, const std::vector<NamedSpec>& entries,
                      const std::function<Array(size_t)>& array, const CheckpointFormat& format = {});
/// Throws Error if two arrays have one name, or if one is named __metadata__, which the format keeps for itself.
void write_checkpoint(const std::string& path, const std::vector<NamedArray>& arrays,
                      const CheckpointFormat& format = {});
/// The same in each process of several, to files of their own.
void write_own_checkpoint(const std::string& path, const std::vector<NamedSpec>& entries,
                          const std::function<Array(size_t)>& array);

/// The arrays, in order of their data; bfloat16 becomes float32, which has all its values. Throws Error
/// (Fault::unreadable) with the file and the defect.
std::vector<NamedArray> read_checkpoint(const std::string& path);
/// The same with lazy arrays (Array::lazy): only the header is read now. The file stays open until each array has been
/// read or dropped, so it may be removed, or replaced by another of its name. The array is not mapped into memory,
/// where a write to the file would raise a signal. If the file was written to meanwhile, a use of the elements throws
/// Error.
std::vector<NamedArray> open_checkpoint(const std::string& path);
/// The names and specs of a file's arrays, from a header of at most 1 MiB.
std::vector<NamedSpec> read_checkpoint_header(const std::string& path);
/// Metadata of the file: strings by name, in order of the names.
std::vector<std::pair<std::string, std::string>> read_checkpoint_metadata(const std::string& path);

/// A checkpoint, one file or a folder of several (checkpoint_parts.hpp), that is read one array at a time.
class CheckpointFile {
 public:
  /// Opens the file and checks all but its data. Throws Error (Fault::unreadable) with the file and the defect.
  explicit CheckpointFile(std::string path);
  ~CheckpointFile();
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;

  const std::vector<NamedSpec>& entries() const { return entries_; }  ///< in order of their data
  /// Gives the arrays to `visit`, with the index of their entries. Throws Error (Fault::unreadable) if the file cannot
  /// be read, and Interrupted.
  void read(const std::function<void(size_t, Array)>& visit);
  /// The array of an entry; an Error also if the file was written to since it was opened.
  Array read(size_t i);
  /// Strings by name; a folder has the strings of its index.
  const std::vector<std::pair<std::string, std::string>>& metadata() const { return metadata_; }
  /// The same for the wanted arrays, all or none. The file is read to its end once before the first visit, and an
  /// interrupt after that waits. If the file system fails to read bytes that it has read before, the Error says so.
  void read_all_or_none(const std::function<bool(size_t)>& wanted, const std::function<void(size_t, Array)>& visit);

 private:
  class Reader;
  /// Elements from `begin` on: an entry of a file.
  struct Source {
    size_t file = 0, entry = 0;
    int64_t begin = 0;
  };
  CheckpointIndex open_files(const std::string& path);
  void open_folder(const std::string& path);
  Array array(size_t i, bool undisturbed);
  std::vector<std::unique_ptr<Reader>> files_;
  std::vector<NamedSpec> entries_;
  std::vector<std::vector<Source>> sources_;  ///< by entry
  std::vector<std::pair<std::string, std::string>> metadata_;
};

}  // namespace pxl
