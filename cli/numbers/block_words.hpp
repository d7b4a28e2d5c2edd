// Formats of blocks as options name them; what they are in words is of the report.
#ifndef ULP_CLI_NUMBERS_BLOCK_WORDS_HPP
#define ULP_CLI_NUMBERS_BLOCK_WORDS_HPP

#include <string>
#include <string_view>
#include <ulp/formats/block_formats.hpp>
#include <ulp/report/tables/block_words.hpp>

namespace ulp::cli {

// Throw usage_error, which names the option.
[[nodiscard]] const block_format& block_format_named(const std::string& name, std::string_view option);
[[nodiscard]] int axis_named(const std::string& text);

}  // namespace ulp::cli

#endif
