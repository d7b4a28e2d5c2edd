#include "loop_recorder.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string_view>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/encoding/joint_content.hpp>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/report/tables/table.hpp>

#include "command.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

const run_header header{.run_id = "closed-loop"};

bool has_content(const std::string& path) {
  std::error_code problem;
  return std::filesystem::exists(path, problem) && std::filesystem::file_size(path, problem) != 0;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same(const step& a, const std::vector<tensor_info>& of_a, const step& b, const std::vector<tensor_info>& of_b) {
  const bool scalars = same(a.scalars.loss, b.scalars.loss) && same(a.scalars.loss_scale, b.scalars.loss_scale) &&
                       a.scalars.found_inf == b.scalars.found_inf && a.scalars.applied == b.scalars.applied;
  if (a.key != b.key || !scalars || a.tensors.size() != b.tensors.size()) return false;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const tensor_row& x = a.tensors[i];
    const tensor_row& y = b.tensors[i];
    if (of_a[x.tensor].name != of_b[y.tensor].name || x.factor != y.factor || !(x.table == y.table)) return false;
  }
  return true;
}

}  // namespace

loop_recorder::loop_recorder(std::string path, bool append) : path_(std::move(path)) {
  refuse_planted(path_);
  if (append && has_content(path_)) {
    held_ = open_recording(path_);
    return;
  }
  writer_ = std::make_unique<recording_writer>(path_, recording_writer::mode::create, header);
  made_ = true;
}

loop_recorder::~loop_recorder() {
  if (writer_ && made_ && written_ == 0) writer_->discard();
}

void loop_recorder::see(const trained_step& trained, const std::vector<tensor_info>& tensors) {
  const step& now = trained.recorded;
  if (step there; held_ && held_->next(there)) {
    if (!same(there, held_->tensors(), now, tensors))
      throw usage_error(fmt::format("{}: step {} is not the one of this training: it was recorded with other options",
                                    path_, there.key.step));
    ++held_steps_;
    return;
  }
  if (!writer_) {
    held_.reset();
    writer_ = std::make_unique<recording_writer>(path_, recording_writer::mode::append, header);
  }
  std::vector<joint_row> joints;
  for (const auto& [weight, table] : trained.joints)
    joints.push_back({.tensor = tensors[weight].name, .weight_type = dtype::float32, .table = table});
  writer_->write(now, tensors, joints);
  ++written_;
}

void loop_recorder::finish() {
  if (step there; held_ && held_->next(there))
    throw usage_error(fmt::format("{}: it holds {}, which are more than were trained", path_,
                                  count_text(held_->step_count(), "step")));
  if (writer_) writer_->close();
}

void loop_recorders::listen(closed_loop_watch& to) {
  if (closed) to.closed = [this](const auto& now, const auto& tensors) { closed->see(now, tensors); };
  if (twin) to.twin = [this](const auto& now, const auto& tensors) { twin->see(now, tensors); };
}

void loop_recorders::finish(bool told) {
  for (std::optional<loop_recorder>* r : {&closed, &twin}) {
    if (!*r) continue;
    (*r)->finish();
    const std::string before =
        (*r)->held() > 0 ? fmt::format(" after the {} that were there", grouped((*r)->held())) : "";
    if (told) fmt::print("{}: {} recorded{}\n", printable((*r)->path()), count_text((*r)->written(), "step"), before);
  }
}

void loop_recorders::tell_what_stays() const {
  for (const std::optional<loop_recorder>* r : {&closed, &twin})
    if (*r && (*r)->written() > 0)
      tell(fmt::format("{}: the recorded steps stay; --append goes on with them", (*r)->path()));
}

}  // namespace ulp::cli
