// How fast arrays are converted, as a multiple of the speed at which memcpy moves the same floats, which takes turns with
// every loop: on one thread, of elements that are gradient-like and N(0,1). Pages are touched before. Other libraries'
// conversions of the same floats stand below.
//   build/release/tests/bench/convert_bench [TARGET] [ROUNDS]
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/names.hpp>

#include "in_turns.hpp"
#include "peers.hpp"

namespace {

using namespace ulp;
using namespace ulp::bench;

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

void measure_all(const char* data, float (*element)(std::uint64_t), std::size_t size, int rounds) {
  const bool large = size > std::size_t{1} << 20;
  const buffer in{4 * size};
  const buffer out{4 * size};
  const std::span<float> x = in.as<float>(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = element(i);
  std::vector<row> rows;
  const row copy{"memcpy", 0, [&] { std::memcpy(out.as<float>(size).data(), x.data(), 4 * size); }};
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
  for (const named& f : formats)
    for (const rounding& mode : {rounding{},
                                 {.direction = direction::toward_negative},
                                 {.direction = direction::nearest_away},
                                 {.direction = direction::stochastic, .random_bits = 16}})
      rows.push_back(
          {std::string{f.name} + " as floats, " + to_string(mode),
           mode.direction == direction::stochastic ? (large ? 0.45 : 0)
           : large                                 ? 0.8
           : mode == rounding{}                    ? 0.5
                                                   : 0,
           [=, &x, &out] { round_array(f.format, x, out.as<float>(size), {.rounding = mode, .threads = 1}); }});
  rows.push_back({"float16, in place", 0, [&] { round_array(float16, x, out.as<float>(size), {.threads = 1}); }});
  for (const peer& other : peers())
    rows.push_back(
        {other.name, 0, [=, &x, &out] { other.encode(x.data(), out.as<std::uint16_t>(size).data(), size); }});
  measure(data, copy, rows, size, rounds, large ? 1 : 20);
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
  for (const std::size_t size : {std::size_t{1} << 14, std::size_t{1} << 26}) {
    const int here = size > std::size_t{1} << 20 ? rounds : 10 * rounds;
    measure_all("gradient-like", gradient, size, here);
    measure_all("N(0,1)", unit, size, here);
  }
  return 0;
}
