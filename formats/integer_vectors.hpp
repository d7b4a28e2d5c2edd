// Integers that make their conversion to a format round in every way.
#ifndef ULP_FORMATS_INTEGER_VECTORS_HPP
#define ULP_FORMATS_INTEGER_VECTORS_HPP

#include <cstdint>

#include <ulp/formats/format.hpp>
#include <ulp/formats/operation.hpp>
#include <ulp/formats/vectors.hpp>

namespace ulp {

// Codes of integers of this type: those at the ends and beside powers of two, those that begin with the bits of a
// number of `to` or of a midpoint and go on with zeros, ones or a last bit, what overflows among them, and random ones
// of every length. What for_each_vector promises holds.
void for_each_integer(integer_type type, const format& to, int level, std::uint64_t seed, const vector_sink& sink);

}  // namespace ulp

#endif
