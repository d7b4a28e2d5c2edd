#include "rank_warnings.hpp"

#include <ulp/io/merge/ranks.hpp>
#include <utility>

namespace ulp {
namespace {

class watched_source final : public forwarding_source {
 public:
  watched_source(std::unique_ptr<source> from, std::string name, listener& to)
      : forwarding_source(std::move(from)), name_(std::move(name)), to_(to), ranks_(inner().header()) {}

  [[nodiscard]] bool next(step& into) override {
    if (inner().next(into)) {
      ranks_.see(into.key, into.ranks);
      return true;
    }
    tell();
    return false;
  }

 private:
  void tell() {
    if (std::exchange(told_, true)) return;
    if (const std::string text = ranks_.warning(name_); !text.empty()) to_.warn(text);
    if (const std::string text = ranks_.note(name_); !text.empty()) to_.note(text);
  }

  std::string name_;
  listener& to_;
  rank_coverage ranks_;
  bool told_ = false;
};

}  // namespace

std::unique_ptr<source> watch_ranks(std::unique_ptr<source> from, const std::string& name, listener& to) {
  if (from->header().world <= 1) return from;
  return std::make_unique<watched_source>(std::move(from), name, to);
}

}  // namespace ulp
