// The formats that pages and pictures compare where nobody names some.
#ifndef ULP_REPORT_TABLES_USUAL_FORMATS_HPP
#define ULP_REPORT_TABLES_USUAL_FORMATS_HPP

#include <array>
#include <vector>

namespace ulp {

// How much room there is: for a few, for some more, for all.
enum class format_room { few, more, all };

struct usual_format {
  const char* name;
  format_room least;  // where it is shown
};

inline constexpr std::array usual_format_rows{
    usual_format{"float16", format_room::few},       usual_format{"cbfloat16", format_room::few},
    usual_format{"bfloat16", format_room::few},      usual_format{"tf32", format_room::more},
    usual_format{"dlfloat16", format_room::all},     usual_format{"float8_e5m2", format_room::few},
    usual_format{"float8_e4m3fn", format_room::few}, usual_format{"float8_e4m3fnuz", format_room::all}};

[[nodiscard]] inline std::vector<const char*> usual_formats(format_room room) {
  std::vector<const char*> names;
  for (const usual_format& f : usual_format_rows)
    if (f.least <= room) names.push_back(f.name);
  return names;
}

}  // namespace ulp

#endif
