// Builds ops from C++: for gradients, composites and the interpreter. An Expr is a tensor of a graph or a host array;
// an op on it is added to the graph, or computed eagerly.
#pragma once

#include <initializer_list>
#include <variant>

#include "runtime/graph/ir.hpp"

namespace pxl {

class OpBuilder;
class EagerRecorder;

/// A tensor or a host array, with the builder that creates ops from it. Its special members are not inline, since
/// gradients and composites make many temporaries.
class Expr {
 public:
  Expr();
  Expr(const Expr&);
  Expr(Expr&&) noexcept;
  Expr& operator=(const Expr&);
  Expr& operator=(Expr&&) noexcept;
  ~Expr();
  Expr(OpBuilder& at, Tensor* tensor) : at_(&at), value_(tensor) {}
  Expr(OpBuilder& at, Array array) : at_(&at), value_(std::move(array)) {}

  explicit operator bool() const { return at_ != nullptr; }
  OpBuilder& builder() const { return *at_; }
  bool is_tensor() const { return std::holds_alternative<Tensor*>(value_); }
  Tensor* tensor() const { return std::get<Tensor*>(value_); }
  const Array& array() const { return std::get<Array>(value_); }
  const TensorSpec& spec() const;
  const Shape& shape() const { return spec().shape; }
  DType dtype() const { return spec().dtype; }
  int64_t rank() const { return static_cast<int64_t>(spec().shape.size()); }
  /// The tensor's name, or "array".
  std::string label() const;

 private:
  OpBuilder* at_ = nullptr;
  std::variant<Tensor*, Array> value_ = nullptr;
};

/// The arguments of an op, one per parameter: an operand, a list of operands (variadic), or an attribute. monostate
/// means the default, or none.
using OpArg = std::variant<std::monostate, Expr, std::vector<Expr>, Attr>;
struct OpArgs {
  std::vector<OpArg> values;  ///< parallel to the row's parameters

  const Expr& expr(size_t param) const { return std::get<Expr>(values[param]); }
  bool has_expr(size_t param) const { return std::holds_alternative<Expr>(values[param]); }
  const Attr* attr(size_t param) const { return std::get_if<Attr>(&values[param]); }
  bool is_none(size_t param) const {
    const Attr* a = attr(param);
    return std::holds_alternative<std::monostate>(values[param]) || (a && std::holds_alternative<std::monostate>(*a));
  }
};

class OpBuilder {
 public:
  virtual ~OpBuilder() = default;

  /// Fills in defaults, converts arrays to constants (rules of ParamKind), expands composites, and creates the op.
  /// Returns its outputs. Throws Error for missing operands and for operands that inference rejects.
  std::vector<Expr> emit(const OpRow& row, OpArgs args);
  /// Emits the op with this name: operands in order, attributes by name.
  std::vector<Expr> emit(std::string_view op, std::vector<OpArg> operands,
                         std::initializer_list<std::pair<std::string_view, Attr>> attrs = {});
  /// The same for an op with one output.
  Expr one(std::string_view op, std::vector<OpArg> operands,
           std::initializer_list<std::pair<std::string_view, Attr>> attrs = {});

  /// A constant of the graph, or the array itself.
  virtual Expr constant(Array value, std::string_view name = "t") = 0;
  Expr scalar(double value, DType dtype);
  /// How many replicas run the graph: collectives divide these into groups.
  virtual int64_t replicas() const { return 1; }
  /// Whether ops are computed eagerly; arrays then promote like host numbers, tensors never do.
  virtual bool eager() const { return false; }
  /// Called where elements of an array determine more than elements of results: an attribute, or whether an operand is
  /// accepted.
  virtual void note_elements_read() {}

 protected:
  /// Operands by slot (an empty Expr if absent), all resolved.
  virtual std::vector<Expr> make(const OpRow& row, std::vector<Expr> operands, Attributes attrs) = 0;
};

/// Adds ops to a graph.
class GraphOpBuilder : public OpBuilder {
 public:
  explicit GraphOpBuilder(Graph& graph) : graph_(graph) {}
  Graph& graph() const { return graph_; }
  Expr of(Tensor* tensor) { return Expr(*this, tensor); }
  int64_t replicas() const override { return graph_.ir().replication_factor; }
  Expr constant(Array value, std::string_view name = "t") override;

 protected:
  std::vector<Expr> make(const OpRow& row, std::vector<Expr> operands, Attributes attrs) override;

 private:
  Graph& graph_;
};

/// Computes eagerly, by the same rows and kernels. In-place ops work on a copy of their first operand.
class EagerOpBuilder : public OpBuilder {
 public:
  /// A recorder, if there is one, is told of all ops that are computed.
  explicit EagerOpBuilder(EagerRecorder* recorder = nullptr) : recorder_(recorder) {}
  bool eager() const override { return true; }
  void note_elements_read() override;
  Expr constant(Array value, std::string_view name = "t") override;

 protected:
  std::vector<Expr> make(const OpRow& row, std::vector<Expr> operands, Attributes attrs) override;

 private:
  /// Compares ints if one operand is signed, and no dtype has the numbers of both.
  std::vector<Expr> compare_signs(const OpRow& row, const std::vector<Expr>& operands, int with_sign);

  EagerRecorder* recorder_;
};

// Operators for gradients and composites. Numbers take the expression's dtype.
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator+(const Expr& a, double b);
Expr operator-(const Expr& a, double b);
Expr operator*(const Expr& a, double b);
Expr operator/(const Expr& a, double b);
Expr operator-(double a, const Expr& b);
Expr operator/(double a, const Expr& b);
Expr operator-(const Expr& a);
Expr reshape(const Expr& a, const Shape& shape);  ///< returns `a` if the shape is equal
Expr transpose(const Expr& a, const std::vector<int64_t>& permutation);
Expr cast(const Expr& a, DType dtype);  ///< returns `a` if the dtype is equal
Expr sum(const Expr& a, const std::vector<int64_t>& axes, bool keepdims);
/// Sums over broadcast axes to `shape` (the gradient of broadcasting); returns `a` if the shapes are equal.
Expr sum_to(const Expr& a, const Shape& shape);
/// Broadcasts to `shape`.
Expr broadcast_to(const Expr& a, const Shape& shape);

/// Context of a row's gradient: the forward op, its tensors within the gradient graph, and the gradients of its
/// outputs. Each access to a tensor makes it an input of the gradient graph, so access only tensors that are used.
class GradContext {
 public:
  virtual ~GradContext() = default;
  virtual const Op& op() const = 0;
  virtual OpBuilder& builder() = 0;
  /// The forward tensor of an input slot or an output. Constants are copied instead of passed.
  virtual Expr in(size_t slot) = 0;
  virtual Expr out(size_t index = 0) = 0;
  /// Gradient of an output; an empty Expr if nothing depends on that output (never for output 0 alone).
  virtual Expr dy(size_t index = 0) = 0;
  /// Whether the gradient of this input is needed.
  virtual bool wants(size_t slot) const = 0;
  /// Sets the gradient of an input, of the input's shape. A wanted slot that is not set has none.
  virtual void set(size_t slot, Expr gradient) = 0;
  /// Differentiates an op that calls graphs: calls the callee's gradient graph;
  virtual void differentiate_call() = 0;

  const TensorSpec& in_spec(size_t slot) const { return op().inputs[slot]->spec; }
  const TensorSpec& out_spec(size_t index = 0) const { return op().outputs[index]->spec; }
  /// Attributes of the forward op.
  OpContext site() const { return OpContext{*op().row, {}, op().attrs}; }
};

}  // namespace pxl
