// A recording, read while it is being written.
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <ulp/io/inputs/open.hpp>

#include "contents.hpp"
#include "listener.hpp"
#include "module.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

class follower {
 public:
  // `path` as bytes.
  follower(const py::object& path, const py::dict& options, const std::string& depth)
      : run_(with_last_attempts(path, options)), what_(depth_of(depth)), selected_(run_.selected()) {
    from_ = follow_recording(run_.inputs.front(), as_recorded(run_),
                             [this](recording_writer_state state) { return waits(state); });
  }

  // What is read of the next step; None where the recording is closed, or nothing came for `timeout` seconds. Looks every
  // `interval` seconds.
  py::object next(std::optional<double> timeout, double interval) {
    step now;
    contents read;
    bool found = false;
    {
      const py::gil_scoped_release released;
      interval_ = seconds(std::max(interval, 0.001));
      timed_out_ = false;
      end_ = timeout ? clock::now() + seconds(*timeout) : clock::time_point::max();
      while (!found && from_->next(now)) {
        heard_.advance();
        found = selected_.takes(now.key.step);
      }
      if (!found && !timed_out_) state_ = recording_writer_state::done;
      if (found) read.add(now, from_->tensors(), selected_, what_);
    }
    if (!found) return py::none();
    state_ = recording_writer_state::at_work;
    py::dict made;
    read.put(made, what_);
    return made;
  }
  [[nodiscard]] const char* state() const {
    constexpr std::array keys{"awaited", "recording", "stopped", "closed"};
    return keys[static_cast<std::size_t>(state_)];
  }

 private:
  using clock = std::chrono::steady_clock;

  static clock::duration seconds(double n) {
    constexpr double most = 1e8;  // three years
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(std::min(n, most)));
  }
  static run_text with_last_attempts(const py::object& path, const py::dict& options) {
    py::dict given(py::arg("attempts") = "last");
    given.attr("update")(options);
    py::list inputs;
    inputs.append(path);
    return opened_as(inputs, given, "follow");
  }
  bool waits(recording_writer_state state) {
    state_ = state;
    const clock::time_point until = std::min(end_, clock::now() + interval_);
    while (clock::now() < until) {
      constexpr clock::duration a_while = std::chrono::milliseconds(50);
      std::this_thread::sleep_for(std::min(a_while, until - clock::now()));
      heard_.advance();
    }
    timed_out_ = clock::now() >= end_;
    return !timed_out_;
  }

  run_text run_;
  depth what_;
  selection selected_;
  note_keeper heard_;
  clock::duration interval_{};
  clock::time_point end_ = clock::time_point::max();
  bool timed_out_ = false;
  recording_writer_state state_ = recording_writer_state::awaited;
  std::unique_ptr<source> from_;
};

}  // namespace

void bind_following(py::module_& module) {
  py::class_<follower>(module, "Follower")
      .def(py::init<const py::object&, const py::dict&, const std::string&>())
      .def("next", &follower::next)
      .def("state", &follower::state);
}

}  // namespace ulp::python
