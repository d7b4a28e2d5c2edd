#include "rank_options.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <random>
#include <ulp/io/merge/ranks.hpp>
#include <ulp/io/recording/recording.hpp>
#include <utility>

#include "command.hpp"

namespace ulp::cli {
namespace {

// Tells runs apart; not a secret.
std::string new_run_id() {
  std::random_device entropy;
  return fmt::format("{:08x}{:08x}", entropy(), entropy());
}

void check(const rank_options& o, const run_header& header) {
  if (header.rank >= header.world)
    throw usage_error(
        fmt::format("--rank: {} is not below the {} ranks of --world; ranks count from 0", header.rank, header.world));
  if (header.world > 1 && o.world && (o.run_id.empty() || o.layout.empty()))
    throw usage_error(
        "--world: ulp merge combines the ranks of one run: give all of them the same --run-id, and --layout shard "
        "(parts of tensors) or replica (whole ones)");
}

run_header header_of(const source& from, const rank_options& o, const std::string& appended_to) {
  std::error_code ignored;
  const bool appended = !appended_to.empty() && std::filesystem::file_size(appended_to, ignored) > 0 && !ignored;
  run_header header = appended ? open_recording(appended_to)->header() : from.header();
  header.incomplete = from.header().incomplete;
  const auto set = [&](auto& value, const auto& given, bool is_given, const char* option) {
    if (!is_given) return;
    if (appended && value != given)
      throw usage_error(
          fmt::format("{}: {} has {}; remove the option, or record into another file", option, appended_to, value));
    value = given;
  };
  // Folders of dumps that say whose they are.
  if (const run_header said = from.header(); from.kind() == source_kind::dump && said.world > 1) {
    if (o.rank && (said.rank == 0 || *o.rank != said.rank))
      throw usage_error(
          fmt::format("--rank: the folders of the input say which ranks wrote it, {}; remove the option, "
                      "or name the folder of one rank",
                      said.rank == 0 ? "several" : fmt::format("rank {}", said.rank)));
    if (o.world && *o.world < said.world)
      throw usage_error(fmt::format("--world: {} is not above rank {}, which the folders of the input say", *o.world,
                                    said.world - 1));
  }
  set(header.run_id, o.run_id, !o.run_id.empty(), "--run-id");
  set(header.rank, o.rank.value_or(0), o.rank.has_value(), "--rank");
  set(header.world, o.world.value_or(1), o.world.has_value(), "--world");
  set(header.layout, o.layout, !o.layout.empty(), "--layout");
  set(header.reduction, o.reduction, !o.reduction.empty(), "--reduction");
  if (!appended) check(o, header);
  if (header.run_id.empty()) header.run_id = new_run_id();
  return header;
}

class ranked_source final : public forwarding_source {
 public:
  ranked_source(std::unique_ptr<source> from, run_header header, bool own_ranks)
      : forwarding_source(std::move(from)), header_(std::move(header)), own_ranks_(own_ranks) {
    copy_tensors();
  }

  [[nodiscard]] const std::vector<tensor_info>& tensors() const override {
    return is_shard_ ? tensors_ : inner().tensors();
  }
  [[nodiscard]] run_header header() const override { return header_; }

  [[nodiscard]] bool next(step& into) override {
    if (!inner().next(into)) return false;
    if (!own_ranks_) into.ranks = {header_.rank};
    copy_tensors();
    return true;
  }

 private:
  // How large a tensor is in all, its shards do not say.
  void copy_tensors() {
    if (!is_shard_) return;
    const std::vector<tensor_info>& seen = inner().tensors();
    for (std::size_t i = tensors_.size(); i < seen.size(); ++i) tensors_.emplace_back(seen[i]).numel = 0;
  }

  run_header header_;
  bool own_ranks_;
  bool is_shard_ = !own_ranks_ && header_.layout == "shard" && header_.world > 1;
  std::vector<tensor_info> tensors_;
};

}  // namespace

std::unique_ptr<source> with_ranks(std::unique_ptr<source> from, const rank_options& options,
                                   const std::string& appended_to) {
  run_header header = header_of(*from, options, appended_to);
  const bool is_dump_of_ranks = from->kind() == source_kind::dump && from->header().world > 1;
  const bool own_ranks = is_dump_of_ranks || (!from->header().run_id.empty() && !options.rank && !options.world);
  return std::make_unique<ranked_source>(std::move(from), std::move(header), own_ranks);
}

void add_ranks(command& to, rank_options& o) {
  const std::string group = "One rank of several, for ulp merge";
  to.add("--run-id", &o.run_id, "the run's name, equal for all of its ranks (default: a new one)",
         {.type = "ID", .group = group});
  to.add("--rank", &o.rank, "the rank whose gradients these are, from 0", {.type = "R", .group = group});
  to.add("--world", &o.world, "number of ranks of the run", {.type = "N", .group = group});
  to.add("--layout", &o.layout,
         "shard: each rank has parts of the tensors (FSDP, ZeRO, tensor parallel); replica: all of them",
         {.group = group, .one_of = {"shard", "replica"}});
  to.add("--reduction", &o.reduction,
         "reduced: gradients over all ranks (default); local: each rank's own, before reduction",
         {.group = group, .one_of = {"reduced", "local"}});
}

}  // namespace ulp::cli
