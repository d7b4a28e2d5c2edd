// Largest magnitudes of tensors, step by step, from what frameworks log of them.
#ifndef ULP_IO_AMAX_AMAX_ROWS_HPP
#define ULP_IO_AMAX_AMAX_ROWS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <ulp/io/amax/amax_row.hpp>
#include <ulp/io/bytes/limits.hpp>

namespace ulp {

struct amax_rows {
  std::vector<amax_row> rows;      // ascending by step, those of a step in the order in which tensors first appear
  std::uint64_t unknown = 0;       // rows left out: printed as 0.0000, which any amax below 0.00005 is
  std::vector<std::string> notes;  // of that and the like, one line each
};

// Whether the first lines of a text are those of a statistics log of nvdlfw_inspect, the tool behind TransformerEngine's
// LogTensorStats.
[[nodiscard]] bool is_statistics_log(const std::string& path, const read_limits& limits = {});

// The amax of such a log, one rank's: the statistic cur_amax, or where a tensor has none, the larger magnitude of its min
// and max. Of a step that is logged again the last counts. Throws input_error, also where no tensor has either.
[[nodiscard]] amax_rows read_statistics_log(const std::string& path, const read_limits& limits = {});

// Whether a file is such a checkpoint: a zip of torch.save whose state_dict has an `_extra_state`.
[[nodiscard]] bool holds_amax_histories(const std::string& path, const read_limits& limits = {});

// The amax histories that TransformerEngine's modules keep under delayed scaling, from a checkpoint of torch.save: of each
// `_extra_state` of a state_dict the slots in use, the newest last. Nothing in it is executed. The steps are not known:
// slots are numbered from 0, so that the newest of all histories of one length have the same number. Tensors are
// "MODULE.GEMM1_INPUT", as TransformerEngine numbers them. Throws input_error, also where there is none.
[[nodiscard]] amax_rows read_amax_histories(const std::string& path, const read_limits& limits = {});

}  // namespace ulp

#endif
