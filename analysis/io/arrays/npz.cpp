// The arrays of a .npz, and what else is in it.
#include "dumps/npz_file.hpp"

#include "npy.hpp"
#include "output/zip_writer.hpp"
#include "scaled_arrays.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view npy_suffix = ".npy";

class npz_input final : public array_input {
 public:
  npz_input(const std::string& path, const std::optional<format>& from, const read_limits& limits)
      : file_(path, limits), scaled_(scaled_tensors_of(file_, limits, nullptr, of_one_byte(from))) {
    for (std::size_t i = 0; i < scaled_.size(); ++i) {
      const npz_file::array& found = file_.arrays()[i];
      stored_array& array = arrays_.emplace_back(array_of(found.header, file_.stored()[i].name, from));
      if (found.header.object) array.type = "pickled objects";
      array.member = found.member->name;
      array.bytes_as_is = found.member->size;
    }
    make_scaled(arrays_, scaled_);
    for (const zip_member* const other : file_.others())
      arrays_.push_back({.name = other->name, .type = "not a .npy", .member = other->name, .bytes_as_is = other->size});
  }

  [[nodiscard]] const std::vector<stored_array>& arrays() const override { return arrays_; }
  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t index) const override {
    if (scaled_.at(index)) return open_scaled(file_, index, *scaled_[index]);
    return file_.open_stored(index);
  }
  [[nodiscard]] std::unique_ptr<byte_stream> open_as_is(std::size_t index) const override {
    const std::size_t others = index - scaled_.size();
    return file_.archive().open(index < scaled_.size() ? *file_.arrays()[index].member : *file_.others().at(others));
  }

 private:
  npz_file file_;
  std::vector<std::optional<scaled_tensor>> scaled_;  // of its arrays
  std::vector<stored_array> arrays_;                  // of all members
};

class npz_output final : public array_output {
 public:
  explicit npz_output(atomic_file& to) : zip_(to) {}

  void begin(const written_array& array) override {
    if (array.copied) return zip_.begin(array.member, array.bytes);
    const std::string header = npy_header_bytes(array.type, array.by_columns, array.shape);
    zip_.begin(array.name + std::string(npy_suffix), header.size() + array.bytes);
    zip_.write(header);
  }
  void write(byte_span bytes) override { zip_.write(text_of(bytes)); }
  void end() override { zip_.end(); }
  void finish() override { zip_.finish(); }

 private:
  zip_writer zip_;
};

}  // namespace

std::unique_ptr<array_input> open_npz(const std::string& path, const std::optional<format>& from,
                                      const read_limits& limits) {
  return std::make_unique<npz_input>(path, from, limits);
}

std::unique_ptr<array_output> write_npz(atomic_file& to) { return std::make_unique<npz_output>(to); }

}  // namespace ulp::io
