#include "values.hpp"

#include <cstdint>

#include "calls.hpp"

namespace pxl_python {
namespace {

constexpr int max_depth = 200;  ///< of lists and dicts within each other, as in the library

/// Inverts `decoded`: bytes that were no UTF-8 become the same bytes again.
std::string encoded(const py::handle& text) {
  const auto bytes =
      py::reinterpret_steal<py::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes) throw py::error_already_set();
  return bytes;
}

pxl::Value value_of(const py::handle& object, const std::string& what, int depth) {
  if (depth > max_depth) throw py::value_error(what + ": lists and dicts are nested too deeply");
  if (object.is_none()) return {};
  if (py::isinstance<py::bool_>(object)) return object.cast<bool>();
  if (py::isinstance<py::int_>(object)) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
    if (overflow != 0) throw py::value_error(what + ": the int does not fit into 64 bits");
    return int64_t{v};
  }
  if (py::isinstance<py::str>(object)) return encoded(object);
  const auto items = [&](const py::handle& sequence) {
    pxl::List out;
    for (const py::handle item : sequence) out.push_back(value_of(item, what, depth + 1));
    return out;
  };
  if (py::isinstance<py::list>(object)) return items(object);
  if (py::isinstance<py::tuple>(object)) return pxl::Tuple{items(object)};
  if (py::isinstance<py::dict>(object)) {
    pxl::Dict out;
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(object))
      out.emplace_back(value_of(key, what, depth + 1), value_of(value, what, depth + 1));
    return out;
  }
  if (py::isinstance<py::dtype>(object))
    if (const auto dtype = dtype_from(py::reinterpret_borrow<py::dtype>(object))) return *dtype;
  // A scalar of NumPy is a float too if it is a float64: it stays an array of its dtype.
  static const py::object& generic = *new py::object(py::module_::import("numpy").attr("generic"));
  if (!is_array(object) && !py::isinstance(object, generic)) {
    if (py::isinstance<py::float_>(object)) return object.cast<double>();
    throw py::type_error(what + ": a " + std::string(py::str(py::type::of(object).attr("__name__"))) +
                         " has no counterpart in pxl");
  }
  Elements elements = elements_of(object, what);
  std::shared_ptr<const void> owner(new py::object(std::move(elements.owner)), [](const void* p) {
    const py::gil_scoped_acquire held;
    delete static_cast<const py::object*>(p);
  });
  pxl::Result<pxl::Array> array = pxl::Array::wrap(elements.view, std::move(owner));
  if (!array) throw py::value_error(what + ": " + array.error().message());
  return *std::move(array);
}

}  // namespace

pxl::Value value_of(const py::handle& object, const std::string& what) { return value_of(object, what, 0); }

std::vector<pxl::Argument> arguments_of(const py::dict& names) {
  std::vector<pxl::Argument> out;
  for (const auto& [name, value] : names) {
    const auto text = name.cast<std::string>();
    out.push_back({text, value_of(value, text)});
  }
  return out;
}

py::object object_of(const pxl::Value& value) {
  if (const auto* v = value.as<bool>()) return py::bool_(*v);
  if (const auto* v = value.as<int64_t>()) return py::int_(*v);
  if (const auto* v = value.as<double>()) return py::float_(*v);
  if (const auto* v = value.as<std::string>()) return decoded(*v, "surrogateescape");
  if (const auto* v = value.as<pxl::DType>()) return dtype_of(*v);
  if (const auto* v = value.as<pxl::Array>()) return array_of(*v);
  if (const auto* v = value.as<pxl::List>()) {
    py::list out;
    for (const pxl::Value& item : *v) out.append(object_of(item));
    return out;
  }
  if (const auto* v = value.as<pxl::Tuple>()) {
    py::tuple out(v->items.size());
    for (size_t i = 0; i < v->items.size(); ++i) out[i] = object_of(v->items[i]);
    return out;
  }
  if (const auto* v = value.as<pxl::Dict>()) {
    py::dict out;
    for (const auto& [key, item] : *v) out[object_of(key)] = object_of(item);
    return out;
  }
  if (const auto* v = value.as<pxl::Opaque>()) return py::cast(*v);
  return py::none();
}

}  // namespace pxl_python
