#include <ulp/formats/catalog.hpp>
#include <ulp/formats/check.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/dot.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/text.hpp>
#include <vector>

int main() {
  // Between 1 and the next float16, 1 + 2^-10.
  const ulp::encoded third = ulp::encode(ulp::float16, 1 + 1.0 / 3072);
  const bool rounds = third.code == 0x3c00 && third.flags == ulp::status::inexact;
  const bool finds = ulp::find_format("cb16") == ulp::cbfloat16;
  // Links threads.
  const auto same = ulp::check(ulp::operation::convert, ulp::float16, ulp::check_inputs::all,
                               [](std::uint16_t code) { return code; });
  const std::vector<float> halves(2048, 0.5F);
  const bool stalls = ulp::sum(halves, {.accumulator = ulp::float16}, ulp::float16, 0x6400).code == 0x6400;
  return rounds && finds && same.agrees() && stalls ? 0 : 1;
}
