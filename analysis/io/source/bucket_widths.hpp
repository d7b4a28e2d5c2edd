// How much buckets leave open, in words for the user.
#ifndef ULP_IO_SOURCE_BUCKET_WIDTHS_HPP
#define ULP_IO_SOURCE_BUCKET_WIDTHS_HPP

#include <cstdint>
#include <string>

#include <ulp/model/cells/cell_table.hpp>

namespace ulp::io {

// Means over the values of all tables that were added.
class bucket_widths {
 public:
  void add(const cell_table& table);
  // One line: the mean width of a bucket relative to its greatest magnitude, the share of values whose binade is not
  // certain, and the share of those that may be zero with how far their buckets reach.
  [[nodiscard]] std::string text() const;

 private:
  double values_ = 0;
  double relative_ = 0;
  double binade_unknown_ = 0;
  double maybe_zero_ = 0;
  double least_reach_ = 0;  // of buckets that hold zero
  double greatest_reach_ = 0;
  std::uint64_t not_in_buckets_ = 0;
  std::uint64_t tables_with_those_ = 0;
};

}  // namespace ulp::io

#endif
