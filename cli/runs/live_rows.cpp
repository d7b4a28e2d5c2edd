#include "live_rows.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/report/tables/table.hpp>
#include <ulp/report/tables/trajectory_table.hpp>

#include "command.hpp"

namespace ulp::cli {

live_rows::live_rows(const std::string& csv, bool text, const scenario& s) : scenario_(&s), csv_(csv), text_(text) {
  if (csv == "-") {
    file_.reset(stdout);
  } else if (!csv.empty()) {
    refuse_planted(csv);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(csv, ignored)) atomic_file{csv};  // which replaces no recording
    file_.reset(std::fopen(csv.c_str(), "we"));
    if (!file_) throw usage_error(fmt::format("{}: {}", csv, std::strerror(errno)));
  }
}

void live_rows::add(const trajectory_row& row, const trajectory_summary& sum) {
  if (file_) {
    const std::string all = to_csv(trajectory_table(std::span{&row, 1}, *scenario_, sum));
    write(has_header_ ? all.substr(all.find('\n') + 1) : all);
    has_header_ = true;
  }
  const bool changed = row.skipped || row.scale_next != row.scale_used || !row.error.empty();
  if (text_ && changed) print(row, sum);
}

void live_rows::print(const trajectory_row& row, const trajectory_summary& sum) {
  constexpr std::size_t remembered = 40;
  if (printed_.size() == remembered) printed_.erase(printed_.begin());
  printed_.push_back(row);
  const std::string all = to_text(trajectory_table(printed_, *scenario_, sum));
  fmt::print("{}", printed_.size() == 1 ? all : all.substr(all.rfind('\n', all.size() - 2) + 1));
  std::fflush(stdout);
}

void live_rows::begin_again() {
  printed_.clear();
  has_header_ = false;
  if (!file_ || file_.get() == stdout) return;
  file_.reset(std::freopen(csv_.c_str(), "we", file_.release()));
  if (!file_) throw usage_error(fmt::format("{}: {}", csv_, std::strerror(errno)));
}

void live_rows::write(const std::string& text) {
  if (std::fputs(text.c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0)
    throw usage_error(fmt::format("{}: {}", csv_ == "-" ? "standard output" : csv_, std::strerror(errno)));
}

}  // namespace ulp::cli
