// How a kernel adds dot products, from its results: operands that tell matrix units, orders and splits apart, and which of
// them give the results that it gave. docs/precision.md has the idea and what it cannot tell.
#ifndef ULP_MODEL_PRECISION_PROBE_HPP
#define ULP_MODEL_PRECISION_PROBE_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ulp/model/precision/dot_error.hpp>

namespace ulp {

// Rows of `depth` codes.
struct probe_operands {
  format of;
  std::size_t depth = 0;
  std::vector<std::uint32_t> a;
  std::vector<std::uint32_t> b;
  std::size_t pairs = 0;  // so many rows at the end are of pairs: see probes()

  [[nodiscard]] std::size_t rows() const noexcept { return a.size() / depth; }
};

// The same for the same format and depth, at least 2; as many rows as a multiple of 64. The first are random: numbers of one
// binade and of many, of both signs and of one. Then a large number, the same taken away at another place, and one small
// number everywhere else: sums lose those that meet the large number alone (Xie, Gao, Yang, "FPRev", arXiv 2411.00442).
[[nodiscard]] probe_operands probes(const format& of, std::size_t depth);

// Products in sums of their own, as the order has them; these in float32 to nearest even, one after the other, and so are
// the sums of the parts. Numbers are those of groups: of as many products as the unit adds at once, else of one.
using group_list = std::vector<std::uint32_t>;
using grouped_parts = std::vector<std::vector<group_list>>;

struct kernel_candidate {
  std::vector<std::string> names;  // of dot_orders that add so
  dot_order order;
  std::size_t group = 1;
  grouped_parts parts;              // without any: all groups in one sum
  std::vector<std::string> orders;  // what gives these parts, in words: "one sum", "4 groups, then float32; split in 2"
  std::optional<format> output;     // what results are rounded to at last, to nearest even
};

// Of results that are numbers of such an output, where one is given.
[[nodiscard]] std::vector<kernel_candidate> kernel_candidates(const format& of, std::size_t depth,
                                                              std::span<const format> outputs = {});

// What the kernel gives for a row of a and of b.
[[nodiscard]] double result_of(const kernel_candidate& kernel, const format& of, std::span<const std::uint32_t> a,
                               std::span<const std::uint32_t> b);

struct probed_kernel {
  kernel_candidate kernel;
  std::size_t differing = 0;  // results; zeros of both signs are equal, and so are all NaNs
};

// Those that give all results; where there are none, the nearest few. Throws std::invalid_argument where there is not a
// result for each row.
[[nodiscard]] std::vector<probed_kernel> kernels_that_give(const probe_operands& x, std::span<const double> results,
                                                           std::size_t& candidates);

// Whatever the kernel is: how many of the products of a pair's row meet the large number before it is taken away again, by
// the place where that is; nothing where the result is no number of small ones.
struct pair_reach {
  std::size_t first = 0;  // places first to last, with the large number at 0
  std::size_t last = 0;
  std::optional<std::size_t> products;
};
[[nodiscard]] std::vector<pair_reach> reaches_of(const probe_operands& x, std::span<const double> results);

}  // namespace ulp

#endif
