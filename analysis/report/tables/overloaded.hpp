// A visitor of variants made of lambdas.
#ifndef ULP_REPORT_TABLES_OVERLOADED_HPP
#define ULP_REPORT_TABLES_OVERLOADED_HPP

namespace ulp {

template <typename... Ts>
struct overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
overloaded(Ts...) -> overloaded<Ts...>;

}  // namespace ulp

#endif
