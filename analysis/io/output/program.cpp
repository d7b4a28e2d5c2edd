#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/io/output/program.hpp>

namespace ulp {
namespace {

const char* program_name = "";
int code_of_terminate = EXIT_FAILURE;

// A message longer than a second on a terminal that does not take it is lost.
bool becomes_writable(int file) noexcept {
  constexpr int milliseconds = 1000;
  pollfd wanted{.fd = file, .events = POLLOUT, .revents = 0};
  return poll(&wanted, 1, milliseconds) == 1;
}

void say_why_and_end() noexcept {
  remove_unfinished();
  try {
    std::string reason = "not expected";
    try {
      if (const std::exception_ptr problem = std::current_exception()) std::rethrow_exception(problem);
    } catch (const std::exception& problem) {
      reason = problem.what();
    } catch (...) {  // says nothing of itself
    }
    print_error(std::string{program_name} + ": internal error: " + reason + "\n");
  } catch (...) {
    print_error("internal error, and not enough memory to describe it\n");
  }
  std::_Exit(code_of_terminate);
}

}  // namespace

void open_standard_descriptors() noexcept {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one. Opened the wrong way round on purpose.
    if (open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) std::_Exit(code_of_terminate);
  }
}

void print_error(std::string_view text) noexcept {
  const int before = errno;
  while (!text.empty()) {
    const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    if (n >= 0)
      text.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EINTR && (errno != EAGAIN || !becomes_writable(STDERR_FILENO)))
      break;
  }
  errno = before;
}

void catch_ending_signals(void (*handler)(int signal)) noexcept {
  // Not SIG_IGN, which programs that are started from here would inherit.
  const auto nothing = [](int) {};
  const auto set = [](int signal, void (*to)(int)) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
    struct sigaction action {};
    action.sa_handler = to;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  };
  for (const int signal : {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT,   SIGBUS,  SIGFPE,    SIGUSR1, SIGSEGV,
                           SIGUSR2, SIGALRM, SIGTERM, SIGXCPU, SIGPROF, SIGVTALRM, SIGPOLL, SIGSTKFLT, SIGPWR,  SIGSYS})
    set(signal, handler);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) set(signal, handler);
  set(SIGPIPE, nothing);
  set(SIGXFSZ, nothing);
}

void end_by_signal(int signal) noexcept {
  remove_unfinished();
  if (signal == SIGBUS) {
    print_error(program_name);
    print_error(": a file was truncated while it was read: try again when no other program is changing it\n");
    std::_Exit(code_of_terminate);
  }
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  std::_Exit(128 + signal);
}

void end_by_terminate_with(const char* program, int exit_code) noexcept {
  program_name = program;
  code_of_terminate = exit_code;
  std::set_terminate([] { say_why_and_end(); });
}

}  // namespace ulp
