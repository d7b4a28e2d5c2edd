// Opens whatever holds gradients: dumps, histograms, step logs, training logs, recordings.
#ifndef ULP_IO_INPUTS_OPEN_HPP
#define ULP_IO_INPUTS_OPEN_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/recording/following.hpp>
#include <ulp/io/source/source.hpp>

namespace ulp {

// A form of file that is read.
struct input_format {
  std::string_view name;   // "TensorBoard event file"
  std::string_view globs;  // of the names that such files usually have, separated by blanks
  bool is_dump = false;    // the values of one step
};

// All of them. What a file is, its content says; the globs are for those who choose files.
[[nodiscard]] std::vector<input_format> input_formats();

// What a file is, where it is read; of a dump only where it can be opened, of a text only where its name is like one of the globs and a run is in it. `largest_text`: bytes
// of a text that is looked into; of a longer one the name decides.
[[nodiscard]] std::optional<input_format> input_format_of(const std::string& path, std::uint64_t largest_text);

// The files in a folder of dumps as TransformerEngine and Megatron-LM write them, and in folders within, ascending; empty where
// it is none.
[[nodiscard]] std::vector<std::string> dumps_of_framework(const std::string& folder);

// Opens one input or several: dumps are steps of one run, ordered by the step in their paths, in the order given where
// there is none; event files of TensorBoard are one run, and so are tables of a run; any other kind must be the only input. What a
// file is, is read from its content; a folder stands for the event files in it, or for its dumps_of_framework; "-" is standard input, for tables and logs. Headers are checked here, so that bad input fails before anything is written.
[[nodiscard]] std::unique_ptr<source> open_source(const std::vector<std::string>& inputs,
                                                  const source_options& options = {});

// A recording that need not exist yet, read while it is being written: at its end `next` calls `wait`, until that returns
// false or the recording is closed. Accumulated gradients alone. Where steps that were read are recorded again, as a job does that
// resumes, or others before them, it begins again: a key that does not come after the one before is the first of all. The file
// is open only while there is something new to read. Throws input_error, also where another recording takes its place.
[[nodiscard]] std::unique_ptr<source> follow_recording(const std::string& path, const source_options& options,
                                                       wait_for_steps wait);

}  // namespace ulp

#endif
