// What is compiled for the device and, to be tested, for the host.
#ifndef ULP_DEVICE_BOTH_HPP
#define ULP_DEVICE_BOTH_HPP

#include <cstdint>

#ifdef __CUDACC__
#define ULP_BOTH __host__ __device__
#define ULP_UNROLL _Pragma("unroll")
#else
#define ULP_BOTH
#define ULP_UNROLL
#endif

#endif
