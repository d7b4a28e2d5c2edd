// PyTorch files: a zip with one folder that holds data.pkl, one member for each storage under data/, and the byte order.
// torch/serialization.py, caffe2/serialize/inline_container.cc.
#include <algorithm>
#include <bit>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "bytes/text.hpp"
#include "bytes/within.hpp"
#include "bytes/zip.hpp"
#include "pickle.hpp"
#include "pt.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view pickle_name = "data.pkl";
// Views may share storages, and their values may overlap: all tensors together may read this many times the bytes of the
// file, and as many more. What expand() repeats is read once, but may not be beyond measure either.
constexpr std::uint64_t most_times = 8;
constexpr std::uint64_t most_more_read = std::uint64_t{1} << 24;
constexpr std::uint64_t most_more = std::uint64_t{1} << 30;

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

std::vector<std::uint8_t> contents_of(const zip_archive& archive, const zip_member& member) {
  std::vector<std::uint8_t> bytes(member.size);
  archive.open(member)->read(bytes);
  return bytes;
}

// One dimension of a view, in values.
struct extent {
  std::uint64_t size;
  std::uint64_t stride;
};

// The order of values does not matter to their histogram: the extents from the widest stride to the narrowest, those that
// follow one another without a gap as one. Those that repeat the same values are left out.
std::vector<extent> ordered(const pickled_tensor& tensor) {
  std::vector<extent> extents;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    if (tensor.shape[i] != 1 && tensor.strides[i] != 0) extents.push_back({tensor.shape[i], tensor.strides[i]});
  std::ranges::sort(extents, std::greater{}, &extent::stride);
  std::vector<extent> merged;
  for (const extent& e : extents) {
    if (!merged.empty() && merged.back().stride == e.size * e.stride)
      merged.back() = {merged.back().size * e.size, e.stride};
    else
      merged.push_back(e);
  }
  return merged;
}

// Whether `ordered` keeps the order of the shape, and all values.
bool is_row_by_row(const pickled_tensor& tensor) {
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] == 1) continue;
    if (tensor.strides[i] == 0 || tensor.strides[i] > last) return false;
    last = tensor.strides[i];
  }
  return true;
}

// The values of a view, in the order of `extents`, from a member that is not compressed.
class view_stream final : public byte_stream {
 public:
  view_stream(const file_reader& file, const zip_member& member, std::uint64_t offset, std::vector<extent> extents,
              std::uint64_t value_size)
      : file_(file), member_(member), offset_(offset), extents_(std::move(extents)), value_size_(value_size) {
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

// The place of the pickle in errors.
std::string place_of(const zip_member& pickle) { return "member " + in_quotes(pickle.name); }

class pt_reader final : public dump_reader {
 public:
  pt_reader(const std::string& path, const read_limits& limits, bool with_objects) : archive_(path, limits) {
    const zip_member* const pickle = find_pickle(archive_);
    if (pickle == nullptr) throw input_error(path, "", "has no data.pkl");
    const std::string place = place_of(*pickle);
    check_header(pickle->size, limits, archive_.file(), place);
    folder_ = pickle->name.substr(0, pickle->name.size() - pickle_name.size());
    if (const zip_member* const order = member_called(archive_, folder_ + "byteorder")) read_order(*order);
    const std::string stem = std::filesystem::path(path).stem().string();
    std::map<std::string_view, const zip_member*> members;
    for (const zip_member& member : archive_.members()) members.emplace(member.name, &member);
    std::set<std::string> names;
    std::vector<pickled_object> objects;
    for (pickled_tensor& tensor :
         read_pickle(contents_of(archive_, *pickle), path, place, limits, with_objects ? &objects : nullptr)) {
      if (tensor.name.empty()) tensor.name = stem;
      if (!names.insert(tensor.name).second)
        throw input_error(path, "tensor " + in_quotes(tensor.name), "there are two tensors of this name");
      const auto member = members.find(folder_ + "data/" + tensor.storage);
      add(std::move(tensor), member == members.end() ? nullptr : member->second);
    }
    for (const pickled_object& object : objects)
      ignored_.push_back(in_quotes(object.name.empty() ? stem : object.name) + " (" + printable(object.made_by) + ")");
  }

  [[nodiscard]] const std::vector<tensor>& tensors() const override { return tensors_; }
  [[nodiscard]] const std::vector<std::string>& ignored() const override { return ignored_; }

  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t index) override {
    const view& v = views_.at(index);
    const tensor& info = tensors_[index];
    if (is_whole(v)) return archive_.open(*v.storage);
    // Many views may share a storage.
    if (info.numel > 0 && checked_.insert(v.storage).second) archive_.check(*v.storage);
    return std::make_unique<view_stream>(archive_.file(), *v.storage, v.offset, v.extents, size_of(info.type));
  }

  // Members beside the pickle that no tensor reads.
  void check_ignored() override {
    std::set<const zip_member*> read;
    for (std::size_t i = 0; i < views_.size(); ++i)
      if (tensors_[i].numel > 0) read.insert(views_[i].storage);
    for (const zip_member& member : archive_.members())
      if (!read.contains(&member)) archive_.check(member);
  }

 private:
  struct view {
    const zip_member* storage;
    std::uint64_t offset;  // in values
    std::vector<extent> extents;
    std::uint64_t bytes;  // that are read
    bool repeats;         // the tensor has them several times
  };

  [[noreturn]] void fail(const zip_member& member, const std::string& reason) const {
    throw input_error(archive_.path(), "member " + in_quotes(member.name), reason);
  }

  static bool is_whole(const view& v) {
    const bool one_run = v.extents.empty() || (v.extents.size() == 1 && v.extents[0].stride == 1);
    return one_run && !v.repeats && v.offset == 0 && v.bytes == v.storage->size;
  }

  void read_order(const zip_member& member) {
    if (member.size > 6) fail(member, "is neither 'little' nor 'big'");
    const auto bytes = contents_of(archive_, member);
    const std::string text(bytes.begin(), bytes.end());
    if (text != "little" && text != "big") fail(member, "is " + in_quotes(text) + ", neither 'little' nor 'big'");
    order_ = text == "big" ? std::endian::big : std::endian::little;
  }

  // Of a tensor whose values lie inside its storage.
  static view view_of(const pickled_tensor& from, const zip_member* storage, std::uint64_t numel) {
    if (numel == 0) return {storage, 0, {{0, 1}}, 0, false};
    std::vector<extent> extents = ordered(from);
    std::uint64_t values = 1;
    for (const extent& e : extents) values *= e.size;
    return {storage, from.offset, std::move(extents), values * from.type->size, values < numel};
  }

  // Whether as many bytes are left of those that all tensors together may have.
  [[nodiscard]] bool spend(std::uint64_t& spent, std::optional<std::uint64_t> bytes, std::uint64_t more) const {
    if (!bytes || *bytes > most_times * archive_.file().size() + more - spent) return false;
    spent += *bytes;
    return true;
  }

  void add(pickled_tensor from, const zip_member* storage) {
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
    const view seen = view_of(from, storage, *numel);
    if (!spend(all_bytes_, checked_mul(*numel, from.type->size), most_more) ||
        !spend(read_bytes_, seen.bytes, most_more_read))
      fail_here("the tensors repeat the values of the file more than " + std::to_string(most_times) +
                " times; save them with clone() if that is intended");
    if (from.type->type == dtype::unknown) {
      ignored_.push_back(in_quotes(from.name) + " (" + std::string(from.type->name) + ")");
      return;
    }
    if (storage->deflated && !is_whole(seen))
      fail_here("is part of a compressed storage, which is not read; torch.save does not compress");
    const std::uint64_t values = seen.bytes / from.type->size;
    views_.push_back(seen);
    const bool row_by_row = is_row_by_row(from);
    tensors_.push_back({.name = std::move(from.name),
                        .type = from.type->type,
                        .order = order_,
                        .shape = std::move(from.shape),
                        .numel = *numel,
                        .times = values > 0 ? *numel / values : 1,
                        .row_by_row = row_by_row});
  }

  zip_archive archive_;
  std::string folder_;
  std::endian order_ = std::endian::little;
  std::vector<tensor> tensors_;
  std::vector<view> views_;              // of tensors_
  std::uint64_t all_bytes_ = 0;          // of tensors_
  std::uint64_t read_bytes_ = 0;         // of those, less what expand() repeats
  std::set<const zip_member*> checked_;  // whose CRC was
  std::vector<std::string> ignored_;
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
  const std::string folder = pickle->name.substr(0, pickle->name.size() - pickle_name.size());
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
  const std::string folder = pickle->name.substr(0, pickle->name.size() - pickle_name.size());
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
