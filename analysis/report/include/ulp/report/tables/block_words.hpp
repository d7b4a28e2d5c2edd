// What a format of blocks is, in words and figures.
#ifndef ULP_REPORT_TABLES_BLOCK_WORDS_HPP
#define ULP_REPORT_TABLES_BLOCK_WORDS_HPP

#include <string>
#include <string_view>

#include <ulp/formats/block_formats.hpp>

namespace ulp {

// "1 x 32", "a row", "the tensor".
[[nodiscard]] std::string text_of(const block_extent& block);
[[nodiscard]] std::string_view text_of(scale_type scale);
[[nodiscard]] std::string_view in_words(amax_rule rule);
// "RCEIL"
[[nodiscard]] std::string rule_name(const block_format& row);

// With its share of the scale, but of rows and tensors, whose share depends on their size; second levels are left out.
[[nodiscard]] double bits_of_value(const block_format& row);
// The least number above zero, at the scale 1.
[[nodiscard]] double least_element(const block_format& row);

}  // namespace ulp

#endif
