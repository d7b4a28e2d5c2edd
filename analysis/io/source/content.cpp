#include "content.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include <ulp/io/error.hpp>

#include "bytes/cursor.hpp"
#include "reader.hpp"
#include "tensorboard/tfrecord.hpp"

namespace ulp::io {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t looked_at = 512;

struct known_start {
  std::string_view bytes;
  content what;
};
constexpr std::array known_starts{
    known_start{"\x93NUMPY"sv, content::npy},  known_start{"PK\x03\x04"sv, content::npz},
    known_start{"PK\x05\x06"sv, content::npz}, known_start{"SQLite format 3\0"sv, content::recording},
    known_start{"\x1F\x8B"sv, content::text},
};

struct refused_start {
  std::string_view bytes;
  std::string_view reason;
};
constexpr std::array refused_starts{
    refused_start{
        "\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19"sv,
        "is a PyTorch file in the form of before 1.6, which is not read: load it in PyTorch and save it again, by "
        "torch.save or safetensors.torch.save_file"sv},
    refused_start{"\x80\x02"sv,
                  "is a Python pickle; unpickling can run any code, so it is not read; save safetensors"sv},
    refused_start{"\x80\x04"sv,
                  "is a Python pickle; unpickling can run any code, so it is not read; save safetensors"sv},
    refused_start{"\x80\x05"sv,
                  "is a Python pickle; unpickling can run any code, so it is not read; save safetensors"sv},
    refused_start{"\x89HDF\r\n\x1A\n"sv, "is an HDF5 file, which is not read; save safetensors, .npz or .npy"sv},
};

// Eight bytes of length, then JSON, perhaps padded in front.
bool is_safetensors(std::string_view start) {
  constexpr std::size_t length_size = 8;
  if (start.size() <= length_size) return false;
  const bool short_header = start.substr(4, 4) == "\0\0\0\0"sv;
  const std::size_t first = start.find_first_not_of(" \t\r\n", length_size);
  return short_header && first != std::string_view::npos && start[first] == '{';
}

// The head of a TFRecord; or, where that is damaged, the version in its first event.
bool is_tfevents(std::string_view start) {
  return starts_tfrecord(start) || start.substr(0, 64).find("brain.Event:") != std::string_view::npos;
}

bool is_text(std::string_view start) {
  return std::ranges::none_of(start, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    const bool of_terminals = c == '\b' || c == '\f' || c == '\x1B';  // colours and progress bars in logs
    return byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && !of_terminals;
  });
}

}  // namespace

content content_of(const std::string& path, const read_limits& limits) {
  const auto fail = [&](std::string_view reason) { throw input_error(path, "", std::string(reason)); };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (path == "-" || status.type() == std::filesystem::file_type::fifo) return content::text;
  if (std::filesystem::is_directory(status)) fail("is a folder; name the files in it");

  const file_reader file(path);
  if (file.size() == 0) fail("is empty");
  const auto bytes = file.read(0, std::min(file.size(), looked_at));
  const std::string text(bytes.begin(), bytes.end());
  const std::string_view start = text;
  for (const known_start& known : known_starts)
    if (start.starts_with(known.bytes))
      return known.what == content::npz && is_pt(zip_archive(path, limits)) ? content::pt : known.what;
  if (is_safetensors(start)) return content::safetensors;
  if (is_tfevents(start)) return content::tfevents;
  for (const refused_start& refused : refused_starts)
    if (start.starts_with(refused.bytes)) fail(refused.reason);

  if (path.ends_with(".safetensors")) return content::safetensors;
  if (path.ends_with(".npz")) return content::npz;
  if (path.ends_with(".npy")) return content::npy;
  if (!is_text(start))
    fail(
        "is none of the inputs that are read: safetensors, npz, npy, pt, TensorBoard events, recording, CSV, training "
        "log");
  return content::text;
}

}  // namespace ulp::io
