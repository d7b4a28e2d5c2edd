// The tensors of a .safetensors file.
#include "block_scales.hpp"
#include "bytes/grouped_notes.hpp"
#include "bytes/text.hpp"
#include "rows.hpp"
#include "safetensors_file.hpp"

namespace ulp::io {
namespace {

class safetensors_reader final : public dump_reader {
 public:
  safetensors_reader(const std::string& path, const read_limits& limits)
      : file_(path, limits), scaled_(scaled_tensors_of(file_, limits, open_safetensors_file)) {
    const std::vector<bool> used_up = used_up_by(scaled_);
    for (std::size_t i = 0; i < scaled_.size(); ++i)
      if (!used_up[i]) add(i);
  }

  [[nodiscard]] const std::vector<tensor>& tensors() const override { return tensors_; }
  [[nodiscard]] const std::vector<std::string>& ignored() const override { return ignored_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_.all(); }
  [[nodiscard]] double said_loss_scale() const override { return file_.header().loss_scale; }

  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t index) override {
    const std::size_t of = entries_.at(index);
    return scaled_[of] ? open_scaled(file_, of, *scaled_[of]) : file_.open_stored(of);
  }

 private:
  void add(std::size_t i) {
    const stored_tensor& found = file_.stored()[i];
    if (const auto& scaled = scaled_[i]) {
      tensors_.push_back(tensor_of(*scaled, found));
      notes_.add(scaled->name, text_of(*scaled));
    } else if (found.number == dtype::unknown) {
      ignored_.push_back(in_quotes(found.name) + " (" + found.type + ")");
      return;
    } else {
      tensors_.push_back({.name = found.name,
                          .type = found.number,
                          .shape = found.shape,
                          .numel = checked_product(found.shape).value()});
    }
    entries_.push_back(i);
  }

  safetensors_file file_;
  std::vector<std::optional<scaled_tensor>> scaled_;  // of the entries
  std::vector<tensor> tensors_;
  std::vector<std::size_t> entries_;  // of tensors_
  std::vector<std::string> ignored_;
  grouped_notes notes_;
};

}  // namespace

dump_kind safetensors_kind() {
  return {.name = "safetensors",
          .globs = "*.safetensors",
          // Eight bytes of length, then JSON, perhaps padded in front.
          .begins =
              [](const std::string& /*path*/, std::string_view start, const read_limits& /*limits*/) {
                constexpr std::size_t length_size = 8;
                if (start.size() <= length_size) return false;
                const bool short_header = start.substr(4, 4) == std::string_view{"\0\0\0\0", 4};
                const std::size_t first = start.find_first_not_of(" \t\r\n", length_size);
                return short_header && first != std::string_view::npos && start[first] == '{';
              },
          .open = [](const std::string& path, const read_limits& limits) -> std::unique_ptr<dump_reader> {
            return std::make_unique<safetensors_reader>(path, limits);
          }};
}

}  // namespace ulp::io
