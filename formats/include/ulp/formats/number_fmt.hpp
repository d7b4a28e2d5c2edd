// Printing of number<> by fmt: "{}" gives the shortest decimal that reads back as the number; any other specification is
// that of double, whose value is the same. Opt-in: the one public header that needs fmt.
#ifndef ULP_FORMATS_NUMBER_FMT_HPP
#define ULP_FORMATS_NUMBER_FMT_HPP

#include <fmt/format.h>

#include <string>

#include <ulp/formats/number.hpp>
#include <ulp/formats/text.hpp>

template <ulp::format F>
struct fmt::formatter<ulp::number<F>> : fmt::formatter<double> {
  constexpr auto parse(fmt::format_parse_context& context) {
    plain_ = context.begin() == context.end() || *context.begin() == '}';
    return fmt::formatter<double>::parse(context);
  }

  template <class Context>
  auto format(ulp::number<F> x, Context& context) const {
    if (plain_) return fmt::format_to(context.out(), "{}", ulp::shortest_decimal(F, x.code()));
    return fmt::formatter<double>::format(static_cast<double>(x), context);
  }

 private:
  bool plain_ = true;
};

#endif
