// How micro-batches may be accumulated: the rows of an answer, whether they are measured or modelled.
#ifndef ULP_ASK_ANSWERS_ACCUMULATION_WAYS_HPP
#define ULP_ASK_ANSWERS_ACCUMULATION_WAYS_HPP

#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/answers/accumulate_answer.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/precision/accumulation_error.hpp>

namespace ulp {

struct accumulation_way {
  std::string format_name;
  std::string order;  // "sequential", "chunks of 8, float32 outside"
  accumulation how;
};

// Of each format those that are asked for, and float32 one after the other.
[[nodiscard]] std::vector<accumulation_way> ways_of(const accumulate_question& asked,
                                                    const std::vector<std::string>& formats);

// One tensor, accumulated in one way.
struct accumulation_row {
  std::string tensor;  // empty: all of them
  const accumulation_way* way = nullptr;
  std::uint64_t microbatches = 0;
  std::uint64_t numel = 0;
  double relative_error = 0;
  std::optional<accumulation_errors> measured;
  std::optional<value_range> beyond_normal;  // of the nonzero values recorded: not normal numbers of the format
};

[[nodiscard]] table accumulation_table(const std::vector<accumulation_row>& rows);

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
