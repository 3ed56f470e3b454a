#include "interpreter/jupyter/raster.hpp"

#ifdef PXL_RSVG
#include <librsvg/rsvg.h>

#include <cmath>
#include <memory>
#endif

namespace pxl::jupyter {

#ifdef PXL_RSVG

namespace {

constexpr double scale = 2;             // pixels per CSS pixel: screens and print are finer than CSS pixels
constexpr double max_pixels = 1 << 24;  // maximum size of a picture: drawing it takes 64 MiB

template <class T, void (*release)(T*)>
struct Release {
  void operator()(T* object) const { release(object); }
};
void unref(RsvgHandle* handle) { g_object_unref(handle); }
using Handle = std::unique_ptr<RsvgHandle, Release<RsvgHandle, unref>>;
using Surface = std::unique_ptr<cairo_surface_t, Release<cairo_surface_t, cairo_surface_destroy>>;
using Context = std::unique_ptr<cairo_t, Release<cairo_t, cairo_destroy>>;

cairo_status_t append(void* to, const unsigned char* bytes, unsigned int size) {
  static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(bytes), size);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

std::optional<Raster> png_of_svg(std::string_view svg) {
  GError* problem = nullptr;
  const Handle handle(
      rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), static_cast<gsize>(svg.size()), &problem));
  g_clear_error(&problem);
  double width = 0, height = 0;
  if (!handle) return std::nullopt;
  rsvg_handle_set_dpi(handle.get(), 96);
  if (!rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height) || !(width >= 1 && height >= 1) ||
      width * height * scale * scale > max_pixels)
    return std::nullopt;
  const Surface surface(cairo_image_surface_create(CAIRO_FORMAT_ARGB32, static_cast<int>(std::ceil(scale * width)),
                                                   static_cast<int>(std::ceil(scale * height))));
  const Context context(cairo_create(surface.get()));
  const RsvgRectangle place{0, 0, scale * width, scale * height};
  const bool drawn = rsvg_handle_render_document(handle.get(), context.get(), &place, &problem);
  g_clear_error(&problem);
  Raster raster{{}, static_cast<int>(std::ceil(width)), static_cast<int>(std::ceil(height))};
  if (!drawn || cairo_surface_write_to_png_stream(surface.get(), append, &raster.png) != CAIRO_STATUS_SUCCESS)
    return std::nullopt;
  return raster;
}

#else

std::optional<Raster> png_of_svg(std::string_view) { return std::nullopt; }

#endif

}  // namespace pxl::jupyter
