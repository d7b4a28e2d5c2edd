// Steps of a training that always goes the same way, into a recording that may hold the first of them already.
#ifndef ULP_CLI_LOOP_RECORDER_HPP
#define ULP_CLI_LOOP_RECORDER_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <ulp/io/recording/recording.hpp>
#include <ulp/train/closed_loop.hpp>
#include <ulp/train/training.hpp>
#include <vector>

namespace ulp::cli {

class loop_recorder {
 public:
  // append: the steps that the file holds are compared with those that come, and what follows is added; a file that is not
  // there is made. Else the file must not be there. Throws input_error.
  loop_recorder(std::string path, bool append);
  // A file that was made here and got no step is removed.
  ~loop_recorder();
  loop_recorder(const loop_recorder&) = delete;
  loop_recorder& operator=(const loop_recorder&) = delete;

  // Throws usage_error where the file holds another step in this place, input_error where it cannot be written.
  // Joint tables are written, not compared.
  void see(const trained_step& now, const std::vector<tensor_info>& tensors);
  // Throws usage_error where the file holds more steps than came.
  void finish();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t held() const { return held_steps_; }  // steps that it held before and that were compared
  [[nodiscard]] std::uint64_t written() const { return written_; }

 private:
  std::string path_;
  std::unique_ptr<source> held_;  // until its last step was compared
  std::unique_ptr<recording_writer> writer_;
  bool made_ = false;
  std::uint64_t held_steps_ = 0;
  std::uint64_t written_ = 0;
};

// Of the two trainings of a seed.
struct loop_recorders {
  std::optional<loop_recorder> closed;
  std::optional<loop_recorder> twin;

  // From now on `to` has its steps recorded; not longer than this lives.
  void listen(closed_loop_watch& to);
  void finish(bool told);
  // After an interruption.
  void tell_what_stays() const;
};

}  // namespace ulp::cli

#endif
