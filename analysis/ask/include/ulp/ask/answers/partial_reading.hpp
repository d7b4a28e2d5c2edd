// A part of a run, in the time that this part takes.
#ifndef ULP_ASK_ANSWERS_PARTIAL_READING_HPP
#define ULP_ASK_ANSWERS_PARTIAL_READING_HPP

#include <cstdint>
#include <memory>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/io/source/source.hpp>

namespace ulp {

enum class run_part : std::uint8_t { steps, tables };  // without and with tensors

// As open_run. Where the input is a recording, of which nothing is said that its steps do not say (no other kinds, roles, factors
// or scalars), it gives the steps between the first and the last that are selected, and with run_part::steps no tensors of
// theirs. Any other source gives all, and the caller selects. `to` outlives the source. Throws input_error, std::invalid_argument.
[[nodiscard]] std::unique_ptr<source> open_part_of(const run_text& run, run_part part, const source_options& how,
                                                   listener& to);

}  // namespace ulp

#endif
