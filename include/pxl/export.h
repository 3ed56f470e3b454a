/* What the shared library exports. */
#ifndef PXL_EXPORT_H
#define PXL_EXPORT_H

#if defined(__GNUC__)
#define PXL_API __attribute__((visibility("default")))
#else
#define PXL_API
#endif

/* Names of the C++ interface are in pxl::v1, an inline namespace: its number changes with the binary interface. Inside
   of the library, whose own names are in pxl, it is not inline. */
#if defined(__cplusplus)
#if defined(PXL_BUILDING_LIBRARY)
#define PXL_BEGIN_NAMESPACE \
  namespace pxl {           \
  namespace v1 {
#else
#define PXL_BEGIN_NAMESPACE \
  namespace pxl {           \
  inline namespace v1 {
#endif
#define PXL_END_NAMESPACE \
  }                       \
  }
#endif

#endif
