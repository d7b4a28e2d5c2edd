// The gradients of a run, element by element and step by step, with the weights before the first step.
#ifndef ULP_ASK_PRECISION_GRADIENT_STEPS_HPP
#define ULP_ASK_PRECISION_GRADIENT_STEPS_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/io/arrays/npz.hpp>
#include <ulp/io/inputs/number_file.hpp>

namespace ulp {

struct gradient_question {
  // Dumps, each of a step, or a folder of them; or one dump in which the first index of every array is the step.
  run_text run;
  std::string weights;             // a dump of the weights before the first step; empty: what the inputs hold
  std::vector<std::string> parts;  // NAME=N: what the elements of the only tensor belong to, in order
};

class gradient_steps {
 public:
  struct tensor {
    std::string name;  // without "wgrad/"
    std::uint64_t numel = 0;
    std::vector<std::size_t> arrays;  // of one dump: its index; of dumps of steps found by name
    std::string stored_as;            // the name in the file
  };

  // Reads headers, and of dumps of steps the factors of their gradients. Steps that the run skipped are left out, and
  // told of. Throws input_error, std::invalid_argument.
  gradient_steps(const gradient_question& asked, listener& to);

  [[nodiscard]] const std::vector<tensor>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return is_stack_ ? chosen_.size() : steps_.size(); }
  // Whether it is one dump of all steps.
  [[nodiscard]] bool is_stack() const noexcept { return is_stack_; }
  // The number of a step that is taken, by its place among these, as --steps counts.
  [[nodiscard]] std::int64_t number(std::uint64_t place) const {
    return is_stack_ ? static_cast<std::int64_t>(chosen_.at(place)) : steps_.at(place).number;
  }
  // Zeros where they are not known, see knows_weights.
  [[nodiscard]] std::vector<float> first_weights(std::size_t tensor) const;
  [[nodiscard]] bool knows_weights() const noexcept { return knows_weights_; }

  // The gradients of the next step, true ones where their factor is known: one array for each tensor.
  void next(std::vector<std::vector<float>>& into);
  // Of the step that was read last: 16 random bits an element, from the array `sr_bits` of a .npz with one tensor, or none.
  [[nodiscard]] std::span<const std::uint16_t> random() const noexcept { return random_; }

 private:
  struct step {
    std::int64_t number = 0;
    std::vector<std::string> files;
    std::map<std::string, double> units;  // what gradients are divided by, by stored name
  };

  void open_stack(const std::string& path, listener& to);
  void open_dumps(const std::vector<std::string>& files, listener& to);
  void find_weights();

  gradient_question asked_;
  read_limits limits_;
  selection selected_;
  bool is_stack_ = false;
  std::vector<tensor> tensors_;
  // One dump.
  std::optional<number_file> stack_;
  std::vector<std::unique_ptr<number_stream>> streams_;
  std::unique_ptr<uint16_rows> bits_;
  std::vector<std::uint16_t> random_;
  std::vector<std::uint64_t> chosen_;  // indices of steps
  std::uint64_t at_ = 0;               // the index that the streams are at
  // Dumps of steps.
  std::vector<step> steps_;
  std::size_t next_ = 0;
  // The weights.
  std::optional<number_file> weights_file_;
  std::vector<std::size_t> weight_arrays_;  // of each tensor
  bool knows_weights_ = false;
};

}  // namespace ulp

#endif
