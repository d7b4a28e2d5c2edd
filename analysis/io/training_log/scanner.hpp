// Finds the records of all dialects in the text of a training log.
#ifndef ULP_IO_TRAINING_LOG_SCANNER_HPP
#define ULP_IO_TRAINING_LOG_SCANNER_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dialects/record.hpp"

namespace ulp::io {

// Takes lines as they come, and puts each rank's together: "[rank3]:", "[default3]:", "3:", "host:" in front of a line
// say whose it is. Memory grows with the number of records only.
class record_scanner {
 public:
  void line(std::string_view raw, std::uint64_t number);
  // The end of the log; `cut` where its last line has no break.
  void finish(bool cut);
  // In the order of the lines.
  [[nodiscard]] std::vector<scale_record> take();

 private:
  struct rank_text {
    record_text text;
    std::size_t scanned = 0;
  };
  void scan(rank_text& from, std::uint32_t label, bool last);
  void keep(scale_record record);

  std::map<std::string, std::uint32_t, std::less<>> labels_;
  std::vector<rank_text> texts_;
  std::vector<scale_record> records_;
  std::string cleaned_;
};

}  // namespace ulp::io

#endif
