#include "file_kind.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include <ulp/io/bytes/error.hpp>

#include "bytes/cursor.hpp"
#include "dumps/rows.hpp"
#include "tensorboard/tfrecord.hpp"

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
    refused_start{"\x89HDF\r\n\x1A\n"sv, "is an HDF5 file, which is not read; save safetensors, .npz or .npy"sv},
};

bool is_recording(const std::string& /*path*/, std::string_view start, const read_limits& /*limits*/) {
  return start.starts_with("SQLite format 3\0"sv);
}

// The head of a TFRecord; or, where that is damaged, the version in its first event.
bool is_tfevents(const std::string& /*path*/, std::string_view start, const read_limits& /*limits*/) {
  return starts_tfrecord(start) || start.substr(0, 64).find("brain.Event:") != std::string_view::npos;
}

bool is_gzip(std::string_view start) { return start.starts_with("\x1F\x8B"sv); }

bool is_text(const std::string& /*path*/, std::string_view start, const read_limits& /*limits*/) {
  return is_gzip(start) || std::ranges::none_of(start, [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           const bool of_terminals = c == '\b' || c == '\f' || c == '\x1B';  // colours and progress bars in logs
           return byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && !of_terminals;
         });
}

// The first that begins like a file counts; text, the last, is what is none of the others.
const std::vector<file_kind>& file_kinds() {
  using enum file_kind::form;
  static const std::vector<file_kind> all{
      {recording, {"recording", "*.ulp"}, is_recording},
#define ULP_KIND(NAME) NAME##_kind(),
      ULP_DUMPS(ULP_KIND)
#undef ULP_KIND
          {event_file, {"TensorBoard event file", "*.tfevents.*"}, is_tfevents},
      {text, {"CSV or training log", "*.csv *.log *.txt *.csv.gz *.log.gz"}, is_text},
  };
  return all;
}

// Whether the name ends as the first of the globs says.
bool is_named(std::string_view path, const file_kind& row) {
  return path.ends_with(row.shown.globs.substr(1, row.shown.globs.find(' ') - 1));
}

}  // namespace

const file_kind& file_kind_of(const std::string& path, const read_limits& limits) {
  const file_kind& as_text = file_kinds().back();
  const auto fail = [&](std::string_view reason) { throw input_error(path, "", std::string(reason)); };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (path == "-" || status.type() == std::filesystem::file_type::fifo) return as_text;
  if (std::filesystem::is_directory(status))
    fail("is a folder without TensorBoard event files; name the files that are meant");

  const file_reader file(path);
  if (file.size() == 0) fail("is empty");
  const auto bytes = file.read(0, std::min(file.size(), looked_at));
  const std::string start(bytes.begin(), bytes.end());
  for (const file_kind& row : file_kinds())
    if (&row != &as_text && row.begins(path, start, limits)) return row;
  for (const refused_start& refused : refused_starts)
    if (start.starts_with(refused.bytes)) fail(refused.reason);
  for (const file_kind& row : file_kinds())
    if (row.open != nullptr && !is_gzip(start) && is_named(path, row)) return row;
  if (as_text.begins(path, start, limits)) return as_text;
  std::string known;
  for (const file_kind& row : file_kinds()) known += (known.empty() ? "" : ", ") + std::string{row.shown.name};
  throw input_error(path, "", "is not a supported input: " + known);
}

}  // namespace ulp::io

namespace ulp {

std::vector<input_format> input_formats() {
  std::vector<input_format> all;
  for (const io::file_kind& row : io::file_kinds()) {
    all.push_back(row.shown);
    all.back().is_dump = row.how == io::file_kind::form::dump;
  }
  return all;
}

}  // namespace ulp
