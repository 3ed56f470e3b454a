#include "runtime/tiles/cuts/cut_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl::tiles {

void refuse_cut(Span at, std::string message, std::vector<std::string> notes) {
  Diagnostic d;
  d.message = std::move(message);
  d.span = at;
  d.notes = std::move(notes);
  throw Error(std::move(d)).as(codes::value);
}

namespace {

constexpr int64_t max_cut_bytes = 64 << 20;

std::string without_blanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

/// The words of a line: separated by blanks, up to a word that begins with `#`. A name may be in quotes.
class CutWords {
 public:
  CutWords(const SourceFile& file, uint32_t begin, uint32_t end) : file_(file), at_(begin), end_(end) { blanks(); }

  bool ends() const { return at_ >= end_; }
  Span here() const { return {&file_, at_, std::min(at_ + 1, end_)}; }
  char next() const { return ends() ? '\0' : file_.text()[at_]; }
  /// The next word. `,` is a word, and ends one outside brackets.
  Span word(bool commas) {
    const uint32_t begin = at_;
    int depth = 0;
    for (; at_ < end_; ++at_) {
      const char c = file_.text()[at_];
      depth += (c == '[') - (c == ']');
      if ((c == ' ' || c == '\t' || c == '\r') && depth <= 0) break;
      if (commas && c == ',' && depth <= 0) {
        if (at_ == begin) ++at_;
        break;
      }
    }
    const Span span{&file_, begin, at_};
    blanks();
    return span;
  }
  /// A name, and its place.
  std::pair<std::string, Span> name() {
    if (next() != '"') {
      const Span at = word(false);
      return {std::string(at.text()), at};
    }
    std::string text;
    const uint32_t begin = at_++;
    for (; at_ < end_ && file_.text()[at_] != '"'; ++at_) {
      if (file_.text()[at_] == '\\' && at_ + 1 < end_) ++at_;
      text += file_.text()[at_];
    }
    if (at_ >= end_) refuse_cut({&file_, begin, end_}, "the name does not end on its line");
    const Span span{&file_, begin, ++at_};
    blanks();
    return {text, span};
  }

 private:
  void blanks() {
    while (at_ < end_ && (file_.text()[at_] == ' ' || file_.text()[at_] == '\t' || file_.text()[at_] == '\r')) ++at_;
    if (at_ < end_ && file_.text()[at_] == '#') at_ = end_;
  }

  const SourceFile& file_;
  uint32_t at_, end_;
};

CutLine line_of(CutWords words) {
  CutLine line;
  std::tie(line.name, line.at) = words.name();
  if (words.ends()) refuse_cut(line.at, "expected a name, a kind of op, specs, `=` and a cut");
  line.kind = words.word(false).text();
  while (!words.ends() && words.next() != '=') {
    line.specs += line.specs.empty() ? "" : " ";
    line.specs += without_blanks(std::string(words.word(false).text()));
  }
  if (words.ends()) refuse_cut(words.here(), "expected `=` and a cut");
  if (const Span equals = words.word(false); equals.text() != "=") refuse_cut(equals, "expected `=` and a blank");
  while (!words.ends()) {
    CutItem item;
    while (!words.ends()) {
      const Span word = words.word(true);
      if (word.text() == ",") break;
      item.words.push_back(word);
    }
    if (item.words.empty()) refuse_cut(words.here(), "expected a part of the cut, as `rows 4`");
    item.at = join(item.words.front(), item.words.back());
    for (const Span& word : item.words) {
      if (!line.cut.empty()) line.cut += &word == &item.words.front() ? ", " : " ";
      line.cut += word.text();
    }
    line.items.push_back(std::move(item));
  }
  if (line.items.empty()) refuse_cut(words.here(), "expected a cut, as `rows 4, columns 2`");
  line.whole = join(line.at, line.items.back().at);
  return line;
}

/// Numbers names that occur again.
std::string numbered_name(std::set<std::string>& seen, const std::string& kind, const std::string& name) {
  std::string found = name;
  for (int n = 2; !seen.insert(kind + " " + found).second; ++n) found = fmt::format("{}#{}", name, n);
  return found;
}

}  // namespace

CutNames::CutNames(const Graph& graph, const std::vector<Op*>& order) {
  std::set<std::string> seen;
  for (const auto& t : graph.tensors())
    if (!t->producer && t->kind != TensorKind::stream)
      tensors.emplace_back(numbered_name(seen, kind_of(*t), t->name), t.get());
  for (const Op* op : order) {
    if (!op->called.empty()) continue;
    std::string name = op->stream ? op->stream->name() : std::string();
    for (const Tensor* t : op->inputs)
      if (t && name.empty()) name = t->name;
    if (!op->outputs.empty()) name = op->outputs[0]->name;
    ops.emplace_back(numbered_name(seen, kind_of(*op), name), op);
  }
}

std::string kind_of(const Op& op) { return without_blanks(std::string(op.row->schedule)); }
std::string kind_of(const Tensor& tensor) {
  return tensor.kind == TensorKind::variable ? "variable" : tensor.kind == TensorKind::constant ? "constant" : "input";
}
std::string specs_of(const Op& op) {
  std::string all;
  for (const Tensor* t : op.inputs)
    if (t) all += (all.empty() ? "" : " ") + specs_of(*t);
  return all;
}
std::string specs_of(const Tensor& tensor) { return without_blanks(text(tensor.spec)); }

std::string quoted_name(const std::string& name) {
  const bool is_word =
      !name.empty() && name.find_first_of(" \t\r\n\"\\=") == name.npos && name[0] != '#' && name[0] != '[';
  if (is_word) return name;
  std::string quoted = "\"";
  for (const char c : name)
    quoted += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c == '\n' ? ' ' : c);
  return quoted + "\"";
}

CutFile::CutFile(std::string name, std::string_view text, CutUse use) : name_(std::move(name)), use_(use) {
  const SourceFile& file = add_source(name_, std::string(text));
  for (uint32_t begin = 0; begin < file.text().size();) {
    const auto end = static_cast<uint32_t>(std::min(file.text().find('\n', begin), file.text().size()));
    CutWords words(file, begin, end);
    begin = end + 1;
    if (words.ends()) continue;
    if (words.next() == '[') {
      const std::string_view line = file.text().substr(words.here().begin, end - words.here().begin);
      const size_t close = line.rfind(']', line.find(" #"));
      const Span at{&file, words.here().begin,
                    words.here().begin + static_cast<uint32_t>(std::min(close, line.size() - 1)) + 1};
      if (close == line.npos) refuse_cut(at, "expected `[PROGRAM]` or `[PROGRAM GRAPH]`");
      const std::string_view names = line.substr(1, close - 1);
      const size_t blank = std::min(names.find(' '), names.size());
      sections_.push_back({at,
                           std::string(names.substr(0, blank)),
                           blank < names.size() ? std::string(names.substr(blank + 1)) : std::string(),
                           {}});
      continue;
    }
    if (sections_.empty()) refuse_cut(words.here(), "expected `[PROGRAM]` before the first line");
    sections_.back().lines.push_back(line_of(words));
  }
}

std::vector<std::string> CutFile::programs() const {
  std::vector<std::string> names;
  for (const Section& s : sections_)
    if (std::find(names.begin(), names.end(), s.program) == names.end()) names.push_back(s.program);
  return names;
}

void CutFile::check_programs(const std::vector<std::string>& programs) const {
  for (const Section& s : sections_) {
    if (is_start() || std::find(programs.begin(), programs.end(), s.program) != programs.end()) continue;
    const std::string hint = did_you_mean(s.program, programs);
    refuse_cut(s.at, fmt::format("no program is `{}`{}", s.program, hint.empty() ? "" : "; " + hint),
               {fmt::format("the programs are {}", join_texts(programs, ", "))});
  }
}

std::shared_ptr<const CutFile> CutFile::without(const CutLine& line) const {
  auto copy = std::make_shared<CutFile>(*this);
  for (Section& s : copy->sections_)
    std::erase_if(s.lines, [&](const CutLine& l) { return l.at.begin == line.at.begin; });
  return copy;
}

std::shared_ptr<const CutFile> CutFile::used_for(CutUse use) const {
  auto copy = std::make_shared<CutFile>(*this);
  copy->use_ = use;
  return copy;
}

CutFile::Found CutFile::find(const Ir& ir, const Graphs& graphs, const std::string& label) const {
  const std::string line =
      ir.called_at ? fmt::format("{}:{}", ir.name(), ir.called_at.file->position(ir.called_at.begin).line) : ir.name();
  Found best;
  std::optional<Error> first;
  for (const std::string& program : programs()) {
    if (label.empty() ? program != ir.name() && program != line && !program.starts_with(line + "#") : program != label)
      continue;
    try {
      Found found = lines_of(program, graphs);
      if (!is_start()) return found;
      if (best.ops.size() + best.tensors.size() < found.ops.size() + found.tensors.size()) best = std::move(found);
    } catch (const Error& e) {
      if (!first) first = e;
    }
  }
  if (first && use_ == CutUse::exact) throw Error(*first);
  return best;
}

CutFile::Found CutFile::lines_of(const std::string& program, const Graphs& graphs) const {
  Found found;
  std::vector<std::string> ids;
  for (const auto& [graph, order] : graphs) ids.push_back(graph->id());
  for (const Section& s : sections_) {
    if (s.program != program) continue;
    const auto at = std::find(ids.begin(), ids.end(), s.graph);
    if (at == ids.end()) {
      if (is_start()) continue;
      const std::string hint = did_you_mean(s.graph, ids);
      refuse_cut(s.at, fmt::format("`{}` has no graph `{}`{}", program, s.graph, hint.empty() ? "" : "; " + hint));
    }
    const auto& [graph, order] = graphs[static_cast<size_t>(at - ids.begin())];
    const CutNames names(*graph, *order);
    std::map<std::pair<std::string, std::string>, const Op*> ops;
    std::map<std::pair<std::string, std::string>, const Tensor*> tensors;
    for (const auto& [name, op] : names.ops) ops.emplace(std::pair(name, kind_of(*op)), op);
    for (const auto& [name, tensor] : names.tensors) tensors.emplace(std::pair(name, kind_of(*tensor)), tensor);
    for (const CutLine& line : s.lines) {
      const auto op = ops.find({line.name, line.kind});
      const auto tensor = tensors.find({line.name, line.kind});
      const bool known = op != ops.end() || tensor != tensors.end();
      const std::string specs = op != ops.end() ? specs_of(*op->second) : known ? specs_of(*tensor->second) : "";
      if (known && specs == line.specs) {
        const bool fresh = op != ops.end() ? found.ops.emplace(op->second, &line).second
                                           : found.tensors.emplace(tensor->second, &line).second;
        if (!fresh && !is_start()) refuse_cut(line.at, fmt::format("`{}` has a second cut", line.name));
        continue;
      }
      if (is_start()) continue;
      if (known)
        refuse_cut(line.at, fmt::format("`{}` has other specs: {}", line.name, specs),
                   {"`--start` takes the cuts of a file whose names and specs match"});
      std::vector<std::string> all;
      for (const auto& [name, of] : names.ops) all.push_back(fmt::format("{} {}", name, kind_of(*of)));
      for (const auto& [name, of] : names.tensors) all.push_back(fmt::format("{} {}", name, kind_of(*of)));
      const std::string hint = did_you_mean(fmt::format("{} {}", line.name, line.kind), all);
      refuse_cut(line.at,
                 fmt::format("no op or tensor is `{} {}`{}", line.name, line.kind, hint.empty() ? "" : "; " + hint),
                 {"`pxl schedule --machine NAME FILE` prints the names"});
    }
  }
  return found;
}

std::shared_ptr<const CutFile> read_cuts(const std::string& path, CutUse use) {
  require_effect(Effect::reads_files);
  std::string why;
  std::optional<std::string> text = read_file(path, max_cut_bytes, why);
  if (!text) throw Error(fmt::format("cannot read {}: {}", path, why), {}, Fault::unreadable).as(codes::file);
  return std::make_shared<const CutFile>(path, *text, use);
}

namespace {
std::shared_ptr<const CutFile>& cuts_of_process() {
  static auto& cuts = never_destroyed(std::shared_ptr<const CutFile>());
  return cuts;
}
}  // namespace

const std::shared_ptr<const CutFile>& standard_cuts() { return cuts_of_process(); }
void set_standard_cuts(std::shared_ptr<const CutFile> cuts) { cuts_of_process() = std::move(cuts); }

}  // namespace pxl::tiles
