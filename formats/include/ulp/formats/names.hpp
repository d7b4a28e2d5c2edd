// Formats, roundings, operations and flags as words, and words read back.
#ifndef ULP_FORMATS_NAMES_HPP
#define ULP_FORMATS_NAMES_HPP

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/formats/operation.hpp>
#include <ulp/formats/parsed.hpp>
#include <ulp/formats/rounding.hpp>
#include <ulp/formats/status.hpp>

namespace ulp {

// The format of a catalogue name or alias, or of `e<E>m<M>`, E in 2..11, M in 1..52: IEEE-style with bias 2^(E-1)-1
// unless options say otherwise, separated by commas: "e6m9,bias=30,specials=none".
//   bias=N           so that float64 holds every finite number of the format
//   specials=ieee|fn|fnuz|none|p3109   the values of `specials` in their order, under the names of ml_dtypes; with fnuz and
//                    p3109 the bias is 2^(E-1) where none is given
//   subnormals=yes|no            no: lowest_binade::normals_and_zero
// Behind any name, "e4m3fnuz,max=224":
//   max=X            the largest number that roundings deliver, a normal number of the format (format::withheld)
// IEEE P3109's signed formats are binary<K>p<P>se, and binary<K>p<P>sf without infinities, of precision 2 and more with at
// least two exponent bits.
// Upper and lower case are the same, but for OCP's own words: "E4M3", "E3M2", "E2M3", "E2M1" are OCP's formats, where
// "e4m3" is the pattern (it has infinities and ends at 240; so has "float8_e4m3", the name of ml_dtypes). A catalogue
// alias wins over the pattern. The error of an unknown name lists near ones. Allocates.
[[nodiscard]] parsed<format> parse_format(std::string_view name);

// parse_format without the reason of a failure.
[[nodiscard]] std::optional<format> find_format(std::string_view name);

// What a reader of the name may take for something else: of "e4m3" that OCP's is float8_e4m3fn, of "E4M3" that it is.
// Empty where there is nothing to say. Allocates.
[[nodiscard]] std::string note_on_name(std::string_view name);

// The name that parse_format reads back to this format: the catalogue's, or e<E>m<M> with the options that differ from
// what it means alone, "e4m3,bias=30,specials=none"; with ,max=X where it has a largest number of its own. A format without sign or, E8M0 apart, without zero has no such
// name, and gets sign=no or zero=no in it. Allocates.
[[nodiscard]] std::string to_string(const format& f);

// Names a user may have meant by an unknown one, nearest first; may be empty. Allocates.
[[nodiscard]] std::vector<std::string> similar_format_names(std::string_view name);

// Parses a rounding as the command line takes it: a direction (nearest-even, nearest-away, toward-zero,
// toward-positive, toward-negative, to-odd, or rne rna rz ru rd ro, or as Berkeley TestFloat or RISC-V call it), or
// stochastic (sr) with its options, each at most once, after a colon or comma: "stochastic:A,bits=8", "sr,bits=8",
// "sr:bits=all" for exact_probability. Only direction, definition and random_bits are set. nullopt where the text names
// none. The names of hardware: hardware_roundings.hpp.
[[nodiscard]] std::optional<rounding> parse_rounding(std::string_view text);

// The canonical spelling that parse_rounding reads back: "nearest-even", "stochastic:A,bits=32".
[[nodiscard]] std::string to_string(const rounding& mode);

// That and everything else that is not as in rounding{}: "toward-zero, saturating, ftz after, daz, tininess before".
[[nodiscard]] std::string in_full(const rounding& mode);

// An operation by its name, or as Berkeley TestFloat calls it (mulAdd for fma). nullopt where the text names none.
[[nodiscard]] std::optional<operation> parse_operation(std::string_view name) noexcept;

// "inexact, underflow", or "none".
[[nodiscard]] std::string to_string(status flags);

}  // namespace ulp

#endif
