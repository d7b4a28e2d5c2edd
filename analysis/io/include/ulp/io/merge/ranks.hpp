// Whose data the rows of a recording hold, and what that makes of their counts.
#ifndef ULP_IO_MERGE_RANKS_HPP
#define ULP_IO_MERGE_RANKS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <ulp/io/source/source.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp {

// Whether every rank's rows are the same whole gradients: those of a single rank, and of replicas that were reduced.
[[nodiscard]] bool holds_the_same(const run_header& header) noexcept;

// Whether a row holds all of its step: else parts of tensors (shards), or the gradients of ranks (local ones), are
// missing.
[[nodiscard]] bool is_complete(const run_header& header, const std::vector<std::uint32_t>& ranks) noexcept;

// "rank 3", "ranks 0-3,7"; for people.
[[nodiscard]] std::string name_of_ranks(const std::vector<std::uint32_t>& ranks);

// What a user should know about the ranks of the rows that were read.
class rank_coverage {
 public:
  explicit rank_coverage(run_header header) : header_(std::move(header)) {}
  void see(const step_key& key, const std::vector<std::uint32_t>& ranks);

  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint64_t incomplete() const noexcept { return incomplete_; }
  // "3 of 800 steps lack ranks, the first is step 5, which has rank 0 of 4"; empty where all are complete.
  [[nodiscard]] std::string text() const;

  // For who counts the rows of `input`: that ranks are missing; that ranks were added together, or reduced; empty where not so.
  [[nodiscard]] std::string warning(const std::string& input) const;
  [[nodiscard]] std::string note(const std::string& input) const;

 private:
  run_header header_;
  std::uint64_t rows_ = 0;
  std::uint64_t incomplete_ = 0;
  bool several_ = false;
  step_key first_;
  std::vector<std::uint32_t> first_ranks_;
};

}  // namespace ulp

#endif
