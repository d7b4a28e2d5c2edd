// Printing of number<> by fmt: "{}" gives the shortest decimal that reads back as the number, and so do fill, alignment
// and width, to the right by default; any other specification is that of double, whose value is the same. Opt-in: the
// one public header that needs fmt.
#ifndef ULP_FORMATS_NUMBER_FMT_HPP
#define ULP_FORMATS_NUMBER_FMT_HPP

#include <fmt/format.h>

#include <string>
#include <string_view>

#include <ulp/formats/number.hpp>
#include <ulp/formats/text.hpp>

template <ulp::format F, ulp::rounding R>
struct fmt::formatter<ulp::number<F, R>> {
  constexpr auto parse(fmt::format_parse_context& context) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto is_alignment = [](char c) { return c == '<' || c == '>' || c == '^'; };
    auto end = context.begin();
    while (end != context.end() && *end != '}') ++end;
    auto at = context.begin();
    if (end - at >= 2 && is_alignment(at[1]))
      at += 2;
    else if (end - at >= 1 && is_alignment(at[0]))
      ++at;
    aligned_ = at != context.begin();
    if (at != end && *at != '0')
      for (; at != end && is_digit(*at); ++at)
        if (!aligned_) width_ = 10 * width_ + (*at - '0');
    as_double_ = at != end;
    return as_double_ ? double_.parse(context) : text_.parse(context);
  }

  template <class Context>
  auto format(ulp::number<F, R> x, Context& context) const {
    if (as_double_) return double_.format(static_cast<double>(x), context);
    const std::string text = ulp::shortest_decimal(F, x.code());
    if (!aligned_) return fmt::format_to(context.out(), "{:>{}}", text, width_);
    return text_.format(std::string_view{text}, context);
  }

 private:
  fmt::formatter<double> double_;
  fmt::formatter<std::string_view> text_;
  bool as_double_ = false;
  bool aligned_ = false;
  int width_ = 0;
};

#endif
