#include "runtime/execute/checkpoints/checkpoint_parts.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/execute/json_text.hpp"
#include "runtime/tensor/dtype.hpp"

namespace pxl {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int64_t max_index_bytes = 100'000'000;  // as of a header

[[noreturn]] void refuse_index(const std::string& path, const std::string& reason) {
  throw Error(fmt::format("cannot read the checkpoint {}: {}", path, reason), {}, Fault::unreadable);
}

int64_t count_in(const std::string& path, const json& value, std::string_view what) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t{1} << 48)
    refuse_index(path, fmt::format("{} is no size", what));
  return value.get<int64_t>();
}

const json& member(const std::string& path, const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) refuse_index(path, fmt::format("it has no `{}`", key));
  return object[key];
}

CheckpointIndex::Value parse_value(const std::string& path, const std::string& name, const json& from, size_t files) {
  CheckpointIndex::Value out;
  out.value.name = name;
  const json& dtype = member(path, from, "dtype");
  const std::optional<DType> known = dtype.is_string() ? dtype_from_name(dtype.get<std::string>()) : std::nullopt;
  if (!known) refuse_index(path, fmt::format("`{}` has an unknown dtype", name));
  out.value.spec.dtype = *known;
  const json& shape = member(path, from, "meta_shape");
  if (!shape.is_array()) refuse_index(path, fmt::format("`{}` has a shape that is not a list", name));
  for (const json& extent : shape)
    out.value.spec.shape.push_back(count_in(path, extent, fmt::format("an extent of `{}`", name)));
  int64_t size = 0, at = 0;
  try {
    size = element_count(out.value.spec.shape);
  } catch (const Error& error) {
    refuse_index(path, fmt::format("`{}`: {}", name, error.first().message));
  }
  for (const json& given : member(path, from, "parts")) {
    CheckpointPart part;
    part.file = static_cast<size_t>(count_in(path, member(path, given, "file"), "the file of a part"));
    const json& entry = member(path, given, "entry");
    if (!entry.is_string()) refuse_index(path, fmt::format("a part of `{}` has no entry", name));
    part.entry = entry.get<std::string>();
    part.begin = count_in(path, member(path, given, "begin"), "the begin of a part");
    part.end = count_in(path, member(path, given, "end"), "the end of a part");
    if (part.file >= files) refuse_index(path, fmt::format("there is no file {} of `{}`", part.file, name));
    if (part.begin != at || part.end < part.begin)
      refuse_index(path, fmt::format("the parts of `{}` do not follow each other", name));
    at = part.end;
    out.parts.push_back(std::move(part));
  }
  if (at != size) refuse_index(path, fmt::format("the parts of `{}` have {} of its {} elements", name, at, size));
  return out;
}

/// Lists the names of `values` as the text orders them. An ordered JSON tree would search name by name.
class NamesInOrder final : public nlohmann::json_sax<json> {
 public:
  std::vector<std::string> names;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool start_object(size_t) override { return ++depth_ > 0; }
  bool start_array(size_t) override { return ++depth_ > 0; }
  bool end_object() override { return --depth_ >= 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool key(std::string& name) override {
    if (depth_ == 1) in_values_ = name == "values";
    if (depth_ == 2 && in_values_) names.push_back(std::move(name));
    return true;
  }
  bool parse_error(size_t, const std::string&, const json::exception&) override { return false; }

 private:
  int depth_ = 0;
  bool in_values_ = false;
};

}  // namespace

std::string checkpoint_part_name(size_t file, size_t files, PartSet set) {
  return fmt::format("{:05}-of-{:05}{}.safetensors", file, files, set == PartSet::second ? "-b" : "");
}

std::string index_text(const CheckpointIndex& index) {
  ordered_json::object_t values;  // names differ, which a search for each of them need not find out
  for (const CheckpointIndex::Value& v : index.values) {
    ordered_json parts = ordered_json::array();
    for (const CheckpointPart& p : v.parts)
      parts.push_back({{"file", p.file}, {"entry", p.entry}, {"begin", p.begin}, {"end", p.end}});
    values.emplace_back(v.value.name, ordered_json{{"dtype", name(v.value.spec.dtype)},
                                                   {"meta_shape", v.value.spec.shape},
                                                   {"parts", std::move(parts)}});
  }
  ordered_json all{{"format", "pxl"}, {"save", index.save}, {"files", index.files}, {"values", std::move(values)}};
  if (!index.paths.empty()) all["paths"] = index.paths;
  // A name that is not UTF-8 must not lose the state of a training run; files of tensors follow the same rule.
  return all.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

namespace {

/// The index in `folder`; that of a checkpoint without files if there is none that can be read.
CheckpointIndex index_or_none(const std::string& folder) {
  try {
    return read_index(folder);
  } catch (const Error&) {
    return {{}, {}, 0};
  }
}

/// The set of a name that `checkpoint_part_name` makes; none for another file.
std::optional<PartSet> set_of(const std::string& name) {
  size_t file = 0, files = 0;
  if (std::sscanf(name.c_str(), "%zu-of-%zu", &file, &files) != 2) return {};
  for (const PartSet set : {PartSet::first, PartSet::second})
    if (name == checkpoint_part_name(file, files, set)) return set;
  return {};
}

/// A set none of whose names is among `used`; the first one if both have some.
PartSet free_set(std::span<const std::string> used) {
  const auto has = [&](PartSet set) {
    return std::any_of(used.begin(), used.end(), [&](const std::string& name) { return set_of(name) == set; });
  };
  return has(PartSet::first) && !has(PartSet::second) ? PartSet::second : PartSet::first;
}

std::string path_in(const std::string& folder, std::string_view name) { return fmt::format("{}/{}", folder, name); }

/// A file, not a folder of its name. One that cannot be removed does no harm.
void remove_quietly(const std::string& path) { (void)!::unlink(path.c_str()); }

/// Removes the files of earlier saves: files with a name of ours that the index does not name.
void remove_other_parts(const std::string& folder, const CheckpointIndex& index) {
  std::error_code failed;
  std::vector<std::string> others;
  const std::filesystem::directory_iterator end;
  for (auto file = std::filesystem::directory_iterator(folder, failed); file != end; file.increment(failed))
    if (const std::string name = file->path().filename().string();
        set_of(name) && std::find(index.files.begin(), index.files.end(), name) == index.files.end())
      others.push_back(name);
  for (const std::string& name : others) remove_quietly(path_in(folder, name));
}

/// Runs the steps up to the writing of the index. If they fail for all processes alike, removes this process's file. If
/// a process is gone, nobody knows whether the index was written: the next save removes the file.
void with_own_part(const std::string& folder, const CheckpointIndex& index, size_t own, const Processes& processes,
                   const std::function<void()>& body) {
  try {
    body();
  } catch (const Error&) {
    if (!processes.lost() && index_or_none(folder).save != index.save)
      remove_quietly(path_in(folder, index.files[own]));
    throw;
  }
}

}  // namespace

void save_parts(const Variables& variables, const std::vector<std::string>& names, const std::string& folder,
                const std::string& paths, const std::function<void(const std::string& what)>& meet) {
  require_effect(Effect::writes_files);
  const Processes& processes = variables.processes();
  const bool alone = variables.range().all();  // also where each process has all replicas
  const size_t count = alone ? 1 : static_cast<size_t>(processes.size());
  const size_t own = alone ? 0 : static_cast<size_t>(processes.rank());
  // All processes read it before the first meeting, and the index changes after the second one.
  const CheckpointIndex before = index_or_none(folder);
  const PartSet set = free_set(before.files);
  CheckpointIndex index;
  index.save = before.save + 1;
  index.paths = paths;
  for (size_t file = 0; file < count; ++file) index.files.push_back(checkpoint_part_name(file, count, set));
  struct Run {
    const Tensor* variable;
    Variables::HeldRun run;
    int replica;
  };
  std::vector<NamedSpec> entries;
  std::vector<Run> runs;  // of this process
  size_t turn = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const Tensor* v = variables.all()[i];
    CheckpointIndex::Value& value = index.values.emplace_back();
    value.value = {names[i], v->data.spec()};
    for (Variables::HeldRun& run : variables.held_runs(v)) {
      std::map<size_t, int> holders;  // the first replica of each process
      for (const int r : run.replicas)
        holders.emplace(alone ? 0 : static_cast<size_t>(processes.owner(r, variables.range().total)), r);
      const auto [file, replica] = *std::next(holders.begin(), static_cast<ptrdiff_t>(turn++ % holders.size()));
      const std::string entry = fmt::format("{}[{}:{}]", names[i], run.begin, run.end);
      value.parts.push_back({file, entry, run.begin, run.end});
      if (file != own) continue;
      entries.push_back({entry, {{run.end - run.begin}, v->spec.dtype, {}}});
      runs.push_back({v, std::move(run), replica});
    }
  }
  if (processes.rank() == 0) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) throw run_error(fmt::format("cannot write {}: {}", folder, failed.message())).as(codes::write);
  }
  meet("write the files of a checkpoint");
  const auto array = [&](size_t i) { return variables.read_run(runs[i].variable, runs[i].run, runs[i].replica); };
  with_own_part(folder, index, own, processes, [&] {
    const std::string path = path_in(folder, index.files[own]);
    if (alone)
      write_checkpoint(path, entries, array);
    else
      write_own_checkpoint(path, entries, array);
    meet("write the index of a checkpoint");
    write_file_atomically(path_in(folder, checkpoint_index_name), index_text(index));
  });
  if (processes.rank() == 0) remove_other_parts(folder, index);
}

CheckpointIndex read_index(const std::string& folder) {
  const std::string path = path_in(folder, checkpoint_index_name);
  std::string why;
  const std::optional<std::string> text = read_file(path, max_index_bytes, why);
  if (!text) refuse_index(folder, fmt::format("it is not a regular file, and as a folder it has no index: {}", why));
  constexpr size_t deepest = 8;  // parts have 5 levels
  if (!is_nested_at_most(*text, deepest)) refuse_index(path, "it has lists or objects nested too deeply");
  std::string twice;
  const json root = parse_unrepeated(*text, twice);
  if (!twice.empty()) refuse_index(path, fmt::format("it has `{}` twice", twice));
  CheckpointIndex index;
  for (const json& file : member(path, root, "files")) {
    if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos)
      refuse_index(path, "a file has no name");
    index.files.push_back(file.get<std::string>());
  }
  if (root.contains("save")) index.save = count_in(path, root["save"], "the number of the save");
  if (const auto paths = root.find("paths"); paths != root.end() && paths->is_string())
    index.paths = paths->get<std::string>();
  const json& values = member(path, root, "values");
  if (!values.is_object()) refuse_index(path, "its values are not an object");
  NamesInOrder order;
  json::sax_parse(*text, &order);
  for (const std::string& name : order.names)
    if (const auto value = values.find(name); value != values.end())
      index.values.push_back(parse_value(path, name, *value, index.files.size()));
  return index;
}

}  // namespace pxl
