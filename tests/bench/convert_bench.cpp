// How fast arrays are converted, as a multiple of the speed at which memcpy moves the same floats: on one thread, medians of
// rounds in which every loop and memcpy take turns. Pages are touched before. Elements are gradient-like (log-normal about
// float16's smallest normal number, so that half of them are below it) and N(0,1).
//   build/release/tests/bench/convert_bench [TARGET] [ROUNDS]
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/names.hpp>

namespace {

using namespace ulp;

// Zeroed, on pages of their own, and large ones as numpy asks for: how two arrays lie to each other changes memcpy's speed
// several times, and small pages halve that of memory.
class buffer {
 public:
  explicit buffer(std::size_t bytes)
      : data_(std::aligned_alloc(bytes >= huge ? huge : page, (bytes + page - 1) / page * page)) {
    if (data_ == nullptr) std::abort();
#if defined(__linux__)
    if (bytes >= huge) madvise(data_, bytes, MADV_HUGEPAGE);
#endif
    std::memset(data_, 0, bytes);
  }
  ~buffer() { std::free(data_); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  template <class T>
  [[nodiscard]] std::span<T> as(std::size_t size) const {
    return {static_cast<T*>(data_), size};
  }

 private:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t huge = std::size_t{1} << 21;
  void* data_;
};

double normal(std::uint64_t i) {
  const auto uniform = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
  };
  return std::sqrt(-2 * std::log(uniform(i * 0x9E3779B97F4A7C15))) *
         std::cos(6.283185307179586 * uniform(~i * 0xD1B54A32D192ED03));
}

float gradient(std::uint64_t i) {
  return static_cast<float>(std::exp2(-14 + 4 * normal(i)) * (normal(i + (std::uint64_t{1} << 40)) < 0 ? -1 : 1));
}

struct row {
  std::string name;
  double asked = 0;  // 0: nothing
  std::function<void()> run;
  std::vector<double> seconds{};
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of this thread: what others do on the machine is left out as far as it can be.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void measure(std::vector<row>& rows, int rounds, int calls) {
  for (int round = 0; round <= rounds; ++round)
    for (row& r : rows) {
      const double start = processor_seconds();
      for (int i = 0; i < calls; ++i) r.run();
      if (round != 0) r.seconds.push_back((processor_seconds() - start) / calls);
    }
}

void bench(const char* data, float (*element)(std::uint64_t), std::size_t size, int rounds) {
  const bool large = size > std::size_t{1} << 20;
  const buffer in{4 * size};
  const buffer out{4 * size};
  const std::span<float> x = in.as<float>(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = element(i);
  std::vector<row> rows;
  rows.push_back({"memcpy", 0, [&] { std::memcpy(out.as<float>(size).data(), x.data(), 4 * size); }});
  const auto codes_of = [&](const format& f) {
    return f.width() <= 8 ? code_span{out.as<std::uint8_t>(size)} : code_span{out.as<std::uint16_t>(size)};
  };
  conversion_counts counts;
  const auto add = [&](const char* name, const format& f, const rounding& mode, double asked, bool counting = false) {
    rows.push_back({std::string{name} + ", " + to_string(mode) + (counting ? ", counts" : ""), asked, [=, &counts, &x] {
                      encode_array(f, x, codes_of(f), {.rounding = mode, .threads = 1}, counting ? &counts : nullptr);
                    }});
  };
  struct named {
    const char* name;
    ulp::format format;
  };
  const named formats[] = {
      {"float16", float16}, {"bfloat16", bfloat16}, {"cbfloat16", cbfloat16}, {"float8_e4m3fn", float8_e4m3fn}};
  for (const named& f : formats) {
    add(f.name, f.format, {}, large ? 1.15 : 0.45);
    for (const direction way : {direction::nearest_away, direction::toward_zero, direction::toward_positive,
                                direction::toward_negative, direction::to_odd})
      add(f.name, f.format, {.direction = way}, large ? 0.9 : 0);
    add(f.name, f.format, {}, large ? 0.7 : 0, true);
    add(f.name, f.format, {.direction = direction::toward_negative}, 0, true);
    for (const int bits : {8, 16, 32})
      add(f.name, f.format, {.direction = direction::stochastic, .random_bits = bits},
          !large       ? 0
          : bits == 16 ? 0.6
          : bits == 8  ? 0.75
                       : 0);
  }
  const buffer codes{2 * size};
  for (const named& f : formats) {
    const bool narrow = f.format.width() <= 8;
    if (narrow) encode_array(f.format, x, codes.as<std::uint8_t>(size));
    rows.push_back({std::string{f.name} + " to float", large ? 1.0 : 0, [=, &codes, &out] {
                      const const_code_span from = narrow ? const_code_span{codes.as<std::uint8_t>(size)}
                                                          : const_code_span{codes.as<std::uint16_t>(size)};
                      decode_array(f.format, from, out.as<float>(size), 1);
                    }});
  }
  rows.push_back({"float16, in place", 0, [&] { round_array(float16, x, out.as<float>(size), {.threads = 1}); }});
  measure(rows, rounds, large ? 1 : 20);
  const double copy = median(rows[0].seconds);
  std::printf("%s, %zu elements: memcpy %.3f ns\n", data, size, copy / static_cast<double>(size) * 1e9);
  for (const row& r : std::span{rows}.subspan(1)) {
    const double ratio = copy / median(r.seconds);
    std::printf("  %-50s %6.3f ns %6.2f x", r.name.c_str(), median(r.seconds) / static_cast<double>(size) * 1e9, ratio);
    if (r.asked != 0) std::printf("   asked %.2f%s", r.asked, ratio >= r.asked ? "" : "  MISSED");
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
#if !defined(__OPTIMIZE__)
  std::fputs("a debug build measures nothing\n", stderr);
  return 2;
#endif
  if (argc > 1) force_target(argv[1]);
  std::printf("target %s\n", argc > 1 ? argv[1] : std::string{targets().back()}.c_str());
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  const auto unit = [](std::uint64_t i) { return static_cast<float>(normal(i)); };
  for (const std::size_t size : {std::size_t{1} << 14, std::size_t{1} << 26}) {
    const int here = size > std::size_t{1} << 20 ? rounds : 10 * rounds;
    bench("gradient-like", gradient, size, here);
    bench("N(0,1)", unit, size, here);
  }
  return 0;
}
