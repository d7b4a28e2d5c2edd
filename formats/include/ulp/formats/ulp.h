/* The formats, conversions, arithmetic and sums of ulp::formats for C, and for whatever calls C.
 *
 *   ulp_format cb16;
 *   ulp_conversion how = ulp_default_conversion();
 *   if (ulp_format_by_name("cbfloat16", &cb16) != ULP_OK ||
 *       ulp_encode_floats(&cb16, gradients, count, codes, sizeof *codes, &how, NULL) != ULP_OK)
 *     fprintf(stderr, "%s\n", ulp_last_error());
 *
 * What results are is said in the C++ headers of the same names: codec.hpp, rounding.hpp, arithmetic.hpp, convert.hpp,
 * dot.hpp, tensor_cores.hpp, random_bits.hpp. Plain structs and the caller's memory everywhere: nothing that a function
 * returns has to be freed, pointers are not kept, and every function may be called from any thread. Functions that can fail
 * return ULP_OK or an error, and then have written nothing; ulp_last_error() says what was wrong. No exception leaves a
 * function. C99 or later; link with libulp_formats, the C++ library, and threads.
 */
#ifndef ULP_FORMATS_ULP_H
#define ULP_FORMATS_ULP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Larger where functions or fields were added. 3 made ulp_format larger: a library takes callers of its own number, and from 3 on
 * of smaller ones. */
#define ULP_C_VERSION 4
/* That of the library. */
int ulp_c_version(void);

enum {
  ULP_OK = 0,
  ULP_INVALID_ARGUMENT = 1, /* a null pointer, a value that there is not, sizes that do not fit, an unknown name */
  ULP_OUT_OF_MEMORY = 2,
  ULP_FAILED = 3 /* nothing else is known to happen */
};
/* What the last failing call of this thread had to complain of, "" before any. Valid until the thread's next failing call. */
const char* ulp_last_error(void);

/* ---- formats ---- */

enum {
  ULP_SPECIALS_IEEE,
  ULP_SPECIALS_NAN_ALL_ONES,
  ULP_SPECIALS_NAN_NEGATIVE_ZERO,
  ULP_SPECIALS_NONE,
  ULP_SPECIALS_NAN_NEGATIVE_ZERO_AND_INFINITY
};
enum { ULP_LOWEST_SUBNORMALS, ULP_LOWEST_NORMALS_AND_ZERO, ULP_LOWEST_NORMALS_WITHOUT_ZERO };

typedef struct ulp_format {
  int32_t exponent_bits; /* 2..11 */
  int32_t fraction_bits; /* 0..52 */
  int32_t bias;
  int32_t top;       /* ULP_SPECIALS_... */
  int32_t bottom;    /* ULP_LOWEST_... */
  int32_t has_sign;  /* 0 or 1 */
  uint64_t withheld; /* how many of the largest numbers no rounding delivers; usually 0 */
} ulp_format;

/* A name of the catalogue, binary<K>p<P>se or sf of IEEE P3109, or e<E>m<M>[,bias=N][,specials=ieee|fn|fnuz|none|p3109]
 * [,subnormals=yes|no]; behind each [,max=X]. */
int ulp_format_by_name(const char* name, ulp_format* format);
/* Writes the name that reads back to this format, as much of it as `size` bytes hold with the zero at their end; `needed`,
 * where it is not null, gets its length with that. */
int ulp_format_name(const ulp_format* format, char* name, size_t size, size_t* needed);
/* Bits of a code, 2..64. */
int ulp_format_width(const ulp_format* format, int32_t* width);

/* ---- rounding ---- */

enum {
  ULP_NEAREST_EVEN,
  ULP_NEAREST_AWAY,
  ULP_TOWARD_ZERO,
  ULP_TOWARD_POSITIVE,
  ULP_TOWARD_NEGATIVE,
  ULP_TO_ODD,
  ULP_STOCHASTIC
};
enum { ULP_OVERFLOW_IEEE, ULP_OVERFLOW_SATURATE, ULP_OVERFLOW_SATURATE_FINITE };
enum { ULP_FLUSH_NEVER, ULP_FLUSH_BEFORE_ROUNDING, ULP_FLUSH_AFTER_ROUNDING, ULP_FLUSH_RESULT };
enum { ULP_TININESS_AFTER_ROUNDING, ULP_TININESS_BEFORE_ROUNDING };
enum { ULP_STOCHASTIC_A, ULP_STOCHASTIC_B, ULP_STOCHASTIC_C };

/* All zero is nearest-even as IEEE 754 has it. Where a function takes a null rounding, it is that. */
typedef struct ulp_rounding {
  int32_t direction;
  int32_t overflow;
  int32_t flush;
  int32_t daz; /* 0 or 1 */
  int32_t tininess;
  int32_t definition;  /* of stochastic rounding */
  int32_t random_bits; /* 1..32 of it, or 0: as many as are discarded */
} ulp_rounding;

/* "toward-zero", "rne", "stochastic:A,bits=8"; sets direction, definition and random_bits, the others to 0. */
int ulp_rounding_by_name(const char* name, ulp_rounding* rounding);

/* ---- single numbers ---- */

/* Flags, Berkeley TestFloat's bits. */
enum { ULP_INEXACT = 1, ULP_UNDERFLOW = 2, ULP_OVERFLOW = 4, ULP_DIVIDE_BY_ZERO = 8, ULP_INVALID = 16 };

typedef struct ulp_result {
  uint64_t code;
  uint32_t flags;
} ulp_result;

/* The random bits of one stochastic rounding: N of them in the low end of words[0]; where random_bits is 0 the binary digits
 * of the random number, 32 in a word, the first in the top bit of words[0], those not given being zero. Read by
 * ULP_STOCHASTIC only, for which null is zeros. */
typedef struct ulp_random_words {
  const uint32_t* words;
  size_t count;
} ulp_random_words;

int ulp_encode(const ulp_format* to, double x, const ulp_rounding* rounding, const ulp_random_words* random,
               ulp_result* result);
/* Exact for every format. */
int ulp_decode(const ulp_format* from, uint64_t code, double* x);

/* operation.hpp says what each is. */
enum {
  ULP_ADD,
  ULP_SUB,
  ULP_MUL,
  ULP_DIV,
  ULP_SQRT,
  ULP_FMA,
  ULP_REM,
  ULP_CONVERT,
  ULP_MAC, /* the third operand and the result in `to` */
  ULP_RINT,
  ULP_EQ, /* comparisons: 0 or 1 */
  ULP_LE,
  ULP_LT,
  ULP_EQ_SIGNALING,
  ULP_LE_QUIET,
  ULP_LT_QUIET,
  ULP_TO_UI32, /* integers: their bits, two's complement in i32 and i64 */
  ULP_TO_UI64,
  ULP_TO_I32,
  ULP_TO_I64,
  ULP_FROM_UI32,
  ULP_FROM_UI64,
  ULP_FROM_I32,
  ULP_FROM_I64
};

/* The operation on codes of `from`, rounded once to `to`, which are one format from ULP_RINT on; operands[1] and [2] are
 * read where it has so many. Rounding to integers raises inexact. */
int ulp_operate(int32_t operation, const ulp_format* to, const ulp_format* from, const uint64_t operands[3],
                const ulp_rounding* rounding, const ulp_random_words* random, ulp_result* result);

/* How far the number of a code is from x, in units in the last place of x: neighbours.hpp, error_in_ulps. */
int ulp_error_in_ulps(const ulp_format* format, uint64_t code, double x, double* ulps);

/* ---- random bits ---- */

/* Element i of an array takes number first + i of the stream. */
typedef struct ulp_random_stream {
  uint64_t seed;
  uint64_t stream;
  uint64_t first;
} ulp_random_stream;

/* `bits`, 1..32, of number `index`: below 2^bits. */
int ulp_random_bits(uint64_t seed, uint64_t stream, uint64_t index, int32_t bits, uint32_t* value);
int ulp_fill_random_bits(const ulp_random_stream* random, int32_t bits, uint32_t* values, size_t count);
/* The stream of a tensor, by its name, at a step. */
int ulp_stream_of(const char* tensor, int64_t step, uint64_t* stream);

/* ---- arrays ---- */

typedef struct ulp_conversion {
  ulp_rounding rounding;
  double scale; /* elements are multiplied by it, exactly: finite and above zero */
  ulp_random_stream random;
  uint32_t threads; /* at most; 0: one for each processor */
} ulp_conversion;
/* No scale, nearest-even. Where a function takes a null conversion, it is that. */
ulp_conversion ulp_default_conversion(void);

typedef struct ulp_counts {
  uint64_t zeros;
  uint64_t newly_zero;
  uint64_t subnormal;
  uint64_t inexact;
  uint64_t overflowed;
  uint64_t nan;
} ulp_counts;

/* Codes are elements of code_bytes 1, 2 or 4; 0 is two codes of at most 4 bits to a byte, the first in its low half. Arrays
 * do not overlap, except that input and output may be one where their elements are of one size. What became of the elements
 * is added to `counts` where it is not null. */
int ulp_encode_floats(const ulp_format* to, const float* x, size_t count, void* codes, int32_t code_bytes,
                      const ulp_conversion* how, ulp_counts* counts);
int ulp_encode_doubles(const ulp_format* to, const double* x, size_t count, void* codes, int32_t code_bytes,
                       const ulp_conversion* how, ulp_counts* counts);
int ulp_decode_floats(const ulp_format* from, const void* codes, int32_t code_bytes, size_t count, float* x,
                      uint32_t threads);
int ulp_decode_doubles(const ulp_format* from, const void* codes, int32_t code_bytes, size_t count, double* x,
                       uint32_t threads);
/* To the numbers of the format; `rounded` may be x. */
int ulp_round_floats(const ulp_format* to, const float* x, size_t count, float* rounded, const ulp_conversion* how,
                     ulp_counts* counts);
int ulp_recode(const ulp_format* to, void* codes, int32_t code_bytes, const ulp_format* from, const void* from_codes,
               int32_t from_bytes, size_t count, const ulp_conversion* how, ulp_counts* counts);

/* ---- sums ---- */

/* Codes as above; bytes 8 for double, the format then being float64. */
typedef struct ulp_numbers {
  ulp_format format;
  const void* elements;
  size_t count;
  int32_t bytes;
} ulp_numbers;

typedef struct ulp_number {
  ulp_format format;
  uint64_t code;
} ulp_number;

enum { ULP_SEQUENTIAL, ULP_COMPENSATED, ULP_PAIRWISE, ULP_LANES, ULP_CHUNKS, ULP_TREE_CHUNKS, ULP_BLOCKS };

/* A format whose exponent_bits are 0 is one that is not there. */
typedef struct ulp_accumulation {
  ulp_format products;
  ulp_format sums;
  ulp_format accumulator; /* not there: float32 */
  ulp_format outer;
  int32_t order;
  uint32_t order_size;
  int32_t aligned; /* 0 or 1: whether the following three are read */
  int32_t align_bits;
  int32_t align; /* a direction */
  int32_t align_floor;
  ulp_rounding rounding;
  ulp_random_stream random;
} ulp_accumulation;
/* Exact products in float32, one after the other. Where a function takes a null accumulation, it is that. */
ulp_accumulation ulp_default_accumulation(void);
/* Of a matrix unit: "volta", "H100", ...: tensor_cores.hpp. Infinities and NaN are then those of the rounding; ulp_unit_dot
 * has the unit's, and the units that this cannot say: those are an unknown name here. */
int ulp_tensor_core(const char* name, const ulp_format* operands, ulp_accumulation* accumulation);

typedef struct ulp_sum {
  ulp_format format; /* of the codes */
  uint64_t code;
  uint64_t compensation;
  uint32_t flags;
} ulp_sum;

/* c, which is +0 where it is null, and the sum of a_i * b_i, of a_i where b is null. */
int ulp_dot(const ulp_numbers* a, const ulp_numbers* b, const ulp_accumulation* how, const ulp_number* c, ulp_sum* sum);
/* As a matrix unit of that name adds, into the accumulator, which is its widest where it is null; c is one of its numbers.
 * promote: so many groups of products are added up before their sum is added in float32; 0: all in the unit. */
int ulp_unit_dot(const char* unit, const ulp_format* accumulator, uint32_t promote, const ulp_numbers* a,
                 const ulp_numbers* b, const ulp_number* c, ulp_sum* sum);
/* As a matrix unit of that name multiplies blocks: element i of an operand times scale i / block of its own, codes of
 * float8_e8m0 or, their sign not looked at, float8_e4m3fn; the last block may be short. tensor_cores.hpp has the units. */
int ulp_scaled_unit_dot(const char* unit, const ulp_numbers* a, const ulp_numbers* b, const ulp_numbers* a_scales,
                        const ulp_numbers* b_scales, uint32_t block, const ulp_number* c, ulp_sum* sum);
int ulp_exact_dot(const ulp_format* to, const ulp_numbers* a, const ulp_numbers* b, const ulp_rounding* rounding,
                  const ulp_random_words* random, const ulp_number* c, ulp_result* result);

#ifdef __cplusplus
}
#endif

#endif
