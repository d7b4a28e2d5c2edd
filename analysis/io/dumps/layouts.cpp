// TransformerEngine: transformer_engine/debug/features/dump_tensors.py @d0067d0d (TensorLogger.save_tensor).
// Megatron-LM: megatron/training/checkpointing.py @d98e8a64 (save_grads), training.py (_save_state_dict), dgrad_logging.py,
// activation_logging.py.
#include "layouts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/regex.hpp>

#include "bytes/text.hpp"
#include "pt.hpp"

namespace ulp::io {
namespace {

struct word_of_kind {
  std::string_view word;
  tensor_kind kind;
  std::string_view prefix{};  // of names of ours
};
// The tensors that TransformerEngine inspects: `gradient` is that of the output, `dgrad` that of the input.
constexpr std::array tensors_of_te{word_of_kind{"activation", tensor_kind::activation},
                                   word_of_kind{"output", tensor_kind::activation},
                                   word_of_kind{"gradient", tensor_kind::activation_grad},
                                   word_of_kind{"dgrad", tensor_kind::activation_grad},
                                   word_of_kind{"weight", tensor_kind::weight},
                                   word_of_kind{"wgrad", tensor_kind::weight_grad}};
constexpr std::array folders_of_megatron{word_of_kind{"wgrads", tensor_kind::weight_grad, "wgrad/"},
                                         word_of_kind{"dgrads", tensor_kind::activation_grad, "agrad/"},
                                         word_of_kind{"activations", tensor_kind::activation, "activation/"},
                                         word_of_kind{"params", tensor_kind::weight, "weight/"}};

// The tensors of a file under other names.
class renamed_dump : public dump_reader {
 public:
  explicit renamed_dump(std::unique_ptr<dump_reader> inner) : inner_(std::move(inner)), tensors_(inner_->tensors()) {}

  [[nodiscard]] const std::vector<tensor>& tensors() const final { return tensors_; }
  [[nodiscard]] const std::vector<std::string>& ignored() const final { return inner_->ignored(); }
  [[nodiscard]] std::unique_ptr<byte_stream> open(std::size_t index) final { return inner_->open(index); }
  [[nodiscard]] std::vector<std::string> notes() const final { return inner_->notes(); }
  void check_ignored() final { inner_->check_ignored(); }

 private:
  std::unique_ptr<dump_reader> inner_;

 protected:
  std::vector<tensor> tensors_;
};

// LAYER_TENSOR.pt has a tensor, or a dictionary of it before quantization and after.
class te_dump final : public renamed_dump {
 public:
  te_dump(const std::string& path, const read_limits& limits) : renamed_dump(open_pt_with_objects(path, limits)) {
    const std::string stem = std::filesystem::path(path).stem().string();
    const auto word = std::ranges::find_if(tensors_of_te, [&](const word_of_kind& w) {
      return stem == w.word || stem.ends_with("_" + std::string(w.word));
    });
    for (tensor& t : tensors_) {
      if (word != tensors_of_te.end()) t.kind = word->kind;
      if (t.name == stem) continue;
      t.name = t.name == "high_precision" ? stem : stem + "." + t.name;
    }
  }
};

// mp_rank_TT_PPP_EEE.pth has dictionaries by model chunk. The parts of one tensor that tensor parallel ranks have, the
// layers that pipeline ranks number alike and the experts of expert parallel ranks have the same names there.
class megatron_dump final : public renamed_dump {
 public:
  megatron_dump(const std::string& path, const read_limits& limits) : renamed_dump(open_pt_with_objects(path, limits)) {
    const std::filesystem::path at = std::filesystem::absolute(path).lexically_normal();
    const std::string folder = at.parent_path().parent_path().filename().string();
    const word_of_kind& what = *std::ranges::find(folders_of_megatron, folder, &word_of_kind::word);
    for (tensor& t : tensors_) {
      t.kind = what.kind;
      t.name = std::string(what.prefix) + at.stem().string() + "/" + t.name;
    }
  }
};

template <typename T>
std::unique_ptr<dump_reader> open_as(const std::string& path, const read_limits& limits) {
  return std::make_unique<T>(path, limits);
}

struct layout {
  std::string_view program;
  regex step;  // its group is it; searched in the whole path
  std::optional<regex> rank;
  std::unique_ptr<dump_reader> (*open)(const std::string& path, const read_limits& limits);
};
const std::array<layout, 2>& layouts() {
  static const std::array<layout, 2> all{
      layout{"TransformerEngine", regex(R"(/tensor_dumps[^/]*/rank_\d+/iter_(\d+)/[^/]+\.pt$)"),
             regex(R"(/rank_(\d+)/iter_\d+/[^/]+$)"), open_as<te_dump>},
      layout{"Megatron-LM", regex(R"(/(?:wgrads|dgrads|activations|params)/iter_(\d+)/mp_rank_\d+(?:_\d+){0,2}\.pth$)"),
             std::nullopt, open_as<megatron_dump>}};
  return all;
}
// The folders on the way to such files.
const regex& folder_on_the_way() {
  static const regex all(R"(^(?:tensor_dumps.*|rank_\d+|iter_\d+|wgrads|dgrads|activations|params)$)");
  return all;
}

template <typename T>
T number_in(const std::string& path, const std::string& digits, const char* what) {
  T number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stop != end)
    throw input_error(path, "",
                      "its folders say " + std::string(what) + " " + in_quotes(digits) + ", which is too large");
  return number;
}

void find_files(const std::string& folder, int depth, std::vector<std::string>& into) {
  constexpr int deepest = 3;  // tensor_dumps/rank_0/iter_000100
  std::error_code none;
  // Nothing where it is no folder, or cannot be read: who opens it says why.
  for (std::filesystem::directory_iterator at(folder, none), end; !none && at != end; at.increment(none)) {
    std::error_code unknown;
    const std::string path = at->path().string();
    if (at->is_directory(unknown) && depth < deepest && folder_on_the_way().matches(at->path().filename().string()))
      find_files(path, depth + 1, into);
    else if (at->is_regular_file(unknown) && place_in_layout_of(path))
      into.push_back(path);
  }
}

}  // namespace

std::optional<place_in_layout> place_in_layout_of(const std::string& path) {
  const std::string whole = std::filesystem::absolute(path).lexically_normal().string();
  for (const layout& row : layouts()) {
    const auto step = row.step.last_group(whole);
    if (!step) continue;
    place_in_layout place{.program = row.program,
                          .step = number_in<std::int64_t>(path, *step, "the step"),
                          .rank = std::nullopt,
                          .open = row.open};
    if (row.rank) place.rank = number_in<std::uint32_t>(path, row.rank->last_group(whole).value_or("0"), "the rank");
    return place;
  }
  return std::nullopt;
}

std::vector<std::string> files_in_layout(const std::string& folder) {
  std::vector<std::string> files;
  find_files(folder, 0, files);
  std::ranges::sort(files);
  return files;
}

}  // namespace ulp::io
