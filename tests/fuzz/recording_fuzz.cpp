// The database of a recording, read in each way that there is.
#include <ulp/io/recording.hpp>

#include "support.hpp"

namespace {

void read_with(const std::string& path, void (*read)(const std::string& path)) {
  try {
    read(path);
  } catch (const ulp::input_error&) {
    // The other ways of reading may still be open; what the error says is looked at below.
  }
}

void read_levels(const std::string& path, std::int64_t width) {
  ulp::level_reader levels(path, width);
  ulp::level_block block;
  while (levels.next(block)) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ulp::fuzz::with_named_file({data, size}, [](const std::string& path) {
    read_with(path, [](const std::string& p) { ulp::fuzz::read_all(*ulp::open_totals(p)); });
    read_with(path,
              [](const std::string& p) { ulp::fuzz::read_all(*ulp::open_totals(p, ulp::totals_with::summaries)); });
    read_with(path, [](const std::string& p) { static_cast<void>(ulp::totals_are_as_good(p)); });
    read_with(path, [](const std::string& p) { read_levels(p, ulp::level_widths[0]); });
    read_with(path, [](const std::string& p) { read_levels(p, ulp::level_widths[1]); });
    read_with(path, [](const std::string& p) { ulp::fuzz::read_all(*ulp::open_recording(p, 1, 2)); });
    static_cast<void>(ulp::digest_of(*ulp::open_recording(path)));
  });
  return 0;
}
