// Checkpoints in several files, which the processes of a job write at the same time. A checkpoint is a folder of
// safetensors files with an index that makes the folder valid. Each entry of a file holds consecutive elements of a
// variable.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/execute/checkpoints/checkpoint.hpp"
#include "runtime/execute/variables.hpp"

namespace pxl {

/// Elements [begin, end) of a value, in row-major order: one entry of one file.
struct CheckpointPart {
  size_t file = 0;  ///< in CheckpointIndex::files
  std::string entry;
  int64_t begin = 0, end = 0;
};

struct CheckpointIndex {
  struct Value {
    NamedSpec value;
    std::vector<CheckpointPart> parts;  ///< ascending, without gaps
  };
  std::vector<std::string> files;  ///< names in the folder
  std::vector<Value> values;
  int64_t save = 1;        ///< the number of this save to the folder: two indexes may name files of the same names
  std::string paths = {};  ///< what the program calls the variables (match_variables.hpp)
};

inline constexpr std::string_view checkpoint_index_name = "index.json";
/// Two sets of names, so that a checkpoint can be written beside the one that it replaces.
enum class PartSet : uint8_t { first, second };
/// "00003-of-00008.safetensors", or "00003-of-00008-b.safetensors" in the second set.
std::string checkpoint_part_name(size_t file, size_t files, PartSet set = PartSet::first);

/// The text of the index file.
std::string index_text(const CheckpointIndex& index);
/// Writes the variables to a folder under these names, for the replicas in all processes. One process writes each run
/// of elements: the processes that hold it take turns over the runs. `meet` is a point that all processes pass
/// together. A checkpoint that is there stays valid until the new index takes the place of its index; its files are
/// removed afterwards, with the files of saves whose processes were killed. A save that fails removes the files that it
/// has written.
void save_parts(const Variables& variables, const std::vector<std::string>& names, const std::string& folder,
                const std::string& paths, const std::function<void(const std::string& what)>& meet);
/// Reads the index of a folder. Throws Error (Fault::unreadable) with the file and the defect: also where parts do not
/// make up their values.
CheckpointIndex read_index(const std::string& folder);

}  // namespace pxl
