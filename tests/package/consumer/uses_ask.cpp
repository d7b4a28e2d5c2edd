#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/formats/catalog.hpp>

int main() {
  const ulp::typed_treatment asked = ulp::treatment_of("float16", {});
  return asked.how.format == ulp::float16 && !asked.is_drawn() ? 0 : 1;
}
