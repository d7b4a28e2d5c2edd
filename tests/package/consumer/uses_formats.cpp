#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/text.hpp>

int main() {
  // Between 1 and the next float16, 1 + 2^-10.
  const ulp::encoded third = ulp::encode(ulp::float16, 1 + 1.0 / 3072);
  return third.code == 0x3c00 && third.flags == ulp::status::inexact && ulp::find_format("cb16") == ulp::cbfloat16 ? 0
                                                                                                                   : 1;
}
