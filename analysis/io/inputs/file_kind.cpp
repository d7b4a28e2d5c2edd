#include "file_kind.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/recording/block_tables.hpp>
#include <ulp/io/recording/recording.hpp>

#include "bytes/cursor.hpp"
#include "dump_steps.hpp"
#include "dumps/rows.hpp"
#include "folders.hpp"
#include "source/read_ahead.hpp"
#include "table/table_source.hpp"
#include "tensorboard/tfevents.hpp"
#include "tensorboard/tfrecord.hpp"
#include "text.hpp"

namespace ulp::io {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t looked_at = 512;

struct refused_start {
  std::string_view bytes;
  std::string_view reason;
};
constexpr std::array refused_starts{
    refused_start{
        "\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19"sv,
        "is a PyTorch file from before version 1.6, which is not supported: load it in PyTorch and save it again with "
        "torch.save or safetensors.torch.save_file"sv},
    refused_start{"\x80\x02"sv,
                  "is a Python pickle; unpickling can run any code, so it is not read; save safetensors"sv},
    refused_start{"\x80\x04"sv,
                  "is a Python pickle; unpickling can run any code, so it is not read; save safetensors"sv},
    refused_start{"\x80\x05"sv,
                  "is a Python pickle; unpickling can run any code, so it is not read; save safetensors"sv},
    refused_start{"\xFF\xFE"sv, "is UTF-16: convert it to UTF-8, as with iconv -f UTF-16 -t UTF-8"sv},
    refused_start{"\xFE\xFF"sv, "is UTF-16: convert it to UTF-8, as with iconv -f UTF-16 -t UTF-8"sv},
    refused_start{"\x89HDF\r\n\x1A\n"sv, "is an HDF5 file, which is not read; save safetensors, .npz or .npy"sv},
};

bool begins_recording(const std::string& /*path*/, std::string_view start, const read_limits& /*limits*/) {
  return start.starts_with("SQLite format 3\0"sv);
}

// The head of a TFRecord; or, where that is damaged, the version in its first event.
bool begins_event_file(const std::string& /*path*/, std::string_view start, const read_limits& /*limits*/) {
  return starts_tfrecord(start) || start.substr(0, 64).find("brain.Event:") != std::string_view::npos;
}

bool is_gzip(std::string_view start) { return start.starts_with("\x1F\x8B"sv); }

bool begins_text(const std::string& /*path*/, std::string_view start, const read_limits& /*limits*/) {
  return is_gzip(start) || std::ranges::none_of(start, [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           const bool of_terminals = c == '\b' || c == '\f' || c == '\x1B';  // colours and progress bars in logs
           return byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && !of_terminals;
         });
}

std::unique_ptr<source> open_one_recording(const std::vector<std::string>& paths, const source_options& options,
                                           const scalar_table& /*scalars*/) {
  const std::string& path = paths.front();
  if (options.with_blocks) return read_ahead(open_with_blocks(path, {}, options.attempts));
  return options.merged && totals_are_as_good(path) ? open_totals(path, totals_with::cells, options.attempts)
                                                    : read_ahead(open_recording(path, options.attempts));
}

std::unique_ptr<source> open_event_files(const std::vector<std::string>& paths, const source_options& options,
                                         const scalar_table& /*scalars*/) {
  return open_tfevents(paths, options.limits, told_by(options));
}

std::unique_ptr<source> open_texts(const std::vector<std::string>& paths, const source_options& options,
                                   const scalar_table& /*scalars*/) {
  return paths.size() > 1 ? open_tables(paths, options) : open_text(paths.front(), options);
}

file_kind kind_of(const dump_kind& row) {
  return {row.name, row.globs, row.begins, open_given_dumps, /*joins=*/true, row.open};
}

// "*.npy *.npz": ".npy" and ".npz".
std::vector<std::string_view> endings_of(std::string_view globs) {
  std::vector<std::string_view> all;
  while (!globs.empty()) {
    const std::size_t size = std::min(globs.find(' '), globs.size());
    all.push_back(globs.substr(1, size - 1));
    globs.remove_prefix(std::min(size + 1, globs.size()));
  }
  return all;
}

std::vector<std::string> endings_of_dumps() {
  std::vector<std::string> all;
  for (const file_kind& row : file_kinds())
    if (row.is_dump())
      for (const std::string_view ending : endings_of(row.globs)) all.emplace_back(ending);
  return all;
}

// Whether the name ends as the first of the globs says.
bool is_named(std::string_view path, const file_kind& row) {
  return path.ends_with(row.globs.substr(1, row.globs.find(' ') - 1));
}

}  // namespace

bool file_kind::is_recording() const { return open == open_one_recording; }

const std::vector<file_kind>& file_kinds() {
  static const std::vector<file_kind> all{
      {"recording", "*.ulp", begins_recording, open_one_recording},
#define ULP_KIND(NAME) kind_of(NAME##_kind()),
      ULP_DUMPS(ULP_KIND)
#undef ULP_KIND
          {"TensorBoard event file", "*.tfevents.*", begins_event_file, open_event_files, /*joins=*/true},
      {"table or training log", "*.csv *.log *.txt *.out *.err *.jsonl *.json *.tsv *.csv.gz *.log.gz", begins_text,
       open_texts,
       /*joins=*/true},
  };
  return all;
}

bool is_named_as(std::string_view path, const file_kind& row) {
  return std::ranges::any_of(endings_of(row.globs), [&](std::string_view ending) { return path.ends_with(ending); });
}

const file_kind& file_kind_of(const std::string& path, const read_limits& limits) {
  const file_kind& as_text = file_kinds().back();
  const auto fail = [&](std::string_view reason) { throw input_error(path, "", std::string(reason)); };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (path == "-" || status.type() == std::filesystem::file_type::fifo) return as_text;
  if (std::filesystem::is_directory(status)) {
    const std::string files = pattern_of_files(path, endings_of_dumps());
    fail(
        "is a folder without TensorBoard event files, tensor_dumps of TransformerEngine, or wgrads, dgrads or "
        "activations of Megatron-LM; name the files that are meant" +
        (files.empty() ? "" : ", such as " + files));
  }

  const file_reader file(path);
  if (file.size() == 0) fail("is empty");
  const auto bytes = file.read(0, std::min(file.size(), looked_at));
  const std::string start(bytes.begin(), bytes.end());
  for (const file_kind& row : file_kinds())
    if (&row != &as_text && row.begins(path, start, limits)) return row;
  for (const refused_start& refused : refused_starts)
    if (start.starts_with(refused.bytes)) fail(refused.reason);
  for (const file_kind& row : file_kinds())
    if (row.is_dump() && !is_gzip(start) && is_named(path, row)) return row;
  if (as_text.begins(path, start, limits)) return as_text;
  std::string known;
  for (const file_kind& row : file_kinds()) known += (known.empty() ? "" : ", ") + std::string{row.name};
  throw input_error(path, "", "is not a supported input: " + known);
}

}  // namespace ulp::io
