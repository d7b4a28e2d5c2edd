// Loops over arrays, measured in turns with a reference: the ratio of both in a row is what stays on a noisy machine.
#ifndef ULP_BENCH_IN_TURNS_HPP
#define ULP_BENCH_IN_TURNS_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace ulp::bench {

// N(0,1), of a counter.
inline double normal(std::uint64_t i) {
  const auto uniform = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
  };
  return std::sqrt(-2 * std::log(uniform(i * 0x9E3779B97F4A7C15))) *
         std::cos(6.283185307179586 * uniform(~i * 0xD1B54A32D192ED03));
}
inline float unit(std::uint64_t i) { return static_cast<float>(normal(i)); }
// Log-normal about float16's smallest normal number, so that half of them are below it.
inline float gradient(std::uint64_t i) {
  return static_cast<float>(std::exp2(-14 + 4 * normal(i)) * (normal(i + (std::uint64_t{1} << 40)) < 0 ? -1 : 1));
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of this thread: what others do on the machine is left out as far as it can be.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Of all threads together, with what others do on the machine.
inline double wall_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct row {
  std::string name;
  double asked = 0;  // of the reference's speed; 0: nothing
  std::function<void()> run;
};

// Prints, for each row, the median of its times for an element, and of the reference's time in the same turn over its own.
inline void measure(const std::string& title, const row& reference, const std::vector<row>& rows, std::size_t elements,
                    int rounds, int calls, double (*clock)() = processor_seconds) {
  const auto seconds_of = [&](const row& r) {
    const double start = clock();
    for (int i = 0; i < calls; ++i) r.run();
    return (clock() - start) / calls;
  };
  std::vector<double> of_reference;
  std::vector<std::vector<double>> seconds(rows.size());
  std::vector<std::vector<double>> ratios(rows.size());
  for (int round = 0; round <= rounds; ++round)
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double before = seconds_of(reference);
      const double own = seconds_of(rows[i]);
      if (round == 0) continue;
      of_reference.push_back(before);
      seconds[i].push_back(own);
      ratios[i].push_back(before / own);
    }
  const auto nanoseconds = [&](const std::vector<double>& all) {
    return median(all) / static_cast<double>(elements) * 1e9;
  };
  std::printf("%s, %zu elements: %s %.3f ns\n", title.c_str(), elements, reference.name.c_str(),
              nanoseconds(of_reference));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double ratio = median(ratios[i]);
    std::printf("  %-50s %7.3f ns %6.3f x", rows[i].name.c_str(), nanoseconds(seconds[i]), ratio);
    if (rows[i].asked != 0) std::printf("   asked %.3f%s", rows[i].asked, ratio >= rows[i].asked ? "" : "  MISSED");
    std::printf("\n");
  }
}

}  // namespace ulp::bench

#endif
