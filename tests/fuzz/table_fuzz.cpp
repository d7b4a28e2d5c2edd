// A table of a run, of any form.
#include "inputs/text.hpp"
#include "support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ulp::fuzz::with_file({data, size}, [](const std::string& path) {
    // A column that is told makes a table of nearly every text that parts its first line.
    ulp::source_options told;
    told.columns = {{"rank", ""}};
    ulp::fuzz::read_all(*ulp::io::open_text(path, told));
  });
  return 0;
}
