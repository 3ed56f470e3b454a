// Small programs for the tests of plans and sessions.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "runtime/execute/session.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

inline Array floats(Shape shape, std::initializer_list<float> values) {
  return Array::from<float>(std::move(shape), std::span<const float>(values.begin(), values.size()));
}
inline Array ints(Shape shape, std::initializer_list<int32_t> values) {
  return Array::from<int32_t>(std::move(shape), std::span<const int32_t>(values.begin(), values.size()));
}
inline float first(const Array& a) { return a.data<float>()[0]; }

/// 0, 1, 2, ... in float32.
inline Array counting(const Shape& shape, float from = 0) {
  Array a(DType::float32, shape);
  float* to = a.mutable_data<float>();
  for (int64_t i = 0; i < a.size(); ++i) to[i] = from + static_cast<float>(i);
  return a;
}

/// Ops by name, in a graph.
struct Ops {
  explicit Ops(Graph& g) : graph(g), builder(g) {}
  Tensor* operator()(const char* op, std::vector<Tensor*> in,
                     std::initializer_list<std::pair<std::string_view, Attr>> attrs = {}) {
    std::vector<OpArg> operands;
    for (Tensor* t : in) operands.emplace_back(builder.of(t));
    return builder.one(op, std::move(operands), attrs).tensor();
  }
  Tensor* constant(Array value, const char* name = "c") { return graph.add_constant(std::move(value), name); }
  Graph& graph;
  GraphOpBuilder builder;
};

inline const OpRow& row_of(Role role) {
  for (const OpRow* row : op_table())
    if (row->role == role) return *row;
  FAIL("no op of that role");
  return get_op("");
}

inline Op* add_repeat(Graph& at, Graph& body, int64_t n, std::vector<Tensor*> inputs) {
  const OpRow& row = row_of(Role::loop);
  Attributes attrs(row.params.size());
  for (size_t i = 0; i < attrs.size(); ++i)
    if (row.params[i].kind == ParamKind::integer) attrs[i] = n;
  return at.add_control(row, {&body}, std::move(inputs), std::move(attrs));
}
inline Op* add_conditional(Graph& at, Graph& yes, Graph& no, std::vector<Tensor*> inputs) {
  const OpRow& row = row_of(Role::branch);
  return at.add_control(row, {&yes, &no}, std::move(inputs), Attributes(row.params.size()));
}

inline Stream& store(Ir& ir, Tensor* t, const char* name = "out") {
  Stream& stream = ir.add_stream(t->spec, name, false);
  t->graph->add_host_store(stream, t);
  return stream;
}

/// The message and notes of what `f` throws.
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    std::string text = e.what();
    for (const std::string& note : e.first().notes) text += "\n" + note;
    return text;
  }
  return "nothing was thrown";
}
inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

#define CHECK_CONTAINS(text, part) CHECK_MESSAGE(::pxl::contains(text, part), text)

}  // namespace pxl
