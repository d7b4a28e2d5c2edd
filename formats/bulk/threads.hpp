// Parts of an array on several threads.
#ifndef ULP_FORMATS_BULK_THREADS_HPP
#define ULP_FORMATS_BULK_THREADS_HPP

#include <cstddef>
#include <functional>

namespace ulp::detail {

// Below this many elements for each thread, starting it costs more than it saves.
inline constexpr std::size_t least_of_a_thread = std::size_t{1} << 18;

// Calls work(begin, end) for parts that make up 0..size, each but the last a multiple of `step`, on at most `threads` at
// once, or one for each processor where that is 0.
void for_parts(std::size_t size, std::size_t step, unsigned threads,
               const std::function<void(std::size_t begin, std::size_t end)>& work);

}  // namespace ulp::detail

#endif
