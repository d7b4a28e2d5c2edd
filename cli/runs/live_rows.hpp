// The rows of a replay, written as they come.
#ifndef ULP_CLI_LIVE_ROWS_HPP
#define ULP_CLI_LIVE_ROWS_HPP

#include <cstdio>
#include <memory>
#include <string>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/model/replay/trajectory.hpp>
#include <vector>

namespace ulp::cli {

class live_rows {
 public:
  // `csv`: a file, "-" for standard output, empty for none; it is written in place, line by line. `text`: steps at which the
  // scale changed or that were skipped are printed for people. Throws usage_error.
  live_rows(const std::string& csv, bool text, const scenario& s);

  void add(const trajectory_row& row, const trajectory_summary& sum);
  // What follows replaces what was written: a file begins anew, elsewhere the header comes again.
  void begin_again();

 private:
  void print(const trajectory_row& row, const trajectory_summary& sum);
  void write(const std::string& text);

  struct closer {
    void operator()(std::FILE* file) const {
      if (file != stdout) std::fclose(file);
    }
  };
  const scenario* scenario_;
  std::string csv_;
  bool text_;
  std::unique_ptr<std::FILE, closer> file_;
  bool has_header_ = false;
  std::vector<trajectory_row> printed_;  // the latest, for the widths of columns
};

}  // namespace ulp::cli

#endif
