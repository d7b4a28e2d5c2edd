// Lines: nvdlfw_inspect/logging.py (FileLogger.log_scalar, _initialize_stats_logger) of NVIDIA/nvidia-dlfw-inspect @dc19d10.
#include <ulp/io/amax/amax_rows.hpp>

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "bytes/lines.hpp"
#include "bytes/text.hpp"
#include "bytes/within.hpp"
#include "statistic_names.hpp"

namespace ulp {
namespace {

constexpr const char* log_kind = "statistics log of nvdlfw_inspect";
// Values have four decimals: below this, they are off by more than 1 %.
constexpr float coarse_below = 0.005F;

struct statistic {
  std::string_view name;
  std::string_view step;
  std::string_view value;
};

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t first = text.find_first_not_of(blanks);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// "2026-08-22 10:00:00,123 - INFO - NAME \t\t\t\t iteration=000010 \t\t\t\t value=0.1250"
std::optional<statistic> statistic_in(std::string_view line) {
  constexpr std::string_view before_step = "\t iteration=";
  constexpr std::string_view before_value = "\t value=";
  constexpr std::string_view before_name = " - ";
  const std::size_t step = line.find(before_step);
  const std::size_t value = line.find(before_value, step);
  if (step == std::string_view::npos || value == std::string_view::npos) return std::nullopt;
  std::string_view name = line.substr(0, step);
  if (const std::size_t at = name.rfind(before_name); at != std::string_view::npos)
    name.remove_prefix(at + before_name.size());
  const std::size_t digits = step + before_step.size();
  return statistic{without_blanks(name), without_blanks(line.substr(digits, value - digits)),
                   without_blanks(line.substr(value + before_value.size()))};
}

template <typename T>
std::optional<T> number_from(std::string_view text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

class statistics_reader {
 public:
  statistics_reader(const std::string& path, const read_limits& limits) : lines_(path, limits), limits_(limits) {}

  amax_rows read() {
    std::string line;
    while (lines_.next(line, log_kind))
      if (const auto found = statistic_in(line)) see(*found);
    if (statistics_ == 0)
      throw_nothing(
          "has no line of a statistic, as 'NAME iteration=000010 value=0.1250': give a log of the folder "
          "nvdlfw_inspect_statistics_logs");
    amax_rows all = rows();
    if (all.rows.empty() && all.unknown == 0)
      throw_nothing("has " + std::to_string(statistics_) +
                    " statistics and no amax: name cur_amax, or both min and max, in the stats of LogTensorStats");
    return all;
  }

 private:
  [[noreturn]] void throw_nothing(const std::string& reason) const { throw input_error(lines_.path(), "", reason); }

  void see(const statistic& found) {
    ++statistics_;
    const auto step = number_from<std::int64_t>(found.step);
    const auto value = number_from<float>(found.value);
    if (!step || !value) {
      // The last line of a log that was cut.
      if (!lines_.ended()) return void(cut_ = true);
      lines_.fail((step ? "the value " + io::in_quotes(found.value) : "the iteration " + io::in_quotes(found.step)) +
                  " is no number");
    }
    const auto tensor = io::tensor_of_statistic(found.name);
    if (!tensor) return;
    io::check_name(lines_.path(), "line " + std::to_string(lines_.number()), tensor->first);
    const auto [at, added] = tensors_.try_emplace(std::string(tensor->first), tensors_.size());
    if (added) io::check_count(tensors_.size(), limits_, lines_.path(), "", "different tensors");
    std::optional<float>& into = steps_[{*step, at->second}].of(tensor->second);
    if (into && *into != *value && !(std::isnan(*into) && std::isnan(*value))) ++replaced_;
    into = *value;
  }

  amax_rows rows() const {
    std::vector<const std::string*> names(tensors_.size());
    for (const auto& [name, index] : tensors_) names[index] = &name;
    amax_rows all;
    std::uint64_t coarse = 0;
    for (const auto& [key, values] : steps_) {
      const std::optional<float> amax = values.largest();
      if (!amax) continue;
      if (*amax == 0) {
        ++all.unknown;
        continue;
      }
      coarse += *amax < coarse_below ? 1 : 0;
      all.rows.push_back({key.first, *names[key.second], *amax});
    }
    const auto note = [&](std::uint64_t count, const std::string& one, const std::string& several) {
      if (count > 0)
        all.notes.push_back(printable(lines_.path()) + ": " + std::to_string(count) + (count == 1 ? one : several));
    };
    note(all.unknown, " amax is printed as 0.0000, which any below 0.00005 is: it is not known, and left out",
         " amaxes are printed as 0.0000, which any below 0.00005 is: they are not known, and left out");
    note(coarse, " amax is below 0.005: its four decimals leave an error of more than 1 %",
         " amaxes are below 0.005: their four decimals leave an error of more than 1 %");
    note(replaced_, " value is logged again, and another: the last counts",
         " values are logged again, and others: the last of each counts");
    if (cut_) all.notes.push_back(printable(lines_.path()) + ": its last line was cut short, and is left out");
    return all;
  }

  io::line_reader lines_;
  const read_limits& limits_;
  std::map<std::string, std::size_t, std::less<>> tensors_;  // in the order in which they appear
  std::map<std::pair<std::int64_t, std::size_t>, io::logged_amax> steps_;
  std::uint64_t statistics_ = 0;
  std::uint64_t replaced_ = 0;
  bool cut_ = false;
};

}  // namespace

bool is_statistics_log(const std::string& path, const read_limits& limits) {
  constexpr int looked_at = 20;  // there is nothing else in such a log
  io::line_reader lines(path, limits);
  std::string line;
  for (int i = 0; i < looked_at && lines.next(line, log_kind); ++i)
    if (statistic_in(line)) return true;
  return false;
}

amax_rows read_statistics_log(const std::string& path, const read_limits& limits) {
  return statistics_reader(path, limits).read();
}

}  // namespace ulp
