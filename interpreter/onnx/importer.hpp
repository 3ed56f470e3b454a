// Writes a model as the text of a program.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/onnx/import.hpp"
#include "interpreter/onnx/import_template.hpp"
#include "interpreter/onnx/names.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl::onnx {

/// The text that represents a model's value.
struct Meaning {
  enum class Form : uint8_t { variable, literal, stored };
  ProgramText text;
  std::shared_ptr<const Array> known = {};  ///< null if the importer does not know the elements
  Form form = Form::variable;               ///< `stored`: an element of the file of arrays
};

/// The values of one graph; `outer` has the values of the graphs around it.
class Names {
 public:
  explicit Names(Names* outer = nullptr) : outer_(outer) {}
  /// False if the graph has defined the value before.
  bool define(const std::string& value, Meaning meaning) { return here_.emplace(value, std::move(meaning)).second; }
  const Meaning* here(const std::string& value) const;
  /// Searches this graph and the graphs around it.
  const Meaning* find(const std::string& value) const;
  bool has_variable(const ProgramText& variable) const;
  Names* outer() const { return outer_; }

  std::set<ProgramText> captured;  ///< variables that belong to graphs around this one

 private:
  std::map<std::string, Meaning> here_;
  Names* outer_;
};

/// A model's function as calls with equal attributes use it: its nodes contain the values of these attributes.
struct FunctionInstance {
  const Function* function = nullptr;
  std::vector<Node> nodes;
  int64_t opset = 0;
  ProgramText name;
  std::vector<size_t> host;  ///< inputs that must be known while the graph is built
};

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options)
      : model_(model), options_(options), opset_(model.opset()) {}

  Imported run();

 private:
  // ---- checks of what can be imported (import.cpp)

  Error refusal() const;
  void refuse(const Node& node, const std::string& why);
  void check_nodes(const Graph& graph, int64_t opset, int depth);
  void check_node(const Node& node, int64_t opset, int depth);
  void check_attributes(const Node& node);
  /// Notes values of 4 bits, and refuses nodes that make some of other values.
  void check_packed(const Node& node);

  // ---- the functions of the model (import_functions.cpp)

  void index_functions();
  /// Makes the instances that nodes call, and the instances that these call. A callee comes before its caller.
  void note_calls(const std::vector<Node>& nodes, int64_t depth);
  FunctionInstance* instance_of(const Function& f, const Node& call, int64_t depth);
  const FunctionInstance* called(const Node& node) const;
  ProgramText function_text(const FunctionInstance& f);

  // ---- names and values that the importer knows (import.cpp)

  /// A variable name that the text has not used yet.
  ProgramText fresh(const std::string& wanted) { return taken_.fresh(wanted); }
  /// Gives a value its meaning; every definition comes here. `what` describes it in the message about a second
  /// definition.
  void define(Names& names, const std::string& what, const std::string& value, Meaning meaning);
  /// The text of a value. Notes which variables a graph captures from the graphs around it.
  Meaning meaning(Names& names, const Node& node, const std::string& value);
  Meaning constant(const std::string& key, const Array& array);
  /// A key in the file of arrays: the value's name, with a number if the name is taken.
  std::string key_of(const std::string& wanted);
  void finish(const ProgramText& text);

  // ---- the text of values, attributes and nodes (import_nodes.cpp)

  ProgramText host_text(const Meaning& m, std::string_view kind);
  std::optional<ProgramText> attribute_text(const Node& node, std::string_view wanted, std::string_view kind);
  std::optional<ProgramText> source_text(Names& names, const Node& node, const Placeholder& p);
  /// The inputs of a node, up to the last one that is present.
  std::vector<ProgramText> input_texts(Names& names, const Node& node);
  ProgramText filled(Names& names, const Node& node, FixedText text);

  void line(const ProgramText& text);
  /// A graph inside a node as a function. Its parameters are the graph's inputs, then the captured variables.
  struct Body {
    ProgramText name;
    std::vector<ProgramText> captured;
  };
  Body body_function(Names& outer, const Node& node, const std::string& role, const Graph& graph);
  ProgramText call_text(Names& names, const Node& node, const ProgramText& function);
  ProgramText expression(Names& names, const Node& node, const ImportRow* row);
  /// The meaning of a Constant node.
  std::optional<Meaning> constant_node(const Node& node);
  void node_lines(Names& names, const Node& node);
  void graph_lines(Names& names, const Graph& graph);
  std::vector<ProgramText> output_texts(Names& names, const Node& node, const std::vector<ValueInfo>& outputs);
  /// An array as a value of the text. A long array gets a name, so that it is read once.
  Meaning named_constant(const std::string& name, const Meaning& constant);

  // ---- the module (import_module.cpp)

  /// The values that the configuration may set for the named extents of an input.
  std::optional<ProgramText> checked_extents(const ValueInfo& input);
  ProgramText annotation(const ValueInfo& input);
  ProgramText build_text();
  void initialiser_lines(Names& names, const TensorData& t);

  const Model& model_;
  const ImportOptions& options_;
  const int64_t opset_;
  int64_t opset_here_ = 0;  ///< opset of the nodes that are being written
  Imported out_;
  std::vector<std::string> refused_;
  std::set<std::string> host_, keys_, packed_;  ///< `packed_`: values of 4 bits in the model, of 8 in the text
  std::map<std::array<std::string_view, 3>, const Function*> functions_;
  std::map<std::pair<const Function*, std::string>, FunctionInstance*> instances_;  ///< by function and attributes
  std::vector<std::unique_ptr<FunctionInstance>> written_;                          ///< in the order of the text
  std::map<const Node*, const FunctionInstance*> calls_;
  std::set<const Function*> active_;
  size_t instance_nodes_ = 0;
  std::map<std::string, ProgramText> axes_;
  std::vector<ProgramText> axis_names_;
  UniqueNames taken_;
  ProgramText lines_;
  int depth_ = 0;
};

}  // namespace pxl::onnx
