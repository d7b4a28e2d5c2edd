// A trajectory in three lines of text, for terminals.
#ifndef ULP_REPORT_PAGE_SPARKLINE_HPP
#define ULP_REPORT_PAGE_SPARKLINE_HPP

#include <cstddef>
#include <span>
#include <string>

#include <ulp/model/replay/trajectory.hpp>

namespace ulp {

// log2 of the scale over the steps in blocks of eight heights, from the lowest scale that was used to the highest; 'x'
// below where a step was skipped; the first and the last step. At most `columns` wide, where that leaves room for at least
// one block; a column stands for as many rows as the width asks for and shows the last scale of them, or the lowest one
// where the scale falls. Scales of 0 and infinity are drawn at the bottom and at the top. UTF-8; ends with a newline;
// empty without rows.
[[nodiscard]] std::string sparkline_of(std::span<const trajectory_row> rows, std::size_t columns);

}  // namespace ulp

#endif
