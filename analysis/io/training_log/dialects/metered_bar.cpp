// Progress bars that show the loss: "Epoch 0:  33%|###   | 6/18 [00:32<01:02,  4.47s/it, loss=nan, v_num=193315]" of
// Lightning (Lightning-AI/pytorch-lightning src/lightning/pytorch/callbacks/progress/tqdm_progress.py), "Steps:   5%|#  |
// 5/100 [00:14<06:47, 4.16s/it, loss=nan, lr=1e-6]" of diffusers (huggingface/diffusers
// examples/text_to_image/train_text_to_image.py) and of everybody else who calls set_postfix of tqdm.
#include <algorithm>
#include <array>

#include "bar.hpp"
#include "line_values.hpp"
#include "rows.hpp"
#include "usual_fields.hpp"

namespace ulp::io {
namespace {

// Before the usual ones, since "loss" of Lightning may be NaN in a run that logs its losses itself; of NeMo, Lightning, kohya-ss/sd-scripts (avr_loss), diffusers and CarperAI/trlx (losses/total_loss).
constexpr std::array bar_fields{
    line_field{"train_loss_step", &scale_record::loss},   line_field{"train/loss_step", &scale_record::loss},
    line_field{"loss_step", &scale_record::loss},         line_field{"step_loss", &scale_record::loss},
    line_field{"avr_loss", &scale_record::loss},          line_field{"Train/loss", &scale_record::loss},
    line_field{"losses/total_loss", &scale_record::loss}, line_field{"reduced_train_loss", &scale_record::loss},
    line_field{"train_loss", &scale_record::loss},
};

// What stands in front of the percentage: "Epoch 0:", "Validation", "loss: 2.31".
struct bar_title {
  std::size_t begin = 0;
  std::size_t end = 0;
};
bar_title title_of(const record_text& text, const progress_bar& bar) {
  constexpr std::size_t longest = 160;
  const std::size_t near = bar.begin - std::min(bar.begin, longest_record);
  const std::size_t first = std::max({text.line_begin(bar.begin), std::min(text.taken(), bar.begin), near});
  const std::size_t percent = text.view().substr(first, bar.begin - first).rfind("%|");
  if (percent == std::string_view::npos) return {bar.begin, bar.begin};
  const std::size_t end = first + percent;
  return {std::max(first, end - std::min(end, longest)), end};
}

// kohya-ss/sd-scripts shows the mean of the last epoch's steps. Lightning 1 shows that of 20 steps in front of the version (Lightning-AI/
// pytorch-lightning 1.9 src/pytorch_lightning/loops/epoch/training_epoch_loop.py, TensorRunningAccum); from 2 on it shows no loss of its own, and
// what is logged behind the version.
std::int64_t mean_shown(const record_text& text, std::size_t begin, std::size_t end, bool has_own_name) {
  constexpr std::int64_t of_lightning = 20;
  const std::string_view bar = text.view().substr(begin, end - begin);
  if (has_own_name) return bar.find("avr_loss=") == std::string_view::npos ? 0 : scale_record::since_the_start;
  const std::size_t version = bar.find(",v_num=");
  const std::size_t loss = bar.find(",loss=");
  return version != std::string_view::npos && loss < version ? of_lightning : 0;
}

// Of the names of bars and the usual ones, in a part of the text.
put_fields put_bar_values(const record_text& text, std::size_t begin, std::size_t end, scale_record& r) {
  scale_record own = r;
  put_fields put = put_values(text, begin, end, bar_fields, own);
  const put_fields usual = put_values(text, begin, end, usual_fields, r);
  if (put.count > 0) {
    r.loss = own.loss;
    r.loss_is_nan = own.loss_is_nan;
  }
  put.begin = std::min(put.begin, usual.begin);
  r.mean_of = mean_shown(text, begin, end, put.count > 0);
  return put;
}

std::int64_t epoch_of(std::string_view title) {
  for (const std::string_view word : {"Epoch", "epoch"}) {
    const std::size_t at = title.rfind(word);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = title.substr(at + word.size());
    const std::size_t first = rest.find_first_not_of(":[=#");
    if (first == std::string_view::npos) continue;
    const std::size_t end = std::min(rest.find_first_not_of("0123456789", first), rest.size());
    return step_of({.digits = rest.substr(first, end - first)});
  }
  return -1;
}

bool is_evaluation(std::string_view title) {
  for (const std::string_view word : {"alid", "Eval", "eval", "Test", "test", "Sanity", "Predict"})
    if (title.find(word) != std::string_view::npos) return true;
  return false;
}

record_match read_metered_bar(const record_text& text, std::size_t at, bool) {
  const auto bar = bar_before(text, at);
  if (!bar) return no_record();
  if (at >= text.line_end(at - 1)) return no_record();
  constexpr std::string_view bracket = "]";
  std::size_t close =
      text.first_place({bracket}, at, [&](std::size_t from) { return text.view().find(bracket, from); });
  if (close == std::string_view::npos) {  // cut by a narrow terminal, perhaps within a number
    const std::size_t comma = text.view().substr(at, text.line_end(at) - at).rfind(',');
    if (comma == std::string_view::npos) return no_record();
    close = at + comma;
  }
  scale_record r{.what = scale_record::kind::reached, .step = bar->number};
  put_bar_values(text, at, close, r);
  const bar_title title = title_of(text, *bar);
  const std::string_view words = text.view().substr(title.begin, title.end - title.begin);
  std::size_t begin = bar->begin;
  if (!r.has_values()) begin = std::min(begin, put_bar_values(text, title.begin, title.end, r).begin);
  if (!r.has_values() || is_evaluation(words)) return no_record();
  r.of_epoch = epoch_of(words);
  r.in_epoch = r.of_epoch >= 0 ? bar->number : -1;
  r.per_epoch = bar->length;
  constexpr std::int64_t most_epochs = 1'000'000;
  r.part = static_cast<std::uint32_t>(std::clamp<std::int64_t>(r.of_epoch, 0, most_epochs));
  record_match m = whole_record(r, close + 1);
  m.begin = begin;
  return m;
}

constexpr std::array metered_bar_starts{record_start{"<", read_metered_bar}};

}  // namespace

log_dialect metered_bar_dialect() {
  return {.name = "a progress bar",
          .starts = metered_bar_starts,
          .counts_in_epochs = true,
          .restarts = true,
          .is_own = true,
          .scale_is_open = true};
}

}  // namespace ulp::io
