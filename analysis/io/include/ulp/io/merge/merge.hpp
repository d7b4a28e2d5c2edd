// Recordings taken together: the ranks of one run, and runs that follow one another.
#ifndef ULP_IO_MERGE_MERGE_HPP
#define ULP_IO_MERGE_MERGE_HPP

#include <memory>
#include <string>
#include <vector>

#include <ulp/io/source/source.hpp>

namespace ulp {

struct merge_options {
  // Where steps overlap, the recording that comes later in the list takes over from its first step on, as a run does that
  // was started again from an earlier step.
  bool later_wins = false;
};

// Recordings as one source, in the order of their keys. Rows of equal key are of one run (run_id) and of different ranks:
//
// - shards, and local gradients of several ranks: tables are added, tensor by tensor, and the row says whose data it has;
//   a rank that is there twice is an error. Codes stay where all have them.
// - reduced replicas: must be equal, one is taken.
// - recordings of different runs must not share steps, unless later_wins.
//
// Of what the ranks logged, learning rate and loss scale must agree, overflow is found where one found it, a step is
// applied where all applied it; loss and gradient norm are commonly each rank's own, and the largest is kept. Tensors must
// agree in kind, role, `through`, type and factor; a shape stays where it is known to be the whole tensor's.
//
// The result does not depend on the order of `paths` (but for later_wins) nor on how they are grouped into merges. Only
// integers are added. What can be refused without reading tables is refused when opening: input_error names the file, the
// step and what to do. Memory holds one step of each recording. notes() tells of incomplete steps and of steps left out.
[[nodiscard]] std::unique_ptr<source> open_merged(const std::vector<std::string>& paths,
                                                  const merge_options& options = {});

}  // namespace ulp

#endif
