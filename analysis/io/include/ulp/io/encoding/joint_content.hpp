// A joint table as bytes, as a row of `extra` holds it: docs/recording-format.md, "Joint tables".
#ifndef ULP_IO_ENCODING_JOINT_CONTENT_HPP
#define ULP_IO_ENCODING_JOINT_CONTENT_HPP

#include <string>
#include <string_view>

#include <ulp/model/updates/joint_row.hpp>

namespace ulp {

[[nodiscard]] std::string joint_content(const joint_row& row);
// Throws input_error that names file and place; tensor is left empty.
[[nodiscard]] joint_row parse_joint_content(std::string_view content, const std::string& file,
                                            const std::string& place);

}  // namespace ulp

#endif
