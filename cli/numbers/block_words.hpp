// What a format of blocks is, in words.
#ifndef ULP_CLI_NUMBERS_BLOCK_WORDS_HPP
#define ULP_CLI_NUMBERS_BLOCK_WORDS_HPP

#include <string>
#include <string_view>
#include <ulp/formats/block_formats.hpp>

namespace ulp::cli {

// "1 x 32", "a row", "the tensor".
[[nodiscard]] std::string text_of(const block_extent& block);
[[nodiscard]] std::string_view text_of(scale_type scale);
[[nodiscard]] std::string_view in_words(amax_rule rule);

// Throw usage_error, which names the option.
[[nodiscard]] const block_format& block_format_named(const std::string& name, std::string_view option);
[[nodiscard]] int axis_named(const std::string& text);

}  // namespace ulp::cli

#endif
