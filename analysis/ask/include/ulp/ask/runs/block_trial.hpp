// What formats of blocks would have made of a run: of each tensor the share of its energy that is lost in the worst step, and what
// became of its values, in one reading.
#ifndef ULP_ASK_RUNS_BLOCK_TRIAL_HPP
#define ULP_ASK_RUNS_BLOCK_TRIAL_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/runs/judged_treatment.hpp>
#include <ulp/formats/block_formats.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/block_outcomes.hpp>
#include <ulp/model/replay/scenario.hpp>

namespace ulp {

// A training whose rounding error is more than 1/sqrt(3) of its gradient, a third of the energy, gains little from going on: Chmiel
// et al., FP4 All the Way, arXiv 2505.19115.
inline constexpr double drowning_share = 1.0 / 3;

// What a format's name leaves open: the elements, and how a scale follows from the block's largest value.
struct block_family {
  std::string name;  // as typed
  // One row for each of its elements, with the scale rounded up, which saturates nothing; of a name that leaves nothing open its
  // only row.
  std::vector<const block_format*> rows;
  // For each of these the rows of all scale rules that torchao has; empty where the name says the rule.
  std::vector<std::vector<const block_format*>> by_rule;
};
// Throws std::invalid_argument, which names the option, where it is no name of blocks, or their elements are integers.
[[nodiscard]] block_family block_family_named(const std::string& name, std::string_view option = "--format");
// "floor", "rceil", "ceil", "even"
[[nodiscard]] std::string_view scale_rule_of(const block_format& row);

// One tensor over the run, in each of the rows.
struct tried_tensor {
  std::uint32_t tensor = 0;
  std::uint64_t numel = 0;     // in a step, at most
  std::uint64_t left_out = 0;  // steps with an infinity or a NaN
  bool unfit = false;  // a vector, an update, a gradient of weights beside those of activations: no product reads it
  bool has_values = false;
  std::vector<judged_treatment> of;
  std::vector<std::optional<block_outcomes>> counts;  // none where a step does not tell of them
};

// What a tensor's worst step says of a treatment.
enum class trial_verdict : std::uint8_t {
  held,        // loses no more than usual_lost_share, with what saturates
  loses_more,  // or may, but no drowning_share
  drowned,     // loses a drowning_share
  nonfinite,   // finite values become infinite or NaN
  not_decided
};
[[nodiscard]] trial_verdict verdict_of(const judged_treatment& j) noexcept;
// Whether a did worse than b: what becomes infinite or NaN before what loses more, and what is not decided last.
[[nodiscard]] bool did_worse(const judged_treatment& a, const judged_treatment& b) noexcept;

struct block_trial {
  std::vector<const block_format*> rows;
  std::vector<tried_tensor> tensors;
  std::vector<tensor_info> info;  // all of the input; tried_tensor::tensor is an index
  std::uint64_t steps = 0;
  bool from_values = false;  // of dumps

  // Precondition: it is among the rows.
  [[nodiscard]] std::size_t index_of(const block_format& row) const;
  // Of which something can be said: no vectors, and none without values.
  [[nodiscard]] std::vector<const tried_tensor*> judged() const;
  // Of these.
  [[nodiscard]] std::size_t count(std::size_t row, trial_verdict v) const;
  [[nodiscard]] std::size_t saturating(std::size_t row) const;
  // The tensor that did worst of these; nullptr where there is none.
  [[nodiscard]] const tried_tensor* worst(std::size_t row) const;
  // Whether row a is the better choice than b: fewer tensors that are drowned or not finite, then fewer that are not decided, then
  // what the worst loses.
  [[nodiscard]] bool is_better(std::size_t a, std::size_t b) const;
  // Steps of a tensor with infinities or NaN, which are not judged; vectors aside.
  [[nodiscard]] std::uint64_t left_out() const;
  // Whether gradients of weights stand in for those of activations, which products read.
  [[nodiscard]] bool has_stand_ins() const;
  // Whether the shape of some judged tensor is not known, so that it may be a vector.
  [[nodiscard]] bool may_have_vectors() const;
  // Over the judged tensors and all steps; nullopt where some are not counted.
  [[nodiscard]] std::optional<block_outcomes> counts(std::size_t row) const;
};

// Values are as recorded: blocks choose their scale. `look`: no where the input was read before, and what there is to know of it was
// told; then it is nullopt where the input cannot be read again or has no values of the selected tensors, which else throws. Throws
// input_error, std::invalid_argument.
[[nodiscard]] std::optional<block_trial> try_blocks(const run_text& run, const selection& selected,
                                                    std::vector<const block_format*> rows, listener& to,
                                                    first_look look);

// Whether the first of the selected steps has tables of such blocks.
[[nodiscard]] bool has_block_tables(const run_text& run, const selection& selected, const block_extent& block);

}  // namespace ulp

#endif
