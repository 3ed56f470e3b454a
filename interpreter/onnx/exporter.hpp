// What the forms of ops are made of: nodes added to a model, and the names of values in it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "interpreter/onnx/export.hpp"
#include "runtime/transform/scan.hpp"

namespace pxl::onnx {

using Texts = std::vector<std::string>;
using Ints = std::vector<int64_t>;

Attribute attribute(const std::string& name, int64_t v);
Attribute attribute(const std::string& name, double v);
Attribute attribute(const std::string& name, const Ints& v);
Attribute attribute(const std::string& name, const std::string& v);
Attribute attribute(const std::string& name, Graph graph);

/// Thrown by the form of an op where its attributes have none.
struct NoForm {
  std::string why;
};

class Exporter {
 public:
  Exporter(const ExportOptions& options, std::vector<Array>& kept) : options_(options), kept_(kept) {}

  /// Names of the tensors of one graph.
  using Frame = std::map<const Tensor*, std::string>;

  Model run(const pxl::Graph& graph);

  // ---- what the forms of ops are made of

  /// Adds a node; the names of its outputs are like the wanted ones.
  Texts several(const std::string& op, Texts inputs, std::vector<Attribute> attributes, const Texts& wanted);
  /// The same; the name of its first output.
  std::string add(const std::string& op, Texts inputs, std::vector<Attribute> attributes = {}, size_t outputs = 1,
                  const std::string& wanted = "t");
  /// Names of initialisers: a list of ints, a number, an array.
  std::string ints(const Ints& values);
  std::string scalar(double value, DType dtype);
  std::string initialiser(const std::string& wanted, const Array& value);

 private:
  std::string unique(const std::string& wanted);
  ValueInfo value_info(const std::string& name, const TensorSpec& spec) const;
  std::string input(const std::string& wanted, const TensorSpec& spec);
  void output(const std::string& wanted, const TensorSpec& spec, const std::string& value);
  std::string name_of(const Tensor* t, Frame& frame);
  void refuse(const Op& op, const std::string& why);

  void add_ops(const pxl::Graph& graph, Frame& frame);
  void add_op(const Op& op, Frame& frame);
  void add_computation(const Op& op, Frame& frame);

  // ---- ops that change tensors in place (export_changes.cpp). In a model nothing changes: later readers of the memory
  // read the new value.

  /// Notes which tensors of a graph share memory that an op changes.
  void find_changes(const pxl::Graph& graph);
  /// The tensor whose name in a frame is that of the memory's present value.
  const Tensor* memory_of(const Tensor* t) const;
  /// Throws NoForm where a model cannot have a change of this tensor.
  void check_change(const Tensor* t) const;
  /// The memory of `t` has this value from now on.
  void change(const Tensor* t, const std::string& value, Frame& frame);

  // ---- ops with graphs of their own (export_control.cpp)

  void add_call(const Op& op, Frame& frame);
  void add_scan(const Op& op, const ScanForm& form, Frame& frame);
  void add_loop(const Op& op, Frame& frame);
  void add_branch(const Op& op, Frame& frame);
  /// Adds an input of the graph that nodes are added to.
  std::string parameter(const std::string& wanted, const TensorSpec& spec);
  /// The graph that `fill` adds nodes to.
  Graph body(const std::function<void()>& fill, const std::string& name);
  /// Adds an output of the graph that nodes are added to.
  void result(const std::string& value, const TensorSpec& spec);
  /// Gives the op's outputs the names that a node has made.
  void take_outputs(const Op& op, const std::string& node, Texts inputs, std::vector<Attribute> attributes,
                    Frame& frame);

  // ---- the finished model

  /// What no output needs: initial memory of loads, statistics of normalisations.
  void prune();
  /// The schedule has its own order; ops of streams are numbered as the program made them.
  void in_order_of_declaration(std::vector<ValueInfo>& values);
  /// A value that is an output has the output's name, without a node between them.
  void name_outputs();
  void rename(Graph& graph, const std::string& from, const std::string& to);

  const ExportOptions& options_;
  std::vector<Array>& kept_;
  Model model_;
  Graph* out_ = nullptr;  ///< the graph that nodes are added to
  const pxl::Graph* exported_ = nullptr;
  std::map<const Tensor*, const Tensor*> memory_;  ///< of tensors whose memory is changed: the one that owns it
  std::set<const Tensor*> viewed_;                 ///< owners of memory that is changed and that views share
  std::map<const Tensor*, std::string> fixed_;
  std::set<std::string> taken_;
  std::set<const Stream*> streams_;
  std::map<std::string, int> declared_;  ///< inputs and outputs that are streams, by the op that moves them
  std::vector<std::string> refused_;
};

/// An op with the names of its operands.
struct ExportSite {
  Exporter& e;
  const Op& op;
  const OpContext& c;
  const Texts& in;

  DType dtype(size_t slot = 0) const { return c.input(slot).dtype; }
  const Shape& shape(size_t slot = 0) const { return c.input(slot).shape; }
  const Shape& out_shape(size_t i = 0) const { return op.outputs[i]->spec.shape; }
  std::string constant(double v) const { return e.scalar(v, dtype()); }
  std::string element(std::string_view param) const { return e.initialiser("constant", c.element(param, dtype())); }
  /// The axes of a parameter, counted from the first; all of them where it is none.
  Ints axes(std::string_view param = "axis") const;
  int64_t axis(std::string_view param = "axis", int64_t extra = 0) const;
};

/// Nodes for one op; returns the names of the outputs that have a form: an op with more leaves the others nameless.
using ExportForm = Texts (*)(const ExportSite&);
struct ExportRow {
  std::string_view op;
  ExportForm form;
};
inline Texts one(std::string name) { return {std::move(name)}; }
/// The form of an op: a row of arithmetic (export_arithmetic.cpp), or of what moves elements and sees them through
/// windows (export_layout.cpp). Null where an op has none of its own.
ExportForm export_form(std::string_view op);
/// A value as indices of pxl: ONNX has indices of 64 bits.
Texts as_int32(const ExportSite& s, const std::string& value);
std::span<const ExportRow> arithmetic_forms();
std::span<const ExportRow> layout_forms();
std::span<const ExportRow> index_forms();
std::span<const ExportRow> window_forms();
/// Why an op has no form; null where there is one, or where nothing is known.
const char* reason_without_form(const OpRow& row);
/// The row whose form an op has: that of `add` for `add_`.
const OpRow& pure_row(const OpRow& row);
/// Whether the row's ONNX op takes the same operands and nothing else.
bool has_plain_form(const OpRow& row);

}  // namespace pxl::onnx
