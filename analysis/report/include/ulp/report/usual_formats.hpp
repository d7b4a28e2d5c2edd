// The formats that pages and pictures compare where nobody names some.
#ifndef ULP_REPORT_USUAL_FORMATS_HPP
#define ULP_REPORT_USUAL_FORMATS_HPP

#include <array>
#include <vector>

namespace ulp {

struct usual_format {
  const char* name;
  bool common;  // where there is room for a few
};

inline constexpr std::array usual_formats{usual_format{"float16", true},       usual_format{"cbfloat16", true},
                                          usual_format{"bfloat16", true},      usual_format{"tf32", false},
                                          usual_format{"dlfloat16", false},    usual_format{"float8_e5m2", true},
                                          usual_format{"float8_e4m3fn", true}, usual_format{"float8_e4m3fnuz", false}};

[[nodiscard]] inline std::vector<const char*> common_formats() {
  std::vector<const char*> names;
  for (const usual_format& f : usual_formats)
    if (f.common) names.push_back(f.name);
  return names;
}

}  // namespace ulp

#endif
