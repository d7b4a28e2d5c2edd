// A plan as people and machines read it: what holds for the run, and a row for each tensor.
#ifndef ULP_REPORT_TABLES_PLAN_TABLE_HPP
#define ULP_REPORT_TABLES_PLAN_TABLE_HPP

#include <string>
#include <vector>

#include <ulp/ask/runs/plan_answer.hpp>
#include <ulp/report/tables/replay_summary.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

[[nodiscard]] std::vector<summary_line> lines_of(const plan_answer& plan);

[[nodiscard]] table plan_table(const plan_answer& plan);

// "any of 250 steps"
[[nodiscard]] std::string steps_text(const plan_answer& plan);

// "float16 with loss scale 2^12 (...)", "bfloat16, no loss scale", or that no tensor is in 16 bits.
[[nodiscard]] std::string setting_text(const plan_answer& plan, const plan_setting& s);

// Why a treatment is not what a tensor gets: "loses 0.0031 in step 120", "saturates in 3 steps, first in step 30";
// what to record where the input does not decide it.
[[nodiscard]] std::string why_not(const plan_answer& plan, const planned_tensor& t, std::size_t treatment);

// What a tensor gets and why, in sentences: what it loses, the cheaper treatment that comes closest, what takes as many
// bits, a remark.
[[nodiscard]] std::string why_chosen(const plan_answer& plan, const planned_tensor& t);

}  // namespace ulp

#endif
