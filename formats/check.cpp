#include <ulp/formats/check.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <ostream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

#include <ulp/formats/convert.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/formats/text.hpp>
#include <ulp/formats/vectors.hpp>

namespace ulp {
namespace {

// Vectors that are made before the threads get them, or a few blocks where these are larger.
constexpr std::size_t least_batch = std::size_t{1} << 20;

std::string hex(std::uint64_t value, int bits) {
  const auto digits = static_cast<std::size_t>((bits + 3) / 4);
  std::string text;
  for (; value != 0 || text.size() < digits; value >>= 4) text.insert(text.begin(), "0123456789ABCDEF"[value & 15]);
  return text;
}

std::string grouped(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (auto at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

// The decimal: as it is up to 18 characters, in scientific notation up to 24 digits, else 17 of them after a "~".
std::string decimal(const unpacked& x) {
  constexpr std::size_t most_characters = 18;
  constexpr std::size_t most_digits = 24;
  constexpr std::size_t digits_shown = 17;
  const std::string exact = exact_decimal(x);
  if (exact.size() <= most_characters && !x.sticky) return exact;

  // d.ddd * 10^exponent
  std::string digits;
  int exponent = 0;
  bool after_point = false;
  for (const char c : std::string_view{exact}.substr(x.negative ? 1 : 0)) {
    if (c == '.') {
      after_point = true;
      continue;
    }
    if (!digits.empty() || c != '0') {
      digits += c;
      if (!after_point) ++exponent;
    } else if (after_point) {
      --exponent;
    }
  }
  --exponent;
  digits.erase(digits.find_last_not_of('0') + 1);
  const bool cut = x.sticky || digits.size() > most_digits;
  if (cut) digits.resize(std::min(digits.size(), digits_shown));
  std::string text = cut ? "~ " : "";
  if (x.negative) text += "-";
  if (exponent >= -4 && exponent < 0)
    return text + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  text += digits.substr(0, 1);
  if (digits.size() > 1) text += "." + digits.substr(1);
  return exponent == 0 ? text : text + "e" + std::to_string(exponent);
}

// Where x lies between the two numbers of the format beside it, and what stochastic rounding sees of that.
struct whereabouts {
  std::string text;
  std::string discarded;
};

whereabouts whereabouts_of(const format& to, const unpacked& x, const rounding& mode) {
  if (x.kind != number_class::finite || (x.negative && !to.has_sign)) return {};
  const auto toward = [&](direction d) { return encode(to, x, {.direction = d}); };
  const encoded below = toward(direction::toward_zero);
  if (below.flags == status::none) return {"a number of the format", ""};
  const encoded above = toward(x.negative ? direction::toward_negative : direction::toward_positive);
  if (any(below.flags, status::overflow)) return {"beyond the largest number", ""};
  if (!to.has_subnormals() && x.exponent < to.emin()) return {"below the smallest number", ""};

  const int quantum = std::max(x.exponent, to.emin()) - to.fraction_bits;
  const std::uint64_t lost = detail::bits_from(x, quantum - 1);  // in units of 2^-64 of the step
  const bool more = x.sticky || detail::lsb_exponent(x) < quantum - 64;
  const std::string low = hex(below.code, to.width());
  const std::string high = hex(above.code, to.width());
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  constexpr std::uint64_t near = std::uint64_t{1} << 54;  // a thousandth of a step
  whereabouts p;
  if (lost == half && !more)
    p.text = "half way between " + low + " and " + high;
  else if (lost < near)
    p.text = "just beyond " + low;
  else if (lost > ~near)
    p.text = "just short of " + high;
  else if (lost - (half - near) < 2 * near)
    p.text = "just " + std::string{lost < half ? "short of" : "beyond"} + " half way between " + low + " and " + high;
  else
    p.text = std::to_string((lost >> 32) * 1000 >> 32) + "/1000 of the way from " + low + " to " + high;
  if (mode.random_bits != exact_probability) {
    const int n = mode.random_bits;
    p.discarded = hex(lost >> (64 - n), n) + " of 2^" + std::to_string(n);
    if (more || (n < 64 && lost << n != 0)) p.discarded += " and a rest";
  }
  return p;
}

// A code and what it says.
std::string with_value(int width, std::uint64_t code, const std::string& value) {
  const std::string digits = hex(code, width);
  if ((code & ~mask_of_bits(width)) != 0)
    return digits + " = more than the " + std::to_string(width) + " bits of a code";
  return digits + (value.starts_with('~') ? " " : " = ") + value;
}

std::string with_value(const format& f, std::uint64_t code) {
  const unpacked x = decode(f, code);
  return with_value(f.width(), code, x.signaling ? "signaling NaN" : decimal(x));
}

std::string with_value(integer_type type, std::uint64_t code) {
  const std::uint64_t sign = std::uint64_t{1} << (type.bits - 1);
  const bool negative = type.has_sign && (code & sign) != 0;
  const std::string magnitude = std::to_string(negative ? (0 - code) & mask_of_bits(type.bits) : code);
  return with_value(type.bits, code, (negative ? "-" : "") + magnitude);
}

std::string result_text(operation op, const format& to, std::uint64_t code) {
  if (is_comparison(op)) return with_value(1, code, code == 0 ? "false" : "true");
  const integer_type type = integer_result(op);
  return type.bits != 0 ? with_value(type, code) : with_value(to, code);
}

std::uint64_t input_count(operation op, const format& to, const format& from) {
  int bits = 0;
  for (int i = 0; i < operand_count(op); ++i) bits += operand_width(op, to, from, i);
  if (bits > 32)
    throw std::invalid_argument("ulp::check: all operands of this operation are 2^" + std::to_string(bits) +
                                ", more than 2^32: use a level");
  return std::uint64_t{1} << bits;
}

// What one thread found, of increasing indices.
struct found {
  std::uint64_t disagreeing = 0;
  std::vector<disagreement> first;
};

class checker {
 public:
  checker(operation op, const format& to, const format& from, const check_options& options, bool flags,
          const batch_function& mine)
      : op_(op), to_(to), from_(from), options_(options), flags_(flags), mine_(mine) {}

  // Compares inputs first .. first + size - 1; fill(begin, block) writes the operands of input first + begin and those
  // that follow it.
  template <class Fill>
  void compare(std::uint64_t first, std::uint64_t size, const Fill& fill) {
    const std::uint64_t block_size = options_.block;
    const std::uint64_t blocks = size / block_size + (size % block_size != 0 ? 1 : 0);
    const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
    const auto threads = static_cast<std::size_t>(
        std::clamp<std::uint64_t>(options_.threads != 0 ? options_.threads : processors, 1, blocks));
    std::vector<found> of_thread(threads);
    std::vector<std::exception_ptr> thrown(threads);
    std::atomic<std::uint64_t> next{0};
    const auto work = [&](std::size_t t) {
      try {
        buffers b;
        for (std::uint64_t block; (block = next++) < blocks;) {
          const std::uint64_t begin = block * block_size;
          b.operands.resize(std::min<std::uint64_t>(block_size, size - begin));
          fill(begin, std::span{b.operands});
          compare_block(first + begin, b, of_thread[t]);
        }
      } catch (...) {
        thrown[t] = std::current_exception();
        next = blocks;
      }
    };
    std::vector<std::thread> others;
    try {
      for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work, t);
    } catch (const std::system_error&) {
      // Fewer threads do it too.
    }
    work(0);
    for (std::thread& other : others) other.join();
    for (const std::exception_ptr& problem : thrown)
      if (problem) std::rethrow_exception(problem);
    compared_ += size;
    for (const found& f : of_thread) {
      all_.disagreeing += f.disagreeing;
      all_.first.insert(all_.first.end(), f.first.begin(), f.first.end());
    }
    std::sort(all_.first.begin(), all_.first.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
    if (all_.first.size() > options_.keep) all_.first.resize(options_.keep);
  }

  [[nodiscard]] check_report report() && {
    return {op_, to_, from_, options_.rounding, flags_, compared_, all_.disagreeing, std::move(all_.first)};
  }

 private:
  struct buffers {
    std::vector<operand_codes> operands;
    std::vector<std::uint32_t> random;
    std::vector<encoded> results;
    std::vector<std::uint32_t> codes;
    std::vector<std::uint32_t> expected;
  };

  void compare_block(std::uint64_t index, buffers& b, found& f) const {
    const std::size_t size = b.operands.size();
    b.random.resize(options_.rounding.direction == direction::stochastic ? size : 0);
    for (std::size_t i = 0; i < b.random.size(); ++i) b.random[i] = random_of(index + i);
    // More than the bits of most codes: what is not written is seen. What was compared is unwritten again.
    constexpr encoded unwritten{~std::uint64_t{0}, status::none};
    b.results.resize(size, unwritten);
    mine_(b.operands, b.random, b.results);
    const bool known = expect_conversions(b);
    for (std::size_t i = 0; i < size; ++i) {
      if (!known || b.results[i].code != b.expected[i]) compare_one(index, i, b, f);
      b.results[i] = unwritten;
    }
  }

  void compare_one(std::uint64_t index, std::size_t i, const buffers& b, found& f) const {
    const std::uint32_t random = b.random.empty() ? 0 : b.random[i];
    encoded expected = evaluate(op_, to_, from_, b.operands[i], options_.rounding, random);
    if (!options_.exact) expected = without_inexact(op_, expected);
    const encoded& got = b.results[i];
    if (same_result(op_, to_, expected, got.code, options_.nan_codes) && (!flags_ || expected.flags == got.flags))
      return;
    if (f.disagreeing++ < options_.keep) f.first.push_back({index + i, b.operands[i], random, expected, got});
  }

  // All results at once, where it is their codes alone that are compared: what differs is looked at by itself.
  bool expect_conversions(buffers& b) const {
    const rounding& mode = options_.rounding;
    if (op_ != operation::convert || flags_ || mode.direction == direction::stochastic) return false;
    if (to_.width() > 32 || from_.width() > 32) return false;
    b.codes.resize(b.operands.size());
    b.expected.resize(b.operands.size());
    for (std::size_t i = 0; i < b.codes.size(); ++i) b.codes[i] = static_cast<std::uint32_t>(b.operands[i][0]);
    recode_array(to_, b.expected, from_, b.codes, {.rounding = mode, .threads = 1});
    return true;
  }

  [[nodiscard]] std::uint32_t random_of(std::uint64_t index) const {
    const int bits = options_.rounding.random_bits;
    if (options_.random.empty()) return random_bits(options_.seed, 0, index, bits == exact_probability ? 32 : bits);
    return options_.random[index % options_.random.size()];
  }

  operation op_;
  format to_;
  format from_;
  const check_options& options_;
  bool flags_;
  const batch_function& mine_;
  std::uint64_t compared_ = 0;
  found all_;
};

// Recorded random bits are as many as the rounding takes.
void expect_random(const check_options& options) {
  const int bits = options.rounding.random_bits;
  if (options.rounding.direction != direction::stochastic || bits == exact_probability) return;
  for (std::size_t i = 0; i < options.random.size(); ++i)
    if (options.random[i] >> (bits - 1) > 1)
      throw std::invalid_argument("ulp::check: the recorded random number " + std::to_string(i) + ", " +
                                  std::to_string(options.random[i]) + ", is not below 2^" + std::to_string(bits));
}

// The exact result, where it lies, and what stochastic rounding had.
template <class Line>
void explain_rounding(operation op, const format& to, const format& from, const rounding& mode, const disagreement& d,
                      const Line& line) {
  const unpacked exact = exact_result(op, to, from, d.operands, mode.daz);
  const whereabouts where = rounds_to_integer(op) ? whereabouts{} : whereabouts_of(to, exact, mode);
  line("exactly",
       exact.kind == number_class::nan && any(d.expected.flags, status::invalid) ? "nan, invalid" : decimal(exact));
  if (!where.text.empty()) line("that is", where.text);
  if (mode.direction != direction::stochastic) return;
  if (!where.discarded.empty()) line("discarded", where.discarded);
  line("random", hex(d.random, mode.random_bits == exact_probability ? 32 : mode.random_bits));
}

}  // namespace

bool same_result(operation op, const format& to, const encoded& expected, code got, bool nan_codes) noexcept {
  if (is_comparison(op)) return expected.code == got;
  const integer_type type = integer_result(op);
  if (type.bits == 0) return same_result(to, expected.code, got, nan_codes);
  if (expected.code == got) return true;
  if (nan_codes || !any(expected.flags, status::invalid)) return false;
  const std::uint64_t largest = mask_of_bits(type.bits - (type.has_sign ? 1 : 0));
  const std::uint64_t lowest = type.has_sign ? largest + 1 : 0;
  const std::uint64_t given = got;
  return given == largest || given == lowest || given == 0;
}

namespace detail {

void cannot_be_called(int arguments, bool stochastic) {
  throw std::invalid_argument("ulp::check: the callable cannot be called with " + std::to_string(arguments) +
                              (arguments == 1 ? " unsigned integer" : " unsigned integers") +
                              ": the codes of the operands" + (stochastic ? " and the random bits" : ""));
}

check_report check_blocks(operation op, const format& to, const format& from, check_inputs inputs,
                          const check_options& options, bool returns_flags, const batch_function& mine) {
  if (!is_defined(op, to, from))
    throw std::invalid_argument(has_one_format(op) && to != from
                                    ? "ulp::check: this operation has operands and results in one format"
                                    : "ulp::check: a format without sign and zero has conversions only");
  if (!options.rounding.is_valid()) throw std::invalid_argument("ulp::check: the rounding has a field out of range");
  if (options.block == 0) throw std::invalid_argument("ulp::check: a block has at least 1 input");
  expect_random(options);
  checker all(op, to, from, options, options.flags && returns_flags, mine);
  if (inputs == check_inputs::all) {
    const int operands = operand_count(op);
    std::array<int, 3> widths{};
    for (int n = 0; n < operands; ++n) widths[static_cast<std::size_t>(n)] = operand_width(op, to, from, n);
    if (operands == 1) {
      all.compare(0, input_count(op, to, from), [](std::uint64_t begin, std::span<operand_codes> block) {
        for (operand_codes& codes : block) codes[0] = begin++;
      });
    } else {
      // The last operand changes first.
      all.compare(0, input_count(op, to, from), [&](std::uint64_t begin, std::span<operand_codes> block) {
        for (operand_codes& codes : block) {
          std::uint64_t rest = begin++;
          for (auto n = static_cast<std::size_t>(operands); n-- > 0; rest >>= widths[n])
            codes[n] = rest & mask_of_bits(widths[n]);
        }
      });
    }
  } else {
    std::vector<operand_codes> batch;
    std::uint64_t index = 0;
    const auto compare_batch = [&] {
      if (!batch.empty())
        all.compare(index, batch.size(), [&](std::uint64_t begin, std::span<operand_codes> block) {
          std::copy_n(batch.begin() + static_cast<std::ptrdiff_t>(begin), block.size(), block.begin());
        });
      index += batch.size();
      batch.clear();
    };
    for_each_vector(op, to, from, inputs == check_inputs::level_1 ? 1 : 2, options.seed,
                    [&](std::span<const operand_codes> vectors) {
                      batch.insert(batch.end(), vectors.begin(), vectors.end());
                      if (batch.size() >= least_batch && batch.size() / 4 >= options.block) compare_batch();
                    });
    compare_batch();
  }
  return std::move(all).report();
}

}  // namespace detail

check_report check_batch(operation op, const format& to, const format& from, check_inputs inputs,
                         const batch_function& mine, const check_options& options) {
  if (!mine) throw std::invalid_argument("ulp::check_batch: there is no function to check");
  return detail::check_blocks(op, to, from, inputs, options, true, mine);
}

std::string to_string(operation op, const format& to, const format& from, const rounding& mode, const disagreement& d,
                      bool flags) {
  std::string text;
  const auto line = [&](std::string_view what, const std::string& value) {
    text += "  " + std::string{what} + std::string(10 - what.size(), ' ') + value + "\n";
  };
  const auto result = [&](const encoded& e) {
    return result_text(op, to, e.code) +
           (flags ? "  (" + (e.flags == status::none ? "no flags" : ulp::to_string(e.flags)) + ")" : "");
  };
  for (int i = 0; i < operand_count(op); ++i) {
    const std::uint64_t code = d.operands[static_cast<std::size_t>(i)];
    const integer_type type = integer_operand(op);
    line(i == 0 ? "operands" : "",
         type.bits != 0 ? with_value(type, code) : with_value(operand_format(op, to, from, i), code));
  }
  if (!is_comparison(op)) explain_rounding(op, to, from, mode, d, line);
  line("expected", result(d.expected));
  line("got", result(d.got));
  return text;
}

std::string check_report::text() const {
  std::string what = std::string{ulp::to_string(operation)} + " to " + ulp::to_string(to);
  if (from != to) what += " from " + ulp::to_string(from);
  what += ", " + in_full(rounding) + ": " + grouped(compared) + (compared == 1 ? " input, " : " inputs, ");
  if (compared == 0) return what + "nothing was compared\n";
  if (disagreeing == 0) return what + "all agree\n";
  what += grouped(disagreeing) + (disagreeing == 1 ? " disagrees" : " disagree");
  what += first.size() < disagreeing ? ", the first:\n" : ":\n";
  for (const disagreement& d : first)
    what += "input " + grouped(d.index) + "\n" + ulp::to_string(operation, to, from, rounding, d, flags);
  return what;
}

std::ostream& operator<<(std::ostream& out, const check_report& report) { return out << report.text(); }

}  // namespace ulp
