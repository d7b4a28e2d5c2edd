// A CSV of histograms, plain or gzip-compressed.
#include "csv/histogram_csv.hpp"
#include "support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ulp::fuzz::with_file({data, size}, [](const std::string& path) {
    ulp::fuzz::read_all(*ulp::io::open_histogram_csv(ulp::io::csv_reader(path)));
  });
  return 0;
}
