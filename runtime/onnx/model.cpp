// Reading and writing models, and their tensors as arrays.
#include "runtime/onnx/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl::onnx {

namespace {

namespace fs = std::filesystem;

struct TypeRow {
  ElementType type;
  std::string_view name;
  std::optional<DType> dtype;
};
constexpr TypeRow type_rows[] = {
    {ElementType::undefined, "undefined", {}},
    {ElementType::float32, "float32", DType::float32},
    {ElementType::uint8, "uint8", DType::uint8},
    {ElementType::int8, "int8", DType::int8},
    {ElementType::uint16, "uint16", DType::uint16},
    {ElementType::int16, "int16", DType::int16},
    {ElementType::int32, "int32", DType::int32},
    {ElementType::int64, "int64", DType::int64},
    {ElementType::string, "string", {}},
    {ElementType::boolean, "bool", DType::boolean},
    {ElementType::float16, "float16", DType::float16},
    {ElementType::float64, "float64", DType::float64},
    {ElementType::uint32, "uint32", DType::uint32},
    {ElementType::uint64, "uint64", DType::uint64},
    {ElementType::complex64, "complex64", {}},
    {ElementType::complex128, "complex128", {}},
    {ElementType::bfloat16, "bfloat16", DType::bfloat16},
    {ElementType::float8_e4m3fn, "float8_e4m3fn", DType::float8_e4m3fn},
    {ElementType::float8_e4m3fnuz, "float8_e4m3fnuz", DType::float8_143},
    {ElementType::float8_e5m2, "float8_e5m2", DType::float8_e5m2},
    {ElementType::float8_e5m2fnuz, "float8_e5m2fnuz", DType::float8_152},
    {ElementType::uint4, "uint4", DType::uint8},
    {ElementType::int4, "int4", DType::int8},
};

Error unreadable(const std::string& path, const std::string& why) {
  return Error(fmt::format("cannot read the model {}: {}", path, why), {}, Fault::unreadable);
}

constexpr int64_t max_bytes = int64_t{1} << 40;

std::string read_bytes(const std::string& path) {
  std::string why;
  std::error_code failed;
  if (!fs::exists(path, failed)) throw unreadable(path, "there is no such file");
  std::optional<std::string> bytes = read_file(path, max_bytes, why);
  if (!bytes) throw unreadable(path, why);
  return *std::move(bytes);
}

Shape shape_of(const TensorData& t) {
  for (int64_t d : t.dims)
    if (d < 0) throw Error(fmt::format("the tensor `{}` has the extent {}", t.name, d)).as(codes::shape);
  constexpr size_t max_axes = 32;
  if (t.dims.size() > max_axes)
    throw Error(fmt::format("the tensor `{}` has {} axes, more than {}", t.name, t.dims.size(), max_axes))
        .as(codes::shape);
  return Shape(t.dims.begin(), t.dims.end());
}

template <class From>
Array convert(const TensorData& t, const std::vector<From>& values, DType dtype, const Shape& shape) {
  if (static_cast<int64_t>(values.size()) != element_count(shape))
    throw Error(fmt::format("the tensor `{}` has {} elements where its shape says {}", t.name, values.size(),
                            element_count(shape)))
        .as(codes::shape);
  Array to(dtype, shape);
  // Floats of 8 and 16 bits are stored as their bits in int32s.
  with_type(is_float8(dtype) ? DType::uint8 : dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = reinterpret_cast<T*>(to.mutable_raw());
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (is_narrow_v<T>)
        out[i].bits = static_cast<uint16_t>(values[i]);
      else
        out[i] = static_cast<T>(values[i]);
    }
  });
  return to;
}

/// Elements of 4 bits as 8: the first of a byte is in its low half. Without `raw` each int32 holds a byte.
Array from_packed(const TensorData& t, std::string_view raw, DType dtype, const Shape& shape) {
  Array to(dtype, shape);
  auto* out = reinterpret_cast<uint8_t*>(to.mutable_raw());
  const unsigned sign = t.element() == ElementType::int4 ? 8 : 0;
  for (size_t i = 0; i < static_cast<size_t>(to.size()); ++i) {
    const auto byte = static_cast<uint8_t>(raw.empty() ? t.int32s[i / 2] : raw[i / 2]);
    out[i] = static_cast<uint8_t>(((byte >> i % 2 * 4 & 15) ^ sign) - sign);
  }
  return to;
}

/// The file that a model names, if it is in the model's folder, also after each symbolic link. A model must not read
/// files outside its folder.
std::optional<std::string> path_beside(const std::string& folder, const std::string& location) {
  const fs::path relative(location);
  if (location.empty() || relative.is_absolute() ||
      std::any_of(relative.begin(), relative.end(), [](const fs::path& part) { return part == ".."; }))
    return {};
  std::error_code failed;
  const fs::path home = fs::weakly_canonical(folder.empty() ? fs::path(".") : fs::path(folder), failed);
  if (failed) return {};
  const fs::path target = fs::weakly_canonical(home / relative, failed);
  if (failed || std::mismatch(home.begin(), home.end(), target.begin(), target.end()).first != home.end()) return {};
  return target.string();
}

// The part of a file that `external` names.
std::string external_bytes(const TensorData& t, const std::string& folder, int64_t needed) {
  std::string location;
  int64_t offset = 0, length = -1;
  for (const StringPair& p : t.external) {
    if (p.key == "location") location = p.value;
    int64_t* number = p.key == "offset" ? &offset : p.key == "length" ? &length : nullptr;
    if (!number) continue;
    const char* end = p.value.data() + p.value.size();
    if (std::from_chars(p.value.data(), end, *number).ptr != end || *number < 0)
      throw Error(fmt::format("the tensor `{}`: the {} of its external data is `{}`", t.name, p.key, p.value));
  }
  require_effect(Effect::reads_files);
  const std::optional<std::string> path = path_beside(folder, location);
  if (!path)
    throw Error(fmt::format("the tensor `{}`: its external data are in `{}`, which is not a file beside the model",
                            t.name, location),
                {"symbolic links may not leave the folder of the model"});
  std::string why;
  std::optional<InputFile> file = InputFile::open(*path, why);
  if (!file)
    throw Error(fmt::format("the tensor `{}`: cannot read its external data {}: {}", t.name, *path, why), {},
                Fault::unreadable);
  if (length >= 0 && length != needed)
    throw Error(fmt::format("the tensor `{}`: its external data have {} bytes where its shape says {}", t.name, length,
                            needed));
  if (offset > file->size() || needed > file->size() - offset)
    throw Error(fmt::format("the tensor `{}`: its external data end beyond {}", t.name, *path), {}, Fault::unreadable);
  std::string skipped(static_cast<size_t>(std::min<int64_t>(offset, 1 << 20)), '\0');
  for (int64_t left = offset; left > 0;) {
    const int64_t got = file->read(skipped.data(), std::min<int64_t>(left, static_cast<int64_t>(skipped.size())));
    if (got <= 0) break;
    left -= got;
  }
  std::string bytes(static_cast<size_t>(needed), '\0');
  if (file->read(bytes.data(), needed) != needed)
    throw Error(fmt::format("the tensor `{}`: its external data cannot be read to their end", t.name), {},
                Fault::unreadable);
  return bytes;
}

void make_bools(Array& array) {
  std::byte* bytes = array.mutable_raw();
  for (int64_t i = 0; i < array.bytes(); ++i) bytes[i] = bytes[i] == std::byte{0} ? std::byte{0} : std::byte{1};
}

}  // namespace

std::string name(ElementType type) {
  for (const TypeRow& r : type_rows)
    if (r.type == type) return std::string(r.name);
  return fmt::format("type {}", static_cast<int32_t>(type));
}

std::optional<DType> dtype_of(ElementType type) {
  for (const TypeRow& r : type_rows)
    if (r.type == type) return r.dtype;
  return {};
}

ElementType element_type(DType dtype) {
  for (const TypeRow& r : type_rows)
    if (r.dtype == dtype && !is_float8(dtype)) return r.type;
  throw Error(fmt::format("opset 17 of ONNX has no {}", pxl::name(dtype)), {"cast the tensor to float16 before"})
      .as(codes::dtype);
}

const Attribute* Node::attribute(std::string_view wanted) const {
  for (const Attribute& a : attributes)
    if (a.name == wanted) return &a;
  return nullptr;
}

std::string Node::label() const {
  const std::string own = !name.empty() ? name : outputs.empty() ? "" : outputs.front();
  return own.empty() ? fmt::format("a node {}", op) : fmt::format("node `{}` ({})", own, op);
}

int64_t Model::opset() const {
  for (const OperatorSet& o : opsets)
    if (o.domain.empty()) return o.version;
  return 1;
}

template <class T>
T parse_part(std::string_view bytes, const std::string& path) {
  T message;
  try {
    ReadLimits limits;
    read_message(message, bytes, limits);
  } catch (const Damaged& damaged) {
    throw unreadable(path, damaged.what);
  }
  return message;
}
template TensorData parse_part(std::string_view, const std::string&);
template SequenceData parse_part(std::string_view, const std::string&);
template OptionalData parse_part(std::string_view, const std::string&);

namespace {

void name_in_one_way(std::string& domain) {
  if (domain == "ai.onnx") domain.clear();
}
void name_domains_in_one_way(std::vector<Node>& nodes) {
  for (Node& node : nodes) {
    name_in_one_way(node.domain);
    for (Attribute& a : node.attributes)
      if (a.graph) name_domains_in_one_way(a.graph->nodes);
  }
}

}  // namespace

Model parse_model(std::string text, const std::string& path) {
  auto bytes = std::make_shared<const std::string>(std::move(text));
  Model model = parse_part<Model>(*bytes, path);
  if (model.graph.nodes.empty() && model.graph.outputs.empty()) throw unreadable(path, "it has no graph");
  name_domains_in_one_way(model.graph.nodes);
  for (OperatorSet& o : model.opsets) name_in_one_way(o.domain);
  for (Function& f : model.functions) {
    name_in_one_way(f.domain);
    name_domains_in_one_way(f.nodes);
    for (OperatorSet& o : f.opsets) name_in_one_way(o.domain);
  }
  model.folder = fs::path(path).parent_path().string();
  model.bytes = std::move(bytes);
  return model;
}
template Model parse_part(std::string_view, const std::string&);

Model read_model(const std::string& path) {
  require_effect(Effect::reads_files);
  return parse_model(read_bytes(path), path);
}

std::string serialise(const Model& model) {
  WireWriter writer;
  write_message(model, writer);
  return std::move(writer.bytes);
}

Array to_array(const TensorData& t, const std::string& folder) {
  const std::optional<DType> dtype = dtype_of(t.element());
  if (!dtype)
    throw Error(fmt::format("the tensor `{}` has elements of {}", t.name, name(t.element()))).as(codes::dtype);
  const Shape shape = shape_of(t);
  if (t.omitted) return Array::unevaluated(*dtype, shape);
  const int64_t elements = element_count(shape);
  // Packed elements are counted, and checked, by their bytes.
  const int64_t count = is_packed(t.element()) ? elements / 2 + elements % 2 : elements;
  const size_t element_size = size_of(*dtype);
  std::string outside;
  std::string_view raw = t.raw;
  if (t.location == 1) {
    outside = external_bytes(t, folder, count * static_cast<int64_t>(element_size));
    raw = outside;
  }
  const bool numbers =
      raw.empty() && t.location != 1 &&
      !(t.floats.empty() && t.int32s.empty() && t.int64s.empty() && t.doubles.empty() && t.uint64s.empty());
  if (!numbers && static_cast<int64_t>(raw.size() / element_size) != count)
    throw Error(fmt::format("the tensor `{}` has {} bytes where its shape and type say {}", t.name, raw.size(),
                            count * static_cast<int64_t>(element_size)))
        .as(codes::shape);
  if (is_packed(t.element())) {
    if (numbers && std::ssize(t.int32s) != count)
      throw Error(
          fmt::format("the tensor `{}` has {} bytes where its shape and type say {}", t.name, t.int32s.size(), count))
          .as(codes::shape);
    return from_packed(t, raw, *dtype, shape);
  }
  if (!numbers) {
    Array array(*dtype, shape);
    if (count > 0) std::memcpy(array.mutable_raw(), raw.data(), static_cast<size_t>(array.bytes()));
    if (*dtype == DType::boolean) make_bools(array);
    return array;
  }
  switch (*dtype) {
    case DType::float32: return convert(t, t.floats, *dtype, shape);
    case DType::float64: return convert(t, t.doubles, *dtype, shape);
    case DType::int64: return convert(t, t.int64s, *dtype, shape);
    case DType::uint32:
    case DType::uint64: return convert(t, t.uint64s, *dtype, shape);
    default: return convert(t, t.int32s, *dtype, shape);
  }
}

Array to_array(const SparseTensor& tensor, const std::string& folder) {
  const Array values = to_array(tensor.values, folder), indices = to_array(tensor.indices, folder);
  TensorData dense;
  dense.dims = tensor.dims;
  dense.name = tensor.values.name;
  const Shape shape = shape_of(dense);
  Array array = Array::zeros(values.dtype(), shape);
  const bool linear = indices.rank() == 1;
  const auto rank = static_cast<int64_t>(shape.size());
  if (values.rank() != 1 || indices.dtype() != DType::int64 || (!linear && indices.rank() != 2) ||
      indices.shape()[0] != values.size() || (!linear && indices.shape()[1] != rank))
    throw Error(fmt::format("the sparse tensor `{}` has indices that do not fit its values", dense.name));
  const Shape strides = strides_of(shape);
  for (int64_t i = 0; i < values.size(); ++i) {
    int64_t at = linear ? indices.integer(i) : 0;
    bool inside = at >= 0 && at < array.size();
    for (int64_t axis = 0; !linear && axis < rank; ++axis) {
      const int64_t position = indices.integer(i * rank + axis);
      inside = inside && position >= 0 && position < shape[static_cast<size_t>(axis)];
      if (inside) at += position * strides[static_cast<size_t>(axis)];
    }
    if (!inside) throw Error(fmt::format("the sparse tensor `{}` has an index outside its shape", dense.name));
    const size_t size = size_of(values.dtype());
    std::memcpy(array.mutable_raw() + static_cast<size_t>(at) * size, values.raw() + static_cast<size_t>(i) * size,
                size);
  }
  return array;
}

TensorData from_array(const std::string& name, const Array& array) {
  TensorData t;
  t.dims.assign(array.shape().begin(), array.shape().end());
  t.type = static_cast<int32_t>(element_type(array.dtype()));
  t.name = name;
  t.raw = {reinterpret_cast<const char*>(array.raw()), static_cast<size_t>(array.bytes())};
  return t;
}

}  // namespace pxl::onnx
