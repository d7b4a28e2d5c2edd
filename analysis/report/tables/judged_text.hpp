// What is known of a treatment of a tensor, in words.
#ifndef ULP_REPORT_TABLES_JUDGED_TEXT_HPP
#define ULP_REPORT_TABLES_JUDGED_TEXT_HPP

#include <cstdint>
#include <string>

#include <ulp/ask/runs/judged_treatment.hpp>
#include <ulp/formats/block_formats.hpp>

namespace ulp {

// "0.00071"
[[nodiscard]] std::string short_share(double share);
// What is known within a hundredth is one number.
[[nodiscard]] bool is_one_number(const judged_treatment& j);
// "0.00071", "~0.0006, up to 0.0018": modelled, and what it is at most; "not known".
[[nodiscard]] std::string share_text(const judged_treatment& j);
// The same in percent, in a sentence: "0.071 %", "about 0.06 %, at most 0.18 %", "an unknown share".
[[nodiscard]] std::string lost_percent(const judged_treatment& j);
// "in step 30", "in 3 steps, first in step 30"
[[nodiscard]] std::string in_steps(std::uint64_t n, std::int64_t first);
// What would decide it: "record with --blocks 32". `blocks`: nullptr where its scale is not of blocks.
[[nodiscard]] std::string what_to_record(const block_format* blocks, const plan_doubts& doubts);

}  // namespace ulp

#endif
