// A layout of lines as a row of data: what reads it is the same for all.
#ifndef ULP_IO_TRAINING_LOG_DIALECTS_LAYOUT_HPP
#define ULP_IO_TRAINING_LOG_DIALECTS_LAYOUT_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "line_values.hpp"
#include "record.hpp"

namespace ulp::io {

// A pattern is text without blanks, and in it
//   " "       a blank, where two digits have one between them
//   {step}    a whole number: the step; {epoch}, {iter} and {length} make one of epochs of that length, {epoch} and {iter}
//             one that is counted anew in each; {first} is the first of the steps that it tells of; {rank} says whose line
//             it is; {n} is passed over
//   {before}  a number: the scale before an overflow, {factor} what it is multiplied by then, {after} the scale after it,
//             {log2} its logarithm
//   {rounded} the step, perhaps in few digits: 1.2e+03
//   {loss} {norm} {lr}  numbers; {sum} is added to the loss; {x} is passed over
//   ~         what a progress bar is drawn with
//   $         the end of the line, or a blank between two digits where its break was lost
//   *         anything in that line, as little as possible
struct line_layout {
  std::string_view words{};              // what it is found by
  std::string_view before{};             // a pattern directly in front of the words
  std::string_view after{};              // and one directly behind them
  std::span<const line_field> fields{};  // numbers by their names in the rest of the line
  scale_record as{};                     // the record, apart from them
  std::int64_t first_epoch = 0;          // how the first one is numbered
  bool with_loss = false;                // a line without a loss or a norm is none of this layout
  bool norm_is_of_applied = false;       // a finite norm says that its step was applied
};

// The record of a layout whose words end at `at`.
[[nodiscard]] record_match read_layout(const record_text& text, std::size_t at, bool last, const line_layout& layout);

}  // namespace ulp::io

#endif
