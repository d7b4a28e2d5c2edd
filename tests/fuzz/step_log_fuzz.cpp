// A CSV with a line for each step.
#include "csv/step_log.hpp"
#include "support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ulp::fuzz::with_file({data, size}, [](const std::string& path) {
    ulp::io::csv_reader rows(path);
    if (ulp::io::is_step_log(rows)) ulp::fuzz::read_all(*ulp::io::open_step_log(std::move(rows)));
  });
  return 0;
}
