// SPDX-License-Identifier: Apache-2.0
#include "live/dormant_processes.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/format_text.h"
#include "base/parent_process.h"
#include "contract/launch_contract.h"
#include "contract/live_messages.h"
#include "run/trace_manifest.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kStatusPatienceMs = 2'000;
constexpr std::string_view kLooks = "looks-";

bool is_number(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0;
}

// -1 where nobody listens, or a program that is stopped has more clients waiting than it can have.
int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return -1;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (client < 0 || connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return client;
  close(client);
  return -1;
}

int send_to(const std::string& socket, std::string_view request) {
  const int client = connect_to(socket);
  if (client < 0) return -1;
  // What has no room in the socket's memory is no request that a recorder takes.
  [[maybe_unused]] const ssize_t sent = send(client, request.data(), request.size(), MSG_NOSIGNAL);
  shutdown(client, SHUT_WR);
  return client;
}

std::string read_answer(int client, std::int64_t deadline_ns) {
  std::string answer;
  while (answer.size() <= format::kMaxMessageBytes) {
    pollfd wanted{client, POLLIN, 0};
    const std::int64_t left_ms = (deadline_ns - monotonic_ns()) / 1'000'000;
    if (left_ms < 0) return {};
    const int ready = poll(&wanted, 1, static_cast<int>(left_ms));
    if (ready < 0 && errno == EINTR) continue;  // Ctrl-C: the request is under way, and its answer is needed
    if (ready != 1) return {};
    char bytes[4096];
    const ssize_t got = recv(client, bytes, sizeof(bytes), 0);
    if (got <= 0) return got == 0 ? answer : std::string();
    answer.append(bytes, static_cast<std::size_t>(got));
  }
  return {};
}

// The users whose programs this one may ask: itself, and as root all that have a folder.
std::vector<uid_t> users() {
  std::vector<uid_t> users = {geteuid()};
  if (geteuid() != 0) return users;
  const auto take = [&](const fs::path& folder, std::string_view prefix) {
    std::error_code failed;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
      const std::string name = entry.path().filename().string();
      int user = 0;
      if (name.starts_with(prefix) && is_number(std::string_view(name).substr(prefix.size()), user))
        users.push_back(static_cast<uid_t>(user));
    }
  };
  take("/run/user", "");
  take("/tmp", "synctrace-");
  return users;
}

std::vector<std::string> socket_folders() {
  std::vector<std::string> folders;
  const auto take = [&](const format::SocketFolder& folder, uid_t user) {
    const std::string path = folder.path.data();
    const bool is_new = std::find(folders.begin(), folders.end(), path) == folders.end();
    if (is_new && format::refuse_socket_folder(folder, user) == nullptr) folders.push_back(path);
  };
  format::SocketFolder folder;
  if (format::runtime_socket_folder(std::getenv("XDG_RUNTIME_DIR"), folder)) take(folder, geteuid());
  for (const uid_t user : users()) {
    // A program that was started from elsewhere has the variable where this shell may have none.
    if (format::runtime_socket_folder(format_text("/run/user/{}", user).c_str(), folder)) take(folder, user);
    take(format::temporary_socket_folder(user), user);
  }
  return folders;
}

// Nobody listens any more: the process is gone, or has become another program. Its number tells less: in a container
// with which the folder is shared it may be another's.
bool is_deserted(const DormantProcess& process) {
  const int client = connect_to(process.socket);
  const bool is_refused = client < 0 && errno == ECONNREFUSED;
  if (client >= 0) close(client);
  std::error_code ignored;
  if (is_refused) fs::remove(process.socket, ignored);
  return is_refused;
}

bool is_gone(int pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

bool descends_from(int pid, int ancestor) {
  constexpr int kDeepest = 64;
  for (int i = 0; i < kDeepest && pid > 0; ++i, pid = parent_of(pid)) {
    if (pid == ancestor) return true;
  }
  return false;
}

}  // namespace

std::string line_of(std::string_view key, std::string_view value) {
  format::MessageWriter message;
  message.add(key, value);
  return std::string(message.text());
}

std::string DormantProcess::value(std::string_view key) const { return std::string(format::value_of(status, key)); }

std::vector<DormantProcess> dormant_processes() {
  std::vector<DormantProcess> found;
  for (const std::string& folder : socket_folders()) {
    std::error_code failed;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
      int pid = 0;
      std::error_code ignored;
      // What a command that was killed has left: NUMBER of a program attached to, looks-NUMBER of a command that looks.
      const std::string name = entry.path().filename().string();
      if (is_number(name.starts_with(kLooks) ? name.substr(kLooks.size()) : name, pid) && is_gone(pid))
        fs::remove_all(entry.path(), ignored);
      if (entry.path().extension() == format::kSocketSuffix && is_number(entry.path().stem().string(), pid))
        found.push_back({pid, entry.path().string(), {}});
    }
  }
  const std::vector<std::string> answers = ask_all(found, line_of(format::kKeyVerb, "status"), kStatusPatienceMs);
  for (std::size_t i = 0; i < found.size(); ++i) found[i].status = answers[i];
  std::erase_if(found, [](const DormantProcess& process) { return process.status.empty() && is_deserted(process); });
  std::sort(found.begin(), found.end(), [](const DormantProcess& a, const DormantProcess& b) { return a.pid < b.pid; });
  return found;
}

bool is_living_process(const std::string& who) {
  int pid = 0;
  return is_number(who, pid) && !is_gone(pid);
}

bool is_started_dormant(const std::string& who) {
  if (!is_living_process(who)) return false;
  const auto has = [&](const char* file, std::string_view word) {
    std::ifstream in(format_text("/proc/{}/{}", who, file), std::ios::binary);
    for (std::string text; std::getline(in, text, '\0');) {
      if (text == word) return true;
    }
    return false;
  };
  return has("cmdline", "--dormant") || has("environ", std::string(format::kEnvDormant) + "=1");
}

std::vector<DormantProcess> named_processes(const std::string& who, std::string& problem) {
  std::vector<DormantProcess> all = dormant_processes();
  if (all.empty()) {
    problem = "no program waits for a request here; start one with: synctrace run --dormant -- PROGRAM";
    return {};
  }
  int pid = 0;
  const bool is_pid = is_number(who, pid);
  std::vector<DormantProcess> named;
  for (DormantProcess& process : all) {
    // Without a job there is no name, and nobody means that.
    const bool is_job = !who.empty() && process.value(format::kKeyJob) == who;
    if (is_job || (is_pid && descends_from(process.pid, pid))) named.push_back(std::move(process));
  }
  // A launcher that has asked CUDA for its devices waits, too, but is no rank.
  const auto is_rank = [](const DormantProcess& process) { return !process.value(format::kKeyRank).empty(); };
  if (std::any_of(named.begin(), named.end(), is_rank)) std::erase_if(named, std::not_fn(is_rank));
  if (named.empty()) {
    problem = format_text(
        "{} is no program that waits for a request, nor the launcher or job of one; synctrace ps "
        "lists them",
        who);
  }
  return named;
}

std::vector<std::string> ask_all(std::span<const DormantProcess> processes, std::string_view request, int patience_ms) {
  std::vector<int> clients;
  clients.reserve(processes.size());
  for (const DormantProcess& process : processes) clients.push_back(send_to(process.socket, request));
  const std::int64_t deadline_ns = monotonic_ns() + std::int64_t{patience_ms} * 1'000'000;
  std::vector<std::string> answers;
  answers.reserve(clients.size());
  for (const int client : clients) {
    answers.push_back(client < 0 ? std::string() : read_answer(client, deadline_ns));
    if (client >= 0) close(client);
  }
  return answers;
}

}  // namespace synctrace::cli
