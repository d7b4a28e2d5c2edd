// What `ulp precision accumulate` asks: what is lost where micro-batches are accumulated in a narrow format.
#ifndef ULP_ASK_PRECISION_ACCUMULATE_ANSWER_HPP
#define ULP_ASK_PRECISION_ACCUMULATE_ANSWER_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/io/config/config_import.hpp>
#include <ulp/model/cells/ranges.hpp>
#include <ulp/model/precision/accumulation_error.hpp>

namespace ulp {

struct accumulate_question {
  // Dumps: one for each micro-batch, or a folder of those, in the order of their names; or one, in which the first index of
  // every array is the micro-batch. Or a recording, of which the errors are modelled.
  run_text run;
  std::vector<std::string> formats;  // empty: what the configuration says, else the 16-bit formats
  std::vector<std::string> chunks;   // numbers of micro-batches that are added up by themselves first
  // Of dumps the first ones; of a recording how many there were; 0: all, as recorded, else as the configuration says.
  std::uint64_t microbatches = 0;
  config_file config;  // a framework's own configuration; empty: none
  rounding_text rounding;
};

struct accumulation_way {
  std::string format_name;
  std::string order;  // "sequential", "chunks of 8, float32 outside"
  accumulation how;
};

// One tensor, accumulated in one way.
struct accumulation_row {
  std::string tensor;  // empty: all of them
  accumulation_way way;
  std::uint64_t microbatches = 0;
  std::uint64_t numel = 0;
  double relative_error = 0;
  std::optional<accumulation_errors> measured;
  std::optional<value_range> beyond_normal;  // of the nonzero values recorded: not normal numbers of the format
};

struct accumulate_answer {
  bool modelled = false;
  std::uint64_t microbatches = 0;      // the most that one tensor has
  std::vector<accumulation_row> rows;  // after those of several tensors, all of them together, without a name
  std::optional<imported_config> said;
};

// Throws input_error, std::invalid_argument.
[[nodiscard]] accumulate_answer accumulate_over(const accumulate_question& asked, listener& to);

}  // namespace ulp

#endif
