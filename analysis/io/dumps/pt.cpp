// Files of torch.save as dumps.
#include "pt.hpp"

#include <algorithm>
#include <set>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "block_scales.hpp"
#include "bytes/grouped_notes.hpp"
#include "bytes/text.hpp"
#include "bytes/within.hpp"
#include "pt_file.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

std::unique_ptr<stored_file> open_pt_file(const std::string& path, const read_limits& limits) {
  return std::make_unique<pt_file>(path, limits, /*with_objects=*/false);
}

class pt_reader final : public dump_reader {
 public:
  pt_reader(const std::string& path, const read_limits& limits, bool with_objects)
      : file_(path, limits, with_objects), scaled_(scaled_tensors_of(file_, limits, open_pt_file)) {
    const std::vector<bool> used_up = used_up_by(scaled_);
    for (std::size_t i = 0; i < scaled_.size(); ++i)
      if (!used_up[i]) add(i);
    for (const pickled_object& object : file_.objects())
      ignored_.push_back(in_quotes(object.name) + " (" + printable(object.made_by) + ")");
  }

  [[nodiscard]] const std::vector<tensor>& tensors() const override { return tensors_; }
  [[nodiscard]] const std::vector<std::string>& ignored() const override { return ignored_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_.all(); }

  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t index) override {
    const std::size_t of = stored_.at(index);
    return scaled_[of] ? open_scaled(file_, of, *scaled_[of]) : file_.open_distinct(of);
  }

  // Members beside the pickle that no tensor reads.
  void check_ignored() override { file_.check_all_but({stored_.begin(), stored_.end()}); }

 private:
  void add(std::size_t i) {
    const stored_tensor& found = file_.stored()[i];
    if (const auto& scaled = scaled_[i]) {
      tensors_.push_back(tensor_of(*scaled, found));
      stored_.push_back(i);
      return notes_.add(scaled->name, text_of(*scaled));
    }
    if (found.number == dtype::unknown) {
      ignored_.push_back(in_quotes(found.name) + " (" + found.type + ")");
      return;
    }
    const std::uint64_t numel = file_.numel(i);
    const std::uint64_t values = file_.distinct(i);
    tensors_.push_back({.name = found.name,
                        .type = found.number,
                        .order = found.order,
                        .shape = found.shape,
                        .numel = numel,
                        .times = values > 0 ? numel / values : 1,
                        .row_by_row = found.lies_by.empty() && values == numel});
    stored_.push_back(i);
  }

  pt_file file_;
  std::vector<std::optional<scaled_tensor>> scaled_;  // of file_
  std::vector<tensor> tensors_;
  std::vector<std::size_t> stored_;  // of tensors_
  std::vector<std::string> ignored_;
  grouped_notes notes_;
};

}  // namespace

dump_kind pt_kind() {
  return {.name = "pt",
          .globs = "*.pt *.pth",
          .begins =
              [](const std::string& path, std::string_view start, const read_limits& limits) {
                return starts_zip(start) && find_pickle(zip_archive(path, limits)) != nullptr;
              },
          .open = [](const std::string& path, const read_limits& limits) -> std::unique_ptr<dump_reader> {
            return std::make_unique<pt_reader>(path, limits, /*with_objects=*/false);
          }};
}

std::vector<std::pair<std::string, std::vector<std::uint8_t>>> bytes_in_pt(const std::string& path,
                                                                           std::string_view end,
                                                                           const read_limits& limits) {
  const zip_archive archive(path, limits);
  const zip_member* const pickle = find_pickle(archive);
  if (pickle == nullptr) throw input_error(path, "", "has no data.pkl");
  check_header(pickle->size, limits, archive.file(), place_of(*pickle));
  const std::string folder = folder_of(*pickle);
  std::vector<pickled_object> objects;
  std::vector<std::pair<std::string, std::vector<std::uint8_t>>> all;
  const std::vector<std::uint8_t> pickled = contents_of(archive, *pickle);
  for (const pickled_tensor& t : read_pickle(pickled, path, place_of(*pickle), limits, &objects)) {
    if (!t.name.ends_with(end) || t.type->name != "uint8" || t.shape.size() != 1 || t.shape[0] == 0) continue;
    const auto fail = [&](const std::string& reason) {
      throw input_error(path, "tensor " + in_quotes(t.name), reason);
    };
    const zip_member* const storage = member_called(archive, folder + "data/" + t.storage);
    if (storage == nullptr) fail("its storage " + in_quotes(t.storage) + " is not in the file");
    if (t.strides[0] != 1 || t.offset > storage->size || t.shape[0] > storage->size - t.offset)
      fail("its values reach past the end of its storage of " + std::to_string(storage->size) + " bytes");
    const std::vector<std::uint8_t> values = contents_of(archive, *storage);
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(t.offset);
    all.emplace_back(t.name, std::vector(first, first + static_cast<std::ptrdiff_t>(t.shape[0])));
  }
  for (pickled_object& object : objects)
    if (object.name.ends_with(end) && !object.bytes.empty()) all.emplace_back(object.name, std::move(object.bytes));
  return all;
}

std::vector<held_tensor> tensors_in_pt(byte_span contents, const std::string& path, const std::string& place,
                                       const read_limits& limits) {
  const zip_archive archive(path + ": " + place, contents, limits);
  const zip_member* const pickle = find_pickle(archive);
  if (pickle == nullptr) throw input_error(path, place, "is a zip without data.pkl");
  check_header(pickle->size, limits, archive.file(), place_of(*pickle));
  const std::string folder = folder_of(*pickle);
  std::vector<pickled_object> objects;
  std::vector<held_tensor> all;
  for (pickled_tensor& t : read_pickle(contents_of(archive, *pickle), path, place, limits, &objects)) {
    const zip_member* const storage = member_called(archive, folder + "data/" + t.storage);
    if (storage == nullptr) throw input_error(path, place, "the storage of " + in_quotes(t.name) + " is not in it");
    t.storage_bytes = std::min(t.storage_bytes, storage->size);
    all.push_back({std::move(t), contents_of(archive, *storage)});
  }
  return all;
}

std::unique_ptr<dump_reader> open_pt_with_objects(const std::string& path, const read_limits& limits) {
  return std::make_unique<pt_reader>(path, limits, /*with_objects=*/true);
}

}  // namespace ulp::io
