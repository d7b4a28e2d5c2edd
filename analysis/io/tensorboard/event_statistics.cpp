#include <ulp/io/tensorboard/event_statistics.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "amax/statistic_names.hpp"
#include "bytes/cursor.hpp"
#include "bytes/text.hpp"
#include "bytes/within.hpp"
#include "event.hpp"
#include "tfrecord.hpp"

namespace ulp {
namespace {

bool is_event_file(const std::string& path) {
  constexpr std::uint64_t head_size = 12;
  const io::file_reader file(path);
  const std::vector<std::uint8_t> head = file.read(0, std::min(file.size(), head_size));
  return io::starts_tfrecord({reinterpret_cast<const char*>(head.data()), head.size()});
}

std::optional<double> scalar_of(const io::tf_value& value) {
  if (value.scalar) return value.scalar;
  if (value.tensor && value.tensor->shape.empty() && value.tensor->values.size() == 1)
    return value.tensor->values.front();
  return std::nullopt;
}

class event_statistics {
 public:
  event_statistics(const std::string& path, const read_limits& limits) : file_(path), limits_(limits) {}

  std::optional<amax_rows> read() {
    std::uint64_t at = 0;
    while (at < file_.size()) {
      const auto record = file_.at(at);
      if (!record) break;
      at = record->next;
      if (record->kept)
        see(io::parse_event(io::cursor(file_.path(), "event", record->data_offset, record->data), limits_));
    }
    amax_rows all;
    std::vector<const std::string*> names(tensors_.size());
    for (const auto& [name, index] : tensors_) names[index] = &name;
    bool has_amax = false;
    for (const auto& [key, values] : steps_) {
      has_amax = has_amax || values.amax;
      if (const std::optional<float> amax = values.largest())
        all.rows.push_back({key.first, *names[key.second], *amax});
    }
    // Minima and maxima alone may be of anything.
    if (!has_amax) return std::nullopt;
    if (at < file_.size())
      all.notes.push_back(printable(file_.path()) + ": its last event was cut short, and is left out");
    return all;
  }

 private:
  void see(const io::tf_event& event) {
    if (event.restarts) steps_.erase(steps_.lower_bound({event.step, 0}), steps_.end());
    for (const io::tf_value& value : event.values) {
      const std::optional<double> number = scalar_of(value);
      const auto tensor = number ? io::tensor_of_statistic(value.tag) : std::nullopt;
      if (!tensor) continue;
      io::check_name(file_.path(), "", tensor->first);
      const auto [at, is_new] = tensors_.try_emplace(std::string(tensor->first), tensors_.size());
      if (is_new) io::check_count(tensors_.size(), limits_, file_.path(), "", "different tensors");
      steps_[{event.step, at->second}].of(tensor->second) = static_cast<float>(*number);
    }
  }

  io::tfrecord_file file_;
  const read_limits& limits_;
  std::map<std::string, std::size_t, std::less<>> tensors_;  // in the order in which they appear
  std::map<std::pair<std::int64_t, std::size_t>, io::logged_amax> steps_;
};

}  // namespace

std::optional<amax_rows> read_event_statistics(const std::string& path, const read_limits& limits) {
  if (path == "-" || !is_event_file(path)) return std::nullopt;
  return event_statistics(path, limits).read();
}

}  // namespace ulp
