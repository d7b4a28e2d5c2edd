// The tensors of a .safetensors file.
#include "safetensors_header.hpp"

#include "bytes/text.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

class safetensors_reader final : public dump_reader {
 public:
  safetensors_reader(const std::string& path, const read_limits& limits) : file_(path) {
    const safetensors_header header = read_safetensors_header(file_, limits);
    data_ = header.data;
    loss_scale_ = header.loss_scale;
    for (const safetensors_entry& found : header.entries) add(found);
  }

  [[nodiscard]] const std::vector<tensor>& tensors() const override { return tensors_; }
  [[nodiscard]] const std::vector<std::string>& ignored() const override { return ignored_; }
  [[nodiscard]] double said_loss_scale() const override { return loss_scale_; }

  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t index) override {
    const tensor& info = tensors_.at(index);
    return std::make_unique<file_stream>(file_, data_ + begins_[index], info.numel * size_of(info.type));
  }

 private:
  void add(const safetensors_entry& found) {
    if (found.type->type == dtype::unknown) {
      ignored_.push_back(in_quotes(found.name) + " (" + std::string(found.type->name) + ")");
      return;
    }
    tensors_.push_back({.name = found.name,
                        .type = found.type->type,
                        .shape = found.shape,
                        .numel = checked_product(found.shape).value()});
    begins_.push_back(found.offsets[0]);
  }

  file_reader file_;
  std::uint64_t data_ = 0;
  std::vector<tensor> tensors_;
  std::vector<std::uint64_t> begins_;  // of tensors_, from data_
  std::vector<std::string> ignored_;
  double loss_scale_ = not_known;
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
