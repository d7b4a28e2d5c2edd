// Whether a loss scale is that before or after its step. A framework's lines say so. A script's own lines and tables do not,
// but a norm that is not finite tells: beside the higher scale it was printed before the scaler halved it, beside the lower one
// after that. Where nothing tells, each fall proves a skipped step, and its number may be one too high.
#ifndef ULP_IO_TRAINING_LOG_SCALE_PLACE_HPP
#define ULP_IO_TRAINING_LOG_SCALE_PLACE_HPP

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "history.hpp"

namespace ulp::io {

enum class scale_place : std::uint8_t { before, after, open };

struct settled_scales {
  scale_place place = scale_place::after;
  bool changes = false;
  std::map<std::int64_t, double> used{};  // the scale of a step, where it is the one before
  std::uint64_t no_scales = 0;            // lines with a number that is no loss scale, or not known to be one
  bool is_contradicted = false;           // it falls though no norm says that a step overflowed: it is not used
  std::set<std::int64_t> zeros{};         // steps that are logged with a scale of 0 which no overflow led to
  bool are_others = false;                // some of them had another scale
  bool are_all_zeros = false;             // they are all that have a scale, too
};

// Of chosen records in their order, where their writer does not say which scale it is (log_dialect::scale_is_open): makes
// each the scale after its step.
[[nodiscard]] settled_scales settle_scales(std::vector<scale_record>& records);
// What that says of the steps.
void apply(const settled_scales& scales, scale_history& into);

}  // namespace ulp::io

#endif
