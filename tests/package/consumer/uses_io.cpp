#include <string>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/recording.hpp>

int main() {
  try {
    const auto nothing = ulp::open_source({"no-such-file.safetensors"});
  } catch (const ulp::input_error& problem) {
    return std::string{problem.what()}.starts_with("no-such-file.safetensors") ? 0 : 1;
  }
  return 1;
}
