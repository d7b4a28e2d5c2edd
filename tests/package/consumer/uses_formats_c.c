#include <stdio.h>
#include <ulp/formats/ulp.h>

int main(void) {
  const float gradients[3] = {1.0F, 0x1p-39F, 1e-30F};
  uint16_t codes[3];
  ulp_counts counts = {0, 0, 0, 0, 0, 0};
  ulp_format cb16;
  ulp_numbers numbers;
  ulp_sum sum;
  if (ulp_format_by_name("cbfloat16", &cb16) != ULP_OK ||
      ulp_encode_floats(&cb16, gradients, 3, codes, sizeof *codes, NULL, &counts) != ULP_OK) {
    fprintf(stderr, "%s\n", ulp_last_error());
    return 1;
  }
  numbers.format = cb16;
  numbers.elements = codes;
  numbers.count = 3;
  numbers.bytes = sizeof *codes;
  if (ulp_dot(&numbers, NULL, NULL, NULL, &sum) != ULP_OK) return 1;
  return ulp_c_version() == ULP_C_VERSION && codes[0] == 0x3E00 && codes[1] == 1 && codes[2] == 0 &&
                 counts.newly_zero == 1 && sum.code == 0x3F800000
             ? 0
             : 1;
}
