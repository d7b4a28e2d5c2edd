// The rows of one step from several recordings of a run, made into one.
#ifndef ULP_IO_MERGE_STEP_MERGER_HPP
#define ULP_IO_MERGE_STEP_MERGER_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp::io {

class step_merger {
 public:
  // `replicas`: rows must be equal; else they are added.
  void begin(bool replicas);
  // The row of one recording, whose tables are moved; its tensors' indices are those of `tensors`. Throws input_error.
  void add(step& row, const std::vector<tensor_info>& tensors, const std::string& path);
  // The row of all, tensors by index.
  void take(step& into);

  // Steps so far whose loss or gradient norm the ranks did not agree on.
  [[nodiscard]] std::uint64_t own_losses() const noexcept { return own_losses_; }

  // What rows of some ranks know and those of others do not, so that the row of all does not.
  struct dropped {
    std::uint64_t rows = 0;
    std::string path;  // of the first recording that does not know it
  };
  [[nodiscard]] const dropped& dropped_sums() const noexcept { return sums_; }
  [[nodiscard]] const dropped& dropped_errors() const noexcept { return errors_; }
  [[nodiscard]] const dropped& dropped_blocks() const noexcept { return blocks_; }

 private:
  struct merged_row {
    tensor_row row;
    std::string path;  // of the first recording that has it
    bool dropped_sums = false;
    bool dropped_errors = false;
    bool dropped_blocks = false;
  };
  void add_scalars(const step& row, const std::string& path);
  void add_table(tensor_row&& row, const std::string& name, const std::string& path);
  void compare(const tensor_row& row, const std::string& name, const std::string& path) const;

  bool replicas_ = false;
  bool first_ = true;
  bool own_loss_ = false;
  std::uint64_t own_losses_ = 0;
  dropped sums_;
  dropped errors_;
  dropped blocks_;
  step merged_;
  std::string path_;  // of the first recording
  std::vector<merged_row> rows_;
  std::vector<std::size_t> at_;  // of each tensor in rows_, from 1; 0: not there
};

}  // namespace ulp::io

#endif
