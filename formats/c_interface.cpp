#include <ulp/formats/ulp.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/dot.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/neighbours.hpp>
#include <ulp/formats/operation.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/formats/tensor_cores.hpp>

namespace {

using ulp::format;

// Of a size that is there, so that telling what failed cannot fail.
thread_local char last_error[512] = "";

int fail(int error, const char* what) noexcept {
  std::strncpy(last_error, what, sizeof last_error - 1);
  return error;
}

// Calls what can throw.
template <class Call>
int guarded(Call call) noexcept {
  try {
    call();
    return ULP_OK;
  } catch (const std::invalid_argument& e) {
    return fail(ULP_INVALID_ARGUMENT, e.what());
  } catch (const std::bad_alloc&) {
    return fail(ULP_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return fail(ULP_FAILED, e.what());
  } catch (...) {
    return fail(ULP_FAILED, "unknown error");
  }
}

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

template <class T>
T& checked(T* pointer, const char* name) {
  if (pointer == nullptr) refuse(std::string{name} + " is null");
  return *pointer;
}
// An array, which may be null where it is empty. No object has more bytes than a difference of pointers can tell; a count that
// was negative before it became a size_t is beyond that.
template <class T>
std::span<T> checked(T* elements, std::size_t count, const char* name) {
  if (count > PTRDIFF_MAX / sizeof(T))
    refuse(std::string{name} + " cannot have " + std::to_string(count) + " elements");
  if (elements == nullptr && count != 0) refuse(std::string{name} + " is null");
  return {elements, count};
}

// Enumerators have the numbers that ulp.h gives them: see the end of this file.
template <class Enum>
Enum as(std::int32_t value, Enum last, const char* name) {
  if (value < 0 || value > static_cast<std::int32_t>(last))
    refuse(std::string{name} + " cannot be " + std::to_string(value));
  return static_cast<Enum>(value);
}

bool flag(std::int32_t value, const char* name) {
  if (value != 0 && value != 1) refuse(std::string{name} + " cannot be " + std::to_string(value));
  return value != 0;
}

format format_of(const ulp_format& f) {
  constexpr std::int32_t bias = 4096;  // beyond every valid one, and no sum with it overflows
  const format made{.exponent_bits = f.exponent_bits,
                    .fraction_bits = f.fraction_bits,
                    .bias = std::clamp(f.bias, -bias, bias),
                    .top = as(f.top, ulp::specials::nan_negative_zero_and_infinity, "specials"),
                    .bottom = as(f.bottom, ulp::lowest_binade::normals_without_zero, "the lowest binade"),
                    .has_sign = flag(f.has_sign, "has_sign"),
                    .withheld = f.withheld};
  if (!made.is_valid()) refuse("the format is not valid");
  return made;
}
format format_of(const ulp_format* f) { return format_of(checked(f, "the format")); }

ulp_format c_format_of(const format& f) noexcept {
  return {f.exponent_bits,
          f.fraction_bits,
          f.bias,
          static_cast<std::int32_t>(f.top),
          static_cast<std::int32_t>(f.bottom),
          f.has_sign ? 1 : 0,
          f.withheld};
}

std::optional<format> optional_format_of(const ulp_format& f) {
  if (f.exponent_bits == 0) return {};
  return format_of(f);
}
ulp_format c_format_of(const std::optional<format>& f) noexcept { return f ? c_format_of(*f) : ulp_format{}; }

ulp::rounding rounding_of(const ulp_rounding& r) {
  if (r.random_bits < 0 || r.random_bits > 32) refuse("random_bits cannot be " + std::to_string(r.random_bits));
  return {.direction = as(r.direction, ulp::direction::stochastic, "the direction"),
          .overflow = as(r.overflow, ulp::overflow_mode::saturate_finite, "overflow"),
          .flush = as(r.flush, ulp::flush::result, "flush"),
          .daz = flag(r.daz, "daz"),
          .tininess = as(r.tininess, ulp::tininess::before_rounding, "tininess"),
          .definition = as(r.definition, ulp::stochastic_definition::c, "the definition"),
          .random_bits = r.random_bits};
}
ulp::rounding rounding_of(const ulp_rounding* r) { return r == nullptr ? ulp::rounding{} : rounding_of(*r); }

ulp_rounding c_rounding_of(const ulp::rounding& r) noexcept {
  return {static_cast<std::int32_t>(r.direction),
          static_cast<std::int32_t>(r.overflow),
          static_cast<std::int32_t>(r.flush),
          r.daz ? 1 : 0,
          static_cast<std::int32_t>(r.tininess),
          static_cast<std::int32_t>(r.definition),
          r.random_bits};
}

ulp::random_input random_of(const ulp_random_words* r) {
  if (r == nullptr) return {};
  const auto words = checked(r->words, r->count, "the random words");
  return ulp::random_input{words};
}

ulp::random_stream stream_of(const ulp_random_stream& r) noexcept { return {r.seed, r.stream, r.first}; }
ulp_random_stream c_stream_of(const ulp::random_stream& r) noexcept { return {r.seed, r.stream, r.first}; }

ulp_result c_result_of(const ulp::encoded& e) noexcept { return {e.code, static_cast<std::uint32_t>(e.flags)}; }

// Codes of an array in memory: Byte is std::uint8_t or const.
template <bool Constant>
ulp::basic_code_span<Constant> code_span_of(std::conditional_t<Constant, const void, void>* codes, std::int32_t bytes,
                                            std::size_t count) {
  const auto elements = [&]<class T>(T, std::size_t size) {
    using element = std::conditional_t<Constant, const T, T>;
    return checked(static_cast<element*>(codes), size, "the array of codes");
  };
  switch (bytes) {
    case 0: {
      static_cast<void>(elements(std::uint8_t{}, count));  // half of a count that there is not would be one
      return ulp::basic_code_span<Constant>::packed(elements(std::uint8_t{}, count / 2 + count % 2), count);
    }
    case 1: return elements(std::uint8_t{}, count);
    case 2: return elements(std::uint16_t{}, count);
    case 4: return elements(std::uint32_t{}, count);
    default: refuse("codes have elements of 0, 1, 2 or 4 bytes, not " + std::to_string(bytes));
  }
}

ulp::conversion conversion_of(const ulp_conversion* how) {
  if (how == nullptr) return {};
  return {.rounding = rounding_of(how->rounding),
          .scale = how->scale,
          .random = stream_of(how->random),
          .threads = how->threads};
}

// Counts of a conversion are added to the caller's where there are some.
class counts {
 public:
  explicit counts(ulp_counts* to) noexcept : to_(to) {}
  [[nodiscard]] ulp::conversion_counts* counted() noexcept { return to_ == nullptr ? nullptr : &counted_; }
  void deliver() const noexcept {
    if (to_ == nullptr) return;
    to_->zeros += counted_.zeros;
    to_->newly_zero += counted_.newly_zero;
    to_->subnormal += counted_.subnormal;
    to_->inexact += counted_.inexact;
    to_->overflowed += counted_.overflowed;
    to_->nan += counted_.nan;
  }

 private:
  ulp_counts* to_;
  ulp::conversion_counts counted_;
};

template <class Number>
int encode_array(const ulp_format* to, const Number* x, std::size_t count, void* codes, std::int32_t code_bytes,
                 const ulp_conversion* how, ulp_counts* added_to) noexcept {
  return guarded([&] {
    counts of{added_to};
    ulp::encode_array(format_of(to), checked(x, count, "the array"), code_span_of<false>(codes, code_bytes, count),
                      conversion_of(how), of.counted());
    of.deliver();
  });
}

template <class Number>
int decode_array(const ulp_format* from, const void* codes, std::int32_t code_bytes, std::size_t count, Number* x,
                 std::uint32_t threads) noexcept {
  return guarded([&] {
    ulp::decode_array(format_of(from), code_span_of<true>(codes, code_bytes, count), checked(x, count, "the array"),
                      threads);
  });
}

ulp::number_span numbers_of(const ulp_numbers* x) {
  const ulp_numbers& numbers = checked(x, "an array of numbers");
  const format of = format_of(numbers.format);
  if (numbers.bytes != 8) return {of, code_span_of<true>(numbers.elements, numbers.bytes, numbers.count)};
  if (of != ulp::float64) refuse("elements of 8 bytes are of float64");
  return checked(static_cast<const double*>(numbers.elements), numbers.count, "the array of numbers");
}

struct start {
  format of = ulp::float32;
  std::uint64_t code = 0;
};
start start_of(const ulp_number* c) {
  if (c == nullptr) return {};
  return {format_of(c->format), c->code};
}

ulp::accumulation accumulation_of(const ulp_accumulation* how) {
  ulp::accumulation made;
  if (how == nullptr) return made;
  made.products = optional_format_of(how->products);
  made.sums = optional_format_of(how->sums);
  made.accumulator = optional_format_of(how->accumulator).value_or(ulp::float32);
  made.outer = optional_format_of(how->outer);
  made.order = {as(how->order, ulp::sum_order::blocks, "the order"), how->order_size};
  if (how->aligned != 0) {
    made.align_bits = how->align_bits;
    made.align = as(how->align, ulp::direction::stochastic, "align");
    made.align_floor = how->align_floor;
  }
  made.rounding = rounding_of(how->rounding);
  made.random = stream_of(how->random);
  return made;
}

ulp_accumulation c_accumulation_of(const ulp::accumulation& how) noexcept {
  return {c_format_of(how.products),
          c_format_of(how.sums),
          c_format_of(how.accumulator),
          c_format_of(how.outer),
          how.order.kind,
          how.order.size,
          how.align_bits ? 1 : 0,
          how.align_bits.value_or(0),
          static_cast<std::int32_t>(how.align),
          how.align_floor,
          c_rounding_of(how.rounding),
          c_stream_of(how.random)};
}

template <class A, class B>
constexpr bool equal(A a, B b) {
  return static_cast<int>(a) == static_cast<int>(b);
}
static_assert(equal(ULP_SPECIALS_NONE, ulp::specials::none) &&
              equal(ULP_SPECIALS_NAN_ALL_ONES, ulp::specials::nan_all_ones) &&
              equal(ULP_SPECIALS_NAN_NEGATIVE_ZERO, ulp::specials::nan_negative_zero) &&
              equal(ULP_SPECIALS_NAN_NEGATIVE_ZERO_AND_INFINITY, ulp::specials::nan_negative_zero_and_infinity));
static_assert(equal(ULP_LOWEST_NORMALS_AND_ZERO, ulp::lowest_binade::normals_and_zero) &&
              equal(ULP_LOWEST_NORMALS_WITHOUT_ZERO, ulp::lowest_binade::normals_without_zero));
static_assert(equal(ULP_NEAREST_AWAY, ulp::direction::nearest_away) &&
              equal(ULP_TOWARD_ZERO, ulp::direction::toward_zero) &&
              equal(ULP_TOWARD_POSITIVE, ulp::direction::toward_positive) &&
              equal(ULP_TOWARD_NEGATIVE, ulp::direction::toward_negative) &&
              equal(ULP_TO_ODD, ulp::direction::to_odd) && equal(ULP_STOCHASTIC, ulp::direction::stochastic));
static_assert(equal(ULP_OVERFLOW_SATURATE, ulp::overflow_mode::saturate) &&
              equal(ULP_OVERFLOW_SATURATE_FINITE, ulp::overflow_mode::saturate_finite));
static_assert(equal(ULP_FLUSH_BEFORE_ROUNDING, ulp::flush::before_rounding) &&
              equal(ULP_FLUSH_AFTER_ROUNDING, ulp::flush::after_rounding) &&
              equal(ULP_FLUSH_RESULT, ulp::flush::result));
static_assert(equal(ULP_TININESS_BEFORE_ROUNDING, ulp::tininess::before_rounding) &&
              equal(ULP_STOCHASTIC_B, ulp::stochastic_definition::b) &&
              equal(ULP_STOCHASTIC_C, ulp::stochastic_definition::c));
static_assert(equal(ULP_INEXACT, ulp::status::inexact) && equal(ULP_UNDERFLOW, ulp::status::underflow) &&
              equal(ULP_OVERFLOW, ulp::status::overflow) && equal(ULP_DIVIDE_BY_ZERO, ulp::status::divide_by_zero) &&
              equal(ULP_INVALID, ulp::status::invalid));
static_assert(equal(ULP_SUB, ulp::operation::sub) && equal(ULP_MUL, ulp::operation::mul) &&
              equal(ULP_DIV, ulp::operation::div) && equal(ULP_SQRT, ulp::operation::sqrt) &&
              equal(ULP_FMA, ulp::operation::fma) && equal(ULP_REM, ulp::operation::rem) &&
              equal(ULP_CONVERT, ulp::operation::convert) && equal(ULP_MAC, ulp::operation::mac) &&
              equal(ULP_RINT, ulp::operation::rint) && equal(ULP_EQ, ulp::operation::eq) &&
              equal(ULP_LE, ulp::operation::le) && equal(ULP_LT, ulp::operation::lt) &&
              equal(ULP_EQ_SIGNALING, ulp::operation::eq_signaling) && equal(ULP_LE_QUIET, ulp::operation::le_quiet) &&
              equal(ULP_LT_QUIET, ulp::operation::lt_quiet) && equal(ULP_TO_UI32, ulp::operation::to_ui32) &&
              equal(ULP_TO_UI64, ulp::operation::to_ui64) && equal(ULP_TO_I32, ulp::operation::to_i32) &&
              equal(ULP_TO_I64, ulp::operation::to_i64) && equal(ULP_FROM_UI32, ulp::operation::from_ui32) &&
              equal(ULP_FROM_UI64, ulp::operation::from_ui64) && equal(ULP_FROM_I32, ulp::operation::from_i32) &&
              equal(ULP_FROM_I64, ulp::operation::from_i64));
static_assert(equal(ULP_COMPENSATED, ulp::sum_order::compensated) && equal(ULP_PAIRWISE, ulp::sum_order::pairwise) &&
              equal(ULP_LANES, ulp::sum_order::lanes) && equal(ULP_CHUNKS, ulp::sum_order::chunks) &&
              equal(ULP_TREE_CHUNKS, ulp::sum_order::tree_chunks) && equal(ULP_BLOCKS, ulp::sum_order::blocks));

}  // namespace

int ulp_c_version(void) { return ULP_C_VERSION; }
const char* ulp_last_error(void) { return last_error; }

int ulp_format_by_name(const char* name, ulp_format* made) {
  return guarded([&] {
    const auto read = ulp::parse_format(&checked(name, "the name"));
    if (!read.value) refuse(read.error);
    checked(made, "the format") = c_format_of(*read.value);
  });
}

int ulp_format_name(const ulp_format* of, char* name, size_t size, size_t* needed) {
  return guarded([&] {
    const std::string text = ulp::to_string(format_of(of));
    const auto room = checked(name, size, "the buffer");
    if (needed != nullptr) *needed = text.size() + 1;
    if (room.empty()) return;
    const std::size_t written = std::min(text.size(), room.size() - 1);
    text.copy(room.data(), written);
    room[written] = '\0';
  });
}

int ulp_format_width(const ulp_format* of, int32_t* width) {
  return guarded([&] { checked(width, "the width") = format_of(of).width(); });
}

int ulp_rounding_by_name(const char* name, ulp_rounding* made) {
  return guarded([&] {
    const auto read = ulp::parse_rounding(&checked(name, "the name"));
    if (!read) refuse("'" + std::string{name} + "' is not a rounding");
    checked(made, "the rounding") = c_rounding_of(*read);
  });
}

int ulp_encode(const ulp_format* to, double x, const ulp_rounding* mode, const ulp_random_words* random,
               ulp_result* result) {
  return guarded([&] {
    checked(result, "the result") = c_result_of(ulp::encode(format_of(to), x, rounding_of(mode), random_of(random)));
  });
}

int ulp_decode(const ulp_format* from, uint64_t code, double* x) {
  return guarded([&] { checked(x, "the result") = ulp::to_double(format_of(from), code); });
}

int ulp_operate(int32_t op, const ulp_format* to, const ulp_format* from, const uint64_t operands[3],
                const ulp_rounding* mode, const ulp_random_words* random, ulp_result* result) {
  return guarded([&] {
    const auto operation = as(op, ulp::operation::from_i64, "the operation");
    const format to_format = format_of(to);
    const format from_format = format_of(from);
    if (!ulp::is_defined(operation, to_format, from_format))
      refuse(ulp::has_one_format(operation) && to_format != from_format
                 ? "this operation has operands and results in one format"
                 : "arithmetic needs formats with sign and zero");
    const auto given = checked(operands, static_cast<std::size_t>(ulp::operand_count(operation)), "operands");
    ulp::operand_codes codes{};
    std::copy(given.begin(), given.end(), codes.begin());
    checked(result, "the result") =
        c_result_of(ulp::evaluate(operation, to_format, from_format, codes, rounding_of(mode), random_of(random)));
  });
}

int ulp_error_in_ulps(const ulp_format* of, uint64_t code, double x, double* ulps) {
  return guarded([&] { checked(ulps, "the result") = ulp::error_in_ulps(format_of(of), code, x); });
}

int ulp_random_bits(uint64_t seed, uint64_t stream, uint64_t index, int32_t bits, uint32_t* value) {
  return guarded([&] {
    if (bits < 1 || bits > 32) refuse("bits cannot be " + std::to_string(bits));
    checked(value, "the result") = ulp::random_bits(seed, stream, index, bits);
  });
}

int ulp_fill_random_bits(const ulp_random_stream* random, int32_t bits, uint32_t* values, size_t count) {
  return guarded([&] {
    ulp::fill_random_bits(stream_of(checked(random, "the stream")), bits, checked(values, count, "the array"));
  });
}

int ulp_stream_of(const char* tensor, int64_t step, uint64_t* stream) {
  return guarded([&] { checked(stream, "the result") = ulp::stream_of(&checked(tensor, "the name"), step); });
}

ulp_conversion ulp_default_conversion(void) { return {c_rounding_of({}), 1, {}, 0}; }

int ulp_encode_floats(const ulp_format* to, const float* x, size_t count, void* codes, int32_t code_bytes,
                      const ulp_conversion* how, ulp_counts* added_to) {
  return encode_array(to, x, count, codes, code_bytes, how, added_to);
}
int ulp_encode_doubles(const ulp_format* to, const double* x, size_t count, void* codes, int32_t code_bytes,
                       const ulp_conversion* how, ulp_counts* added_to) {
  return encode_array(to, x, count, codes, code_bytes, how, added_to);
}
int ulp_decode_floats(const ulp_format* from, const void* codes, int32_t code_bytes, size_t count, float* x,
                      uint32_t threads) {
  return decode_array(from, codes, code_bytes, count, x, threads);
}
int ulp_decode_doubles(const ulp_format* from, const void* codes, int32_t code_bytes, size_t count, double* x,
                       uint32_t threads) {
  return decode_array(from, codes, code_bytes, count, x, threads);
}

int ulp_round_floats(const ulp_format* to, const float* x, size_t count, float* rounded, const ulp_conversion* how,
                     ulp_counts* added_to) {
  return guarded([&] {
    counts of{added_to};
    ulp::round_array(format_of(to), checked(x, count, "the array"), checked(rounded, count, "the result"),
                     conversion_of(how), of.counted());
    of.deliver();
  });
}

int ulp_recode(const ulp_format* to, void* codes, int32_t code_bytes, const ulp_format* from, const void* from_codes,
               int32_t from_bytes, size_t count, const ulp_conversion* how, ulp_counts* added_to) {
  return guarded([&] {
    counts of{added_to};
    ulp::recode_array(format_of(to), code_span_of<false>(codes, code_bytes, count), format_of(from),
                      code_span_of<true>(from_codes, from_bytes, count), conversion_of(how), of.counted());
    of.deliver();
  });
}

ulp_accumulation ulp_default_accumulation(void) { return c_accumulation_of({}); }

int ulp_tensor_core(const char* name, const ulp_format* operands, ulp_accumulation* made) {
  return guarded([&] {
    const format of = format_of(operands);
    const ulp::tensor_core* const unit = ulp::find_tensor_core(&checked(name, "the name"), of);
    if (unit == nullptr || unit->how.late)
      refuse("no unit '" + std::string{name} + "' is known for " + ulp::to_string(of));
    checked(made, "the accumulation") = c_accumulation_of(unit->how);
  });
}

int ulp_dot(const ulp_numbers* a, const ulp_numbers* b, const ulp_accumulation* how, const ulp_number* c,
            ulp_sum* result) {
  return guarded([&] {
    const ulp::accumulation made = accumulation_of(how);
    const start from = start_of(c);
    const ulp::number_span x = numbers_of(a);
    ulp_sum& to = checked(result, "the result");
    const ulp::accumulated s =
        b == nullptr ? ulp::sum(x, made, from.of, from.code) : ulp::dot(x, numbers_of(b), made, from.of, from.code);
    to = {c_format_of(made.result()), s.code, s.compensation, static_cast<std::uint32_t>(s.flags)};
  });
}

int ulp_unit_dot(const char* name, const ulp_format* accumulator, uint32_t promote, const ulp_numbers* a,
                 const ulp_numbers* b, const ulp_number* c, ulp_sum* result) {
  return guarded([&] {
    const ulp::number_span x = numbers_of(a);
    const ulp::number_span y = numbers_of(b);
    const start from = start_of(c);
    const char* const called = &checked(name, "the name");
    const ulp::tensor_core* const unit = accumulator == nullptr
                                             ? ulp::find_tensor_core(called, x.format())
                                             : ulp::find_tensor_core(called, x.format(), format_of(accumulator));
    if (unit == nullptr)
      refuse("no unit '" + std::string{called} + "' with this accumulator is known for " + ulp::to_string(x.format()));
    const ulp::accumulation how = promote == 0 ? unit->how : ulp::in_two_levels(*unit, promote);
    ulp_sum& to = checked(result, "the result");
    const ulp::accumulated s = ulp::dot(x, y, how, from.of, from.code);
    to = {c_format_of(how.result()), s.code, s.compensation, static_cast<std::uint32_t>(s.flags)};
  });
}

int ulp_scaled_unit_dot(const char* name, const ulp_numbers* a, const ulp_numbers* b, const ulp_numbers* a_scales,
                        const ulp_numbers* b_scales, uint32_t block, const ulp_number* c, ulp_sum* result) {
  return guarded([&] {
    const ulp::number_span x = numbers_of(a);
    const ulp::number_span y = numbers_of(b);
    const ulp::number_span of_x = numbers_of(a_scales);
    const start from = start_of(c);
    const char* const called = &checked(name, "the name");
    const ulp::tensor_core* const unit = ulp::find_scaled_tensor_core(called, x.format(), of_x.format(), block);
    if (unit == nullptr)
      refuse("no unit '" + std::string{called} + "' is known for " + ulp::to_string(x.format()) + " scaled by " +
             ulp::to_string(of_x.format()) + " of " + std::to_string(block));
    ulp_sum& to = checked(result, "the result");
    const ulp::accumulated s = ulp::dot(x, y, {of_x, numbers_of(b_scales), block}, unit->how, from.of, from.code);
    to = {c_format_of(unit->how.result()), s.code, s.compensation, static_cast<std::uint32_t>(s.flags)};
  });
}

int ulp_exact_dot(const ulp_format* to, const ulp_numbers* a, const ulp_numbers* b, const ulp_rounding* mode,
                  const ulp_random_words* random, const ulp_number* c, ulp_result* result) {
  return guarded([&] {
    const format of = format_of(to);
    const start from = start_of(c);
    const ulp::number_span x = numbers_of(a);
    checked(result, "the result") = c_result_of(
        b == nullptr ? ulp::exact_sum(of, x, rounding_of(mode), random_of(random), from.of, from.code)
                     : ulp::exact_dot(of, x, numbers_of(b), rounding_of(mode), random_of(random), from.of, from.code));
  });
}
