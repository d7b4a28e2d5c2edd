#include "fp8_spec.hpp"

#include <string_view>

namespace ulp::gui {

std::vector<std::string> fp8_recipe_names() {
  std::vector<std::string> all;
  for (const fp8_recipe_entry& e : fp8_recipe_catalog())
    if (e.unfit.empty())
      for (const std::string_view variant : e.variants) all.push_back(std::string{e.name} + ":" + std::string{variant});
  return all;
}

fp8_question question_of(const run_text& run, const fp8_spec& spec) {
  return {.run = run,
          .recipe = spec.recipe,
          .scaler = {},
          .parameters = spec.parameters,
          .format = {},
          .kept_out = spec.kept_out};
}

fp8_spec spec_of(const fp8_question& asked) {
  return {.recipe = asked.recipe, .parameters = asked.parameters, .kept_out = asked.kept_out};
}

std::string name_of(const fp8_spec& spec) { return ulp::name_of(question_of({}, spec)); }

fp8_spec checked(fp8_spec spec) {
  spec.recipe = recipe_of(question_of({}, spec)).name;
  return spec;
}

}  // namespace ulp::gui
