// The arrays of a .npz.
#include "block_scales.hpp"
#include "bytes/grouped_notes.hpp"
#include "bytes/text.hpp"
#include "npz_file.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

class npz_reader final : public dump_reader {
 public:
  npz_reader(const std::string& path, const read_limits& limits)
      : file_(path, limits), scaled_(scaled_tensors_of(file_, limits, nullptr)), left_out_(file_.others()) {
    const std::vector<bool> used_up = used_up_by(scaled_);
    for (std::size_t i = 0; i < scaled_.size(); ++i)
      if (!used_up[i]) add(i);
    for (const zip_member* const member : file_.others()) ignored_.push_back(in_quotes(member->name) + " (not a .npy)");
    if (!tensors_.empty()) return;
    for (const npz_file::array& array : file_.arrays())
      if (array.header.object) file_.fail(*array.member, why_ignored(array.header) + "; save float arrays");
  }

  [[nodiscard]] const std::vector<tensor>& tensors() const override { return tensors_; }
  [[nodiscard]] const std::vector<std::string>& ignored() const override { return ignored_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_.all(); }

  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t index) override {
    const std::size_t of = arrays_.at(index);
    return scaled_[of] ? open_scaled(file_, of, *scaled_[of]) : file_.open_stored(of);
  }

  void check_ignored() override {
    for (const zip_member* const member : left_out_) file_.archive().check(*member);
  }

 private:
  void add(std::size_t i) {
    const stored_tensor& found = file_.stored()[i];
    const npz_file::array& array = file_.arrays()[i];
    if (const auto& scaled = scaled_[i]) {
      tensors_.push_back(tensor_of(*scaled, found));
      arrays_.push_back(i);
      return notes_.add(scaled->name, text_of(*scaled));
    }
    if (found.number == dtype::unknown) {
      ignored_.push_back(in_quotes(found.name) + " (" + why_ignored(array.header) + ")");
      return left_out_.push_back(array.member);
    }
    tensors_.push_back({.name = found.name,
                        .type = found.number,
                        .order = found.order,
                        .shape = found.shape,
                        .numel = array.header.numel,
                        .row_by_row = found.lies_by.empty()});
    arrays_.push_back(i);
    if (const std::string how = how_read(array.header); !how.empty()) notes_.add(found.name, how);
  }

  npz_file file_;
  std::vector<std::optional<scaled_tensor>> scaled_;  // of the arrays
  std::vector<tensor> tensors_;
  std::vector<std::size_t> arrays_;  // of tensors_
  std::vector<std::string> ignored_;
  grouped_notes notes_;
  std::vector<const zip_member*> left_out_;
};

}  // namespace

dump_kind npz_kind() {
  return {.name = "npz",
          .globs = "*.npz",
          .begins = [](const std::string& /*path*/, std::string_view start,
                       const read_limits& /*limits*/) { return starts_zip(start); },
          .open = [](const std::string& path, const read_limits& limits) -> std::unique_ptr<dump_reader> {
            return std::make_unique<npz_reader>(path, limits);
          }};
}

}  // namespace ulp::io
