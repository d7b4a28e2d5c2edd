#include <ulp/io/inputs/number_file.hpp>

#include <bit>
#include <utility>

#include <ulp/formats/codec.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/model/cells/element_types.hpp>

#include "bytes/cursor.hpp"
#include "bytes/text.hpp"
#include "file_kind.hpp"

namespace ulp {
namespace {

class dumped_numbers final : public number_stream {
 public:
  dumped_numbers(const io::dump_reader::tensor& info, std::unique_ptr<io::byte_stream> in)
      : size_(static_cast<std::size_t>(size_of(info.type))), order_(info.order), in_(std::move(in)) {
    if (const format* const codes = format_of_codes(info.type))
      for (std::uint64_t c = 0; c <= codes->code_mask(); ++c) decoded_.push_back(to_double(*codes, c));
  }

  void read(std::span<double> into) override {
    bytes_.resize(into.size() * size_);
    in_->read(bytes_);
    for (std::size_t i = 0; i < into.size(); ++i) {
      const std::uint64_t bits = io::bits_at(bytes_.data() + i * size_, size_, order_);
      into[i] = size_ == 8   ? std::bit_cast<double>(bits)
                : size_ == 4 ? double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))}
                             : decoded_[bits];
    }
  }

 private:
  std::size_t size_;
  std::endian order_;
  std::unique_ptr<io::byte_stream> in_;
  std::vector<double> decoded_;  // of 16- and 8-bit types, by code
  std::vector<std::uint8_t> bytes_;
};

}  // namespace

struct number_file::state {
  std::string path;
  std::unique_ptr<io::dump_reader> reader;
  std::vector<number_array> arrays;
};

number_file::number_file(const std::string& path, const read_limits& limits) : state_(std::make_unique<state>()) {
  const io::file_kind& kind = io::file_kind_of(path, limits);
  if (!kind.is_dump())
    throw input_error(path, "", "holds no single numbers; give a dump (.safetensors, .npz, .npy, .pt)");
  state_->path = path;
  state_->reader = kind.open_dump(path, limits);
  state_->reader->check_ignored();
  for (const io::dump_reader::tensor& t : state_->reader->tensors()) {
    io::check_name(path, "", t.name);
    state_->arrays.push_back({.name = t.name, .type = t.type, .shape = t.shape, .numel = t.numel});
  }
}

number_file::~number_file() = default;
number_file::number_file(number_file&&) noexcept = default;
number_file& number_file::operator=(number_file&&) noexcept = default;

const std::string& number_file::path() const noexcept { return state_->path; }
const std::vector<number_array>& number_file::arrays() const noexcept { return state_->arrays; }
const std::vector<std::string>& number_file::ignored() const noexcept { return state_->reader->ignored(); }

std::vector<std::string> number_file::notes() const { return state_->reader->notes(); }

void number_file::refuse_without_numbers(std::string_view name) const {
  for (const std::string& left_out : ignored())
    if (left_out.starts_with("'" + std::string{name} + "'"))
      throw input_error(path(), "array " + left_out, "holds no floating-point numbers; save it as float32");
}

std::unique_ptr<number_stream> number_file::open(std::size_t index) const {
  const io::dump_reader::tensor& info = state_->reader->tensors().at(index);
  if (!info.row_by_row)
    throw input_error(state_->path, "tensor " + io::in_quotes(info.name),
                      "is not stored row by row; save it with contiguous(), or numpy.ascontiguousarray");
  return std::make_unique<dumped_numbers>(info, state_->reader->open(index));
}

bool is_dump(const std::string& path, const read_limits& limits) { return io::file_kind_of(path, limits).is_dump(); }

}  // namespace ulp
