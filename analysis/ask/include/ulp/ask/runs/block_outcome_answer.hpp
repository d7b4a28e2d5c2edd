// What `ulp outcomes` says of a run in formats whose blocks share a scale: from the block tables of a recording, or from the values
// of dumps.
#ifndef ULP_ASK_RUNS_BLOCK_OUTCOME_ANSWER_HPP
#define ULP_ASK_RUNS_BLOCK_OUTCOME_ANSWER_HPP

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/runs/outcome_answer.hpp>
#include <ulp/formats/block_formats.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/quantized_outcomes.hpp>

namespace ulp {

// A format of blocks, along the axis that was asked for.
struct block_case {
  std::string format_name;  // as typed
  block_format row;
  std::optional<rounding> how;  // of its elements, where it was asked for
  std::string rounding_name;    // of its elements
};

struct block_outcome_group {
  std::vector<quantized_outcomes> of;  // in each format
  std::set<std::int64_t> steps;
  tensor_kind kind = tensor_kind::unknown;
  bool mixed_kinds = false;
};

struct block_outcome_answer {
  std::vector<std::string> by;
  std::vector<block_case> formats;
  std::vector<tensor_group> named;
  std::map<outcome_key, block_outcome_group> groups;
  std::vector<tensor_info> tensors;
  bool from_values = false;  // of dumps: every element was quantized, and no count is a range

  [[nodiscard]] bool is_by(const char* what) const;
};

// Whether the formats asked for are formats of blocks. Throws std::invalid_argument where some are and others are not.
[[nodiscard]] bool asks_of_blocks(const outcome_question& asked);

// What is asked of blocks beside that.
struct block_outcome_question {
  bool along_other = false;  // blocks lie along the other axis
  bool with_errors = false;  // of dumps: the energy of the error
};

// As outcomes_over. Values are as recorded: blocks choose their scale. Precondition: asks_of_blocks. Throws input_error,
// std::invalid_argument.
[[nodiscard]] block_outcome_answer block_outcomes_over(
    const outcome_question& asked, const block_outcome_question& of_blocks, listener& to,
    const std::function<void(const block_outcome_answer&)>& look = {});

}  // namespace ulp

#endif
