// How a program keeps its own output apart from its user's files: descriptors, messages, signals.
#ifndef ULP_IO_OUTPUT_PROGRAM_HPP
#define ULP_IO_OUTPUT_PROGRAM_HPP

#include <string_view>

namespace ulp {

// First of all: where descriptor 0, 1 or 2 is closed, no file that is opened later may get its number and be written messages
// into. What takes its place can be neither read nor written, which is told where it matters.
void open_standard_descriptors() noexcept;

// On stderr, at once. Where that cannot be written there is nobody to tell: nothing happens.
void print_error(std::string_view text) noexcept;

// Calls `handler` on each signal that would end the program now; one that is ignored (nohup), or handled already, stays so.
// Calls that wait are broken off. A broken pipe and a file that may not grow become errors of writing instead.
void catch_ending_signals(void (*handler)(int signal)) noexcept;

// Such a handler, or what one does last: removes unfinished files, then ends as the signal by default does; by SIGBUS, which comes where
// somebody cuts a file that is mapped to memory, with a line and the exit code of end_by_terminate_with.
void end_by_signal(int signal) noexcept;

// From now on an exception that nobody catches is one line, beginning with the program's name, and this exit code.
void end_by_terminate_with(const char* program, int exit_code) noexcept;

}  // namespace ulp

#endif
