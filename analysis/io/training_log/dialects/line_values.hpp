// Numbers by their names in one line of a log: "loss: 6.5", "grad_norm 2.04 (inf)", "lr=1e-4".
#ifndef ULP_IO_TRAINING_LOG_DIALECTS_LINE_VALUES_HPP
#define ULP_IO_TRAINING_LOG_DIALECTS_LINE_VALUES_HPP

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "record.hpp"

namespace ulp::io {

struct line_field {
  std::string_view key;  // without blanks
  double scale_record::*number;
};

// Puts those that are between the offsets into the record; returns how many there are. Keys are whole names: "loss" is not
// found in "loss_cls" or "total_loss".
std::size_t put_values(const record_text& text, std::size_t begin, std::size_t end, std::span<const line_field> fields,
                       scale_record& into);

// "[3/300]", "[3]": the numbers, and where the text goes on. nullopt where it is something else.
struct counter {
  std::int64_t number = -1;
  std::int64_t total = -1;  // -1 where there is none
  std::size_t end = 0;
};
[[nodiscard]] std::optional<counter> counter_at(const record_text& text, std::size_t at);

// The step of an iteration within an epoch, both counted from 0; -1 where there is no such step.
[[nodiscard]] std::int64_t step_in_epochs(std::int64_t epoch, std::int64_t iteration, std::int64_t per_epoch) noexcept;

}  // namespace ulp::io

#endif
