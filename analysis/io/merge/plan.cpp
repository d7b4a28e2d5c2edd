#include "plan.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <ulp/io/merge/ranks.hpp>
#include <ulp/io/recording/recording.hpp>

#include "database/sqlite.hpp"
#include "encoding/payload.hpp"
#include "recording/lost_rows.hpp"
#include "recording/opening.hpp"
#include "recording/schema.hpp"

namespace ulp::io {
namespace {

// The keys of a recording in their order, with the ranks of each.
class key_rows {
 public:
  explicit key_rows(const std::string& path) : db_(open_for_reading(path)) {
    refuse_lost_rows(db_);
    rows_ = std::make_unique<statement>(
        db_, "SELECT step, attempt, microbatch, ranks FROM step ORDER BY step, attempt, microbatch");
    advance();
  }

  [[nodiscard]] bool pending() const noexcept { return pending_; }
  [[nodiscard]] const step_key& key() const noexcept { return key_; }
  [[nodiscard]] const std::vector<std::uint32_t>& ranks() const noexcept { return ranks_; }

  void advance() {
    try {
      pending_ = rows_->row();
      if (!pending_) return;
      key_ = key_at(*rows_);
      ranks_ = split<std::uint32_t>(rows_->bytes(3));
    } catch (const payload_error& problem) {
      db_.refuse(describe(key_), problem.what());
    }
    if (!std::ranges::is_sorted(ranks_, std::ranges::less_equal{}))
      db_.refuse(describe(key_), "its list of ranks is damaged");
  }

 private:
  database db_;
  std::unique_ptr<statement> rows_;
  bool pending_ = false;
  step_key key_;
  std::vector<std::uint32_t> ranks_;
};

bool share_ranks(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  return std::ranges::find_first_of(a, b) != a.end();
}

std::string layout_of(const run_header& header) {
  return "rank " + std::to_string(header.rank) + " of " + std::to_string(header.world) + ", " + header.layout +
         ", gradients " + header.reduction;
}

bool agree(const run_header& a, const run_header& b) {
  return std::tie(a.world, a.reduction, a.layout) == std::tie(b.world, b.reduction, b.layout);
}

std::vector<merge_part> open_parts(const std::vector<std::string>& paths) {
  std::vector<merge_part> parts;
  std::map<std::string, std::size_t> first_of_run;
  for (const std::string& path : paths) {
    merge_part part;
    part.path = path;
    part.header = open_recording(path)->header();
    const key_rows rows(path);
    part.empty = !rows.pending();
    part.first = rows.key();
    part.first_ranks = rows.ranks();
    part.run = parts.size();
    if (!part.header.run_id.empty())  // recordings without a name are runs of their own
      part.run = first_of_run.try_emplace(part.header.run_id, parts.size()).first->second;
    if (part.run < parts.size() && !agree(parts[part.run].header, part.header))
      throw input_error(path, "header",
                        "belongs to the same run as " + parts[part.run].path + " and says " + layout_of(part.header) +
                            ", where that says " + layout_of(parts[part.run].header) +
                            ": if they are different runs, record one again with another --run-id");
    parts.push_back(std::move(part));
  }
  return parts;
}

// A recording's steps end where one begins that was given later: of another run, or of the same ranks.
void let_later_win(std::vector<merge_part>& parts) {
  const auto ranks_of = [](const merge_part& part) {
    std::set<std::uint32_t> ranks;
    for (key_rows rows(part.path); rows.pending(); rows.advance())
      ranks.insert(rows.ranks().begin(), rows.ranks().end());
    return std::vector<std::uint32_t>(ranks.begin(), ranks.end());
  };
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t j = 0; j < parts.size(); ++j) {
      merge_part& a = parts[i];
      const merge_part& b = parts[j];
      if (a.empty || b.empty || b.first.step >= a.end) continue;
      const bool takes_over = a.run == b.run ? i < j && share_ranks(ranks_of(a), ranks_of(b)) : a.run < b.run;
      if (!takes_over) continue;
      if (b.first.step <= a.first.step)
        throw input_error(a.path, "",
                          "nothing is left of it: " + b.path + ", given later, takes over from step " +
                              std::to_string(b.first.step) + " on; leave it out, or change the order");
      a.end = b.first.step;
    }
}

[[noreturn]] void refuse_overlap(const merge_part& a, const merge_part& b, const step_key& key,
                                 const std::vector<std::uint32_t>& ranks) {
  const std::string later = "for a run that was restarted from an earlier step, give --later-wins";
  if (a.run != b.run)
    throw input_error(b.path, describe(key),
                      "is in " + a.path + " too, and these are different runs ('" + a.header.run_id + "' and '" +
                          b.header.run_id + "'): the ranks of one run are recorded with one --run-id; " + later);
  throw input_error(b.path, describe(key),
                    "has the data of " + name_of_ranks(ranks) + ", some of which " + a.path +
                        " has too: was a recording given twice? " + later);
}

// One key of the merge: which parts have it.
class overlap_check {
 public:
  overlap_check(const std::vector<merge_part>& parts, const std::deque<key_rows>& rows, const step_key& key)
      : parts_(parts), rows_(rows), key_(key) {}

  void add(std::size_t i) {
    for (const std::size_t other : at_key_) {
      // Replicas are compared, whoever recorded them.
      const bool replicas = holds_the_same(parts_[i].header) && parts_[i].header.world > 1;
      if (parts_[i].run != parts_[other].run || (!replicas && share_ranks(rows_[i].ranks(), rows_[other].ranks())))
        refuse_overlap(parts_[other], parts_[i], key_, rows_[i].ranks());
    }
    at_key_.push_back(i);
    ranks_.insert(rows_[i].ranks().begin(), rows_[i].ranks().end());
  }
  [[nodiscard]] std::vector<std::uint32_t> ranks() const { return {ranks_.begin(), ranks_.end()}; }
  [[nodiscard]] const run_header& header() const { return parts_[at_key_.front()].header; }

 private:
  const std::vector<merge_part>& parts_;
  const std::deque<key_rows>& rows_;
  step_key key_;
  std::vector<std::size_t> at_key_;
  std::set<std::uint32_t> ranks_;
};

// Runs of different worlds have a common header only where all rows are whole gradients.
run_header common_header(const std::vector<merge_part>& parts, bool all_complete) {
  const merge_part& first = parts.front();
  run_header header = first.header;
  std::vector<std::string> ids;
  bool all_agree = true;
  for (const merge_part& part : parts) {
    if (std::ranges::find(ids, part.header.run_id) == ids.end()) ids.push_back(part.header.run_id);
    all_agree = all_agree && agree(first.header, part.header);
    header.rank = std::min(header.rank, part.header.rank);
    header.world = std::max(header.world, part.header.world);
    header.incomplete = header.incomplete || part.header.incomplete;
  }
  header.run_id.clear();
  constexpr std::size_t most_ids = 8;  // what people still read
  for (std::size_t i = 0; i < std::min(ids.size(), most_ids); ++i) header.run_id += (i == 0 ? "" : "+") + ids[i];
  if (ids.size() > most_ids) header.run_id += "+" + std::to_string(ids.size() - most_ids) + " more";
  constexpr std::size_t longest = 1024;
  if (header.run_id.size() > longest) {
    std::size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(header.run_id[end]) & 0xC0U) == 0x80U) --end;  // whole characters
    header.run_id.resize(end);
  }
  if (all_agree) return header;
  for (const merge_part& part : parts) {
    const bool reduced = part.header.world <= 1 || part.header.reduction == "reduced";
    if (reduced && all_complete) continue;
    const auto other = std::ranges::find_if(parts, [&](const merge_part& p) { return !agree(p.header, part.header); });
    throw input_error(part.path, "header",
                      "says " + layout_of(part.header) + ", and " + other->path + " says " + layout_of(other->header) +
                          ": such runs can be concatenated only if every step holds the whole reduced gradient; merge "
                          "all ranks of each run first");
  }
  header.reduction = "reduced";
  header.layout = "replica";
  return header;
}

}  // namespace

merge_plan plan_merge(const std::vector<std::string>& paths, const merge_options& options) {
  if (paths.empty()) throw input_error("input", "", "none is given");
  merge_plan plan;
  plan.parts = open_parts(paths);
  if (options.later_wins) let_later_win(plan.parts);
  std::ranges::sort(plan.parts, {}, [](const merge_part& p) {
    return std::tie(p.empty, p.first, p.first_ranks, p.header.run_id, p.path);
  });
  for (const merge_part& part : plan.parts)
    if (part.empty) plan.notes.push_back(part.path + ": holds no step");

  std::deque<key_rows> rows;
  for (const merge_part& part : plan.parts) rows.emplace_back(part.path);
  const auto in_use = [&](std::size_t i) { return rows[i].pending() && rows[i].key().step < plan.parts[i].end; };
  std::map<std::size_t, rank_coverage> by_run;
  for (;;) {
    const step_key* least = nullptr;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (in_use(i) && (least == nullptr || rows[i].key() < *least)) least = &rows[i].key();
    if (least == nullptr) break;
    const step_key key = *least;
    overlap_check check(plan.parts, rows, key);
    std::size_t run = 0;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (in_use(i) && rows[i].key() == key) {
        check.add(i);
        run = plan.parts[i].run;
      }
    by_run.try_emplace(run, check.header()).first->second.see(key, check.ranks());
    ++plan.rows;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (in_use(i) && rows[i].key() == key) rows[i].advance();
  }
  if (plan.rows == 0) throw input_error(paths.front(), "", "holds no step: there is nothing to merge");

  bool all_complete = true;
  for (const auto& [run, account] : by_run) {
    all_complete = all_complete && account.incomplete() == 0;
    const std::string text = account.text();
    const std::string of = by_run.size() == 1 ? "" : "run of " + paths[run] + ": ";
    if (!text.empty()) plan.notes.push_back(of + text + ": kept as they are, and marked");
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::uint64_t left_out = 0;
    for (; rows[i].pending(); rows[i].advance()) ++left_out;
    if (left_out > 0)
      plan.notes.push_back(plan.parts[i].path + ": " + std::to_string(left_out) + (left_out == 1 ? " step" : " steps") +
                           " from step " + std::to_string(plan.parts[i].end) +
                           " on left out, where a later one takes over");
  }
  plan.header = common_header(plan.parts, all_complete);
  return plan;
}

}  // namespace ulp::io
