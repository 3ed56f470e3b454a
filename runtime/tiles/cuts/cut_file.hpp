// Cuts as text: how the ops of programs are divided over tiles. A line names an op or a tensor by its place in the
// program:
//
//   [train]                          # a program; `[train Layer_subgraph(0)]`: a graph of it
//   fc1/weight variable float16[784,512] = stored blocks 2x64
//   fc1/matmul_out MatMul float16[8,784] float16[784,512] = rows 2, columns 64 # 1,234 cycles
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl::tiles {

/// Throws the error of a text of cuts at a place.
[[noreturn]] void refuse_cut(Span at, std::string message, std::vector<std::string> notes = {});

/// One fact of a cut: a key, and its values.
struct CutItem {
  Span at;
  std::vector<Span> words;  ///< the key first
  std::string_view key() const { return words.front().text(); }
};

struct CutLine {
  Span at;           ///< of the name
  Span whole;        ///< from the name to the last item
  std::string name;  ///< with `#2` for the second of equal names
  std::string kind, specs;
  std::vector<CutItem> items;
  std::string cut;  ///< the items, as text
};

/// The names of a graph's ops, and of its tensors that no op computes, as lines have them. Equal names are numbered.
struct CutNames {
  explicit CutNames(const Graph& graph, const std::vector<Op*>& order);
  std::vector<std::pair<std::string, const Op*>> ops;
  std::vector<std::pair<std::string, const Tensor*>> tensors;
};
/// "MatMul", "variable".
std::string kind_of(const Op& op);
std::string kind_of(const Tensor& tensor);
/// The specs of an op's operands, or of a tensor: "float16[8,784] float16[784,512]".
std::string specs_of(const Op& op);
std::string specs_of(const Tensor& tensor);
/// A name as a line has it: in quotes if it is no single word.
std::string quoted_name(const std::string& name);

/// What happens to cuts that do not match a program.
enum class CutUse : uint8_t {
  exact,   ///< they are errors
  start,   ///< they are left out
  session  ///< the program takes no cut, since it is another one
};

class CutFile {
 public:
  /// Reads a text. Throws Error with a place.
  CutFile(std::string name, std::string_view text, CutUse use);

  bool is_start() const { return use_ == CutUse::start; }
  /// The same for other use.
  std::shared_ptr<const CutFile> used_for(CutUse use) const;
  const std::string& name() const { return name_; }
  /// Programs that the text has cuts of, as its headings name them.
  std::vector<std::string> programs() const;
  /// Throws Error at the heading of a program that is none of `programs`.
  void check_programs(const std::vector<std::string>& programs) const;

  /// The same without one of its lines.
  std::shared_ptr<const CutFile> without(const CutLine& line) const;

  struct Found {
    std::unordered_map<const Op*, const CutLine*> ops;
    std::unordered_map<const Tensor*, const CutLine*> tensors;
  };
  using Graphs = std::vector<std::pair<const Graph*, const std::vector<Op*>*>>;
  /// The lines of a program's graphs. `label`: the program as headings name it; empty: its name, or the line of its
  /// call. If a line has several calls, takes the first whose cuts all match. Throws Error at lines that do not match.
  Found find(const Ir& ir, const Graphs& graphs, const std::string& label) const;

 private:
  struct Section {
    Span at;
    std::string program, graph;
    std::vector<CutLine> lines;
  };
  Found lines_of(const std::string& program, const Graphs& graphs) const;

  std::string name_;
  CutUse use_ = CutUse::exact;
  std::vector<Section> sections_;
};

/// Reads a file of cuts. Throws Error.
std::shared_ptr<const CutFile> read_cuts(const std::string& path, CutUse use);
/// The cuts of sessions and estimates; null: none.
const std::shared_ptr<const CutFile>& standard_cuts();
void set_standard_cuts(std::shared_ptr<const CutFile> cuts);

}  // namespace pxl::tiles
