// The kernels of python/device/quantize.cu and convert.cu by name, run on the host: their bodies, thread after thread, the last one first.
#ifndef ULP_TESTS_DEVICE_QUANTIZE_ON_HOST_HPP
#define ULP_TESTS_DEVICE_QUANTIZE_ON_HOST_HPP

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "device/by_codec.hpp"
#include "device/rounding.hpp"

namespace ulp::device {

// Argument i as cuLaunchKernel takes them: pointers to the values.
class arguments {
 public:
  arguments(void* const* all, std::uint64_t threads) : all_(all), threads_(threads) {}
  template <class T>
  [[nodiscard]] const T& at(int i) const {
    return *static_cast<const T*>(all_[i]);
  }
  template <class Do>
  void each_thread(Do what) const {
    for (std::uint64_t t = threads_; t-- > 0;) what(t, threads_);
  }

 private:
  void* const* all_;
  std::uint64_t threads_;
};

namespace kernels {

using rounding_body = void (*)(std::uint64_t, std::uint64_t, const rounding_plan&, const std::uint32_t*, std::uint32_t*,
                               std::uint64_t);
template <rounding_body Body>
void round(const arguments& of) {
  of.each_thread([&](std::uint64_t t, std::uint64_t n) {
    Body(t, n, of.at<rounding_plan>(0), of.at<const std::uint32_t*>(1), of.at<std::uint32_t*>(2),
         of.at<std::uint64_t>(3));
  });
}
inline void convert(const arguments& of) {
  of.each_thread([&](std::uint64_t t, std::uint64_t n) {
    convert_by_codec(t, n, of.at<codec_plan>(0), of.at<const void*>(1), of.at<void*>(2), of.at<std::uint64_t>(3));
  });
}
inline void outcomes(const arguments& of) {
  auto* const all = of.at<std::uint64_t*>(2);
  of.each_thread([&](std::uint64_t t, std::uint64_t n) {
    const outcome_counts mine =
        count_by_codec(t, n, of.at<codec_plan>(0), of.at<const void*>(1), of.at<std::uint64_t>(3));
    const std::uint64_t each[] = {mine.zeros, mine.newly_zero, mine.subnormal, mine.inexact, mine.overflowed, mine.nan};
    for (int i = 0; i < 6; ++i) all[i] += each[i];
  });
}
inline void find_beyond(const arguments& of) {
  std::uint64_t& first = *of.at<std::uint64_t*>(3);
  of.each_thread([&](std::uint64_t t, std::uint64_t n) {
    const std::uint64_t mine =
        first_beyond(t, n, of.at<const void*>(0), of.at<int>(1), of.at<std::uint64_t>(2), of.at<std::uint64_t>(4));
    if (mine < first) first = mine;
  });
}

}  // namespace kernels

// Whether there is such a kernel; then it has run.
inline bool run_kernel(std::string_view name, std::uint64_t threads, void* const* all) {
  using row = std::pair<const std::string_view, void (*)(const arguments&)>;
#define ULP_ROWS(way)                                                         \
  row(#way "_by_sums", kernels::round<round_numbers<direction::way, false>>), \
      row(#way "_in_bits", kernels::round<round_numbers<direction::way, true>>)
#define ULP_STOCHASTIC_ROWS(width)                                                         \
  row("stochastic" #width "_by_sums", kernels::round<round_stochastically<width, false>>), \
      row("stochastic" #width "_in_bits", kernels::round<round_stochastically<width, true>>)
  static const std::map<std::string_view, void (*)(const arguments&)> rows{
      ULP_ROWS(nearest_even),
      ULP_ROWS(nearest_away),
      ULP_ROWS(toward_zero),
      ULP_ROWS(toward_positive),
      ULP_ROWS(toward_negative),
      ULP_ROWS(to_odd),
      ULP_STOCHASTIC_ROWS(8),
      ULP_STOCHASTIC_ROWS(16),
      ULP_STOCHASTIC_ROWS(32),
      row("convert", kernels::convert),
      row("outcomes", kernels::outcomes),
      row("find_beyond", kernels::find_beyond),
  };
#undef ULP_ROWS
#undef ULP_STOCHASTIC_ROWS
  const auto found = rows.find(name);
  if (found == rows.end()) return false;
  found->second({all, threads});
  return true;
}

}  // namespace ulp::device

#endif
