#include "incomplete.hpp"

#include <ulp/io/ranks.hpp>
#include <utility>

#include "output.hpp"

namespace ulp::cli {
namespace {

class watched_source final : public source {
 public:
  watched_source(std::unique_ptr<source> from, std::string name)
      : from_(std::move(from)), name_(std::move(name)), ranks_(from_->header()) {}

  [[nodiscard]] std::string description() const override { return from_->description(); }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return from_->tensors(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return from_->notes(); }
  [[nodiscard]] std::uint64_t step_count() const override { return from_->step_count(); }
  [[nodiscard]] run_header header() const override { return from_->header(); }

  [[nodiscard]] bool next(step& into) override {
    if (from_->next(into)) {
      ranks_.see(into.key, into.ranks);
      return true;
    }
    tell();
    return false;
  }

 private:
  void tell() {
    if (std::exchange(told_, true)) return;
    if (const std::string text = ranks_.warning(name_); !text.empty()) warn(text);
    if (const std::string text = ranks_.note(name_); !text.empty()) note(text);
  }

  std::unique_ptr<source> from_;
  std::string name_;
  rank_account ranks_;
  bool told_ = false;
};

}  // namespace

std::unique_ptr<source> watch_ranks(std::unique_ptr<source> from, const std::string& name) {
  if (holds_the_same(from->header())) return from;
  return std::make_unique<watched_source>(std::move(from), name);
}

}  // namespace ulp::cli
