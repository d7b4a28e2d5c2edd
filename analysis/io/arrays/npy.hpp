// What a .npy and a member of a .npz have in common.
#ifndef ULP_IO_ARRAYS_NPY_HPP
#define ULP_IO_ARRAYS_NPY_HPP

#include "arrays.hpp"
#include "dumps/npy.hpp"

namespace ulp::io {

[[nodiscard]] stored_array array_of(const npy_header& header, const std::string& name,
                                    const std::optional<format>& from);

}  // namespace ulp::io

#endif
