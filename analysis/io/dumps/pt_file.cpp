#include "pt_file.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "bytes/within.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view pickle_name = "data.pkl";
// Views may share storages, and their values may overlap: all tensors together may read this many times the bytes of the
// file, and as many more. What expand() repeats is read once, but may not be beyond measure either.
constexpr std::uint64_t most_times = 8;
constexpr std::uint64_t most_more_read = std::uint64_t{1} << 24;
constexpr std::uint64_t most_more = std::uint64_t{1} << 30;

stored_as stored_kind(const torch_type& type) {
  if (type.type != dtype::unknown) return stored_as::numbers;
  if (type.name == "float8_e8m0fnu") return stored_as::e8m0;
  if (type.name == "float4_e2m1fn_x2") return stored_as::pairs;
  return type.name == "uint8" ? stored_as::bytes : stored_as::other;
}

// From the widest stride to the narrowest; empty where that is the order of the shape.
std::vector<std::size_t> by_stride(const pickled_tensor& of) {
  std::vector<std::size_t> dimensions(of.shape.size());
  std::iota(dimensions.begin(), dimensions.end(), std::size_t{0});
  const auto last = std::ranges::stable_partition(dimensions, [&](std::size_t i) { return of.shape[i] != 1; });
  std::stable_sort(dimensions.begin(), last.begin(),
                   [&](std::size_t a, std::size_t b) { return of.strides[a] > of.strides[b]; });
  return std::is_sorted(dimensions.begin(), last.begin()) ? std::vector<std::size_t>{} : dimensions;
}

}  // namespace

const zip_member* member_called(const zip_archive& archive, std::string_view name) {
  const auto found =
      std::ranges::find(archive.members(), name, [](const zip_member& m) { return std::string_view(m.name); });
  return found == archive.members().end() ? nullptr : &*found;
}

const zip_member* find_pickle(const zip_archive& archive) {
  for (const zip_member& member : archive.members()) {
    const std::size_t slash = member.name.find('/');
    if (member.name.substr(slash == std::string::npos ? 0 : slash + 1) == pickle_name) return &member;
  }
  return nullptr;
}

std::string folder_of(const zip_member& pickle) {
  return pickle.name.substr(0, pickle.name.size() - pickle_name.size());
}

std::string place_of(const zip_member& pickle) { return "member " + in_quotes(pickle.name); }

std::vector<std::uint8_t> contents_of(const zip_archive& archive, const zip_member& member) {
  std::vector<std::uint8_t> bytes(member.size);
  archive.open(member)->read(bytes);
  return bytes;
}

// The values of a view, in the order of `extents`, from a member that is not compressed.
class pt_file::stream final : public byte_stream {
 public:
  stream(const file_reader& file, const view& of, std::vector<extent> extents)
      : file_(file), member_(*of.storage), offset_(of.offset), extents_(std::move(extents)), value_size_(of.size) {
    // Values next to each other are read at once.
    if (!extents_.empty() && extents_.back().stride == 1) {
      run_ = extents_.back().size;
      extents_.pop_back();
    }
    at_.resize(extents_.size());
    left_ = run_ * value_size_;
    for (const extent& e : extents_) left_ *= e.size;
  }

  [[nodiscard]] std::uint64_t left() const noexcept override { return left_; }

  // Whole values only.
  void read(std::span<std::uint8_t> into) override {
    left_ -= into.size();
    while (!into.empty()) {
      const std::uint64_t count = std::min<std::uint64_t>(run_ - in_run_, into.size() / value_size_);
      copy(offset_ + position() + in_run_, into.first(count * value_size_));
      into = into.subspan(count * value_size_);
      in_run_ += count;
      if (in_run_ == run_) next_run();
    }
  }

 private:
  [[nodiscard]] std::uint64_t position() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < at_.size(); ++i) sum += at_[i] * extents_[i].stride;
    return sum;
  }
  void next_run() {
    in_run_ = 0;
    for (std::size_t i = at_.size(); i-- > 0;) {
      if (++at_[i] < extents_[i].size) return;
      at_[i] = 0;
    }
  }
  // From a window of the file, which grows while it moves forward, as it does nearly always.
  void copy(std::uint64_t value, std::span<std::uint8_t> into) {
    constexpr std::uint64_t least = 1 << 12;
    constexpr std::uint64_t most = 1 << 18;
    const std::uint64_t from = value * value_size_;
    if (into.size() >= most) return file_.read(member_.data_offset + from, into);
    if (from < window_from_ || from + into.size() > window_from_ + window_.size()) {
      const bool follows = from >= window_from_ && from - window_from_ <= 2 * window_.size();
      const std::uint64_t size =
          std::max<std::uint64_t>(follows ? std::min(2 * window_.size(), most) : least, into.size());
      window_.resize(std::min(size, member_.size - from));
      window_from_ = from;
      file_.read(member_.data_offset + from, window_);
    }
    std::ranges::copy(std::span(window_).subspan(from - window_from_, into.size()), into.begin());
  }

  const file_reader& file_;
  const zip_member& member_;
  std::uint64_t offset_;
  std::vector<extent> extents_;
  std::uint64_t value_size_;
  std::uint64_t run_ = 1;
  std::vector<std::uint64_t> at_;  // of each extent
  std::uint64_t in_run_ = 0;
  std::uint64_t left_ = 0;
  std::vector<std::uint8_t> window_;
  std::uint64_t window_from_ = 0;
};

pt_file::pt_file(const std::string& path, const read_limits& limits, bool with_objects) : archive_(path, limits) {
  const zip_member* const pickle = find_pickle(archive_);
  if (pickle == nullptr) throw input_error(path, "", "has no data.pkl");
  const std::string place = place_of(*pickle);
  check_header(pickle->size, limits, archive_.file(), place);
  const std::string folder = folder_of(*pickle);
  if (const zip_member* const order = member_called(archive_, folder + "byteorder")) read_order(*order);
  const std::string stem = std::filesystem::path(path).stem().string();
  std::map<std::string_view, const zip_member*> members;
  for (const zip_member& member : archive_.members()) members.emplace(member.name, &member);
  std::set<std::string> names;
  for (pickled_tensor& tensor :
       read_pickle(contents_of(archive_, *pickle), path, place, limits, with_objects ? &objects_ : nullptr)) {
    if (tensor.name.empty()) tensor.name = stem;
    if (!names.insert(tensor.name).second)
      throw input_error(path, "tensor " + in_quotes(tensor.name), "there are two tensors of this name");
    const auto member = members.find(folder + "data/" + tensor.storage);
    add(tensor, member == members.end() ? nullptr : member->second);
  }
  for (pickled_object& object : objects_)
    if (object.name.empty()) object.name = stem;
}

std::unique_ptr<byte_stream> pt_file::open_stored(std::size_t index) const {
  return open_view(index, views_.at(index).all);
}

std::uint64_t pt_file::distinct(std::size_t index) const {
  const view& v = views_.at(index);
  if (v.storage->deflated && !is_whole(v, v.distinct))
    throw input_error(path(), "tensor " + in_quotes(stored_[index].name),
                      "is part of a compressed storage, which is not read; torch.save does not compress");
  return values_in(v.distinct);
}

std::unique_ptr<byte_stream> pt_file::open_distinct(std::size_t index) const {
  return open_view(index, views_.at(index).distinct);
}

std::unique_ptr<byte_stream> pt_file::open_view(std::size_t index, const std::vector<extent>& extents) const {
  const view& v = views_[index];
  if (is_whole(v, extents)) return archive_.open(*v.storage);
  static_cast<void>(distinct(index));
  // Many views may share a storage.
  if (v.numel > 0 && checked_.insert(v.storage).second) archive_.check(*v.storage);
  return std::make_unique<stream>(archive_.file(), v, extents);
}

void pt_file::check_all_but(const std::set<std::size_t>& tensors) const {
  std::set<const zip_member*> read;
  for (const std::size_t i : tensors)
    if (views_[i].numel > 0) read.insert(views_[i].storage);
  for (const zip_member& member : archive_.members())
    if (!read.contains(&member)) archive_.check(member);
}

void pt_file::fail(const zip_member& member, const std::string& reason) const {
  throw input_error(archive_.path(), "member " + in_quotes(member.name), reason);
}

// Those that follow one another without a gap as one.
std::vector<pt_file::extent> pt_file::merged(const std::vector<extent>& extents) {
  std::vector<extent> fewer;
  for (const extent& e : extents) {
    if (!fewer.empty() && fewer.back().stride == e.size * e.stride)
      fewer.back() = {fewer.back().size * e.size, e.stride};
    else
      fewer.push_back(e);
  }
  return fewer;
}

std::uint64_t pt_file::values_in(const std::vector<extent>& extents) {
  std::uint64_t values = 1;
  for (const extent& e : extents) values *= e.size;
  return values;
}

bool pt_file::is_whole(const view& v, const std::vector<extent>& extents) {
  const bool one_run = extents.empty() || (extents.size() == 1 && extents[0].stride == 1);
  return one_run && v.offset == 0 && values_in(extents) * v.size == v.storage->size;
}

void pt_file::read_order(const zip_member& member) {
  if (member.size > 6) fail(member, "is neither 'little' nor 'big'");
  const auto bytes = contents_of(archive_, member);
  const std::string text(bytes.begin(), bytes.end());
  if (text != "little" && text != "big") fail(member, "is " + in_quotes(text) + ", neither 'little' nor 'big'");
  order_ = text == "big" ? std::endian::big : std::endian::little;
}

// Whether as many bytes are left of those that all tensors together may have.
bool pt_file::spend(std::uint64_t& spent, std::optional<std::uint64_t> bytes, std::uint64_t more) const {
  if (!bytes || *bytes > most_times * archive_.file().size() + more - spent) return false;
  spent += *bytes;
  return true;
}

void pt_file::add(const pickled_tensor& from, const zip_member* storage) {
  const auto fail_here = [&](const std::string& reason) {
    throw input_error(archive_.path(), "tensor " + in_quotes(from.name), reason);
  };
  if (storage == nullptr) fail_here("its storage " + in_quotes(from.storage) + " is not in the file");
  if (from.storage_bytes > storage->size)
    fail_here("its storage is given as " + std::to_string(from.storage_bytes) + " bytes, but the file has " +
              std::to_string(storage->size) + " of it");
  const auto numel = checked_product(from.shape);
  if (!numel) fail_here("its shape holds more values than 64 bits can count");
  const std::uint64_t available = from.storage_bytes / from.type->size;
  if (*numel > 0) {
    // One past the last value.
    std::optional<std::uint64_t> end = checked_add(from.offset, 1);
    for (std::size_t i = 0; end && i < from.shape.size(); ++i) {
      const auto reach = checked_mul(from.shape[i] - 1, from.strides[i]);
      end = reach ? checked_add(*end, *reach) : std::nullopt;
    }
    if (!end || *end > available)
      fail_here("its values reach past the end of its storage of " + std::to_string(available));
  }
  const std::vector<std::size_t> lies_by = by_stride(from);
  view seen{
      .storage = storage, .offset = from.offset, .numel = *numel, .size = from.type->size, .all = {}, .distinct = {}};
  for (std::size_t n = 0; n < from.shape.size() && *numel > 0; ++n) {
    const std::size_t i = lies_by.empty() ? n : lies_by[n];
    if (from.shape[i] == 1) continue;
    seen.all.push_back({from.shape[i], from.strides[i]});
    if (from.strides[i] != 0) seen.distinct.push_back(seen.all.back());
  }
  if (*numel == 0)
    seen = {.storage = storage, .offset = 0, .numel = 0, .size = seen.size, .all = {{0, 1}}, .distinct = {{0, 1}}};
  seen.all = merged(seen.all);
  seen.distinct = merged(seen.distinct);
  const std::optional<std::uint64_t> bytes = checked_mul(*numel, from.type->size);
  if (!spend(all_bytes_, bytes, most_more) ||
      !spend(read_bytes_, values_in(seen.distinct) * from.type->size, most_more_read))
    fail_here("the tensors repeat the values of the file more than " + std::to_string(most_times) +
              " times; save them with clone() if that is intended");
  stored_.push_back({.name = from.name,
                     .type = std::string{from.type->name},
                     .as = stored_kind(*from.type),
                     .number = from.type->type,
                     .order = order_,
                     .shape = from.shape,
                     .bytes = *bytes,
                     .lies_by = lies_by});
  views_.push_back(std::move(seen));
}

}  // namespace ulp::io
