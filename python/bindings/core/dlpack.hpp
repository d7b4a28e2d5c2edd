// The parts of dlpack.h (github.com/dmlc/dlpack) that are read here.
#ifndef ULP_PYTHON_DLPACK_HPP
#define ULP_PYTHON_DLPACK_HPP

#include <cstdint>

namespace ulp::python {

// What capsules named "dltensor" begin with: DLTensor.
struct dl_tensor {
  void* data;
  std::int32_t device_type;
  std::int32_t device_id;
  std::int32_t ndim;
  std::uint8_t type_code;
  std::uint8_t type_bits;
  std::uint16_t type_lanes;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: C order without gaps
  std::uint64_t byte_offset;
};
constexpr std::int32_t dl_cpu = 1;
constexpr std::int32_t dl_cuda = 2;

// DLPackExchangeAPI of version 1.3, in capsules named dl_exchange_name: functions of a library, kept for as long as the process runs.
struct dl_exchange_header {
  std::uint32_t major;
  std::uint32_t minor;
  const dl_exchange_header* previous;  // an older one, or null
};
struct dl_exchange {
  dl_exchange_header header;
  const void* others[3];
  // Fills the second from a Python object, which keeps what that points to; without waiting. 0, or else with Python's error set.
  int (*view)(void*, dl_tensor*);
  int (*stream)(std::int32_t, std::int32_t, void**);
};
constexpr const char* dl_exchange_name = "dlpack_exchange_api";

}  // namespace ulp::python

#endif
