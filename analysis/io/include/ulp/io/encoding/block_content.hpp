// Block tables of one tensor as bytes, as a row of `extra` holds them: docs/recording-format.md, "Block tables".
#ifndef ULP_IO_ENCODING_BLOCK_CONTENT_HPP
#define ULP_IO_ENCODING_BLOCK_CONTENT_HPP

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/model/cells/block_table.hpp>

namespace ulp {

// level: of zlib, -1 is its default.
[[nodiscard]] std::string block_content(std::span<const block_table> tables, int level = -1);
// Throws input_error that names file and place.
[[nodiscard]] std::vector<block_table> parse_block_content(std::string_view content, const std::string& file,
                                                           const std::string& place);

}  // namespace ulp

#endif
