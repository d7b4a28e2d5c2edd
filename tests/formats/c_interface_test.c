/* Pins ulp.h from C: that each function does what its C++ namesake does, by facts that other tests pin, and what is refused. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ulp/formats/ulp.h>

static int checks = 0;
static int failures = 0;

static void check_at(int passed, const char* what, int line) {
  ++checks;
  if (passed) return;
  ++failures;
  printf("line %d: %s\n  last error: %s\n", line, what, ulp_last_error());
}
#define CHECK(what) check_at((what) != 0, #what, __LINE__)
#define OK(call) check_at((call) == ULP_OK, #call, __LINE__)
/* The call fails, and says why in words that hold `part`. */
#define REFUSED(call, part) \
  check_at((call) == ULP_INVALID_ARGUMENT && strstr(ulp_last_error(), part) != NULL, #call, __LINE__)

static ulp_format format_of(const char* name) {
  ulp_format f;
  memset(&f, 0, sizeof f);
  OK(ulp_format_by_name(name, &f));
  return f;
}

static void formats_and_roundings(void) {
  const ulp_format float16 = format_of("float16");
  const ulp_format e4m3 = format_of("e4m3fn");
  char name[64];
  char short_name[4];
  size_t needed = 0;
  int32_t width = 0;
  ulp_rounding r;
  ulp_format f;
  CHECK(float16.exponent_bits == 5 && float16.fraction_bits == 10 && float16.bias == 15 && float16.has_sign == 1);
  CHECK(float16.top == ULP_SPECIALS_IEEE && float16.bottom == ULP_LOWEST_SUBNORMALS);
  CHECK(e4m3.top == ULP_SPECIALS_NAN_ALL_ONES);
  CHECK(format_of("dlfloat16").bottom == ULP_LOWEST_NORMALS_AND_ZERO);
  OK(ulp_format_name(&e4m3, name, sizeof name, &needed));
  CHECK(strcmp(name, "float8_e4m3fn") == 0 && needed == strlen(name) + 1);
  OK(ulp_format_name(&e4m3, short_name, sizeof short_name, NULL));
  CHECK(strcmp(short_name, "flo") == 0);
  OK(ulp_format_name(&e4m3, NULL, 0, &needed));
  CHECK(needed == 14);
  OK(ulp_format_width(&e4m3, &width));
  CHECK(width == 8);
  REFUSED(ulp_format_by_name("float17", &f), "float17");
  REFUSED(ulp_format_by_name(NULL, &f), "null");
  REFUSED(ulp_format_by_name("float16", NULL), "null");
  f = float16;
  f.bias = INT32_MIN;
  REFUSED(ulp_format_width(&f, &width), "not valid");
  f.bias = 15;
  f.top = 5;
  REFUSED(ulp_format_width(&f, &width), "specials");
  f = float16;
  f.withheld = 0x7800;
  REFUSED(ulp_format_width(&f, &width), "not valid");
  f = float16;
  f.has_sign = 2;
  REFUSED(ulp_format_width(&f, &width), "has_sign");
  OK(ulp_rounding_by_name("stochastic:B,bits=8", &r));
  CHECK(r.direction == ULP_STOCHASTIC && r.definition == ULP_STOCHASTIC_B && r.random_bits == 8);
  REFUSED(ulp_rounding_by_name("upwards", &r), "upwards");
}

static void largest_numbers_of_ones_own(void) {
  const ulp_format to_224 = format_of("e4m3fnuz,max=224");
  const ulp_format p3109 = format_of("binary8p3se");
  ulp_rounding saturating = {
      ULP_NEAREST_EVEN, ULP_OVERFLOW_SATURATE, ULP_FLUSH_NEVER, 0, ULP_TININESS_AFTER_ROUNDING, 0, 0};
  ulp_result result;
  ulp_format f;
  char name[64];
  double x;
  CHECK(to_224.withheld == 1 && p3109.withheld == 0);
  CHECK(p3109.top == ULP_SPECIALS_NAN_NEGATIVE_ZERO_AND_INFINITY);
  OK(ulp_format_name(&to_224, name, sizeof name, NULL));
  CHECK(strcmp(name, "float8_e4m3fnuz,max=224") == 0);
  OK(ulp_encode(&to_224, 230, NULL, NULL, &result));
  CHECK(result.code == 0x7E && result.flags == ULP_INEXACT);
  OK(ulp_encode(&to_224, 240, NULL, NULL, &result));
  CHECK(result.code == 0x80 && result.flags == (ULP_OVERFLOW | ULP_INEXACT));
  OK(ulp_encode(&to_224, -240, &saturating, NULL, &result));
  CHECK(result.code == 0xFE && result.flags == (ULP_OVERFLOW | ULP_INEXACT));
  OK(ulp_decode(&to_224, 0x7F, &x));
  CHECK(x == 240);
  REFUSED(ulp_format_by_name("e4m3fnuz,max=230", &f), "the nearest are 224 and 240");
}

static void single_numbers(void) {
  const ulp_format float16 = format_of("float16");
  const ulp_format float32 = format_of("float32");
  const ulp_format e8m0 = format_of("e8m0");
  const uint64_t ones[3] = {0x3C00, 0x3C00, 0x3C00};
  const uint64_t one_and_zero[3] = {0x3C00, 0, 0};
  const uint64_t ones_and_two[3] = {0x3C00, 0x3C00, 0x40000000};
  const uint64_t minus_one_and_a_half[3] = {0xBE00, 0, 0};
  const uint64_t minus_one[3] = {UINT64_MAX, 0, 0}; /* an integer */
  const uint32_t all_bits = 255;
  ulp_random_words random;
  ulp_rounding r;
  ulp_result result;
  double x = 0;
  OK(ulp_encode(&float16, 65520, NULL, NULL, &result));
  CHECK(result.code == 0x7C00 && result.flags == (ULP_OVERFLOW | ULP_INEXACT));
  memset(&r, 0, sizeof r);
  r.overflow = ULP_OVERFLOW_SATURATE;
  OK(ulp_encode(&float16, 65520, &r, NULL, &result));
  CHECK(result.code == 0x7BFF);
  r.daz = 2;
  REFUSED(ulp_encode(&float16, 65520, &r, NULL, &result), "daz");
  memset(&r, 0, sizeof r);
  r.direction = ULP_STOCHASTIC;
  r.random_bits = 8;
  random.words = &all_bits;
  random.count = 1;
  OK(ulp_encode(&float16, 1 + 0x1p-18, &r, &random, &result));
  CHECK(result.code == 0x3C01);
  OK(ulp_encode(&float16, 1 + 0x1p-18, &r, NULL, &result));
  CHECK(result.code == 0x3C00 && result.flags == ULP_INEXACT);
  OK(ulp_decode(&float16, 0x3C01, &x));
  CHECK(x == 1 + 0x1p-10);
  OK(ulp_operate(ULP_FMA, &float32, &float16, ones, NULL, NULL, &result));
  CHECK(result.code == 0x40000000);
  OK(ulp_operate(ULP_DIV, &float16, &float16, one_and_zero, NULL, NULL, &result));
  CHECK(result.code == 0x7C00 && result.flags == ULP_DIVIDE_BY_ZERO);
  OK(ulp_operate(ULP_CONVERT, &float32, &float16, ones, NULL, NULL, &result));
  CHECK(result.code == 0x3F800000 && result.flags == 0);
  OK(ulp_operate(ULP_MAC, &float32, &float16, ones_and_two, NULL, NULL, &result));
  CHECK(result.code == 0x40400000);
  OK(ulp_operate(ULP_LT, &float16, &float16, one_and_zero, NULL, NULL, &result));
  CHECK(result.code == 0 && result.flags == 0);
  OK(ulp_operate(ULP_TO_I32, &float16, &float16, minus_one_and_a_half, NULL, NULL, &result));
  CHECK(result.code == 0xFFFFFFFE && result.flags == ULP_INEXACT);
  OK(ulp_operate(ULP_FROM_I64, &float16, &float16, minus_one, NULL, NULL, &result));
  CHECK(result.code == 0xBC00);
  REFUSED(ulp_operate(ULP_RINT, &float32, &float16, ones, NULL, NULL, &result), "one format");
  REFUSED(ulp_operate(ULP_FROM_I64 + 1, &float16, &float16, ones, NULL, NULL, &result), "operation");
  REFUSED(ulp_operate(ULP_ADD, &e8m0, &float16, ones, NULL, NULL, &result), "sign");
  r.random_bits = 33;
  REFUSED(ulp_encode(&float16, 1, &r, NULL, &result), "random_bits");
  r.random_bits = 8;
  r.direction = 256; /* what a byte would take for nearest-even */
  REFUSED(ulp_encode(&float16, 1, &r, NULL, &result), "direction");
  REFUSED(ulp_encode(&float16, 1, NULL, NULL, NULL), "result");
  OK(ulp_error_in_ulps(&float16, 0x3C00, 1 + 0x1p-12, &x));
  CHECK(x == 0.25);
}

static void random_numbers(void) {
  ulp_random_stream s;
  uint32_t values[40];
  uint32_t value = 0;
  uint64_t stream = 0;
  size_t i;
  s.seed = 7;
  s.stream = 3;
  s.first = 100;
  OK(ulp_fill_random_bits(&s, 16, values, 40));
  for (i = 0; i < 40; ++i) {
    OK(ulp_random_bits(7, 3, 100 + i, 16, &value));
    CHECK(value == values[i] && value < 65536);
  }
  OK(ulp_random_bits(0, 0, 0, 32, &value));
  CHECK(value == 0x6627E8D5); /* the first word of Random123's known answers for Philox4x32-10 of zeros */
  OK(ulp_stream_of("fc1.weight", 10, &stream));
  CHECK(stream != 0);
  REFUSED(ulp_random_bits(0, 0, 0, 33, &value), "bits");
  REFUSED(ulp_fill_random_bits(&s, 0, values, 1), "");
}

static void arrays(void) {
  const ulp_format float16 = format_of("float16");
  const ulp_format bfloat16 = format_of("bfloat16");
  const ulp_format fp4 = format_of("float4_e2m1");
  const float x[5] = {1.0F, -2.0F, 0x1p-26F, 70000.0F, 0.1F};
  const double y[2] = {1.0, 0x1p-24 + 0x1p-60};
  ulp_conversion how = ulp_default_conversion();
  ulp_counts counts;
  uint16_t codes[5];
  uint16_t others[5];
  uint8_t packed[3];
  float back[5];
  double wide[5];
  memset(&counts, 0, sizeof counts);
  counts.zeros = 100;
  OK(ulp_encode_floats(&float16, x, 5, codes, sizeof *codes, NULL, &counts));
  CHECK(codes[0] == 0x3C00 && codes[1] == 0xC000 && codes[2] == 0 && codes[3] == 0x7C00 && codes[4] == 0x2E66);
  CHECK(counts.zeros == 100 && counts.newly_zero == 1 && counts.overflowed == 1 && counts.inexact == 3);
  CHECK(counts.subnormal == 0 && counts.nan == 0);
  how.scale = 4;
  OK(ulp_encode_floats(&float16, x, 3, codes, sizeof *codes, &how, NULL));
  CHECK(codes[0] == 0x4400 && codes[2] == 1);
  OK(ulp_encode_doubles(&float16, y, 2, codes, sizeof *codes, NULL, NULL));
  CHECK(codes[0] == 0x3C00 && codes[1] == 1);
  OK(ulp_encode_floats(&float16, x, 5, codes, sizeof *codes, NULL, NULL));
  OK(ulp_decode_floats(&float16, codes, sizeof *codes, 5, back, 1));
  CHECK(back[0] == 1 && back[1] == -2 && back[2] == 0 && isinf(back[3]));
  OK(ulp_decode_doubles(&float16, codes, sizeof *codes, 5, wide, 1));
  CHECK(wide[4] == 0x1.998p-4);
  OK(ulp_round_floats(&bfloat16, x, 5, back, NULL, NULL));
  CHECK(back[4] == 0x1.9ap-4F && back[2] == 0x1p-26F);
  OK(ulp_recode(&bfloat16, others, sizeof *others, &float16, codes, sizeof *codes, 5, NULL, NULL));
  CHECK(others[0] == 0x3F80 && others[3] == 0x7F80);
  OK(ulp_encode_floats(&fp4, x, 5, packed, 0, NULL, NULL));
  CHECK(packed[0] == 0xC2 && packed[1] == 0x70 && packed[2] == 0x00);
  OK(ulp_encode_floats(&float16, NULL, 0, NULL, 2, NULL, NULL));
  REFUSED(ulp_encode_floats(&float16, NULL, 1, codes, 2, NULL, NULL), "null");
  REFUSED(ulp_encode_floats(&float16, x, 5, NULL, 2, NULL, NULL), "null");
  REFUSED(ulp_encode_floats(&float16, x, 5, codes, 3, NULL, NULL), "bytes");
  REFUSED(ulp_encode_floats(&float16, x, 5, codes, 1, NULL, NULL), "");
  how.scale = -1;
  REFUSED(ulp_encode_floats(&float16, x, 5, codes, 2, &how, NULL), "");
}

static void sums(void) {
  const ulp_format float16 = format_of("float16");
  const ulp_format float32 = format_of("float32");
  const ulp_format e4m3 = format_of("e4m3fn");
  /* Fasi et al.: four times 2^-24 beside 1, which a V100 loses. */
  const uint16_t ones[4] = {0x3C00, 0x3C00, 0x3C00, 0x3C00};
  const uint16_t tiny[4] = {1, 1, 1, 1};
  const double many[3] = {1e300, 1, -1e300};
  ulp_accumulation how = ulp_default_accumulation();
  ulp_numbers a;
  ulp_numbers b;
  ulp_numbers d;
  ulp_number c;
  ulp_numbers e;
  ulp_numbers a_scales;
  ulp_numbers b_scales;
  const uint8_t of_e5m2[4] = {0x3C, 0x3C, 0x3C, 0x3C};
  const uint8_t two = 128;
  const uint8_t four = 129;
  ulp_sum sum;
  ulp_result result;
  float value = 0;
  uint32_t word = 0;
  a.format = float16;
  a.elements = ones;
  a.count = 4;
  a.bytes = 2;
  b = a;
  b.elements = tiny;
  c.format = float32;
  c.code = 0x3F800000;
  OK(ulp_dot(&a, &b, NULL, &c, &sum));
  CHECK(sum.code == 0x3F800000 && sum.flags == ULP_INEXACT && sum.format.fraction_bits == 23);
  OK(ulp_dot(&b, NULL, NULL, NULL, &sum));
  word = (uint32_t)sum.code;
  memcpy(&value, &word, sizeof value);
  CHECK(value == 0x1p-22F && sum.flags == 0);
  OK(ulp_tensor_core("volta", &float16, &how));
  CHECK(how.order == ULP_BLOCKS && how.order_size == 4 && how.aligned == 1 && how.align_bits == 23);
  OK(ulp_dot(&a, &b, &how, &c, &sum));
  CHECK(sum.code == 0x3F800000);
  OK(ulp_exact_dot(&float32, &a, &b, NULL, NULL, &c, &result));
  CHECK(result.code == 0x3F800002 && result.flags == 0);
  OK(ulp_tensor_core("hopper", &e4m3, &how));
  CHECK(how.accumulator.fraction_bits == 13 && how.products.exponent_bits == 0);
  OK(ulp_unit_dot("V100", NULL, 0, &a, &b, &c, &sum));
  CHECK(sum.code == 0x3F800000 && sum.format.exponent_bits == 8);
  OK(ulp_unit_dot("MI300X", NULL, 1, &a, &b, NULL, &sum));
  CHECK(sum.code == 0x34800000);
  OK(ulp_unit_dot("H100", &float16, 0, &a, &b, NULL, &sum));
  CHECK(sum.code == 4 && sum.format.exponent_bits == 5);
  REFUSED(ulp_unit_dot("H100", &e4m3, 0, &a, &b, NULL, &sum), "H100");
  REFUSED(ulp_unit_dot("H100", NULL, 0, NULL, &b, NULL, &sum), "null");
  REFUSED(ulp_tensor_core("MI300X", &float16, &how), "MI300X");
  /* 4 products of 1 with the scales 2 and 4. */
  e.format = format_of("float8_e5m2");
  e.elements = of_e5m2;
  e.count = 4;
  e.bytes = 1;
  a_scales.format = format_of("float8_e8m0");
  a_scales.elements = &two;
  a_scales.count = 1;
  a_scales.bytes = 1;
  b_scales = a_scales;
  b_scales.elements = &four;
  OK(ulp_scaled_unit_dot("B200", &e, &e, &a_scales, &b_scales, 32, &c, &sum));
  CHECK(sum.code == 0x42040000 && sum.flags == 0 && sum.format.fraction_bits == 23);
  REFUSED(ulp_scaled_unit_dot("B200", &e, &e, &a_scales, &b_scales, 16, NULL, &sum), "of 16");
  REFUSED(ulp_scaled_unit_dot("H100", &e, &e, &a_scales, &b_scales, 32, NULL, &sum), "H100");
  e.count = 0;
  REFUSED(ulp_scaled_unit_dot("B200", &e, &e, &a_scales, &b_scales, 32, NULL, &sum), "scale for each block");
  REFUSED(ulp_scaled_unit_dot("B200", &e, &e, &a_scales, NULL, 32, NULL, &sum), "null");
  d.format = format_of("float64");
  d.elements = many;
  d.count = 3;
  d.bytes = 8;
  OK(ulp_exact_dot(&float16, &d, NULL, NULL, NULL, NULL, &result));
  CHECK(result.code == 0x3C00);
  REFUSED(ulp_tensor_core("volta", &e4m3, &how), "volta");
  REFUSED(ulp_dot(&a, &d, NULL, NULL, &sum), "sizes");
  REFUSED(ulp_dot(NULL, &b, NULL, NULL, &sum), "null");
  REFUSED(ulp_dot(&a, &b, NULL, NULL, NULL), "null");
  d.format = float32;
  REFUSED(ulp_dot(&d, NULL, NULL, NULL, &sum), "float64");
  how = ulp_default_accumulation();
  how.order = 7;
  REFUSED(ulp_dot(&a, &b, &how, NULL, &sum), "order");
  how.order = ULP_CHUNKS;
  REFUSED(ulp_dot(&a, &b, &how, NULL, &sum), "size");
}

/* The sizes that come of -1 and of a difference that went below zero; PTRDIFF_MAX bytes are the most that an object has. */
static void counts_beyond_all_memory(void) {
  const ulp_format float16 = format_of("float16");
  const ulp_format fp4 = format_of("float4_e2m1");
  const size_t sizes[4] = {SIZE_MAX, SIZE_MAX - 15, (size_t)PTRDIFF_MAX + 1, (size_t)PTRDIFF_MAX / 4 + 1};
  const char* const why = "cannot have";
  ulp_random_stream stream;
  ulp_random_words random;
  ulp_numbers a;
  ulp_sum sum;
  ulp_result result;
  float x[4] = {1.0F, 2.0F, 3.0F, 4.0F};
  double y[4] = {1.0, 2.0, 3.0, 4.0};
  uint32_t codes[4] = {0, 0, 0, 0};
  uint32_t others[4] = {0, 0, 0, 0};
  char name[32];
  size_t i;
  memset(&stream, 0, sizeof stream);
  for (i = 0; i < 4; ++i) {
    const size_t n = sizes[i];
    REFUSED(ulp_encode_floats(&float16, x, n, codes, 2, NULL, NULL), why);
    REFUSED(ulp_encode_floats(&fp4, x, n, codes, 0, NULL, NULL), why);
    REFUSED(ulp_encode_doubles(&float16, y, n, codes, 2, NULL, NULL), why);
    REFUSED(ulp_decode_floats(&float16, codes, 2, n, x, 1), why);
    REFUSED(ulp_decode_floats(&fp4, codes, 0, n, x, 1), why);
    REFUSED(ulp_decode_doubles(&float16, codes, 2, n, y, 1), why);
    REFUSED(ulp_round_floats(&float16, x, n, x, NULL, NULL), why);
    REFUSED(ulp_recode(&float16, codes, 4, &float16, others, 4, n, NULL, NULL), why);
    REFUSED(ulp_fill_random_bits(&stream, 8, codes, n), why);
    random.words = codes;
    random.count = n;
    REFUSED(ulp_encode(&float16, 1, NULL, &random, &result), why);
    a.format = float16;
    a.elements = codes;
    a.count = n;
    a.bytes = 4;
    REFUSED(ulp_dot(&a, &a, NULL, NULL, &sum), why);
    REFUSED(ulp_dot(&a, NULL, NULL, NULL, &sum), why);
    REFUSED(ulp_exact_dot(&float16, &a, NULL, NULL, NULL, NULL, &result), why);
    a.format = format_of("float64");
    a.elements = y;
    a.bytes = 8;
    REFUSED(ulp_dot(&a, NULL, NULL, NULL, &sum), why);
    if (i < 3) REFUSED(ulp_format_name(&float16, name, n, NULL), why);
  }
  for (i = 0; i < 3; ++i) {
    a.format = fp4;
    a.elements = codes;
    a.count = sizes[i];
    a.bytes = 0;
    REFUSED(ulp_dot(&a, NULL, NULL, NULL, &sum), why);
  }
}

int main(void) {
  CHECK(ulp_c_version() == ULP_C_VERSION);
  CHECK(strcmp(ulp_last_error(), "") == 0);
  formats_and_roundings();
  largest_numbers_of_ones_own();
  single_numbers();
  random_numbers();
  arrays();
  sums();
  counts_beyond_all_memory();
  printf("%d checks, %d failed\n", checks, failures);
  return failures == 0 && checks > 100 ? EXIT_SUCCESS : EXIT_FAILURE;
}
