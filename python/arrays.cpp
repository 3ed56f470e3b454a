#include "arrays.hpp"

#include <cstring>

#include "dlpack.hpp"

namespace pxl_python {
namespace {

/// Whether elements are stored densely in row-major order. Strides are in elements; null means that they are.
bool is_dense(const pxl::Shape& shape, const int64_t* strides) {
  if (!strides) return true;
  int64_t dense = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 0) return true;
    if (shape[axis] != 1 && strides[axis] != dense) return false;
    dense *= shape[axis];
  }
  return true;
}

void copy_strided(const char*& to, const char* from, const pxl::Shape& shape, const int64_t* strides, size_t axis,
                  size_t bytes) {
  if (axis == shape.size()) {
    std::memcpy(const_cast<char*>(to), from, bytes);
    to += bytes;
    return;
  }
  for (int64_t i = 0; i < shape[axis]; ++i)
    copy_strided(to, from + i * strides[axis] * static_cast<int64_t>(bytes), shape, strides, axis + 1, bytes);
}

std::optional<pxl::DType> dtype_of_dlpack(const dlpack::DataType& type) {
  if (type.lanes != 1) return {};
  const auto sized = [&](pxl::DType one, pxl::DType two, pxl::DType four,
                         pxl::DType eight) -> std::optional<pxl::DType> {
    switch (type.bits) {
      case 8: return one;
      case 16: return two;
      case 32: return four;
      case 64: return eight;
      default: return {};
    }
  };
  using D = pxl::DType;
  // The codes of one width.
  if (type.bits == 8) switch (type.code) {
      case dlpack::boolean: return D::boolean;
      case dlpack::floating: return {};
      case dlpack::float8_e4m3fn: return D::float8_e4m3fn;
      case dlpack::float8_e4m3fnuz: return D::float8_143;
      case dlpack::float8_e5m2: return D::float8_e5m2;
      case dlpack::float8_e5m2fnuz: return D::float8_152;
      default: break;
    }
  switch (type.code) {
    case dlpack::signed_integer: return sized(D::int8, D::int16, D::int32, D::int64);
    case dlpack::unsigned_integer: return sized(D::uint8, D::uint16, D::uint32, D::uint64);
    case dlpack::floating: return sized({}, D::float16, D::float32, D::float64);
    case dlpack::bfloat: return type.bits == 16 ? std::optional(D::bfloat16) : std::nullopt;
    default: break;
  }
}

struct Imported {
  pxl::View view;
  const int64_t* strides;
  py::object owner;
};

/// The capsule of an object with __dlpack__. PyTorch 1 exports no bools: their bytes then, of which `bools` tells.
py::capsule exported(const py::object& object, bool& bools) {
  bools = false;
  try {
    return object.attr("__dlpack__")();
  } catch (const py::error_already_set&) {
    if (std::string(py::str(py::getattr(object, "dtype", py::none()))) != "torch.bool") throw;
  }
  bools = true;
  return object.attr("view")(py::module_::import("torch").attr("uint8")).attr("__dlpack__")();
}

/// The tensor of an object with __dlpack__, which the owner keeps.
Imported import_dlpack(py::object object, const std::string& what) {
  // A view whose elements PyTorch negates when it reads them exports them as they are stored.
  if (py::hasattr(object, "resolve_neg")) object = object.attr("resolve_neg")();
  // PyTorch exports no tensor that records gradients; the detached tensor has its elements.
  if (py::hasattr(object, "requires_grad") && py::hasattr(object, "detach") &&
      object.attr("requires_grad").cast<bool>())
    object = object.attr("detach")();
  bool bools = false;
  py::capsule capsule = exported(object, bools);
  auto* const managed = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!managed) throw py::error_already_set();
  // This function owns the tensor from here on.
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  py::capsule owner(managed, [](void* p) {
    auto* const tensor = static_cast<dlpack::ManagedTensor*>(p);
    if (tensor->deleter) tensor->deleter(tensor);
  });
  const dlpack::Tensor& t = managed->tensor;
  if (t.device.type != dlpack::cpu)
    throw py::type_error(what + ": the tensor is on another device; move it to the CPU first, with `.cpu()`");
  const std::optional<pxl::DType> dtype = bools ? pxl::DType::boolean : dtype_of_dlpack(t.type);
  if (!dtype) throw py::type_error(what + ": the elements are of a type that pxl does not have");
  return {pxl::View(*dtype, pxl::Shape(t.shape, t.shape + t.rank), static_cast<const char*>(t.data) + t.byte_offset),
          t.strides, std::move(owner)};
}

bool is_native(const py::dtype& dtype) { return dtype.byteorder() == '=' || dtype.byteorder() == '|'; }

/// An attribute of NumPy; it outlives Python.
py::object& numpy_attribute(const char* name) { return *new py::object(py::module_::import("numpy").attr(name)); }

/// A dense array of NumPy in the machine's byte order: this one, or a copy.
py::array dense(const py::array& given) {
  constexpr int aligned = 0x0100;  // NPY_ARRAY_ALIGNED
  constexpr int wanted = py::array::c_style | aligned;
  if ((given.flags() & wanted) == wanted && is_native(given.dtype())) return given;
  static const py::object& require = numpy_attribute("require");
  return require(given, given.dtype().attr("newbyteorder")("="), "CA");
}

/// Whether elements of an array, or of arrays in lists, are masked: pxl has no masks, and a masked element has no
/// value.
bool is_masked(const py::handle& object, int depth = 0) {
  constexpr int max_axes = 64;  // of NumPy, which refuses what is nested deeper
  static const py::object &plain = numpy_attribute("ndarray"), &ma = numpy_attribute("ma");
  static const py::object& masked_array = *new py::object(ma.attr("MaskedArray"));
  if (py::type::handle_of(object).is(plain)) return false;
  if (depth < max_axes && (py::isinstance<py::list>(object) || py::isinstance<py::tuple>(object))) {
    for (const py::handle item : py::reinterpret_borrow<py::sequence>(object))
      if (is_masked(item, depth + 1)) return true;
    return false;
  }
  return py::isinstance(object, masked_array) && ma.attr("is_masked")(object).cast<bool>();
}

std::string dtype_name(const py::dtype& dtype) { return py::str(py::object(dtype.attr("name"))); }

/// The dtypes that NumPy lacks: the names that ml_dtypes gives them.
struct AddedDType {
  pxl::DType dtype;
  const char* name;
};
constexpr AddedDType added_dtypes[] = {{pxl::DType::bfloat16, "bfloat16"},
                                       {pxl::DType::float8_143, "float8_e4m3fnuz"},
                                       {pxl::DType::float8_152, "float8_e5m2fnuz"},
                                       {pxl::DType::float8_e4m3fn, "float8_e4m3fn"},
                                       {pxl::DType::float8_e5m2, "float8_e5m2"}};

/// The type of ml_dtypes, if it is installed, else the bits.
py::dtype added_dtype(const AddedDType& added) {
  try {
    return py::dtype::from_args(py::module_::import("ml_dtypes").attr(added.name));
  } catch (const py::error_already_set&) {
    return py::dtype(pxl::size_of(added.dtype) == 1 ? "uint8" : "uint16");
  }
}

}  // namespace

std::optional<pxl::DType> dtype_from(const py::dtype& dtype) {
  const auto of_size = [&](pxl::DType one, pxl::DType two, pxl::DType four, pxl::DType eight) {
    const auto bytes = dtype.itemsize();
    return bytes == 1   ? std::optional(one)
           : bytes == 2 ? two
           : bytes == 4 ? four
           : bytes == 8 ? std::optional(eight)
                        : std::nullopt;
  };
  using D = pxl::DType;
  switch (dtype.kind()) {
    case 'b': return D::boolean;
    case 'i': return of_size(D::int8, D::int16, D::int32, D::int64);
    case 'u': return of_size(D::uint8, D::uint16, D::uint32, D::uint64);
    case 'f':
      // Other modules add floats of the same sizes.
      switch (dtype.char_()) {
        case 'e': return D::float16;
        case 'f': return D::float32;
        case 'd': return D::float64;
        default: break;
      }
      break;
    default: break;
  }
  // A type that another module adds.
  const std::string name = dtype_name(dtype);
  for (const AddedDType& added : added_dtypes)
    if (name == added.name) return added.dtype;
  return std::nullopt;
}

py::dtype dtype_of(pxl::DType dtype) {
  // Made once, since NumPy takes longer for a dtype by name than a small run takes; they outlive Python.
  static const std::vector<py::dtype>& all = *[] {
    auto* made = new std::vector<py::dtype>;
    for (int i = 0; i <= static_cast<int>(pxl::DType::float8_e5m2); ++i) {
      const auto d = static_cast<pxl::DType>(i);
      const auto* added = std::find_if(std::begin(added_dtypes), std::end(added_dtypes),
                                       [&](const AddedDType& a) { return a.dtype == d; });
      made->push_back(added != std::end(added_dtypes) ? added_dtype(*added) : py::dtype(std::string(pxl::name(d))));
    }
    return made;
  }();
  return all[static_cast<size_t>(dtype)];
}

bool is_array(const py::handle& object) {
  return py::isinstance<py::array>(object) || py::hasattr(object, "__dlpack__");
}

Elements elements_of(const py::handle& object, const std::string& what) {
  if (!py::isinstance<py::array>(object) && py::hasattr(object, "__dlpack__")) {
    Imported in = import_dlpack(py::reinterpret_borrow<py::object>(object), what);
    if (is_dense(in.view.shape, in.strides)) return {std::move(in.view), std::move(in.owner)};
    const size_t bytes = pxl::size_of(in.view.dtype);
    const std::vector<py::ssize_t> size = {static_cast<py::ssize_t>(pxl::count(in.view.shape)) *
                                           static_cast<py::ssize_t>(bytes)};
    py::array copy(py::dtype("uint8"), size);
    const char* to = static_cast<const char*>(copy.data());
    copy_strided(to, static_cast<const char*>(in.view.data), in.view.shape, in.strides, 0, bytes);
    return {pxl::View(in.view.dtype, in.view.shape, copy.data()), copy};
  }
  if (is_masked(object))
    throw py::value_error(what + ": masked elements of the array have no value; `.filled(0)` gives them one");
  py::array array = py::array::ensure(object);
  if (!array) {
    PyErr_Clear();
    throw py::type_error(what + ": expected an array, got " +
                         std::string(py::str(py::type::of(object).attr("__name__"))));
  }
  const std::optional<pxl::DType> dtype = dtype_from(array.dtype());
  if (!dtype) throw py::type_error(what + ": pxl has no elements of type " + dtype_name(array.dtype()));
  array = dense(array);
  pxl::Shape shape(array.shape(), array.shape() + array.ndim());
  return {pxl::View(*dtype, std::move(shape), array.data()), std::move(array)};
}

pxl::MutableView writable_elements_of(const py::handle& object, const std::string& what) {
  if (!is_array(object)) throw py::type_error(what + ": results are written to an array or tensor");
  if (py::hasattr(object, "is_neg") && object.attr("is_neg")().cast<bool>())
    throw py::value_error(what + ": the tensor is a negated view; `resolve_neg()` gives one that can be written");
  const Elements elements = elements_of(object, what);
  if (py::isinstance<py::array>(object)) {
    const auto array = py::reinterpret_borrow<py::array>(object);
    if (!array.writeable()) throw py::value_error(what + ": the array is read-only");
    if (array.data() != elements.view.data) throw py::value_error(what + ": the array is not dense and row-major");
  } else if (py::isinstance<py::array>(elements.owner)) {  // a copy
    throw py::value_error(what + ": the tensor is not dense and row-major");
  }
  return {elements.view.dtype, elements.view.shape, const_cast<void*>(elements.view.data)};
}

py::array array_of(pxl::Array array) {
  auto owned = std::make_unique<pxl::Array>(std::move(array));
  void* const data = owned->mutable_data();
  if (!data) {
    PyErr_NoMemory();
    throw py::error_already_set();
  }
  const py::dtype dtype = dtype_of(owned->dtype());
  const std::vector<py::ssize_t> shape(owned->shape().begin(), owned->shape().end());
  py::capsule owner(owned.get(), [](void* p) { delete static_cast<pxl::Array*>(p); });
  owned.release();
  return py::array(dtype, shape, {}, data, owner);
}

}  // namespace pxl_python
