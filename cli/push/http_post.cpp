// SPDX-License-Identifier: Apache-2.0
#include "push/http_post.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/end_with_parent.h"
#include "base/format_text.h"
#include "base/shown_text.h"

namespace synctrace::cli {
namespace {

constexpr int kConnectSeconds = 10;
constexpr std::size_t kMostAnswerBytes = std::size_t{64} << 20;
constexpr std::size_t kStatusDigits = 3;  // which curl writes behind the answer

// A file without a name, in memory.
class NamelessFile {
 public:
  explicit NamelessFile(std::string_view content = {}) : descriptor_(memfd_create("synctrace", 0)) {
    while (descriptor_ >= 0 && !content.empty()) {
      const auto written = ::write(descriptor_, content.data(), content.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;
      content.remove_prefix(static_cast<std::size_t>(written));
    }
    if (!content.empty()) close();
  }
  ~NamelessFile() { close(); }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  bool is_open() const noexcept { return descriptor_ >= 0; }
  int descriptor() const noexcept { return descriptor_; }
  // For the child, which inherits it.
  std::string path() const { return format_text("/proc/self/fd/{}", descriptor_); }

  std::string content() const {
    std::string text(4096, '\0');
    const auto got = pread(descriptor_, text.data(), text.size(), 0);
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
  }

 private:
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }
  int descriptor_;
};

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"\n";
}

std::string settings_of(const HttpRequest& request, const std::string& body_path) {
  std::string text = "silent\nshow-error\nwrite-out = \"%{http_code}\"\n";
  append_text(text, "connect-timeout = {}\nmax-time = {}\n", kConnectSeconds, request.seconds);
  text += "url = " + in_quotes(request.url) + "data-binary = " + in_quotes("@" + body_path);
  // Without it curl asks for leave to send a large body, and waits.
  text += "header = \"Expect:\"\nheader = \"Content-Type: application/octet-stream\"\n";
  for (const std::string& header : request.headers) text += "header = " + in_quotes(header);
  return text;
}

// Reads all that comes; false beyond the limit.
bool read_all(int descriptor, std::string& text) {
  char part[65536];
  for (;;) {
    const auto got = read(descriptor, part, sizeof(part));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    if (text.size() + static_cast<std::size_t>(got) > kMostAnswerBytes) return false;
    text.append(part, static_cast<std::size_t>(got));
  }
}

// "curl: (7) Failed to connect to ..." without its head.
std::string words_of(std::string text) {
  text = text.substr(0, text.find('\n'));
  if (text.starts_with("curl: (") && text.find(") ") != std::string::npos) text.erase(0, text.find(") ") + 2);
  return printable(text);
}

HttpAnswer cannot_ask(const std::string& why) { return {0, {}, why, false}; }

// Its pid; -1, with errno, when it cannot be started. It ends with us.
pid_t start_curl(const std::string& settings, int output, int errors) {
  int failure[2];  // closes by itself when curl is there, else brings errno
  if (pipe2(failure, O_CLOEXEC) != 0) return -1;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    end_with_parent(parent);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    // -q: what the user has set up for curl by hand (~/.curlrc) may change what it prints.
    execlp("curl", "curl", "-q", "--config", settings.c_str(), nullptr);
    const int reason = errno;
    while (write(failure[1], &reason, sizeof reason) < 0 && errno == EINTR) {
    }
    _exit(127);
  }
  close(failure[1]);
  int reason = child < 0 ? errno : 0;
  while (child > 0 && read(failure[0], &reason, sizeof reason) < 0 && errno == EINTR) {
  }
  close(failure[0]);
  if (reason == 0) return child;
  if (child > 0) waitpid(child, nullptr, 0);
  errno = reason;
  return -1;
}

}  // namespace

HttpAnswer http_post(const HttpRequest& request) {
  const NamelessFile body(request.body);
  const NamelessFile settings(settings_of(request, body.path()));
  const NamelessFile errors;
  int answer[2];
  if (!body.is_open() || !settings.is_open() || !errors.is_open() || pipe2(answer, O_CLOEXEC) != 0)
    return cannot_ask(std::string("no memory or descriptors for a request: ") + std::strerror(errno));

  const pid_t child = start_curl(settings.path(), answer[1], errors.descriptor());
  close(answer[1]);
  HttpAnswer result;
  if (child < 0) {
    const std::string why = std::strerror(errno);
    close(answer[0]);
    return cannot_ask("the program curl cannot be started (" + why + "); install it");
  }
  const bool fits = read_all(answer[0], result.body);
  close(answer[0]);
  if (!fits) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!fits) return {0, {}, "the answer is too long", true};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || result.body.size() < kStatusDigits) {
    result.failure = words_of(errors.content());
    if (result.failure.empty()) result.failure = "curl ended without an answer";
    result.body.clear();
    return result;
  }
  const char* const end = result.body.data() + result.body.size();
  std::from_chars(end - kStatusDigits, end, result.status);
  result.body.resize(result.body.size() - kStatusDigits);
  if (result.status == 0) result.failure = "no answer";
  return result;
}

}  // namespace synctrace::cli
