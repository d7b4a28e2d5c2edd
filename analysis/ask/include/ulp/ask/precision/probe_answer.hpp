// What `ulp probe` asks: operands for a kernel, and which kernels give its results.
#ifndef ULP_ASK_PRECISION_PROBE_ANSWER_HPP
#define ULP_ASK_PRECISION_PROBE_ANSWER_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/model/precision/probe.hpp>

namespace ulp {

// Writes a .npz: `a` and `b` [rows, depth], numbers of the format in float32; `a_codes`, `b_codes` the same as codes, of tf32
// as bits of float32; `format`, which only kernels_behind reads. Returns how many rows. Throws input_error,
// std::invalid_argument.
std::size_t write_probe(const std::string& path, const std::string& format_name, std::uint64_t depth);

struct probe_answer {
  format operands;
  std::size_t depth = 0;
  std::size_t rows = 0;
  std::size_t candidates = 0;
  std::vector<probed_kernel> kernels;  // none differs, or all do
  std::vector<pair_reach> reaches;

  [[nodiscard]] bool is_known() const noexcept { return !kernels.empty() && kernels.front().differing == 0; }
};

// `results`: a dump of one array, a result for each row of the probe, or the product of a with the transposed b, whose
// diagonal these are. Throws input_error, std::invalid_argument.
[[nodiscard]] probe_answer kernels_behind(const std::string& probe, const std::string& results, const run_text& run,
                                          listener& to);

}  // namespace ulp

#endif
