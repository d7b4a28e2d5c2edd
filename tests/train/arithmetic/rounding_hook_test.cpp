// Pins that values are rounded as the codec rounds them, whichever way is taken, and that random bits are those documented.
#include <ulp/train/rounding_hook.hpp>

#include <bit>
#include <cmath>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/random_bits.hpp>
#include <vector>

#include "support/catch.hpp"

using namespace ulp;

namespace {

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

// Every `stride`th float; and each number of the format, the middle between it and the next, and the floats beside both.
std::vector<float> inputs_for(const format& f, std::uint32_t stride) {
  std::vector<float> all;
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += stride)
    all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (std::uint64_t c = 0; c <= f.max_finite_code(); ++c) {
    const float x = to_float(f, code{c});
    const float next = c == f.max_finite_code() ? 2 * x - to_float(f, code{c - 1}) : to_float(f, code{c + 1});
    for (const float at : {x, x / 2 + next / 2})
      for (const float near : {std::nextafter(at, 0.0F), at, std::nextafter(at, INFINITY)})
        all.insert(all.end(), {near, -near});
  }
  return all;
}

}  // namespace

TEST_CASE("rounding by float operations is the codec's") {
  for (const char* const name :
       {"float16", "bfloat16", "cbfloat16", "float8_e5m2", "e4m3", "e8m10", "e2m1", "e6m9,bias=40"}) {
    CAPTURE(name);
    const format f = *find_format(name);
    const std::vector<float> inputs = inputs_for(f, 65521 / 2);
    std::vector<float> rounded = inputs;
    round_values(rounded, {f});
    std::size_t different = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      different += same(rounded[i], to_float(f, code{encode(f, inputs[i]).code})) ? 0 : 1;
    CHECK(different == 0);
  }
}

TEST_CASE("other formats and roundings are rounded too") {
  const std::vector<float> inputs{0.1F, -0.1F, 1e9F, 1e-9F, INFINITY, -448, 464.1F};
  for (const char* const name : {"float16", "float8_e4m3fn", "float4_e2m1", "float32"})
    for (const char* const direction : {"nearest-even", "toward-zero", "to-odd", "toward-positive"}) {
      CAPTURE(name, direction);
      const format f = *find_format(name);
      const rounding mode = *parse_rounding(direction);
      std::vector<float> rounded = inputs;
      round_values(rounded, {f, mode});
      for (std::size_t i = 0; i < inputs.size(); ++i)
        CHECK(same(rounded[i], to_float(f, code{encode(f, inputs[i], mode).code})));
    }
}

TEST_CASE("low tensors are rounded, float32 ones stay; random bits belong to the site") {
  const rounding mode = *parse_rounding("stochastic:A,bits=8");
  low_rounding hook({float16, mode}, 7);
  CHECK(hook.through() == "float16");
  site at{.kind = site_kind::weight_grad, .role = tensor_role::float32, .tensor = "w", .step = 3, .microbatch = 1};
  std::vector<float> values(100, 1 + 0x1p-12F);
  const std::vector<float> before = values;
  hook.round(at, values);
  CHECK(values == before);
  at.role = tensor_role::low;
  hook.round(at, values);
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(values[i] == to_float(float16, code{encode(float16, before[i], mode,
                                                     random_bits(7, stream_of("weight_grad/w", (3 << 20) + 1), i, 8))
                                                  .code}));
}
