#include <ulp/io/bytes/error.hpp>

#include "bytes/grouped_notes.hpp"
#include "bytes/text.hpp"
#include "bytes/zip.hpp"
#include "npy.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

class npz_reader final : public dump_reader {
 public:
  npz_reader(const std::string& path, const read_limits& limits) : archive_(path, limits) {
    for (const zip_member& member : archive_.members()) add(member);
    if (tensors_.empty() && pickled_ != nullptr) fail(*pickled_, why_ignored({.object = true}) + "; save float arrays");
  }

  [[nodiscard]] const std::vector<tensor>& tensors() const override { return tensors_; }
  [[nodiscard]] const std::vector<std::string>& ignored() const override { return ignored_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_.all(); }

  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t index) override {
    auto in = archive_.open(*arrays_.at(index));
    if (header_of(*in, *arrays_[index]).numel != tensors_[index].numel)
      fail(*arrays_[index], "changed while it was read");
    return in;
  }

  void check_ignored() override {
    for (const zip_member* const member : left_out_) archive_.check(*member);
  }

 private:
  [[noreturn]] void fail(const zip_member& member, const std::string& reason) const {
    throw input_error(archive_.path(), "member " + in_quotes(member.name), reason);
  }
  [[nodiscard]] npy_header header_of(byte_stream& in, const zip_member& member) const {
    return read_npy_header(in, archive_.path(), "member " + in_quotes(member.name));
  }

  void add(const zip_member& member) {
    const std::optional<std::string> array = name_of_array(archive_, member);
    if (!array) {
      ignored_.push_back(in_quotes(member.name) + " (not a .npy)");
      left_out_.push_back(&member);
      return;
    }
    const std::string& name = *array;
    const auto in = archive_.open(member);
    const npy_header header = header_of(*in, member);
    if (!header.values) {
      if (header.object) pickled_ = &member;
      ignored_.push_back(in_quotes(name) + " (" + why_ignored(header) + ")");
      left_out_.push_back(&member);
      return;
    }
    tensors_.push_back({.name = name,
                        .type = header.values->type,
                        .order = header.values->order,
                        .shape = header.shape,
                        .numel = header.numel,
                        .row_by_row = !header.by_columns || header.shape.size() < 2});
    arrays_.push_back(&member);
    if (const std::string how = how_read(header); !how.empty()) notes_.add(name, how);
  }

  zip_archive archive_;
  std::vector<tensor> tensors_;
  std::vector<const zip_member*> arrays_;  // of tensors_
  std::vector<std::string> ignored_;
  grouped_notes notes_;
  std::vector<const zip_member*> left_out_;
  const zip_member* pickled_ = nullptr;  // a member of Python objects
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
