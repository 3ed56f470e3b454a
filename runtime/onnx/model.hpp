// ONNX models in memory (https://github.com/onnx/onnx/blob/v1.12.0/onnx/onnx.proto). The fields that `fields` names are
// read and written; other fields of a message are passed over. Texts of tensors point into the bytes of their file.
#pragma once

#include <map>

#include "runtime/onnx/protobuf.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl::onnx {

/// TensorProto.DataType.
enum class ElementType : int32_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8_e4m3fn = 17,  // these four: since ONNX 1.14
  float8_e4m3fnuz = 18,
  float8_e5m2 = 19,
  float8_e5m2fnuz = 20,
  uint4 = 21,  // these two: since ONNX 1.16
  int4 = 22
};
/// "int64", "string"; "type 99" for one that there is not.
std::string name(ElementType type);
/// The dtype of the same elements, if pxl has it. Elements of 4 bits are read as 8.
std::optional<DType> dtype_of(ElementType type);
/// Whether two elements share a byte.
inline bool is_packed(ElementType type) { return type == ElementType::uint4 || type == ElementType::int4; }
/// Throws Error for float8, which opset 17 lacks.
ElementType element_type(DType dtype);

struct StringPair {
  std::string key, value;
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, StringPair>
void fields(Self& m, V& v) {
  v(1, m.key);
  v(2, m.value);
}

struct TensorData {
  std::vector<int64_t> dims;
  int32_t type = 0;
  std::vector<float> floats;
  std::vector<int32_t> int32s;
  std::vector<std::string> strings;
  std::vector<int64_t> int64s;
  std::string name;
  std::string_view raw;
  std::vector<double> doubles;
  std::vector<uint64_t> uint64s;
  std::vector<StringPair> external;
  int32_t location = 0;  ///< 1: the elements are in a file of their own, which `external` names
  bool omitted = false;  ///< the elements were not read; no field of the file

  ElementType element() const { return static_cast<ElementType>(type); }
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, TensorData>
void fields(Self& m, V& v) {
  v(1, m.dims);
  v(2, m.type);
  v(4, m.floats);
  v(5, m.int32s);
  v(6, m.strings);
  v(7, m.int64s);
  v(8, m.name);
  v(9, m.raw);
  v(10, m.doubles);
  v(11, m.uint64s);
  v(13, m.external);
  v(14, m.location);
}

struct SparseTensor {
  TensorData values, indices;
  std::vector<int64_t> dims;
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, SparseTensor>
void fields(Self& m, V& v) {
  if constexpr (!std::is_const_v<Self>) {  // read only
    v(1, m.values);
    v(2, m.indices);
  }
  v(3, m.dims);
}

/// An extent: a number, a name, or neither.
struct Dimension {
  std::vector<int64_t> value;  ///< one number, or none: 0 is an extent as well
  std::string parameter;
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, Dimension>
void fields(Self& m, V& v) {
  if constexpr (std::is_const_v<Self>) {
    v.always(1, m.value);
  } else {
    v(1, m.value);
  }
  v(2, m.parameter);
}

struct TensorShape {
  std::vector<Dimension> dims;
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, TensorShape>
void fields(Self& m, V& v) { v(1, m.dims); }

struct TensorType {
  int32_t element = 0;
  Part<TensorShape> shape;  ///< null: of any rank
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, TensorType>
void fields(Self& m, V& v) {
  v(1, m.element);
  v(2, m.shape);
}

struct Type;
/// A sequence or an optional: of what.
struct HolderType {
  Part<Type> element;
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, HolderType>
void fields(Self& m, V& v) { v(1, m.element); }

struct Type {
  Part<TensorType> tensor;
  Part<HolderType> sequence, optional;
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, Type>
void fields(Self& m, V& v) {
  v(1, m.tensor);
  v(4, m.sequence);
  v(9, m.optional);
}

struct ValueInfo {
  std::string name;
  Part<Type> type;
  std::string doc;
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, ValueInfo>
void fields(Self& m, V& v) {
  v(1, m.name);
  v(2, m.type);
  v(3, m.doc);
}

struct Graph;
/// AttributeProto.AttributeType.
enum class AttributeKind : int32_t {
  undefined = 0,
  floating = 1,
  integer = 2,
  string = 3,
  tensor = 4,
  graph = 5,
  floats = 6,
  integers = 7,
  strings = 8,
  tensors = 9,
  graphs = 10,
  sparse = 11
};
struct Attribute {
  std::string name;
  float f = 0;
  int64_t i = 0;
  std::string s;
  Part<TensorData> tensor;
  Part<Graph> graph;
  std::vector<float> floats;
  std::vector<int64_t> integers;
  std::vector<std::string> strings;
  Part<SparseTensor> sparse;
  std::string reference;  ///< in the body of a function: the attribute of the call to use here
  AttributeKind kind = AttributeKind::undefined;
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, Attribute>
void fields(Self& m, V& v) {
  v(1, m.name);
  // The field of the attribute's kind is always written, also a zero: some readers look for it.
  const auto field = [&](uint32_t number, auto& value, AttributeKind kind) {
    if constexpr (std::is_const_v<Self>)
      if (m.kind == kind) return v.always(number, value);
    v(number, value);
  };
  field(2, m.f, AttributeKind::floating);
  field(3, m.i, AttributeKind::integer);
  field(4, m.s, AttributeKind::string);
  v(5, m.tensor);
  v(6, m.graph);
  v(7, m.floats);
  v(8, m.integers);
  v(9, m.strings);
  v(20, m.kind);
  v(21, m.reference);
  v(22, m.sparse);
}

struct Node {
  std::vector<std::string> inputs, outputs;  ///< "" where an optional one is absent
  std::string name, op, doc;
  std::vector<Attribute> attributes;
  std::string domain;    ///< "" for the standard's, which files also call "ai.onnx"
  std::string overload;  ///< of the function that the node calls

  const Attribute* attribute(std::string_view wanted) const;
  /// "node `conv1` (Conv)"; without a name by its first output.
  std::string label() const;
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, Node>
void fields(Self& m, V& v) {
  v(1, m.inputs);
  v(2, m.outputs);
  v(3, m.name);
  v(4, m.op);
  v(5, m.attributes);
  v(6, m.doc);
  v(7, m.domain);
  v(8, m.overload);
}

struct Graph {
  std::vector<Node> nodes;
  std::string name;
  std::vector<TensorData> initialisers;
  std::string doc;
  std::vector<ValueInfo> inputs, outputs, values;
  std::vector<SparseTensor> sparse_initialisers;
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, Graph>
void fields(Self& m, V& v) {
  v(1, m.nodes);
  v(2, m.name);
  v(5, m.initialisers);
  v(10, m.doc);
  v(11, m.inputs);
  v(12, m.outputs);
  v(13, m.values);
  v(15, m.sparse_initialisers);
}

struct OperatorSet {
  std::string domain;
  int64_t version = 0;
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, OperatorSet>
void fields(Self& m, V& v) {
  v(1, m.domain);
  v(2, m.version);
}

/// An op that the model defines, as a graph of other ops.
struct Function {
  std::string name, domain;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<Attribute> defaults;  ///< attributes that a call may leave out
  std::vector<Node> nodes;
  std::vector<OperatorSet> opsets;
  std::string overload;  ///< tells functions of one name apart
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, Function>
void fields(Self& m, V& v) {
  v(1, m.name);
  v(4, m.inputs);
  v(5, m.outputs);
  v(6, m.attributes);
  v(7, m.nodes);
  v(9, m.opsets);
  v(10, m.domain);
  v(11, m.defaults);
  v(13, m.overload);
}

struct Model {
  int64_t ir_version = 0;
  std::string producer, producer_version, domain, doc;
  int64_t version = 0;
  Graph graph;
  std::vector<OperatorSet> opsets;
  std::vector<StringPair> metadata;
  std::vector<Function> functions;

  std::string folder;                        ///< of the file: what external data are relative to
  std::shared_ptr<const std::string> bytes;  ///< of the file

  /// The version of the standard's own ops.
  int64_t opset() const;
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, Model>
void fields(Self& m, V& v) {
  v(1, m.ir_version);
  v(2, m.producer);
  v(3, m.producer_version);
  v(4, m.domain);
  v(5, m.version);
  v(6, m.doc);
  v(7, m.graph);
  v(8, m.opsets);
  v(14, m.metadata);
  v(25, m.functions);
}

/// SequenceProto and OptionalProto, in files of test data.
struct SequenceData;
struct OptionalData {
  std::string name;
  int32_t type = 0;
  Part<TensorData> tensor;
  Part<SequenceData> sequence;
};
struct SequenceData {
  std::string name;
  int32_t type = 0;
  std::vector<TensorData> tensors;
  std::vector<SequenceData> sequences;
};
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, OptionalData>
void fields(Self& m, V& v) {
  v(1, m.name);
  v(2, m.type);
  v(3, m.tensor);
  v(5, m.sequence);
}
template <class Self, class V>
requires std::is_same_v<std::remove_const_t<Self>, SequenceData>
void fields(Self& m, V& v) {
  v(1, m.name);
  v(2, m.type);
  v(3, m.tensors);
  v(5, m.sequences);
}

/// Reads a model. Throws Error (Fault::unreadable) with the path and the defect.
Model read_model(const std::string& path);
/// The same for a look, which reads headers: long weights have no elements. At most 1 MiB of the file are read, or it
/// throws the Error of an unreadable file (model_header.cpp).
Model read_model_header(const std::string& path);
/// The same from bytes; `path` is for messages, and its folder has external data.
Model parse_model(std::string bytes, const std::string& path);
/// The bytes of a model; `raw` of its tensors is written unchanged.
std::string serialise(const Model& model);

/// A message that is a file by itself: `bytes` must outlive it. Throws Error like parse_model.
template <class T>
T parse_part(std::string_view bytes, const std::string& path);

/// The elements. `folder`: where external data are. Throws Error for types that pxl lacks and for data that do not fit
/// the shape.
Array to_array(const TensorData& tensor, const std::string& folder);
Array to_array(const SparseTensor& tensor, const std::string& folder);
/// Points into the array, which must outlive it.
TensorData from_array(const std::string& name, const Array& array);

}  // namespace pxl::onnx
