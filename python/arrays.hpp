// Arrays of Python (NumPy, DLPack) and of pxl, without copies if the elements can be used in place.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <pxl/pxl.hpp>

namespace pxl_python {

namespace py = pybind11;

/// An object of Python whose elements pxl reads or writes, and what keeps them alive. Its destruction requires the GIL.
struct Elements {
  pxl::View view;
  py::object owner;
};

/// The elements of a NumPy array, of an object with __dlpack__ on the CPU (a PyTorch tensor), or of anything that
/// numpy.asarray accepts. Copied only if they are not dense and row-major, or not in the machine's byte order. Throws
/// TypeError; `what` is whose value it is.
Elements elements_of(const py::handle& object, const std::string& what);
/// The same to be written in place: throws if a copy would be needed, or if the elements are read-only.
pxl::MutableView writable_elements_of(const py::handle& object, const std::string& what);

/// Whether numpy.asarray is not needed to see that an object is an array.
bool is_array(const py::handle& object);

/// An array of NumPy that owns the pxl array: no copy unless values of a program share its elements. float8 has no
/// counterpart: its bytes are uint8.
py::array array_of(pxl::Array array);

py::dtype dtype_of(pxl::DType dtype);
/// Nullopt if pxl has no such type.
std::optional<pxl::DType> dtype_from(const py::dtype& dtype);

}  // namespace pxl_python
