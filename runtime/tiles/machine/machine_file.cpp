// The reader of machine descriptions.
#include "runtime/tiles/machine/machine_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl::tiles {

namespace {

constexpr int max_extends = 8;
constexpr int64_t max_description_bytes = 1 << 20;

/// A unit in which values may be written. `of` is the unit in which the constant is kept.
struct UnitRow {
  std::string_view of, text;
  double factor;
};
constexpr UnitRow units[] = {
    {"bytes", "bytes", 1},       {"bytes", "KiB", 1024.0},
    {"bytes", "MiB", 1048576.0}, {"bytes", "GiB", 1073741824.0},
    {"bytes", "kB", 1e3},        {"bytes", "MB", 1e6},
    {"bytes", "GB", 1e9},        {"Hz", "Hz", 1},
    {"Hz", "kHz", 1e3},          {"Hz", "MHz", 1e6},
    {"Hz", "GHz", 1e9},          {"bytes/s", "bytes/s", 1},
    {"bytes/s", "kB/s", 1e3},    {"bytes/s", "MB/s", 1e6},
    {"bytes/s", "GB/s", 1e9},    {"bytes/s", "TB/s", 1e12},
    {"cycles", "cycles", 1},     {"bytes/cycle", "bytes/cycle", 1},
    {"percent", "%", 1},         {"ns", "ns", 1},
    {"ns", "us", 1e3},           {"ns", "ms", 1e6},
};

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? std::string() : path.substr(0, slash + 1);
}

std::string stem_of(const std::string& path) {
  std::string stem = path.substr(folder_of(path).size());
  if (const size_t dot = stem.rfind('.'); dot != stem.npos && dot > 0) stem.erase(dot);
  return stem;
}

std::string text_of(const std::string& path) {
  require_effect(Effect::reads_files);
  std::string why;
  std::optional<std::string> text = read_file(path, max_description_bytes, why);
  if (!text) throw Error(fmt::format("machine: cannot read {}: {}", path, why), {}, Fault::unreadable).as(codes::file);
  return std::move(*text);
}

class Reader {
 public:
  Reader(std::string name, std::string_view text, int depth) : name_(std::move(name)), text_(text), depth_(depth) {}

  Machine read() {
    while (at_ < text_.size()) {
      blanks();
      const size_t begin = at_;
      if (ends()) {
        ++at_;
        continue;
      }
      if (text_[at_] == '[') {
        ++at_;
        section_ = word("the name of a section");
        expect(']');
        section(begin);
      } else {
        entry(begin);
      }
      blanks();
      if (!ends()) fail(at_, line_end(), "expected the end of the line", {});
      if (at_ < text_.size()) ++at_;
    }
    machine_.name = stem_of(name_);
    for (size_t i = 0; i < machine_fields().size(); ++i)
      if (machine_fields()[i].presence == Presence::required && !machine_.given[i].given)
        missing_.push_back(fmt::format("{} in [{}]", machine_fields()[i].key, machine_fields()[i].section));
    if (!missing_.empty())
      fail(0, 0, fmt::format("the description lacks {}", join_texts(missing_, ", ")),
           {"extends = \"mk2\" takes what it leaves out from another machine"});
    if (const std::string lacks = complete_machine(machine_); !lacks.empty()) fail(0, 0, lacks, {});
    return std::move(machine_);
  }

 private:
  [[noreturn]] void fail(size_t begin, size_t end, std::string message, std::vector<std::string> notes) const {
    const SourceFile& file = add_source(name_, std::string(text_));
    Diagnostic d;
    d.message = "machine: " + std::move(message);
    d.span = {&file, static_cast<uint32_t>(begin), static_cast<uint32_t>(std::max(begin, end))};
    d.notes = std::move(notes);
    throw Error(std::move(d)).as(codes::value);
  }

  size_t line_end() const { return std::min(text_.find('\n', at_), text_.size()); }
  void blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    if (at_ < text_.size() && text_[at_] == '#') at_ = line_end();
  }
  bool ends() const { return at_ >= text_.size() || text_[at_] == '\n'; }
  void expect(char c) {
    if (at_ >= text_.size() || text_[at_] != c) fail(at_, at_ + 1, fmt::format("expected `{}`", c), {});
    ++at_;
  }
  std::string word(std::string_view what) {
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (begin == at_) fail(at_, at_ + 1, fmt::format("expected {}", what), {});
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string string() {
    const size_t begin = at_;
    if (at_ >= text_.size() || text_[at_] != '"') fail(at_, at_ + 1, "expected a text in double quotes", {});
    const size_t end = text_.find('"', begin + 1);
    if (end == text_.npos || end > line_end()) fail(begin, line_end(), "the text does not end on its line", {});
    at_ = end + 1;
    return std::string(text_.substr(begin + 1, end - begin - 1));
  }

  void section(size_t begin) const {
    std::vector<std::string> names{"sources"};
    for (const MachineField& f : machine_fields())
      if (std::find(names.begin(), names.end(), f.section) == names.end()) names.emplace_back(f.section);
    if (std::find(names.begin(), names.end(), section_) != names.end()) return;
    const std::string hint = did_you_mean(section_, names);
    fail(begin, at_, fmt::format("unknown section `{}`{}", section_, hint.empty() ? "" : "; " + hint),
         {fmt::format("sections: {}", join_texts(names, ", "))});
  }

  void entry(size_t begin) {
    const std::string key = word("a constant, a section or a comment");
    const size_t end = at_;
    if (!seen_.emplace(section_ + "." + key, begin).second)
      fail(begin, end, fmt::format("`{}` is given twice", key), {});
    blanks();
    expect('=');
    blanks();
    if (section_ == "sources")
      sources_[key] = string();
    else if (section_.empty())
      header(key, begin, end);
    else
      constant(key, begin, end);
  }

  void header(const std::string& key, size_t begin, size_t end) {
    const size_t value = at_;
    if (key == "chip") {
      machine_.chip = string();
    } else if (key == "extends") {
      const std::string base = string();
      if (seen_.size() > 1 || depth_ >= max_extends)
        fail(begin, at_,
             depth_ < max_extends ? "`extends` must come first" : "machines extend each other more than 8 times", {});
      extend(base, value);
    } else {
      fail(begin, end, fmt::format("unknown entry `{}`", key),
           {"before the first section there are `extends = \"mk2\"` and `chip = \"...\"`"});
    }
  }

  void extend(const std::string& base, size_t value) {
    std::vector<std::string> names;
    for (const MachineFile& f : machine_files()) {
      if (f.name == base) {
        machine_ = Reader(std::string(f.name) + ".machine", f.text, depth_ + 1).read();
        return;
      }
      names.emplace_back(f.name);
    }
    if (base.find_first_of("./") == base.npos) {
      const std::string hint = did_you_mean(base, names);
      fail(value, at_, fmt::format("unknown machine `{}`{}", base, hint.empty() ? "" : "; " + hint),
           {fmt::format("machines: {}, or a path, `./my.machine`", join_texts(names, ", "))});
    }
    const std::string path = base.front() == '/' ? base : folder_of(name_) + base;
    machine_ = Reader(path, text_of(path), depth_ + 1).read();
  }

  void constant(const std::string& key, size_t begin, size_t end) {
    const auto fields = machine_fields();
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const MachineField& f) { return f.key == key; });
    if (field == fields.end() || field->section != section_) {
      std::vector<std::string> names;
      for (const MachineField& f : fields)
        if (f.section == section_) names.emplace_back(f.key);
      const std::string hint = did_you_mean(key, names);
      fail(begin, end,
           field != fields.end() ? fmt::format("`{}` belongs to [{}]", key, field->section)
                                 : fmt::format("unknown constant `{}`{}", key, hint.empty() ? "" : "; " + hint),
           {fmt::format("constants of [{}]: {}", section_, join_texts(names, ", "))});
    }
    const size_t value_begin = at_;
    const double value = number() * unit(*field);
    const double whole = std::round(value);
    if (std::abs(value - whole) > 1e-9 * std::abs(value) || !(value >= static_cast<double>(field->min)) ||
        !(value <= static_cast<double>(field->max)))
      fail(value_begin, at_,
           fmt::format("{} must be a whole number of {} in {}..{}", key, field->unit.empty() ? "units" : field->unit,
                       field->min, field->max),
           {});
    machine_.*field->field = static_cast<int64_t>(whole);
    machine_.given[static_cast<size_t>(field - fields.begin())] = {true, source()};
  }

  double number() {
    const size_t begin = at_;
    double value = 0;
    const auto [end, failed] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    at_ = static_cast<size_t>(end - text_.data());
    if (failed != std::errc{} || !std::isfinite(value)) fail(begin, line_end(), "expected a number", {});
    return value;
  }

  double unit(const MachineField& field) {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    const size_t begin = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '/' || text_[at_] == '%')) ++at_;
    const std::string_view given = text_.substr(begin, at_ - begin);
    std::vector<std::string_view> known;
    for (const UnitRow& u : units) {
      if (u.of != field.unit) continue;
      if (u.text == given) return u.factor;
      known.push_back(u.text);
    }
    if (known.empty() && given.empty()) return 1;
    fail(begin, std::max(at_, begin + 1),
         known.empty() ? fmt::format("{} has no unit", field.key) : fmt::format("expected a unit of {}", field.key),
         known.empty() ? std::vector<std::string>{} : std::vector{fmt::format("units: {}", join_texts(known, ", "))});
  }

  std::string source() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    if (at_ >= text_.size() || text_[at_] != '[') return {};
    const size_t begin = at_++;
    const std::string id = word("the name of a source");
    expect(']');
    const auto found = sources_.find(id);
    if (found != sources_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [name, text] : sources_) names.push_back(name);
    const std::string hint = did_you_mean(id, names);
    fail(begin, at_, fmt::format("unknown source `{}`{}", id, hint.empty() ? "" : "; " + hint),
         {"[sources] lists them, before the constants: arch = \"a data sheet\""});
  }

  std::string name_;
  std::string_view text_;
  int depth_;
  size_t at_ = 0;
  std::string section_;
  std::map<std::string, size_t> seen_;
  std::map<std::string, std::string> sources_;
  std::vector<std::string> missing_;
  Machine machine_ = [] {
    Machine m;
    m.given.resize(machine_fields().size());
    return m;
  }();
};

}  // namespace

std::string complete_machine(Machine& m) {
  m.executable = std::min(m.executable, m.memory);
  m.runtime_bytes = std::min(m.runtime_bytes, m.memory);
  const bool blocks = m.block_rows > 0, mesh = m.mesh_columns > 0, dram = m.dram_memory > 0;
  const std::pair<std::string_view, std::vector<int64_t Machine::*>> needs[] = {
      {blocks ? "block_rows" : "",
       {&Machine::block_depth, &Machine::block_columns, &Machine::block_f32, &Machine::block_f16,
        &Machine::block_load_bytes}},
      {blocks ? "" : "a machine without block_rows",
       {&Machine::units_f16_f16, &Machine::units_f16_f32, &Machine::units_f32, &Machine::weight_bytes}},
      {mesh ? "mesh_columns" : "", {&Machine::link_bytes}},
      {dram ? "dram_memory" : "", {&Machine::dram_bytes, &Machine::dram_transfer}}};
  for (const auto& [who, constants] : needs) {
    if (who.empty()) continue;
    for (const auto constant : constants)
      if (m.*constant <= 0)
        for (const MachineField& f : machine_fields())
          if (f.field == constant) return fmt::format("{} needs {}", who, f.key);
  }
  return {};
}

Machine read_machine(const std::string& name, std::string_view text) { return Reader(name, text, 0).read(); }

Machine read_machine_file(const std::string& path) { return read_machine(path, text_of(path)); }

}  // namespace pxl::tiles
