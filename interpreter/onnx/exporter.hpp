// The tools that build the ONNX forms of ops: they add nodes to a model and name its values.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "interpreter/onnx/export.hpp"
#include "runtime/transform/loops/scan.hpp"

namespace pxl::onnx {

using Texts = std::vector<std::string>;
using Ints = std::vector<int64_t>;

Attribute attribute(const std::string& name, int64_t v);
Attribute attribute(const std::string& name, double v);
Attribute attribute(const std::string& name, const Ints& v);
Attribute attribute(const std::string& name, const std::string& v);
Attribute attribute(const std::string& name, Graph graph);

/// An op's form throws it if ONNX cannot express the op's attributes.
struct NoForm {
  std::string why;
};

class Exporter {
 public:
  Exporter(const ExportOptions& options, std::vector<Array>& kept) : options_(options), kept_(kept) {}

  /// The names of one graph's tensors.
  using Frame = std::map<const Tensor*, std::string>;

  Model run(const pxl::Graph& graph);

  // ---- the tools of the forms of ops

  /// Adds a node. Its outputs get the wanted names, or similar ones.
  Texts several(const std::string& op, Texts inputs, std::vector<Attribute> attributes, const Texts& wanted);
  /// Adds a node and returns the name of its first output.
  std::string add(const std::string& op, Texts inputs, std::vector<Attribute> attributes = {}, size_t outputs = 1,
                  const std::string& wanted = "t");
  /// Adds a conversion.
  std::string cast(const std::string& value, DType to);
  /// Add an initialiser (a list of ints, a number, an array) and return its name.
  std::string ints(const Ints& values);
  std::string scalar(double value, DType dtype);
  std::string initialiser(const std::string& wanted, const Array& value);

 private:
  /// Reserves the names of the model's inputs and outputs: other values give way.
  void reserve_names(const pxl::Graph& graph);
  /// The reserved name, for its first owner; else as `unique`.
  std::string owned(const std::string& wanted);
  std::string unique(const std::string& wanted);
  ValueInfo value_info(const std::string& name, const TensorSpec& spec) const;
  std::string input(const std::string& wanted, const TensorSpec& spec);
  void output(const std::string& wanted, const TensorSpec& spec, const std::string& value);
  std::string name_of(const Tensor* t, Frame& frame);
  void refuse(const Op& op, const std::string& why);

  void add_ops(const pxl::Graph& graph, Frame& frame);
  void add_op(const Op& op, Frame& frame);
  void add_computation(const Op& op, Frame& frame);

  // ---- ops that change tensors in place (export_changes.cpp). A model changes nothing: later readers of the memory
  // read the new value.

  /// Notes which tensors of a graph share memory that an op changes.
  void find_changes(const pxl::Graph& graph);
  /// The tensor whose name in a frame is that of the memory's present value.
  const Tensor* memory_of(const Tensor* t) const;
  /// Throws NoForm if a model cannot change this tensor.
  void check_change(const Tensor* t) const;
  /// From now on, the memory of `t` has this value.
  void change(const Tensor* t, const std::string& value, Frame& frame);

  // ---- ops that contain graphs (export_control.cpp)

  void add_call(const Op& op, Frame& frame);
  void add_scan(const Op& op, const ScanForm& form, Frame& frame);
  void add_loop(const Op& op, Frame& frame);
  void add_branch(const Op& op, Frame& frame);
  /// Adds an input of the graph that nodes are added to.
  std::string parameter(const std::string& wanted, const TensorSpec& spec);
  /// Returns the graph to which `fill` has added nodes.
  Graph body(const std::function<void()>& fill, const std::string& name);
  /// Adds an output of the graph that nodes are added to.
  void result(const std::string& value, const TensorSpec& spec);
  /// Gives the op's outputs the names that a node has made.
  void take_outputs(const Op& op, const std::string& node, Texts inputs, std::vector<Attribute> attributes,
                    Frame& frame);

  // ---- the finished model

  /// Removes what no output needs: initial memory of loads, statistics of normalisations.
  void prune();
  /// Sorts values of streams as the program declared them, since the schedule has another order.
  void in_order_of_declaration(std::vector<ValueInfo>& values);
  /// Gives each value that is an output the output's name, without a node between them.
  void name_outputs();
  void rename(Graph& graph, const std::string& from, const std::string& to);

  const ExportOptions& options_;
  std::vector<Array>& kept_;
  Model model_;
  Graph* out_ = nullptr;  ///< the graph that nodes are added to
  const pxl::Graph* exported_ = nullptr;
  std::map<const Tensor*, const Tensor*> memory_;  ///< owner of the memory, for each tensor whose memory is changed
  std::set<const Tensor*> viewed_;                 ///< owners of memory that is changed and that views share
  std::map<const Tensor*, std::string> fixed_;
  std::set<std::string> taken_, reserved_;
  StreamSet streams_;
  std::map<std::string, int> declared_;  ///< for inputs and outputs that are streams: number of the stream's op
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
  /// The axes that a parameter names, counted from the first; all axes if the parameter is none.
  Ints axes(std::string_view param = "axis") const;
  int64_t axis(std::string_view param = "axis", int64_t extra = 0) const;
};

/// Adds the nodes for one op, and returns the names of its outputs. Outputs without a form come last and have no name.
using ExportForm = Texts (*)(const ExportSite&);
/// Dtypes that opset 17 or ONNX Runtime leaves out of an op, and the one in which the op computes them. It has all
/// their values, but for uint64, whose negation has the same bits. Sums and products wrap when the result is cast back.
struct Carrier {
  std::initializer_list<DType> left_out;
  DType carrier;
};
inline const Carrier shorts_as_int32[] = {{{DType::int8, DType::uint8, DType::int16, DType::uint16}, DType::int32}};
inline const Carrier bool_as_uint8[] = {{{DType::boolean}, DType::uint8}};

struct ExportRow {
  std::string_view op;
  ExportForm form;
  std::span<const Carrier> carriers = {};
};
inline Texts one(std::string name) { return {std::move(name)}; }
/// The op's row: of arithmetic (export_arithmetic.cpp), or of movement and windows (export_layout.cpp). Null if the op
/// has no special form.
const ExportRow* export_row(std::string_view op);
/// The op's own ONNX op with the same operands.
Texts plain(const ExportSite& s);
/// Converts an index to pxl's int32, since ONNX has indices of 64 bits.
Texts as_int32(const ExportSite& s, const std::string& value);
std::span<const ExportRow> arithmetic_forms();
std::span<const ExportRow> layout_forms();
std::span<const ExportRow> index_forms();
std::span<const ExportRow> window_forms();
/// Why an op has no form; null if it has one, or if no reason is known.
const char* reason_without_form(const OpRow& row);
/// The row whose form the op uses: `add` for `add_`.
const OpRow& pure_row(const OpRow& row);
/// Whether the row's ONNX op takes the same operands and nothing else.
bool has_plain_form(const OpRow& row);

}  // namespace pxl::onnx
