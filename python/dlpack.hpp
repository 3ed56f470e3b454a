// DLPack's structures, version 0 of its binary interface (https://dmlc.github.io/dlpack/latest/c_api.html): what the
// capsule "dltensor" of __dlpack__ points to.
#pragma once

#include <cstdint>

namespace pxl_python::dlpack {

constexpr int32_t cpu = 1;  ///< kDLCPU
enum Code : uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  floating = 2,
  bfloat = 4,
  boolean = 6,
  float8_e4m3fn = 10,
  float8_e4m3fnuz = 11,
  float8_e5m2 = 12,
  float8_e5m2fnuz = 13
};

struct Device {
  int32_t type, id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  int32_t rank;
  DataType type;
  int64_t* shape;
  int64_t* strides;  ///< in elements; null: dense, row-major
  uint64_t byte_offset;
};
struct ManagedTensor {
  Tensor tensor;
  void* manager_context;
  void (*deleter)(ManagedTensor*);
};
static_assert(sizeof(ManagedTensor) == 64);

}  // namespace pxl_python::dlpack
