// The arrays of a .npz, and what else is in it.
#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "bytes/zip.hpp"
#include "npy.hpp"
#include "output/zip_writer.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view npy_suffix = ".npy";

class npz_input final : public array_input {
 public:
  npz_input(const std::string& path, const std::optional<format>& from, const read_limits& limits)
      : archive_(path, limits) {
    for (const zip_member& member : archive_.members()) add(member, from);
  }

  [[nodiscard]] const std::vector<stored_array>& arrays() const override { return arrays_; }
  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t index) const override {
    auto in = open_as_is(index);
    static_cast<void>(header_of(*in, archive_.members()[index]));
    return in;
  }
  [[nodiscard]] std::unique_ptr<byte_stream> open_as_is(std::size_t index) const override {
    return archive_.open(archive_.members().at(index));
  }

 private:
  [[nodiscard]] npy_header header_of(byte_stream& in, const zip_member& member) const {
    return read_npy_header(in, archive_.path(), "member " + in_quotes(member.name));
  }

  void add(const zip_member& member, const std::optional<format>& from) {
    if (const auto name = name_of_array(archive_, member)) {
      const auto in = archive_.open(member);
      const npy_header header = header_of(*in, member);
      arrays_.push_back(array_of(header, *name, from));
      if (header.object) arrays_.back().type = "pickled objects";
    } else {
      arrays_.push_back({.name = member.name, .type = "not a .npy"});
    }
    arrays_.back().member = member.name;
    arrays_.back().bytes_as_is = member.size;
  }

  zip_archive archive_;
  std::vector<stored_array> arrays_;  // of all members
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
