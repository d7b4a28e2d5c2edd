#include "unfinished.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <ulp/io/output/atomic_file.hpp>

namespace ulp {
namespace io {
namespace {

enum class slot_state { free, changing, used };

struct slot {
  std::atomic<slot_state> state{slot_state::free};
  int folder = -1;
  unfinished::kind what = unfinished::kind::file;
  std::array<char, 256> name{};
};
static_assert(std::atomic<slot_state>::is_always_lock_free);  // read by handlers of signals

constexpr std::size_t none = 32;
std::array<slot, none> slots;

// A folder is removed after what is in it.
void remove(const slot& s) noexcept {
  unlinkat(s.folder, s.name.data(), s.what == unfinished::kind::folder ? AT_REMOVEDIR : 0);
}

}  // namespace

unfinished::unfinished(int folder, const std::string& name, kind what) noexcept : slot_(0) {
  if (name.size() >= slots.front().name.size()) slot_ = none;
  for (; slot_ < none; ++slot_) {
    slot& s = slots[slot_];
    slot_state expected = slot_state::free;
    if (!s.state.compare_exchange_strong(expected, slot_state::changing)) continue;
    s.folder = folder;
    s.what = what;
    s.name = {};
    name.copy(s.name.data(), name.size());
    s.state = slot_state::used;
    return;
  }
}

unfinished::~unfinished() {
  if (slot_ == none) return;
  remove(slots[slot_]);
  keep();
}

void unfinished::keep() noexcept {
  if (slot_ == none) return;
  slots[slot_].state = slot_state::free;
  slot_ = none;
}

}  // namespace io

void remove_unfinished() noexcept {
  using io::unfinished;
  const int before = errno;
  for (const unfinished::kind what : {unfinished::kind::file, unfinished::kind::folder})
    for (const io::slot& s : io::slots)
      if (s.state == io::slot_state::used && s.what == what) io::remove(s);
  errno = before;
}

}  // namespace ulp
