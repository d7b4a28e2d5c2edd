// Numbers by their names in one line of a log: "loss: 6.5", "grad_norm 2.04 (inf)", "lr=1e-4", "'loss': '0.5'".
#ifndef ULP_IO_TRAINING_LOG_DIALECTS_LINE_VALUES_HPP
#define ULP_IO_TRAINING_LOG_DIALECTS_LINE_VALUES_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "record.hpp"

namespace ulp::io {

struct line_field {
  std::string_view key;  // without blanks
  double scale_record::*number = nullptr;
  std::int64_t scale_record::*flag = nullptr;  // instead: 1 where "True" stands, 0 where "False" does
  bool is_log2 = false;                        // of the number
  bool is_opposite = false;                    // 1 says 0, and 0 says 1
};

struct put_fields {
  std::size_t count = 0;
  std::size_t begin = 0;  // of the first one in the text
  std::size_t end = 0;    // of the last one
};
enum class key_case : std::uint8_t { as_given, any };
// Puts those that are between the offsets into the record. Keys are whole names: "loss" is not found in "loss_cls",
// "total_loss" or "val loss". Of several fields for one number, the first that is found counts.
put_fields put_values(const record_text& text, std::size_t begin, std::size_t end, std::span<const line_field> fields,
                      scale_record& into, key_case spelling = key_case::as_given);

// Behind what Python prints around a number: tensor(2.5, device='cuda:0'), np.float64(2.5).
[[nodiscard]] std::size_t skip_wrapper(std::string_view text, std::size_t at) noexcept;

// "[3/300]", "[3]": the numbers, and where the text goes on. nullopt where it is something else.
struct counter {
  std::int64_t number = -1;
  std::int64_t total = -1;  // -1 where there is none
  std::size_t end = 0;
};
[[nodiscard]] std::optional<counter> counter_at(const record_text& text, std::size_t at);

// A whole number, perhaps with commas between thousands, "12,300", in a part of a line: what it is, and where the text goes on. -1
// where there is none.
struct whole_number_at {
  std::int64_t number = -1;
  std::size_t end = 0;
};
[[nodiscard]] whole_number_at whole_at(const record_text& text, std::size_t at, std::size_t end);

// What is skipped, or flows over, where it is no step: "samples" that were left out, "tokens" over the capacity of an expert.
[[nodiscard]] bool is_of_data(std::string_view word) noexcept;

// Of an evaluation: "val", "valid", "validation", "eval", "test" as the last word of the text.
[[nodiscard]] bool ends_in_evaluation(std::string_view text) noexcept;

// The step of an iteration within an epoch, both counted from 0; -1 where there is no such step.
[[nodiscard]] std::int64_t step_in_epochs(std::int64_t epoch, std::int64_t iteration, std::int64_t per_epoch) noexcept;

}  // namespace ulp::io

#endif
