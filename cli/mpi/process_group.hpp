// Processes that a launcher (mpirun, srun) started together and that make one recording together.
#ifndef ULP_CLI_PROCESS_GROUP_HPP
#define ULP_CLI_PROCESS_GROUP_HPP

#include <functional>
#include <memory>
#include <ulp/io/source/source.hpp>

namespace ulp::cli {

// Rank 0 opens, reads and writes as a single process would; the steps, or the tensors of fewer steps than there are
// processes, are counted by all. Inputs that cannot be divided are read by rank 0 alone.
class process_group {
 public:
  process_group() = default;
  process_group(const process_group&) = delete;
  process_group& operator=(const process_group&) = delete;
  virtual ~process_group() = default;

  // What `work` returns on rank 0, on every rank. `work` calls `open` first. An error on any rank is printed by rank 0,
  // and every rank returns bad_input.
  [[nodiscard]] virtual int run(const std::function<int()>& work) = 0;

  // Opens the inputs on every rank, and gives on rank 0 a source that the others help with; the others stay in here.
  [[nodiscard]] virtual std::unique_ptr<source> open(const std::function<std::unique_ptr<source>()>& how) = 0;
};

// The other processes that this one was started with; nullptr where it was started alone. A program that cannot speak
// with them hands over to the one beside it that can (ulp-mpi); without that, each process throws usage_error.
[[nodiscard]] std::unique_ptr<process_group> join_process_group();

// What launchers say in the environment.
struct launcher_environment {
  unsigned rank = 0;
  unsigned size = 1;
};
[[nodiscard]] launcher_environment launcher_environment_of_process();

}  // namespace ulp::cli

#endif
