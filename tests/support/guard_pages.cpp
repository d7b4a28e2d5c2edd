#include "support/guard_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t region_size = std::size_t{1} << 38;  // addresses only

thread_local int guarded = 0;
std::mutex lock;       // of all below
std::size_t used = 0;  // bytes of the region that were ever given
std::size_t live = 0;
std::size_t peak_live = 0;
void* free_pages = nullptr;  // single ones, each followed by its guard; the next one's address stands in each

char* reserve(std::size_t size, int access) {
  void* const at = mmap(nullptr, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) std::abort();
  return static_cast<char*>(at);
}

char* region() {
  static char* const at = reserve(region_size, PROT_NONE);
  return at;
}

// Pages of the block that begins at each page.
std::uint32_t& pages_at(std::size_t offset) {
  static char* const table = reserve(region_size / page * sizeof(std::uint32_t), PROT_READ | PROT_WRITE);
  return reinterpret_cast<std::uint32_t*>(table)[offset / page];
}

char* accessible(std::size_t pages) {
  if (pages == 1 && free_pages != nullptr) {
    char* const first = static_cast<char*>(free_pages);
    std::memcpy(&free_pages, first, sizeof free_pages);
    return first;
  }
  if (used + (pages + 1) * page > region_size) std::abort();
  char* const first = region() + used;
  if (mprotect(first, pages * page, PROT_READ | PROT_WRITE) != 0) return nullptr;
  pages_at(used) = static_cast<std::uint32_t>(pages);
  used += (pages + 1) * page;
  return first;
}

void* guarded_block(std::size_t size) {
  const std::lock_guard locked(lock);
  const std::size_t bytes = std::max<std::size_t>(size, 1);
  const std::size_t pages = (bytes + page - 1) / page;
  char* const first = accessible(pages);
  if (first == nullptr) return nullptr;
  live += pages * page;
  peak_live = std::max(peak_live, live);
  // Sizes of arrays are multiples of their elements' alignment.
  const std::size_t alignment = std::min<std::size_t>(bytes & (~bytes + 1), 16);
  std::size_t begin = (pages * page - bytes) / alignment * alignment;
  // The text of an exception counts its owners in 4 bytes from its 16th on. A processor that is told to trap atomic steps
  // across cache lines takes very long over each: such blocks, 3 sizes of 64, end up to 3 bytes before their guard.
  constexpr std::size_t line = 64;
  if (begin >= 3 && (begin + 16) % line > line - 4) begin -= (begin + 16) % line - (line - 4);
  return first + begin;
}

void* block_or_null(std::size_t size) {
  return guarded > 0 ? guarded_block(size) : std::malloc(std::max<std::size_t>(size, 1));
}

void* block(std::size_t size) {
  void* const at = block_or_null(size);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}

void release(void* at) noexcept {
  const auto offset = reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(region());
  if (at == nullptr || offset >= region_size) return std::free(at);
  const std::lock_guard locked(lock);
  char* const first = region() + offset / page * page;
  const std::size_t size = pages_at(offset) * page;
  live -= size;
  if (size == page) {
    std::memcpy(first, &free_pages, sizeof free_pages);
    free_pages = first;
  } else {
    // Given back, and without access from now on.
    mmap(first, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
}

}  // namespace

void* operator new(std::size_t size) { return block(size); }
void* operator new[](std::size_t size) { return block(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return block_or_null(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return block_or_null(size); }
void operator delete(void* at) noexcept { release(at); }
void operator delete[](void* at) noexcept { release(at); }
void operator delete(void* at, std::size_t) noexcept { release(at); }
void operator delete[](void* at, std::size_t) noexcept { release(at); }

namespace ulp::test {

guard_pages::guard_pages() {
  ++guarded;
  peak_live = live;
}
guard_pages::~guard_pages() { --guarded; }

std::size_t guard_pages::peak() const { return peak_live; }

}  // namespace ulp::test
