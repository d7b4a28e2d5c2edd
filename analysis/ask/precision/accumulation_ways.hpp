// How micro-batches may be accumulated, and the rows of an answer, measured or modelled.
#ifndef ULP_ASK_PRECISION_ACCUMULATION_WAYS_HPP
#define ULP_ASK_PRECISION_ACCUMULATION_WAYS_HPP

#include <string>
#include <vector>

#include <ulp/ask/precision/accumulate_answer.hpp>

namespace ulp {

// Of each format those that are asked for, and float32 one after the other.
[[nodiscard]] std::vector<accumulation_way> ways_of(const accumulate_question& asked,
                                                    const std::vector<std::string>& formats);

// Of dumps, element by element.
[[nodiscard]] std::vector<accumulation_row> measured_accumulation(const accumulate_question& asked,
                                                                  const std::vector<accumulation_way>& ways,
                                                                  listener& to);
// Of a recording. `configured` are the micro-batches where neither the question nor the recording says how many; 0: unknown.
[[nodiscard]] std::vector<accumulation_row> modelled_accumulation(const accumulate_question& asked,
                                                                  const std::vector<accumulation_way>& ways,
                                                                  std::uint64_t configured, listener& to);

}  // namespace ulp

#endif
