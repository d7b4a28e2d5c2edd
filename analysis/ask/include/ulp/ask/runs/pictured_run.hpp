// A run as it is drawn: all of it in columns, and its steps and blocks read once more where somebody looks closely.
#ifndef ULP_ASK_RUNS_PICTURED_RUN_HPP
#define ULP_ASK_RUNS_PICTURED_RUN_HPP

#include <functional>
#include <string>
#include <vector>

#include <ulp/ask/columns/run_picture.hpp>
#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/formats/block_formats.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp {

struct pictured_run {
  run_text text;             // as it was read, and is read again
  bool as_recorded = false;  // the factor of some of its values is not known
  source_kind kind = source_kind::recording;
  bool amaxes_only = false;  // the input is a table or log of amaxes: of its tensors nothing is drawn but their scales
  bool has_live_scales = false;  // those of an 8-bit run: see live_scales.hpp
  std::string description;
  std::vector<std::string> notes;  // as `ulp` tells them of the input
  std::vector<std::string> warnings;
  std::string no_updates;  // why lost updates cannot be shown; empty where they can
  run_header header;
  std::vector<tensor_info> tensors;
  run_picture picture;
};

// Reads the run of `run.text`. Throws input_error, std::invalid_argument.
void picture(pictured_run& run, listener& to, first_look look = first_look::yes);

// Whether steps in the middle, and merged blocks, are read without those before them.
[[nodiscard]] bool can_seek(const pictured_run& run);

// The steps of a range that count, in order, until `see` does not want more; with the block tables of a recording, or those of
// dumps in these extents, where some are asked for. Throws input_error.
void read_steps(const pictured_run& run, const step_bounds& within, listener& to,
                const std::function<bool(const step&, const std::vector<tensor_info>&)>& see,
                const std::vector<block_extent>& blocks = {});

// The narrowest merged blocks that lie within a range, of a run that can_seek. Throws input_error.
void read_blocks(const pictured_run& run, const step_bounds& within, listener& to,
                 const std::function<void(const level_block&, const std::vector<tensor_info>&)>& see);

}  // namespace ulp

#endif
