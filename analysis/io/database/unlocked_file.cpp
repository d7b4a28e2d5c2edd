#include "unlocked_file.hpp"

#include <utility>

namespace ulp::io {
namespace {

std::optional<struct stat> state_of(const std::string& file) {
  struct stat state {};
  if (stat(file.c_str(), &state) != 0) return std::nullopt;
  return state;
}

}  // namespace

unlocked_file::unlocked_file(std::string file) : file_(std::move(file)), before_(state_of(file_)) {}

bool unlocked_file::was_written() const {
  const std::optional<struct stat> now = state_of(file_);
  if (!before_ || !now || before_->st_dev != now->st_dev || before_->st_ino != now->st_ino) return false;
  return before_->st_size != now->st_size || before_->st_mtim.tv_sec != now->st_mtim.tv_sec ||
         before_->st_mtim.tv_nsec != now->st_mtim.tv_nsec;
}

}  // namespace ulp::io
