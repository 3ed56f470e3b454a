// The only header that includes xtensor, with additions that versions 0.24 and 0.25 lack under C++20. Only files of
// this layer include it: it costs seconds.
//
// A trap for those who write expressions: a lazy reduction with keep_dims broadcasts wrongly inside a larger
// expression. The reductions of context.hpp are evaluated.
#pragma once

#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xeval.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xview.hpp>

#include <span>
#include <vector>

#if defined(__GNUC__) && !defined(__clang__) && (XTENSOR_VERSION_MINOR < 25 || !defined(__cpp_template_template_args))
namespace xt::detail {
// xexpression_traits.hpp declares this for C++17 alone, and from 0.25 on where template template arguments match as
// C++17 says. Without it g++ takes a dynamic shape, svector<size_t, 4>, for a fixed one with four axes. xt::eval of a
// 2x3 expression then has rank 4 (xtensor issue 1970). It has to have a template parameter S as there: a specialisation
// for svector by name would be ambiguous.
template <template <class, std::size_t, class, bool> class S, class X, std::size_t N, class A, bool Init>
struct xtype_for_shape<S<X, N, A, Init>> {
  template <class T, layout_type L>
  using type = xarray<T, L>;
};
}  // namespace xt::detail
#endif

namespace pxl {

/// A view of `data` as a row-major xtensor array of this shape; nothing is copied or owned.
template <class T>
auto as_xtensor(T* data, std::span<const int64_t> shape) {
  std::vector<std::size_t> extents(shape.begin(), shape.end());
  std::size_t size = 1;
  for (std::size_t extent : extents) size *= extent;
  return xt::adapt(data, size, xt::no_ownership(), extents);
}

}  // namespace pxl
