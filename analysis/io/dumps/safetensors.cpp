// The tensors of a .safetensors file.
#include "safetensors_header.hpp"

#include "block_scales.hpp"
#include "bytes/grouped_notes.hpp"
#include "bytes/text.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

class safetensors_reader final : public dump_reader {
 public:
  safetensors_reader(const std::string& path, const read_limits& limits)
      : file_(path),
        header_(read_safetensors_header(file_, limits)),
        scaled_(scaled_tensors_of(file_, header_, limits)) {
    std::vector<bool> is_scale(header_.entries.size());
    for (const auto& s : scaled_)
      if (s)
        for (const std::size_t i : s->used_up) is_scale[i] = true;
    for (std::size_t i = 0; i < header_.entries.size(); ++i)
      if (!is_scale[i]) add(i);
  }

  [[nodiscard]] const std::vector<tensor>& tensors() const override { return tensors_; }
  [[nodiscard]] const std::vector<std::string>& ignored() const override { return ignored_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_.all(); }
  [[nodiscard]] double said_loss_scale() const override { return header_.loss_scale; }

  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t index) override {
    const std::size_t of = entries_.at(index);
    if (scaled_[of]) return open_scaled(file_, header_, of, *scaled_[of]);
    return std::make_unique<file_stream>(file_, header_.data + header_.entries[of].offsets[0],
                                         header_.entries[of].bytes());
  }

 private:
  void add(std::size_t i) {
    const safetensors_entry& found = header_.entries[i];
    if (const auto& scaled = scaled_[i]) {
      tensors_.push_back({.name = scaled->name,
                          .type = dtype::float32,
                          .shape = scaled->shape,
                          .numel = checked_product(scaled->shape).value()});
      entries_.push_back(i);
      notes_.add(scaled->name, text_of(*scaled));
      return;
    }
    if (found.type->type == dtype::unknown) {
      ignored_.push_back(in_quotes(found.name) + " (" + std::string(found.type->name) + ")");
      return;
    }
    tensors_.push_back({.name = found.name,
                        .type = found.type->type,
                        .shape = found.shape,
                        .numel = checked_product(found.shape).value()});
    entries_.push_back(i);
  }

  file_reader file_;
  safetensors_header header_;
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
