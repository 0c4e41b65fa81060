// SPDX-License-Identifier: Apache-2.0
#include "mcp/server.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "exit_status.h"
#include "mcp/session.h"
#include "mcp/tool_process.h"

namespace synctrace::cli {
namespace {

constexpr std::size_t kMostWaiting = 16;  // calls

class Server {
 public:
  Server(std::string executable, const std::string& folder, int in, int out)
      : executable_(std::move(executable)), session_(folder), in_(in), out_(out) {}

  int run() {
    while (!is_broken_ && (in_ >= 0 || current_ || !waiting_.empty())) {
      if (!current_ && !waiting_.empty()) begin_next();
      if (in_ >= 0 || current_) wait();
    }
    return is_broken_ ? kExitUnusable : kExitOk;
  }

 private:
  void wait() {
    std::array<pollfd, 4> sources = {pollfd{in_, POLLIN, 0}, pollfd{tool_.output(), POLLIN, 0},
                                     pollfd{tool_.messages(), POLLIN, 0}, pollfd{tool_.ended(), POLLIN, 0}};
    if (::poll(sources.data(), sources.size(), -1) < 0) {
      is_broken_ = errno != EINTR;
      return;
    }
    if (sources[1].revents != 0) tool_.take_output();
    if (sources[2].revents != 0) tool_.take_messages();
    const bool is_over = sources[3].revents != 0 || (tool_.output() < 0 && tool_.messages() < 0);
    if (current_ && is_over) end_current();
    if (sources[0].revents != 0) read_lines();
  }

  void read_lines() {
    std::array<char, 65'536> bytes{};
    const ssize_t count = ::read(in_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {
      in_ = -1;
      if (!line_.empty() && !is_too_long_) take_line();  // without its end
      return;
    }
    for (std::string_view rest(bytes.data(), static_cast<std::size_t>(count)); !rest.empty();) {
      const std::size_t end = rest.find('\n');
      add(rest.substr(0, end));
      if (end == std::string_view::npos) return;
      rest.remove_prefix(end + 1);
      if (is_too_long_)
        is_too_long_ = false;
      else
        take_line();
    }
  }

  // What is too long is answered at once, and not kept.
  void add(std::string_view part) {
    if (is_too_long_) return;
    line_ += part;
    if (line_.size() <= kMostLineBytes) return;
    line_.clear();
    is_too_long_ = true;
    say(too_long_answer());
  }

  void take_line() {
    std::string line = std::exchange(line_, {});
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos) return;
    Taken taken = session_.take(line);
    if (!taken.answer.empty()) say(taken.answer);
    if (!taken.cancelled.empty()) cancel(taken.cancelled);
    if (!taken.call) return;
    if (waiting_.size() < kMostWaiting)
      waiting_.push_back(std::move(*taken.call));
    else
      say(busy_answer(*taken.call));
  }

  // Nobody waits for the answer of what was cancelled.
  void cancel(const std::string& id) {
    std::erase_if(waiting_, [&](const ToolCall& call) { return call.id == id; });
    if (!current_ || current_->id != id) return;
    is_cancelled_ = true;
    tool_.cancel();
  }

  void begin_next() {
    ToolCall call = std::move(waiting_.front());
    waiting_.pop_front();
    if (!tool_.start(executable_, call.words)) {
      ToolEnd end;
      end.messages = executable_ + " cannot be started: " + std::strerror(errno);
      end.status = kExitUnusable;
      return say(answer_of(call, end));
    }
    current_ = std::move(call);
    is_cancelled_ = false;
  }

  void end_current() {
    const ToolEnd end = tool_.finish();
    if (!is_cancelled_) say(answer_of(*current_, end));
    current_.reset();
  }

  void say(std::string line) {
    line += '\n';
    for (std::string_view rest = line; !rest.empty();) {
      const ssize_t count = ::write(out_, rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        is_broken_ = true;
        return;
      }
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  const std::string executable_;
  const Session session_;
  int in_;  // -1: the client has closed it
  const int out_;
  std::string line_;  // its begin
  bool is_too_long_ = false;
  bool is_broken_ = false;
  std::deque<ToolCall> waiting_;
  std::optional<ToolCall> current_;
  bool is_cancelled_ = false;
  ToolProcess tool_;
};

}  // namespace

int serve(const std::string& executable, const std::string& folder, int in, int out) {
  return Server(executable, folder, in, out).run();
}

}  // namespace synctrace::cli
