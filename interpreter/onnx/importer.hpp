// A model as the text of a program.
#pragma once

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
#include "runtime/base/diagnostic.hpp"

namespace pxl::onnx {

/// What represents a value of the model in the text.
struct Meaning {
  std::string text;                    ///< a name, or a literal
  std::shared_ptr<const Array> known;  ///< where the importer knows the elements
};

/// Names of values in one graph, and outward those of the graphs around it.
struct Names {
  std::map<std::string, Meaning> here;
  const Names* outer = nullptr;
  std::set<std::string> captured;  ///< names of the text that belong to graphs around this one
};

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options)
      : model_(model), options_(options), opset_(model.opset()) {}

  Imported run();

 private:
  // ---- what cannot be imported (import.cpp)

  Error refusal() const;
  void refuse(const Node& node, const std::string& why);
  const Function* function_of(const Node& node) const;
  int64_t opset_of(const Function& f) const;
  void check_nodes(const Graph& graph, int depth);
  void check_node(const Node& node, int64_t opset, int depth);
  /// Notes values of bfloat16, which become float32, and the nodes whose results are rounded to it; refuses those that
  /// give such values to graphs of their own.
  void note_bfloat16(const Node& node);

  // ---- names and values that the importer knows (import.cpp)

  /// A name of the text, used once.
  std::string fresh(const std::string& wanted);
  const Meaning* find(const Names& names, const std::string& value) const;
  /// The text of a value; notes what a graph takes from those around it.
  Meaning meaning(Names& names, const Node& node, const std::string& value);
  Meaning constant(const std::string& key, const Array& array);
  /// A key of the arrays' file: the name of the value, with a number where it is taken.
  std::string key_of(const std::string& wanted);
  void finish(const std::string& text);

  // ---- the text of values, attributes and nodes (import_nodes.cpp)

  std::string host_text(const Meaning& m, std::string_view kind);
  std::string tensor_text(const TensorData& t, const std::string& key);
  std::optional<std::string> attribute_text(const Node& node, std::string_view wanted, std::string_view kind);
  std::optional<std::string> source_text(Names& names, const Node& node, const Placeholder& p);
  std::string inputs_text(Names& names, const Node& node, bool trim);
  std::string filled(Names& names, const Node& node, std::string_view text);

  void line(std::string text);
  /// A graph inside a node as a function: of its own inputs, then of what it takes from outside.
  struct Body {
    std::string name;
    std::vector<std::string> captured;
  };
  Body body_function(Names& outer, const Node& node, const std::string& role, const Graph& graph);
  std::string call_text(Names& names, const Node& node, std::string_view function);
  std::string expression(Names& names, const Node& node, const ImportRow* row);
  /// A Constant as what it is.
  std::optional<Meaning> constant_node(const Node& node);
  void node_lines(Names& names, const Node& node);
  void graph_lines(Names& names, const Graph& graph);
  /// The value of an array in the text; a long one gets a name, so that it is read once.
  Meaning named_constant(const std::string& name, const Meaning& constant);

  // ---- functions and the module (import_module.cpp)

  std::string function_name(const Function& f);
  std::string function_text(const Function& f);
  /// Where an extent of an input has a name, the extents that the module's configuration may give.
  std::string checked_extents(const ValueInfo& input);
  std::string annotation(const ValueInfo& input);
  std::string build_text();
  void initialiser_lines(Names& names, const TensorData& t);

  const Model& model_;
  const ImportOptions& options_;
  const int64_t opset_;
  int64_t function_opset_ = 0;
  Imported out_;
  std::vector<std::string> refused_;
  std::set<std::string> host_, keys_;
  std::set<std::string> bfloat16_;         ///< values of the model
  std::map<const Node*, size_t> rounded_;  ///< nodes, and how many of their results are rounded to bfloat16
  std::set<const Function*> used_;
  std::map<const Function*, std::string> function_names_;
  std::map<std::string, std::string> axes_;
  std::vector<std::string> axis_names_;
  UniqueNames taken_;
  std::string lines_;
  int depth_ = 0;
};

}  // namespace pxl::onnx
