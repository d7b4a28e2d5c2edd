#include <ulp/io/merge/merge.hpp>

#include <algorithm>
#include <limits>
#include <map>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/merge/ranks.hpp>
#include <ulp/io/recording/block_tables.hpp>
#include <ulp/io/recording/joint_tables.hpp>
#include <ulp/io/recording/live_scales.hpp>
#include <ulp/io/recording/recording.hpp>

#include "bytes/text.hpp"
#include "plan.hpp"
#include "recording/schema.hpp"
#include "step_merger.hpp"

namespace ulp {
namespace {

std::uint64_t elements(const std::vector<std::uint64_t>& shape) {
  std::uint64_t n = 1;
  for (const std::uint64_t size : shape)
    if (__builtin_mul_overflow(n, size, &n)) return 0;
  return n;
}

// The tensors of all recordings, by name.
class tensor_union {
 public:
  [[nodiscard]] const std::vector<tensor_info>& all() const noexcept { return tensors_; }

  // The tensors of one recording, as indices into all().
  std::vector<std::uint32_t> add(const std::vector<tensor_info>& of, const io::merge_part& part) {
    std::vector<std::uint32_t> ids;
    for (const tensor_info& info : of) {
      const auto [known, added] = by_name_.try_emplace(info.name, static_cast<std::uint32_t>(tensors_.size()));
      ids.push_back(known->second);
      if (added) {
        tensors_.push_back(info);
        from_.push_back({&part});
      } else {
        unite(known->second, info, part);
      }
    }
    return ids;
  }

  // A complete row of several shards says how large the tensors are.
  void learn_sizes(const step& row) {
    for (const tensor_row& t : row.tensors) {
      const origin& from = from_[t.tensor];
      tensor_info& info = tensors_[t.tensor];
      if (info.numel != 0 && !from.learned && t.table.numel > info.numel)
        throw input_error(from.first->path, io::describe(row.key) + ", tensor " + io::in_quotes(info.name),
                          "has " + std::to_string(t.table.numel) + " elements in the shards of all ranks, and " +
                              std::to_string(info.numel) +
                              " in all: were whole tensors recorded as shards? (see --layout replica)");
      learn_size(t.tensor, t.table.numel);
    }
  }

 private:
  struct origin {
    const io::merge_part* first = nullptr;
    bool several = false;  // recordings
    bool sizes_differ = false;
    bool learned = false;  // the size, from rows
  };

  void unite(std::uint32_t index, const tensor_info& info, const io::merge_part& part) {
    tensor_info& known = tensors_[index];
    origin& from = from_[index];
    const auto must_agree = [&](bool same, const std::string& what, const std::string& here, const std::string& there) {
      if (same) return;
      const auto word = [](const std::string& text) { return text.empty() ? "not known" : text; };
      throw input_error(part.path, "tensor " + io::in_quotes(info.name),
                        "its " + what + " is " + word(here) + ", and " + word(there) + " in " + from.first->path +
                            ": record both alike");
    };
    must_agree(known.kind == info.kind, "kind", std::string{to_string(info.kind)}, std::string{to_string(known.kind)});
    must_agree(known.role == info.role, "role", std::string{to_string(info.role)}, std::string{to_string(known.role)});
    must_agree(known.through == info.through, "rounding before it was recorded", info.through, known.through);

    const bool parts = part.header.layout == "shard" || from.first->header.layout == "shard";
    if (known.shape != info.shape) {
      must_agree(parts || known.shape.empty() || info.shape.empty(), "shape", io::join(info.shape),
                 io::join(known.shape));
      known.shape.clear();
    }
    if (known.numel != info.numel) {
      from.sizes_differ = from.sizes_differ || (known.numel != 0 && info.numel != 0);
      known.numel = 0;
    }
    // The shape that all shards have is hardly that of the tensor.
    if (parts && elements(known.shape) != known.numel) known.shape.clear();
    from.several = true;
  }

  void learn_size(std::uint32_t index, std::uint64_t numel) {
    origin& from = from_[index];
    std::uint64_t& known = tensors_[index].numel;
    if (from.sizes_differ || (known != 0 && !from.learned)) return;
    from.sizes_differ = from.learned && known != numel;
    from.learned = true;
    known = from.sizes_differ ? 0 : numel;
  }

  std::vector<tensor_info> tensors_;
  std::vector<origin> from_;
  std::map<std::string, std::uint32_t> by_name_;
};

class merged_recordings final : public source {
 public:
  merged_recordings(const std::vector<std::string>& paths, const merge_options& options)
      : plan_(io::plan_merge(paths, options)) {
    for (const io::merge_part& part : plan_.parts) {
      for (const std::string& line : open_recording(part.path)->notes()) plan_.notes.push_back(line);
      if (has_joint_tables(part.path))
        plan_.notes.push_back(part.path + ": its joint tables of weights and updates are left out");
      if (has_live_scales(part.path)) plan_.notes.push_back(part.path + ": the scales of its 8-bit run are left out");
      if (part.empty) continue;
      input& in = inputs_.emplace_back();
      in.part = &part;
      constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
      in.rows = open_with_blocks(part.path, {.last = part.end == all ? all : part.end - 1});
      in.ids = tensors_.add(in.rows->tensors(), part);
      advance(in);
    }
  }

  [[nodiscard]] source_kind kind() const override { return source_kind::recording; }
  [[nodiscard]] std::string description() const override {
    return std::to_string(plan_.parts.size()) + (plan_.parts.size() == 1 ? " recording" : " recordings");
  }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return tensors_.all(); }
  [[nodiscard]] std::uint64_t step_count() const override { return plan_.rows; }
  [[nodiscard]] run_header header() const override { return plan_.header; }

  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> all = plan_.notes;
    if (merger_.own_losses() > 0)
      all.push_back("loss or gradient norm differ between ranks in " + std::to_string(merger_.own_losses()) +
                    (merger_.own_losses() == 1 ? " step" : " steps") + ": the largest is kept");
    const auto note_dropped = [&](const io::step_merger::dropped& what, const char* name, const char* meaning) {
      if (what.rows > 0)
        all.push_back(what.path + ": has no " + name + ", so " + std::to_string(what.rows) +
                      (what.rows == 1 ? " tensor row that it shares with other ranks has none: "
                                      : " tensor rows that it shares with other ranks have none: ") +
                      meaning);
    };
    note_dropped(merger_.dropped_sums(), "exact sums", "norms become estimates (see ulp record --no-sums)");
    note_dropped(merger_.dropped_errors(), "error ladder",
                 "SQNR, MSE and cosine become estimates (see ulp record --with-errors)");
    note_dropped(merger_.dropped_blocks(), "block tables of the same blocks",
                 "ulp outcomes has no counts of block formats (see ulp record --blocks)");
    return all;
  }

  [[nodiscard]] bool next(step& into) override {
    const input* least = nullptr;
    for (const input& in : inputs_)
      if (in.pending && (least == nullptr || in.now.key < least->now.key)) least = &in;
    if (least == nullptr) return false;
    const step_key key = least->now.key;
    const run_header& header = least->part->header;
    merger_.begin(holds_the_same(header));
    for (input& in : inputs_) {
      if (!in.pending || in.now.key != key) continue;
      merger_.add(in.now, tensors_.all(), in.part->path);
      advance(in);
    }
    merger_.take(into);
    if (header.layout == "shard" && header.world > 1 && is_complete(header, into.ranks)) tensors_.learn_sizes(into);
    return true;
  }

 private:
  struct input {
    const io::merge_part* part = nullptr;
    std::unique_ptr<source> rows;
    std::vector<std::uint32_t> ids;  // its tensors as indices into those of all
    step now;
    bool pending = false;
  };

  static void advance(input& in) {
    const bool first = !in.pending;
    const step_key before = in.now.key;
    in.pending = in.rows->next(in.now);
    if (!in.pending) return;
    if (!first && !(before < in.now.key)) throw input_error(in.part->path, io::describe(in.now.key), "occurs twice");
    for (tensor_row& t : in.now.tensors) t.tensor = in.ids[t.tensor];
  }

  io::merge_plan plan_;
  tensor_union tensors_;
  std::vector<input> inputs_;
  io::step_merger merger_;
};

}  // namespace

std::unique_ptr<source> open_merged(const std::vector<std::string>& paths, const merge_options& options) {
  return std::make_unique<merged_recordings>(paths, options);
}

}  // namespace ulp
